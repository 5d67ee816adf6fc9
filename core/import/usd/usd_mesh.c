#include "usd_skel.h"
#include "usd_subdivide.h"

#include "../polygon.h"
#include "../shape.h"

/* ---- reserving */

bool hob_usd_add_mesh(hob_usd_build_t *b, uint32_t node, hob_mesh **out, hob_error *err)
{
	hob_model *m = &b->model;
	hob_arena *arena = b->u->scratch;
	if (m->mesh_count >= HOB_LIMIT_MESHES)
		return hob_fail(err, LIMIT, "more than %llu meshes", HOB_LIMIT_MESHES);
	hob_mesh *meshes =
		(hob_mesh *)hob_usd_more(arena, m->meshes, m->mesh_count, &b->mesh_room, sizeof *meshes);
	uint32_t *refs =
		(uint32_t *)hob_usd_more(arena, m->mesh_refs, m->mesh_ref_count, &b->ref_room, sizeof *refs);
	if (!meshes || !refs)
		return hob_fail_memory(err, arena, "meshes");
	m->meshes = meshes;
	m->mesh_refs = refs;
	hob_node *owner = &m->nodes[node];
	if (owner->mesh_count == 0)
		owner->mesh_first = m->mesh_ref_count;
	refs[m->mesh_ref_count++] = m->mesh_count;
	meshes[m->mesh_count] = (hob_mesh){
		.name = owner->name, .source_mesh = b->source_meshes, .source_primitive = owner->mesh_count++};
	*out = &meshes[m->mesh_count++];
	return true;
}

/* ---- one part of a surface: faces of one material */

typedef struct corner {
	uint32_t face, point, corner;
} corner_t;

typedef struct part {
	hob_usd_build_t *b;
	uint32_t prim;
	/* cage: the authored mesh; the same as polygons without subdivision */
	const hob_usd_polygons *polygons, *cage;
	const hob_usd_subdivision *refined; /* NULL: no subdivision */
	hob_usd_stream normals, colors, opacities, uvs[HOB_UV_SETS];
	uint32_t uv_count;
	bool by_corner;
	uint32_t *place; /* [points or corners] vertex of each; HOB_NONE between two parts */
	corner_t *vertices;
	uint32_t vertex_count, vertex_room, index_count, index_room;
	uint32_t *indices, cut_room, *cut;
	hob_polygon polygon;
	hob_error *err;
} part_t;

static bool add_corner(part_t *p, corner_t corner, uint32_t *out)
{
	hob_arena *arena = &p->b->u->passing;
	uint32_t *slot = &p->place[p->by_corner ? corner.corner : corner.point];
	if (*slot == HOB_NONE) {
		p->vertices = (corner_t *)hob_usd_more(arena, p->vertices, p->vertex_count, &p->vertex_room,
											   sizeof *p->vertices);
		if (!p->vertices)
			return hob_fail_memory(p->err, arena, "vertices");
		*slot = p->vertex_count;
		p->vertices[p->vertex_count++] = corner;
	}
	*out = *slot;
	return true;
}

static bool add_face(part_t *p, uint32_t face, uint32_t first, uint32_t count)
{
	const hob_usd_polygons *g = p->polygons;
	hob_arena *arena = &p->b->u->passing;
	if (count * 3 > p->cut_room) {
		p->cut_room = count * 6;
		p->cut = HOB_NEW(arena, uint32_t, p->cut_room);
		if (!p->cut)
			return hob_fail_memory(p->err, arena, "a face");
	}
	uint32_t triangles = (count - 2) * 3;
	if (!hob_polygon_triangulate(&p->polygon, g->points, (const uint32_t *)(const void *)(g->indices + first),
								 count, p->cut))
		return hob_fail_memory(p->err, arena, "a face");
	for (uint32_t i = 0; i < triangles; i++) {
		/* Left-handed faces are reversed. */
		uint32_t k = g->left_handed ? i - i % 3 + 2 - i % 3 : i, at = first + p->cut[k];
		p->indices =
			(uint32_t *)hob_usd_more(arena, p->indices, p->index_count, &p->index_room, sizeof *p->indices);
		if (!p->indices)
			return hob_fail_memory(p->err, arena, "indices");
		if (!add_corner(p, (corner_t){face, (uint32_t)g->indices[at], at}, &p->indices[p->index_count]))
			return false;
		p->index_count++;
	}
	return true;
}

