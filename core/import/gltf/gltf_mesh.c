#include "gltf_private.h"
#include "draco_shim.h"
#include "../shape.h"

#include <math.h>

#ifdef HOB_DRACO

static void take_indices(hob_gltf *g, const hob_draco *mesh, uint32_t accessor)
{
	uint32_t count = hob_draco_face_count(mesh) * 3;
	uint32_t *indices = HOB_NEW(g->scratch, uint32_t, count);
	size_t declared = hob_gltf_size(g->accessors.items[accessor], "count", 0);
	if (declared != count)
		hob_leave(CORRUPT, "accessor %u has %zu indices, the stream has %u", accessor, declared, count);
	hob_draco_indices(mesh, indices);
	g->unpacked[accessor] = (hob_gltf_unpacked){indices, HOB_GLTF_U32};
}

static void take_attribute(hob_gltf *g, const hob_draco *mesh, uint32_t accessor, uint32_t unique_id)
{
	static const hob_draco_type types[] = {
		[HOB_GLTF_I8 - HOB_GLTF_I8] = HOB_DRACO_I8,	  [HOB_GLTF_U8 - HOB_GLTF_I8] = HOB_DRACO_U8,
		[HOB_GLTF_I16 - HOB_GLTF_I8] = HOB_DRACO_I16, [HOB_GLTF_U16 - HOB_GLTF_I8] = HOB_DRACO_U16,
		[HOB_GLTF_U32 - HOB_GLTF_I8] = HOB_DRACO_U32, [HOB_GLTF_F32 - HOB_GLTF_I8] = HOB_DRACO_F32,
	};
	g->unpacked[accessor].data = NULL;
	hob_gltf_accessor a = hob_gltf_accessor_open(g, accessor, 0);
	uint32_t points = hob_draco_point_count(mesh);
	if (a.count != points)
		hob_leave(CORRUPT, "accessor %u has %u elements, the stream has %u points", accessor, a.count,
				  points);
	void *values = hob_arena_array(g->scratch, points, a.element_size, 8);
	if (!hob_draco_attribute(mesh, unique_id, types[a.component - HOB_GLTF_I8], a.width, values))
		hob_leave(CORRUPT, "the stream has no attribute %u for accessor %u", unique_id, accessor);
	g->unpacked[accessor] = (hob_gltf_unpacked){values, a.component};
}

typedef struct stream {
	hob_gltf *g;
	hob_draco *mesh;
	const cJSON *primitive, *ids;
} stream_t;

static bool take_all(void *context, hob_error *err)
{
	(void)err;
	const stream_t *stream = context;
	hob_gltf *g = stream->g;
	const cJSON *attributes = hob_json_get(stream->primitive, "attributes");
	uint32_t indices = hob_gltf_id(stream->primitive, "indices", g->accessors.count);
	if (indices != HOB_NONE)
		take_indices(g, stream->mesh, indices);
	for (const cJSON *item = stream->ids ? stream->ids->child : NULL; item; item = item->next) {
		HOB_PLACE("@", 0, hob_str_sub(hob_str_of(item->string), 0, 64));
		uint32_t unique_id = hob_gltf_id_of(item, item->string, HOB_NONE);
		uint32_t accessor = hob_gltf_need_id(attributes, item->string, g->accessors.count);
		take_attribute(g, stream->mesh, accessor, unique_id);
	}
	return true;
}

static void unpack(hob_gltf *g, const cJSON *primitive, const cJSON *extension)
{
	size_t stride;
	char damage[120] = "";
	uint32_t view = hob_gltf_need_id(extension, "bufferView", g->views.count);
	const cJSON *ids = hob_gltf_object(extension, "attributes");
	hob_gltf_source source = hob_gltf_view(g, view, &stride);
	if (!g->unpacked)
		g->unpacked = HOB_NEW(g->scratch, hob_gltf_unpacked, g->accessors.count);
	stream_t stream = {g, hob_draco_decode(source.bytes.data, source.bytes.size, damage, sizeof damage),
					   primitive, ids};
	if (!stream.mesh)
		hob_leave(CORRUPT, "the stream in bufferViews[%u] is damaged: %s", view, damage);
	hob_error why;
	bool done = hob_guarded(take_all, &stream, &why);
	hob_draco_free(stream.mesh);
	hob_need(done, &why);
}
#else
static void unpack(hob_gltf *g, const cJSON *primitive, const cJSON *extension)
{
	(void)g, (void)primitive, (void)extension;
	hob_leave(UNSUPPORTED, "this build has no Draco decoder: export without Draco, or use meshopt");
}
#endif

/* Decodes the primitive's stream, if any, into g->unpacked. Needs a build with HOB_DRACO. */
static void gltf_draco(hob_gltf *g, const cJSON *primitive)
{
	const cJSON *extension = hob_gltf_extension(primitive, "KHR_draco_mesh_compression");
	if (!extension)
		return;
	uint32_t position = hob_gltf_id(hob_json_get(primitive, "attributes"), "POSITION", g->accessors.count);
	/* An uncompressed copy is exact and needs no decoding. */
	if (position != HOB_NONE && hob_json_get(g->accessors.items[position], "bufferView"))
		return;
	HOB_PLACE("KHR_draco_mesh_compression", 0, {0});
	unpack(g, primitive, extension);
}

