#include "gltf_private.h"

static const uint32_t glb_magic = 0x46546C67, chunk_json = 0x4E4F534A, chunk_bin = 0x004E4942;

/* ---- containers */

static bool too_short(hob_bytes file, hob_error *err)
{
	return hob_fail(err, TRUNCATED, "the GLB has %zu byte%s, its headers alone need 20", file.size,
					HOB_PLURAL(file.size));
}

/* Version 3, of the draft of glTF 2.1: 64-bit lengths, chunks aligned to eight and referenced by number; the
 * first JSON chunk is the document. */
static bool glb_container_3(hob_gltf *g, hob_bytes file, hob_str *text, hob_error *err)
{
	enum { HEADER = 16, CHUNK = 16 };
	uint64_t length = hob_load_u64(file.data + 8);
	if (length > file.size)
		return hob_fail(err, TRUNCATED, "the GLB says %llu bytes, the file has %zu",
						(unsigned long long)length, file.size);
	if (length < file.size)
		hob_gltf_note(g, "trailing-bytes", "%zu bytes after the end of the GLB were ignored",
					  file.size - (size_t)length);
	bool have_json = false;
	size_t end = (size_t)length;
	g->chunks = HOB_NEW(g->scratch, hob_bytes, end / CHUNK + 1);
	for (size_t at = HEADER; at < end && end - at >= CHUNK;) {
		const uint8_t *head = file.data + at;
		uint32_t type = hob_load_u32(head), encoding = hob_load_u32(head + 4);
		uint64_t size = hob_load_u64(head + 8);
		if (size > end - at - CHUNK)
			return hob_fail(err, TRUNCATED, "the GLB chunk at byte %zu says %llu bytes, %zu are left", at,
							(unsigned long long)size, end - at - CHUNK);
		bool json = type == chunk_json && !have_json;
		if (json && encoding != 0)
			return hob_fail(err, UNSUPPORTED,
							"the JSON chunk of the GLB has encoding %08x; export it without", encoding);
		if (json)
			*text = (hob_str){(const char *)head + CHUNK, (size_t)size};
		have_json = have_json || json;
		if (encoding == 0)
			g->chunks[g->chunk_count] = (hob_bytes){head + CHUNK, (size_t)size};
		if (encoding == 0 && type == chunk_bin && g->chunk_count == 1)
			g->glb_bin = g->chunks[1];
		g->chunk_count++;
		at += CHUNK + (size_t)size;
		at = (at + 7) & ~(size_t)7;
	}
	return have_json || hob_fail(err, CORRUPT, "the GLB holds no JSON chunk");
}

static bool glb_container(hob_gltf *g, hob_bytes file, hob_str *text, hob_error *err)
{
	if (file.size < 20)
		return too_short(file, err);
	uint32_t version = hob_load_u32(file.data + 4), length = hob_load_u32(file.data + 8);
	g->glb_version = version;
	if (version == 3)
		return glb_container_3(g, file, text, err);
	if (version == 1)
		return hob_fail(err, OLD_VERSION,
						"GLB version 1; this reader reads version 2, so export or convert it to glTF 2.0");
	if (version != 2)
		return hob_fail(err, UNSUPPORTED,
						"GLB version %u; Hob reads versions 2 and 3, so export or convert it to glTF 2.0",
						version);
	if (length > file.size)
		return hob_fail(err, TRUNCATED, "the GLB says %u bytes, the file has %zu", length, file.size);
	if (length < file.size)
		hob_gltf_note(g, "trailing-bytes", "%zu bytes after the end of the GLB were ignored",
					  file.size - length);
	bool have_json = false;
	for (size_t at = 12; at + 8 <= length;) {
		uint32_t size = hob_load_u32(file.data + at), type = hob_load_u32(file.data + at + 4);
		const uint8_t *data = file.data + at + 8;
		if (size > length - at - 8)
			return hob_fail(err, TRUNCATED, "the GLB chunk at byte %zu says %u bytes, %zu are left", at, size,
							length - at - 8);
		if (!have_json && type != chunk_json)
			return hob_fail(err, CORRUPT, "the first GLB chunk has type %08x instead of JSON", type);
		if (!have_json)
			*text = (hob_str){(const char *)data, size};
		else if (type == chunk_bin && !g->glb_bin.data)
			g->glb_bin = (hob_bytes){data, size};
		have_json = true;
		at += 8 + (size_t)size;
	}
	/* Padding is spaces in the specification, zeros from some exporters. */
	while (text->len > 0 && text->data[text->len - 1] == 0)
		text->len--;
	return have_json || hob_fail(err, CORRUPT, "the GLB holds no JSON chunk");
}

