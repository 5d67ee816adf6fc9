#include "sheets.h"
#include "vertex_arrays.h"
#include "weld.h"

/* If more triangles share a side, which of them face the same way is unclear. */
enum { MOST_AT_SIDE = 8 };

typedef enum face { FACE_UNKNOWN, FACE_KEPT, FACE_DROPPED } face_t;

typedef struct fold {
	const hob_mesh *mesh;
	const uint32_t *first;
	uint32_t *indices, index_count;
	const hob_vertex_array *place; /* arrays that place a vertex at rest and when animated */
	uint32_t place_count;
	uint32_t *partner; /* [triangles] its mirrored triangle, or HOB_NONE */
	uint32_t *piece;   /* [vertex_count] its parent in the tree of its piece */
	uint8_t *solid;	   /* [vertex_count] by piece, not 0: not a sheet */
	uint8_t *face;	   /* [triangles] face_t */
	uint32_t *side;	   /* [3 * triangles] number of each side, regardless of direction */
	/* [sides + 1], [3 * triangles]: by side, the corners at which it begins */
	uint32_t *side_first, *at_side;
	uint32_t *queue; /* [triangles] */
	uint32_t *mirror;
	hob_arena *scratch;
	hob_error *err;
} fold_t;

/* Sorts the places of a triangle. Returns whether the permutation is odd. */
static bool sort_places(const uint32_t *first, const uint32_t corner[3], uint32_t out[3])
{
	uint32_t a = first[corner[0]], b = first[corner[1]], c = first[corner[2]], swap;
	bool odd = false;
	if (a > b)
		swap = a, a = b, b = swap, odd = !odd;
	if (b > c)
		swap = b, b = c, c = swap, odd = !odd;
	if (a > b)
		swap = a, a = b, b = swap, odd = !odd;
	out[0] = a, out[1] = b, out[2] = c;
	return odd;
}

/* A hash of a triangle's places, at most `mask`; HOB_NONE: two are the same. */
static uint32_t slot_of(const fold_t *f, uint32_t triangle, uint32_t mask)
{
	uint32_t places[3];
	sort_places(f->first, f->indices + 3 * (size_t)triangle, places);
	if (places[0] == places[1] || places[1] == places[2])
		return HOB_NONE;
	uint64_t hash = (places[0] | (uint64_t)places[1] << 32) * 0x9FB21C651E98DF25ull;
	hash = ((hash ^ hash >> 29) + places[2]) * 0xD6E8FEB86659FD93ull;
	return (uint32_t)(hash ^ hash >> 32) & mask;
}

/* Marks triangles that may share all three places with another: all that do, and one in 16 of the others.
 * Returns their number. */
static uint32_t mark_candidates(const fold_t *f, uint8_t *marks, uint8_t *once, uint32_t mask)
{
	uint32_t count = 0, triangles = f->index_count / 3;
	uint8_t *twice = once + ((size_t)mask + 1) / 8;
	for (uint32_t t = 0; t < triangles; t++) {
		uint32_t slot = slot_of(f, t, mask);
		uint8_t bit = (uint8_t)(1u << slot % 8);
		if (slot == HOB_NONE)
			continue;
		twice[slot / 8] |= once[slot / 8] & bit;
		once[slot / 8] |= bit;
	}
	for (uint32_t t = 0; t < triangles; t++) {
		uint32_t slot = slot_of(f, t, mask);
		marks[t] = slot != HOB_NONE && (twice[slot / 8] >> slot % 8 & 1);
		count += marks[t];
	}
	return count;
}

static uint32_t slots_for(uint32_t triangles)
{
	uint32_t slots = 64;
	while (slots < 8ull * triangles && slots < 1u << 31)
		slots *= 2;
	return slots;
}

/* Numbers entries of `size` bytes, equal ones alike; NULL without memory. */
static uint32_t *number_equals(const void *entries, uint32_t size, uint32_t count, hob_arena *arena,
							   uint32_t *numbers)
{
	const hob_vertex_array array = {entries, size, false};
	uint32_t *of = HOB_NEW(arena, uint32_t, count);
	hob_arena_mark mark = hob_arena_save(arena);
	uint32_t *from = HOB_NEW(arena, uint32_t, count);
	if (!of || !from)
		return NULL;
	*numbers = hob_weld(&array, 1, count, NULL, 0, of, from, arena);
	hob_arena_restore(arena, mark);
	return *numbers == HOB_NONE ? NULL : of;
}

/* Finds the partners of the `count` marked triangles. Returns the number of pairs; HOB_NONE without
 * memory. */
