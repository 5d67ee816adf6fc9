#include "row.h"

#include "compress.h"

#include <stdlib.h>
#include <zstd.h>

enum {
	PLAIN = 0,
	PACKED = 1,
	DIGEST = 2,
	LEVEL = 1, /* of a text in parts */
	WORTH_IT = 32,
	TEXT_MAX = 64 << 20,
	PARTS_MAX = 512 << 20, /* of a text in parts */
	ITEMS_MAX = 1 << 20
};

/* ---- numbers and bytes */

void srv_row_put_number(hob_buf *out, uint64_t value)
{
	uint8_t bytes[10];
	size_t size = 0;
	for (; value > 127; value >>= 7)
		bytes[size++] = (uint8_t)(value | 128);
	bytes[size++] = (uint8_t)value;
	hob_buf_put(out, bytes, size);
}

static bool take_number(hob_str *rest, uint64_t *out)
{
	*out = 0;
	for (unsigned i = 0; i < 10 && i < rest->len; i++) {
		uint8_t byte = (uint8_t)rest->data[i];
		*out |= (uint64_t)(byte & 127) << (7 * i);
		if (byte < 128) {
			*rest = hob_str_sub(*rest, i + 1, rest->len);
			return true;
		}
	}
	return false;
}

static bool take_bytes(hob_str *rest, uint64_t size, hob_str *out)
{
	if (size > rest->len)
		return false;
	*out = hob_str_sub(*rest, 0, size);
	*rest = hob_str_sub(*rest, size, rest->len);
	return true;
}

static bool take_digest(hob_str *rest, hob_sha256 *out)
{
	hob_str bytes;
	if (!take_bytes(rest, sizeof out->bytes, &bytes))
		return false;
	memcpy(out->bytes, bytes.data, sizeof out->bytes);
	return true;
}

/* ---- short texts */

/* Copies `text` to `out` with one byte for each hexadecimal digest; appends the digests to `digests`. Returns
 * their number. */
static uint64_t fold(hob_str text, hob_buf *out, hob_buf *digests)
{
	uint64_t count = 0;
	size_t done = 0;
	for (size_t at = 0; at < text.len;) {
		hob_sha256 digest;
		if (text.data[at] != '"' ||
			!hob_sha256_parse(hob_str_sub(text, at + 1, at + 1 + HOB_SHA256_TEXT), &digest)) {
			at++;
			continue;
		}
		hob_buf_put_str(out, hob_str_sub(text, done, at + 1));
		hob_buf_put(out, &(uint8_t){DIGEST}, 1);
		hob_buf_put(digests, digest.bytes, sizeof digest.bytes);
		done = at = at + 1 + HOB_SHA256_TEXT;
		count++;
	}
	hob_buf_put_str(out, hob_str_sub(text, done, text.len));
	return count;
}

static bool unfold(hob_str folded, hob_str digests, hob_arena *arena, hob_str *out)
{
	size_t count = 0;
	for (size_t at = 0; at < folded.len; at++)
		count += folded.data[at] == DIGEST;
	if (count * sizeof(hob_sha256) != digests.len)
		return false;
	size_t size = folded.len + count * (HOB_SHA256_TEXT - 1);
	char *text = hob_arena_alloc(arena, size + 1, 1), *to = text;
	if (!text)
		return false;
	for (size_t at = 0; at < folded.len; at++) {
		if (folded.data[at] != DIGEST) {
			*to++ = folded.data[at];
			continue;
		}
		hob_sha256 digest;
		memcpy(digest.bytes, digests.data, sizeof digest.bytes);
		digests = hob_str_sub(digests, sizeof digest.bytes, digests.len);
		hob_sha256_text(&digest, to);
		to += HOB_SHA256_TEXT;
	}
	*out = (hob_str){text, size};
	return true;
}

static bool pack(hob_str text, hob_buf *out)
{
	if (text.len < WORTH_IT || text.len > TEXT_MAX || memchr(text.data, DIGEST, text.len))
		return false;
	hob_own_buf folded = {0}, digests = {0}, packed = {0};
	uint64_t count = fold(text, &folded, &digests);
	hob_buf_put(&packed, &(uint8_t){PACKED}, 1);
	srv_row_put_number(&packed, count);
	hob_buf_put_str(&packed, hob_buf_str(&digests));
	bool ok = !folded.failed && !digests.failed &&
			  srv_compress(hob_buf_bytes(&folded), SRV_ROW_DICTIONARY, &packed) && !packed.failed &&
			  packed.size < text.len;
	if (ok)
		hob_buf_put_str(out, hob_buf_str(&packed));
	return ok;
}

