#include "x3d_private.h"

#include "../shape.h"
#include "../../base/limits.h"
#include "../text.h"

#include <math.h>

enum { DEPTH_MAX = 256 };

static bool visit(hob_x3d *x, hob_x3d_ptr e, uint32_t parent, uint32_t depth, hob_error *err);

/* ---- transforms */

static void identity(float m[16])
{
	memset(m, 0, 16 * sizeof *m);
	m[0] = m[5] = m[10] = m[15] = 1;
}

static void shift(float m[16], const float v[3], float sign)
{
	float by[16];
	identity(by);
	for (int i = 0; i < 3; i++)
		by[12 + i] = v[i] * sign;
	hob_matrix_multiply(m, by, m);
}

/* Axis and angle -> x y z w. A zero axis gives the identity. */
static void quaternion(const float turn[4], float sign, float q[4])
{
	double length = sqrt((double)turn[0] * (double)turn[0] + (double)turn[1] * (double)turn[1] +
						 (double)turn[2] * (double)turn[2]);
	double half = (double)turn[3] * (double)sign / 2, s = length > 1e-12 ? sin(half) / length : 0;
	for (int i = 0; i < 3; i++)
		q[i] = (float)((double)turn[i] * s);
	q[3] = length > 1e-12 ? (float)cos(half) : 1;
}

static void turn_by(float m[16], const float turn[4], float sign)
{
	hob_node node = hob_shape_plain_node((hob_str){0});
	float by[16];
	quaternion(turn, sign, node.rotation);
	hob_node_local_matrix(&node, by);
	hob_matrix_multiply(m, by, m);
}

/* The transform T * C * R * SR * S * -SR * -C of ISO/IEC 19775-1, 10.4.4. */
static void place(hob_x3d *x, hob_x3d_ptr e, uint32_t node)
{
	float t[3] = {0}, c[3] = {0}, r[4] = {0, 0, 1, 0}, s[3] = {1, 1, 1}, so[4] = {0, 0, 1, 0}, m[16], by[16];
	hob_x3d_vector(e, "translation", t, 3);
	hob_x3d_vector(e, "center", c, 3);
	hob_x3d_vector(e, "rotation", r, 4);
	hob_x3d_vector(e, "scale", s, 3);
	hob_x3d_vector(e, "scaleOrientation", so, 4);
	identity(m);
	shift(m, t, 1);
	shift(m, c, 1);
	turn_by(m, r, 1);
	turn_by(m, so, 1);
	identity(by);
	for (int i = 0; i < 3; i++)
		by[i * 5] = s[i];
	hob_matrix_multiply(m, by, m);
	turn_by(m, so, -1);
	shift(m, c, -1);
	hob_lists_place(&x->lists, node, m);
}

/* ---- shapes */

static const char *const appearances[] = {"Appearance", NULL};

static bool is_metadata(hob_x3d_ptr e)
{
	return hob_str_starts(e->name, HOB_STR("Metadata"));
}

static hob_x3d_ptr geometry_of(const hob_x3d *x, hob_x3d_ptr shape)
{
	for (hob_x3d_ptr c = shape->first; c; c = c->next) {
		hob_x3d_ptr real = hob_x3d_real(x, c);
		if (real && !hob_x3d_is(real, "Appearance") && !is_metadata(real))
			return real;
	}
	return NULL;
}

static bool mesh_key(hob_x3d *x, hob_x3d_ptr geometry, hob_x3d_ptr appearance, hob_str *out, hob_error *err)
{
	uint32_t key[2] = {geometry->number, appearance ? appearance->number : HOB_NONE};
	*out = hob_arena_str(x->request->scratch, (hob_str){(const char *)key, sizeof key});
	return out->data || hob_fail_memory(err, x->request->scratch, "shapes");
}

/* Applies the texture transform to the coordinates: the model's own transforms rotate about another point. */
static void move_uvs(const hob_x3d *x, hob_x3d_ptr appearance, const hob_x3d_shape *shape, bool *moved,
					 float matrix[6])
{
	*moved = shape->topology == HOB_TRIANGLES && hob_x3d_texture_matrix(x, appearance, matrix);
}