bool hob_gltf_container(hob_gltf *g, hob_str *text, hob_error *err)
{
	hob_bytes file = g->request->file;
	if (file.size >= 4 && hob_load_u32(file.data) == glb_magic)
		return glb_container(g, file, text, err);
	*text = (hob_str){(const char *)file.data, file.size};
	/* Some programs write JSON into a .glb. */
	bool named_glb = !hob_str_equal_nocase(hob_path_extension(g->request->path), HOB_STR("gltf"));
	if (named_glb && hob_str_find(*text, HOB_STR("{"), 0) == SIZE_MAX && file.size < 20)
		return too_short(file, err);
	if (hob_str_starts(*text, HOB_STR("\xEF\xBB\xBF")))
		*text = hob_str_sub(*text, 3, text->len);
	return true;
}

/* ---- URIs */

bool hob_gltf_is_data_uri(hob_str uri)
{
	return uri.len >= 5 && hob_str_equal_nocase(hob_str_sub(uri, 0, 5), HOB_STR("data:"));
}

enum { BASE64_SPACE = 64, BASE64_BAD = 65 };

static void base64_table(uint8_t table[256])
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	memset(table, BASE64_BAD, 256);
	for (int i = 0; i < 64; i++)
		table[(uint8_t)alphabet[i]] = (uint8_t)i;
	table['-'] = 62, table['_'] = 63;
	table[' '] = table['\n'] = table['\r'] = table['\t'] = BASE64_SPACE;
}

