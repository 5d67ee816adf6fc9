#include "simplify.h"
#include "quadric.h"
#include "surface.h"
#include "vec3.h"
#include "weld.h"

#include <assert.h>

enum { MOST_RING = 64, MOST_TAKEN = 256, MOST_TRIES = 6, FEW_TRIANGLES = 16, SLICE = 2048 };

/* Cosine of the largest rotation of a triangle; least height of a triangle relative to its longest side;
 * least dot product with an axis that the whole mesh faces. */
static const float least_turn = 0.25f, least_height = 1e-4f, least_facing = 1e-5f;
/* Weights of planes at borders and seams, relative to those of triangles. */
static const float border_weight = 1, seam_weight = 0.5f;
/* Weight of the distance bound relative to the mean of squared distances, in the order and for the limit. */
static const float order_spread = 0.35f, limit_spread = 0.7f;
/* Weight of attributes for the limit, relative to that in the order. */
static const float limit_attributes = 0.1f;
/* A piece with more than `vanishing_share` of the mesh's area keeps at least `piece_share` of its own. */
static const double piece_share = 0.9, vanishing_share = 0.08;
/* Weights of the squared gap and of the turn of a piece that goes as a whole, in the order; weight of the
 * squared gap for the limit, as in the error that a level states. */
static const float piece_mean = 0.25f, piece_turn = 1, piece_limit = 1.21f;
/* A round's largest key, relative to that of the last collapse that it wants. */
static const float round_reach = 1.5f;

typedef struct triangle {
	uint32_t place[3], wedge[3]; /* place[0] is HOB_NONE once removed */
} triangle_t;

/* A component connected by position. */
typedef struct piece {
	double area, left;
	float low[3], high[3];
	float gap; /* largest distance of its places from pieces that stay; HUGE_VALF: it stays itself */
	uint32_t triangles;
	bool going; /* vanishing: run.vanishing is already reduced by its area */
	bool gone;	/* list_corners drops its triangles */
} piece_t;

/* CHANGED: its cost is out of date. In this round, STIRRED: beside a collapse; TOUCHED: part of one */
enum { LOCKED = 1, CHANGED = 2, STIRRED = 4, TOUCHED = 8, GONE = 16 };

typedef struct candidate {
	uint32_t to;				  /* the place itself: its piece goes; HOB_NONE: no collapse is allowed */
	float cost, key;			  /* squared, for the limit; sort key */
	float distance, change, area; /* as in collapse_t */
	uint32_t removed;
	bool held_by_piece; /* a collapse was refused because a piece would vanish */
} candidate_t;

typedef struct run {
	const hob_simplify_input *in;
	double size;
	uint32_t place_count, wedge_count, attribute_count, attribute_stride, wedge_size;
	uint32_t *vertex; /* [wedge_count] its number in the mesh */
	uint32_t *first;  /* [place_count] the first vertex there */
	uint32_t *into;	  /* [place_count] the place that it was collapsed into; itself: none */
	float (*position)[3];
	float *attributes; /* [wedge_count][attribute_stride], zeros after attribute_count */
	hob_quadric *quadrics;
	float *wedges;			/* [wedge_count][wedge_size] quadrics of attributes */
	float (*normal)[3];		/* of the full mesh, by place; zero where normals cancel out */
	float *spread, *change; /* [place_count] for whole_cost; for hob_simplify_level.change */
	uint8_t *state;
	uint32_t *piece; /* [place_count] */
	piece_t *pieces;
	uint32_t piece_count;
	double vanishing;	   /* area that pieces may still lose */
	bool faces, facing[6]; /* whether all triangles face +x, -x, +y ... */
	triangle_t *triangles;
	uint32_t triangle_count, live, target;
	uint32_t *corner_first, *corners; /* by place: triangle * 4 + corner */
	uint32_t *alive, alive_count;
	candidate_t *best;
	uint32_t *order, *sorted; /* [alive_count] */
	float most;				  /* largest key that this round considers */
	float reached;			  /* highest cost so far, squared */
	double limit;			  /* squared, relative to `size` */
	float turn;				  /* likewise */
	hob_arena *arena;
} run_t;

/* ---- setup */

static uint32_t next_corner(uint32_t k)
{
	return k == 2 ? 0 : k + 1;
}

static uint32_t prev_corner(uint32_t k)
{
	return k == 0 ? 2 : k - 1;
}

/* Numbers places and vertices by first use and copies the triangles that have three places. */
static void number(run_t *s)
{
	const hob_simplify_input *in = s->in;
	hob_arena_mark mark;
	s->triangles = HOB_NEW(s->arena, triangle_t, in->index_count / 3);
	s->vertex =
		HOB_NEW(s->arena, uint32_t, in->vertex_count < in->index_count ? in->vertex_count : in->index_count);
	s->first = HOB_NEW(s->arena, uint32_t, in->vertex_count);
	mark = hob_arena_save(s->arena);
	uint32_t *wedge = HOB_NEW(s->arena, uint32_t, in->vertex_count);
	uint32_t *place = HOB_NEW(s->arena, uint32_t, in->vertex_count);
	memset(wedge, 0xFF, in->vertex_count * sizeof *wedge);
	memset(place, 0xFF, in->vertex_count * sizeof *place);
	for (uint32_t i = 0; i < in->index_count; i += 3) {
		const uint32_t *corner = in->indices + i;
		uint32_t a = in->first[corner[0]], b = in->first[corner[1]], c = in->first[corner[2]];
		if (a == b || b == c || c == a)
			continue;
		triangle_t *t = &s->triangles[s->triangle_count++];
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t v = corner[k], p = in->first[v];
			if (wedge[v] == HOB_NONE)
				s->vertex[s->wedge_count] = v, wedge[v] = s->wedge_count++;
			if (place[p] == HOB_NONE)
				s->first[s->place_count] = v, place[p] = s->place_count++;
			t->wedge[k] = wedge[v], t->place[k] = place[p];
		}
	}
	s->live = s->triangle_count;
	hob_arena_restore(s->arena, mark);
	s->position = hob_arena_array(s->arena, s->place_count, sizeof *s->position, 4);
	s->state = HOB_NEW(s->arena, uint8_t, s->place_count);
	double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
	for (uint32_t p = 0; p < s->place_count; p++)
		for (int k = 0; k < 3; k++) {
			double x = (double)in->positions[3 * (size_t)s->first[p] + (size_t)k];
			low[k] = fmin(low[k], x), high[k] = fmax(high[k], x);
		}
	for (int k = 0; k < 3 && s->place_count > 0; k++)
		s->size = fmax(s->size, high[k] - low[k]);
	double scale = s->size > 0 ? 1 / s->size : 0;
	for (uint32_t p = 0; p < s->place_count; p++)
		for (int k = 0; k < 3; k++) {
			double x = (double)in->positions[3 * (size_t)s->first[p] + (size_t)k];
			s->position[p][k] = (float)((x - low[k] / 2 - high[k] / 2) * scale);
		}
	for (uint32_t t = 0; in->locked && t < s->triangle_count; t++)
		for (uint32_t k = 0; k < 3; k++)
			if (in->locked[s->vertex[s->triangles[t].wedge[k]]])
				s->state[s->triangles[t].place[k]] |= LOCKED;
}