enum { JOINT_SETS = 16 };

/* ---- names of attributes */

/* "TEXCOORD_1" with prefix "TEXCOORD_" is set 1; HOB_NONE for another name. */
static uint32_t set_number(hob_str name, hob_str prefix)
{
	if (!hob_str_starts(name, prefix) || name.len == prefix.len || name.len > prefix.len + 4)
		return HOB_NONE;
	uint32_t number = 0;
	for (size_t i = prefix.len; i < name.len; i++) {
		if (name.data[i] < '0' || name.data[i] > '9')
			return HOB_NONE;
		number = number * 10 + (uint32_t)(name.data[i] - '0');
	}
	return number;
}

static uint32_t *slot_of(hob_gltf_attributes *a, hob_str name)
{
	const struct {
		hob_str prefix;
		uint32_t *slots, count;
	} sets[] = {
		{HOB_STR("TEXCOORD_"), a->uv, HOB_UV_SETS},
		{HOB_STR("COLOR_"), a->color, HOB_COLOR_SETS},
		{HOB_STR("JOINTS_"), a->joints, JOINT_SETS},
		{HOB_STR("WEIGHTS_"), a->weights, JOINT_SETS},
	};
	if (hob_str_equal(name, HOB_STR("POSITION")))
		return &a->position;
	if (hob_str_equal(name, HOB_STR("NORMAL")))
		return &a->normal;
	if (hob_str_equal(name, HOB_STR("TANGENT")))
		return &a->tangent;
	for (size_t i = 0; i < HOB_COUNT_OF(sets); i++) {
		uint32_t number = set_number(name, sets[i].prefix);
		if (number < sets[i].count)
			return &sets[i].slots[number];
	}
	return NULL;
}

static void gltf_attributes_parse(hob_gltf *g, const cJSON *object, hob_gltf_attributes *out)
{
	memset(out, 0xFF, sizeof *out); /* all ids HOB_NONE */
	for (const cJSON *item = object->child; item; item = item->next) {
		uint32_t *slot = slot_of(out, hob_str_of(item->string));
		if (!slot)
			hob_gltf_info(g, "attribute-dropped", "vertex attribute %.64s is not used", item->string);
		else
			*slot = hob_gltf_id_of(item, item->string, g->accessors.count);
	}
	for (int set = 0; set < JOINT_SETS; set++)
		if ((out->joints[set] == HOB_NONE) != (out->weights[set] == HOB_NONE))
			hob_leave(CORRUPT, "JOINTS_%d and WEIGHTS_%d must come together", set, set);
}

/* ---- values */

void hob_gltf_make_finite(hob_gltf *g, float *values, size_t count, float with, const char *what,
						  hob_str owner)
{
	size_t bad = 0;
	if (hob_shape_finite(values, count))
		return;
	for (size_t i = 0; i < count; i++)
		if (!isfinite(values[i])) {
			values[i] = with;
			bad++;
		}
	hob_gltf_note(g, "not-finite", "'%.*s': %zu values of %s were NaN or infinite and became %d",
				  HOB_FMT(owner), bad, what, (int)with);
}

typedef struct reader {
	hob_gltf *g;
	uint32_t accessor_count;
	const hob_gltf_selection *selection;
	hob_mesh *mesh;
} reader_t;

/* `what` names the attribute, with "#" for `set`. */
static hob_gltf_accessor open_attribute(const reader_t *r, uint32_t id, uint32_t width, const char *what,
										uint32_t set)
{
	HOB_PLACE(what, set, {0});
	hob_gltf_accessor a = hob_gltf_accessor_open(r->g, id, width);
	if (a.count != r->accessor_count)
		hob_leave(CORRUPT, "it has %u elements, POSITION has %u; accessor %u", a.count, r->accessor_count,
				  id);
	return a;
}

static float *new_floats(const reader_t *r, uint32_t width)
{
	return HOB_NEW(r->g->result, float, (size_t)r->selection->count *width);
}

static void read_stream(const reader_t *r, uint32_t id, uint32_t width, const char *what, float **out)
{
	if (id == HOB_NONE)
		return;
	hob_gltf_accessor a = open_attribute(r, id, width, what, 0);
	*out = new_floats(r, width);
	hob_gltf_read_floats(r->g, &a, r->selection, *out, width);
}

