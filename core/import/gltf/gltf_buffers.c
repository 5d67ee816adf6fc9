#include "gltf_private.h"

static const uint32_t glb_magic = 0x46546C67, chunk_json = 0x4E4F534A, chunk_bin = 0x004E4942;

/* ---- containers */

_Noreturn static void too_short(hob_bytes file)
{
	hob_leave(TRUNCATED, "the GLB has %zu byte%s, its headers alone need 20", file.size,
			  HOB_PLURAL(file.size));
}

/* Version 3, of the draft of glTF 2.1: 64-bit lengths, chunks aligned to eight and referenced by number; the
 * first JSON chunk is the document. */
static hob_str glb_container_3(hob_gltf *g, hob_bytes file)
{
	enum { HEADER = 16, CHUNK = 16 };
	uint64_t length = hob_load_u64(file.data + 8);
	if (length > file.size)
		hob_leave(TRUNCATED, "the GLB says %llu bytes, the file has %zu", (unsigned long long)length,
				  file.size);
	if (length < file.size)
		hob_gltf_note(g, "trailing-bytes", "%zu bytes after the end of the GLB were ignored",
					  file.size - (size_t)length);
	bool have_json = false;
	hob_str text = {0};
	size_t end = (size_t)length;
	g->chunks = HOB_NEW(g->scratch, hob_bytes, end / CHUNK + 1);
	for (size_t at = HEADER; at < end && end - at >= CHUNK;) {
		const uint8_t *head = file.data + at;
		uint32_t type = hob_load_u32(head), encoding = hob_load_u32(head + 4);
		uint64_t size = hob_load_u64(head + 8);
		if (size > end - at - CHUNK)
			hob_leave(TRUNCATED, "the GLB chunk at byte %zu says %llu bytes, %zu are left", at,
					  (unsigned long long)size, end - at - CHUNK);
		bool json = type == chunk_json && !have_json;
		if (json && encoding != 0)
			hob_leave(UNSUPPORTED, "the JSON chunk of the GLB has encoding %08x; export it without",
					  encoding);
		if (json)
			text = (hob_str){(const char *)head + CHUNK, (size_t)size};
		have_json = have_json || json;
		if (encoding == 0)
			g->chunks[g->chunk_count] = (hob_bytes){head + CHUNK, (size_t)size};
		if (encoding == 0 && type == chunk_bin && g->chunk_count == 1)
			g->glb_bin = g->chunks[1];
		g->chunk_count++;
		at += CHUNK + (size_t)size;
		at = (at + 7) & ~(size_t)7;
	}
	if (!have_json)
		hob_leave(CORRUPT, "the GLB holds no JSON chunk");
	return text;
}

static hob_str glb_container(hob_gltf *g, hob_bytes file)
{
	if (file.size < 20)
		too_short(file);
	uint32_t version = hob_load_u32(file.data + 4), length = hob_load_u32(file.data + 8);
	g->glb_version = version;
	if (version == 3)
		return glb_container_3(g, file);
	if (version == 1)
		hob_leave(OLD_VERSION,
				  "GLB version 1; this reader reads version 2, so export or convert it to glTF 2.0");
	if (version != 2)
		hob_leave(UNSUPPORTED,
				  "GLB version %u; Hob reads versions 2 and 3, so export or convert it to glTF 2.0", version);
	if (length > file.size)
		hob_leave(TRUNCATED, "the GLB says %u bytes, the file has %zu", length, file.size);
	if (length < file.size)
		hob_gltf_note(g, "trailing-bytes", "%zu bytes after the end of the GLB were ignored",
					  file.size - length);
	bool have_json = false;
	hob_str text = {0};
	for (size_t at = 12; at + 8 <= length;) {
		uint32_t size = hob_load_u32(file.data + at), type = hob_load_u32(file.data + at + 4);
		const uint8_t *data = file.data + at + 8;
		if (size > length - at - 8)
			hob_leave(TRUNCATED, "the GLB chunk at byte %zu says %u bytes, %zu are left", at, size,
					  length - at - 8);
		if (!have_json && type != chunk_json)
			hob_leave(CORRUPT, "the first GLB chunk has type %08x instead of JSON", type);
		if (!have_json)
			text = (hob_str){(const char *)data, size};
		else if (type == chunk_bin && !g->glb_bin.data)
			g->glb_bin = (hob_bytes){data, size};
		have_json = true;
		at += 8 + (size_t)size;
	}
	/* Padding is spaces in the specification, zeros from some exporters. */
	while (text.len > 0 && text.data[text.len - 1] == 0)
		text.len--;
	if (!have_json)
		hob_leave(CORRUPT, "the GLB holds no JSON chunk");
	return text;
}

