#include "pack_read.h"

#include <assert.h>

#include <meshoptimizer.h>

typedef struct known_section {
	uint32_t type;
	uint32_t min_stride;
	bool gpu;
} known_section;

typedef uint16_t hob_pk_index; /* shortest element of an IDX_ section */
typedef uint32_t hob_pk_vertex;

static const known_section known[] = {
#define SECTION(kind, name, a, b, c, d, record, gpu, doc) {HOB_PK_##name, sizeof(hob_pk_##record), gpu},
#include "../../schema/formats/packed.def"
};

const hob_pk_extra *hob_pack_extra(const hob_pack *scene, uint32_t kind, uint32_t index)
{
	hob_pack_array extras = hob_pack_find(scene, HOB_PK_XTRA);
	uint64_t wanted = (uint64_t)kind << 32 | index;
	for (uint32_t first = 0, end = extras.data ? extras.count : 0; first < end;) {
		uint32_t middle = first + (end - first) / 2;
		const hob_pk_extra *extra = HOB_PACK_AT(hob_pk_extra, extras, middle);
		uint64_t at = (uint64_t)extra->kind << 32 | extra->index;
		if (at == wanted)
			return extra;
		if (at < wanted)
			first = middle + 1;
		else
			end = middle;
	}
	return NULL;
}

hob_fourcc hob_fourcc_text(uint32_t fourcc)
{
	hob_fourcc out = {{0}};
	for (int i = 0; i < 4; i++) {
		char c = (char)(fourcc >> (8 * i) & 0xFF);
		out.text[i] = c >= ' ' && c < 127 ? c : '?';
	}
	return out;
}

bool hob_pack_is(hob_bytes file)
{
	return file.size >= 8 && memcmp(file.data, HOB_PK_MAGIC, 8) == 0;
}

static bool check_header(hob_bytes file, hob_error *err)
{
	if (!hob_pack_is(file))
		return hob_fail(err, CORRUPT, "not a packed Hob file: the first 8 bytes differ");
	if (file.size < sizeof(hob_pk_header))
		return hob_fail(err, TRUNCATED, "%zu bytes, a header has %zu", file.size, sizeof(hob_pk_header));
	const hob_pk_header *h = (const hob_pk_header *)(const void *)file.data;
	if (h->endian != HOB_PK_ENDIAN)
		return hob_fail(err, UNSUPPORTED, "byte order mark %08x, want %08x", h->endian, HOB_PK_ENDIAN);
	if (h->ver_major != HOB_PK_VERSION_MAJOR)
		return hob_fail(err, NEWER, "format version %u.%u; this reader knows %u", h->ver_major, h->ver_minor,
						HOB_PK_VERSION_MAJOR);
	if (h->header_bytes < sizeof *h || h->entry_bytes < sizeof(hob_pk_section) ||
		(h->header_bytes | h->entry_bytes) % 16)
		return hob_fail(err, CORRUPT, "header of %u bytes, table entries of %u bytes", h->header_bytes,
						h->entry_bytes);
	uint64_t table_end = h->header_bytes + (uint64_t)h->section_count * h->entry_bytes;
	if (h->prefix_bytes < table_end || h->prefix_bytes > h->file_bytes)
		return hob_fail(err, CORRUPT, "prefix of %llu bytes, table ends at %llu, file at %llu",
						(unsigned long long)h->prefix_bytes, (unsigned long long)table_end,
						(unsigned long long)h->file_bytes);
	if (file.size < h->file_bytes)
		return hob_fail(err, TRUNCATED, "%zu of %llu bytes are there", file.size,
						(unsigned long long)h->file_bytes);
	if (file.size > h->file_bytes)
		return hob_fail(err, CORRUPT, "%zu bytes, the header says %llu", file.size,
						(unsigned long long)h->file_bytes);
	return true;
}

static const known_section *find_known(uint32_t type)
{
	for (size_t i = 0; i < HOB_COUNT_OF(known); i++)
		if (known[i].type == type)
			return &known[i];
	return NULL;
}