static bool by_corner(const hob_usd_stream *s)
{
	return s->items && (s->interpolation == HOB_USD_UNIFORM || s->interpolation == HOB_USD_PER_CORNER);
}

static bool open_stream(part_t *p, hob_str name, uint32_t width, hob_usd_stream *out)
{
	return hob_usd_stream_open(p->b, p->prim, p->cage, name, width, out, p->err) &&
		   (!p->refined || hob_usd_subdivide_stream(p->b, p->refined, out, p->err));
}

/* As open_stream, but a stream of a single value is copied to `one`, a factor of the material. */
static bool open_shown(part_t *p, const char *name, uint32_t width, hob_usd_stream *out, float *one)
{
	if (!hob_usd_stream_open(p->b, p->prim, p->cage, hob_str_of(name), width, out, p->err))
		return false;
	if (out->interpolation == HOB_USD_CONSTANT || (out->indices ? out->index_count : out->item_count) == 1) {
		const float *first = hob_usd_stream_at(out, 0, 0, 0);
		if (first)
			memcpy(one, first, width * sizeof *one);
		out->items = NULL;
	}
	return !p->refined || hob_usd_subdivide_stream(p->b, p->refined, out, p->err);
}

static bool open_streams(part_t *p, uint32_t material, bool bound)
{
	const hob_usd_polygons *g = p->polygons;
	const hob_usd_look *look = &p->b->looks[material];
	static const char *const usual[] = {"st", "UVMap", "st0", "st_0", "map1", "uv", "Texture_uv"};
	if (g->corner_normals)
		p->normals = (hob_usd_stream){g->corner_normals, g->corner_count, 3, NULL, 0, HOB_USD_PER_CORNER};
	else if (!g->smooth && !open_stream(p, HOB_STR("normals"), 3, &p->normals))
		return false;
	if (bound && look->color_name.len > 0 && !open_stream(p, look->color_name, 3, &p->colors))
		return false;
	p->uv_count = look->uv_count;
	for (uint32_t i = 0; i < look->uv_count; i++)
		if (!open_stream(p, look->uv_names[i], 2, &p->uvs[i]))
			return false;
	for (size_t i = 0; look->uv_count == 0 && i < HOB_COUNT_OF(usual) && p->uv_count == 0; i++) {
		if (!open_stream(p, hob_str_of(usual[i]), 2, &p->uvs[0]))
			return false;
		p->uv_count = p->uvs[0].items != NULL;
	}
	p->by_corner = by_corner(&p->normals) || by_corner(&p->colors) || by_corner(&p->opacities);
	for (uint32_t i = 0; i < p->uv_count; i++)
		p->by_corner = p->by_corner || by_corner(&p->uvs[i]);
	return true;
}

static void fill(const part_t *p, const hob_usd_stream *stream, float *to, uint32_t stride)
{
	for (uint32_t v = 0; v < p->vertex_count; v++) {
		const corner_t *c = &p->vertices[v];
		const float *from = hob_usd_stream_at(stream, c->face, c->point, c->corner);
		for (uint32_t k = 0; from && k < stream->width; k++)
			to[(size_t)v * stride + k] = from[k];
	}
}

