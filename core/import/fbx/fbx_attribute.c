#include "fbx_private.h"

#include <math.h>

static const double degree = 3.14159265358979323846 / 180;

/* ---- cameras */

static double between(double value, double least, double most, double otherwise)
{
	return value >= least && value <= most ? value : otherwise;
}

/* Aspect ratio, width over height, of the picture; the film's where the file gives none. */
static double aspect_of(const hob_fbx *f, uint32_t o, double film_aspect)
{
	double width =
		hob_fbx_prop_real(f, o, HOB_STR("AspectWidth"), hob_fbx_prop_real(f, o, HOB_STR("AspectW"), 0));
	double height =
		hob_fbx_prop_real(f, o, HOB_STR("AspectHeight"), hob_fbx_prop_real(f, o, HOB_STR("AspectH"), 0));
	double pixel = between(hob_fbx_prop_real(f, o, HOB_STR("PixelAspectRatio"), 1), 0.05, 20, 1);
	if (!(width > 0) || !(height > 0))
		return film_aspect;
	switch (hob_fbx_prop_integer(f, o, HOB_STR("AspectRatioMode"), 0)) {
	case 3: /* fixed width: the height is a multiple of it */
		return between(pixel / height, 1e-3, 1e3, film_aspect);
	case 4: /* fixed height */
		return between(width * pixel, 1e-3, 1e3, film_aspect);
	default:
		return between(width / height * pixel, 1e-3, 1e3, film_aspect);
	}
}

/* Width and height, in inches, of the part of the film that the picture shows. Source of the modes:
 * FbxCamera's EGateFit. */
static void fit_gate(const hob_fbx *f, uint32_t o, const double film[2], double out[2])
{
	double film_aspect = film[0] / film[1], aspect = aspect_of(f, o, film_aspect);
	int64_t fit = hob_fbx_prop_integer(f, o, HOB_STR("GateFit"), 0);
	if (fit == 3 || fit == 4) /* fill, overscan */
		fit = (fit == 3) == (aspect > film_aspect) ? 2 : 1;
	out[0] = fit == 1 ? film[1] * aspect : film[0];
	out[1] = fit == 2 ? film[0] / aspect : film[1];
}

/* Tangents of the half view angles. Source of the modes: FbxCamera's EApertureMode. */
static void half_view(const hob_fbx *f, uint32_t o, const double gate[2], double out[2])
{
	double fov = hob_fbx_prop_real(
		f, o, HOB_STR("FieldOfView"),
		f->version > 0 && f->version < 6000 ? hob_fbx_prop_real(f, o, HOB_STR("Aperture"), 25.115) : 25.115);
	double focal = hob_fbx_prop_real(f, o, HOB_STR("FocalLength"), 35) / 25.4;
	double half = tan(between(fov, 1e-3, 179.9, 40) * degree / 2);
	switch (hob_fbx_prop_integer(f, o, HOB_STR("ApertureMode"), 2)) {
	case 0:
		out[0] =
			tan(between(hob_fbx_prop_real(f, o, HOB_STR("FieldOfViewX"), 40), 1e-3, 179.9, 40) * degree / 2);
		out[1] =
			tan(between(hob_fbx_prop_real(f, o, HOB_STR("FieldOfViewY"), 40), 1e-3, 179.9, 40) * degree / 2);
		return;
	case 1:
		out[0] = half;
		break;
	case 3:
		out[0] = gate[0] / 2 / between(focal, 1e-6, 1e6, 35 / 25.4);
		break;
	default:
		out[0] = half * gate[0] / gate[1];
		break;
	}
	out[1] = out[0] * gate[1] / gate[0];
}

static void read_camera(const hob_fbx *f, uint32_t o, hob_camera *camera)
{
	double film[2] = {between(hob_fbx_prop_real(f, o, HOB_STR("FilmWidth"), 0.816), 1e-4, 1e4, 0.816),
					  between(hob_fbx_prop_real(f, o, HOB_STR("FilmHeight"), 0.612), 1e-4, 1e4, 0.612)};
	double gate[2], view[2];
	film[0] *= between(hob_fbx_prop_real(f, o, HOB_STR("FilmSqueezeRatio"), 1), 0.01, 100, 1);
	fit_gate(f, o, film, gate);
	double aspect = aspect_of(f, o, film[0] / film[1]);
	double near_plane = hob_fbx_prop_real(f, o, HOB_STR("NearPlane"), 10) * f->unit;
	double far_plane = hob_fbx_prop_real(f, o, HOB_STR("FarPlane"), 4000) * f->unit;
	camera->znear = (float)between(near_plane, 1e-9, 1e9, 0.1);
	camera->zfar = far_plane > (double)camera->znear && far_plane < 1e30 ? (float)far_plane : INFINITY;
	if (hob_fbx_prop_integer(f, o, HOB_STR("CameraProjectionType"), 0) == 1) {
		/* Blender writes metres here, whatever the file's unit. */
		double half =
			hob_fbx_prop_real(f, o, HOB_STR("OrthoZoom"), 1) * (f->is_blender ? 1 : 30 * f->unit) / 2;
		camera->type = HOB_CAMERA_ORTHOGRAPHIC;
		half = between(half, 1e-9, 1e9, 1);
		camera->aspect_or_xmag = (float)half;
		camera->yfov_or_ymag = (float)(half / aspect);
		return;
	}
	camera->type = HOB_CAMERA_PERSPECTIVE;
	half_view(f, o, gate, view);
	camera->aspect_or_xmag = (float)between(view[0] / view[1], 1e-3, 1e3, aspect);
	camera->yfov_or_ymag = (float)between(2 * atan(view[1]), 1e-3, 3.13, 0.7);
}

