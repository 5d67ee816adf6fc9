#include "collada_private.h"

#include "../shape.h"

#include <math.h>

enum { DEPTH_MAX = 1000 }; /* depth of nodes, including instances of library nodes */

static hob_node *node_at(hob_collada *c, uint32_t id)
{
	return HOB_LISTS_AT(c->lists.nodes, hob_node, id);
}

uint32_t hob_collada_place_of(const hob_collada *c, hob_xml_ptr node)
{
	uint32_t slot = hob_xml_is(node, HOB_STR("node")) ? c->slot[node->number] : HOB_NONE;
	return slot == HOB_NONE ? HOB_NONE : HOB_LISTS_AT(c->places, hob_collada_place, slot)->node;
}

/* ---- meshes */

/* Places a shape with the materials of an instance: reuses existing meshes, or creates them. */
static hob_collada_placed place_shape(hob_collada *c, uint32_t index, hob_xml_ptr instance)
{
	hob_collada_shape *shape = HOB_LISTS_AT(c->shapes, hob_collada_shape, index);
	uint32_t *ids = HOB_NEW(c->request->scratch, uint32_t, shape->part_count);
	for (uint32_t i = 0; i < shape->part_count; i++)
		ids[i] = hob_collada_material_of(c, instance,
										 HOB_LISTS_AT(c->parts, hob_collada_part, shape->part_first + i));
	for (uint32_t p = shape->placed; p != HOB_NONE;
		 p = HOB_LISTS_AT(c->placed, hob_collada_placed, p)->before) {
		hob_collada_placed known = *HOB_LISTS_AT(c->placed, hob_collada_placed, p);
		bool same = true;
		for (uint32_t i = 0; i < shape->part_count; i++)
			same = same && HOB_LISTS_AT(c->lists.meshes, hob_mesh, known.mesh_first + i)->material == ids[i];
		if (same)
			return known;
	}
	hob_collada_placed out = {HOB_LISTS_COUNT(c->lists.meshes, hob_mesh), shape->part_count, shape->placed};
	if ((uint64_t)out.mesh_first + shape->part_count > HOB_LIMIT_MESHES)
		hob_leave(LIMIT, "more than %llu meshes", HOB_LIMIT_MESHES);
	for (uint32_t i = 0; i < shape->part_count; i++) {
		hob_mesh mesh = HOB_LISTS_AT(c->parts, hob_collada_part, shape->part_first + i)->mesh;
		mesh.material = ids[i];
		hob_buf_put(&c->lists.meshes, &mesh, sizeof mesh);
	}
	shape->placed = HOB_LISTS_COUNT(c->placed, hob_collada_placed);
	hob_buf_put(&c->placed, &out, sizeof out);
	return out;
}

/* Attaches the meshes of a shape to the node that was added last, and returns how many. */
static uint32_t show_shape(hob_collada *c, uint32_t node, uint32_t shape, hob_xml_ptr instance)
{
	hob_collada_placed placed = place_shape(c, shape, instance);
	for (uint32_t i = 0; i < placed.mesh_count; i++) {
		uint32_t id = placed.mesh_first + i;
		hob_buf_put(&c->lists.mesh_refs, &id, sizeof id);
	}
	node_at(c, node)->mesh_count += placed.mesh_count;
	return placed.mesh_count;
}

static void instance_mesh(hob_collada *c, uint32_t node, hob_xml_ptr instance)
{
	bool controller = hob_xml_is(instance, HOB_STR("instance_controller"));
	hob_xml_ptr target = hob_collada_target(c, instance, controller ? "controller" : "geometry", "url");
	uint32_t shape = target ? hob_collada_shape_of(c, target) : HOB_NONE;
	if (shape == HOB_NONE)
		return;
	uint32_t count = show_shape(c, node, shape, instance);
	if (HOB_LISTS_COUNT(c->lists.mesh_refs, uint32_t) > HOB_LIMIT_NODES)
		hob_leave(LIMIT, "more than %llu uses of meshes", HOB_LIMIT_NODES);
	if (controller && count > 0) {
		hob_xml_ptr skin = HOB_LISTS_AT(c->shapes, hob_collada_shape, shape)->skin;
		hob_collada_pending pending = {node, skin, instance};
		hob_buf_put(&c->pending, &pending, sizeof pending);
	}
}

/* ---- cameras and lights */