static void copy_attributes(run_t *s)
{
	const hob_simplify_input *in = s->in;
	float scale = s->size > 0 ? (float)(1 / s->size) : 0;
	s->attribute_count = in->attributes ? in->attribute_count : 0;
	s->attribute_stride = (s->attribute_count + 3) & ~3u;
	s->wedge_size = s->attribute_count > 0 ? HOB_WEDGE_HEAD + HOB_WEDGE_EACH * s->attribute_count : 0;
	s->attributes = HOB_NEW(s->arena, float, (size_t)s->wedge_count * s->attribute_stride);
	s->wedges = HOB_NEW(s->arena, float, (size_t)s->wedge_count * s->wedge_size);
	for (uint32_t w = 0; w < s->wedge_count; w++)
		for (uint32_t i = 0; i < s->attribute_count; i++)
			s->attributes[(size_t)w * s->attribute_stride + i] =
				in->attributes[(size_t)s->vertex[w] * in->attribute_count + i] * scale;
}

static void find_pieces(run_t *s)
{
	uint32_t *parent = s->piece = HOB_NEW(s->arena, uint32_t, s->place_count);
	for (uint32_t p = 0; p < s->place_count; p++)
		parent[p] = p;
	for (uint32_t t = 0; t < s->triangle_count; t++)
		for (uint32_t k = 0; k < 2; k++) {
			uint32_t a = hob_root_of(parent, s->triangles[t].place[k]);
			uint32_t b = hob_root_of(parent, s->triangles[t].place[k + 1]);
			parent[a > b ? a : b] = a > b ? b : a;
		}
	/* Parents have smaller numbers, so their piece is known before their children's. */
	for (uint32_t p = 0; p < s->place_count; p++)
		parent[p] = parent[p] == p ? s->piece_count++ : parent[parent[p]];
}

/* ---- quadrics of the full mesh */

/* Gradients of the barycentric coordinates of b and c; false if the triangle has no area. */
static bool side_gradients(const float a[3], const float b[3], const float c[3], float to_b[3], float to_c[3])
{
	float ab[3], ac[3];
	hob_float3_sub(b, a, ab), hob_float3_sub(c, a, ac);
	float bb = hob_float3_dot(ab, ab), bc = hob_float3_dot(ab, ac), cc = hob_float3_dot(ac, ac),
		  det = bb * cc - bc * bc;
	if (!(det > 1e-12f * bb * cc))
		return false;
	for (int i = 0; i < 3; i++) {
		to_b[i] = (cc * ab[i] - bc * ac[i]) / det;
		to_c[i] = (bb * ac[i] - bc * ab[i]) / det;
	}
	return true;
}

static void add_attributes(run_t *s, const triangle_t *t, float weight)
{
	const uint32_t *place = t->place;
	float to_b[3], to_c[3], gradient[3];
	const float *at[3];
	float *quadric[3];
	for (uint32_t k = 0; k < 3; k++) {
		at[k] = s->attributes + (size_t)t->wedge[k] * s->attribute_stride;
		quadric[k] = s->wedges + (size_t)t->wedge[k] * s->wedge_size;
		quadric[k][10] += weight;
	}
	if (!side_gradients(s->position[place[0]], s->position[place[1]], s->position[place[2]], to_b, to_c))
		return;
	for (uint32_t i = 0; i < s->attribute_count; i++) {
		float b = at[1][i] - at[0][i], c = at[2][i] - at[0][i];
		for (int k = 0; k < 3; k++)
			gradient[k] = b * to_b[k] + c * to_c[k];
		for (uint32_t k = 0; k < 3; k++)
			hob_wedge_add_gradient(quadric[k], i, gradient, weight);
	}
}

/* Sums up over all triangles: areas and boxes of pieces, quadrics, the normal of each place (zero where
 * normals cancel out), and the axes that every triangle faces. */
static void sum_triangles(run_t *s)
{
	double total = 0;
	s->pieces = HOB_NEW(s->arena, piece_t, s->piece_count);
	s->quadrics = HOB_NEW(s->arena, hob_quadric, s->place_count);
	s->normal = hob_arena_array(s->arena, s->place_count, sizeof *s->normal, 4);
	hob_arena_mark mark = hob_arena_save(s->arena);
	float *around = HOB_NEW(s->arena, float, s->place_count);
	for (int i = 0; i < 6; i++)
		s->facing[i] = s->triangle_count > 0;
	for (uint32_t p = 0; p < s->piece_count; p++)
		for (int k = 0; k < 3; k++)
			s->pieces[p].low[k] = 1, s->pieces[p].high[k] = -1;
	for (uint32_t i = 0; i < s->triangle_count; i++) {
		const triangle_t *t = &s->triangles[i];
		piece_t *piece = &s->pieces[s->piece[t->place[0]]];
		float n[3];
		hob_float3_normal(s->position[t->place[0]], s->position[t->place[1]], s->position[t->place[2]], n);
		float length = sqrtf(hob_float3_dot(n, n));
		double area = sqrt((double)hob_float3_dot(n, n)) / 2;
		total += area;
		piece->area += area, piece->left = piece->area, piece->triangles++;
		for (int k = 0; k < 9; k++) {
			float x = s->position[t->place[k / 3]][k % 3];
			piece->low[k % 3] = fminf(piece->low[k % 3], x),
						   piece->high[k % 3] = fmaxf(piece->high[k % 3], x);
		}
		for (int k = 0; k < 6; k++)
			s->facing[k] = s->facing[k] && (k % 2 ? -n[k / 2] : n[k / 2]) >= length * least_facing;
		for (uint32_t k = 0; k < 3; k++) {
			for (int x = 0; x < 3; x++)
				s->normal[t->place[k]][x] += n[x];
			around[t->place[k]] += length;
		}
		if (!(length > 0))
			continue;
		for (int k = 0; k < 3; k++)
			n[k] /= length;
		for (uint32_t k = 0; k < 3; k++) {
			hob_quadric_add_plane(&s->quadrics[t->place[k]], n, length / 2);
			s->quadrics[t->place[k]].weight += length / 2;
		}
		if (s->attribute_count > 0)
			add_attributes(s, t, length / 2);
	}
	s->vanishing = s->in->keep_pieces ? -1 : vanishing_share * total;
	for (int i = 0; i < 6; i++)
		s->faces = s->faces || s->facing[i];
	for (uint32_t p = 0; p < s->place_count; p++) {
		float length = sqrtf(hob_float3_dot(s->normal[p], s->normal[p]));
		float scale = length > 0 && length > 0.5f * around[p] ? 1 / length : 0;
		for (int i = 0; i < 3; i++)
			s->normal[p][i] *= scale;
	}
	hob_arena_restore(s->arena, mark);
}

