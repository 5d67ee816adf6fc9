#include "compare_parts.h"

#include "../formats/pack_geometry.h"

#include <math.h>

static const float LEVEL_NOISE = 0.1f; /* relative change of a level's error that is not reported */

static const hob_pk_mesh *mesh_of(const compare_files *f, uint32_t i)
{
	return HOB_PACK_AT(hob_pk_mesh, f->mesh, i);
}

static const hob_pk_lod *level_of(const compare_files *f, const hob_pk_mesh *mesh, uint32_t level)
{
	return level < mesh->lod_count ? HOB_PACK_AT(hob_pk_lod, f->lod, mesh->lod_first + level) : NULL;
}

static uint32_t elements_in(const hob_pk_mesh *mesh, const hob_pk_lod *level)
{
	return level ? level->index_count / (mesh->topology == HOB_PK_TOPOLOGY_TRIANGLES ? 3u
										 : mesh->topology == HOB_PK_TOPOLOGY_LINES	 ? 2u
																					 : 1u)
				 : 0;
}

static const char *elements_word(const hob_pk_mesh *mesh)
{
	return mesh->topology == HOB_PK_TOPOLOGY_TRIANGLES ? "triangles"
		   : mesh->topology == HOB_PK_TOPOLOGY_LINES   ? "lines"
													   : "points";
}

static bool same_bounds(const hob_pk_mesh *a, const hob_pk_mesh *b)
{
	for (int k = 0; k < 3; k++) {
		float size = fmaxf(a->aabb_max[k] - a->aabb_min[k], b->aabb_max[k] - b->aabb_min[k]) + a->sphere[3];
		if (fabsf(a->aabb_min[k] - b->aabb_min[k]) > 1e-4f * size ||
			fabsf(a->aabb_max[k] - b->aabb_max[k]) > 1e-4f * size)
			return false;
	}
	return true;
}

static bool alike_meshes(const comparison *c, uint32_t a, uint32_t b)
{
	const hob_pk_mesh *one = mesh_of(&c->a, a), *other = mesh_of(&c->b, b);
	return one->vertex_count == other->vertex_count && one->topology == other->topology &&
		   elements_in(one, level_of(&c->a, one, 0)) == elements_in(other, level_of(&c->b, other, 0)) &&
		   same_bounds(one, other);
}

static const char *const semantics[] = {"positions", "normals", "tangents", "UVs",
										"colours",	 "joints",	"weights"};

/* One attribute of the mesh's own vertices; NULL data: it is encoded, or there is none. */
typedef struct attribute {
	const uint8_t *data;
	uint32_t stride, bytes, count, semantic;
} attribute;

static attribute attribute_of(const compare_files *f, const hob_pk_mesh *mesh, uint32_t index)
{
	hob_pack_array layouts = hob_pack_find(&f->meshes, HOB_PK_LAYT);
	const hob_pk_layout *layout =
		mesh->layout < layouts.count ? HOB_PACK_AT(hob_pk_layout, layouts, mesh->layout) : NULL;
	if (!layout || index >= layout->attribute_count)
		return (attribute){.semantic = HOB_NONE};
	const hob_pk_attribute *a = HOB_PACK_AT(hob_pk_attribute, hob_pack_find(&f->meshes, HOB_PK_ATTR),
											layout->attribute_first + index);
	const hob_vertex_format *format = hob_vertex_format_of(a->format);
	hob_pack_array values = hob_pack_array_at(&f->meshes, layout->sections[a->stream]);
	return (attribute){values.data ? HOB_PACK_AT(uint8_t, values, mesh->first_vertex) + a->offset : NULL,
					   values.stride, format ? format->bytes : 0, mesh->vertex_count, a->semantic};
}

/* FNV-1a. */
static uint64_t mixed(uint64_t hash, const attribute *a, uint32_t vertex)
{
	for (uint32_t i = 0; i < a->bytes; i++)
		hash = (hash ^ a->data[(size_t)vertex * a->stride + i]) * 1099511628211u;
	return hash;
}

/* Hashes an attribute independently of the order of vertices, which depends on the levels. With `other`,
 * hashes pairs of values. */
static uint64_t sum_of(const attribute *a, const attribute *other)
{
	uint64_t sum = 0;
	for (uint32_t v = 0; a->data && v < a->count; v++) {
		uint64_t hash = mixed(14695981039346656037u, a, v);
		hash = other && other->data ? mixed(hash, other, v) : hash;
		sum += hash ^ hash >> 29;
	}
	return sum;
}

/* Appends "normals, UVs": the attributes in which two meshes with as many vertices differ. False: none. */
static bool other_vertices(const comparison *c, const hob_pk_mesh *a, const hob_pk_mesh *b, hob_buf *out)
{
	attribute places[2] = {attribute_of(&c->a, a, 0), attribute_of(&c->b, b, 0)};
	bool moved = sum_of(&places[0], NULL) != sum_of(&places[1], NULL);
	uint32_t told = 0;
	for (uint32_t i = 0;; i++) {
		attribute one = attribute_of(&c->a, a, i), other = attribute_of(&c->b, b, i);
		if (one.semantic >= HOB_COUNT_OF(semantics) || one.semantic != other.semantic)
			return told;
		bool differs = !one.data != !other.data || one.bytes != other.bytes ||
					   sum_of(&one, moved ? NULL : &places[0]) != sum_of(&other, moved ? NULL : &places[1]);
		if (differs && !(told >> one.semantic & 1))
			hob_buf_printf(out, "%s%s", told ? ", " : "", semantics[one.semantic]);
		told |= (uint32_t)differs << one.semantic;
	}
}