static void read_uvs(const reader_t *r, const hob_gltf_attributes *a)
{
	float **uv = r->mesh->uv;
	size_t floats = (size_t)r->selection->count * 2;
	uint32_t present = 0, source = HOB_NONE;
	for (uint32_t set = 0; set < HOB_UV_SETS; set++) {
		HOB_PLACE("uv set #", set, {0});
		read_stream(r, a->uv[set], 2, "TEXCOORD", &uv[set]);
		if (!uv[set])
			continue;
		hob_gltf_make_finite(r->g, uv[set], floats, 0, "TEXCOORD", r->mesh->name);
		present = set + 1;
		source = source == HOB_NONE ? set : source;
	}
	/* Materials refer to sets by number, so a gap is filled rather than closed. */
	for (uint32_t set = 0; set < present; set++) {
		if (uv[set])
			continue;
		uv[set] = new_floats(r, 2);
		memcpy(uv[set], uv[source], floats * sizeof(float));
		hob_gltf_info(r->g, "uv-gap",
					  "mesh '%.*s' has TEXCOORD_%u but no TEXCOORD_%u, which was copied from it",
					  HOB_FMT(r->mesh->name), source, set);
	}
}

static void read_colors(const reader_t *r, const hob_gltf_attributes *a)
{
	for (uint32_t set = 0; set < HOB_COLOR_SETS; set++) {
		if (a->color[set] == HOB_NONE)
			continue;
		hob_gltf_accessor accessor = open_attribute(r, a->color[set], 0, "COLOR_#", set);
		if (accessor.matrix || (accessor.width != 3 && accessor.width != 4))
			hob_leave(CORRUPT, "COLOR_%u has %u components, 3 or 4 are needed; accessor %u", set,
					  accessor.width, accessor.id);
		float *color = r->mesh->color[set] = new_floats(r, 4);
		hob_gltf_read_floats(r->g, &accessor, r->selection, color, 4);
		for (size_t i = 3; accessor.width == 3 && i < (size_t)r->selection->count * 4; i += 4)
			color[i] = 1;
		hob_gltf_make_finite(r->g, color, (size_t)r->selection->count * 4, 1, "COLOR", r->mesh->name);
	}
}

static void read_influence_set(const reader_t *r, uint32_t joints_id, uint32_t weights_id, uint32_t set,
							   uint32_t first)
{
	static const char what[] = "JOINTS_# and WEIGHTS_#";
	hob_gltf_accessor joints = open_attribute(r, joints_id, 4, what, set);
	hob_gltf_accessor weights = open_attribute(r, weights_id, 4, what, set);
	hob_mesh *mesh = r->mesh;
	HOB_PLACE(what, set, {0});
	if (joints.component != HOB_GLTF_U8 && joints.component != HOB_GLTF_U16)
		hob_leave(CORRUPT, "JOINTS has componentType %d, 5121 or 5123 are needed; accessor %u",
				  (int)joints.component, joints_id);
	hob_gltf_read_u16(r->g, &joints, r->selection, mesh->joints + first, mesh->influence_count);
	hob_gltf_read_floats(r->g, &weights, r->selection, mesh->weights + first, mesh->influence_count);
}

/* Negative weights are invalid, and exporters write arbitrary joints where the weight is 0. */
static void clean_influences(const reader_t *r)
{
	hob_mesh *mesh = r->mesh;
	uint32_t negative = 0, unbound = 0;
	for (uint32_t v = 0; v < mesh->vertex_count; v++) {
		float *weights = mesh->weights + (size_t)v * mesh->influence_count, sum = 0;
		uint16_t *joints = mesh->joints + (size_t)v * mesh->influence_count;
		for (uint32_t i = 0; i < mesh->influence_count; i++) {
			if (weights[i] < 0) {
				weights[i] = 0;
				negative++;
			}
			if (weights[i] == 0)
				joints[i] = 0;
			sum += weights[i];
		}
		unbound += sum == 0;
	}
	if (negative > 0)
		hob_gltf_note(r->g, "weights-negative", "mesh '%.*s': %u joint weights below 0 became 0",
					  HOB_FMT(mesh->name), negative);
	if (unbound > 0)
		hob_gltf_note(r->g, "weights-zero", "mesh '%.*s': %u of %u vertices are bound to no joint",
					  HOB_FMT(mesh->name), unbound, mesh->vertex_count);
}

static void read_influences(const reader_t *r, const hob_gltf_attributes *a)
{
	hob_mesh *mesh = r->mesh;
	uint32_t sets = 0;
	for (uint32_t set = 0; set < JOINT_SETS; set++)
		sets += a->joints[set] != HOB_NONE;
	if (sets == 0)
		return;
	mesh->influence_count = sets * 4;
	mesh->joints = hob_arena_array(r->g->result, mesh->vertex_count, sets * 4 * sizeof(uint16_t), 2);
	mesh->weights = new_floats(r, sets * 4);
	uint32_t first = 0;
	for (uint32_t set = 0; set < JOINT_SETS; set++) {
		if (a->joints[set] == HOB_NONE)
			continue;
		read_influence_set(r, a->joints[set], a->weights[set], set, first);
		first += 4;
	}
	hob_gltf_make_finite(r->g, mesh->weights, (size_t)mesh->vertex_count * mesh->influence_count, 0,
						 "WEIGHTS", mesh->name);
	clean_influences(r);
}

/* Fills the vertex arrays of `mesh` (vertex_count = selection->count) from accessors that all have
 * `accessor_count` elements. */