/* Finds the pieces that may go as a whole: small ones, near the surface of the large ones, which stay. */
static void find_gaps(run_t *s)
{
	double limit = s->size > 0 ? s->in->limit / s->size : 0;
	uint32_t count = 0;
	for (uint32_t p = 0; p < s->piece_count; p++) {
		piece_t *piece = &s->pieces[p];
		bool large = s->in->keep_pieces || piece->area > s->vanishing / 2;
		for (int k = 0; k < 3; k++)
			large = large || (double)(piece->high[k] - piece->low[k]) > 2 * limit;
		piece->gap = large ? HUGE_VALF : 0;
		count += large;
	}
	if (count == 0 || count == s->piece_count) {
		for (uint32_t p = 0; p < s->piece_count; p++)
			s->pieces[p].gap = HUGE_VALF;
		return;
	}
	hob_arena_mark mark = hob_arena_save(s->arena);
	uint32_t *corners = HOB_NEW(s->arena, uint32_t, 3 * (size_t)s->triangle_count);
	count = 0;
	for (uint32_t t = 0; t < s->triangle_count; t++)
		if (s->pieces[s->piece[s->triangles[t].place[0]]].gap > 0) {
			memcpy(corners + count, s->triangles[t].place, sizeof s->triangles[t].place);
			count += 3;
		}
	hob_surface rest = hob_surface_build(s->position[0], s->place_count, corners, count, s->arena);
	hob_surface_seeker seeker = hob_surface_seek(&rest, &rest);
	for (uint32_t p = 0; p < s->place_count; p++) {
		piece_t *piece = &s->pieces[s->piece[p]];
		if (piece->gap > (float)limit)
			continue;
		float gap = (float)hob_surface_distance(&rest, hob_vec3_load(s->position[p]), 0, 0, &seeker);
		piece->gap = gap > (float)limit ? HUGE_VALF : fmaxf(gap, piece->gap);
	}
	hob_arena_restore(s->arena, mark);
}

/* Adds a plane through a side to both its ends. */
static void add_side_plane(run_t *s, const triangle_t *t, uint32_t k, const float across[3], float weight)
{
	float n[3], length = sqrtf(hob_float3_dot(across, across));
	if (!(length > 0))
		return;
	for (int i = 0; i < 3; i++)
		n[i] = across[i] / length;
	hob_quadric_add_plane(&s->quadrics[t->place[k]], n, weight);
	hob_quadric_add_plane(&s->quadrics[t->place[next_corner(k)]], n, weight);
}

/* Adds a plane through a side, perpendicular to its triangle. A triangle without area, such as one that fills
 * a T-junction, has no normal: two planes that meet in the side. */
static void hold_side(run_t *s, const triangle_t *t, uint32_t k, float share)
{
	float n[3], along[3], across[3];
	hob_float3_normal(s->position[t->place[0]], s->position[t->place[1]], s->position[t->place[2]], n);
	hob_float3_sub(s->position[t->place[next_corner(k)]], s->position[t->place[k]], along);
	float square = hob_float3_dot(along, along);
	if (!(hob_float3_dot(n, n) > least_height * least_height * square * square)) {
		float x = fabsf(along[0]), y = fabsf(along[1]), z = fabsf(along[2]);
		const float axis[3] = {x <= y && x <= z, y < x && y <= z, z < x && z < y};
		hob_float3_cross(along, axis, n);
		add_side_plane(s, t, k, n, share * square);
	}
	hob_float3_cross(along, n, across);
	add_side_plane(s, t, k, across, share * square);
}

/* ---- triangles by place */

static bool is_left(const run_t *s, const triangle_t *t)
{
	return t->place[0] != HOB_NONE && !s->pieces[s->piece[t->place[0]]].gone;
}

/* Whether a level leaves a triangle out because it has no area. */
static bool is_flat(const run_t *s, const triangle_t *t)
{
	float n[3];
	hob_float3_normal(s->position[t->place[0]], s->position[t->place[1]], s->position[t->place[2]], n);
	return !s->in->keep_pieces && !(hob_float3_dot(n, n) > 0);
}

/* Drops removed triangles and lists the corners of the rest by place. */
static void list_corners(run_t *s)
{
	uint32_t kept = 0, sum = 0;
	for (uint32_t t = 0; t < s->triangle_count; t++)
		if (is_left(s, &s->triangles[t]))
			s->triangles[kept++] = s->triangles[t];
	s->triangle_count = kept;
	memset(s->corner_first, 0, ((size_t)s->place_count + 1) * sizeof *s->corner_first);
	for (uint32_t t = 0; t < kept; t++)
		for (uint32_t k = 0; k < 3; k++)
			s->corner_first[s->triangles[t].place[k]]++;
	s->alive_count = 0;
	for (uint32_t p = 0; p < s->place_count; p++) {
		uint32_t count = s->corner_first[p];
		if (count > 0)
			s->alive[s->alive_count++] = p;
		sum += count;
		s->corner_first[p] = sum;
	}
	s->corner_first[s->place_count] = sum;
	for (uint32_t t = kept; t-- > 0;)
		for (uint32_t k = 3; k-- > 0;)
			s->corners[--s->corner_first[s->triangles[t].place[k]]] = 4 * t + k;
}

static uint32_t corner_count(const run_t *s, uint32_t place)
{
	return s->corner_first[place + 1] - s->corner_first[place];
}

/* Whether two vertices at one place have different texture coordinates. */
static bool is_torn(const run_t *s, uint32_t a, uint32_t b)
{
	bool torn = false;
	for (uint32_t set = 0; set < HOB_SIMPLIFY_UVS && a != b; set++)
		torn = torn || (s->in->uv[set] && memcmp(s->in->uv[set] + 2 * (size_t)s->vertex[a],
												 s->in->uv[set] + 2 * (size_t)s->vertex[b], 8) != 0);
	return torn;
}

/* Adds planes at open borders and at seams of texture coordinates. */
static void hold_sides(run_t *s)
{
	bool torn = s->in->uv[0] || s->in->uv[1];
	for (uint32_t i = 0; i < s->triangle_count; i++) {
		const triangle_t *t = &s->triangles[i];
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t a = t->place[k], b = t->place[next_corner(k)], wa = t->wedge[k],
					 wb = t->wedge[next_corner(k)];
			/* Searches at the end with fewer triangles, unless it is crowded. */
			uint32_t at = corner_count(s, a) < corner_count(s, b) ? a : b, far = at == a ? b : a;
			if (corner_count(s, at) > MOST_TAKEN)
				continue;
			bool alone = true, seam = false;
			for (uint32_t c = s->corner_first[at]; c < s->corner_first[at + 1] && (alone || (torn && !seam));
				 c++) {
				const triangle_t *other = &s->triangles[s->corners[c] / 4];
				uint32_t own = s->corners[c] % 4, next = next_corner(own), prev = prev_corner(own);
				uint32_t there = other->place[next] == far ? next : prev;
				if (other == t || other->place[there] != far)
					continue;
				alone = false;
				uint32_t at_here = at == a ? wa : wb, far_here = at == a ? wb : wa;
				seam = seam || is_torn(s, other->wedge[own], at_here) ||
					   is_torn(s, other->wedge[there], far_here);
			}
			if (alone)
				hold_side(s, t, k, border_weight);
			else if (seam)
				hold_side(s, t, k, seam_weight);
			if (alone && s->in->lock_border)
				s->state[a] |= LOCKED, s->state[b] |= LOCKED;
		}
	}
}

/* ---- a collapse */

/* A side by its triangles. INNER: two; CREASE: more, as many in each direction; OPEN: any other number */
typedef enum side { INNER, CREASE, OPEN } side_t;

