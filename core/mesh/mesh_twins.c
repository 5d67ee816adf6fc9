#include "mesh_twins.h"
#include "weld.h"

enum { COMPARED = 8, SAMPLES = 16, SAMPLE_WORDS = 8 };

/* Hashes a few runs of words, spread over the data. */
static uint64_t sample(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *at = data;
	size_t words = bytes / 4, run = words < SAMPLE_WORDS ? words : SAMPLE_WORDS;
	for (size_t s = 0; s < SAMPLES && run > 0; s++) {
		size_t first = (words - run) * s / (SAMPLES - 1);
		for (size_t w = first; w < first + run; w++)
			hash = hob_mix(hash, hob_load_u32(at + 4 * w));
	}
	return hash;
}

static uint64_t sample_mesh(const hob_mesh *mesh, uint32_t key, const hob_vertex_array *arrays,
							uint32_t array_count)
{
	uint64_t hash = hob_mix(hob_mix(key, mesh->vertex_count), mesh->index_count);
	hash = hob_mix(hob_mix(hash, (uint64_t)mesh->topology * 2 + mesh->flat), array_count);
	hash = sample(hash, mesh->indices, (size_t)mesh->index_count * 4);
	for (uint32_t a = 0; a < array_count; a++)
		hash = sample(hash, arrays[a].data, (size_t)mesh->vertex_count * arrays[a].size);
	return hash;
}

static bool same_bytes(const void *a, const void *b, size_t size)
{
	return a == b || size == 0 || memcmp(a, b, size) == 0;
}

static bool same_geometry(const hob_mesh *a, const hob_mesh *b, hob_vertex_array *of_a,
						  hob_vertex_array *of_b)
{
	if (a->vertex_count != b->vertex_count || a->index_count != b->index_count ||
		a->topology != b->topology || a->flat != b->flat || a->target_count != b->target_count ||
		hob_vertex_arrays_count(a) != hob_vertex_arrays_count(b) ||
		!same_bytes(a->indices, b->indices, (size_t)a->index_count * sizeof *a->indices))
		return false;
	uint32_t array_count = hob_vertex_arrays_count(a);
	hob_vertex_arrays_list(a, of_a);
	hob_vertex_arrays_list(b, of_b);
	for (uint32_t i = 0; i < array_count; i++)
		if (of_a[i].kind != of_b[i].kind ||
			!same_bytes(of_a[i].data, of_b[i].data, (size_t)a->vertex_count * of_a[i].size))
			return false;
	return true;
}

void hob_mesh_twins(const hob_mesh *meshes, const uint32_t *keys, uint32_t count, uint32_t *twin,
					hob_arena *scratch)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	uint32_t size = hob_table_size(count), most_arrays = 1;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t arrays = hob_vertex_arrays_count(&meshes[i]);
		most_arrays = arrays > most_arrays ? arrays : most_arrays;
	}
	uint32_t *table = HOB_NEW(scratch, uint32_t, size);
	uint64_t *hashes = HOB_NEW(scratch, uint64_t, count);
	hob_vertex_array *of_a = HOB_NEW(scratch, hob_vertex_array, most_arrays),
					 *of_b = HOB_NEW(scratch, hob_vertex_array, most_arrays);
	memset(table, 0xFF, size * sizeof *table);
	for (uint32_t i = 0; i < count; i++) {
		const hob_mesh *mesh = &meshes[i];
		twin[i] = i;
		if (mesh->influence_count > 0 || mesh->vertex_count == 0 || mesh->index_count == 0)
			continue;
		hob_vertex_arrays_list(mesh, of_a);
		hashes[i] = sample_mesh(mesh, keys[i], of_a, hob_vertex_arrays_count(mesh));
		uint32_t slot = (uint32_t)(hashes[i] >> 20) & (size - 1), compared = 0;
		for (; table[slot] != HOB_NONE && compared < COMPARED; slot = (slot + 1) & (size - 1)) {
			uint32_t other = table[slot];
			if (hashes[other] != hashes[i] || keys[other] != keys[i])
				continue;
			compared++;
			if (same_geometry(&meshes[other], mesh, of_a, of_b)) {
				twin[i] = other;
				break;
			}
		}
		if (table[slot] == HOB_NONE)
			table[slot] = i;
	}
	hob_arena_restore(scratch, mark);
}
