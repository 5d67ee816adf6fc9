#include "content.h"

#include "../base/number.h"

#define BEFORE ",\"content\":"

const char *const hob_content_words[HOB_CONTENT_KINDS] = {"texture", "material", "clip", "feature"};

static inline bool take_bytes(hob_str *rest, const char *what, size_t len)
{
	if (rest->len < len || memcmp(rest->data, what, len) != 0)
		return false;
	*rest = (hob_str){rest->data + len, rest->len - len};
	return true;
}

#define take(rest, literal) take_bytes(rest, "" literal, sizeof(literal) - 1)

/* The text up to the next quote that is not escaped, and the quote. */
static bool take_text(hob_str *rest, hob_str *out)
{
	size_t end = 0;
	while (end < rest->len && rest->data[end] != '"')
		end += rest->data[end] == '\\' ? 2 : 1;
	if (end >= rest->len)
		return false;
	*out = (hob_str){rest->data, end};
	*rest = (hob_str){rest->data + end + 1, rest->len - end - 1};
	return true;
}

static bool take_number(hob_str *rest, uint64_t *out)
{
	size_t end = 0;
	for (*out = 0; end < rest->len && end < 18 && hob_is_digit(rest->data[end]); end++)
		*out = *out * 10 + (uint64_t)(rest->data[end] - '0');
	*rest = (hob_str){rest->data + end, rest->len - end};
	return end > 0;
}

static bool take_value(hob_str *rest, hob_str member, hob_content *out)
{
	if (take(rest, "\""))
		return take_text(rest, hob_str_equal(member, HOB_STR("hash")) ? &out->hash : &out->by);
	uint64_t *pair = hob_str_equal(member, HOB_STR("source")) ? out->source : out->size;
	if (take(rest, "["))
		return take_number(rest, pair) && take(rest, ",") && take_number(rest, pair + 1) && take(rest, "]");
	return take_number(rest, &out->number);
}

bool hob_content_next(hob_str *list, hob_content *out)
{
	hob_str kind, member;
	uint32_t number = 0;
	*out = (hob_content){0};
	if (!(take(list, "[") || take(list, ",")) || !take(list, "{\"kind\":\"") || !take_text(list, &kind) ||
		!take(list, ",\"name\":\"") || !take_text(list, &out->name))
		return false;
	while (number < HOB_CONTENT_KINDS && !hob_str_equal(kind, hob_str_of(hob_content_words[number])))
		number++;
	out->kind = (hob_content_kind)number;
	while (take(list, ",\""))
		if (!take_text(list, &member) || !take(list, ":") || !take_value(list, member, out))
			return false;
	return number < HOB_CONTENT_KINDS && take(list, "}");
}

hob_str hob_content_in(hob_str text, hob_str end)
{
	hob_str before = HOB_STR(BEFORE);
	size_t last = SIZE_MAX, at = SIZE_MAX;
	hob_content item;
	while ((at = hob_str_find(text, before, at + 1)) != SIZE_MAX)
		last = at;
	hob_str member = last == SIZE_MAX ? (hob_str){0} : hob_str_sub(text, last, text.len);
	hob_str rest = hob_str_sub(member, before.len, member.len);
	while (hob_content_next(&rest, &item))
		;
	bool whole = take(&rest, "]") && hob_str_equal(rest, end) && member.len < 4 * HOB_CONTENT_MAX;
	return whole ? hob_str_sub(member, 0, member.len - end.len) : (hob_str){0};
}

hob_str hob_content_cut(hob_arena *arena, hob_str stats, hob_str *list)
{
	hob_str member = hob_content_in(stats, HOB_STR("}"));
	*list = hob_str_sub(member, strlen(BEFORE), member.len);
	return member.len == 0 ? stats
						   : hob_arena_printf(arena, "%.*s}", (int)(stats.len - member.len - 1), stats.data);
}