static uint32_t find_partners(fold_t *f, const uint8_t *marks, uint32_t count)
{
	uint32_t triangles = f->index_count / 3, numbers = 0, pairs = 0;
	f->partner = HOB_NEW(f->scratch, uint32_t, triangles);
	uint32_t(*places)[3] = hob_arena_array(f->scratch, count, sizeof *places, 4);
	uint32_t *triangle = HOB_NEW(f->scratch, uint32_t, count);
	if (!f->partner || !places || !triangle)
		return HOB_NONE;
	memset(f->partner, 0xFF, triangles * sizeof *f->partner);
	for (uint32_t t = 0, i = 0; t < triangles; t++)
		if (marks[t]) {
			sort_places(f->first, f->indices + 3 * (size_t)t, places[i]);
			triangle[i++] = t;
		}
	uint32_t *number = number_equals(places, sizeof *places, count, f->scratch, &numbers);
	uint32_t *met = HOB_NEW(f->scratch, uint32_t, numbers),
			 *met_first = HOB_NEW(f->scratch, uint32_t, numbers);
	if (!number || !met || !met_first)
		return HOB_NONE;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t t = triangle[i], n = number[i], other = met_first[n], unused[3];
		if (met[n]++ == 0) {
			met_first[n] = t;
		} else if (met[n] == 2 && sort_places(f->first, f->indices + 3 * (size_t)t, unused) !=
									  sort_places(f->first, f->indices + 3 * (size_t)other, unused)) {
			f->partner[t] = other, f->partner[other] = t;
			pairs++;
		} else if (f->partner[other] != HOB_NONE) {
			f->partner[f->partner[other]] = HOB_NONE;
			f->partner[other] = HOB_NONE;
			pairs--;
		}
	}
	return pairs;
}

static uint32_t piece_of(const fold_t *f, uint32_t triangle)
{
	return hob_root_of(f->piece, f->indices[3 * (size_t)triangle]);
}

static bool find_pieces(fold_t *f)
{
	uint32_t count = f->mesh->vertex_count;
	f->piece = HOB_NEW(f->scratch, uint32_t, count);
	f->solid = HOB_NEW(f->scratch, uint8_t, count);
	if (!f->piece || !f->solid)
		return hob_fail_memory(f->err, f->scratch, "sheets of two sides");
	memcpy(f->piece, f->first, count * sizeof *f->piece);
	for (uint32_t i = 0; i < f->index_count; i++) {
		uint32_t a = hob_root_of(f->piece, f->indices[i]), b = hob_root_of(f->piece, f->indices[i - i % 3]);
		f->piece[a > b ? a : b] = a > b ? b : a;
	}
	for (uint32_t t = 0; t < f->index_count / 3; t++)
		if (f->partner[t] == HOB_NONE &&
			!hob_weld_is_collapsed(f->place, f->place_count, f->indices + 3 * (size_t)t))
			f->solid[piece_of(f, t)] = 1;
	return true;
}

static void side_places(const fold_t *f, uint32_t corner, uint32_t out[2])
{
	uint32_t next = corner % 3 == 2 ? corner - 2 : corner + 1;
	uint32_t a = f->first[f->indices[corner]], b = f->first[f->indices[next]];
	out[0] = a < b ? a : b, out[1] = a < b ? b : a;
}

static bool find_sides(fold_t *f)
{
	uint32_t(*places)[2] = hob_arena_array(f->scratch, f->index_count, sizeof *places, 4), sides = 0;
	if (!places)
		return hob_fail_memory(f->err, f->scratch, "sheets of two sides");
	for (uint32_t i = 0; i < f->index_count; i++)
		side_places(f, i, places[i]);
	f->side = number_equals(places, sizeof *places, f->index_count, f->scratch, &sides);
	f->side_first = HOB_NEW(f->scratch, uint32_t, (size_t)sides + 1);
	f->at_side = HOB_NEW(f->scratch, uint32_t, f->index_count);
	f->face = HOB_NEW(f->scratch, uint8_t, f->index_count / 3);
	f->queue = HOB_NEW(f->scratch, uint32_t, f->index_count / 3);
	if (!f->side || !f->side_first || !f->at_side || !f->face || !f->queue)
		return hob_fail_memory(f->err, f->scratch, "sheets of two sides");
	hob_list_by_key(f->side, f->index_count, sides, f->side_first, f->at_side);
	return true;
}

static void keep(fold_t *f, uint32_t triangle, uint32_t *queued)
{
	f->face[triangle] = FACE_KEPT;
	f->face[f->partner[triangle]] = FACE_DROPPED;
	f->queue[(*queued)++] = triangle;
}

/* Keeps the neighbours of a kept triangle that face the same way. */
static void keep_beside(fold_t *f, uint32_t triangle, uint32_t *queued)
{
	for (uint32_t i = 3 * triangle; i < 3 * triangle + 3; i++) {
		uint32_t begin = f->side_first[f->side[i]], end = f->side_first[f->side[i] + 1];
		for (uint32_t k = begin; k < end && end - begin <= MOST_AT_SIDE; k++) {
			uint32_t other = f->at_side[k], beside = other / 3;
			bool same_way = f->first[f->indices[other]] != f->first[f->indices[i]];
			if (same_way && f->partner[beside] != HOB_NONE && f->face[beside] == FACE_UNKNOWN)
				keep(f, beside, queued);
		}
	}
}