bool hob_pack_is_known(uint32_t type)
{
	return find_known(type) != NULL;
}

static bool check_section(const hob_pk_header *h, const hob_pk_section *s, hob_error *err)
{
	const known_section *k = find_known(s->type);
	if (!k)
		return s->flags & HOB_PK_SECTION_MUST_UNDERSTAND
				   ? hob_fail(err, UNSUPPORTED, "this reader does not know the section, which it must")
				   : true;
	bool gpu = s->flags & HOB_PK_SECTION_GPU;
	if (gpu != k->gpu)
		return hob_fail(err, CORRUPT, "is on the wrong side of the prefix");
	uint64_t end = gpu ? h->file_bytes : h->prefix_bytes;
	if (s->offset > end || s->stored_bytes > end - s->offset)
		return hob_fail(err, CORRUPT, "%llu bytes at %llu, end at %llu", (unsigned long long)s->stored_bytes,
						(unsigned long long)s->offset, (unsigned long long)end);
	if (gpu && s->offset < h->prefix_bytes)
		return hob_fail(err, CORRUPT, "offset %llu lies within the prefix", (unsigned long long)s->offset);
	if (s->offset % HOB_PK_TABLE_ALIGN || s->stride < k->min_stride ||
		(k->min_stride % 4 == 0 && s->stride % 4))
		return hob_fail(err, CORRUPT, "offset %llu, stride %u, want a multiple of 16 and at least %u",
						(unsigned long long)s->offset, s->stride, k->min_stride);
	if ((uint64_t)s->count * s->stride != s->raw_bytes)
		return hob_fail(err, CORRUPT, "%u elements of %u bytes do not make %llu", s->count, s->stride,
						(unsigned long long)s->raw_bytes);
	if (s->codec == HOB_PK_CODEC_RAW ? s->stored_bytes != s->raw_bytes : !gpu)
		return hob_fail(err, CORRUPT, "codec %u with %llu stored and %llu raw bytes", s->codec,
						(unsigned long long)s->stored_bytes, (unsigned long long)s->raw_bytes);
	return true;
}

bool hob_pack_open(hob_bytes file, hob_pack *out, hob_error *err)
{
	assert(((uintptr_t)file.data & 7) == 0);
	if (!check_header(file, err))
		return false;
	const hob_pk_header *h = (const hob_pk_header *)(const void *)file.data;
	hob_pack pack = {file, h, h->kind, h->section_count};
	for (uint32_t i = 0; i < pack.section_count; i++) {
		const hob_pk_section *s = hob_pack_section(&pack, i);
		if (!check_section(h, s, err))
			return hob_fail_in(err, "section %u '%s'", i, hob_fourcc_text(s->type).text);
	}
	*out = pack;
	return true;
}

bool hob_pack_open_anywhere(hob_bytes file, hob_arena *arena, hob_pack *out, hob_error *err)
{
	if ((uintptr_t)file.data & 7)
		file.data = memcpy(hob_arena_alloc(arena, file.size, 16), file.data, file.size);
	return hob_pack_open(file, out, err);
}

const hob_pk_section *hob_pack_section(const hob_pack *pack, uint32_t index)
{
	if (index >= pack->section_count)
		return NULL;
	return (const hob_pk_section *)(const void *)(pack->file.data + pack->header->header_bytes +
												  (size_t)index * pack->header->entry_bytes);
}

hob_pack_array hob_pack_array_at(const hob_pack *pack, uint32_t index)
{
	const hob_pk_section *s = hob_pack_section(pack, index);
	if (!s || !find_known(s->type))
		return (hob_pack_array){0};
	bool here = s->codec == HOB_PK_CODEC_RAW && s->count;
	return (hob_pack_array){here ? pack->file.data + s->offset : NULL, s->count, s->stride};
}

hob_pack_array hob_pack_find(const hob_pack *pack, uint32_t type)
{
	for (uint32_t i = 0; i < pack->section_count; i++)
		if (hob_pack_section(pack, i)->type == type)
			return hob_pack_array_at(pack, i);
	return (hob_pack_array){0};
}