static bool base64_decode(hob_arena *arena, hob_str text, hob_bytes *out, hob_error *err)
{
	uint8_t table[256];
	base64_table(table);
	while (text.len > 0 &&
		   (text.data[text.len - 1] == '=' || table[(uint8_t)text.data[text.len - 1]] == BASE64_SPACE))
		text.len--;
	uint8_t *bytes = hob_arena_alloc(arena, text.len / 4 * 3 + 3, 8);
	const uint8_t *in = (const uint8_t *)text.data;
	size_t size = 0, i = 0, pending = 0;
	uint32_t bits = 0;
	while (i < text.len) {
		if (pending == 0 && text.len - i >= 4) {
			uint32_t a = table[in[i]], b = table[in[i + 1]], c = table[in[i + 2]], d = table[in[i + 3]];
			if ((a | b | c | d) < 64) {
				bytes[size++] = (uint8_t)(a << 2 | b >> 4);
				bytes[size++] = (uint8_t)(b << 4 | c >> 2);
				bytes[size++] = (uint8_t)(c << 6 | d);
				i += 4;
				continue;
			}
		}
		uint32_t value = table[in[i]];
		if (value == BASE64_BAD)
			return hob_fail(err, CORRUPT, "base64 of the data URI has a bad character at position %zu", i);
		i++;
		if (value == BASE64_SPACE)
			continue;
		bits = bits << 6 | value;
		if (++pending == 4) {
			bytes[size++] = (uint8_t)(bits >> 16);
			bytes[size++] = (uint8_t)(bits >> 8);
			bytes[size++] = (uint8_t)bits;
			pending = 0;
		}
	}
	if (pending == 1)
		return hob_fail(err, TRUNCATED, "base64 of the data URI ends inside a byte");
	if (pending >= 2)
		bytes[size++] = (uint8_t)(pending == 2 ? bits >> 4 : bits >> 10);
	if (pending == 3)
		bytes[size++] = (uint8_t)(bits >> 2);
	*out = (hob_bytes){bytes, size};
	return true;
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Unlike a path, data may hold %00. */
static hob_bytes percent_decode(hob_arena *arena, hob_str text)
{
	uint8_t *bytes = hob_arena_alloc(arena, text.len, 8);
	size_t size = 0;
	for (size_t i = 0; i < text.len; i++) {
		bool escape = text.data[i] == '%' && text.len - i > 2;
		int high = escape ? hex_value(text.data[i + 1]) : -1, low = escape ? hex_value(text.data[i + 2]) : -1;
		if (high < 0 || low < 0) {
			bytes[size++] = (uint8_t)text.data[i];
			continue;
		}
		bytes[size++] = (uint8_t)(high * 16 + low);
		i += 2;
	}
	return (hob_bytes){bytes, size};
}

bool hob_gltf_data_uri(hob_arena *arena, hob_str uri, hob_bytes *out, hob_str *mime, hob_error *err)
{
	const char *comma = memchr(uri.data, ',', uri.len);
	if (!comma)
		return hob_fail(err, CORRUPT, "the data URI has no ','");
	hob_str head = hob_str_sub(uri, 5, (size_t)(comma - uri.data));
	hob_str body = hob_str_sub(uri, (size_t)(comma - uri.data) + 1, uri.len);
	const char *semicolon = memchr(head.data ? head.data : "", ';', head.len);
	if (mime)
		*mime = semicolon ? hob_str_sub(head, 0, (size_t)(semicolon - head.data)) : head;
	if (hob_str_ends_nocase(head, HOB_STR(";base64")))
		return base64_decode(arena, body, out, err);
	*out = percent_decode(arena, body);
	return true;
}

bool hob_gltf_resolve(const hob_gltf *g, hob_arena *arena, hob_str uri, hob_str *path, hob_error *err)
{
	hob_str decoded;
	if (!hob_uri_decode(arena, uri, &decoded, err))
		return false;
	return hob_io_join(g->request->io, arena, hob_path_dir(g->request->path), decoded, path, err);
}

/* ---- buffers */

static bool read_file(hob_gltf *g, hob_str uri, hob_bytes *out, hob_error *err)
{
	const hob_io *io = g->request->io;
	hob_str path, found, literal;
	if (hob_gltf_aliased(g, uri, &path, out)) {
		if (out->size > 0)
			return true;
	} else if (!hob_gltf_resolve(g, g->scratch, uri, &path, err)) {
		return false;
	}
	hob_error why = {0};
	if (io->read(io->user, path, out, &why)) {
		if (memchr(uri.data, '\\', uri.len))
			hob_warn(g->request->notes, "gltf.backslash",
					 "buffer '%.*s' is named with backslashes, which only Windows reads; write '/'",
					 HOB_FMT(uri));
		return true;
	}
	/* Some exporters do not encode: then "a%20b.bin" is the file name. */
	if (why.code == HOB_ERR_MISSING_FILE && memchr(uri.data, '%', uri.len) &&
		hob_io_join(io, g->scratch, hob_path_dir(g->request->path), uri, &literal, NULL) &&
		io->read(io->user, literal, out, NULL))
		return true;
	if (err)
		*err = why;
	if (why.code == HOB_ERR_MISSING_FILE && io->find_nocase && io->find_nocase(io->user, path, &found))
		return hob_fail(err, MISSING_FILE,
						"'%.*s' does not exist, but '%.*s' does: names must match in upper and lower case",
						HOB_FMT(path), HOB_FMT(found));
	if (why.code == HOB_ERR_MISSING_FILE)
		return hob_fail(err, MISSING_FILE, "'%.*s' does not exist; put it there or export the model as .glb",
						HOB_FMT(path));
	return false;
}

static bool load_buffer(hob_gltf *g, uint32_t id, hob_gltf_source *out, hob_error *err)
{
	const cJSON *json = g->buffers.items[id];
	hob_str uri;
	size_t size;
	uint32_t chunk = HOB_NONE;
	if (!hob_gltf_string(json, "uri", &uri, err) ||
		!hob_gltf_size(json, "byteLength", SIZE_MAX, &size, err) ||
		(g->chunks && !hob_gltf_id(json, "chunk", g->chunk_count, &chunk, err)))
		return false;
	if (size == SIZE_MAX)
		return hob_fail(err, CORRUPT, "'byteLength' is missing");
	hob_bytes bytes;
	bool borrowed = true;
	if (hob_gltf_is_data_uri(uri)) {
		borrowed = false;
		if (!hob_gltf_data_uri(g->scratch, uri, &bytes, NULL, err))
			return false;
	} else if (uri.len > 0) {
		if (!read_file(g, uri, &bytes, err))
			return false;
	} else if (chunk != HOB_NONE) {
		if (!g->chunks[chunk].data)
			return hob_fail(err, UNSUPPORTED,
							"chunk %u of the GLB is encoded in a way that Hob does not know", chunk);
		bytes = g->chunks[chunk];
	} else if (id == 0 && g->glb_bin.data) {
		bytes = g->glb_bin;
	} else {
		return hob_fail(err, CORRUPT, "it has no uri%s", id == 0 ? " and the file has no BIN chunk" : "");
	}
	if (bytes.size < size)
		return hob_fail(err, TRUNCATED, "%zu bytes are declared, but there are only %zu", size, bytes.size);
	*out = (hob_gltf_source){{bytes.data, size}, true, borrowed};
	return true;
}

bool hob_gltf_buffer(hob_gltf *g, uint32_t id, hob_gltf_source *out, hob_error *err)
{
	hob_gltf_source *source = &g->buffer_sources[id];
	if (!source->loaded && !load_buffer(g, id, source, err))
		return hob_fail_in(err, "buffers[%u]", id);
	*out = *source;
	return true;
}

/* ---- buffer views */

static bool plain_view(hob_gltf *g, const cJSON *json, hob_gltf_source *out, hob_error *err)
{
	uint32_t buffer;
	size_t offset, size;
	hob_gltf_source source;
	if (!hob_gltf_need_id(json, "buffer", g->buffers.count, &buffer, err) ||
		!hob_gltf_size(json, "byteOffset", 0, &offset, err) ||
		!hob_gltf_size(json, "byteLength", SIZE_MAX, &size, err) || !hob_gltf_buffer(g, buffer, &source, err))
		return false;
	if (size == SIZE_MAX)
		return hob_fail(err, CORRUPT, "'byteLength' is missing");
	if (offset > source.bytes.size || size > source.bytes.size - offset)
		return hob_fail(err, TRUNCATED, "it ends at byte %zu of buffers[%u], which has %zu", offset + size,
						buffer, source.bytes.size);
	*out = (hob_gltf_source){{source.bytes.data + offset, size}, true, source.borrowed};
	return true;
}

static bool meshopt_extension(const cJSON *object, const cJSON **out, hob_error *err)
{
	if (!hob_gltf_extension(object, "EXT_meshopt_compression", out, err))
		return false;
	return *out || hob_gltf_extension(object, "KHR_meshopt_compression", out, err);
}

static bool has_fallback(const hob_gltf *g, const cJSON *view)
{
	uint32_t id;
	const cJSON *placeholder;
	if (g->meshopt_required || !hob_gltf_id(view, "buffer", g->buffers.count, &id, NULL) || id == HOB_NONE ||
		!meshopt_extension(g->buffers.items[id], &placeholder, NULL) || placeholder)
		return false;
	return hob_json_get(g->buffers.items[id], "uri") || (id == 0 && g->glb_bin.data);
}

static bool compressed_view(hob_gltf *g, uint32_t id, const cJSON *extension, hob_gltf_source *out,
							hob_error *err)
{
	const cJSON *json = g->views.items[id];
	hob_gltf_source *kept = &g->view_sources[id];
	if (!kept->loaded) {
		hob_error why = {0};
		if (hob_gltf_meshopt(g, extension, &kept->bytes, &why)) {
			kept->loaded = true;
		} else if (!has_fallback(g, json)) {
			if (err)
				*err = why;
			return false;
		} else {
			hob_gltf_note(g, "meshopt-fallback", "bufferViews[%u]: using its uncompressed copy, because %s",
						  id, why.context);
			if (!plain_view(g, json, kept, err))
				return false;
		}
	}
	*out = *kept;
	return true;
}

bool hob_gltf_view(hob_gltf *g, uint32_t id, hob_gltf_source *out, size_t *stride, hob_error *err)
{
	const cJSON *json = g->views.items[id];
	const cJSON *extension;
	bool ok = hob_gltf_size(json, "byteStride", 0, stride, err) && meshopt_extension(json, &extension, err) &&
			  (extension ? compressed_view(g, id, extension, out, err) : plain_view(g, json, out, err));
	if (!ok)
		return hob_fail_in(err, "bufferViews[%u]", id);
	if (*stride != 0 && (*stride < 4 || *stride > 252))
		return hob_fail(err, CORRUPT, "byteStride is %zu, allowed are 4 to 252; bufferViews[%u]", *stride,
						id);
	return true;
}

bool hob_gltf_keep_view(hob_gltf *g, uint32_t id, hob_bytes *out, hob_error *err)
{
	hob_gltf_source source;
	size_t stride;
	if (!hob_gltf_view(g, id, &source, &stride, err))
		return false;
	*out = source.bytes;
	if (source.borrowed)
		return true;
	uint8_t *copy = hob_arena_alloc(g->result, source.bytes.size, 8);
	memcpy(copy, source.bytes.data, source.bytes.size);
	out->data = copy;
	return true;
}