struct srv_row_packer {
	ZSTD_CCtx *context;
	hob_buf digests, packed;
	uint64_t count, size;
	bool failed;
};

srv_row_packer *srv_row_packer_new(void)
{
	srv_row_packer *packer = calloc(1, sizeof *packer);
	if (!packer)
		return NULL;
	packer->context = ZSTD_createCCtx();
	packer->failed = !packer->context ||
					 ZSTD_isError(ZSTD_CCtx_setParameter(packer->context, ZSTD_c_compressionLevel, LEVEL));
	return packer;
}

void srv_row_packer_free(srv_row_packer *packer)
{
	if (!packer)
		return;
	ZSTD_freeCCtx(packer->context);
	hob_buf_release(&packer->digests);
	hob_buf_release(&packer->packed);
	free(packer);
}

static void pack_part(srv_row_packer *packer, hob_str folded, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {folded.data, folded.len, 0};
	for (size_t left = 1; !packer->failed && (in.pos < in.size || (end == ZSTD_e_end && left > 0));) {
		size_t bound = ZSTD_CStreamOutSize(), from = packer->packed.size;
		ZSTD_outBuffer out = {hob_buf_grow(&packer->packed, bound), bound, 0};
		packer->failed = !out.dst;
		if (packer->failed)
			return;
		left = ZSTD_compressStream2(packer->context, &out, &in, end);
		packer->failed = ZSTD_isError(left);
		packer->packed.size = from + out.pos;
	}
}

void srv_row_packer_put(srv_row_packer *packer, hob_str text)
{
	hob_own_buf folded = {0};
	packer->size += text.len;
	packer->failed =
		packer->failed || packer->size > PARTS_MAX || (text.len > 0 && memchr(text.data, DIGEST, text.len));
	if (packer->failed)
		return;
	packer->count += fold(text, &folded, &packer->digests);
	packer->failed = folded.failed || packer->digests.failed;
	pack_part(packer, hob_buf_str(&folded), ZSTD_e_continue);
}

bool srv_row_packer_end(srv_row_packer *packer, hob_buf *out)
{
	pack_part(packer, HOB_STR(""), ZSTD_e_end);
	if (packer->failed)
		return false;
	hob_buf_put(out, &(uint8_t){PACKED}, 1);
	srv_row_put_number(out, packer->count);
	hob_buf_put_str(out, hob_buf_str(&packer->digests));
	hob_buf_put_str(out, hob_buf_str(&packer->packed));
	return !out->failed;
}

void srv_row_put_short(hob_str text, hob_buf *out)
{
	if (pack(text, out))
		return;
	if (text.len > 0 && (uint8_t)text.data[0] <= PACKED)
		hob_buf_put(out, &(uint8_t){PLAIN}, 1);
	hob_buf_put_str(out, text);
}

/* Decodes a text in parts; its size is unknown, so the buffer grows. */
static bool take_parts(hob_str frame, hob_str digests, hob_arena *arena, hob_str *out)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	hob_own_buf folded = {0};
	ZSTD_inBuffer in = {frame.data, frame.len, 0};
	size_t left = 1;
	bool ok = context != NULL;
	while (ok && left > 0) {
		size_t bound = ZSTD_DStreamOutSize(), from = folded.size, before = in.pos;
		ZSTD_outBuffer to = {hob_buf_grow(&folded, bound), bound, 0};
		left = to.dst ? ZSTD_decompressStream(context, &to, &in) : SIZE_MAX;
		ok = to.dst && !ZSTD_isError(left) && (to.pos > 0 || in.pos > before || left == 0) &&
			 from + to.pos <= PARTS_MAX;
		folded.size = from + to.pos;
	}
	ok = ok && in.pos == in.size && unfold(hob_buf_str(&folded), digests, arena, out);
	ZSTD_freeDCtx(context);
	return ok;
}

