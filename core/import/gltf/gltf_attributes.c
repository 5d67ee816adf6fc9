#include "gltf_private.h"
#include "../shape.h"

#include <math.h>

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

bool hob_gltf_attributes_parse(hob_gltf *g, const cJSON *object, hob_gltf_attributes *out, hob_error *err)
{
	memset(out, 0xFF, sizeof *out); /* all ids HOB_NONE */
	for (const cJSON *item = object->child; item; item = item->next) {
		uint32_t *slot = slot_of(out, hob_str_of(item->string));
		if (!slot)
			hob_gltf_info(g, "attribute-dropped", "vertex attribute %.64s is not used", item->string);
		else if (!hob_gltf_id_of(item, item->string, g->accessors.count, slot, err))
			return false;
	}
	for (int set = 0; set < JOINT_SETS; set++)
		if ((out->joints[set] == HOB_NONE) != (out->weights[set] == HOB_NONE))
			return hob_fail(err, CORRUPT, "JOINTS_%d and WEIGHTS_%d must come together", set, set);
	return true;
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
	hob_error *err;
} reader_t;

static bool open_attribute(const reader_t *r, uint32_t id, uint32_t width, hob_gltf_accessor *out)
{
	if (!hob_gltf_accessor_open(r->g, id, width, out, r->err))
		return false;
	if (out->count != r->accessor_count)
		return hob_fail(r->err, CORRUPT, "it has %u elements, POSITION has %u; accessor %u", out->count,
						r->accessor_count, id);
	return true;
}

static float *new_floats(const reader_t *r, uint32_t width)
{
	return hob_arena_array(r->g->result, r->selection->count, width * sizeof(float), _Alignof(float));
}

static bool read_stream(const reader_t *r, uint32_t id, uint32_t width, const char *what, float **out)
{
	hob_gltf_accessor a;
	if (id == HOB_NONE)
		return true;
	if (!open_attribute(r, id, width, &a))
		return hob_fail_in(r->err, "%s", what);
	float *values = new_floats(r, width);
	if (!values)
		return hob_fail_memory(r->err, r->g->result, what);
	if (!hob_gltf_read_floats(r->g, &a, r->selection, values, width, r->err))
		return hob_fail_in(r->err, "%s", what);
	*out = values;
	return true;
}

static bool read_uvs(const reader_t *r, const hob_gltf_attributes *a)
{
	float **uv = r->mesh->uv;
	size_t floats = (size_t)r->selection->count * 2;
	uint32_t present = 0, source = HOB_NONE;
	for (uint32_t set = 0; set < HOB_UV_SETS; set++) {
		if (!read_stream(r, a->uv[set], 2, "TEXCOORD", &uv[set]))
			return hob_fail_in(r->err, "uv set %u", set);
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
		if (!uv[set])
			return hob_fail_memory(r->err, r->g->result, "texture coordinates");
		memcpy(uv[set], uv[source], floats * sizeof(float));
		hob_gltf_info(r->g, "uv-gap",
					  "mesh '%.*s' has TEXCOORD_%u but no TEXCOORD_%u, which was copied from it",
					  HOB_FMT(r->mesh->name), source, set);
	}
	return true;
}

static bool read_colors(const reader_t *r, const hob_gltf_attributes *a)
{
	for (uint32_t set = 0; set < HOB_COLOR_SETS; set++) {
		hob_gltf_accessor accessor;
		if (a->color[set] == HOB_NONE)
			continue;
		if (!open_attribute(r, a->color[set], 0, &accessor))
			return hob_fail_in(r->err, "COLOR_%u", set);
		if (accessor.matrix || (accessor.width != 3 && accessor.width != 4))
			return hob_fail(r->err, CORRUPT, "COLOR_%u has %u components, 3 or 4 are needed; accessor %u",
							set, accessor.width, accessor.id);
		float *color = new_floats(r, 4);
		if (!color)
			return hob_fail_memory(r->err, r->g->result, "vertex colors");
		if (!hob_gltf_read_floats(r->g, &accessor, r->selection, color, 4, r->err))
			return hob_fail_in(r->err, "COLOR_%u", set);
		for (size_t i = 3; accessor.width == 3 && i < (size_t)r->selection->count * 4; i += 4)
			color[i] = 1;
		hob_gltf_make_finite(r->g, color, (size_t)r->selection->count * 4, 1, "COLOR", r->mesh->name);
		r->mesh->color[set] = color;
	}
	return true;
}