static bool put_vertices(part_t *p, hob_mesh *mesh)
{
	hob_arena *arena = p->b->u->result;
	size_t count = p->vertex_count;
	mesh->vertex_count = p->vertex_count;
	mesh->index_count = p->index_count;
	mesh->indices = HOB_NEW(arena, uint32_t, p->index_count);
	mesh->position = HOB_NEW(arena, float, count * 3);
	mesh->normal = p->normals.items ? HOB_NEW(arena, float, count * 3) : NULL;
	bool colored = p->colors.items || p->opacities.items;
	mesh->color[0] = colored ? HOB_NEW(arena, float, count * 4) : NULL;
	if (!mesh->indices || !mesh->position || (p->normals.items && !mesh->normal) ||
		(colored && !mesh->color[0]))
		return hob_fail_memory(p->err, arena, "vertices");
	memcpy(mesh->indices, p->indices, p->index_count * sizeof *p->indices);
	for (size_t v = 0; v < count; v++)
		memcpy(mesh->position + v * 3, p->polygons->points + (size_t)p->vertices[v].point * 3,
			   3 * sizeof(float));
	if (mesh->normal)
		fill(p, &p->normals, mesh->normal, 3);
	for (size_t i = 0; mesh->color[0] && i < count * 4; i++)
		mesh->color[0][i] = p->colors.items && i % 4 < 3 ? 0 : 1;
	if (mesh->color[0]) {
		if (p->colors.items)
			fill(p, &p->colors, mesh->color[0], 4);
		if (p->opacities.items)
			fill(p, &p->opacities, mesh->color[0] + 3, 4);
		hob_shape_fix_floats(mesh->color[0], count * 4, 1);
	}
	for (uint32_t i = 0; i < p->uv_count; i++) {
		mesh->uv[i] = HOB_NEW(arena, float, count * 2);
		if (!mesh->uv[i])
			return hob_fail_memory(p->err, arena, "texture coordinates");
		if (p->uvs[i].items)
			fill(p, &p->uvs[i], mesh->uv[i], 2);
		hob_shape_fix_floats(mesh->uv[i], count * 2, 0);
		for (size_t v = 0; v < count; v++)
			mesh->uv[i][v * 2 + 1] = 1 - mesh->uv[i][v * 2 + 1];
	}
	return true;
}

static bool build_part(part_t *p, uint32_t node, const uint32_t *part_of, uint32_t wanted, uint32_t material)
{
	const hob_usd_polygons *g = p->polygons;
	uint32_t first = 0;
	p->vertex_count = p->index_count = 0;
	for (uint32_t f = 0; f < g->face_count; f++) {
		uint32_t count = (uint32_t)g->counts[f];
		if (part_of[f] == wanted && !add_face(p, f, first, count))
			return false;
		first += count;
	}
	for (uint32_t v = 0; v < p->vertex_count; v++)
		p->place[p->by_corner ? p->vertices[v].corner : p->vertices[v].point] = HOB_NONE;
	if (p->index_count == 0)
		return true;
	hob_mesh *mesh;
	if (!hob_usd_add_mesh(p->b, node, &mesh, p->err))
		return false;
	mesh->material = material;
	mesh->topology = HOB_TRIANGLES;
	mesh->flat = !g->smooth;
	uint32_t *points = HOB_NEW(&p->b->u->passing, uint32_t, p->vertex_count);
	if (!points)
		return hob_fail_memory(p->err, &p->b->u->passing, "vertices");
	for (uint32_t v = 0; v < p->vertex_count; v++)
		points[v] = p->vertices[v].point;
	if (!put_vertices(p, mesh) || !hob_usd_put_influences(p->b, p->prim, points, mesh, p->err) ||
		!hob_usd_put_shapes(p->b, p->prim, points, mesh, p->err) ||
		!hob_usd_put_cache(p->b, p->prim, points, mesh, p->err))
		return false;
	hob_shape_fix_positions(mesh, p->b->u->notes);
	if (mesh->normal)
		hob_shape_fix_floats(mesh->normal, (size_t)mesh->vertex_count * 3, 0);
	hob_mesh_repair_directions(mesh);
	return true;
}

/* ---- assignment of faces to parts */

enum { NO_PART = 0xFFFFFFFF };