bool srv_row_take_short(hob_str bytes, hob_arena *arena, hob_str *out)
{
	if (bytes.len == 0 || (uint8_t)bytes.data[0] > PACKED) {
		*out = bytes;
		return true;
	}
	hob_str rest = hob_str_sub(bytes, 1, bytes.len), digests;
	uint64_t count;
	if (bytes.data[0] == PLAIN) {
		*out = rest;
		return true;
	}
	if (!take_number(&rest, &count) || count > TEXT_MAX ||
		!take_bytes(&rest, count * sizeof(hob_sha256), &digests))
		return false;
	hob_bytes frame = {(const uint8_t *)rest.data, rest.len};
	size_t full;
	if (ZSTD_getFrameContentSize(rest.data, rest.len) == ZSTD_CONTENTSIZE_UNKNOWN)
		return take_parts(rest, digests, arena, out);
	if (!srv_compressed_size(frame, TEXT_MAX, &full))
		return false;
	char *folded = hob_arena_alloc(arena, full + 1, 1);
	return folded && srv_decompress(frame, SRV_ROW_DICTIONARY, (uint8_t *)folded, full) &&
		   unfold((hob_str){folded, full}, digests, arena, out);
}

/* ---- lists */

static const char *const usual_names[] = {"materials", "meshes", "scene", "report", "animations"};

static void put_name(hob_buf *out, hob_str name)
{
	for (unsigned i = 0; i < HOB_COUNT_OF(usual_names); i++)
		if (hob_str_equal(name, hob_str_of(usual_names[i]))) {
			srv_row_put_number(out, 2 * i + 1);
			return;
		}
	srv_row_put_number(out, 2 * name.len);
	hob_buf_put_str(out, name);
}

static bool take_name(hob_str *rest, hob_str *out)
{
	uint64_t number;
	if (!take_number(rest, &number))
		return false;
	if (number % 2 == 0)
		return take_bytes(rest, number / 2, out);
	if (number / 2 >= HOB_COUNT_OF(usual_names))
		return false;
	*out = hob_str_of(usual_names[number / 2]);
	return true;
}

static void put_dep(hob_buf *out, const srv_record_dep *dep)
{
	srv_row_put_number(out, 2 * dep->path.len + dep->missing);
	hob_buf_put_str(out, dep->path);
	if (!dep->missing)
		hob_buf_put(out, dep->digest.bytes, sizeof dep->digest.bytes);
}

static void put_output(hob_buf *out, const srv_record_output *output)
{
	put_name(out, output->name);
	hob_buf_put(out, output->digest.bytes, sizeof output->digest.bytes);
	srv_row_put_number(out, output->size);
}

void srv_row_put_lists(const srv_record *record, hob_buf *out)
{
	srv_row_put_number(out, record->dep_count);
	for (uint32_t i = 0; i < record->dep_count; i++)
		put_dep(out, &record->deps[i]);
	srv_row_put_number(out, record->output_count);
	for (uint32_t i = 0; i < record->output_count; i++)
		put_output(out, &record->outputs[i]);
}

/* Reads a count. False if the rest is too short for it: each item has at least two bytes. */
static bool take_count(hob_str *rest, uint32_t *out)
{
	uint64_t count;
	if (!take_number(rest, &count) || count > ITEMS_MAX || count > rest->len / 2 + 1)
		return false;
	*out = (uint32_t)count;
	return true;
}

static bool take_dep(hob_str *rest, srv_record_dep *out)
{
	uint64_t head;
	*out = (srv_record_dep){0};
	if (!take_number(rest, &head) || !take_bytes(rest, head / 2, &out->path))
		return false;
	out->missing = head % 2 == 1;
	return out->missing || take_digest(rest, &out->digest);
}

bool srv_row_take_lists(hob_str bytes, hob_arena *arena, srv_record *out)
{
	hob_str rest = bytes;
	if (!take_count(&rest, &out->dep_count))
		return false;
	out->deps = HOB_NEW(arena, srv_record_dep, out->dep_count);
	if (!out->deps && out->dep_count > 0)
		return false;
	for (uint32_t i = 0; i < out->dep_count; i++)
		if (!take_dep(&rest, &out->deps[i]))
			return false;
	if (!take_count(&rest, &out->output_count))
		return false;
	out->outputs = HOB_NEW(arena, srv_record_output, out->output_count);
	if (!out->outputs && out->output_count > 0)
		return false;
	for (uint32_t i = 0; i < out->output_count; i++) {
		srv_record_output *output = &out->outputs[i];
		if (!take_name(&rest, &output->name) || !take_digest(&rest, &output->digest) ||
			!take_number(&rest, &output->size))
			return false;
	}
	return rest.len == 0;
}