static void gltf_attributes_read(hob_gltf *g, const hob_gltf_attributes *attributes, uint32_t accessor_count,
								 const hob_gltf_selection *selection, hob_mesh *mesh)
{
	reader_t r = {g, accessor_count, selection, mesh};
	mesh->vertex_count = selection->count;
	read_stream(&r, attributes->position, 3, "POSITION", &mesh->position);
	read_stream(&r, attributes->normal, 3, "NORMAL", &mesh->normal);
	read_stream(&r, attributes->tangent, 4, "TANGENT", &mesh->tangent);
	read_uvs(&r, attributes);
	read_colors(&r, attributes);
	read_influences(&r, attributes);
}

/* ---- morph targets */

static void read_deltas(const reader_t *r, const cJSON *target, const char *key, float **out)
{
	uint32_t id = hob_gltf_id(target, key, r->g->accessors.count);
	if (id == HOB_NONE)
		return;
	hob_gltf_accessor a = open_attribute(r, id, 3, key, 0);
	/* All zero: treated as no deltas. */
	if (!a.data && a.sparse_count == 0)
		return;
	*out = new_floats(r, 3);
	hob_gltf_read_floats(r->g, &a, r->selection, *out, 3);
	hob_gltf_make_finite(r->g, *out, (size_t)r->selection->count * 3, 0, "a morph target", r->mesh->name);
}

static void read_target(const reader_t *r, const cJSON *json, hob_morph_target *out)
{
	for (const cJSON *item = json->child; item; item = item->next)
		if (strcmp(item->string, "POSITION") != 0 && strcmp(item->string, "NORMAL") != 0 &&
			strcmp(item->string, "TANGENT") != 0)
			hob_gltf_note(r->g, "morph-attribute",
						  "morph targets of %.64s are not supported and were dropped", item->string);
	read_deltas(r, json, "POSITION", &out->position);
	read_deltas(r, json, "NORMAL", &out->normal);
	read_deltas(r, json, "TANGENT", &out->tangent);
}

/* mesh.extras.targetNames is a convention: unusable values are ignored. */
static void name_targets(hob_gltf *g, const cJSON *mesh_json, hob_mesh *mesh)
{
	const cJSON *names = hob_json_get(hob_json_get(mesh_json, "extras"), "targetNames");
	const cJSON *name = cJSON_IsArray(names) ? names->child : NULL;
	for (uint32_t i = 0; i < mesh->target_count && name; i++, name = name->next)
		if (cJSON_IsString(name))
			mesh->targets[i].name = hob_gltf_copy_text(g, hob_str_of(name->valuestring));
}

static void weigh_targets(hob_gltf *g, const cJSON *mesh_json, hob_mesh *mesh)
{
	float *weights = HOB_NEW(g->scratch, float, mesh->target_count);
	const cJSON *array = hob_json_get(mesh_json, "weights");
	if (cJSON_IsArray(array) && (uint32_t)cJSON_GetArraySize(array) != mesh->target_count) {
		hob_gltf_note(g, "mesh-weights", "mesh '%.*s' has %d weights for %u morph targets; they were dropped",
					  HOB_FMT(mesh->name), cJSON_GetArraySize(array), mesh->target_count);
		return;
	}
	hob_gltf_floats(mesh_json, "weights", mesh->target_count, weights);
	hob_gltf_make_finite(g, weights, mesh->target_count, 0, "morph weights", mesh->name);
	for (uint32_t i = 0; i < mesh->target_count; i++)
		mesh->targets[i].weight = weights[i];
}

/* Morph targets of a primitive; names and weights come from the mesh, which has `count` targets. Missing
 * targets are zero, with a note. */
static void gltf_targets_read(hob_gltf *g, const cJSON *mesh_json, const hob_gltf_list *targets,
							  uint32_t count, uint32_t accessor_count, const hob_gltf_selection *selection,
							  hob_mesh *mesh)
{
	reader_t r = {g, accessor_count, selection, mesh};
	if (count == 0)
		return;
	mesh->targets = HOB_NEW(g->result, hob_morph_target, count);
	mesh->target_count = count;
	if (targets->count < count)
		hob_gltf_note(g, "morph-missing",
					  "mesh '%.*s': primitive %u has %u of %u morph targets; the others do not move it",
					  HOB_FMT(mesh->name), mesh->source_primitive, targets->count, count);
	for (uint32_t i = 0; i < targets->count; i++) {
		HOB_PLACE("morph target #", i, {0});
		read_target(&r, targets->items[i], &mesh->targets[i]);
	}
	name_targets(g, mesh_json, mesh);
	weigh_targets(g, mesh_json, mesh);
}

typedef enum primitive_mode {
	MODE_POINTS,
	MODE_LINES,
	MODE_LINE_LOOP,
	MODE_LINE_STRIP,
	MODE_TRIANGLES,
	MODE_TRIANGLE_STRIP,
	MODE_TRIANGLE_FAN,
	MODE_COUNT
} primitive_mode_t;