/* Faces that cannot be drawn, and holes, belong to no part. */
static bool sort_faces(hob_usd_build_t *b, uint32_t prim, const hob_usd_polygons *g, uint32_t **out,
					   hob_error *err)
{
	hob_usd *u = b->u;
	uint32_t *part_of = HOB_NEW(&u->passing, uint32_t, g->face_count), first = 0, bad = 0;
	if (!part_of)
		return hob_fail_memory(err, &u->passing, "faces");
	for (uint32_t f = 0; f < g->face_count; f++) {
		uint32_t count = (uint32_t)g->counts[f];
		bool good = count >= 3;
		for (uint32_t i = 0; i < count; i++)
			good = good && g->indices[first + i] >= 0 && (size_t)g->indices[first + i] < g->point_count;
		bad += !good;
		part_of[f] = good ? 0 : NO_PART;
		first += count;
	}
	if (bad > 0)
		hob_usd_note(u, "bad-faces",
					 "mesh '%.*s': %u faces have fewer than three corners or use a point that does not exist",
					 HOB_FMT(u->prims[prim].path), bad);
	const hob_usd_value *holes = hob_usd_still(u, &u->prims[prim], HOB_STR("holeIndices"));
	for (size_t i = 0; holes && i < holes->count; i++) {
		double at = hob_usd_component(holes, i);
		if (at >= 0 && at < (double)g->face_count)
			part_of[(size_t)at] = NO_PART;
	}
	*out = part_of;
	return true;
}

typedef struct subset {
	hob_str binding;
	uint32_t part;
} subset_t;

static bool is_face_subset(const hob_usd *u, const hob_usd_prim *prim)
{
	if (!hob_str_equal(prim->type, HOB_STR("GeomSubset")) || !prim->defined)
		return false;
	hob_str element = hob_usd_text(hob_usd_still(u, prim, HOB_STR("elementType")));
	hob_str family = hob_usd_text(hob_usd_still(u, prim, HOB_STR("familyName")));
	return (element.len == 0 || hob_str_equal(element, HOB_STR("face"))) &&
		   (family.len == 0 || hob_str_equal(family, HOB_STR("materialBind")));
}

/* Marks each subset's faces with its number. *bindings [*count]: materials of the mesh and its subsets. */
static bool find_subsets(hob_usd_build_t *b, uint32_t prim, const hob_usd_polygons *g, uint32_t *part_of,
						 hob_str **bindings, uint32_t *count, hob_error *err)
{
	hob_usd *u = b->u;
	uint32_t room = 0;
	*bindings = NULL;
	*count = 0;
	*bindings = (hob_str *)hob_usd_more(u->scratch, NULL, 0, &room, sizeof **bindings);
	if (!*bindings)
		return hob_fail_memory(err, u->scratch, "subsets");
	if (!hob_usd_binding(u, prim, &(*bindings)[(*count)++], err))
		return false;
	for (uint32_t c = u->prims[prim].first_child; c != HOB_NONE; c = u->prims[c].next) {
		if (!is_face_subset(u, &u->prims[c]))
			continue;
		hob_str binding;
		if (!hob_usd_binding(u, c, &binding, err))
			return false;
		*bindings = (hob_str *)hob_usd_more(u->scratch, *bindings, *count, &room, sizeof **bindings);
		if (!*bindings)
			return hob_fail_memory(err, u->scratch, "subsets");
		const hob_usd_value *faces = hob_usd_still(u, &u->prims[c], HOB_STR("indices"));
		for (size_t i = 0; faces && i < faces->count; i++) {
			double at = hob_usd_component(faces, i);
			if (at >= 0 && at < (double)g->face_count && part_of[(size_t)at] == 0)
				part_of[(size_t)at] = *count;
		}
		(*bindings)[(*count)++] = binding;
	}
	return true;
}