static bool number_in(hob_xml_ptr parent, const char *name, float *out)
{
	hob_xml_ptr e = hob_xml_child(parent, hob_str_of(name));
	float value;
	if (!e || hob_xml_floats(e->text, &value, 1) != 1 || value - value != 0)
		return false;
	*out = value;
	return true;
}

static uint32_t read_camera(hob_collada *c, hob_xml_ptr element)
{
	static const float degree = 0.01745329252f;
	hob_xml_ptr common = hob_xml_find(element, "optics/technique_common");
	hob_xml_ptr flat = hob_xml_child(common, HOB_STR("orthographic"));
	hob_xml_ptr kind = flat ? flat : hob_xml_child(common, HOB_STR("perspective"));
	hob_camera camera = {.znear = 0.1f, .zfar = INFINITY};
	float aspect = 0, x = 0, y = 0;
	if (c->slot[element->number] != HOB_NONE)
		return c->slot[element->number];
	camera.name = hob_collada_name(c, element);
	number_in(kind, "aspect_ratio", &aspect);
	aspect = aspect > 0 && aspect < 1000 ? aspect : 0;
	bool has_x = number_in(kind, flat ? "xmag" : "xfov", &x) && x > 0;
	bool has_y = number_in(kind, flat ? "ymag" : "yfov", &y) && y > 0;
	if (number_in(kind, "znear", &camera.znear) && !(camera.znear > 0))
		camera.znear = 0.1f;
	else
		camera.znear *= kind && hob_xml_child(kind, HOB_STR("znear")) ? c->unit : 1;
	if (number_in(kind, "zfar", &camera.zfar))
		camera.zfar *= c->unit;
	if (!(camera.zfar > camera.znear))
		camera.zfar = INFINITY;
	/* Default aspect ratio: that of a common screen. */
	float shape = aspect > 0 ? aspect : 16.0f / 9;
	if (flat) {
		camera.type = HOB_CAMERA_ORTHOGRAPHIC;
		if (!has_x && !has_y)
			x = y = 1;
		camera.yfov_or_ymag = (has_y || !has_x ? y : x / shape) * c->unit;
		camera.aspect_or_xmag = (has_x || !has_y ? x : y * shape) * c->unit;
	} else {
		camera.type = HOB_CAMERA_PERSPECTIVE;
		if (has_x && has_y && !(aspect > 0) && x < 179 && y < 179)
			aspect = tanf(x * degree / 2) / tanf(y * degree / 2);
		camera.aspect_or_xmag = aspect;
		float yfov = has_y ? y * degree : 2 * atanf(tanf(x * degree / 2) / shape);
		camera.yfov_or_ymag = yfov > 1e-4f && yfov < 3.14f ? yfov : 0.8f;
	}
	hob_buf_put(&c->lists.cameras, &camera, sizeof camera);
	return c->slot[element->number] = HOB_LISTS_COUNT(c->lists.cameras, hob_camera) - 1;
}

/* HOB_NONE for ambient light. */
static uint32_t read_light(hob_collada *c, hob_xml_ptr element)
{
	static const struct {
		const char *name;
		hob_light_type type;
	} kinds[] = {
		{"directional", HOB_LIGHT_DIRECTIONAL}, {"point", HOB_LIGHT_POINT}, {"spot", HOB_LIGHT_SPOT}};
	hob_xml_ptr common = hob_xml_child(element, HOB_STR("technique_common")), kind = NULL;
	hob_light light = {.color = {1, 1, 1}, .range = INFINITY};
	if (c->slot[element->number] != HOB_NONE)
		return c->slot[element->number];
	for (size_t i = 0; i < HOB_COUNT_OF(kinds) && !kind; i++) {
		kind = hob_xml_child(common, hob_str_of(kinds[i].name));
		light.type = kinds[i].type;
	}
	if (!kind) {
		hob_info(c->request->notes, "collada.light-ignored",
				 "line %u: an ambient light is left out: only directional, point and spot lights are kept",
				 element->line);
		return HOB_NONE;
	}
	light.name = hob_collada_name(c, element);
	hob_xml_ptr color = hob_xml_child(kind, HOB_STR("color"));
	if (color)
		hob_xml_floats(color->text, light.color, 3);
	float strongest = 0;
	for (int i = 0; i < 3; i++) {
		if (!(light.color[i] > 0 && light.color[i] < 1e30f))
			light.color[i] = 0;
		strongest = light.color[i] > strongest ? light.color[i] : strongest;
	}
	for (int i = 0; i < 3 && strongest > 0; i++)
		light.color[i] /= strongest;
	light.intensity = strongest;
	hob_xml_ptr extra = hob_collada_extra(element, HOB_STR("intensity"));
	float factor;
	if (extra && hob_xml_floats(extra->text, &factor, 1) == 1 && factor >= 0 && factor < 1e15f)
		light.intensity *= factor;
	if (light.type == HOB_LIGHT_SPOT) {
		float angle = 180;
		number_in(kind, "falloff_angle", &angle);
		angle *= 0.01745329252f / 2;
		light.outer_cone = angle > 0 && angle <= 1.57079633f ? angle : 1.57079633f / 2;
	} else {
		light.outer_cone = 1.57079633f / 2;
	}
	hob_buf_put(&c->lists.lights, &light, sizeof light);
	return c->slot[element->number] = HOB_LISTS_COUNT(c->lists.lights, hob_light) - 1;
}