hob_str srv_row_name(hob_str text, uint8_t out[SRV_ROW_NAME])
{
	hob_sha256 digest = hob_sha256_of((hob_bytes){(const uint8_t *)text.data, text.len});
	memcpy(out, digest.bytes, SRV_ROW_NAME);
	return (hob_str){(const char *)out, text.len > 0 ? SRV_ROW_NAME : 0};
}

/* ---- functions for SQL */

static hob_str argument(sqlite3_value *value)
{
	const char *data = sqlite3_value_blob(value);
	return (hob_str){data ? data : "", (size_t)sqlite3_value_bytes(value)};
}

static void answer(sqlite3_context *context, const hob_buf *out)
{
	if (out->failed)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_blob64(context, out->size > 0 ? (const void *)out->data : "", out->size,
							  SQLITE_TRANSIENT);
}

static void sql_name(sqlite3_context *context, int count, sqlite3_value **values)
{
	uint8_t name[SRV_ROW_NAME];
	(void)count;
	hob_str is = srv_row_name(argument(values[0]), name);
	sqlite3_result_blob(context, name, (int)is.len, SQLITE_TRANSIENT);
}

static void sql_short(sqlite3_context *context, int count, sqlite3_value **values)
{
	hob_own_buf out = {0};
	(void)count;
	srv_row_put_short(argument(values[0]), &out);
	answer(context, &out);
}

static bool next_row(sqlite3_stmt *rows, hob_str *text, hob_sha256 *digest)
{
	if (sqlite3_step(rows) != SQLITE_ROW)
		return false;
	*text = (hob_str){sqlite3_column_blob(rows, 0), (size_t)sqlite3_column_bytes(rows, 0)};
	*digest = (hob_sha256){{0}};
	if (sqlite3_column_bytes(rows, 1) == sizeof digest->bytes)
		memcpy(digest->bytes, sqlite3_column_blob(rows, 1), sizeof digest->bytes);
	return true;
}

/* Appends a list as it was before step 6: one row for each item. `expected`: number of items; -1: any. */
static bool put_rows(sqlite3 *db, const char *sql, sqlite3_int64 id, sqlite3_int64 expected, bool deps,
					 hob_buf *out)
{
	hob_own_buf items = {0};
	hob_str text;
	hob_sha256 digest;
	sqlite3_stmt *rows = NULL;
	sqlite3_int64 count = 0;
	bool ok = sqlite3_prepare_v2(db, sql, -1, &rows, NULL) == SQLITE_OK &&
			  sqlite3_bind_int64(rows, 1, id) == SQLITE_OK;
	for (; ok && next_row(rows, &text, &digest); count++)
		if (deps)
			put_dep(&items, &(srv_record_dep){text, sqlite3_column_type(rows, 1) == SQLITE_NULL, digest});
		else
			put_output(&items, &(srv_record_output){text, digest, (uint64_t)sqlite3_column_int64(rows, 2)});
	ok = sqlite3_finalize(rows) == SQLITE_OK && ok && (expected < 0 || expected == count);
	srv_row_put_number(out, (uint64_t)count);
	hob_buf_put_str(out, hob_buf_str(&items));
	out->failed = out->failed || items.failed;
	return ok;
}

static void sql_lists(sqlite3_context *context, int count, sqlite3_value **values)
{
	sqlite3 *db = sqlite3_context_db_handle(context);
	sqlite3_int64 id = sqlite3_value_int64(values[0]);
	hob_own_buf out = {0};
	(void)count;
	bool ok = put_rows(db, "SELECT path, digest FROM recipe_dep WHERE recipe = ?1 ORDER BY number", id,
					   sqlite3_value_int64(values[1]), true, &out) &&
			  put_rows(db, "SELECT name, digest, size FROM recipe_output WHERE recipe = ?1 ORDER BY number",
					   id, sqlite3_value_int64(values[2]), false, &out);
	if (ok)
		answer(context, &out);
	else
		sqlite3_result_error_code(context, SQLITE_CORRUPT);
}

bool srv_row_add_functions(sqlite3 *db)
{
	return sqlite3_create_function(db, "hob_name", 1, SQLITE_UTF8, NULL, sql_name, NULL, NULL) == SQLITE_OK &&
		   sqlite3_create_function(db, "hob_short", 1, SQLITE_UTF8, NULL, sql_short, NULL, NULL) ==
			   SQLITE_OK &&
		   sqlite3_create_function(db, "hob_lists", 3, SQLITE_UTF8, NULL, sql_lists, NULL, NULL) == SQLITE_OK;
}