static const struct {
	hob_topology topology;
	uint32_t corners, least; /* indices per element; indices for the first element */
} mode_table[MODE_COUNT] = {
	[MODE_POINTS] = {HOB_POINTS, 1, 1},			 [MODE_LINES] = {HOB_LINES, 2, 2},
	[MODE_LINE_LOOP] = {HOB_LINES, 2, 2},		 [MODE_LINE_STRIP] = {HOB_LINES, 2, 2},
	[MODE_TRIANGLES] = {HOB_TRIANGLES, 3, 3},	 [MODE_TRIANGLE_STRIP] = {HOB_TRIANGLES, 3, 3},
	[MODE_TRIANGLE_FAN] = {HOB_TRIANGLES, 3, 3},
};

/* ---- strips, fans and loops to lists */

static uint32_t put_lines(primitive_mode_t mode, const uint32_t *in, uint32_t count, uint32_t *out)
{
	uint32_t size = 0;
	for (uint32_t i = 0; i + 1 < count; i++) {
		out[size++] = in[i];
		out[size++] = in[i + 1];
	}
	if (mode == MODE_LINE_LOOP) {
		out[size++] = in[count - 1];
		out[size++] = in[0];
	}
	return size;
}

/* Turns a strip or a fan into triangles. Degenerate ones, which stitch strips together, draw nothing. */
static uint32_t put_triangles(primitive_mode_t mode, const uint32_t *in, uint32_t count, uint32_t *out)
{
	uint32_t size = 0;
	for (uint32_t i = 0; i + 2 < count; i++) {
		bool odd = mode == MODE_TRIANGLE_STRIP && (i & 1);
		uint32_t a = in[i], b = in[i + 1 + odd], c = in[i + 2 - odd];
		if (mode == MODE_TRIANGLE_FAN)
			a = in[i + 1], b = in[i + 2], c = in[0];
		if (a == b || b == c || c == a)
			continue;
		out[size++] = a, out[size++] = b, out[size++] = c;
	}
	return size;
}

static bool is_list(primitive_mode_t mode)
{
	return mode == MODE_POINTS || mode == MODE_LINES || mode == MODE_TRIANGLES;
}

/* ---- indices */

static hob_gltf_accessor open_indices(hob_gltf *g, uint32_t id)
{
	hob_gltf_accessor a = hob_gltf_accessor_open(g, id, 1);
	hob_gltf_claim(g, &a);
	if (a.component != HOB_GLTF_U8 && a.component != HOB_GLTF_U16 && a.component != HOB_GLTF_U32)
		hob_leave(CORRUPT, "indices have componentType %d; 5121, 5123 and 5125 are allowed; accessor %u",
				  (int)a.component, id);
	return a;
}

/* The primitive's indices as stored, or 0, 1, 2 ... when it has none. */
static uint32_t *raw_indices(hob_gltf *g, uint32_t id, uint32_t vertex_count, hob_arena *arena,
							 uint32_t *count)
{
	hob_gltf_accessor a = {.count = vertex_count};
	if (id != HOB_NONE)
		a = open_indices(g, id);
	uint32_t *indices = HOB_NEW(arena, uint32_t, a.count);
	hob_gltf_selection all = {.count = a.count};
	if (id != HOB_NONE)
		hob_gltf_read_u32(g, &a, &all, indices);
	for (uint32_t i = 0; id == HOB_NONE && i < a.count; i++)
		indices[i] = i;
	*count = a.count;
	return indices;
}

static void read_indices(hob_gltf *g, uint32_t id, primitive_mode_t mode, uint32_t vertex_count,
						 hob_mesh *mesh)
{
	uint32_t count, corners = mode_table[mode].corners;
	uint32_t *raw = raw_indices(g, id, vertex_count, is_list(mode) ? g->result : g->scratch, &count);
	mesh->topology = mode_table[mode].topology;
	if (is_list(mode)) {
		mesh->indices = raw;
		mesh->index_count = count - count % corners;
		if (count % corners)
			hob_gltf_note(g, "indices-left-over",
						  "mesh '%.*s': %u indices are not a multiple of %u; the rest is dropped",
						  HOB_FMT(mesh->name), count, corners);
		return;
	}
	if (count < mode_table[mode].least)
		return;
	if (count > HOB_LIMIT_INDICES / 3)
		hob_leave(LIMIT, "a strip of %u indices gives more than %llu", count, HOB_LIMIT_INDICES);
	mesh->indices = HOB_NEW(g->result, uint32_t, (size_t)count * corners);
	mesh->index_count = corners == 2 ? put_lines(mode, raw, count, mesh->indices)
									 : put_triangles(mode, raw, count, mesh->indices);
}

/* ---- vertices: many primitives may share a large accessor; each takes only its part */