static void attach(hob_collada *c, uint32_t node, hob_xml_ptr instance, bool camera)
{
	hob_xml_ptr target = hob_collada_target(c, instance, camera ? "camera" : "light", "url");
	if (!target || !hob_xml_is(target, camera ? HOB_STR("camera") : HOB_STR("light")))
		return;
	uint32_t id = camera ? read_camera(c, target) : read_light(c, target);
	hob_node *to = node_at(c, node);
	if (id != HOB_NONE && (camera ? to->camera : to->light) != HOB_NONE) {
		hob_str name = camera ? HOB_LISTS_AT(c->lists.cameras, hob_camera, id)->name
							  : HOB_LISTS_AT(c->lists.lights, hob_light, id)->name;
		to = node_at(c, hob_lists_node(&c->lists, name, node));
	}
	if (camera)
		to->camera = id;
	else if (id != HOB_NONE)
		to->light = id;
}

/* ---- nodes */

static void note_place(hob_collada *c, hob_xml_ptr element, uint32_t node)
{
	hob_collada_place place = {node, HOB_NONE};
	uint32_t *slot = &c->slot[element->number];
	/* slot keeps the first place; later ones are chained behind it. */
	if (*slot == HOB_NONE) {
		*slot = HOB_LISTS_COUNT(c->places, hob_collada_place);
	} else {
		hob_collada_place *first = HOB_LISTS_AT(c->places, hob_collada_place, *slot);
		place.next = first->next;
		first->next = HOB_LISTS_COUNT(c->places, hob_collada_place);
	}
	hob_buf_put(&c->places, &place, sizeof place);
}

/* Attaches undeformed meshes to the node. A controller needs a child, unless the node has nothing else. */
static void attach_meshes(hob_collada *c, hob_xml_ptr element, uint32_t node)
{
	uint32_t plain = 0, deformed = 0;
	for (hob_xml_ptr e = element->first; e; e = e->next) {
		plain += hob_xml_is(e, HOB_STR("instance_geometry"));
		deformed += hob_xml_is(e, HOB_STR("instance_controller"));
	}
	HOB_XML_EACH (e, element, "instance_geometry")
		instance_mesh(c, node, e);
	HOB_XML_EACH (e, element, "instance_controller") {
		bool alone = plain == 0 && deformed == 1;
		instance_mesh(c, alone ? node : hob_lists_node(&c->lists, node_at(c, node)->name, node), e);
	}
}

/* Blender's option "Decomposed" writes scale, rotation and translation in this order, so the translation is
 * transformed by the others. */
static void note_order(hob_collada *c, hob_xml_ptr element)
{
	double n[16];
	bool moves = false, turns = false;
	for (hob_xml_ptr e = element->first; e; e = e->next) {
		bool place = hob_xml_is(e, HOB_STR("translate")), scale = hob_xml_is(e, HOB_STR("scale"));
		if (!place && !scale && !hob_xml_is(e, HOB_STR("rotate")))
			continue;
		hob_collada_transform_numbers(e, n);
		moves = place && (fabs(n[0]) > 0 || fabs(n[1]) > 0 || fabs(n[2]) > 0);
		turns = turns || (scale ? n[0] < 1 || n[0] > 1 || n[1] < 1 || n[1] > 1 || n[2] < 1 || n[2] > 1
								: !place && fabs(n[3]) > 0);
		if (place)
			break;
	}
	if (moves && turns && hob_str_starts(c->model->generator, HOB_STR("Blender")))
		hob_warn(c->request->notes, "collada.transform-order",
				 "line %u: '%.*s' is turned or scaled before it is moved, as Blender writes \"Decomposed\" "
				 "transforms; it is placed so, but if it stands elsewhere in Blender, export matrices",
				 element->line, HOB_FMT(hob_xml_attr(element, HOB_STR("name"))));
}

