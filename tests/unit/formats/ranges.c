#include "fixture.h"

#include "core/formats/pack_read.h"
#include "core/hash/hash.h"

enum { MESHES = 400 };

static float moved_positions[4][3];

/* A file of many quads; quad `moved` has a displaced vertex. */
static void make(hob_buf *out, uint32_t moved, hob_pack_encode encode)
{
	hob_baked_mesh *meshes = calloc(MESHES, sizeof *meshes);
	hob_error err = {0};
	assert_non_null(meshes);
	for (uint32_t m = 0; m < MESHES; m++)
		fixture_quad(&meshes[m]);
	memcpy(moved_positions, quad_positions, sizeof moved_positions);
	moved_positions[0][2] = 0.5f;
	if (moved < MESHES)
		meshes[moved].streams[0].data = (uint8_t *)moved_positions;
	bool ok = hob_pack_meshes(meshes, MESHES, &(hob_pack_options){.encode = encode}, out, &err) &&
			  hob_pack_validate(hob_buf_bytes(out), &err);
	if (!ok)
		fail_msg("%s", err.context);
	free(meshes);
}

static hob_pack_array ranges_of(const hob_buf *file)
{
	hob_pack pack;
	hob_error err = {0};
	assert_true(hob_pack_open(hob_buf_bytes(file), &pack, &err));
	hob_pack_array ranges = hob_pack_find(&pack, HOB_PK_RNGS);
	return ranges;
}

static bool same_range(const hob_pk_range *a, const hob_pk_range *b)
{
	return a->size == b->size && memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

static void ranges_are_digests_of_what_they_name(void **state)
{
	(void)state;
	hob_buf file = {0};
	make(&file, MESHES, HOB_PACK_RAW);
	hob_pack_array ranges = ranges_of(&file);
	uint64_t covered = 0;
	assert_true(ranges.count > 10);
	for (uint32_t i = 0; i < ranges.count; i++) {
		const hob_pk_range *range = HOB_PACK_AT(hob_pk_range, ranges, i);
		hob_sha256 sha = hob_sha256_of((hob_bytes){file.data + range->offset, range->size});
		assert_memory_equal(sha.bytes, range->digest, sizeof range->digest);
		covered += range->size;
	}
	/* Sections too small for ranges have none. */
	assert_true(covered > file.size / 2);
	hob_buf_release(&file);
}

static void one_changed_mesh_changes_few_ranges(void **state)
{
	(void)state;
	hob_buf before = {0}, after = {0};
	make(&before, MESHES, HOB_PACK_RAW);
	make(&after, 77, HOB_PACK_RAW);
	hob_pack_array old = ranges_of(&before), new = ranges_of(&after);
	uint64_t lost = 0;
	for (uint32_t i = 0; i < new.count; i++) {
		bool found = false;
		for (uint32_t k = 0; k < old.count && !found; k++)
			found = same_range(HOB_PACK_AT(hob_pk_range, new, i), HOB_PACK_AT(hob_pk_range, old, k));
		lost += found ? 0 : HOB_PACK_AT(hob_pk_range, new, i)->size;
	}
	assert_in_range(lost, 1, after.size / 40);
	hob_buf_release(&before);
	hob_buf_release(&after);
}

static void encoded_sections_have_no_ranges(void **state)
{
	(void)state;
	hob_buf file = {0};
	make(&file, MESHES, HOB_PACK_MESHOPT);
	hob_pack pack;
	hob_error err = {0};
	assert_true(hob_pack_open(hob_buf_bytes(&file), &pack, &err));
	hob_pack_array ranges = ranges_of(&file);
	uint32_t encoded = 0;
	for (uint32_t s = 0; s < pack.header->section_count; s++) {
		hob_pk_section e;
		memcpy(&e, file.data + sizeof(hob_pk_header) + s * sizeof e, sizeof e);
		encoded += e.codec != HOB_PK_CODEC_RAW;
		for (uint32_t i = 0; e.codec != HOB_PK_CODEC_RAW && i < ranges.count; i++) {
			uint64_t at = HOB_PACK_AT(hob_pk_range, ranges, i)->offset;
			assert_true(at < e.offset || at >= e.offset + e.stored_bytes);
		}
	}
	assert_true(encoded > 0);
	hob_buf_release(&file);
}

static void put_digest(uint8_t out[16], const uint8_t *data, size_t size)
{
	hob_sha256 sha = hob_sha256_of((hob_bytes){data, size});
	memcpy(out, sha.bytes, 16);
}

/* All digests around a changed range are corrected: only the rule of the range itself can refuse it. */
static void expect_refusal(const hob_buf *good, void (*damage)(hob_pk_range *ranges))
{
	hob_buf file = {0};
	hob_error err = {0};
	hob_buf_put(&file, good->data, good->size);
	hob_pk_header *h = (hob_pk_header *)(void *)file.data;
	hob_pk_section *entries = (hob_pk_section *)(void *)(file.data + sizeof *h), *e = entries;
	while (e->type != HOB_PK_RNGS)
		e++;
	damage((hob_pk_range *)(void *)(file.data + e->offset));
	put_digest(e->digest, file.data + e->offset, (size_t)e->stored_bytes);
	uint8_t *table = malloc(48 + h->section_count * sizeof *e);
	memcpy(table, h, 48);
	memcpy(table + 48, entries, h->section_count * sizeof *e);
	put_digest(h->digest, table, 48 + h->section_count * sizeof *e);
	free(table);
	assert_false(hob_pack_validate(hob_buf_bytes(&file), &err));
	assert_non_null(strstr(err.context, "range"));
	hob_buf_release(&file);
}

static void wrong_digest(hob_pk_range *ranges)
{
	ranges[3].digest[0] ^= 1;
}

static void empty(hob_pk_range *ranges)
{
	ranges[3].size = 0;
}

static void overlap(hob_pk_range *ranges)
{
	ranges[3].offset -= 16;
}

static void huge(hob_pk_range *ranges)
{
	ranges[3].size = UINT32_MAX;
}

static void far_away(hob_pk_range *ranges)
{
	ranges[3].offset = UINT64_MAX - 8;
}

static void wrong_ranges_are_refused(void **state)
{
	(void)state;
	hob_buf file = {0};
	make(&file, MESHES, HOB_PACK_RAW);
	expect_refusal(&file, wrong_digest);
	expect_refusal(&file, empty);
	expect_refusal(&file, overlap);
	expect_refusal(&file, huge);
	expect_refusal(&file, far_away);
	hob_buf_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_digests_of_what_they_name),
		cmocka_unit_test(one_changed_mesh_changes_few_ranges),
		cmocka_unit_test(encoded_sections_have_no_ranges),
		cmocka_unit_test(wrong_ranges_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