static bool build_parts(part_t *p, uint32_t node, const uint32_t *part_of, const hob_str *bindings,
						uint32_t count)
{
	hob_usd *u = p->b->u;
	const hob_usd_polygons *g = p->polygons;
	size_t places = g->corner_count > g->point_count ? g->corner_count : g->point_count;
	p->place = HOB_NEW(&u->passing, uint32_t, places);
	if (!p->place)
		return hob_fail_memory(p->err, &u->passing, "vertices");
	memset(p->place, 0xFF, places * sizeof *p->place);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t material;
		float color[4] = {1, 1, 1, 1};
		bool bound = bindings[i].len > 0;
		p->normals = p->colors = p->opacities = (hob_usd_stream){0};
		memset(p->uvs, 0, sizeof p->uvs);
		if (!bound && (!open_shown(p, "displayColor", 3, &p->colors, color) ||
					   !open_shown(p, "displayOpacity", 1, &p->opacities, color + 3)))
			return false;
		bool sheer = p->opacities.items != NULL;
		if (!hob_usd_material(p->b, bindings[i], g->double_sided, color, sheer, &material, p->err))
			return false;
		if (!open_streams(p, material, bound) || !build_part(p, node, part_of, i, material))
			return false;
	}
	return true;
}

/* Whether all faces are valid, which subdivision requires. */
static bool is_whole(const hob_usd_polygons *g)
{
	bool whole = true;
	for (size_t f = 0, first = 0; f < g->face_count && whole; first += (size_t)g->counts[f++]) {
		whole = g->counts[f] >= 3;
		for (size_t i = 0; whole && i < (size_t)g->counts[f]; i++)
			whole = g->indices[first + i] >= 0 && (size_t)g->indices[first + i] < g->point_count;
	}
	return whole && hob_shape_in_reach(g->points, g->point_count * 3);
}

static bool inherit_parts(hob_usd_build_t *b, const hob_usd_subdivision *refined, uint32_t **part_of,
						  hob_error *err)
{
	uint32_t *fine = HOB_NEW(&b->u->passing, uint32_t, refined->fine.face_count);
	if (!fine)
		return hob_fail_memory(err, &b->u->passing, "faces");
	for (size_t f = 0; f < refined->fine.face_count; f++)
		fine[f] = (*part_of)[refined->level_count > 0 ? refined->face_of[f] : f];
	*part_of = fine;
	return true;
}

static bool build_polygons(hob_usd_build_t *b, uint32_t prim, uint32_t node, const hob_usd_polygons *polygons,
						   hob_error *err)
{
	uint32_t *part_of, count;
	hob_str *bindings;
	if (!sort_faces(b, prim, polygons, &part_of, err) ||
		!find_subsets(b, prim, polygons, part_of, &bindings, &count, err))
		return false;
	hob_usd_subdivision refined;
	part_t p = {.b = b, .prim = prim, .polygons = polygons, .cage = polygons, .err = err};
	if (polygons->levels > 0 && is_whole(polygons)) {
		if (!hob_usd_subdivide(b, prim, polygons, polygons->levels, &refined, err) ||
			!inherit_parts(b, &refined, &part_of, err))
			return false;
		p.refined = &refined;
		p.polygons = &refined.fine;
	}
	bool done = build_parts(&p, node, part_of, bindings, count);
	if (p.polygon.careless > 0)
		hob_note_add(b->u->notes, HOB_NOTE_WARNING, "mesh.large-polygons",
					 "mesh '%.*s': %llu large polygons that are not convex were cut without care; "
					 "triangulate them before export",
					 HOB_FMT(b->u->prims[prim].path), (unsigned long long)p.polygon.careless);
	hob_polygon_release(&p.polygon);
	b->source_meshes++;
	return done;
}

bool hob_usd_polygons_build(hob_usd_build_t *b, uint32_t prim, uint32_t node,
							const hob_usd_polygons *polygons, hob_error *err)
{
	hob_arena_mark mark = hob_arena_save(&b->u->passing);
	bool done = build_polygons(b, prim, node, polygons, err);
	hob_arena_restore(&b->u->passing, mark);
	return done;
}

/* ---- a Mesh prim */