/* The triangles and vertices around a place. */
typedef struct ring {
	uint32_t place, count, neighbour_count, wedge_count;
	side_t side; /* most open kind among its sides */
	uint32_t triangle[MOST_RING];
	uint8_t corner[MOST_RING], next[MOST_RING], prev[MOST_RING]; /* by triangle: its corner; its neighbours */
	uint8_t own[MOST_RING]; /* by triangle: its vertex, as an index into `wedge` */
	uint32_t neighbour[MOST_RING], wedge[MOST_RING];
	uint64_t bits; /* by the lowest six bits of a place: whether it may be a neighbour */
	/* by neighbour: triangles that have it as next, plus 256 times those that have it as prev; its vertex in
	 * these triangles, HOB_NONE: there are several */
	uint16_t uses[MOST_RING];
	uint32_t there[MOST_RING];
} ring_t;

/* A collapse of the place at a ring's centre into a neighbour, and the vertices that replace its own. */
typedef struct collapse {
	uint32_t neighbour, to;
	float way[3];
	uint32_t wedge[MOST_RING];
	float attributes; /* cost of attributes, summed over area */
	float area;		  /* change of the piece's area */
	float turn;		  /* sum over area of squared differences of normals */
	float distance;	  /* of the place from its triangles after the collapse */
	float change;	  /* largest distance of `to` from the planes of the place's triangles */
	uint32_t removed; /* number of triangles removed */
} collapse_t;

/* Number of a neighbour; neighbour_count: it is none. */
static uint32_t number_of(const ring_t *r, uint32_t place)
{
	uint32_t n = r->bits >> (place & 63) & 1 ? 0 : r->neighbour_count;
	while (n < r->neighbour_count && r->neighbour[n] != place)
		n++;
	return n;
}

/* Adds a triangle's corner to the neighbours; returns its number, MOST_RING: there is no room. */
static uint32_t add_neighbour(ring_t *r, const triangle_t *t, uint32_t k, uint32_t use)
{
	uint32_t n = number_of(r, t->place[k]);
	if (n == MOST_RING)
		return n;
	if (n == r->neighbour_count) {
		r->neighbour[n] = t->place[k], r->there[n] = t->wedge[k], r->uses[n] = 0;
		r->bits |= (uint64_t)1 << (t->place[k] & 63);
		r->neighbour_count++;
	}
	r->there[n] = r->there[n] == t->wedge[k] ? t->wedge[k] : HOB_NONE;
	r->uses[n] = (uint16_t)(r->uses[n] + use);
	return n;
}

static side_t side_of(const ring_t *r, uint32_t neighbour)
{
	uint32_t next = r->uses[neighbour] & 255, prev = r->uses[neighbour] >> 8;
	return next != prev ? OPEN : next > 1 ? CREASE : INNER;
}

/* Collects the ring of a place; false if it is too crowded or has no triangles. */
static bool take_ring(const run_t *s, uint32_t place, ring_t *r)
{
	r->place = place, r->count = r->neighbour_count = r->wedge_count = 0;
	r->side = INNER, r->bits = 0;
	if (corner_count(s, place) > MOST_RING)
		return false;
	for (uint32_t c = s->corner_first[place]; c < s->corner_first[place + 1]; c++) {
		uint32_t id = s->corners[c] / 4, k = s->corners[c] % 4, i = r->count;
		const triangle_t *t = &s->triangles[id];
		if (t->place[0] == HOB_NONE)
			continue;
		uint32_t side[2] = {next_corner(k), prev_corner(k)}, own = 0;
		for (uint32_t n = 0; n < 2; n++)
			side[n] = add_neighbour(r, t, side[n], n == 0 ? 1 : 256);
		if (side[0] == MOST_RING || side[1] == MOST_RING)
			return false;
		while (own < r->wedge_count && r->wedge[own] != t->wedge[k])
			own++;
		r->wedge[own] = t->wedge[k], r->wedge_count += own == r->wedge_count;
		r->triangle[i] = id, r->corner[i] = (uint8_t)k, r->own[i] = (uint8_t)own;
		r->next[i] = (uint8_t)side[0], r->prev[i] = (uint8_t)side[1];
		r->count++;
	}
	for (uint32_t n = 0; n < r->neighbour_count; n++) {
		side_t side = side_of(r, n);
		r->side = side > r->side ? side : r->side;
	}
	return r->count > 0;
}

static bool has_neighbour(const ring_t *r, uint32_t triangle, uint32_t neighbour)
{
	return r->next[triangle] == neighbour || r->prev[triangle] == neighbour;
}

/* The cost of attributes, summed over area, if a vertex displaced by `way` is replaced by another. */
static float wedge_cost(const run_t *s, uint32_t from, uint32_t to, const float way[3])
{
	return hob_wedge_at(s->wedges + (size_t)from * s->wedge_size, s->attribute_count, way,
						s->attributes + (size_t)from * s->attribute_stride,
						s->attributes + (size_t)to * s->attribute_stride);
}

/* Takes `to` as the replacement of a vertex of the ring if it fits better. */
static void offer(const run_t *s, const ring_t *r, collapse_t *c, uint32_t own, uint32_t to, float *costs)
{
	if (c->wedge[own] == to)
		return;
	float cost = s->attribute_count == 0 ? 0 : wedge_cost(s, r->wedge[own], to, c->way);
	if (c->wedge[own] == HOB_NONE || cost < costs[own])
		c->wedge[own] = to, costs[own] = cost;
}

/* The vertex at `place` with the attributes nearest to those of `wedge`, among the first MOST_RING there;
 * `best` if none is left. */
static uint32_t most_alike(const run_t *s, uint32_t wedge, uint32_t place, uint32_t best)
{
	const float *own = s->attributes + (size_t)wedge * s->attribute_stride;
	uint32_t count = corner_count(s, place);
	float least = HUGE_VALF;
	for (uint32_t i = 0; i < count && i < MOST_RING; i++) {
		uint32_t corner = s->corners[s->corner_first[place] + i];
		const triangle_t *t = &s->triangles[corner / 4];
		if (t->place[0] == HOB_NONE)
			continue;
		const float *other = s->attributes + (size_t)t->wedge[corner % 4] * s->attribute_stride;
		hob_lanes sums = {0, 0, 0, 0};
		for (uint32_t k = 0; k < s->attribute_stride; k += 4) {
			hob_lanes step = hob_lanes_load(own + k) - hob_lanes_load(other + k);
			sums += step * step;
		}
		float sum = hob_lanes_sum(sums);
		if (sum < least)
			best = t->wedge[corner % 4], least = sum;
	}
	return best;
}

/* Chooses replacements for the vertices at the place. */
static void choose_wedges(const run_t *s, const ring_t *r, uint32_t neighbour, collapse_t *c)
{
	float costs[MOST_RING];
	uint32_t there = r->there[neighbour];
	c->neighbour = neighbour, c->to = r->neighbour[neighbour], c->attributes = 0;
	hob_float3_sub(s->position[c->to], s->position[r->place], c->way);
	for (uint32_t w = 0; w < r->wedge_count; w++)
		c->wedge[w] = HOB_NONE, costs[w] = 0;
	for (uint32_t i = 0; i < r->count; i++)
		if (has_neighbour(r, i, neighbour)) {
			const triangle_t *t = &s->triangles[r->triangle[i]];
			uint32_t k = r->corner[i];
			there = t->wedge[r->next[i] == neighbour ? next_corner(k) : prev_corner(k)];
			offer(s, r, c, r->own[i], there, costs);
		}
	for (uint32_t w = 0; w < r->wedge_count; w++)
		c->attributes += costs[w];
	for (uint32_t w = 0; w < r->wedge_count; w++)
		if (c->wedge[w] == HOB_NONE) {
			offer(s, r, c, w, most_alike(s, r->wedge[w], c->to, there), costs);
			c->attributes += costs[w];
		}
}

