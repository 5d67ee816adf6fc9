#include "usd_build.h"
#include "usd_skel.h"
#include "../shape.h"

#include <math.h>

static double number_at(const hob_usd *u, const hob_usd_prim *prim, const char *name, double fallback)
{
	return hob_usd_number(hob_usd_still(u, prim, hob_str_of(name)), fallback);
}

static bool is_set(const hob_usd *u, const hob_usd_prim *prim, const char *name, const char *word)
{
	return hob_str_equal(hob_usd_text(hob_usd_still(u, prim, hob_str_of(name))), hob_str_of(word));
}

/* Apertures and focal length are in tenths of a unit, which matters only for an orthographic view. */
static void usd_build_camera(hob_usd_build_t *b, uint32_t id, uint32_t node)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	hob_model *m = &b->model;
	double width = number_at(u, prim, "horizontalAperture", 20.955),
		   height = number_at(u, prim, "verticalAperture", 15.2908);
	double focal = number_at(u, prim, "focalLength", 50);
	const hob_usd_value *range = hob_usd_still(u, prim, HOB_STR("clippingRange"));
	double near = range ? hob_usd_component(range, 0) : 1,
		   far = range ? hob_usd_component(range, 1) : 1000000;
	if (!(width > 0) || !(height > 0) || !(focal > 0) || !isfinite(width / height) ||
		!(height / focal < 1e4)) {
		hob_usd_note(u, "camera", "camera '%.*s' has no usable aperture or focal length; it is left out",
					 HOB_FMT(prim->path));
		return;
	}
	if (number_at(u, prim, "horizontalApertureOffset", 0) != 0 ||
		number_at(u, prim, "verticalApertureOffset", 0) != 0)
		hob_usd_note(u, "camera-offset", "camera '%.*s': the offset of its aperture is left out",
					 HOB_FMT(prim->path));
	hob_str name = hob_text_name(u->result, u->tokens[prim->name]);
	hob_camera camera = {.name = name};
	camera.znear = near > 0 && isfinite(near) ? (float)near : 0.01f;
	camera.zfar = far > near && isfinite(far) ? (float)far : INFINITY;
	if (is_set(u, prim, "projection", "orthographic")) {
		camera.type = HOB_CAMERA_ORTHOGRAPHIC;
		camera.yfov_or_ymag = (float)(height / 20);
		camera.aspect_or_xmag = (float)(width / 20);
	} else {
		camera.yfov_or_ymag = (float)(2 * atan(height / (2 * focal)));
		camera.aspect_or_xmag = (float)(width / height);
	}
	m->nodes[node].camera = HOB_USD_PUT(u->scratch, m->cameras, m->camera_count, camera);
}

/* Emitting area in square units, with which the brightness grows unless `normalize` is set. */
static double area_of(const hob_usd *u, const hob_usd_prim *prim)
{
	const double pi = 3.14159265358979323846;
	double radius = number_at(u, prim, "inputs:radius", 0.5);
	if (hob_str_equal(prim->type, HOB_STR("RectLight")))
		return number_at(u, prim, "inputs:width", 1) * number_at(u, prim, "inputs:height", 1);
	if (hob_str_equal(prim->type, HOB_STR("DiskLight")))
		return pi * radius * radius;
	if (hob_str_equal(prim->type, HOB_STR("CylinderLight")))
		return 2 * radius * number_at(u, prim, "inputs:length", 1);
	/* A sphere emits like a disk. */
	return pi * radius * radius;
}

