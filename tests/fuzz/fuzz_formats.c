/* fuzz_formats.c - untrusted packed and classic files: validators, readers, descriptions, and derived files
 * of those that the validator accepts.
 *
 * Links: hob_formats
 * Run:   fuzz_formats tests/fuzz/corpus/formats
 *
 * Input: three u32 sizes, then the meshes, materials and scene file, and the animations file to the end.
 * Digests of packed parts are corrected first; otherwise the validators would refuse nearly every input. */
#include "core/formats/classic.h"
#include "core/formats/describe.h"
#include "core/formats/glb.h"
#include "core/formats/pack_read.h"
#include "core/hash/hash.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void reseal(uint8_t *file, size_t size)
{
	hob_pk_header h;
	if (size < sizeof h)
		return;
	memcpy(&h, file, sizeof h);
	if (h.header_bytes != 64 || h.entry_bytes != 64 || h.section_count > (size - 64) / 64)
		return;
	for (uint32_t i = 0; i < h.section_count; i++) {
		hob_pk_section s;
		memcpy(&s, file + 64 + (size_t)i * 64, sizeof s);
		if (s.offset > size || s.stored_bytes > size - s.offset)
			continue;
		hob_sha256 sha = hob_sha256_of((hob_bytes){file + s.offset, (size_t)s.stored_bytes});
		memcpy(file + 64 + (size_t)i * 64 + offsetof(hob_pk_section, digest), sha.bytes, 16);
	}
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	hob_hasher_put(&hasher, file, 48);
	hob_hasher_put(&hasher, file + 64, (size_t)h.section_count * 64);
	hob_sha256 sha = hob_hasher_finish(&hasher);
	memcpy(file + 48, sha.bytes, 16);
}

static void look_at(hob_bytes file)
{
	hob_pack pack;
	hob_buf out = {0};
	bool valid = hob_pack_validate(file, NULL), open = hob_pack_open(file, &pack, NULL);
	if (valid && !open)
		abort();
	for (int kind = HOB_CLASSIC_MESHES; kind <= HOB_CLASSIC_SCENE; kind++)
		if (hob_classic_validate(file, (hob_classic_kind)kind, NULL) &&
			hob_classic_sniff(file) == HOB_CLASSIC_NOTHING)
			abort();
	hob_describe_options options = {.max_rows = 8};
	bool text = hob_describe_text(file, &options, &out, NULL),
		 json = hob_describe_json(file, &options, &out, NULL);
	if (text != json || (valid && !text))
		abort();
	hob_buf_release(&out);
}

static void convert(const hob_pack_set *set)
{
	hob_error err = {0};
	hob_classic_files classic = {0};
	hob_buf glb = {0};
	if (!hob_pack_validate_set(set, &err))
		return;
	if (set->meshes.size && set->materials.size && set->scene.size) {
		if (!hob_classic_from_packed(set, NULL, &classic, &err))
			abort();
		if (!hob_glb_from_packed(set, NULL, NULL, &glb, &err))
			abort();
	}
	hob_classic_files_release(&classic);
	hob_buf_release(&glb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 12 || size > 1 << 20)
		return 0;
	hob_bytes parts[4];
	uint8_t *copies[4];
	size_t at = 12;
	for (size_t i = 0; i < 4; i++) {
		size_t left = size - at, want = i < 3 ? hob_load_u32(data + i * 4) : left;
		want = want < left ? want : left;
		copies[i] = malloc(want + 1);
		memcpy(copies[i], data + at, want);
		reseal(copies[i], want);
		parts[i] = (hob_bytes){copies[i], want};
		at += want;
		look_at(parts[i]);
	}
	convert(&(hob_pack_set){parts[0], parts[1], parts[2], parts[3]});
	for (size_t i = 0; i < 4; i++)
		free(copies[i]);
	return 0;
}
