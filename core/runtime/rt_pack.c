#include "rt_private.h"

#include <string.h>

bool hob_rt_is_packed(hob_rt_blob blob)
{
	return blob.size >= 8 && memcmp(blob.data, HOB_PK_MAGIC, 8) == 0;
}

const hob_pk_section *hob_rt_pack_section(const rt_pack *pack, uint32_t index)
{
	return (const hob_pk_section *)(const void *)(pack->table + (size_t)index * pack->entry_bytes);
}

static bool is_known(uint32_t type)
{
	static const uint32_t known[] = {
#define SECTION(kind, name, a, b, c, d, record, gpu, doc) HOB_PK_##name,
#include "../../schema/formats/container.def"
#define SECTION(kind, name, a, b, c, d, record, gpu, doc) HOB_PK_##name,
#include "../../schema/formats/mesh.def"
#define SECTION(kind, name, a, b, c, d, record, gpu, doc) HOB_PK_##name,
#include "../../schema/formats/material.def"
#define SECTION(kind, name, a, b, c, d, record, gpu, doc) HOB_PK_##name,
#include "../../schema/formats/scene.def"
#define SECTION(kind, name, a, b, c, d, record, gpu, doc) HOB_PK_##name,
#include "../../schema/formats/animation.def"
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i] == type)
			return true;
	return false;
}

static bool check_section(const hob_pk_section *s, uint64_t from, uint64_t size, hob_rt_error *error)
{
	if (s->offset % 16 != 0 || s->offset < from || !rt_within(s->offset, s->stored_bytes, size))
		return hob_rt_fail(error, HOB_RT_CORRUPT, "a section of %llu bytes at %llu in a file of %llu",
						   (unsigned long long)s->stored_bytes, (unsigned long long)s->offset,
						   (unsigned long long)size);
	if (s->stride == 0 || s->raw_bytes != (uint64_t)s->count * s->stride)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "a section of %llu bytes for %u elements of %u",
						   (unsigned long long)s->raw_bytes, s->count, s->stride);
	if (s->codec == HOB_PK_CODEC_RAW && s->stored_bytes != s->raw_bytes)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "a raw section stores %llu of %llu bytes",
						   (unsigned long long)s->stored_bytes, (unsigned long long)s->raw_bytes);
	if ((s->flags & HOB_PK_SECTION_MUST_UNDERSTAND) && !is_known(s->type))
		return hob_rt_fail(error, HOB_RT_UNSUPPORTED,
						   "section type 0x%08x must be understood; a newer runtime is needed", s->type);
	return true;
}

static bool find_text(rt_pack *pack, hob_rt_error *error)
{
	for (uint32_t i = 0; i < pack->section_count; i++) {
		const hob_pk_section *s = hob_rt_pack_section(pack, i);
		if (s->type != HOB_PK_STRS || s->count == 0)
			continue;
		const char *base = (const char *)pack->file + s->offset;
		if (s->codec != HOB_PK_CODEC_RAW || s->stride != 1 || base[s->count - 1] != 0)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "the strings are not NUL-terminated text");
		pack->text.base = base;
		pack->text.size = s->count;
		break;
	}
	return true;
}

bool hob_rt_pack_open(hob_rt_blob blob, uint32_t kind, const char *what, rt_pack *out, hob_rt_error *error)
{
	memset(out, 0, sizeof *out);
	out->what = what;
	if (blob.size == 0)
		return true;
	const hob_pk_header *h = (const hob_pk_header *)blob.data;
	if (((uintptr_t)blob.data & 15) != 0)
		return hob_rt_fail(error, HOB_RT_MISALIGNED, "the %s file must begin at a multiple of 16 bytes",
						   what);
	if (blob.size < sizeof *h)
		return hob_rt_fail(error, HOB_RT_TRUNCATED, "the %s file has %zu bytes, a header has 64", what,
						   blob.size);
	if (!hob_rt_is_packed(blob) || h->endian != HOB_PK_ENDIAN)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "the %s file is not a packed file", what);
	if (h->ver_major != HOB_PK_VERSION_MAJOR)
		return hob_rt_fail(error, HOB_RT_NEWER,
						   "the %s file has format version %u, this runtime reads %d: cook it "
						   "again or update",
						   what, h->ver_major, HOB_PK_VERSION_MAJOR);
	if (h->kind != kind)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "the file given as %s is of another kind", what);
	if (h->file_bytes != blob.size)
		return hob_rt_fail(error, h->file_bytes > blob.size ? HOB_RT_TRUNCATED : HOB_RT_CORRUPT,
						   "the %s file has %llu bytes and says %llu", what, (unsigned long long)blob.size,
						   (unsigned long long)h->file_bytes);
	uint64_t table = (uint64_t)h->section_count * h->entry_bytes;
	if (h->header_bytes < sizeof *h || h->header_bytes % 16 != 0 || h->entry_bytes < sizeof(hob_pk_section) ||
		h->entry_bytes % 16 != 0 || !rt_within(h->header_bytes, table, blob.size))
		return hob_rt_fail(error, HOB_RT_CORRUPT, "the %s file cannot hold a table of %u sections", what,
						   h->section_count);
	out->file = (const uint8_t *)blob.data;
	out->table = out->file + h->header_bytes;
	out->section_count = h->section_count;
	out->entry_bytes = h->entry_bytes;
	for (uint32_t i = 0; i < out->section_count; i++)
		if (!check_section(hob_rt_pack_section(out, i), h->header_bytes + table, blob.size, error))
			return hob_rt_fail_in(error, what, i);
	return find_text(out, error) || hob_rt_fail_in(error, what, 0);
}

const uint8_t *hob_rt_pack_data(const rt_pack *pack, uint32_t index)
{
	const hob_pk_section *s = hob_rt_pack_section(pack, index);
	if (s->codec == HOB_PK_CODEC_RAW)
		return pack->file + s->offset;
	return pack->decoded ? pack->decoded[index] : NULL;
}

bool hob_rt_pack_find(const rt_pack *pack, uint32_t type, size_t size, rt_array *out, hob_rt_error *error)
{
	memset(out, 0, sizeof *out);
	for (uint32_t i = 0; i < pack->section_count; i++) {
		const hob_pk_section *s = hob_rt_pack_section(pack, i);
		if (s->type != type || s->count == 0)
			continue;
		if (s->stride < size || (size % 4 == 0 && s->stride % 4 != 0))
			return hob_rt_fail(error, HOB_RT_CORRUPT,
							   "section %u of the %s file has elements of %u bytes for %zu", i, pack->what,
							   s->stride, size);
		out->data = hob_rt_pack_data(pack, i);
		out->count = s->count;
		out->stride = s->stride;
		return true;
	}
	return true;
}