static bool make_mesh(hob_x3d *x, hob_x3d_ptr geometry, hob_x3d_ptr appearance, hob_x3d_shape *shape,
					  uint32_t *id, hob_error *err)
{
	hob_mesh mesh = {.source_mesh = geometry->number};
	bool made, moved;
	float matrix[6];
	shape->map_box = shape->map_box && hob_x3d_has_texture(x, appearance);
	hob_x3d_use use = {shape->topology == HOB_TRIANGLES, shape->colors != NULL, shape->both_sides};
	*id = HOB_NONE;
	mesh.name = hob_text_name(x->request->result, hob_xml_attr(geometry, HOB_STR("DEF")));
	if (!mesh.name.data)
		return hob_fail_memory(err, x->request->result, "a name");
	if (!hob_x3d_mesh(x, shape, &mesh, &made, err))
		return false;
	if (!made)
		return true;
	if (!hob_x3d_material(x, appearance, use, &mesh.material, err))
		return false;
	move_uvs(x, appearance, shape, &moved, matrix);
	for (size_t v = 0; moved && mesh.uv[0] && v < mesh.vertex_count; v++) {
		float *uv = mesh.uv[0] + v * 2, from[2] = {uv[0], 1 - uv[1]};
		uv[0] = matrix[0] * from[0] + matrix[2] * from[1] + matrix[4];
		uv[1] = 1 - (matrix[1] * from[0] + matrix[3] * from[1] + matrix[5]);
	}
	return hob_lists_mesh(&x->lists, &mesh, id, err);
}

static bool read_shape(hob_x3d *x, hob_x3d_ptr e, hob_error *err)
{
	hob_x3d_ptr geometry = geometry_of(x, e), appearance = hob_x3d_child(x, e, appearances);
	hob_str key;
	if (!geometry)
		return true;
	if (!mesh_key(x, geometry, appearance, &key, err))
		return false;
	uint32_t mesh = hob_name_map_get(&x->meshes, key);
	if (mesh == HOB_NONE) {
		hob_x3d_shape shape = {.topology = HOB_TRIANGLES};
		bool known = false;
		bool done = hob_x3d_geometry(x, geometry, &shape, &known, err) &&
					(known || hob_x3d_solid(x, geometry, &shape, &known, err)) &&
					(!known || make_mesh(x, geometry, appearance, &shape, &mesh, err));
		hob_x3d_shape_release(&shape);
		if (!done)
			return hob_fail_in(err, "line %u, <%.*s>", geometry->line, HOB_FMT(geometry->name));
		if (!known)
			hob_x3d_unread(x, geometry);
		if (mesh != HOB_NONE && !hob_name_map_add(&x->meshes, key, mesh, NULL))
			return hob_fail_memory(err, x->request->scratch, "shapes");
	}
	return mesh == HOB_NONE || hob_lists_show(&x->lists, mesh, err);
}

/* ---- lights and viewpoints */

/* The rotation from -Z to `direction`. */
static void aim(const float direction[3], float q[4])
{
	double d[3], length = 0;
	for (int i = 0; i < 3; i++)
		length += (double)direction[i] * (double)direction[i];
	length = sqrt(length);
	for (int i = 0; i < 3; i++)
		d[i] = length > 1e-12 ? (double)direction[i] / length : i == 2 ? -1 : 0;
	/* Half-way quaternion between (0, 0, -1) and d. */
	double w = 1 - d[2], v[3] = {d[1], -d[0], 0};
	if (w < 1e-9)
		v[1] = 1, v[0] = w = 0;
	length = sqrt(w * w + v[0] * v[0] + v[1] * v[1]);
	for (int i = 0; i < 3; i++)
		q[i] = (float)(v[i] / length);
	q[3] = (float)(w / length);
}

