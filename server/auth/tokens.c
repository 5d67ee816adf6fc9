#include "tokens.h"

#include "../../core/base/pieces.h"
#include "../fs/fd.h"
#include "../fs/transfer.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

enum { FILE_BYTES_MAX = 1 << 20, RANDOM_BYTES = 32 };

static const char *const scope_names[] = {"none", "ref", "read", "mirror", "write"};

const char *srv_scope_name(srv_scope scope)
{
	return scope_names[scope];
}

static bool place_is_fine(srv_scope scope, hob_str place)
{
	for (size_t i = 0; i < place.len; i++)
		if ((uint8_t)place.data[i] <= ' ' || place.data[i] == 0x7F)
			return false;
	return place.len > 0 && place.len <= SRV_TOKEN_PLACE && place.data[0] != '/' &&
		   place.data[place.len - 1] != '/' && hob_utf8_valid(place) &&
		   (scope != SRV_SCOPE_REF || hob_str_find(place, HOB_STR("/"), 0) != SIZE_MAX);
}

static bool has_place(srv_scope scope)
{
	return scope == SRV_SCOPE_MIRROR || scope == SRV_SCOPE_REF;
}

static bool read_scope(hob_str text, srv_token *out)
{
	hob_str place = text, name = hob_str_next(&place, ':');
	for (srv_scope scope = SRV_SCOPE_REF; scope <= SRV_SCOPE_WRITE; scope++)
		if (hob_str_equal(name, hob_str_of(scope_names[scope])) &&
			(has_place(scope) ? place_is_fine(scope, place) : name.len == text.len)) {
			snprintf(out->place, sizeof out->place, "%.*s", HOB_FMT(place));
			out->scope = scope;
		}
	return out->scope != SRV_SCOPE_NONE;
}

static bool name_is_fine(hob_str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.data[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
			  c == '_' || c == '-'))
			return false;
	}
	return name.len > 0 && name.len <= SRV_TOKEN_NAME && name.data[0] != '-' && name.data[0] != '.';
}

/* ---- reading */

static hob_str next_word(hob_str *line)
{
	size_t from = 0;
	while (from < line->len && (line->data[from] == ' ' || line->data[from] == '\t'))
		from++;
	size_t to = from;
	while (to < line->len && line->data[to] != ' ' && line->data[to] != '\t' && line->data[to] != '\r')
		to++;
	hob_str word = hob_str_sub(*line, from, to);
	*line = hob_str_sub(*line, to, line->len);
	return word;
}

static bool parse_line(hob_str line, srv_token *out)
{
	hob_str name = next_word(&line), scope = next_word(&line), digest = next_word(&line);
	hob_str created = next_word(&line);
	*out = (srv_token){0};
	if (!name_is_fine(name) || !read_scope(scope, out) || !hob_sha256_parse(digest, &out->digest))
		return false;
	memcpy(out->name, name.data, name.len);
	for (size_t i = 0; i < created.len; i++) {
		if (created.data[i] < '0' || created.data[i] > '9' || i > 15)
			return false;
		out->created_s = out->created_s * 10 + (created.data[i] - '0');
	}
	return next_word(&line).len == 0;
}

static bool parse(hob_str text, const char *path, srv_tokens *out, hob_error *err)
{
	unsigned number = 1;
	for (size_t at = 0, end; at < text.len; at = end + 1, number++) {
		end = hob_str_find(text, HOB_STR("\n"), at);
		if (end == SIZE_MAX)
			end = text.len;
		hob_str line = hob_str_sub(text, at, end), rest = line;
		if (next_word(&rest).len == 0 || line.data[0] == '#')
			continue;
		srv_token token;
		if (!parse_line(line, &token))
			return hob_fail(err, CONFIG,
							"%s:%u: a line is NAME SCOPE SHA256 [CREATED], as 'hob token' writes it", path,
							number);
		srv_token *bigger = realloc(out->items, (out->count + 1) * sizeof *bigger);
		if (!bigger)
			return hob_fail(err, MEMORY, "no memory for the tokens of %s", path);
		out->items = bigger;
		out->items[out->count++] = token;
	}
	return true;
}