static bool read_influence_set(const reader_t *r, uint32_t joints_id, uint32_t weights_id, uint32_t first)
{
	hob_gltf_accessor joints, weights;
	hob_mesh *mesh = r->mesh;
	if (!open_attribute(r, joints_id, 4, &joints) || !open_attribute(r, weights_id, 4, &weights))
		return false;
	if (joints.component != HOB_GLTF_U8 && joints.component != HOB_GLTF_U16)
		return hob_fail(r->err, CORRUPT, "JOINTS has componentType %d, 5121 or 5123 are needed; accessor %u",
						(int)joints.component, joints_id);
	return hob_gltf_read_u16(r->g, &joints, r->selection, mesh->joints + first, mesh->influence_count,
							 r->err) &&
		   hob_gltf_read_floats(r->g, &weights, r->selection, mesh->weights + first, mesh->influence_count,
								r->err);
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

static bool read_influences(const reader_t *r, const hob_gltf_attributes *a)
{
	hob_mesh *mesh = r->mesh;
	uint32_t sets = 0;
	for (uint32_t set = 0; set < JOINT_SETS; set++)
		sets += a->joints[set] != HOB_NONE;
	if (sets == 0)
		return true;
	mesh->influence_count = sets * 4;
	mesh->joints = hob_arena_array(r->g->result, mesh->vertex_count, sets * 4 * sizeof(uint16_t), 2);
	mesh->weights = new_floats(r, sets * 4);
	if (!mesh->joints || !mesh->weights)
		return hob_fail_memory(r->err, r->g->result, "joint weights");
	uint32_t first = 0;
	for (uint32_t set = 0; set < JOINT_SETS; set++) {
		if (a->joints[set] == HOB_NONE)
			continue;
		if (!read_influence_set(r, a->joints[set], a->weights[set], first))
			return hob_fail_in(r->err, "JOINTS_%u and WEIGHTS_%u", set, set);
		first += 4;
	}
	hob_gltf_make_finite(r->g, mesh->weights, (size_t)mesh->vertex_count * mesh->influence_count, 0,
						 "WEIGHTS", mesh->name);
	clean_influences(r);
	return true;
}

bool hob_gltf_attributes_read(hob_gltf *g, const hob_gltf_attributes *attributes, uint32_t accessor_count,
							  const hob_gltf_selection *selection, hob_mesh *mesh, hob_error *err)
{
	reader_t r = {g, accessor_count, selection, mesh, err};
	mesh->vertex_count = selection->count;
	return read_stream(&r, attributes->position, 3, "POSITION", &mesh->position) &&
		   read_stream(&r, attributes->normal, 3, "NORMAL", &mesh->normal) &&
		   read_stream(&r, attributes->tangent, 4, "TANGENT", &mesh->tangent) && read_uvs(&r, attributes) &&
		   read_colors(&r, attributes) && read_influences(&r, attributes);
}

/* ---- morph targets */

static bool read_deltas(const reader_t *r, const cJSON *target, const char *key, float **out)
{
	uint32_t id;
	hob_gltf_accessor a;
	if (!hob_gltf_id(target, key, r->g->accessors.count, &id, r->err))
		return false;
	if (id == HOB_NONE)
		return true;
	if (!open_attribute(r, id, 3, &a))
		return hob_fail_in(r->err, "%s", key);
	/* All zero: treated as no deltas. */
	if (!a.data && a.sparse_count == 0)
		return true;
	float *deltas = new_floats(r, 3);
	if (!deltas)
		return hob_fail_memory(r->err, r->g->result, "morph targets");
	if (!hob_gltf_read_floats(r->g, &a, r->selection, deltas, 3, r->err))
		return hob_fail_in(r->err, "%s", key);
	hob_gltf_make_finite(r->g, deltas, (size_t)r->selection->count * 3, 0, "a morph target", r->mesh->name);
	*out = deltas;
	return true;
}

static bool read_target(const reader_t *r, const cJSON *json, hob_morph_target *out)
{
	for (const cJSON *item = json->child; item; item = item->next)
		if (strcmp(item->string, "POSITION") != 0 && strcmp(item->string, "NORMAL") != 0 &&
			strcmp(item->string, "TANGENT") != 0)
			hob_gltf_note(r->g, "morph-attribute",
						  "morph targets of %.64s are not supported and were dropped", item->string);
	return read_deltas(r, json, "POSITION", &out->position) && read_deltas(r, json, "NORMAL", &out->normal) &&
		   read_deltas(r, json, "TANGENT", &out->tangent);
}

/* mesh.extras.targetNames is a convention: unusable values are ignored. */
static bool name_targets(hob_gltf *g, const cJSON *mesh_json, hob_mesh *mesh, hob_error *err)
{
	const cJSON *names = hob_json_get(hob_json_get(mesh_json, "extras"), "targetNames");
	const cJSON *name = cJSON_IsArray(names) ? names->child : NULL;
	for (uint32_t i = 0; i < mesh->target_count && name; i++, name = name->next)
		if (cJSON_IsString(name) &&
			!hob_gltf_copy_text(g, hob_str_of(name->valuestring), &mesh->targets[i].name, err))
			return false;
	return true;
}

static bool weigh_targets(hob_gltf *g, const cJSON *mesh_json, hob_mesh *mesh, hob_error *err)
{
	float *weights = HOB_NEW(g->scratch, float, mesh->target_count);
	const cJSON *array = hob_json_get(mesh_json, "weights");
	if (!weights)
		return hob_fail_memory(err, g->scratch, "morph weights");
	if (cJSON_IsArray(array) && (uint32_t)cJSON_GetArraySize(array) != mesh->target_count) {
		hob_gltf_note(g, "mesh-weights", "mesh '%.*s' has %d weights for %u morph targets; they were dropped",
					  HOB_FMT(mesh->name), cJSON_GetArraySize(array), mesh->target_count);
		return true;
	}
	if (!hob_gltf_floats(mesh_json, "weights", mesh->target_count, weights, NULL, err))
		return false;
	hob_gltf_make_finite(g, weights, mesh->target_count, 0, "morph weights", mesh->name);
	for (uint32_t i = 0; i < mesh->target_count; i++)
		mesh->targets[i].weight = weights[i];
	return true;
}

bool hob_gltf_targets_read(hob_gltf *g, const cJSON *mesh_json, const hob_gltf_list *targets, uint32_t count,
						   uint32_t accessor_count, const hob_gltf_selection *selection, hob_mesh *mesh,
						   hob_error *err)
{
	reader_t r = {g, accessor_count, selection, mesh, err};
	if (count == 0)
		return true;
	mesh->targets = HOB_NEW(g->result, hob_morph_target, count);
	if (!mesh->targets)
		return hob_fail_memory(err, g->result, "morph targets");
	mesh->target_count = count;
	if (targets->count < count)
		hob_gltf_note(g, "morph-missing",
					  "mesh '%.*s': primitive %u has %u of %u morph targets; the others do not move it",
					  HOB_FMT(mesh->name), mesh->source_primitive, targets->count, count);
	for (uint32_t i = 0; i < targets->count; i++)
		if (!read_target(&r, targets->items[i], &mesh->targets[i]))
			return hob_fail_in(err, "morph target %u", i);
	return name_targets(g, mesh_json, mesh, err) && weigh_targets(g, mesh_json, mesh, err);
}