static void usd_build_light(hob_usd_build_t *b, uint32_t id, uint32_t node)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	hob_model *m = &b->model;
	bool distant = hob_str_equal(prim->type, HOB_STR("DistantLight"));
	if (hob_text_is_one_of(prim->type, HOB_WORDS("DomeLight", "PortalLight", "GeometryLight"))) {
		hob_usd_note(u, "light", "light '%.*s' of type '%.*s' is left out", HOB_FMT(prim->path),
					 HOB_FMT(prim->type));
		return;
	}
	hob_str name = hob_text_name(u->result, u->tokens[prim->name]);
	hob_light light = {.name = name,
					   .type = distant ? HOB_LIGHT_DIRECTIONAL : HOB_LIGHT_POINT,
					   .color = {1, 1, 1},
					   .range = INFINITY};
	const hob_usd_value *color = hob_usd_still(u, prim, HOB_STR("inputs:color"));
	for (uint32_t i = 0; color && color->width == 3 && i < 3; i++) {
		double part = hob_usd_component(color, i);
		light.color[i] = part >= 0 && part < 1e6 ? (float)part : 0;
	}
	double intensity = number_at(u, prim, "inputs:intensity", distant ? 50000 : 1) *
					   exp2(number_at(u, prim, "inputs:exposure", 0));
	if (!distant && number_at(u, prim, "inputs:normalize", 0) == 0)
		intensity *= area_of(u, prim) * u->meters * u->meters;
	light.intensity = intensity >= 0 && intensity < 1e30 ? (float)intensity : 0;
	double cone = number_at(u, prim, "inputs:shaping:cone:angle", 90),
		   soft = number_at(u, prim, "inputs:shaping:cone:softness", 0);
	light.outer_cone = 0.78539816f;
	if (!distant && cone > 0 && cone < 90) {
		light.type = HOB_LIGHT_SPOT;
		light.outer_cone = (float)(cone * (3.14159265358979323846 / 180));
		light.inner_cone =
			(float)((double)light.outer_cone * (1 - (soft > 0 ? soft < 1 ? soft : 0.999 : 0.001)));
	}
	m->nodes[node].light = HOB_USD_PUT(u->scratch, m->lights, m->light_count, light);
}

uint32_t hob_usd_add_node(hob_usd_build_t *b, hob_str name, uint32_t parent)
{
	hob_model *m = &b->model;
	if (m->node_count >= HOB_LIMIT_NODES)
		hob_leave(LIMIT, "more than %llu nodes", HOB_LIMIT_NODES);
	hob_node node = hob_shape_plain_node(hob_text_name(b->u->result, name));
	node.parent = parent;
	node.source = HOB_NONE;
	uint32_t id = HOB_USD_PUT(b->u->scratch, m->nodes, m->node_count, node);
	if (parent == HOB_NONE)
		HOB_USD_PUT(b->u->scratch, m->scene_roots, m->scene_root_count, id);
	return id;
}

/* Types that hold data for other prims and are not part of the scene. */
static bool is_data(hob_str type)
{
	return hob_text_is_one_of(type,
							  HOB_WORDS("Material", "Shader", "NodeGraph", "GeomSubset", "SkelAnimation",
										"BlendShape", "RenderSettings", "RenderProduct", "RenderVar",
										"Backdrop", "PhysicsScene", "CoordSysBinding"));
}

/* Defers a prim that resets the transform stack: its node becomes a child of the root, after the others. */
static void build_later(hob_usd_build_t *b, uint32_t id, hob_usd_context context)
{
	context.node = b->u->z_up ? 0 : HOB_NONE;
	HOB_USD_PUT(b->u->scratch, b->late, b->late_count, (hob_usd_late){id, context});
}

static bool is_sheared_at(const double m[16])
{
	hob_node node = {0};
	hob_usd_place(&node, m);
	return node.has_matrix;
}

/* Whether the transform has shear at rest or at any sample. */
static bool is_sheared(hob_usd *u, const hob_usd_prim *prim, const double local[16], bool moves)
{
	double m[16];
	bool resets, moving, sheared = is_sheared_at(local);
	if (!moves || sheared)
		return sheared;
	hob_usd_times times = hob_usd_xform_times(u, prim);
	for (uint32_t i = 0; i < times.count && !sheared; i++) {
		hob_usd_local(u, prim, times.items[i], m, &resets, &moving);
		sheared = is_sheared_at(m);
	}
	return sheared;
}

/* Adds the prim's node with its transform. Returns the parent of its mesh and children. */
static uint32_t place(hob_usd_build_t *b, const hob_usd_prim *prim, hob_usd_context context,
					  const double local[16], bool moves)
{
	bool sheared = is_sheared(b->u, prim, local, moves);
	uint32_t outer = hob_usd_add_node(b, b->u->tokens[prim->name], context.node);
	uint32_t inner = sheared ? hob_usd_add_node(b, b->u->tokens[prim->name], outer) : HOB_NONE;
	if (sheared)
		hob_usd_place_two(&b->model.nodes[outer], &b->model.nodes[inner], local);
	else
		hob_usd_place(&b->model.nodes[outer], local);
	if (moves)
		HOB_USD_PUT(b->u->scratch, b->moving, b->moving_count,
					(hob_usd_moving){(uint32_t)(prim - b->u->prims), outer, inner});
	return sheared ? inner : outer;
}