static void choose_faces(fold_t *f)
{
	uint32_t queued = 0, done = 0;
	for (uint32_t t = 0; t < f->index_count / 3; t++) {
		if (f->partner[t] == HOB_NONE || f->face[t] != FACE_UNKNOWN || f->solid[piece_of(f, t)])
			continue;
		keep(f, t, &queued);
		while (done < queued)
			keep_beside(f, f->queue[done++], &queued);
	}
}

static void find_mirrors(fold_t *f)
{
	for (uint32_t t = 0; t < f->index_count / 3; t++) {
		if (f->face[t] != FACE_KEPT)
			continue;
		const uint32_t *corner = f->indices + 3 * (size_t)t, *other = f->indices + 3 * (size_t)f->partner[t];
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t at = 0, *mirror = &f->mirror[corner[k]];
			while (f->first[other[at]] != f->first[corner[k]])
				at++;
			const uint32_t both[3] = {corner[k], other[at], corner[k == 2 ? 0 : k + 1]};
			if ((*mirror != HOB_NONE && *mirror != other[at]) ||
				!hob_weld_is_collapsed(f->place, f->place_count, both))
				f->solid[piece_of(f, t)] = 1;
			*mirror = other[at];
		}
	}
}

static uint32_t drop_other_sides(fold_t *f)
{
	uint32_t kept = 0;
	for (uint32_t t = 0; t < f->index_count / 3; t++) {
		if (f->face[t] != FACE_KEPT && !f->solid[piece_of(f, t)])
			continue;
		memmove(f->indices + kept, f->indices + 3 * (size_t)t, 3 * sizeof *f->indices);
		kept += 3;
	}
	for (uint32_t v = 0; v < f->mesh->vertex_count; v++)
		if (f->solid[hob_root_of(f->piece, v)])
			f->mirror[v] = HOB_NONE;
	return kept;
}

static bool has_sheets(const fold_t *f)
{
	bool has = false;
	for (uint32_t t = 0; t < f->index_count / 3 && !has; t++)
		has = f->partner[t] != HOB_NONE && !f->solid[piece_of(f, t)];
	return has;
}

/* Drops one side of the sheets. *found: whether there are any */
static bool fold(fold_t *f, bool *found)
{
	uint32_t triangles = f->index_count / 3, slots = slots_for(triangles);
	uint8_t *marks = HOB_NEW(f->scratch, uint8_t, triangles), *once = HOB_NEW(f->scratch, uint8_t, slots / 4);
	hob_vertex_array *place = HOB_NEW(f->scratch, hob_vertex_array, hob_vertex_arrays_count(f->mesh));
	if (!marks || !once || !place)
		return hob_fail_memory(f->err, f->scratch, "sheets of two sides");
	uint32_t candidates = mark_candidates(f, marks, once, slots - 1);
	if (candidates < 2)
		return true;
	uint32_t pairs = find_partners(f, marks, candidates);
	if (pairs == HOB_NONE)
		return hob_fail_memory(f->err, f->scratch, "sheets of two sides");
	f->place = place, f->place_count = hob_vertex_arrays_place(f->mesh, place);
	if (pairs == 0 || !find_pieces(f))
		return pairs == 0;
	if (!has_sheets(f))
		return true;
	if (!find_sides(f))
		return false;
	choose_faces(f);
	find_mirrors(f);
	*found = has_sheets(f);
	if (*found)
		f->index_count = drop_other_sides(f);
	return true;
}

bool hob_sheets_fold(const hob_mesh *mesh, const uint32_t *first, uint32_t *indices, uint32_t *index_count,
					 hob_arena *arena, uint32_t **mirror, hob_error *err)
{
	hob_arena_mark before = hob_arena_save(arena);
	fold_t f = {.mesh = mesh,
				.first = first,
				.indices = indices,
				.index_count = *index_count,
				.mirror = HOB_NEW(arena, uint32_t, mesh->vertex_count),
				.scratch = arena,
				.err = err};
	*mirror = NULL;
	if (!f.mirror)
		return hob_fail_memory(err, arena, "sheets of two sides");
	memset(f.mirror, 0xFF, mesh->vertex_count * sizeof *f.mirror);
	hob_arena_mark mark = hob_arena_save(arena);
	bool found = false, ok = fold(&f, &found);
	hob_arena_restore(arena, found ? mark : before);
	*mirror = found ? f.mirror : NULL;
	*index_count = f.index_count;
	return ok;
}

uint32_t hob_sheets_unfold(const uint32_t *mirror, uint32_t *indices, uint32_t index_count)
{
	uint32_t count = index_count;
	for (uint32_t i = 0; i < index_count; i += 3) {
		if (mirror[indices[i]] == HOB_NONE)
			continue;
		indices[count] = mirror[indices[i]];
		indices[count + 1] = mirror[indices[i + 2]];
		indices[count + 2] = mirror[indices[i + 1]];
		count += 3;
	}
	return count;
}