static bool int_array(const hob_usd_value *value, const int32_t **out, size_t *count)
{
	bool good = value && value->kind == HOB_USD_I32 && value->width == 1;
	*out = good ? (const int32_t *)value->data : NULL;
	*count = good ? value->count : 0;
	return good;
}

/* Key of a mesh that instances share: the specs with opinions about it, and everything it inherits. */
static bool mesh_key(hob_usd_build_t *b, uint32_t id, hob_buf *key, hob_error *err)
{
	const hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	static const char *const inherited[] = {"displayColor", "displayOpacity", "st"};
	for (uint32_t c = id; c != HOB_NONE; c = c == id ? prim->first_child : u->prims[c].next) {
		const hob_usd_prim *p = &u->prims[c];
		hob_str binding;
		for (uint32_t i = 0; i < p->order_count; i++) {
			const hob_usd_site *site = &p->sites[p->order[i]];
			for (uint32_t k = 0; k < u->stacks[site->stack].layer_count; k++)
				if (site->specs[k] != HOB_NONE) {
					hob_buf_put(key, &u->stacks[site->stack].layers[k], sizeof(uint32_t));
					hob_buf_put(key, &site->specs[k], sizeof(uint32_t));
				}
		}
		if (!hob_usd_binding(b->u, c, &binding, err))
			return false;
		hob_buf_put(key, "|", 1);
		hob_buf_put_str(key, binding);
		if (c == id && prim->first_child == HOB_NONE)
			break;
	}
	for (size_t i = 0; i < HOB_COUNT_OF(inherited); i++) {
		uint32_t owner;
		const hob_usd_value *value = hob_usd_primvar(b->u, id, hob_str_of(inherited[i]), &owner);
		hob_buf_put(key, &value, sizeof value);
	}
	return !key->failed || hob_fail(err, MEMORY, "no memory left for meshes");
}

static bool share_mesh(hob_usd_build_t *b, uint32_t node, uint32_t made, hob_error *err)
{
	hob_model *m = &b->model;
	const uint32_t *range = (const uint32_t *)(const void *)b->shared.data + (size_t)made * 2;
	hob_node *owner = &m->nodes[node];
	owner->mesh_first = m->mesh_ref_count;
	owner->mesh_count = range[1];
	for (uint32_t i = 0; i < range[1]; i++) {
		m->mesh_refs = (uint32_t *)hob_usd_more(b->u->scratch, m->mesh_refs, m->mesh_ref_count, &b->ref_room,
												sizeof *m->mesh_refs);
		if (!m->mesh_refs)
			return hob_fail_memory(err, b->u->scratch, "meshes");
		m->mesh_refs[m->mesh_ref_count++] = range[0] + i;
	}
	return true;
}

/* The surface triangles that the prim stores for its tetrahedra. */
static bool surface_of_tetrahedra(hob_usd *u, const hob_usd_prim *prim, hob_usd_polygons *g, hob_error *err)
{
	const hob_usd_value *value = hob_usd_still(u, prim, HOB_STR("surfaceFaceVertexIndices"));
	if (!value || value->kind != HOB_USD_I32 || value->width != 3) {
		hob_usd_note(u, "type", "prim '%.*s' of type 'TetMesh' states no surface; it is left out",
					 HOB_FMT(prim->path));
		return true;
	}
	int32_t *counts = HOB_NEW(u->scratch, int32_t, value->count);
	if (!counts)
		return hob_fail_memory(err, u->scratch, "faces");
	for (size_t f = 0; f < value->count; f++)
		counts[f] = 3;
	g->counts = counts;
	g->face_count = value->count;
	g->indices = (const int32_t *)value->data;
	g->corner_count = value->count * 3;
	return true;
}

