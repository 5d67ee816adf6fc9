#include "pattern.h"

/* Length of the atom at `at` in bytes; 0: there is none. */
static size_t atom_length(hob_str p, size_t at)
{
	if (p.data[at] == '\\')
		return at + 1 < p.len ? 2 : 0;
	if (p.data[at] != '[')
		return memchr("*+?(){}|^$", p.data[at], 10) ? 0 : 1;
	size_t end = at + 1 + (at + 1 < p.len && p.data[at + 1] == '^') + 1;
	while (end < p.len && p.data[end] != ']')
		end++;
	return end < p.len ? end + 1 - at : 0;
}

static bool is_repeat(hob_str p, size_t at)
{
	return at < p.len && (p.data[at] == '*' || p.data[at] == '+' || p.data[at] == '?');
}

/* The pattern without "^" and "$". */
static hob_str inner(hob_str p)
{
	size_t slashes = 0;
	while (p.len > slashes + 1 && p.data[p.len - 2 - slashes] == '\\')
		slashes++;
	bool ends = p.len > 0 && p.data[p.len - 1] == '$' && slashes % 2 == 0;
	return hob_str_sub(p, p.len > 0 && p.data[0] == '^', p.len - ends);
}

/* The alternative of the pattern that begins at `at`. */
static hob_str alternative(hob_str p, size_t at)
{
	size_t end = at;
	while (end < p.len && p.data[end] != '|') {
		size_t length = atom_length(p, end);
		end += length > 0 ? length : 1;
	}
	return hob_str_sub(p, at, end);
}

static bool is_valid(hob_str one)
{
	hob_str p = inner(one);
	for (size_t at = 0, length; at < p.len; at += length + is_repeat(p, at + length))
		if ((length = atom_length(p, at)) == 0)
			return false;
	return true;
}

bool hob_pattern_valid(hob_str pattern)
{
	bool valid = true;
	for (size_t at = 0; valid && pattern.len > 0 && at <= pattern.len;) {
		hob_str one = alternative(pattern, at);
		valid = one.len > 0 && is_valid(one);
		at += one.len + 1;
	}
	return valid;
}

static bool is_word(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool atom_takes(hob_str atom, uint8_t c)
{
	if (atom.data[0] == '\\')
		return atom.data[1] == 'd'	 ? c >= '0' && c <= '9'
			   : atom.data[1] == 'w' ? is_word(c)
									 : c == (uint8_t)atom.data[1];
	if (atom.data[0] != '[')
		return atom.data[0] == '.' || c == (uint8_t)atom.data[0];
	bool other = atom.data[1] == '^', in = false;
	for (size_t i = 1 + other; i + 1 < atom.len; i++) {
		bool range = i + 3 < atom.len && atom.data[i + 1] == '-';
		in = in || (c >= (uint8_t)atom.data[i] && c <= (uint8_t)atom.data[range ? i + 2 : i]);
		i += range ? 2 : 0;
	}
	return in != other;
}

/* States are positions in the pattern, one bit each. Adds the states reachable without consuming a byte. */
static uint64_t closure(hob_str p, uint64_t states)
{
	for (size_t at = 0; at < p.len;) {
		size_t end = at + atom_length(p, at);
		bool skips = is_repeat(p, end) && p.data[end] != '+';
		size_t next = end + is_repeat(p, end);
		if (states >> at & 1 && skips)
			states |= 1ull << next;
		at = next;
	}
	return states;
}

static bool matches(hob_str pattern, hob_str text)
{
	hob_str p = inner(pattern);
	bool begins = pattern.len > 0 && pattern.data[0] == '^', ends = pattern.len > p.len + begins;
	uint64_t first = closure(p, 1), states = first, accept = 1ull << p.len;
	for (size_t i = 0; i < text.len && (ends || !(states & accept)); i++) {
		uint64_t next = 0;
		for (size_t at = 0; at < p.len;) {
			size_t end = at + atom_length(p, at), after = end + is_repeat(p, end);
			if (states >> at & 1 && atom_takes(hob_str_sub(p, at, end), (uint8_t)text.data[i])) {
				next |= 1ull << after;
				if (after > end && p.data[end] != '?')
					next |= 1ull << at;
			}
			at = after;
		}
		states = closure(p, next) | (begins ? 0 : first);
	}
	return (states & accept) != 0;
}

bool hob_pattern_match(hob_str pattern, hob_str text)
{
	bool match = pattern.len == 0;
	for (size_t at = 0; !match && at < pattern.len;) {
		hob_str one = alternative(pattern, at);
		match = matches(one, text);
		at += one.len + 1;
	}
	return match;
}
