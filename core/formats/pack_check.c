#include "pack_check.h"

#include "../hash/hash.h"

#include <meshoptimizer.h>

enum { MAX_SECTIONS = 1 << 20 };

typedef struct rule {
	uint32_t kind, type, record_bytes;
	bool gpu;
} rule;

typedef hob_pk_u32 hob_pk_vertex;
typedef hob_pk_u16 hob_pk_index;

static const rule rules[] = {
#define SECTION(kind, name, a, b, c, d, record, gpu, doc)                                                    \
	{HOB_PK_KIND_##kind, HOB_PK_##name, sizeof(hob_pk_##record), gpu},
#include "../../schema/formats/packed.def"
};

static bool may_repeat(uint32_t type)
{
	return type == HOB_PK_VTX_ || type == HOB_PK_IDX_;
}

static bool may_be_missing(const rule *of)
{
	static const uint32_t optional[] = {HOB_PK_RNGS, HOB_PK_LODA, HOB_PK_LODM, HOB_PK_CLST,
										HOB_PK_CLGR, HOB_PK_CLUS, HOB_PK_XTRA, HOB_PK_PROP};
	bool found = of->gpu;
	for (size_t i = 0; i < HOB_COUNT_OF(optional); i++)
		found = found || of->type == optional[i];
	return found;
}

static const rule *rule_of(uint32_t kind, uint32_t type)
{
	for (size_t i = 0; i < HOB_COUNT_OF(rules); i++)
		if (rules[i].type == type && (rules[i].kind == kind || rules[i].kind == HOB_PK_KIND_ALL))
			return &rules[i];
	return NULL;
}

typedef unsigned long long ull;

check_section hob_check_find(const check_file *file, uint32_t type)
{
	for (uint32_t i = 0; i < file->header.section_count; i++)
		if (file->sections[i].entry.type == type)
			return file->sections[i];
	return (check_section){0};
}

void hob_check_read(const check_section *section, uint32_t index, void *record, size_t size)
{
	memcpy(record, section->data + (size_t)index * section->entry.stride, size);
}

uint32_t hob_check_u32(const check_section *section, uint32_t index)
{
	return hob_load_u32(section->data + (size_t)index * section->entry.stride);
}

bool hob_check_name(const check_file *file, uint32_t name)
{
	CHECK(file, name < file->string_bytes && (name == 0 || file->strings[name - 1] == 0),
		  "name %u is not the start of a string (%u bytes of strings)", name, file->string_bytes);
	return true;
}

bool hob_check_finite(const float *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(values[i] - values[i] == 0))
			return false;
	return true;
}

bool hob_check_all_finite(const check_file *file, const check_section *section, const char *what)
{
	size_t floats = section->entry.stride / 4;
	for (uint32_t i = 0; i < section->entry.count; i++)
		for (size_t f = 0; f < floats; f++) {
			float value = hob_load_f32(section->data + (size_t)i * section->entry.stride + f * 4);
			CHECK(file, hob_check_finite(&value, 1), "%s %u is not finite at component %zu", what, i, f);
		}
	return true;
}

bool hob_check_run(const check_file *file, uint32_t first, uint32_t count, uint32_t *cursor, uint32_t limit,
				   const char *what)
{
	CHECK(file, first == *cursor, "first %s %u, want %u: ranges must be in order without gaps", what, first,
		  *cursor);
	CHECK(file, count <= limit - first, "%s %u..+%u of %u", what, first, count, limit);
	*cursor = first + count;
	return true;
}