/* The link condition: both ends share only the neighbours of vanishing triangles, and no two triangles come
 * to coincide. */
static bool keeps_topology(const run_t *s, const ring_t *r, const collapse_t *c)
{
	uint64_t shared = 0, common = 0;
	if (corner_count(s, c->to) > MOST_TAKEN)
		return false;
	for (uint32_t i = 0; i < r->count; i++)
		if (has_neighbour(r, i, c->neighbour))
			shared |= (uint64_t)1 << (r->next[i] == c->neighbour ? r->prev[i] : r->next[i]);
	for (uint32_t i = s->corner_first[c->to]; i < s->corner_first[c->to + 1]; i++) {
		const triangle_t *t = &s->triangles[s->corners[i] / 4];
		uint32_t k = s->corners[i] % 4, a = t->place[next_corner(k)], b = t->place[prev_corner(k)];
		if (t->place[0] == HOB_NONE || a == r->place || b == r->place)
			continue;
		uint32_t at_a = number_of(r, a), at_b = number_of(r, b);
		common |= at_a < r->neighbour_count ? (uint64_t)1 << at_a : 0;
		common |= at_b < r->neighbour_count ? (uint64_t)1 << at_b : 0;
		for (uint32_t j = 0; at_a < r->neighbour_count && at_b < r->neighbour_count && j < r->count; j++)
			if (has_neighbour(r, j, at_a) && has_neighbour(r, j, at_b))
				return false;
	}
	return (common & ~shared) == 0;
}

/* Squared distance of a point from a triangle. Source: Ericson, Real-Time Collision Detection, 5.1.5. */
static float distance_to(const float p[3], const float a[3], const float b[3], const float c[3])
{
	float ab[3], ac[3], ap[3], v, w;
	hob_float3_sub(b, a, ab), hob_float3_sub(c, a, ac), hob_float3_sub(p, a, ap);
	float d1 = hob_float3_dot(ab, ap), d2 = hob_float3_dot(ac, ap), bb = hob_float3_dot(ab, ab),
		  bc = hob_float3_dot(ab, ac), cc = hob_float3_dot(ac, ac);
	float d3 = d1 - bb, d4 = d2 - bc, d5 = d1 - bc, d6 = d2 - cc;
	float vc = d1 * d4 - d3 * d2, vb = d5 * d2 - d1 * d6, va = d3 * d6 - d5 * d4;
	if (d1 <= 0 && d2 <= 0) {
		v = w = 0;
	} else if (d3 >= 0 && d4 <= d3) {
		v = 1, w = 0;
	} else if (d6 >= 0 && d5 <= d6) {
		v = 0, w = 1;
	} else if (vc <= 0 && d1 >= 0 && d3 <= 0) {
		v = d1 / (d1 - d3), w = 0;
	} else if (vb <= 0 && d2 >= 0 && d6 <= 0) {
		v = 0, w = d2 / (d2 - d6);
	} else if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) {
		w = (d4 - d3) / ((d4 - d3) + (d5 - d6)), v = 1 - w;
	} else {
		float sum = va + vb + vc;
		v = sum > 0 ? vb / sum : 0, w = sum > 0 ? vc / sum : 0;
	}
	for (int i = 0; i < 3; i++)
		ap[i] -= v * ab[i] + w * ac[i];
	return hob_float3_dot(ap, ap);
}

