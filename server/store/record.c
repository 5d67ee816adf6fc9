#include "record.h"

#include "../../core/base/array.h"
#include "../../core/base/text_order.h"
#include "../../core/hash/hex.h"

#include <stdlib.h>

enum { DEPTH_MAX = 32, ITEMS_MAX = 1 << 20 };

/* An output that may differ between runs, or that is derived later: not part of the result. */
static bool is_extra(hob_str output)
{
	return hob_str_equal(output, HOB_STR("report")) || hob_str_starts(output, HOB_STR("classic."));
}

bool srv_record_model(const srv_record *record, hob_sha256 out[4])
{
	static const char *const names[4] = {"meshes", "materials", "scene", "animations"};
	uint32_t found = 0;
	for (uint32_t i = 0; i < record->output_count; i++)
		for (uint32_t p = 0; p < 4; p++)
			if (hob_str_equal(record->outputs[i].name, hob_str_of(names[p]))) {
				out[p] = record->outputs[i].digest;
				found |= 1u << p;
			}
	return (found & 7) == 7;
}

/* ---- writing */

static void put_digest(hob_buf *out, const hob_sha256 *digest)
{
	hob_buf_printf(out, "\"%s\"", hob_sha256_hex(digest).text);
}

static void put_text(hob_buf *out, hob_str value)
{
	if (value.len == 0 || (hob_utf8_valid(value) && !memchr(value.data, 0, value.len))) {
		hob_buf_put_json(out, value);
		return;
	}
	hob_buf_put_str(out, HOB_STR("{\"hex\":\""));
	for (size_t i = 0; i < value.len; i++)
		hob_buf_printf(out, "%02x", (uint8_t)value.data[i]);
	hob_buf_put_str(out, HOB_STR("\"}"));
}

static void put_object(hob_buf *out, hob_str json)
{
	hob_buf_put_str(out, json.len > 0 ? json : HOB_STR("null"));
}

static void put_hash_of_all(hob_buf *out, const char *name, size_t from)
{
	hob_sha256 digest = hob_sha256_of((hob_bytes){out->data + from, out->size - from});
	hob_buf_printf(out, ",\"%s\":", name);
	put_digest(out, &digest);
}

static int compare_deps(const void *a, const void *b)
{
	const srv_record_dep *const *x = a, *const *y = b;
	int order = hob_str_compare((*x)->path, (*y)->path);
	if (order == 0)
		order = (int)(*x)->missing - (int)(*y)->missing;
	return order != 0 ? order : memcmp(&(*x)->digest, &(*y)->digest, sizeof(hob_sha256));
}

static int compare_outputs(const void *a, const void *b)
{
	const srv_record_output *const *x = a, *const *y = b;
	return hob_str_compare((*x)->name, (*y)->name);
}

static void put_deps(hob_buf *out, const srv_record *record)
{
	const srv_record_dep **deps = hob_must(calloc(record->dep_count + 1, sizeof *deps));
	for (uint32_t i = 0; i < record->dep_count; i++)
		deps[i] = &record->deps[i];
	if (record->dep_count > 1)
		qsort(deps, record->dep_count, sizeof *deps, compare_deps);
	hob_buf_put_str(out, HOB_STR(",\"deps\":["));
	for (uint32_t i = 0; i < record->dep_count; i++) {
		hob_buf_put_str(out, i > 0 ? HOB_STR(",{\"path\":") : HOB_STR("{\"path\":"));
		put_text(out, deps[i]->path);
		hob_buf_put_str(out, HOB_STR(",\"sha256\":"));
		if (deps[i]->missing)
			hob_buf_put_str(out, HOB_STR("null"));
		else
			put_digest(out, &deps[i]->digest);
		hob_buf_put(out, "}", 1);
	}
	hob_buf_put(out, "]", 1);
	free(deps);
}