/* Only typed prims have visibility and purpose; on others the properties are ignored. Source:
 * UsdGeomImageable. */
static hob_str seen_as(const hob_usd *u, const hob_usd_prim *prim, const char *property)
{
	return prim->type.len > 0 ? hob_usd_text(hob_usd_still(u, prim, hob_str_of(property))) : HOB_STR("");
}

/* Skinned meshes are visible even if their skeleton is not. */
static bool is_skeleton(const hob_usd_prim *prim)
{
	return hob_str_equal(prim->type, HOB_STR("Skeleton"));
}

/* Whether visibility is animated. */
static bool comes_and_goes(const hob_usd *u, const hob_usd_prim *prim)
{
	hob_usd_attribute a;
	bool hides = false, shows = false;
	if (prim->type.len == 0 || is_skeleton(prim) || !hob_usd_get(u, prim, HOB_STR("visibility"), &a) ||
		a.scale == 0)
		return false;
	for (size_t i = 0; a.samples && i < a.samples->count; i++) {
		bool hidden = hob_str_equal(hob_usd_text(&a.samples->values[i]), HOB_STR("invisible"));
		hides = hides || hidden;
		shows = shows || !hidden;
	}
	return hides && shows;
}

static bool is_invisible(const hob_usd *u, const hob_usd_prim *prim)
{
	return !is_skeleton(prim) && hob_str_equal(seen_as(u, prim, "visibility"), HOB_STR("invisible"));
}

static void add_blinking(hob_usd_build_t *b, uint32_t prim, uint32_t node, double id)
{
	HOB_USD_PUT(b->u->scratch, b->blinking, b->blinking_count, (hob_usd_follower){prim, node, id});
}

/* Adds a node without a transform for each ancestor with animated visibility, outermost first. */
static void add_shades(hob_usd_build_t *b, uint32_t prim, uint32_t *node)
{
	const hob_usd *u = b->u;
	uint32_t above = u->prims[prim].parent;
	if (above == 0)
		return;
	add_shades(b, above, node);
	if (!comes_and_goes(u, &u->prims[above]))
		return;
	*node = hob_usd_add_node(b, u->tokens[u->prims[above].name], *node);
	b->model.nodes[*node].hidden = is_invisible(u, &u->prims[above]);
	add_blinking(b, above, *node, NAN);
}

static void usd_build_prim(hob_usd_build_t *b, uint32_t id, hob_usd_context context);

void hob_usd_build_late(hob_usd_build_t *b)
{
	for (uint32_t i = 0; i < b->late_count; i++) {
		hob_usd_late late = b->late[i];
		late.context.late = true;
		add_shades(b, late.prim, &late.context.node);
		usd_build_prim(b, late.prim, late.context);
	}
}

/* ---- instancers */

typedef struct instancer {
	const hob_usd_value *positions, *orientations, *scales, *kinds, *ids, *hidden, *inactive;
	const hob_usd_samples *hides; /* time samples of `hidden`, or NULL */
	hob_str *prototypes;
	uint32_t prototype_count;
} instancer_t;

static double component_or(const hob_usd_value *value, uint32_t width, size_t element, uint32_t at,
						   double fallback)
{
	double number = value && value->width == width ? hob_usd_component(value, element * width + at) : NAN;
	return isfinite(number) ? number : fallback;
}

bool hob_usd_lists(const hob_usd_value *ids, double id)
{
	for (size_t k = 0; ids && k < ids->count; k++)
		if (hob_usd_component(ids, k) == id)
			return true;
	return false;
}

static bool instance_blinks(const instancer_t *in, double id)
{
	size_t hidden = 0;
	for (size_t i = 0; in->hides && i < in->hides->count; i++)
		hidden += hob_usd_lists(&in->hides->values[i], id);
	return hidden > 0 && hidden < in->hides->count;
}

enum { HIDDEN_INSTANCES = 65536 };