static bool check_header(check_file *file)
{
	hob_bytes bytes = file->bytes;
	if (bytes.size < sizeof(hob_pk_header))
		return hob_fail(file->err, TRUNCATED, "%zu bytes are less than a header", bytes.size);
	memcpy(&file->header, bytes.data, sizeof file->header);
	const hob_pk_header *h = &file->header;
	static const uint8_t magic[8] = {0x89, 'H', 'O', 'B', '\r', '\n', 0x1A, '\n'};
	CHECK(file, memcmp(h->magic, magic, 8) == 0, "the magic bytes differ");
	CHECK(file, h->endian == 0x01020304u, "byte order mark %08x", h->endian);
	if (h->ver_major != 1)
		return hob_fail(file->err, NEWER, "version %u.%u", h->ver_major, h->ver_minor);
	CHECK(file,
		  h->kind == HOB_PK_KIND_MESH || h->kind == HOB_PK_KIND_MATL || h->kind == HOB_PK_KIND_SCNE ||
			  h->kind == HOB_PK_KIND_ANIM,
		  "unknown kind %08x", h->kind);
	CHECK(file, h->ver_minor > HOB_PK_VERSION_MINOR || (h->flags & ~7u) == 0, "unknown file flags %x",
		  h->flags);
	CHECK(file, h->header_bytes >= 64 && h->header_bytes % 16 == 0, "header_bytes %u", h->header_bytes);
	CHECK(file, h->entry_bytes >= 64 && h->entry_bytes % 16 == 0, "entry_bytes %u", h->entry_bytes);
	CHECK(file, h->ver_minor > HOB_PK_VERSION_MINOR || (h->header_bytes == 64 && h->entry_bytes == 64),
		  "header_bytes %u, entry_bytes %u in version 1.0", h->header_bytes, h->entry_bytes);
	if (bytes.size < h->file_bytes)
		return hob_fail(file->err, TRUNCATED, "%zu of %llu bytes", bytes.size, (ull)h->file_bytes);
	CHECK(file, bytes.size == h->file_bytes, "%zu bytes, the header says %llu", bytes.size,
		  (ull)h->file_bytes);
	CHECK(file, h->section_count <= MAX_SECTIONS, "%u sections", h->section_count);
	uint64_t table_end = h->header_bytes + (uint64_t)h->section_count * h->entry_bytes;
	CHECK(file, table_end <= bytes.size, "section table ends at %llu of %zu bytes", (ull)table_end,
		  bytes.size);
	return true;
}

static bool equal_digest(const uint8_t digest[16], const hob_sha256 *sha)
{
	return memcmp(digest, sha->bytes, 16) == 0;
}

static bool check_table_digest(const check_file *file)
{
	const hob_pk_header *h = &file->header;
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	hob_hasher_put(&hasher, file->bytes.data, 48);
	hob_hasher_put(&hasher, file->bytes.data + h->header_bytes, (size_t)h->section_count * h->entry_bytes);
	hob_sha256 sha = hob_hasher_finish(&hasher);
	CHECK(file, equal_digest(h->digest, &sha), "the digest of the section table differs");
	return true;
}

static bool check_zero(const check_file *file, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		CHECK(file, file->bytes.data[i] == 0, "padding byte at %llu is not zero", (ull)i);
	return true;
}

static bool check_entry(const check_file *file, const hob_pk_section *e, uint64_t end, bool gpu_begun)
{
	bool gpu = e->flags & HOB_PK_SECTION_GPU;
	CHECK(file, gpu || !gpu_begun, "a section without the GPU flag behind one with it");
	CHECK(file, file->header.ver_minor > HOB_PK_VERSION_MINOR || (e->flags & ~3u) == 0, "unknown flags %x",
		  e->flags);
	CHECK(file, e->align_log2 == (gpu ? 8 : 4), "align_log2 %u", e->align_log2);
	uint64_t align = (uint64_t)1 << e->align_log2, want = (end + align - 1) / align * align;
	CHECK(file, e->offset == want, "offset %llu, want %llu", (ull)e->offset, (ull)want);
	CHECK(file, e->offset <= file->bytes.size && e->stored_bytes <= file->bytes.size - e->offset,
		  "%llu bytes at %llu leave the file", (ull)e->stored_bytes, (ull)e->offset);
	CHECK(file, e->stride > 0 && (uint64_t)e->count * e->stride == e->raw_bytes,
		  "%u elements of %u bytes are not %llu", e->count, e->stride, (ull)e->raw_bytes);
	CHECK(file, e->codec != HOB_PK_CODEC_RAW || e->stored_bytes == e->raw_bytes,
		  "raw, but %llu stored for %llu bytes", (ull)e->stored_bytes, (ull)e->raw_bytes);
	CHECK(file, e->codec == HOB_PK_CODEC_RAW || gpu, "encoded, but not a GPU section");
	const rule *known = rule_of(file->header.kind, e->type);
	if (!known) {
		CHECK(file,
			  file->header.ver_minor > HOB_PK_VERSION_MINOR && !(e->flags & HOB_PK_SECTION_MUST_UNDERSTAND),
			  "unknown section type");
		return true;
	}
	CHECK(file, known->gpu == gpu, "GPU flag %u", gpu);
	CHECK(file,
		  e->stride >= known->record_bytes && (file->header.ver_minor > HOB_PK_VERSION_MINOR ||
											   may_repeat(e->type) || e->stride == known->record_bytes),
		  "stride %u, records have %u bytes", e->stride, known->record_bytes);
	CHECK(file, e->type == HOB_PK_VTX_ || e->owner == 0, "owner %u", e->owner);
	CHECK(file, may_repeat(e->type) || e->part == 0, "part %u", e->part);
	return true;
}