/* Convention of FCOLLADA and OpenCOLLADA, used by 3ds Max and Maya. */
static bool is_hidden(hob_xml_ptr element)
{
	hob_xml_ptr visibility = hob_collada_extra(element, HOB_STR("visibility"));
	float value = 1;
	if (visibility)
		hob_xml_floats(visibility->text, &value, 1);
	return !(value > 0) || (visibility && hob_str_equal_nocase(hob_xml_text(visibility), HOB_STR("false")));
}

static void emit(hob_collada *c, hob_xml_ptr element, uint32_t parent, uint32_t depth)
{
	if (depth > DEPTH_MAX)
		hob_leave(LIMIT, "line %u: nodes are nested deeper than %d, or a node holds an instance of itself",
				  element->line, DEPTH_MAX);
	uint32_t id = hob_lists_node(&c->lists, hob_collada_name(c, element), parent);
	note_place(c, element, id);
	hob_collada_local(element, (double)c->unit, node_at(c, id));
	node_at(c, id)->source = element->number;
	note_order(c, element);
	node_at(c, id)->hidden = is_hidden(element);
	attach_meshes(c, element, id);
	for (hob_xml_ptr e = element->first; e; e = e->next) {
		bool camera = hob_xml_is(e, HOB_STR("instance_camera"));
		if (camera || hob_xml_is(e, HOB_STR("instance_light")))
			attach(c, id, e, camera);
	}
	for (hob_xml_ptr e = element->first; e; e = e->next) {
		hob_xml_ptr child = hob_xml_is(e, HOB_STR("node")) ? e : NULL;
		if (hob_xml_is(e, HOB_STR("instance_node")))
			child = hob_collada_target(c, e, "node", "url");
		if (child && hob_xml_is(child, HOB_STR("node")))
			emit(c, child, id, depth + 1);
	}
}

/* ---- scenes */

static hob_xml_ptr scene_of(hob_collada *c)
{
	hob_xml_ptr instance = hob_xml_find(c->xml.root, "scene/instance_visual_scene");
	hob_xml_ptr scene = hob_collada_target(c, instance, "visual_scene", "url");
	if (scene && hob_xml_is(scene, HOB_STR("visual_scene")))
		return scene;
	return hob_xml_find(c->xml.root, "library_visual_scenes/visual_scene");
}

/* Rotation to Y up above all roots; none if Y is up already. */
static uint32_t add_axis(hob_collada *c, hob_str name)
{
	static const float half = 0.70710678f;
	hob_str axis = hob_xml_text(hob_xml_find(c->xml.root, "asset/up_axis"));
	bool z = hob_str_equal_nocase(axis, HOB_STR("Z_UP")), x = hob_str_equal_nocase(axis, HOB_STR("X_UP"));
	if (!z && !x)
		return HOB_NONE;
	uint32_t root = hob_lists_node(&c->lists, name, HOB_NONE);
	float *rotation = node_at(c, root)->rotation;
	rotation[z ? 0 : 2] = z ? -half : half;
	rotation[3] = half;
	memcpy(c->model->space.turn, rotation, sizeof c->model->space.turn);
	return root;
}

/* A file without a scene shows all geometries. */
static void emit_geometries(hob_collada *c, uint32_t root)
{
	HOB_COLLADA_EACH (g, c, "library_geometries", "geometry") {
		uint32_t shape = hob_collada_shape_of(c, g);
		if (HOB_LISTS_AT(c->shapes, hob_collada_shape, shape)->part_count == 0)
			continue;
		show_shape(c, hob_lists_node(&c->lists, hob_collada_name(c, g), root), shape, NULL);
		hob_info(c->request->notes, "collada.no-scene",
				 "the file has no visual scene; its geometries stand side by side");
	}
}

void hob_collada_nodes(hob_collada *c)
{
	hob_xml_ptr scene = scene_of(c);
	uint32_t root = add_axis(c, scene ? hob_collada_name(c, scene) : (hob_str){0});
	HOB_XML_EACH (e, scene, "node")
		emit(c, e, root, 1);
	if (!scene)
		emit_geometries(c, root);
}