static hob_gltf_selection select_scattered(hob_gltf *g, uint32_t vertex_count, hob_mesh *mesh)
{
	uint32_t *list = HOB_NEW(g->scratch, uint32_t, mesh->index_count), used = 0;
	if (g->vertex_place_count < vertex_count) {
		g->vertex_place = HOB_NEW(g->scratch, uint32_t, vertex_count);
		memset(g->vertex_place, 0xFF, (size_t)vertex_count * sizeof(uint32_t));
		g->vertex_place_count = vertex_count;
	}
	for (uint32_t i = 0; i < mesh->index_count; i++) {
		uint32_t *place = &g->vertex_place[mesh->indices[i]];
		if (*place == HOB_NONE) {
			*place = used;
			list[used++] = mesh->indices[i];
		}
		mesh->indices[i] = *place;
	}
	return (hob_gltf_selection){.count = used, .list = list, .place = g->vertex_place};
}

static hob_gltf_selection select_vertices(hob_gltf *g, uint32_t vertex_count, hob_mesh *mesh)
{
	/* Signed comparisons vectorise everywhere; an index that becomes negative is out of range anyway. */
	int32_t smallest = INT32_MAX, largest = INT32_MIN;
	for (uint32_t i = 0; i < mesh->index_count; i++) {
		int32_t index = (int32_t)mesh->indices[i];
		smallest = index < smallest ? index : smallest;
		largest = index > largest ? index : largest;
	}
	uint32_t least = (uint32_t)smallest, most = smallest < 0 ? least : (uint32_t)largest;
	if (most >= vertex_count)
		hob_leave(CORRUPT, "index %u >= vertex_count %u", most, vertex_count);
	uint32_t range = most - least + 1;
	if (range > mesh->index_count)
		return select_scattered(g, vertex_count, mesh);
	for (uint32_t i = 0; least > 0 && i < mesh->index_count; i++)
		mesh->indices[i] -= least;
	return (hob_gltf_selection){.first = least, .count = range};
}

static void release_places(hob_gltf *g, const hob_gltf_selection *selection)
{
	for (uint32_t i = 0; selection->list && i < selection->count; i++)
		g->vertex_place[selection->list[i]] = HOB_NONE;
}

/* ---- repairs */

static bool within_reach(const float *values, size_t count)
{
	const float most = (float)HOB_LIMIT_REACH;
	uint32_t bad = 0;
	for (size_t i = 0; i < count; i++)
		bad |= !(fabsf(values[i]) <= most);
	return !bad;
}

/* Drops elements with a vertex that has no position. */
static void drop_broken_positions(hob_gltf *g, uint32_t accessor, hob_mesh *mesh)
{
	static const uint32_t corner_count[] = {[HOB_TRIANGLES] = 3, [HOB_LINES] = 2, [HOB_POINTS] = 1};
	uint32_t broken = 0, good = HOB_NONE, kept = 0, corners = corner_count[mesh->topology];
	if (within_reach(mesh->position, (size_t)mesh->vertex_count * 3))
		return;
	for (uint32_t v = 0; v < mesh->vertex_count; v++)
		if (!within_reach(mesh->position + (size_t)v * 3, 3))
			broken++;
		else if (good == HOB_NONE)
			good = v;
	if (good == HOB_NONE)
		hob_leave(CORRUPT, "all %u positions are NaN, infinite or beyond reach; accessor %u POSITION", broken,
				  accessor);
	for (uint32_t i = 0; i < mesh->index_count; i += corners) {
		bool whole = true;
		for (uint32_t k = 0; k < corners; k++)
			whole = whole && within_reach(mesh->position + (size_t)mesh->indices[i + k] * 3, 3);
		if (whole) {
			memmove(mesh->indices + kept, mesh->indices + i, corners * sizeof(uint32_t));
			kept += corners;
		}
	}
	for (uint32_t v = 0; v < mesh->vertex_count; v++) {
		float *p = mesh->position + (size_t)v * 3;
		if (!within_reach(p, 3))
			memcpy(p, mesh->position + (size_t)good * 3, 3 * sizeof *p);
	}
	hob_gltf_note(g, "position-not-finite",
				  "mesh '%.*s': %u of %u positions are NaN, infinite or beyond reach (accessor %u); %u of %u "
				  "indices were dropped",
				  HOB_FMT(mesh->name), broken, mesh->vertex_count, accessor, mesh->index_count - kept,
				  mesh->index_count);
	mesh->index_count = kept;
}

static void repair_directions(hob_gltf *g, hob_mesh *mesh)
{
	hob_direction_repair repair = hob_mesh_repair_directions(mesh);
	if (repair.normals_dropped)
		hob_gltf_note(g, "normals-dropped",
					  "mesh '%.*s': its normals are NaN, infinite or zero; new ones are made",
					  HOB_FMT(mesh->name));
	if (repair.tangents_dropped)
		hob_gltf_note(g, "tangents-dropped",
					  "mesh '%.*s': its tangents are NaN, infinite or zero; new ones are made",
					  HOB_FMT(mesh->name));
	if (repair.normals_filled > 0)
		hob_gltf_info(g, "normals-filled", "mesh '%.*s': %u zero normals were replaced", HOB_FMT(mesh->name),
					  repair.normals_filled);
	if (repair.tangents_filled > 0)
		hob_gltf_info(g, "tangents-filled", "mesh '%.*s': %u zero tangents were replaced",
					  HOB_FMT(mesh->name), repair.tangents_filled);
}