static void put_outputs(hob_buf *out, const srv_record *record, bool extra)
{
	const srv_record_output **outputs = hob_must(calloc(record->output_count + 1, sizeof *outputs));
	uint32_t count = 0;
	for (uint32_t i = 0; i < record->output_count; i++)
		if (is_extra(record->outputs[i].name) == extra)
			outputs[count++] = &record->outputs[i];
	if (count > 1)
		qsort(outputs, count, sizeof *outputs, compare_outputs);
	hob_buf_put_str(out, HOB_STR(",\"outputs\":["));
	for (uint32_t i = 0; i < count; i++) {
		hob_buf_put_str(out, i > 0 ? HOB_STR(",{\"name\":") : HOB_STR("{\"name\":"));
		put_text(out, outputs[i]->name);
		hob_buf_put_str(out, HOB_STR(",\"sha256\":"));
		put_digest(out, &outputs[i]->digest);
		hob_buf_printf(out, ",\"size\":%llu}", (unsigned long long)outputs[i]->size);
	}
	hob_buf_put(out, "]", 1);
	free(outputs);
}

/* Writes the members that are equal on every machine. */
static void put_result(hob_buf *out, const srv_record *record)
{
	hob_buf_put_str(out, HOB_STR("{\"hob_result\":1,\"key\":"));
	put_digest(out, &record->key);
	hob_buf_put_str(out, HOB_STR(",\"lookup\":"));
	put_digest(out, &record->lookup);
	hob_buf_put_str(out, HOB_STR(",\"source\":"));
	put_digest(out, &record->source);
	hob_buf_put_str(out, HOB_STR(",\"file_name\":"));
	if (record->file_name.len > 0)
		put_text(out, record->file_name);
	else
		hob_buf_put_str(out, HOB_STR("null"));
	hob_buf_put_str(out, HOB_STR(",\"inputs\":"));
	put_object(out, record->ingredients);
	put_deps(out, record);
	put_outputs(out, record, false);
	hob_buf_put_str(out, HOB_STR(",\"stats\":"));
	put_object(out, record->stats);
	hob_buf_printf(out, ",\"warnings\":%u,\"error\":", record->warnings);
	put_object(out, record->error);
}

void srv_record_print(const srv_record *record, hob_buf *out)
{
	size_t from = out->size;
	put_result(out, record);
	put_hash_of_all(out, "result", from);
	hob_buf_printf(out, ",\"run\":{\"cooked_at_ms\":%llu,\"cook_ns\":%llu,\"peak_bytes\":%llu",
				   (unsigned long long)record->cooked_at_ms, (unsigned long long)record->cook_ns,
				   (unsigned long long)record->peak_bytes);
	put_outputs(out, record, true);
	hob_buf_put(out, "}", 1);
	put_hash_of_all(out, "check", from);
	hob_buf_put_str(out, HOB_STR("}\n"));
}

bool srv_record_same(const srv_record *a, const srv_record *b)
{
	hob_own_buf x = {0}, y = {0};
	put_result(&x, a);
	put_result(&y, b);
	return !x.failed && !y.failed && hob_str_equal(hob_buf_str(&x), hob_buf_str(&y));
}

/* ---- reading: rejects invalid text, and text in another form than srv_record_print's */

typedef struct cursor {
	const char *begin, *at, *end;
	hob_arena *arena;
	bool failed, short_of_memory;
} cursor;

static bool next_is(const cursor *c, const char *word)
{
	size_t length = strlen(word);
	return !c->failed && (size_t)(c->end - c->at) >= length && memcmp(c->at, word, length) == 0;
}

static bool take(cursor *c, const char *word)
{
	bool there = next_is(c, word);
	c->at += there ? strlen(word) : 0;
	return there;
}

static void need(cursor *c, const char *word)
{
	if (!take(c, word))
		c->failed = true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void read_digest(cursor *c, hob_sha256 *out)
{
	need(c, "\"");
	if (c->failed || c->end - c->at < HOB_SHA256_TEXT ||
		!hob_sha256_parse((hob_str){c->at, HOB_SHA256_TEXT}, out)) {
		c->failed = true;
		return;
	}
	c->at += HOB_SHA256_TEXT;
	need(c, "\"");
}

static uint64_t read_number(cursor *c)
{
	uint64_t value = 0;
	const char *from = c->at;
	while (!c->failed && c->at < c->end && is_digit(*c->at))
		if (__builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*c->at++ - '0'), &value))
			c->failed = true;
	c->failed = c->failed || c->at == from;
	return value;
}