static bool decode(const check_file *file, check_section *section)
{
	const hob_pk_section *e = &section->entry;
	const uint8_t *stored = file->bytes.data + e->offset;
	section->data = stored;
	hob_sha256 sha = hob_sha256_of((hob_bytes){stored, (size_t)e->stored_bytes});
	CHECK(file, equal_digest(e->digest, &sha), "the digest differs");
	if (e->codec == HOB_PK_CODEC_RAW)
		return true;
	size_t size = (size_t)e->stored_bytes;
	bool vertices = e->codec == HOB_PK_CODEC_MESHOPT_VERTEX;
	CHECK(file, e->codec <= HOB_PK_CODEC_MESHOPT_SEQUENCE, "unknown codec %u", e->codec);
	CHECK(file, e->count > 0 && e->stored_bytes < e->raw_bytes, "encoded in %zu bytes, raw %llu", size,
		  (ull)e->raw_bytes);
	CHECK(file, vertices ? e->stride % 4 == 0 && e->stride <= 256 : e->stride == 2 || e->stride == 4,
		  "codec %u on stride %u", e->codec, e->stride);
	CHECK(file, e->codec != HOB_PK_CODEC_MESHOPT_INDEX || e->count % 3 == 0, "triangle codec on %u indices",
		  e->count);
	CHECK(file, vertices ? e->raw_bytes / 64 <= size : e->count / 3 <= size,
		  "%zu bytes cannot decode to %llu", size, (ull)e->raw_bytes);
	uint8_t *data = hob_arena_array(file->arena, e->count, e->stride, 16);
	if (!data)
		return hob_fail_memory(file->err, file->arena, "decoding");
	int failed = vertices ? meshopt_decodeVertexBuffer(data, e->count, e->stride, stored, size)
				 : e->codec == HOB_PK_CODEC_MESHOPT_INDEX
					 ? meshopt_decodeIndexBuffer(data, e->count, e->stride, stored, size)
					 : meshopt_decodeIndexSequence(data, e->count, e->stride, stored, size);
	CHECK(file, !failed, "codec %u fails with %d", e->codec, failed);
	section->data = data;
	return true;
}