static bool read_light(hob_x3d *x, hob_x3d_ptr e, uint32_t node, hob_error *err)
{
	bool spot = hob_x3d_is(e, "SpotLight"), directional = hob_x3d_is(e, "DirectionalLight");
	hob_light light = {.type = spot			 ? HOB_LIGHT_SPOT
							   : directional ? HOB_LIGHT_DIRECTIONAL
											 : HOB_LIGHT_POINT,
					   .color = {1, 1, 1},
					   .range = INFINITY};
	float direction[3] = {0, 0, -1};
	hob_x3d_vector(e, "color", light.color, 3);
	for (int i = 0; i < 3; i++)
		light.color[i] = light.color[i] > 0 ? light.color[i] : 0;
	light.intensity = hob_x3d_float(e, "intensity", 1);
	light.intensity = light.intensity > 0 && light.intensity < 1e15f ? light.intensity : 0;
	float cut = hob_x3d_float(e, "cutOffAngle", 0.7853982f), beam = hob_x3d_float(e, "beamWidth", 1.570796f);
	light.outer_cone = cut > 0 && cut <= 1.5707963f ? cut : 0.7853982f;
	light.inner_cone = beam >= 0 && beam < light.outer_cone ? beam : light.outer_cone * 0.999f;
	light.name = hob_text_name(x->request->result, hob_xml_attr(e, HOB_STR("DEF")));
	if (!light.name.data)
		return hob_fail_memory(err, x->request->result, "a name");
	if (!hob_x3d_bool(e, "on", true)) {
		hob_note_add(x->request->notes, HOB_NOTE_INFO, "x3d.light-off",
					 "lights that are switched off are left out");
		return true;
	}
	hob_node *to = HOB_LISTS_AT(x->lists.nodes, hob_node, node);
	hob_x3d_vector(e, "direction", direction, 3);
	if (spot || directional)
		aim(direction, to->rotation);
	if (!directional)
		hob_x3d_vector(e, "location", to->translation, 3);
	to->light = HOB_LISTS_COUNT(x->lists.lights, hob_light);
	hob_buf_put(&x->lists.lights, &light, sizeof light);
	return !x->lists.lights.failed || hob_fail(err, MEMORY, "no memory left for lights");
}

static bool read_camera(hob_x3d *x, hob_x3d_ptr e, uint32_t node, hob_error *err)
{
	hob_camera camera = {.type = HOB_CAMERA_PERSPECTIVE, .znear = 0.01f, .zfar = INFINITY};
	hob_node *to = HOB_LISTS_AT(x->lists.nodes, hob_node, node);
	float turn[4] = {0, 0, 1, 0}, window[4] = {-1, -1, 1, 1};
	to->translation[2] = 10;
	hob_x3d_vector(e, "position", to->translation, 3);
	hob_x3d_vector(e, "orientation", turn, 4);
	quaternion(turn, 1, to->rotation);
	camera.yfov_or_ymag = hob_x3d_float(e, "fieldOfView", 0.7853982f);
	if (hob_x3d_is(e, "OrthoViewpoint")) {
		hob_x3d_vector(e, "fieldOfView", window, 4);
		camera.type = HOB_CAMERA_ORTHOGRAPHIC;
		camera.aspect_or_xmag = (window[2] - window[0]) / 2;
		camera.yfov_or_ymag = (window[3] - window[1]) / 2;
		camera.zfar = 10000;
		if (!(camera.aspect_or_xmag > 0 && camera.yfov_or_ymag > 0))
			camera.aspect_or_xmag = camera.yfov_or_ymag = 1;
	} else if (!(camera.yfov_or_ymag > 0.001f && camera.yfov_or_ymag < 3.14159f)) {
		camera.yfov_or_ymag = 0.7853982f;
	}
	hob_str label = hob_xml_attr(e, HOB_STR("description")), word;
	camera.name = hob_text_name(x->request->result,
								hob_x3d_word(&label, &word) ? word : hob_xml_attr(e, HOB_STR("DEF")));
	if (!camera.name.data)
		return hob_fail_memory(err, x->request->result, "a name");
	to->camera = HOB_LISTS_COUNT(x->lists.cameras, hob_camera);
	hob_buf_put(&x->lists.cameras, &camera, sizeof camera);
	return !x->lists.cameras.failed || hob_fail(err, MEMORY, "no memory left for cameras");
}

/* ---- groups */

static bool children(hob_x3d *x, hob_x3d_ptr e, uint32_t node, uint32_t depth, hob_error *err)
{
	for (hob_x3d_ptr c = e->first; c; c = c->next)
		/* A Collision's proxy is not drawn. */
		if (!hob_str_equal(hob_xml_attr(c, HOB_STR("containerField")), HOB_STR("proxy")) &&
			!visit(x, c, node, depth + 1, err))
			return false;
	return true;
}

/* Builds only child number `wanted`, metadata not counted. */
static bool one_child(hob_x3d *x, hob_x3d_ptr e, int64_t wanted, uint32_t node, uint32_t depth,
					  hob_error *err)
{
	for (hob_x3d_ptr c = e->first; c; c = c->next)
		if (!is_metadata(c) && wanted-- == 0)
			return visit(x, c, node, depth + 1, err);
	return true;
}

