#include "pack_build.h"

#include <float.h>

_Static_assert(sizeof(hob_baked_hierarchy) == sizeof(hob_pk_hierarchy), "written as it is");
_Static_assert(sizeof(hob_baked_link) == sizeof(hob_pk_link), "written as it is");
_Static_assert(HOB_PK_NODE_MIRRORED == (int)HOB_NODE_MIRRORED, "tables and baked.h disagree");
_Static_assert(HOB_PK_NODE_HIDDEN == (int)HOB_NODE_HIDDEN, "tables and baked.h disagree");
_Static_assert(HOB_PK_CAMERA_ORTHOGRAPHIC == (int)HOB_CAMERA_ORTHOGRAPHIC, "tables and model.h disagree");
_Static_assert(HOB_PK_EXTRA_CLIP == (int)HOB_EXTRA_CLIP, "tables and baked.h disagree");
_Static_assert(HOB_PK_LIGHT_SPOT == (int)HOB_LIGHT_SPOT, "tables and model.h disagree");

static void put_trs(pack_builder *b, const hob_baked_scene *scene)
{
	hob_pk_trs *trs = PACK_TABLE(b, HOB_PK_TRS_, hob_pk_trs, scene->node_count);
	for (uint32_t n = 0; n < scene->node_count; n++) {
		memcpy(trs[n].t, scene->trs[n].t, sizeof trs[n].t);
		memcpy(trs[n].r, scene->trs[n].r, sizeof trs[n].r);
		memcpy(trs[n].s, scene->trs[n].s, sizeof trs[n].s);
		trs[n].flags = scene->trs[n].flags;
	}
}

static void put_boxes(pack_builder *b, const hob_baked_scene *scene)
{
	hob_pk_box *boxes = PACK_TABLE(b, HOB_PK_AABB, hob_pk_box, scene->node_count);
	for (uint32_t n = 0; n < scene->node_count; n++) {
		const float *from = scene->aabb + (size_t)n * 6;
		bool empty = !(from[0] <= from[3] && from[1] <= from[4] && from[2] <= from[5]);
		for (size_t i = 0; i < 3; i++) {
			boxes[n].min[i] = empty ? FLT_MAX : from[i];
			boxes[n].max[i] = empty ? -FLT_MAX : from[3 + i];
		}
	}
}

static void put_names(pack_builder *b, const hob_baked_scene *scene)
{
	uint32_t *names = PACK_TABLE(b, HOB_PK_NAMS, uint32_t, scene->node_count);
	for (uint32_t n = 0; n < scene->node_count; n++)
		names[n] = hob_pack_add_string(b, scene->names[n]);
}

static void put_cameras(pack_builder *b, const hob_baked_scene *scene)
{
	hob_pk_camera *cameras = PACK_TABLE(b, HOB_PK_CAMS, hob_pk_camera, scene->camera_count);
	for (uint32_t i = 0; i < scene->camera_count; i++) {
		const hob_camera *camera = &scene->cameras[i];
		cameras[i] = (hob_pk_camera){
			.name = hob_pack_add_string(b, camera->name),
			.type = camera->type,
			.yfov_or_ymag = camera->yfov_or_ymag,
			.aspect_or_xmag = camera->aspect_or_xmag,
			.znear = camera->znear,
			.zfar = camera->zfar,
		};
	}
}

static void put_lights(pack_builder *b, const hob_baked_scene *scene)
{
	hob_pk_light *lights = PACK_TABLE(b, HOB_PK_LGTS, hob_pk_light, scene->light_count);
	for (uint32_t i = 0; i < scene->light_count; i++) {
		const hob_light *light = &scene->lights[i];
		lights[i] = (hob_pk_light){
			.name = hob_pack_add_string(b, light->name),
			.type = light->type,
			.color = {light->color[0], light->color[1], light->color[2]},
			.intensity = light->intensity,
			.range = light->range,
			.inner_cone = light->inner_cone,
			.outer_cone = light->outer_cone,
		};
	}
}

static void put_scenes(pack_builder *b, const hob_baked_scene *scene)
{
	hob_pk_scene *scenes = PACK_TABLE(b, HOB_PK_SCNS, hob_pk_scene, scene->scene_count);
	for (uint32_t i = 0; i < scene->scene_count; i++)
		scenes[i] = (hob_pk_scene){
			.name = hob_pack_add_string(b, scene->scenes[i].name),
			.root_first = scene->scenes[i].root_first,
			.root_count = scene->scenes[i].root_count,
			.flags = i == scene->default_scene ? HOB_PK_SCENE_DEFAULT : 0u,
		};
	hob_pack_add(b, HOB_PK_ROOT, scene->scene_roots, scene->scene_root_count, sizeof *scene->scene_roots);
}

static void put_extras(pack_builder *b, const hob_baked_scene *scene)
{
	if (scene->extra_count == 0)
		return;
	hob_pk_extra *extras = PACK_TABLE(b, HOB_PK_XTRA, hob_pk_extra, scene->extra_count);
	for (uint32_t i = 0; i < scene->extra_count; i++)
		extras[i] = (hob_pk_extra){
			.kind = scene->extras[i].kind,
			.index = scene->extras[i].index,
			.values = hob_pack_add_string(b, scene->extras[i].extras.values),
			.extensions = hob_pack_add_string(b, scene->extras[i].extras.extensions),
		};
	b->ver_minor = scene->extras[scene->extra_count - 1].kind > HOB_EXTRA_MATERIAL ? 3 : 2;
}

static void put_links(pack_builder *b, uint32_t type, const hob_baked_links *links)
{
	hob_pack_add(b, type, links->items, links->count, sizeof(hob_pk_link));
}

static void put_file(pack_builder *b, const void *from)
{
	const hob_baked_scene *scene = from;
	uint32_t nodes = scene->node_count;
	hob_pack_add(b, HOB_PK_HIER, scene->hierarchy, nodes, sizeof *scene->hierarchy);
	hob_pack_add(b, HOB_PK_SUBT, scene->subtree, nodes, sizeof *scene->subtree);
	put_trs(b, scene);
	hob_pack_add(b, HOB_PK_LOCL, scene->local, nodes, sizeof(hob_pk_mat4));
	hob_pack_add(b, HOB_PK_GLOB, scene->global, nodes, sizeof(hob_pk_mat4));
	put_boxes(b, scene);
	put_names(b, scene);
	put_links(b, HOB_PK_LMSH, &scene->mesh_links);
	put_links(b, HOB_PK_LMAT, &scene->material_links);
	put_links(b, HOB_PK_LCAM, &scene->camera_links);
	put_links(b, HOB_PK_LLGT, &scene->light_links);
	put_links(b, HOB_PK_LSKN, &scene->skin_links);
	put_links(b, HOB_PK_LWGT, &scene->weight_links);
	hob_pack_add(b, HOB_PK_WGTS, scene->morph_weights, scene->morph_weight_count, sizeof(float));
	put_cameras(b, scene);
	put_lights(b, scene);
	put_scenes(b, scene);
	put_extras(b, scene);
	for (uint32_t n = 0; n < nodes; n++)
		if (scene->trs[n].flags & HOB_NODE_HIDDEN)
			b->ver_minor = 6;
}

bool hob_pack_scene(const hob_baked_scene *scene, const hob_pack_options *options, hob_buf *out,
					hob_error *err)
{
	return hob_pack_write(HOB_PK_KIND_SCNE, put_file, scene, options, out, err);
}