/* Called if the finest level is unchanged: reports the first changed coarser level, if any. */
static bool changed_levels(comparison *c, const hob_pk_mesh *a, const hob_pk_mesh *b, const char *called,
						   hob_str name)
{
	if (a->lod_count != b->lod_count) {
		hob_compare_differs(c, b->lod_count < a->lod_count ? TONE_WARN : TONE_NOTE, "mesh", name,
							"%s has %u level%s of detail, was %u", called, b->lod_count,
							HOB_PLURAL(b->lod_count), a->lod_count);
		return true;
	}
	for (uint32_t i = 1; i < b->lod_count; i++) {
		const hob_pk_lod *one = level_of(&c->a, a, i), *other = level_of(&c->b, b, i);
		if (one->index_count == other->index_count &&
			fabsf(one->error - other->error) <= LEVEL_NOISE * fmaxf(one->error, other->error))
			continue;
		hob_compare_differs(c, other->error > one->error ? TONE_WARN : TONE_NOTE, "mesh", name,
							"%s: level %u has %u %s, was %u, and is at most %.3g m off, was %.3g m", called,
							i, elements_in(b, other), elements_word(b), elements_in(a, one),
							(double)other->error, (double)one->error);
		return true;
	}
	return false;
}

static void changed_flag(comparison *c, uint32_t a, uint32_t b, uint32_t flag, const char *what,
						 const char *called, hob_str name)
{
	if ((a & flag) && !(b & flag))
		hob_compare_differs(c, TONE_BAD, "mesh", name, "%s has lost its %s", called, what);
	else if (!(a & flag) && (b & flag))
		hob_compare_differs(c, TONE_NOTE, "mesh", name, "%s has %s now", called, what);
}

static void changed_attributes(comparison *c, const hob_pk_mesh *a, const hob_pk_mesh *b, const char *called,
							   hob_str name)
{
	changed_flag(c, a->flags, b->flags, HOB_PK_MESH_SKINNED, "skin", called, name);
	changed_flag(c, a->flags, b->flags, HOB_PK_MESH_HAS_COLORS, "vertex colours", called, name);
	const uint32_t own = HOB_PK_MESH_GENERATED_NORMALS | HOB_PK_MESH_FLAT;
	if (!(a->flags & own) && (b->flags & own))
		hob_compare_differs(c, TONE_WARN, "mesh", name, "%s has lost the normals of its source", called);
	if (a->morph_count != b->morph_count)
		hob_compare_differs(c, b->morph_count < a->morph_count ? TONE_BAD : TONE_NOTE, "mesh", name,
							"%s has %u morph target%s, was %u", called, b->morph_count,
							HOB_PLURAL(b->morph_count), a->morph_count);
	hob_str was = hob_compare_material_name(&c->a, a->material),
			now = hob_compare_material_name(&c->b, b->material);
	if (!hob_str_equal(was, now) || (a->material == HOB_PK_NONE) != (b->material == HOB_PK_NONE))
		hob_compare_differs(c, b->material == HOB_PK_NONE ? TONE_BAD : TONE_NOTE, "mesh", name,
							"%s has the material '%.*s', was '%.*s'", called, HOB_FMT(now), HOB_FMT(was));
}

static void changed_mesh(comparison *c, uint32_t a, uint32_t b, const char *called, hob_str name)
{
	const hob_pk_mesh *one = mesh_of(&c->a, a), *other = mesh_of(&c->b, b);
	hob_buf apart = {0};
	uint32_t before = elements_in(one, level_of(&c->a, one, 0)),
			 now = elements_in(other, level_of(&c->b, other, 0));
	if (before != now || one->topology != other->topology)
		hob_compare_differs(c, now > before ? TONE_WARN : TONE_NOTE, "mesh", name, "%s has %u %s, was %u%s%s",
							called, now, elements_word(other), before,
							one->topology != other->topology ? " " : "",
							one->topology != other->topology ? elements_word(one) : "");
	else if (!same_bounds(one, other))
		hob_compare_differs(c, TONE_WARN, "mesh", name, "%s has another size or lies elsewhere in its space",
							called);
	else if (one->vertex_count == other->vertex_count && other_vertices(c, one, other, &apart))
		hob_compare_differs(c, TONE_NOTE, "mesh", name, "%s has other %.*s", called,
							HOB_FMT(hob_buf_str(&apart)));
	else if (!changed_levels(c, one, other, called, name) && one->vertex_count != other->vertex_count)
		hob_compare_differs(c, other->vertex_count > one->vertex_count ? TONE_WARN : TONE_NOTE, "mesh", name,
							"%s has %u vertices for the same triangles, was %u", called, other->vertex_count,
							one->vertex_count);
	hob_buf_release(&apart);
	changed_attributes(c, one, other, called, name);
}

void hob_compare_meshes(comparison *c)
{
	static const compare_kind meshes = {COMPARE_KIND("mesh", mesh, meshes, hob_pk_mesh), TONE_WARN,
										alike_meshes, changed_mesh, offsetof(compare_tally, meshes)};
	hob_compare_kind(c, &meshes);
}
