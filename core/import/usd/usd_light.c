#include "usd_build.h"

#include "../text.h"

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
bool hob_usd_build_camera(hob_usd_build_t *b, uint32_t id, uint32_t node, hob_error *err)
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
		return true;
	}
	if (number_at(u, prim, "horizontalApertureOffset", 0) != 0 ||
		number_at(u, prim, "verticalApertureOffset", 0) != 0)
		hob_usd_note(u, "camera-offset", "camera '%.*s': the offset of its aperture is left out",
					 HOB_FMT(prim->path));
	m->cameras = (hob_camera *)hob_usd_more(u->scratch, m->cameras, m->camera_count, &b->camera_room,
											sizeof *m->cameras);
	hob_str name = hob_text_name(u->result, u->tokens[prim->name]);
	if (!m->cameras || !name.data)
		return hob_fail_memory(err, u->scratch, "cameras");
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
	m->nodes[node].camera = m->camera_count;
	m->cameras[m->camera_count++] = camera;
	return true;
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

bool hob_usd_build_light(hob_usd_build_t *b, uint32_t id, uint32_t node, hob_error *err)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	hob_model *m = &b->model;
	bool distant = hob_str_equal(prim->type, HOB_STR("DistantLight"));
	if (hob_str_equal(prim->type, HOB_STR("DomeLight")) ||
		hob_str_equal(prim->type, HOB_STR("PortalLight")) ||
		hob_str_equal(prim->type, HOB_STR("GeometryLight"))) {
		hob_usd_note(u, "light", "light '%.*s' of type '%.*s' is left out", HOB_FMT(prim->path),
					 HOB_FMT(prim->type));
		return true;
	}
	m->lights =
		(hob_light *)hob_usd_more(u->scratch, m->lights, m->light_count, &b->light_room, sizeof *m->lights);
	hob_str name = hob_text_name(u->result, u->tokens[prim->name]);
	if (!m->lights || !name.data)
		return hob_fail_memory(err, u->scratch, "lights");
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
	m->nodes[node].light = m->light_count;
	m->lights[m->light_count++] = light;
	return true;
}