static bool read_open(int fd, const char *path, srv_tokens *out, hob_error *err)
{
	struct stat info;
	*out = (srv_tokens){0};
	if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > FILE_BYTES_MAX)
		return hob_fail(err, CONFIG, "the token file '%s' is not a small regular file", path);
	if (info.st_mode & (S_IWGRP | S_IWOTH))
		return hob_fail(err, CONFIG, "others may write the token file '%s'; run: chmod go-w '%s'", path,
						path);
	hob_own_buf text = {0};
	uint8_t *room = hob_buf_grow(&text, (size_t)info.st_size);
	ssize_t got = room ? pread(fd, room, (size_t)info.st_size, 0) : -1;
	bool read = got == (ssize_t)info.st_size;
	bool ok = read ? parse(hob_buf_str(&text), path, out, err)
				   : hob_fail(err, IO, "cannot read the token file '%s': %s", path, strerror(errno));
	if (!ok)
		srv_tokens_release(out);
	return ok;
}

bool srv_tokens_read(const char *path, srv_tokens *out, hob_error *err)
{
	*out = (srv_tokens){0};
	srv_own_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		int why = errno;
		return hob_fail(err, IO, "cannot open the token file '%s': %s%s", path, strerror(why),
						why == ENOENT ? "; 'hob token create NAME --token-file FILE' makes one" : "");
	}
	return read_open(fd, path, out, err);
}

void srv_tokens_release(srv_tokens *tokens)
{
	free(tokens->items);
	*tokens = (srv_tokens){0};
}

/* ---- checking */

srv_scope srv_tokens_scope_of(const srv_tokens *tokens, const hob_sha256 *digest)
{
	uint32_t scope = 0;
	for (uint32_t i = 0; i < tokens->count; i++) {
		uint32_t difference = 0;
		for (size_t b = 0; b < sizeof digest->bytes; b++)
			difference |= (uint32_t)(digest->bytes[b] ^ tokens->items[i].digest.bytes[b]);
		/* All ones if equal: no branch depends on the compared values. */
		uint32_t equal = ((difference - 1) >> 8) & 0xFFFFFFu;
		scope |= equal & (uint32_t)tokens->items[i].scope;
	}
	return (srv_scope)scope;
}

/* The token is known to be valid, so an early return reveals nothing. */
hob_str srv_tokens_place(const srv_tokens *tokens, const hob_sha256 *digest)
{
	for (uint32_t i = 0; i < tokens->count; i++)
		if (hob_sha256_equal(&tokens->items[i].digest, digest))
			return hob_str_of(tokens->items[i].place);
	return (hob_str){0};
}

/* ---- changes: lock exactly the file that the path names now */

static int open_locked(const char *path, bool create, hob_error *err)
{
	for (;;) {
		struct stat mine, named;
		int fd = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600);
		if (fd < 0) {
			bool failed = hob_fail(err, IO, "cannot open the token file '%s': %s", path, strerror(errno));
			(void)failed;
			return -1;
		}
		if (flock(fd, LOCK_EX) == 0 && fstat(fd, &mine) == 0 && stat(path, &named) == 0 &&
			mine.st_ino == named.st_ino && mine.st_dev == named.st_dev)
			return fd;
		close(fd);
	}
}

static bool replace(const char *path, const srv_tokens *tokens, hob_error *err)
{
	hob_own_buf text = {0};
	hob_buf_put_str(&text,
					HOB_STR("# Access tokens of hob: name, scope, SHA-256 of the token, Unix time. Edit "
							"with 'hob token'.\n"));
	for (uint32_t i = 0; i < tokens->count; i++) {
		char digest[HOB_SHA256_TEXT + 1];
		hob_sha256_text(&tokens->items[i].digest, digest);
		const srv_token *token = &tokens->items[i];
		hob_buf_printf(&text, "%s %s%s%s %s %" PRId64 "\n", token->name, srv_scope_name(token->scope),
					   token->place[0] ? ":" : "", token->place, digest, token->created_s);
	}
	char temporary[PATH_MAX];
	int length = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
	srv_own_fd fd = length > 0 && (size_t)length < sizeof temporary ? mkostemp(temporary, O_CLOEXEC) : -1;
	bool ok = fd >= 0 && !text.failed && srv_write_all(fd, text.data, text.size) && fsync(fd) == 0;
	ok = ok && rename(temporary, path) == 0;
	if (!ok) {
		ok = hob_fail(err, IO, "cannot write the token file '%s': %s", path, strerror(errno));
		if (fd >= 0)
			unlink(temporary);
	}
	return ok;
}