/* ---- variants */

static void read_mappings(hob_gltf *g, const cJSON *primitive, hob_mesh *mesh)
{
	const cJSON *extension = hob_gltf_extension(primitive, "KHR_materials_variants");
	if (!extension)
		return;
	hob_gltf_list list = hob_gltf_list_of(g->scratch, extension, "mappings", HOB_LIMIT_MATERIALS);
	uint32_t **variants = HOB_NEW(g->scratch, uint32_t *, list.count);
	uint32_t *counts = HOB_NEW(g->scratch, uint32_t, list.count), total = 0;
	for (uint32_t i = 0; i < list.count; i++) {
		HOB_PLACE("variant mapping #", i, {0});
		variants[i] = hob_gltf_ids(g->scratch, list.items[i], "variants", g->variants.count, &counts[i]);
		total += counts[i];
	}
	mesh->mappings = HOB_NEW(g->result, hob_variant_mapping, total);
	for (uint32_t i = 0; i < list.count; i++) {
		HOB_PLACE("variant mapping #", i, {0});
		uint32_t material = hob_gltf_need_id(list.items[i], "material", g->materials.count);
		for (uint32_t k = 0; k < counts[i]; k++)
			mesh->mappings[mesh->mapping_count++] = (hob_variant_mapping){variants[i][k], material};
	}
}

/* ---- primitives */

static primitive_mode_t read_mode(const cJSON *primitive)
{
	size_t mode = hob_gltf_size(primitive, "mode", MODE_TRIANGLES);
	if (mode >= MODE_COUNT)
		hob_leave(CORRUPT, "mode is %zu, 0 to 6 are allowed", mode);
	return (primitive_mode_t)mode;
}

static hob_gltf_selection select_within(hob_gltf *g, uint32_t indices, uint32_t vertex_count, hob_mesh *mesh)
{
	if (indices == HOB_NONE)
		return select_vertices(g, vertex_count, mesh);
	HOB_PLACE("accessor #", indices, {0});
	return select_vertices(g, vertex_count, mesh);
}

static void read_geometry(hob_gltf *g, const cJSON *mesh_json, const cJSON *primitive, primitive_mode_t mode,
						  const hob_gltf_attributes *attributes, hob_mesh *mesh)
{
	uint32_t indices = hob_gltf_id(primitive, "indices", g->accessors.count);
	hob_gltf_list targets = hob_gltf_list_of(g->scratch, primitive, "targets", HOB_LIMIT_TARGETS);
	hob_gltf_accessor position = hob_gltf_accessor_open(g, attributes->position, 3);
	hob_gltf_claim(g, &position);
	read_indices(g, indices, mode, position.count, mesh);
	if (mesh->index_count == 0)
		return;
	hob_gltf_selection selection = select_within(g, indices, position.count, mesh);
	if (selection.count > HOB_LIMIT_VERTICES)
		hob_leave(LIMIT, "%u vertices, the limit is %llu", selection.count, HOB_LIMIT_VERTICES);
	gltf_attributes_read(g, attributes, position.count, &selection, mesh);
	gltf_targets_read(g, mesh_json, &targets, g->mesh_targets[mesh->source_mesh], position.count, &selection,
					  mesh);
	release_places(g, &selection);
	drop_broken_positions(g, attributes->position, mesh);
	repair_directions(g, mesh);
}

/* mesh->index_count == 0 afterwards: an empty primitive, which is left out. */
static void read_primitive(hob_gltf *g, const cJSON *mesh_json, const cJSON *primitive, hob_mesh *mesh)
{
	HOB_PLACE("primitive #", mesh->source_primitive, {0});
	hob_gltf_attributes attributes;
	primitive_mode_t mode = read_mode(primitive);
	gltf_draco(g, primitive);
	mesh->material = hob_gltf_id(primitive, "material", g->materials.count);
	const cJSON *table = hob_gltf_object(primitive, "attributes");
	if (!table || !table->child)
		hob_leave(CORRUPT, "it has no attributes");
	gltf_attributes_parse(g, table, &attributes);
	if (attributes.position != HOB_NONE)
		read_geometry(g, mesh_json, primitive, mode, &attributes, mesh);
	if (mesh->index_count == 0) {
		hob_gltf_note(g, "primitive-empty", "mesh '%.*s' primitive %u draws nothing (%s) and was left out",
					  HOB_FMT(mesh->name), mesh->source_primitive,
					  attributes.position == HOB_NONE ? "it has no POSITION" : "too few usable indices");
		return;
	}
	read_mappings(g, primitive, mesh);
}

static uint32_t joints_in_use(const hob_mesh *mesh)
{
	uint32_t joints = 0;
	size_t count = (size_t)mesh->vertex_count * mesh->influence_count;
	for (size_t i = 0; i < count; i++)
		joints = mesh->joints[i] >= joints ? mesh->joints[i] + 1u : joints;
	return joints;
}