hob_str hob_gltf_container(hob_gltf *g)
{
	hob_bytes file = g->request->file;
	if (file.size >= 4 && hob_load_u32(file.data) == glb_magic)
		return glb_container(g, file);
	hob_str text = {(const char *)file.data, file.size};
	/* Some programs write JSON into a .glb. */
	bool named_glb = !hob_str_equal_nocase(hob_path_extension(g->request->path), HOB_STR("gltf"));
	if (named_glb && hob_str_find(text, HOB_STR("{"), 0) == SIZE_MAX && file.size < 20)
		too_short(file);
	return hob_str_starts(text, HOB_STR("\xEF\xBB\xBF")) ? hob_str_sub(text, 3, text.len) : text;
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

static hob_bytes base64_decode(hob_arena *arena, hob_str text)
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
			hob_leave(CORRUPT, "base64 of the data URI has a bad character at position %zu", i);
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
		hob_leave(TRUNCATED, "base64 of the data URI ends inside a byte");
	if (pending >= 2)
		bytes[size++] = (uint8_t)(pending == 2 ? bits >> 4 : bits >> 10);
	if (pending == 3)
		bytes[size++] = (uint8_t)(bits >> 2);
	return (hob_bytes){bytes, size};
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

hob_bytes hob_gltf_data_uri(hob_arena *arena, hob_str uri, hob_str *mime)
{
	const char *comma = memchr(uri.data, ',', uri.len);
	if (!comma)
		hob_leave(CORRUPT, "the data URI has no ','");
	hob_str head = hob_str_sub(uri, 5, (size_t)(comma - uri.data));
	hob_str body = hob_str_sub(uri, (size_t)(comma - uri.data) + 1, uri.len);
	const char *semicolon = memchr(head.data ? head.data : "", ';', head.len);
	if (mime)
		*mime = semicolon ? hob_str_sub(head, 0, (size_t)(semicolon - head.data)) : head;
	bool packed = hob_str_ends_nocase(head, HOB_STR(";base64"));
	return packed ? base64_decode(arena, body) : percent_decode(arena, body);
}

hob_str hob_gltf_resolve(const hob_gltf *g, hob_arena *arena, hob_str uri)
{
	hob_str decoded, path;
	hob_error why;
	hob_need(hob_uri_decode(arena, uri, &decoded, &why), &why);
	hob_need(hob_io_join(g->request->io, arena, hob_path_dir(g->request->path), decoded, &path, &why), &why);
	return path;
}

/* ---- buffers */

static hob_bytes read_file(hob_gltf *g, hob_str uri)
{
	const hob_io *io = g->request->io;
	hob_bytes bytes;
	hob_str path, found, literal;
	bool aliased = hob_gltf_aliased(g, uri, &path, &bytes);
	if (aliased && bytes.size > 0)
		return bytes;
	if (!aliased)
		path = hob_gltf_resolve(g, g->scratch, uri);
	hob_error why = {0};
	if (io->read(io->user, path, &bytes, &why)) {
		if (memchr(uri.data, '\\', uri.len))
			hob_warn(g->request->notes, "gltf.backslash",
					 "buffer '%.*s' is named with backslashes, which only Windows reads; write '/'",
					 HOB_FMT(uri));
		return bytes;
	}
	if (why.code != HOB_ERR_MISSING_FILE)
		hob_leave_with(&why);
	/* Some exporters do not encode: then "a%20b.bin" is the file name. */
	if (memchr(uri.data, '%', uri.len) &&
		hob_io_join(io, g->scratch, hob_path_dir(g->request->path), uri, &literal, NULL) &&
		io->read(io->user, literal, &bytes, NULL))
		return bytes;
	if (io->find_nocase && io->find_nocase(io->user, path, &found))
		hob_leave(MISSING_FILE,
				  "'%.*s' does not exist, but '%.*s' does: names must match in upper and lower case",
				  HOB_FMT(path), HOB_FMT(found));
	hob_leave(MISSING_FILE, "'%.*s' does not exist; put it there or export the model as .glb", HOB_FMT(path));
}

static hob_gltf_source load_buffer(hob_gltf *g, uint32_t id)
{
	HOB_PLACE("buffers[#]", id, {0});
	const cJSON *json = g->buffers.items[id];
	hob_str uri = hob_gltf_string(json, "uri");
	size_t size = hob_gltf_size(json, "byteLength", SIZE_MAX);
	uint32_t chunk = g->chunks ? hob_gltf_id(json, "chunk", g->chunk_count) : HOB_NONE;
	if (size == SIZE_MAX)
		hob_leave(CORRUPT, "'byteLength' is missing");
	hob_bytes bytes;
	bool borrowed = true;
	if (hob_gltf_is_data_uri(uri)) {
		borrowed = false;
		bytes = hob_gltf_data_uri(g->scratch, uri, NULL);
	} else if (uri.len > 0) {
		bytes = read_file(g, uri);
	} else if (chunk != HOB_NONE) {
		if (!g->chunks[chunk].data)
			hob_leave(UNSUPPORTED, "chunk %u of the GLB is encoded in a way that Hob does not know", chunk);
		bytes = g->chunks[chunk];
	} else if (id == 0 && g->glb_bin.data) {
		bytes = g->glb_bin;
	} else {
		hob_leave(CORRUPT, "it has no uri%s", id == 0 ? " and the file has no BIN chunk" : "");
	}
	hob_str file = borrowed ? uri : (hob_str){0};
	if (bytes.size < size)
		hob_leave(TRUNCATED, "%zu bytes are declared, but %.*s%s only %zu", size, HOB_FMT(file),
				  file.len > 0 ? " has" : "there are", bytes.size);
	return (hob_gltf_source){{bytes.data, size}, true, borrowed};
}

hob_gltf_source hob_gltf_buffer(hob_gltf *g, uint32_t id)
{
	hob_gltf_source *source = &g->buffer_sources[id];
	if (!source->loaded)
		*source = load_buffer(g, id);
	return *source;
}

/* ---- buffer views */

static hob_gltf_source plain_view(hob_gltf *g, const cJSON *json)
{
	uint32_t buffer = hob_gltf_need_id(json, "buffer", g->buffers.count);
	size_t offset = hob_gltf_size(json, "byteOffset", 0), size = hob_gltf_size(json, "byteLength", SIZE_MAX);
	hob_gltf_source source = hob_gltf_buffer(g, buffer);
	if (size == SIZE_MAX)
		hob_leave(CORRUPT, "'byteLength' is missing");
	if (offset > source.bytes.size || size > source.bytes.size - offset)
		hob_leave(TRUNCATED, "it ends at byte %zu of buffers[%u], which has %zu", offset + size, buffer,
				  source.bytes.size);
	return (hob_gltf_source){{source.bytes.data + offset, size}, true, source.borrowed};
}

static const cJSON *meshopt_extension(const cJSON *object)
{
	const cJSON *found = hob_gltf_extension(object, "EXT_meshopt_compression");
	return found ? found : hob_gltf_extension(object, "KHR_meshopt_compression");
}

/* Whether the view's buffer has bytes of its own. */
static void find_fallback(hob_gltf *g, uint32_t view, void *to)
{
	uint32_t id = hob_gltf_id(g->views.items[view], "buffer", g->buffers.count);
	*(bool *)to = id != HOB_NONE && !meshopt_extension(g->buffers.items[id]) &&
				  (hob_json_get(g->buffers.items[id], "uri") || (id == 0 && g->glb_bin.data));
}

static void unpack_view(hob_gltf *g, uint32_t id, void *to)
{
	*(hob_bytes *)to = hob_gltf_meshopt(g, meshopt_extension(g->views.items[id]));
}

static hob_gltf_source compressed_view(hob_gltf *g, uint32_t id)
{
	hob_gltf_source *kept = &g->view_sources[id];
	hob_error why = {0}, ignored;
	bool fallback = false;
	if (kept->loaded)
		return *kept;
	kept->loaded = hob_gltf_try(g, unpack_view, id, &kept->bytes, &why);
	if (kept->loaded)
		return *kept;
	if (g->meshopt_required || !hob_gltf_try(g, find_fallback, id, &fallback, &ignored) || !fallback)
		hob_leave_with(&why);
	hob_gltf_note(g, "meshopt-fallback", "bufferViews[%u]: using its uncompressed copy, because %s", id,
				  why.context);
	*kept = plain_view(g, g->views.items[id]);
	return *kept;
}

static hob_gltf_source any_view(hob_gltf *g, uint32_t id, size_t *stride)
{
	HOB_PLACE("bufferViews[#]", id, {0});
	const cJSON *json = g->views.items[id];
	*stride = hob_gltf_size(json, "byteStride", 0);
	return meshopt_extension(json) ? compressed_view(g, id) : plain_view(g, json);
}

hob_gltf_source hob_gltf_view(hob_gltf *g, uint32_t id, size_t *stride)
{
	hob_gltf_source view = any_view(g, id, stride);
	if (*stride != 0 && (*stride < 4 || *stride > 252))
		hob_leave(CORRUPT, "byteStride is %zu, allowed are 4 to 252; bufferViews[%u]", *stride, id);
	return view;
}

hob_bytes hob_gltf_keep_view(hob_gltf *g, uint32_t id)
{
	size_t stride;
	hob_gltf_source source = hob_gltf_view(g, id, &stride);
	if (source.borrowed)
		return source.bytes;
	uint8_t *copy = hob_arena_alloc(g->result, source.bytes.size, 8);
	memcpy(copy, source.bytes.data, source.bytes.size);
	return (hob_bytes){copy, source.bytes.size};
}
