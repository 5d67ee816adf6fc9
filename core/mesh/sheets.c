#include "sheets.h"
#include "vertex_arrays.h"
#include "weld.h"

/* If more triangles share a side, which of them face the same way is unclear. */
enum { MOST_AT_SIDE = 8 };

typedef enum face { FACE_UNKNOWN, FACE_KEPT, FACE_DROPPED } face_t;

/* Triangles, or sides of triangles, listed by a hash of their places. */
typedef struct lists {
	uint32_t *first, *items;
	uint32_t count; /* of lists */
} lists_t;

typedef struct fold {
	const hob_mesh *mesh;
	const uint32_t *first;
	uint32_t *indices, index_count;
	const hob_vertex_array *place; /* arrays that place a vertex at rest and when animated */
	uint32_t place_count;
	lists_t triangles, sides; /* sides by the corner at which they begin */
	uint32_t *partner;		  /* [triangles] its mirrored triangle, or HOB_NONE */
	uint32_t *piece;		  /* [vertex_count] its parent in the tree of its piece */
	uint8_t *solid;			  /* [vertex_count] by piece, not 0: not a sheet */
	uint8_t *face;			  /* [triangles] face_t */
	uint32_t *queue;		  /* [triangles] */
	uint32_t *mirror;
	hob_arena *scratch;
} fold_t;