/* ---- lights */

static void read_light(const hob_fbx *f, uint32_t o, hob_light *light)
{
	double color[3] = {1, 1, 1};
	hob_fbx_prop_vector(f, o, HOB_STR("Color"), color);
	int64_t type = hob_fbx_prop_integer(f, o, HOB_STR("LightType"), 0);
	light->type = type == 1 ? HOB_LIGHT_DIRECTIONAL : type == 2 ? HOB_LIGHT_SPOT : HOB_LIGHT_POINT;
	if (type >= 3)
		hob_fbx_info(f, "area-light", "light '%.*s' has an area; it shines from one point",
					 HOB_FMT(f->objects[o].name));
	double strongest = 0;
	for (int k = 0; k < 3; k++)
		strongest = color[k] > strongest ? color[k] : strongest;
	for (int k = 0; k < 3; k++)
		light->color[k] = strongest > 0 && color[k] > 0 ? (float)(color[k] / strongest) : 0;
	double intensity = hob_fbx_prop_real(f, o, HOB_STR("Intensity"), 100) / 100 * strongest;
	light->intensity = (float)between(intensity, 0, 1e30, 0);
	light->range = INFINITY;
	double cone = hob_fbx_prop_real(f, o, HOB_STR("ConeAngle"), 45); /* before 6000 */
	double outer =
		hob_fbx_prop_real(f, o, HOB_STR("OuterAngle"), hob_fbx_prop_real(f, o, HOB_STR("Cone angle"), cone));
	double inner =
		hob_fbx_prop_real(f, o, HOB_STR("InnerAngle"), hob_fbx_prop_real(f, o, HOB_STR("HotSpot"), 0));
	light->outer_cone = (float)(between(outer, 0.01, 180, 45) / 2 * degree);
	light->inner_cone = (float)(between(inner, 0, 180, 0) / 2 * degree);
	if (light->inner_cone > light->outer_cone)
		light->inner_cone = light->outer_cone;
}

/* ---- both */

/* An FBX camera looks along +X of its node and a light along -Y, in Hob both along -Z. A child node holds the
 * rotation, so that the node keeps its own transform and clips. */
static void emit_attribute(hob_fbx *f, const hob_fbx_node *node, uint32_t o, bool camera)
{
	static const double half = 0.70710678118654752440;
	hob_fbx_trs place = {{0, 0, 0}, {camera ? 0 : -half, camera ? -half : 0, 0, half}, {1, 1, 1}};
	hob_str name = f->objects[node->object].name;
	hob_str child = hob_arena_printf(f->scratch, "%.*s_%s", HOB_FMT(name), camera ? "camera" : "light");
	hob_node *made = hob_fbx_new_node(f, node->scale_id, child, &place);
	/* Before 7000, a light or camera is part of the model's record, whose properties the node already has. */
	if (f->objects[o].record != f->objects[node->object].record)
		hob_fbx_extras(f, o, &made->extras);
	if (camera) {
		hob_camera to = {.name = hob_fbx_name(f, name)};
		read_camera(f, o, &to);
		made->camera = HOB_LISTS_COUNT(f->lists.cameras, to);
		hob_buf_put(&f->lists.cameras, &to, sizeof to);
	} else {
		hob_light to = {.name = hob_fbx_name(f, name)};
		read_light(f, o, &to);
		made->light = HOB_LISTS_COUNT(f->lists.lights, to);
		hob_buf_put(&f->lists.lights, &to, sizeof to);
	}
}

/* MotionBuilder's built-in views: their nodes are kept, without cameras. */
static bool is_producer(const hob_fbx *f, const hob_fbx_node *node)
{
	return node->parent == HOB_NONE && node->first_child == HOB_NONE &&
		   hob_str_starts(f->objects[node->object].name, HOB_STR("Producer "));
}

void hob_fbx_emit_attributes(hob_fbx *f, uint32_t id)
{
	const hob_fbx_node *node = &f->nodes[id];
	HOB_FBX_EACH_BELOW (edge, f, node->object, ATTRIBUTE, "") {
		uint32_t child = edge->child;
		if (HOB_LISTS_COUNT(f->lists.cameras, hob_camera) + HOB_LISTS_COUNT(f->lists.lights, hob_light) >=
			f->object_count)
			break;
		bool camera = hob_str_equal(f->objects[child].subclass, HOB_STR("Camera"));
		bool light = hob_str_equal(f->objects[child].subclass, HOB_STR("Light"));
		if (light || (camera && !is_producer(f, node)))
			emit_attribute(f, node, child, camera);
	}
}