static float uv_area(const float *a, const float *b, const float *c)
{
	return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

static bool keeps_uv(const run_t *s, const triangle_t *t, uint32_t k, uint32_t from, uint32_t to)
{
	uint32_t b = s->vertex[t->wedge[next_corner(k)]], c = s->vertex[t->wedge[prev_corner(k)]];
	for (uint32_t set = 0; set < HOB_SIMPLIFY_UVS; set++) {
		const float *uv = s->in->uv[set];
		if (!uv)
			continue;
		float before = uv_area(uv + 2 * (size_t)s->vertex[from], uv + 2 * (size_t)b, uv + 2 * (size_t)c);
		float after = uv_area(uv + 2 * (size_t)s->vertex[to], uv + 2 * (size_t)b, uv + 2 * (size_t)c);
		if (before > 0 ? after <= 0 : before < 0 && after >= 0)
			return false;
	}
	return true;
}

/* The arrays that pricing and collapsing work in: too large to guard them in each call. Those with three rows
 * hold x, y and z; a row is filled up to a multiple of four. */
typedef struct work {
	ring_t ring;
	collapse_t collapse;
	float near[3][MOST_RING], normal[3][MOST_RING]; /* by neighbour */
	float planes[MOST_RING], costs[MOST_RING];		/* by neighbour: mean squared distance to the planes */
	/* by triangle: its other corners and the sum of their normals; what four_triangles finds */
	float next[3][MOST_RING], prev[3][MOST_RING], normals[3][MOST_RING];
	float was[MOST_RING], rise[MOST_RING], before[MOST_RING], after[MOST_RING], turn[MOST_RING],
		plane[MOST_RING];
	int32_t refused[MOST_RING];
} work_t;

_Static_assert(MOST_RING % 4 == 0, "rows are filled up");

/* Fills the arrays that are the same for all collapses of the ring's place. */
static void take_corners(const run_t *s, work_t *work)
{
	const ring_t *r = &work->ring;
	for (uint32_t n = 0; n < ((r->neighbour_count + 3) & ~3u); n++) {
		uint32_t p = r->neighbour[n < r->neighbour_count ? n : 0];
		for (int k = 0; k < 3; k++)
			work->near[k][n] = s->position[p][k], work->normal[k][n] = s->normal[p][k];
	}
	for (uint32_t i = 0; i < ((r->count + 3) & ~3u); i++) {
		uint32_t a = r->next[i < r->count ? i : 0], b = r->prev[i < r->count ? i : 0];
		for (int k = 0; k < 3; k++) {
			work->next[k][i] = work->near[k][a], work->prev[k][i] = work->near[k][b];
			work->normals[k][i] = work->normal[k][a] + work->normal[k][b];
		}
	}
}

/* Mean squared distances of the neighbours to the planes: lower bounds of the costs of collapses. */
static void price_planes(const run_t *s, work_t *work)
{
	const hob_quadric *q = &s->quadrics[work->ring.place];
	const float *a = q->a, *at = s->position[work->ring.place];
	for (uint32_t n = 0; n < work->ring.neighbour_count; n += 4) {
		hob_lanes p[3], sum;
		for (int k = 0; k < 3; k++)
			p[k] = hob_lanes_load(work->near[k] + n) - at[k];
		sum = (a[0] * p[0] + a[1] * p[1] + a[2] * p[2] + 2 * q->b[0]) * p[0] +
			  (a[1] * p[0] + a[3] * p[1] + a[4] * p[2] + 2 * q->b[1]) * p[1] +
			  (a[2] * p[0] + a[4] * p[1] + a[5] * p[2] + 2 * q->b[2]) * p[2];
		sum = q->weight > 0 ? hob_lanes_above_zero(sum + q->c) / q->weight : hob_lanes_dot(p, p);
		hob_lanes_store(work->planes + n, sum);
	}
}

/* Measures four triangles of the ring before and after their corner at the place moves. A triangle is refused
 * that would turn too far, get too thin, or face away from an axis or from its corners' normals. */
static void four_triangles(const run_t *s, work_t *work, uint32_t i)
{
	const collapse_t *c = &work->collapse;
	const float *from = s->position[work->ring.place], *to = s->position[c->to];
	hob_lanes a[3], b[3], side[3], before[3], after[3], sum[3];
	for (int k = 0; k < 3; k++) {
		a[k] = hob_lanes_load(work->next[k] + i), b[k] = hob_lanes_load(work->prev[k] + i);
		sum[k] = hob_lanes_load(work->normals[k] + i);
		side[k] = b[k] - a[k], a[k] -= from[k], b[k] -= from[k];
	}
	hob_lanes_cross(a, b, before);
	for (int k = 0; k < 3; k++)
		a[k] = hob_lanes_load(work->next[k] + i) - to[k], b[k] = hob_lanes_load(work->prev[k] + i) - to[k];
	hob_lanes_cross(a, b, after);
	hob_lanes was = hob_lanes_dot(before, before), is = hob_lanes_dot(after, after), both = was * is;
	hob_lanes longest = hob_lanes_greater(hob_lanes_dot(side, side), hob_lanes_dot(a, a));
	longest = hob_lanes_greater(hob_lanes_dot(b, b), longest);
	hob_lanes turn = hob_lanes_dot(before, after), length = hob_lanes_root(is);
	hob_lane_mask refused =
		(is <= least_height * least_height * longest * longest) & ~((is > was) & (is > 0));
	refused |= (was > 0) & ((turn <= 0) | (turn * turn < least_turn * least_turn * was * is));
	for (int k = 0; k < 6 && s->faces; k++)
		if (s->facing[k])
			refused |= (k % 2 ? -after[k / 2] : after[k / 2]) < least_facing * length;
	refused |= ~((hob_lanes_dot(after, sum) + hob_lanes_along(after, s->normal[c->to]) >= 0) |
				 (hob_lanes_dot(before, sum) + hob_lanes_along(before, s->normal[work->ring.place]) < 0));
	hob_lanes rise = hob_lanes_along(before, c->way), height = hob_lanes_along(after, c->way);
	hob_lanes_store(work->was + i, was), hob_lanes_store(work->rise + i, rise);
	hob_lanes_store(work->before + i, hob_lanes_root(was)), hob_lanes_store(work->after + i, length);
	hob_lanes_store(work->turn + i, hob_lanes_if(both > 0, length * (1 - turn / hob_lanes_root(both))));
	hob_lanes_store(work->plane + i, hob_lanes_if(is > 0, 0.9999f * height * height / is));
	memcpy(work->refused + i, &refused, sizeof refused);
}

/* Whether a collapse keeps the orientation of all triangles; sets its area and distance. */
static bool keeps_shape(const run_t *s, work_t *work)
{
	const ring_t *r = &work->ring;
	collapse_t *c = &work->collapse;
	float nearest = hob_float3_dot(c->way, c->way), change = 0;
	c->area = c->turn = 0, c->removed = 0;
	for (uint32_t i = 0; i < r->count; i += 4)
		four_triangles(s, work, i);
	for (uint32_t i = 0; i < r->count; i++) {
		float was = work->was[i], rise = work->rise[i];
		change = rise * rise > change * was ? rise * rise / was : change;
		c->area -= work->before[i] / 2;
		if (has_neighbour(r, i, c->neighbour)) {
			work->plane[i] = HUGE_VALF;
			c->removed++;
			continue;
		}
		if (work->refused[i] || !keeps_uv(s, &s->triangles[r->triangle[i]], r->corner[i], r->wedge[r->own[i]],
										  c->wedge[r->own[i]]))
			return false;
		c->area += work->after[i] / 2;
		c->turn += work->turn[i];
	}
	/* The distance to a triangle is at least the distance to its plane. */
	for (uint32_t i = 0; i < r->count; i++)
		if (work->plane[i] < nearest) {
			float distance =
				distance_to(s->position[r->place], s->position[c->to], s->position[r->neighbour[r->next[i]]],
							s->position[r->neighbour[r->prev[i]]]);
			nearest = distance < nearest ? distance : nearest;
		}
	c->distance = sqrtf(nearest), c->change = sqrtf(change);
	return true;
}

/* Whether a small piece keeps enough area, or is allowed to vanish. */
static bool keeps_piece(const run_t *s, const ring_t *r, const collapse_t *c)
{
	const piece_t *piece = &s->pieces[s->piece[r->place]];
	if (piece->triangles <= c->removed)
		return false;
	if (piece->going || piece->triangles > FEW_TRIANGLES + c->removed)
		return true;
	return piece->left + (double)c->area >= piece_share * piece->area || piece->area <= s->vanishing;
}

/* The order's power of the weight, 13/16, by roots: they round alike everywhere. */
static float power_of(float weight)
{
	return sqrtf(weight * sqrtf(weight * sqrtf(sqrtf(weight))));
}

static float whole_cost(const run_t *s, const ring_t *r, const collapse_t *c, float mean, float share)
{
	float spread = share * (s->spread[r->place] + c->distance);
	return mean > spread * spread ? mean : spread * spread;
}

static bool may_vanish(const run_t *s, const piece_t *piece)
{
	return piece->gap < HUGE_VALF && s->live >= s->target + piece->triangles &&
		   (piece->going || piece->area <= s->vanishing);
}

/* Lets the place's piece go as a whole, if that costs less than the best collapse. */
static void offer_piece(const run_t *s, uint32_t place, candidate_t *out)
{
	const piece_t *piece = &s->pieces[s->piece[place]];
	float square = piece->gap * piece->gap, area = fmaxf((float)piece->area, square);
	if (!may_vanish(s, piece))
		return;
	float key = (square * piece_mean + s->turn * piece_turn) * power_of(area);
	if (out->to == HOB_NONE || key < out->key || (double)out->cost > s->limit)
		*out = (candidate_t){.to = place, .cost = square * piece_limit, .key = key};
}

/* The cost of attributes of a collapse, summed over area; it may choose the vertices, too. */
static float attributes_cost(const run_t *s, work_t *work, uint32_t n)
{
	const ring_t *r = &work->ring;
	if (r->wedge_count > 1 || r->there[n] == HOB_NONE) {
		choose_wedges(s, r, n, &work->collapse);
		return work->collapse.attributes;
	}
	float way[3];
	hob_float3_sub(s->position[r->neighbour[n]], s->position[r->place], way);
	return wedge_cost(s, r->wedge[0], r->there[n], way);
}

/* Finds the cheapest allowed collapse of a place. */
static candidate_t evaluate(const run_t *s, uint32_t place, work_t *work)
{
	candidate_t out = {.to = HOB_NONE};
	ring_t *r = &work->ring;
	collapse_t *c = &work->collapse;
	float *costs = work->costs, *planes = work->planes;
	c->neighbour = HOB_NONE;
	if ((s->state[place] & LOCKED) || !take_ring(s, place, r))
		return out;
	take_corners(s, work), price_planes(s, work);
	float weight = 0, area = s->quadrics[place].weight;
	for (uint32_t w = 0; s->attribute_count > 0 && w < r->wedge_count; w++)
		weight += s->wedges[(size_t)r->wedge[w] * s->wedge_size + 10];
	for (uint32_t n = 0; n < r->neighbour_count; n++) {
		costs[n] = side_of(r, n) == r->side ? planes[n] : HUGE_VALF;
		if (weight > 0 && costs[n] < HUGE_VALF)
			costs[n] += attributes_cost(s, work, n) / weight;
	}
	for (uint32_t tries = 0; tries < MOST_TRIES; tries++) {
		uint32_t n = 0;
		for (uint32_t i = 1; i < r->neighbour_count; i++)
			n = costs[i] < costs[n] ? i : n;
		if (!(costs[n] < HUGE_VALF))
			break;
		if (c->neighbour != n)
			choose_wedges(s, r, n, c);
		if (keeps_shape(s, work) && keeps_topology(s, r, c)) {
			out.held_by_piece = !keeps_piece(s, r, c);
			if (!out.held_by_piece) {
				out.to = c->to, out.removed = c->removed;
				out.distance = c->distance, out.change = c->change, out.area = c->area;
				float limited = planes[n] + limit_attributes * (costs[n] - planes[n]);
				out.cost = whole_cost(s, r, c, limited, limit_spread);
				out.key = whole_cost(s, r, c, costs[n], order_spread);
				out.key += area > 0 ? s->turn * c->turn / area : 0;
				out.key *= power_of(area);
				break;
			}
		}
		costs[n] = HUGE_VALF;
	}
	offer_piece(s, place, &out);
	return out;
}

static void apply(run_t *s, const ring_t *r, const collapse_t *c, float cost)
{
	piece_t *piece = &s->pieces[s->piece[r->place]];
	for (uint32_t i = 0; i < r->count; i++) {
		triangle_t *t = &s->triangles[r->triangle[i]];
		uint32_t k = r->corner[i];
		if (has_neighbour(r, i, c->neighbour))
			t->place[0] = HOB_NONE;
		else
			t->place[k] = c->to, t->wedge[k] = c->wedge[r->own[i]];
	}
	s->live -= c->removed;
	piece->triangles -= c->removed;
	piece->left += (double)c->area;
	if (!piece->going && piece->triangles <= FEW_TRIANGLES && piece->left < piece_share * piece->area) {
		piece->going = true;
		s->vanishing -= piece->area;
	}
	float change = s->change[r->place] + fmaxf(c->change, c->distance);
	for (uint32_t n = 0; n < r->neighbour_count; n++) {
		s->change[r->neighbour[n]] = fmaxf(s->change[r->neighbour[n]], change);
		s->state[r->neighbour[n]] |= CHANGED | STIRRED;
	}
	hob_quadric_add(&s->quadrics[c->to], &s->quadrics[r->place], c->way);
	for (uint32_t w = 0; w < r->wedge_count && s->attribute_count > 0; w++)
		hob_wedge_add(s->wedges + (size_t)c->wedge[w] * s->wedge_size,
					  s->wedges + (size_t)r->wedge[w] * s->wedge_size, s->attribute_count, c->way,
					  s->attributes + (size_t)r->wedge[w] * s->attribute_stride,
					  s->attributes + (size_t)c->wedge[w] * s->attribute_stride);
	float spread = s->spread[r->place] + c->distance;
	s->spread[c->to] = spread > s->spread[c->to] ? spread : s->spread[c->to];
	s->reached = cost > s->reached ? cost : s->reached;
	s->state[r->place] |= TOUCHED | GONE;
	s->into[r->place] = c->to;
	s->state[c->to] |= TOUCHED | CHANGED | STIRRED;
}

/* Performs a candidate's collapse if it is still allowed: its triangles may have changed. */
static bool try_collapse(run_t *s, uint32_t place, work_t *work)
{
	const candidate_t *best = &s->best[place];
	piece_t *piece = &s->pieces[s->piece[place]];
	ring_t *r = &work->ring;
	collapse_t *c = &work->collapse;
	if (piece->gone)
		return false;
	if (best->to == place && !may_vanish(s, piece)) {
		s->state[place] |= CHANGED;
		return false;
	}
	if (best->to == place) {
		s->vanishing -= piece->going ? 0 : piece->area;
		s->live -= piece->triangles;
		s->reached = fmaxf(s->reached, best->cost);
		piece->gone = true;
		return true;
	}
	if (((s->state[place] | s->state[best->to]) & TOUCHED) || !take_ring(s, place, r))
		return false;
	uint32_t n = number_of(r, best->to);
	if (n < r->neighbour_count && side_of(r, n) == r->side) {
		choose_wedges(s, r, n, c);
		c->distance = best->distance, c->change = best->change, c->area = best->area,
		c->removed = best->removed;
		bool kept = !((s->state[place] | s->state[best->to]) & STIRRED);
		if (!kept) {
			take_corners(s, work);
			kept = keeps_shape(s, work) && keeps_topology(s, r, c);
		}
		if (kept && keeps_piece(s, r, c)) {
			apply(s, r, c, best->cost);
			return true;
		}
	}
	s->state[place] |= CHANGED;
	return false;
}

/* ---- rounds */

static bool may_go(const run_t *s, const candidate_t *c)
{
	return c->to != HOB_NONE && (double)c->cost <= s->limit;
}

/* Prices changed places that may be among the cheapest; a place that was expensive rarely becomes cheap. */
static void evaluate_slice(void *context, uint32_t index, uint32_t thread)
{
	run_t *s = context;
	uint32_t end = (index + 1) * SLICE < s->alive_count ? (index + 1) * SLICE : s->alive_count;
	work_t work;
	(void)thread;
	for (uint32_t i = index * SLICE; i < end; i++) {
		uint32_t p = s->alive[i];
		if ((s->state[p] & CHANGED) && (s->best[p].to == HOB_NONE || s->best[p].key <= s->most)) {
			s->best[p] = evaluate(s, p, &work);
			s->state[p] &= (uint8_t)~CHANGED;
		}
		s->state[p] &= (uint8_t) ~(STIRRED | TOUCHED);
	}
}

static uint32_t bits_of(float key)
{
	uint32_t bits;
	memcpy(&bits, &key, sizeof bits);
	return bits;
}

static void evaluate_all(run_t *s)
{
	hob_parallel_for(s->in->parallel, (s->alive_count + SLICE - 1) / SLICE, evaluate_slice, s);
}

/* The key of rank `wanted` among the candidates, rounded up to its upper 16 bits. */
static float key_of_rank(const run_t *s, uint32_t wanted)
{
	uint32_t high = 0, bits = 0;
	for (int digit = 0; digit < 2; digit++) {
		uint32_t counts[256] = {0}, bin = 0;
		for (uint32_t i = 0; i < s->alive_count; i++) {
			const candidate_t *best = &s->best[s->alive[i]];
			bits = bits_of(best->key);
			if (may_go(s, best) && (digit == 0 || bits >> 24 == high))
				counts[digit == 0 ? bits >> 24 : bits >> 16 & 255]++;
		}
		for (; bin < 255 && counts[bin] <= wanted; bin++)
			wanted -= counts[bin];
		high = digit == 0 ? bin : high << 8 | bin;
	}
	float key;
	bits = high << 16 | 0xFFFF;
	memcpy(&key, &bits, sizeof key);
	return key;
}

/* Sorts the candidates with keys up to `most`, stably, by the upper 16 bits of the keys. Returns their
 * number. */
static uint32_t sort_candidates(run_t *s)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < s->alive_count; i++) {
		const candidate_t *best = &s->best[s->alive[i]];
		if (may_go(s, best) && best->key <= s->most)
			s->order[count++] = s->alive[i];
	}
	for (uint32_t shift = 16; shift <= 24; shift += 8) {
		uint32_t first[257] = {0};
		for (uint32_t i = 0; i < count; i++)
			first[(bits_of(s->best[s->order[i]].key) >> shift & 255) + 1]++;
		for (uint32_t b = 0; b < 256; b++)
			first[b + 1] += first[b];
		for (uint32_t i = 0; i < count; i++)
			s->sorted[first[bits_of(s->best[s->order[i]].key) >> shift & 255]++] = s->order[i];
		uint32_t *swap = s->order;
		s->order = s->sorted, s->sorted = swap;
	}
	return count;
}