static int hex_of(char c)
{
	return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_hex(cursor *c)
{
	int high = c->end - c->at >= 2 ? hex_of(c->at[0]) : -1, low = high >= 0 ? hex_of(c->at[1]) : -1;
	if (low < 0) {
		c->failed = true;
		return 0;
	}
	c->at += 2;
	return high * 16 + low;
}

/* Reads a text; decoded, it is never longer than its JSON. */
static hob_str read_text(cursor *c)
{
	bool hex = take(c, "{\"hex\":\"");
	if (!hex)
		need(c, "\"");
	const char *end = c->failed ? NULL : c->at;
	while (end && end < c->end && *end != '"')
		end += *end == '\\' && end + 1 < c->end ? 2 : 1;
	char *data = end ? HOB_NEW(c->arena, char, (size_t)(end - c->at) + 1) : NULL;
	if (!data) {
		c->short_of_memory = end != NULL;
		c->failed = true;
		return (hob_str){0};
	}
	size_t length = 0;
	while (!c->failed && c->at < c->end && *c->at != '"') {
		if (hex || take(c, "\\u00"))
			data[length++] = (char)read_hex(c);
		else if (take(c, "\\\""))
			data[length++] = '"';
		else if (take(c, "\\\\"))
			data[length++] = '\\';
		else
			data[length++] = *c->at++;
	}
	need(c, hex ? "\"}" : "\"");
	data[length] = 0;
	return (hob_str){data, length};
}

/* Skips to the end of a JSON object that has no spaces outside its texts. */
static void skip_object(cursor *c)
{
	bool inside = false;
	c->failed = c->failed || !next_is(c, "{");
	for (int depth = 0; !c->failed;) {
		char byte = *c->at++;
		if (inside && byte == '\\' && c->at < c->end)
			c->at++;
		else if (byte == '"')
			inside = !inside;
		else if (!inside)
			depth += (byte == '{') - (byte == '}');
		if (depth == 0)
			return;
		c->failed = c->at == c->end || (!inside && (uint8_t)byte <= ' ');
	}
}

static hob_str read_object(cursor *c)
{
	if (take(c, "null"))
		return (hob_str){0};
	const char *from = c->at;
	skip_object(c);
	c->failed = c->failed || !hob_json_valid((hob_str){from, (size_t)(c->at - from)}, DEPTH_MAX);
	if (c->failed)
		return (hob_str){0};
	hob_str copy = hob_arena_str(c->arena, (hob_str){from, (size_t)(c->at - from)});
	c->short_of_memory = !copy.data;
	c->failed = !copy.data;
	return copy;
}

static void *make_items(cursor *c, uint32_t count, size_t size)
{
	void *items =
		c->failed ? NULL : hob_arena_array(c->arena, (size_t)count + 1, size, _Alignof(max_align_t));
	c->short_of_memory = c->short_of_memory || (!c->failed && !items);
	c->failed = c->failed || !items;
	return items;
}

/* Upper bound of the number of items: quotes inside texts are escaped, so this finds each. */
static uint32_t most_items(const cursor *c, const char *begin)
{
	uint32_t count = 0;
	size_t length = strlen(begin);
	for (const char *at = c->at; (size_t)(c->end - at) >= length && count < ITEMS_MAX; at++)
		count += memcmp(at, begin, length) == 0;
	return count;
}

static void read_deps(cursor *c, srv_record *out)
{
	need(c, ",\"deps\":[");
	uint32_t most = c->failed ? 0 : most_items(c, "{\"path\":");
	out->deps = make_items(c, most, sizeof *out->deps);
	while (!c->failed && !take(c, "]")) {
		srv_record_dep *dep = &out->deps[out->dep_count];
		c->failed = out->dep_count++ == most;
		need(c, out->dep_count > 1 ? ",{\"path\":" : "{\"path\":");
		if (c->failed)
			return;
		*dep = (srv_record_dep){.path = read_text(c)};
		need(c, ",\"sha256\":");
		dep->missing = take(c, "null");
		if (!dep->missing)
			read_digest(c, &dep->digest);
		need(c, "}");
		c->failed = c->failed || dep->path.len == 0;
	}
}

static void read_outputs(cursor *c, srv_record *out, uint32_t most)
{
	uint32_t first = out->output_count;
	need(c, ",\"outputs\":[");
	while (!c->failed && !take(c, "]")) {
		srv_record_output *output = &out->outputs[out->output_count];
		c->failed = out->output_count++ == most;
		need(c, out->output_count - first > 1 ? ",{\"name\":" : "{\"name\":");
		if (c->failed)
			return;
		*output = (srv_record_output){.name = read_text(c)};
		need(c, ",\"sha256\":");
		read_digest(c, &output->digest);
		need(c, ",\"size\":");
		output->size = read_number(c);
		need(c, "}");
		c->failed = c->failed || output->name.len == 0;
	}
}

static void read_all(cursor *c, srv_record *out)
{
	hob_sha256 ignored;
	need(c, "{\"hob_result\":1,\"key\":");
	read_digest(c, &out->key);
	need(c, ",\"lookup\":");
	read_digest(c, &out->lookup);
	need(c, ",\"source\":");
	read_digest(c, &out->source);
	need(c, ",\"file_name\":");
	if (!take(c, "null"))
		out->file_name = read_text(c);
	need(c, ",\"inputs\":");
	out->ingredients = read_object(c);
	read_deps(c, out);
	uint32_t most = c->failed ? 0 : most_items(c, "{\"name\":");
	out->outputs = make_items(c, most, sizeof *out->outputs);
	read_outputs(c, out, most);
	need(c, ",\"stats\":");
	out->stats = read_object(c);
	need(c, ",\"warnings\":");
	uint64_t warnings = read_number(c);
	c->failed = c->failed || warnings > UINT32_MAX;
	out->warnings = (uint32_t)warnings;
	need(c, ",\"error\":");
	out->error = read_object(c);
	need(c, ",\"result\":");
	read_digest(c, &ignored);
	need(c, ",\"run\":{\"cooked_at_ms\":");
	uint64_t cooked_at = read_number(c);
	c->failed = c->failed || cooked_at > INT64_MAX;
	out->cooked_at_ms = (int64_t)cooked_at;
	need(c, ",\"cook_ns\":");
	out->cook_ns = read_number(c);
	need(c, ",\"peak_bytes\":");
	out->peak_bytes = read_number(c);
	read_outputs(c, out, most);
	need(c, "},\"check\":");
	read_digest(c, &ignored);
	need(c, "}\n");
}

bool srv_record_parse(hob_str text, hob_arena *arena, srv_record *out, hob_error *err)
{
	cursor c = {text.data, text.data, text.data + text.len, arena, false, false};
	srv_record record = {0};
	read_all(&c, &record);
	if (c.short_of_memory)
		return hob_fail_memory(err, arena, "the record of a cook");
	if (c.failed || c.at != c.end)
		return hob_fail(err, CORRUPT, "the record of a cook is damaged at byte %zu of %zu",
						(size_t)(c.at - c.begin), text.len);
	hob_own_buf again = {0};
	srv_record_print(&record, &again);
	bool failed = again.failed, same = !failed && hob_str_equal(hob_buf_str(&again), text);
	size_t at = 0;
	while (!failed && !same && at < again.size && at < text.len && again.data[at] == (uint8_t)text.data[at])
		at++;
	if (failed)
		return hob_fail(err, MEMORY, "no memory left for the record of a cook");
	if (!same)
		return hob_fail(err, CORRUPT,
						"the record of a cook is not what its hashes and its format ask for, from byte %zu",
						at);
	*out = record;
	return true;
}