/* Whether extras hold only targetNames, an exporters' convention, which the model stores as names. */
static bool are_target_names_alone(const cJSON *json)
{
	const cJSON *values = hob_json_get(json, "extras"), *only = cJSON_IsObject(values) ? values->child : NULL;
	return only && !only->next && strcmp(only->string, "targetNames") == 0;
}

/* Number of morph targets: some exporters write them only for animated primitives; others get zeros. */
static uint32_t most_targets(const hob_gltf_list *primitives)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < primitives->count; i++) {
		const cJSON *targets = hob_json_get(primitives->items[i], "targets");
		uint32_t count = cJSON_IsArray(targets) ? (uint32_t)cJSON_GetArraySize(targets) : 0;
		most = count > most ? count : most;
	}
	return most;
}

static void read_mesh(hob_gltf *g, uint32_t id, void *to)
{
	const hob_gltf_list *primitives = to;
	const cJSON *json = g->meshes.items[id];
	hob_model *model = &g->model;
	hob_extras extras = {0};
	hob_str name = hob_gltf_name(g, json);
	hob_gltf_extras(g, json, &extras);
	if (are_target_names_alone(json))
		extras.values = (hob_str){0};
	g->mesh_targets[id] = most_targets(primitives);
	for (uint32_t i = 0; i < primitives->count; i++) {
		hob_mesh mesh = {.name = name, .source_mesh = id, .source_primitive = i, .flat = true};
		read_primitive(g, json, primitives->items[i], &mesh);
		if (mesh.index_count == 0)
			continue;
		uint32_t joints = joints_in_use(&mesh);
		g->mesh_joints[id] = joints > g->mesh_joints[id] ? joints : g->mesh_joints[id];
		if (model->mesh_count == g->mesh_first[id])
			mesh.extras = extras;
		model->mesh_refs[model->mesh_count] = model->mesh_count;
		model->meshes[model->mesh_count++] = mesh;
	}
}

/* Meshes in use by a node; all of them in a library without nodes. */
static bool *used_meshes(hob_gltf *g)
{
	bool *used = HOB_NEW(g->scratch, bool, g->meshes.count);
	for (uint32_t i = 0; i < g->meshes.count; i++)
		used[i] = g->nodes.count == 0;
	for (uint32_t i = 0; i < g->nodes.count; i++) {
		const cJSON *id = hob_json_get(g->nodes.items[i], "mesh");
		if (cJSON_IsNumber(id) && id->valuedouble >= 0 && id->valuedouble < g->meshes.count)
			used[(uint32_t)id->valuedouble] = true;
	}
	return used;
}

static hob_gltf_list primitives_of(hob_gltf *g, uint32_t id)
{
	HOB_GLTF_PLACE("meshes[#] '@'", id, g->meshes);
	return hob_gltf_list_of(g->scratch, g->meshes.items[id], "primitives", HOB_LIMIT_MESHES);
}

void hob_gltf_import_meshes(hob_gltf *g)
{
	uint32_t count = g->meshes.count;
	bool *used = used_meshes(g);
	hob_gltf_list *primitives = HOB_NEW(g->scratch, hob_gltf_list, count);
	g->mesh_first = HOB_NEW(g->scratch, uint32_t, (size_t)count + 1);
	g->mesh_targets = HOB_NEW(g->scratch, uint32_t, count);
	g->mesh_joints = HOB_NEW(g->scratch, uint32_t, count);
	uint64_t total = 0;
	for (uint32_t i = 0; i < count; i++) {
		primitives[i] = primitives_of(g, i);
		if (primitives[i].count == 0)
			hob_leave(CORRUPT, "meshes[%u] '%s' has no primitives", i, hob_gltf_label(g->meshes.items[i]));
		total += primitives[i].count;
	}
	if (total > HOB_LIMIT_MESHES)
		hob_leave(LIMIT, "%llu primitives, the limit is %llu", (unsigned long long)total, HOB_LIMIT_MESHES);
	hob_model *model = &g->model;
	model->meshes = HOB_NEW(g->result, hob_mesh, total);
	model->mesh_refs = HOB_NEW(g->result, uint32_t, total);
	for (uint32_t i = 0; i < count; i++) {
		hob_error why = {0};
		g->mesh_first[i] = model->mesh_count;
		HOB_GLTF_PLACE("meshes[#] '@'", i, g->meshes);
		if (hob_gltf_try(g, read_mesh, i, &primitives[i], &why))
			continue;
		hob_gltf_drop(&why, used[i]);
		/* The failed mesh may have left entries in vertex_place: forces a new map. */
		g->vertex_place_count = 0;
		model->mesh_count = g->mesh_first[i];
		g->mesh_targets[i] = g->mesh_joints[i] = 0;
		hob_gltf_note(g, "unused-broken", "meshes[%u] '%s', which no node shows, is left out: %s", i,
					  hob_gltf_label(g->meshes.items[i]), why.context);
	}
	g->mesh_first[count] = model->mesh_count;
	model->mesh_ref_count = model->mesh_count;
}