/* One round. `all`: every collapse that the limit allows may be taken. */
static void run_round(run_t *s, uint32_t target, bool all)
{
	list_corners(s);
	uint32_t wanted = (s->live - target) / 2 + 1;
	wanted = wanted > s->alive_count / 4 ? s->alive_count / 4 : wanted;
	s->most = all ? HUGE_VALF : key_of_rank(s, wanted) * round_reach;
	evaluate_all(s);
	uint32_t count = sort_candidates(s);
	work_t work;
	for (uint32_t i = 0; i < count && s->live > target; i++)
		try_collapse(s, s->order[i], &work);
}

static void take_level(run_t *s, hob_simplify_level *level, hob_arena *result)
{
	double sum = 0, area = 0;
	level->indices = HOB_NEW(result, uint32_t, 3 * (size_t)s->live);
	level->change = HOB_NEW(result, float, s->in->vertex_count);
	level->index_count = 0;
	for (uint32_t t = 0; t < s->triangle_count; t++) {
		const triangle_t *from = &s->triangles[t];
		for (uint32_t k = 0; k < 3 && is_left(s, from) && !is_flat(s, from); k++)
			level->indices[level->index_count++] = s->vertex[from->wedge[k]];
	}
	for (uint32_t p = 0; p < s->place_count; p++) {
		const piece_t *piece = &s->pieces[s->piece[p]];
		float change = piece->gone ? piece->gap : s->change[hob_root_of(s->into, p)];
		level->change[s->in->first[s->first[p]]] = (float)s->size * change;
	}
	for (uint32_t p = 0; p < s->place_count; p++)
		if (!(s->state[p] & GONE))
			sum += (double)s->quadrics[p].c, area += (double)s->quadrics[p].weight;
	level->mean = area > 0 ? s->size * sqrt(sum / area) : 0;
	level->cost = s->size * sqrt((double)s->reached);
}