/* Sorts the places of a triangle. Returns whether the permutation is odd. */
static bool triangle_places(const fold_t *f, uint32_t triangle, uint32_t out[3])
{
	const uint32_t *corner = f->indices + 3 * (size_t)triangle;
	uint32_t a = f->first[corner[0]], b = f->first[corner[1]], c = f->first[corner[2]], swap;
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

/* Sorts the places of a side. Returns whether they were the other way round. */
static bool side_places(const fold_t *f, uint32_t corner, uint32_t out[3])
{
	uint32_t a = f->first[f->indices[corner]], b = f->first[f->indices[hob_next_corner(corner)]];
	out[0] = a < b ? a : b, out[1] = a < b ? b : a, out[2] = 0;
	return a > b;
}

typedef bool (*places_fn)(const fold_t *f, uint32_t item, uint32_t out[3]);

static uint32_t list_of(const lists_t *l, const uint32_t places[3])
{
	uint64_t hash = hob_mix(hob_mix(0, places[0] | (uint64_t)places[1] << 32), places[2]);
	return (uint32_t)((hash >> 32) * l->count >> 32);
}

static lists_t list_all(const fold_t *f, places_fn places_of, uint32_t count)
{
	lists_t lists = {.items = HOB_NEW(f->scratch, uint32_t, count),
					 .first = HOB_NEW(f->scratch, uint32_t, (size_t)count + 1),
					 .count = count};
	hob_arena_mark mark = hob_arena_save(f->scratch);
	uint32_t *keys = HOB_NEW(f->scratch, uint32_t, count), places[3];
	for (uint32_t i = 0; i < count; i++) {
		places_of(f, i, places);
		keys[i] = list_of(&lists, places);
	}
	hob_list_by_key(keys, count, count, lists.first, lists.items);
	hob_arena_restore(f->scratch, mark);
	return lists;
}

/* Finds the items with the same places as an item, itself included, in their order; at most `most`. Returns
 * their number. */
static uint32_t find_alike(const fold_t *f, const lists_t *l, places_fn places_of, uint32_t item,
						   uint32_t most, uint32_t *out)
{
	uint32_t places[3], other[3], count = 0;
	places_of(f, item, places);
	uint32_t list = list_of(l, places);
	for (uint32_t i = l->first[list]; i < l->first[list + 1] && count < most; i++) {
		if (l->items[i] != item)
			places_of(f, l->items[i], other);
		if (l->items[i] == item || memcmp(places, other, sizeof other) == 0)
			out[count++] = l->items[i];
	}
	return count;
}

/* Pairs mirrored triangles, unless more than two are at the same places. False: there are none. */
static bool find_partners(fold_t *f)
{
	bool found = false;
	uint32_t triangles = f->index_count / 3;
	f->partner = HOB_NEW(f->scratch, uint32_t, triangles);
	f->triangles = list_all(f, triangle_places, triangles);
	for (uint32_t t = 0; t < triangles; t++) {
		uint32_t places[3], alike[3];
		f->partner[t] = HOB_NONE;
		if (find_alike(f, &f->triangles, triangle_places, t, 3, alike) != 2)
			continue;
		uint32_t other = alike[0] == t ? alike[1] : alike[0];
		bool facing = triangle_places(f, t, places) != triangle_places(f, other, places);
		if (facing && places[0] != places[1] && places[1] != places[2])
			f->partner[t] = other, found = true;
	}
	return found;
}

static uint32_t piece_of(const fold_t *f, uint32_t triangle)
{
	return hob_root_of(f->piece, f->indices[3 * (size_t)triangle]);
}

static void find_pieces(fold_t *f)
{
	uint32_t count = f->mesh->vertex_count;
	f->piece = HOB_NEW(f->scratch, uint32_t, count);
	f->solid = HOB_NEW(f->scratch, uint8_t, count);
	memcpy(f->piece, f->first, count * sizeof *f->piece);
	for (uint32_t i = 0; i < f->index_count; i++) {
		uint32_t a = hob_root_of(f->piece, f->indices[i]), b = hob_root_of(f->piece, f->indices[i - i % 3]);
		f->piece[a > b ? a : b] = a > b ? b : a;
	}
	for (uint32_t t = 0; t < f->index_count / 3; t++)
		if (f->partner[t] == HOB_NONE &&
			!hob_weld_is_collapsed(f->place, f->place_count, f->indices + 3 * (size_t)t))
			f->solid[piece_of(f, t)] = 1;
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
		uint32_t alike[MOST_AT_SIDE + 1];
		uint32_t count = find_alike(f, &f->sides, side_places, i, MOST_AT_SIDE + 1, alike);
		for (uint32_t k = 0; k < count && count <= MOST_AT_SIDE; k++) {
			uint32_t beside = alike[k] / 3;
			bool same_way = f->first[f->indices[alike[k]]] != f->first[f->indices[i]];
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

/* Drops one side of the sheets; false: there are none. */
static bool fold(fold_t *f)
{
	hob_vertex_array *place = HOB_NEW(f->scratch, hob_vertex_array, hob_vertex_arrays_count(f->mesh));
	f->place = place, f->place_count = hob_vertex_arrays_place(f->mesh, place);
	if (!find_partners(f))
		return false;
	find_pieces(f);
	if (!has_sheets(f))
		return false;
	f->face = HOB_NEW(f->scratch, uint8_t, f->index_count / 3);
	f->queue = HOB_NEW(f->scratch, uint32_t, f->index_count / 3);
	f->sides = list_all(f, side_places, f->index_count);
	choose_faces(f);
	find_mirrors(f);
	if (!has_sheets(f))
		return false;
	f->index_count = drop_other_sides(f);
	return true;
}

uint32_t *hob_sheets_fold(const hob_mesh *mesh, const uint32_t *first, uint32_t *indices,
						  uint32_t *index_count, hob_arena *arena)
{
	hob_arena_mark before = hob_arena_save(arena);
	fold_t f = {.mesh = mesh,
				.first = first,
				.indices = indices,
				.index_count = *index_count,
				.mirror = HOB_NEW(arena, uint32_t, mesh->vertex_count),
				.scratch = arena};
	memset(f.mirror, 0xFF, mesh->vertex_count * sizeof *f.mirror);
	hob_arena_mark mark = hob_arena_save(arena);
	bool found = fold(&f);
	hob_arena_restore(arena, found ? mark : before);
	*index_count = f.index_count;
	return found ? f.mirror : NULL;
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