static bool check_sections(check_file *file)
{
	const hob_pk_header *h = &file->header;
	if (!HOB_MAKE(file->arena, &file->sections, h->section_count, "the section table", file->err))
		return false;
	uint64_t end = h->header_bytes + (uint64_t)h->section_count * h->entry_bytes, prefix = end;
	bool gpu_begun = false, raw = true;
	for (uint32_t i = 0; i < h->section_count; i++) {
		check_section *section = &file->sections[i];
		hob_pk_section *e = &section->entry;
		memcpy(e, file->bytes.data + h->header_bytes + (size_t)i * h->entry_bytes, sizeof *e);
		if (!check_entry(file, e, end, gpu_begun) || !check_zero(file, end, e->offset) ||
			!decode(file, section))
			return hob_fail_in(file->err, "section %u '%c%c%c%c'", i, (int)(e->type & 127),
							   (int)(e->type >> 8 & 127), (int)(e->type >> 16 & 127),
							   (int)(e->type >> 24 & 127));
		end = e->offset + e->stored_bytes;
		gpu_begun = e->flags & HOB_PK_SECTION_GPU;
		raw = raw && e->codec == HOB_PK_CODEC_RAW;
		prefix = gpu_begun ? prefix : end;
	}
	CHECK(file, end == h->file_bytes, "sections end at %llu, the file at %llu", (ull)end, (ull)h->file_bytes);
	CHECK(file, prefix == h->prefix_bytes, "prefix ends at %llu, the header says %llu", (ull)prefix,
		  (ull)h->prefix_bytes);
	CHECK(file, raw == !!(h->flags & HOB_PK_FILE_RAW), "flag FILE_RAW is %u", h->flags & HOB_PK_FILE_RAW);
	return true;
}

static bool check_presence(const check_file *file)
{
	CHECK(file, file->header.section_count && file->sections[0].entry.type == HOB_PK_STRS,
		  "the first section is not STRS");
	for (size_t r = 0; r < HOB_COUNT_OF(rules); r++) {
		if (may_repeat(rules[r].type) ||
			(rules[r].kind != file->header.kind && rules[r].kind != HOB_PK_KIND_ALL))
			continue;
		uint32_t found = 0;
		for (uint32_t i = 0; i < file->header.section_count; i++)
			found += file->sections[i].entry.type == rules[r].type;
		CHECK(file, found == 1 || (found == 0 && may_be_missing(&rules[r])), "%u sections of type %08x",
			  found, rules[r].type);
	}
	return true;
}

static bool check_strings(check_file *file)
{
	const check_section *s = &file->sections[0];
	file->strings = s->data;
	file->string_bytes = s->entry.count;
	CHECK(file, s->entry.stride == 1 && s->entry.count > 0, "no strings");
	CHECK(file, s->data[0] == 0, "the first string is not empty");
	CHECK(file, s->data[s->entry.count - 1] == 0, "the last string is not ended");
	CHECK(file, hob_utf8_valid((hob_str){(const char *)s->data, s->entry.count}), "strings are not UTF-8");
	return true;
}

/* Checks the ranges against the sections; both are sorted by offset. */
static bool check_ranges(const check_file *file)
{
	const check_section ranges = hob_check_find(file, HOB_PK_RNGS);
	uint32_t section = 0;
	uint64_t end = 0;
	for (uint32_t i = 0; i < ranges.entry.count; i++) {
		READ(range, range, ranges, i);
		CHECK(file, range.size > 0 && range.offset >= end, "range %u is empty or overlaps the one before", i);
		while (section < file->header.section_count &&
			   file->sections[section].entry.offset + file->sections[section].entry.stored_bytes <=
				   range.offset)
			section++;
		CHECK(file, section < file->header.section_count, "range %u lies behind the last section", i);
		const hob_pk_section *e = &file->sections[section].entry;
		CHECK(file, range.offset >= e->offset && range.size <= e->offset + e->stored_bytes - range.offset,
			  "range %u leaves its section", i);
		CHECK(file, e->codec == HOB_PK_CODEC_RAW && e->type != HOB_PK_RNGS && section > 0,
			  "range %u is of a section that has none", i);
		hob_sha256 sha = hob_sha256_of((hob_bytes){file->bytes.data + range.offset, range.size});
		CHECK(file, memcmp(sha.bytes, range.digest, sizeof range.digest) == 0,
			  "the digest of range %u differs", i);
		end = range.offset + range.size;
	}
	return true;
}

bool hob_check_container(check_file *file, hob_bytes bytes, hob_arena *arena, hob_error *err)
{
	*file = (check_file){.bytes = bytes, .arena = arena, .err = err};
	return check_header(file) && check_table_digest(file) && check_sections(file) && check_presence(file) &&
		   check_ranges(file) && check_strings(file);
}