/* Reads which instances are invisible, at rest and in time. */
static void read_hidden(hob_usd *u, const hob_usd_prim *prim, instancer_t *in)
{
	hob_usd_attribute a;
	size_t count, moving = 0;
	if (hob_usd_get(u, prim, HOB_STR("invisibleIds"), &a)) {
		in->hidden = a.value;
		if (a.scale != 0 && a.samples && a.samples->count > 0) {
			double start = u->has_range ? (u->start - a.offset) / a.scale : -HUGE_VAL;
			in->hides = a.samples;
			in->hidden =
				&a.samples->values[hob_usd_time_before(a.samples->times, 1, a.samples->count, start)];
		}
	}
	for (size_t i = 0; in->hides && i < in->hides->count; i++)
		moving += in->hides->values[i].count;
	if (moving > HIDDEN_INSTANCES) {
		in->hides = NULL;
		hob_usd_note(u, "instances-move",
					 "instancer '%.*s' hides too many instances in time; they stay as at first",
					 HOB_FMT(prim->path));
	}
	count = (in->hidden ? in->hidden->count : 0) + (in->inactive ? in->inactive->count : 0);
	if (count > HIDDEN_INSTANCES)
		hob_leave(LIMIT, "%zu hidden instances", count);
}

static void place_copy(const instancer_t *in, size_t i, hob_node *node)
{
	double q[4], length = 0;
	for (uint32_t k = 0; k < 4; k++) {
		q[k] = component_or(in->orientations, 4, i, k, k == 3);
		length += q[k] * q[k];
	}
	for (uint32_t k = 0; k < 4; k++)
		node->rotation[k] = length > 0 ? (float)(q[k] / sqrt(length)) : (float)(k == 3);
	for (uint32_t k = 0; k < 3; k++) {
		node->translation[k] = (float)component_or(in->positions, 3, i, k, 0);
		node->scale[k] = (float)component_or(in->scales, 3, i, k, 1);
	}
}

static void build_instance(hob_usd_build_t *b, const instancer_t *in, size_t i, double id, uint32_t prototype,
						   hob_usd_context context)
{
	uint32_t node;
	hob_str name =
		hob_arena_printf(b->u->scratch, "%.*s_%zu", HOB_FMT(b->u->tokens[b->u->prims[prototype].name]), i);
	node = hob_usd_add_node(b, name, context.node);
	place_copy(in, i, &b->model.nodes[node]);
	bool hidden = hob_usd_lists(in->hidden, id), blinks = instance_blinks(in, id);
	b->model.nodes[node].hidden = context.hidden || hidden;
	context.hidden = context.hidden || (hidden && !blinks);
	if (blinks)
		add_blinking(b, b->instancers[context.instancers - 1], node, id);
	context.node = node;
	usd_build_prim(b, prototype, context);
}

/* Whether the prototype contains an instancer that is being expanded: a cycle. */
static bool is_open(const hob_usd_build_t *b, hob_str prototype, hob_usd_context context)
{
	for (uint32_t i = 0; i < context.instancers; i++)
		if (hob_usd_path_below(b->u->prims[b->instancers[i]].path, prototype))
			return true;
	return false;
}

static void build_instancer(hob_usd_build_t *b, uint32_t id, uint32_t node, hob_usd_context context)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	instancer_t in = {.positions = hob_usd_still(u, prim, HOB_STR("positions")),
					  .orientations = hob_usd_still(u, prim, HOB_STR("orientations")),
					  .scales = hob_usd_still(u, prim, HOB_STR("scales")),
					  .kinds = hob_usd_still(u, prim, HOB_STR("protoIndices")),
					  .ids = hob_usd_still(u, prim, HOB_STR("ids")),
					  .inactive = hob_usd_meta(u, prim, HOB_STR(""), HOB_USD_T_inactiveIds)};
	if (context.instancers >= HOB_USD_NESTED_INSTANCERS) {
		hob_usd_note(u, "instancers", "instancer '%.*s' is inside %d others; it is left out",
					 HOB_FMT(prim->path), HOB_USD_NESTED_INSTANCERS);
		return;
	}
	in.prototypes =
		hob_usd_targets(u, prim, HOB_STR("prototypes"), HOB_USD_T_targetPaths, &in.prototype_count);
	if (!in.positions || !in.kinds) {
		hob_usd_note(u, "instancers", "instancer '%.*s' lacks %s; it is left out, as in OpenUSD",
					 HOB_FMT(prim->path), in.positions ? "protoIndices" : "positions");
		return;
	}
	hob_usd_attribute moving;
	if (hob_usd_get(u, prim, HOB_STR("positions"), &moving) && moving.samples && moving.samples->count > 1)
		hob_usd_note(u, "instances-move",
					 "instancer '%.*s' moves its instances; they stay as they are at first",
					 HOB_FMT(prim->path));
	read_hidden(u, prim, &in);
	context.node = node;
	b->instancers[context.instancers++] = id;
	for (uint32_t p = 0; p < in.prototype_count; p++)
		if (is_open(b, in.prototypes[p], context)) {
			hob_usd_note(u, "cycle", "instancer '%.*s' is inside its own prototype '%.*s', which is left out",
						 HOB_FMT(u->prims[id].path), HOB_FMT(in.prototypes[p]));
			in.prototypes[p] = HOB_STR("");
		}
	for (size_t i = 0; in.kinds && i < in.kinds->count && in.kinds->width == 1; i++) {
		double kind = hob_usd_component(in.kinds, i), n = in.ids ? hob_usd_component(in.ids, i) : (double)i;
		if (!(kind >= 0) || kind >= in.prototype_count || hob_usd_lists(in.inactive, n))
			continue;
		uint32_t prototype = hob_usd_prim_at(u, in.prototypes[(size_t)kind]);
		if (prototype != HOB_NONE)
			build_instance(b, &in, i, n, prototype, context);
	}
}