static uint32_t find(const srv_tokens *tokens, hob_str name)
{
	uint32_t i = 0;
	while (i < tokens->count && !hob_str_equal(hob_str_of(tokens->items[i].name), name))
		i++;
	return i;
}

static void put_text(const uint8_t random[RANDOM_BYTES], char text[SRV_TOKEN_TEXT + 1])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	char *out = stpcpy(text, "hob_");
	uint32_t bits = 0, held = 0;
	for (size_t i = 0; i < RANDOM_BYTES; i++) {
		bits = bits << 8 | random[i];
		for (held += 8; held >= 6; held -= 6)
			*out++ = digits[bits >> (held - 6) & 63];
	}
	*out++ = digits[bits << (6 - held) & 63];
	*out = 0;
}

bool srv_token_create(const char *path, hob_str name, srv_scope scope, hob_str place,
					  char text[SRV_TOKEN_TEXT + 1], hob_error *err)
{
	if (has_place(scope) && !place_is_fine(scope, place))
		return hob_fail(err, USAGE, "'%.*s' is not %s: no spaces, at most %d bytes", HOB_FMT(place),
						scope == SRV_SCOPE_REF ? "ROOT/BRANCH" : "ROOT or ROOT/FOLDER", SRV_TOKEN_PLACE);
	if (!name_is_fine(name))
		return hob_fail(
			err, USAGE,
			"'%.*s' is not a token's name: up to %d letters, digits, '.', '_' and '-', beginning with "
			"a letter or digit",
			HOB_FMT(name), SRV_TOKEN_NAME);
	srv_own_fd fd = open_locked(path, true, err);
	if (fd < 0)
		return false;
	srv_tokens tokens;
	uint8_t random[RANDOM_BYTES];
	bool ok = read_open(fd, path, &tokens, err);
	if (ok && find(&tokens, name) < tokens.count)
		ok = hob_fail(err, USAGE, "there is a token '%.*s' already; revoke it or choose another name",
					  HOB_FMT(name));
	if (ok && getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		ok = hob_fail(err, IO, "the system gave no random numbers: %s", strerror(errno));
	srv_token *bigger = ok ? realloc(tokens.items, (tokens.count + 1) * sizeof *bigger) : NULL;
	if (ok && !bigger)
		ok = hob_fail(err, MEMORY, "no memory for another token");
	if (ok) {
		put_text(random, text);
		tokens.items = bigger;
		srv_token *token = &tokens.items[tokens.count++];
		*token = (srv_token){.scope = scope, .created_s = (int64_t)time(NULL)};
		memcpy(token->name, name.data, name.len);
		if (place.len > 0)
			memcpy(token->place, place.data, place.len);
		token->digest = hob_sha256_of((hob_bytes){(const uint8_t *)text, SRV_TOKEN_TEXT});
		ok = replace(path, &tokens, err);
	}
	srv_tokens_release(&tokens);
	return ok;
}

bool srv_token_revoke(const char *path, hob_str name, hob_error *err)
{
	srv_own_fd fd = open_locked(path, false, err);
	if (fd < 0)
		return false;
	srv_tokens tokens;
	bool ok = read_open(fd, path, &tokens, err);
	uint32_t at = ok ? find(&tokens, name) : 0;
	if (ok && at == tokens.count)
		ok = hob_fail(err, NOT_FOUND, "there is no token '%.*s' in '%s'; 'hob token list' shows the tokens",
					  HOB_FMT(name), path);
	if (ok) {
		memmove(&tokens.items[at], &tokens.items[at + 1], (tokens.count - at - 1) * sizeof *tokens.items);
		tokens.count--;
		ok = replace(path, &tokens, err);
	}
	srv_tokens_release(&tokens);
	return ok;
}