static bool read_mesh(hob_usd_build_t *b, uint32_t id, uint32_t node, hob_error *err)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	hob_usd_polygons g = {0};
	uint64_t corners = 0;
	if (!hob_usd_floats(u, hob_usd_still(u, prim, HOB_STR("points")), 3, &g.points, &g.point_count, err))
		return false;
	bool solid = hob_str_equal(prim->type, HOB_STR("TetMesh"));
	if (solid) {
		if (!surface_of_tetrahedra(u, prim, &g, err))
			return false;
	} else {
		int_array(hob_usd_still(u, prim, HOB_STR("faceVertexCounts")), &g.counts, &g.face_count);
		int_array(hob_usd_still(u, prim, HOB_STR("faceVertexIndices")), &g.indices, &g.corner_count);
	}
	if (g.point_count == 0 || g.face_count == 0)
		return true;
	if (g.corner_count > HOB_LIMIT_INDICES / 3 || g.point_count > HOB_LIMIT_VERTICES)
		return hob_fail(err, LIMIT, "%zu corners and %zu points", g.corner_count, g.point_count);
	for (size_t f = 0; f < g.face_count; f++)
		corners += g.counts[f] > 0 ? (uint64_t)g.counts[f] : g.counts[f] < 0 ? g.corner_count + 1 : 0;
	if (corners > g.corner_count) {
		hob_usd_note(u, "mesh-broken", "mesh '%.*s' states more corners than it lists; it is left out",
					 HOB_FMT(prim->path));
		return true;
	}
	hob_str scheme = hob_usd_text(hob_usd_still(u, prim, HOB_STR("subdivisionScheme")));
	g.smooth = !solid && !hob_str_equal(scheme, HOB_STR("none"));
	bool deforms = hob_usd_still(u, prim, HOB_STR("primvars:skel:jointIndices")) ||
				   hob_usd_still(u, prim, HOB_STR("skel:blendShapes")) || hob_usd_has_cache(u, prim);
	bool refines = u->request->subdivision > 0 && !deforms &&
				   (scheme.len == 0 || hob_str_equal(scheme, HOB_STR("catmullClark")));
	g.levels = g.smooth && refines ? u->request->subdivision : 0;
	b->subdivided += g.smooth && scheme.len > 0 && !refines;
	g.left_handed =
		hob_str_equal(hob_usd_text(hob_usd_still(u, prim, HOB_STR("orientation"))), HOB_STR("leftHanded"));
	g.double_sided = hob_usd_number(hob_usd_still(u, prim, HOB_STR("doubleSided")), 0) != 0;
	return hob_usd_polygons_build(b, id, node, &g, err);
}

bool hob_usd_build_shared(hob_usd_build_t *b, uint32_t id, uint32_t node, hob_usd_builder *build,
						  hob_error *err)
{
	hob_buf key = {0};
	bool done = mesh_key(b, id, &key, err);
	hob_str kept = done ? hob_arena_str(b->u->scratch, hob_buf_str(&key)) : HOB_STR("");
	hob_buf_release(&key);
	if (!done || !kept.data)
		return done ? hob_fail_memory(err, b->u->scratch, "meshes") : false;
	uint32_t made = hob_name_map_get(&b->mesh_map, kept);
	if (made != HOB_NONE)
		return share_mesh(b, node, made, err);
	uint32_t range[2] = {b->model.mesh_count, 0};
	if (!build(b, id, node, err))
		return false;
	range[1] = b->model.mesh_count - range[0];
	made = (uint32_t)(b->shared.size / sizeof range);
	hob_buf_put(&b->shared, range, sizeof range);
	return (!b->shared.failed && hob_name_map_add(&b->mesh_map, kept, made, NULL)) ||
		   hob_fail(err, MEMORY, "no memory left for meshes");
}

bool hob_usd_build_mesh(hob_usd_build_t *b, uint32_t id, uint32_t node, hob_error *err)
{
	if (hob_usd_has_cache(b->u, &b->u->prims[id]) &&
		!hob_usd_add_follower(b, &b->cached, &b->cached_count, &b->cached_room, id, node, err))
		return false;
	return hob_usd_build_shared(b, id, node, read_mesh, err);
}