/* ---- prims */

static void dispatch(hob_usd_build_t *b, uint32_t id, uint32_t node, hob_usd_context context)
{
	hob_str type = b->u->prims[id].type;
	bool skins = hob_str_equal(type, HOB_STR("Mesh"));
	if (skins)
		hob_usd_skin_later(b, id, node);
	if (skins || hob_str_equal(type, HOB_STR("TetMesh"))) {
		hob_usd_build_mesh(b, id, node);
		return;
	}
	if (hob_str_equal(type, HOB_STR("PointInstancer"))) {
		build_instancer(b, id, node, context);
		return;
	}
	if (hob_str_equal(type, HOB_STR("Skeleton"))) {
		hob_usd_build_skeleton(b, id, node);
		return;
	}
	if (hob_str_equal(type, HOB_STR("Camera")))
		usd_build_camera(b, id, node);
	else if (hob_str_ends_nocase(type, HOB_STR("Light")))
		usd_build_light(b, id, node);
	else
		hob_usd_build_shape(b, id, node);
}

static void usd_build_prim(hob_usd_build_t *b, uint32_t id, hob_usd_context context)
{
	hob_usd_prim *prim = &b->u->prims[id];
	if (is_data(prim->type))
		return;
	bool bones = is_skeleton(prim), blinks = comes_and_goes(b->u, prim);
	bool hidden = context.hidden || is_invisible(b->u, prim);
	hob_str purpose = seen_as(b->u, prim, "purpose");
	if (purpose.len > 0)
		context.unseen =
			!hob_str_equal(purpose, HOB_STR("default")) && !hob_str_equal(purpose, HOB_STR("render"));
	uint32_t root = b->u->z_up ? 0 : HOB_NONE;
	double local[16];
	bool resets, moves;
	hob_usd_local(b->u, prim, NAN, local, &resets, &moves);
	if (resets && context.instancers == 0 && context.node != root && !context.late) {
		build_later(b, id, context);
		return;
	}
	uint32_t node = place(b, prim, context, local, moves);
	if (blinks)
		add_blinking(b, id, node, NAN);
	prim->node = node;
	context.late = false;
	b->model.nodes[node].hidden = hidden;
	context.hidden = context.hidden || (hidden && !blinks);
	b->unseen += context.unseen && !bones;
	if (bones || !context.unseen) {
		HOB_PLACE("prim '@'", 0, prim->path);
		dispatch(b, id, node, context);
	}
	context.node = node;
	/* Instancers expand their prototypes themselves. */
	if (!hob_str_equal(prim->type, HOB_STR("PointInstancer")))
		hob_usd_build_children(b, id, context);
}

void hob_usd_build_children(hob_usd_build_t *b, uint32_t id, hob_usd_context context)
{
	const hob_usd *u = b->u;
	for (uint32_t c = u->prims[id].first_child; c != HOB_NONE; c = u->prims[c].next)
		if (u->prims[c].defined && !u->prims[c].abstract)
			usd_build_prim(b, c, context);
}