/* The codecs cannot compress by more than this factor, so a larger claim is refused before memory is
 * allocated. */
static bool plausible(const hob_pk_section *s)
{
	if (s->codec == HOB_PK_CODEC_MESHOPT_VERTEX)
		return s->raw_bytes / 64 <= s->stored_bytes;
	return s->count / 3 <= s->stored_bytes;
}

static bool decodable(const hob_pk_section *s, hob_error *err)
{
	switch (s->codec) {
	case HOB_PK_CODEC_MESHOPT_VERTEX:
		if (s->stride % 4 || s->stride > 256)
			return hob_fail(err, CORRUPT, "vertex codec on elements of %u bytes", s->stride);
		break;
	case HOB_PK_CODEC_MESHOPT_INDEX:
	case HOB_PK_CODEC_MESHOPT_SEQUENCE:
		if (s->stride != 2 && s->stride != 4)
			return hob_fail(err, CORRUPT, "index codec on elements of %u bytes", s->stride);
		if (s->codec == HOB_PK_CODEC_MESHOPT_INDEX && s->count % 3)
			return hob_fail(err, CORRUPT, "triangle codec on %u indices", s->count);
		break;
	default:
		return hob_fail(err, UNSUPPORTED, "codec %u", s->codec);
	}
	if (!plausible(s))
		return hob_fail(err, CORRUPT, "%llu stored bytes cannot hold %llu",
						(unsigned long long)s->stored_bytes, (unsigned long long)s->raw_bytes);
	return true;
}

bool hob_pack_decode(const hob_pack *pack, uint32_t index, hob_arena *arena, hob_pack_array *out,
					 hob_error *err)
{
	const hob_pk_section *s = hob_pack_section(pack, index);
	if (!s || !find_known(s->type))
		return hob_fail(err, CORRUPT, "no known section %u in a file of %u sections", index,
						pack->section_count);
	hob_pack_array raw = hob_pack_array_at(pack, index);
	if (s->codec == HOB_PK_CODEC_RAW || !s->count) {
		*out = raw;
		return true;
	}
	if (!decodable(s, err))
		return hob_fail_in(err, "section %u '%s'", index, hob_fourcc_text(s->type).text);
	uint8_t *data = hob_arena_array(arena, s->count, s->stride, 16);
	const uint8_t *stored = pack->file.data + s->offset;
	size_t size = (size_t)s->stored_bytes;
	int failed;
	if (s->codec == HOB_PK_CODEC_MESHOPT_VERTEX)
		failed = meshopt_decodeVertexBuffer(data, s->count, s->stride, stored, size);
	else if (s->codec == HOB_PK_CODEC_MESHOPT_INDEX)
		failed = meshopt_decodeIndexBuffer(data, s->count, s->stride, stored, size);
	else
		failed = meshopt_decodeIndexSequence(data, s->count, s->stride, stored, size);
	if (failed)
		return hob_fail(err, CORRUPT, "section %u '%s' does not decode (%d)", index,
						hob_fourcc_text(s->type).text, failed);
	*out = (hob_pack_array){data, s->count, s->stride};
	return true;
}

hob_str hob_pack_string(const hob_pack *pack, uint32_t offset)
{
	hob_pack_array strings = hob_pack_find(pack, HOB_PK_STRS);
	if (!strings.data || offset >= strings.count)
		return (hob_str){0};
	const char *at = (const char *)strings.data + offset;
	const char *end = (const char *)memchr(at, 0, strings.count - offset);
	return end ? (hob_str){at, (size_t)(end - at)} : (hob_str){0};
}

uint32_t hob_pack_link(hob_pack_array links, uint32_t node)
{
	uint32_t first = 0, last = links.data ? links.count : 0;
	while (first < last) {
		uint32_t middle = first + (last - first) / 2;
		const hob_pk_link *link = HOB_PACK_AT(hob_pk_link, links, middle);
		if (link->node == node)
			return link->value;
		if (link->node < node)
			first = middle + 1;
		else
			last = middle;
	}
	return HOB_PK_NONE;
}