static bool read_switch(hob_x3d *x, hob_x3d_ptr e, uint32_t node, uint32_t depth, hob_error *err)
{
	float choice = hob_x3d_float(e, "whichChoice", -1);
	if (e->first)
		hob_note_add(x->request->notes, HOB_NOTE_INFO, "x3d.switch",
					 "of the children of a Switch only the chosen one is read");
	return !(choice >= 0 && choice < 1e6f) || one_child(x, e, (int64_t)choice, node, depth, err);
}

static bool read_levels(hob_x3d *x, hob_x3d_ptr e, uint32_t node, uint32_t depth, hob_error *err)
{
	if (e->first && e->first->next)
		hob_note_add(x->request->notes, HOB_NOTE_INFO, "x3d.levels",
					 "of levels of detail only the finest is read; Hob makes its own");
	return one_child(x, e, 0, node, depth, err);
}

typedef enum kind { IGNORED, SILENT, GROUP, TRANSFORM, SWITCH, LOD, SHAPE, LIGHT, CAMERA } kind_t;

static kind_t kind_of(hob_x3d_ptr e)
{
	static const struct {
		const char *type;
		kind_t kind;
	} kinds[] = {
		{"Transform", TRANSFORM},
		{"Group", GROUP},
		{"Shape", SHAPE},
		{"Switch", SWITCH},
		{"LOD", LOD},
		{"Scene", GROUP},
		{"StaticGroup", GROUP},
		{"Anchor", GROUP},
		{"Collision", GROUP},
		{"Billboard", GROUP},
		{"CADAssembly", GROUP},
		{"CADLayer", GROUP},
		{"CADPart", TRANSFORM},
		{"CADFace", GROUP},
		{"HAnimHumanoid", TRANSFORM},
		{"HAnimJoint", TRANSFORM},
		{"HAnimSegment", GROUP},
		{"HAnimSite", TRANSFORM},
		{"DirectionalLight", LIGHT},
		{"PointLight", LIGHT},
		{"SpotLight", LIGHT},
		{"Viewpoint", CAMERA},
		{"OrthoViewpoint", CAMERA},
		{"ViewpointGroup", GROUP},
		{"WorldInfo", SILENT},
		{"NavigationInfo", SILENT},
		{"ROUTE", SILENT},
		{"Background", SILENT},
		{"TextureBackground", SILENT},
		{"Fog", SILENT},
		{"Layer", GROUP},
		{"LayerSet", GROUP},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		if (hob_x3d_is(e, kinds[i].type))
			return kinds[i].kind;
	return is_metadata(e) ? SILENT : IGNORED;
}

static bool visit(hob_x3d *x, hob_x3d_ptr e, uint32_t parent, uint32_t depth, hob_error *err)
{
	hob_x3d_ptr real = hob_x3d_real(x, e);
	uint32_t node;
	if (!real)
		return true;
	if (depth > DEPTH_MAX)
		return hob_fail(err, LIMIT, "line %u: nodes are nested deeper than %d, or a node holds itself",
						e->line, DEPTH_MAX);
	kind_t kind = kind_of(real);
	if (kind == IGNORED)
		hob_x3d_unread(x, real);
	if (kind == IGNORED || kind == SILENT)
		return true;
	if (!hob_lists_node(&x->lists, hob_xml_attr(real, HOB_STR("DEF")), parent, &node, err))
		return false;
	if (kind == TRANSFORM)
		place(x, real, node);
	switch (kind) {
	case SHAPE:
		return read_shape(x, real, err);
	case LIGHT:
		return read_light(x, real, node, err);
	case CAMERA:
		return read_camera(x, real, node, err);
	case SWITCH:
		return read_switch(x, real, node, depth, err);
	case LOD:
		return read_levels(x, real, node, depth, err);
	default:
		return children(x, real, node, depth, err);
	}
}

bool hob_x3d_nodes(hob_x3d *x, hob_error *err)
{
	hob_x3d_ptr scene =
		hob_x3d_is(x->xml.root, "Scene") ? x->xml.root : hob_xml_child(x->xml.root, HOB_STR("Scene"));
	if (!scene)
		return hob_fail(err, EMPTY, "the file holds no <Scene>");
	for (hob_x3d_ptr c = scene->first; c; c = c->next)
		if (!visit(x, c, HOB_NONE, 1, err))
			return false;
	return true;
}