static void begin(run_t *s)
{
	s->spread = HOB_NEW(s->arena, float, s->place_count);
	s->change = HOB_NEW(s->arena, float, s->place_count);
	s->into = HOB_NEW(s->arena, uint32_t, s->place_count);
	s->corner_first = HOB_NEW(s->arena, uint32_t, (size_t)s->place_count + 1);
	s->corners = HOB_NEW(s->arena, uint32_t, 3 * (size_t)s->triangle_count);
	s->alive = HOB_NEW(s->arena, uint32_t, s->place_count);
	s->best = HOB_NEW(s->arena, candidate_t, s->place_count);
	s->order = HOB_NEW(s->arena, uint32_t, s->place_count);
	s->sorted = HOB_NEW(s->arena, uint32_t, s->place_count);
	find_pieces(s);
	sum_triangles(s);
	find_gaps(s);
	list_corners(s);
	hold_sides(s);
	for (uint32_t p = 0; p < s->place_count; p++)
		s->state[p] |= CHANGED, s->into[p] = p;
	double limit = s->size > 0 ? s->in->limit / s->size : 0, turn = s->size > 0 ? s->in->turn / s->size : 0;
	s->limit = limit * limit, s->turn = (float)(turn * turn);
	s->most = HUGE_VALF;
	evaluate_all(s);
}

/* Collapses until `target` triangles are left. A round that removes less than one triangle in 256 is repeated
 * without the round's limit; if that does not help either, the run ends, because so many small rounds would
 * take too long. */
static bool reach(run_t *s, uint32_t target)
{
	bool all = false;
	s->target = target;
	for (uint32_t p = 0; p < s->place_count; p++)
		if (s->pieces[s->piece[p]].gap < HUGE_VALF)
			s->state[p] |= CHANGED;
	while (s->live > target) {
		uint32_t before = s->live;
		run_round(s, target, all);
		if (s->live > target && (before - s->live) * 256ull < before) {
			if (all)
				return false;
			all = true;
		} else {
			all = false;
		}
	}
	return true;
}

static uint32_t count_flat(const run_t *s)
{
	uint32_t count = 0;
	for (uint32_t t = 0; t < s->triangle_count; t++)
		count += is_left(s, &s->triangles[t]) && is_flat(s, &s->triangles[t]);
	return count;
}

/* Collapses until a level of `target` triangles with area is reached. */
static bool reach_shown(run_t *s, uint32_t target)
{
	uint32_t before, flat = count_flat(s);
	do {
		before = flat;
		if (!reach(s, target + flat))
			return false;
		flat = count_flat(s);
	} while (flat < before);
	return true;
}

/* Prices the collapses that the last round refused, and finds out why. */
static hob_simplify_end end_of(run_t *s)
{
	uint32_t dear = 0, held = 0;
	list_corners(s);
	s->most = HUGE_VALF;
	evaluate_all(s);
	for (uint32_t i = 0; i < s->alive_count; i++) {
		const candidate_t *best = &s->best[s->alive[i]];
		dear += best->to != HOB_NONE && (double)best->cost > s->limit;
		held += best->held_by_piece;
	}
	return dear * 4ull >= s->alive_count   ? HOB_SIMPLIFY_LIMIT
		   : held * 4ull >= s->alive_count ? HOB_SIMPLIFY_PIECES
										   : HOB_SIMPLIFY_STUCK;
}

hob_simplify_end hob_simplify(const hob_simplify_input *input, hob_simplify_level *levels,
							  uint32_t *level_count, hob_arena *arena)
{
	hob_arena working;
	uint32_t count = *level_count;
	hob_simplify_end end = HOB_SIMPLIFY_DONE;
	assert(input->index_count % 3 == 0 && *level_count <= HOB_SIMPLIFY_LEVELS);
	assert(input->attribute_count <= HOB_SIMPLIFY_ATTRIBUTES);
	hob_arena_init(&working, arena->limit);
	run_t s = {.in = input, .arena = &working};
	*level_count = 0;
	number(&s);
	copy_attributes(&s);
	begin(&s);
	for (uint32_t l = 0; l < count && end == HOB_SIMPLIFY_DONE; l++) {
		uint32_t before = s.live;
		if (!reach_shown(&s, levels[l].target))
			end = end_of(&s);
		if (end != HOB_SIMPLIFY_DONE && s.live == before)
			break;
		take_level(&s, &levels[l], arena);
		*level_count = l + 1;
	}
	hob_arena_release(&working);
	return end;
}
