#include "lod_part.h"

enum { MOST_USES = 4 * HOB_LOD_CROWD };

/* A vertex in very many triangles. */
typedef struct crowd {
	uint32_t uses, low, high; /* numbers of the other vertices, as far as they decide */
	uint32_t first, count;	  /* of `copies` */
} crowd_t;

typedef struct split {
	hob_lod_part *part;
	uint32_t index_count;
	uint32_t *crowd; /* [vertex_count] which one a vertex is, or HOB_NONE */
	crowd_t *crowds;
	uint32_t *copies; /* the vertex that the next triangle of a sector gets */
	uint32_t *uses;	  /* by vertex */
} split_t;

static bool number(const uint32_t *indices, uint32_t index_count, uint32_t *local, hob_lod_part *part,
				   uint32_t *uses)
{
	bool crowded = false;
	for (uint32_t i = 0; i < index_count; i++) {
		uint32_t v = indices[i];
		if (local[v] == HOB_NONE) {
			local[v] = part->vertex_count;
			part->vertex[part->vertex_count++] = v;
		}
		part->indices[i] = local[v];
		crowded = ++uses[local[v]] > HOB_LOD_CROWD || crowded;
	}
	return crowded;
}

/* Sector of a corner's triangle: decided by the smaller number of its other vertices. */
static uint32_t key_of(const hob_lod_part *part, const uint32_t *triangle, uint32_t corner)
{
	uint32_t a = part->vertex[triangle[corner == 2 ? 0 : corner + 1]],
			 b = part->vertex[triangle[corner == 0 ? 2 : corner - 1]];
	return a < b ? a : b;
}

static void find_ranges(const split_t *s)
{
	for (uint32_t i = 0; i < s->index_count; i++) {
		uint32_t c = s->crowd[s->part->indices[i]],
				 key = key_of(s->part, s->part->indices + i / 3 * 3, i % 3);
		if (c == HOB_NONE)
			continue;
		s->crowds[c].low = key < s->crowds[c].low ? key : s->crowds[c].low;
		s->crowds[c].high = key > s->crowds[c].high ? key : s->crowds[c].high;
	}
}

static uint32_t add_copy(split_t *s, uint32_t of)
{
	hob_lod_part *part = s->part;
	part->vertex[part->vertex_count] = part->vertex[of];
	part->crowded[part->vertex_count] = part->crowded[of] = 1;
	return part->vertex_count++;
}

static uint32_t copy_for(split_t *s, uint32_t vertex, uint32_t key)
{
	const crowd_t *c = &s->crowds[s->crowd[vertex]];
	uint32_t sector = (uint32_t)((uint64_t)(key - c->low) * c->count / ((uint64_t)c->high - c->low + 1));
	uint32_t *copy = &s->copies[c->first + sector];
	if (*copy == HOB_NONE || s->uses[*copy] == MOST_USES)
		*copy = add_copy(s, vertex);
	s->uses[*copy]++;
	return *copy;
}

static void give_copies(split_t *s)
{
	for (uint32_t i = 0; i < s->index_count; i += 3) {
		uint32_t *triangle = s->part->indices + i, copies[3];
		for (uint32_t k = 0; k < 3; k++) {
			bool crowded = s->crowd[triangle[k]] != HOB_NONE;
			copies[k] = crowded ? copy_for(s, triangle[k], key_of(s->part, triangle, k)) : triangle[k];
		}
		memcpy(triangle, copies, sizeof copies);
	}
}

/* uses     [vertex_count and room for copies] */
static bool split(hob_lod_part *part, uint32_t index_count, uint32_t *uses, uint32_t room, hob_arena *arena)
{
	uint32_t count = 0, copies = 0, vertices = part->vertex_count;
	split_t s = {.part = part,
				 .index_count = index_count,
				 .crowd = HOB_NEW(arena, uint32_t, room),
				 .crowds = HOB_NEW(arena, crowd_t, index_count / HOB_LOD_CROWD),
				 .copies = HOB_NEW(arena, uint32_t, room),
				 .uses = uses};
	part->crowded = HOB_NEW(arena, uint8_t, room);
	if (!s.crowd || !s.crowds || !s.copies || !part->crowded)
		return false;
	memset(s.crowd, 0xFF, room * sizeof *s.crowd);
	memset(s.copies, 0xFF, room * sizeof *s.copies);
	for (uint32_t v = 0; v < vertices; v++) {
		if (uses[v] <= HOB_LOD_CROWD)
			continue;
		s.crowds[count] = (crowd_t){uses[v], HOB_NONE, 0, copies, uses[v] / HOB_LOD_CROWD + 1};
		s.copies[copies] = v;
		copies += s.crowds[count].count;
		uses[v] = 0;
		s.crowd[v] = count++;
	}
	find_ranges(&s);
	give_copies(&s);
	return true;
}

bool hob_lod_part_take(const float *positions, uint32_t vertex_count, const uint32_t *indices,
					   uint32_t index_count, bool hold, hob_arena *arena, hob_lod_part *out, hob_error *err)
{
	uint32_t room = vertex_count + 3 * (index_count / HOB_LOD_CROWD);
	uint32_t *local = HOB_NEW(arena, uint32_t, vertex_count), *uses = HOB_NEW(arena, uint32_t, room);
	hob_lod_part part = {.indices = HOB_NEW(arena, uint32_t, index_count),
						 .vertex = HOB_NEW(arena, uint32_t, room)};
	if (!local || !uses || !part.indices || !part.vertex)
		return hob_fail_memory(err, arena, "a level of detail");
	memset(local, 0xFF, vertex_count * sizeof *local);
	if (number(indices, index_count, local, &part, uses) && !split(&part, index_count, uses, room, arena))
		return hob_fail_memory(err, arena, "a level of detail");
	part.positions = HOB_NEW(arena, float, 3 * (size_t)(hold || part.crowded ? 3 : 1) * part.vertex_count);
	if (!part.positions)
		return hob_fail_memory(err, arena, "a level of detail");
	for (size_t v = 0; v < part.vertex_count; v++)
		memcpy(part.positions + 3 * v, positions + 3 * (size_t)part.vertex[v], 12);
	*out = part;
	return true;
}
