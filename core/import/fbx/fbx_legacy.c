#include "fbx_private.h"

/* Before 6000 there are no lists of objects and connections: each model contains its mesh, materials and
 * skin, and names its children. */

static bool is_attribute(hob_str type)
{
	return hob_str_equal(type, HOB_STR("Light")) || hob_str_equal(type, HOB_STR("Camera")) ||
		   hob_str_equal(type, HOB_STR("LimbNode")) || hob_str_equal(type, HOB_STR("Limb"));
}

static uint32_t add(hob_fbx *f, hob_fbx_class class, hob_str subclass, uint32_t record, uint32_t below)
{
	hob_str raw = hob_fbx_value_at(f, record, 0).text, class_name;
	hob_fbx_object object = {.id = (int64_t)f->object_count,
							 .class = class,
							 .subclass = subclass,
							 .record = record,
							 .props = HOB_NONE,
							 .template_props = HOB_NONE};
	hob_fbx_split_name(f, raw, &class_name, &object.name);
	uint32_t id = hob_fbx_add_object(f, &object);
	if (below != HOB_NONE)
		hob_fbx_add_edge(f, id, below, (hob_str){0});
	return id;
}

static hob_str without_class(const hob_fbx *f, hob_str raw)
{
	hob_str class_name, name;
	hob_fbx_split_name(f, raw, &class_name, &name);
	return name;
}

/* Pictures have a list of their own, before the models. */
static void add_videos(hob_fbx *f)
{
	uint32_t list = hob_fbx_child(f, hob_fbx_child(f, HOB_FBX_ROOT, HOB_STR("Media")), HOB_STR("Video"));
	HOB_FBX_EACH_CHILD (record, f, list, "Video") {
		uint32_t video = add(f, HOB_FBX_VIDEO, (hob_str){0}, record, HOB_NONE);
		hob_name_map_add(&f->old_videos, f->objects[video].name, video);
	}
}

static void add_textures(hob_fbx *f, uint32_t model)
{
	HOB_FBX_EACH_CHILD (record, f, f->objects[model].record, "Texture") {
		uint32_t texture = add(f, HOB_FBX_TEXTURE, (hob_str){0}, record, model);
		hob_str media = without_class(f, hob_fbx_child_text(f, record, HOB_STR("Media")));
		uint32_t video = hob_name_map_get(&f->old_videos, media);
		if (video != HOB_NONE)
			hob_fbx_add_edge(f, video, texture, (hob_str){0});
	}
}

static void add_model(hob_fbx *f, uint32_t record)
{
	hob_str type = hob_fbx_child_text(f, record, HOB_STR("Type"));
	uint32_t model = add(f, HOB_FBX_MODEL, type, record, HOB_NONE);
	hob_name_map_add(&f->by_key, hob_fbx_plain(f, hob_fbx_value_at(f, record, 0).text), model);
	if (hob_fbx_child(f, record, HOB_STR("Vertices")) != HOB_NONE)
		add(f, HOB_FBX_GEOMETRY, HOB_STR("Mesh"), record, model);
	else if (is_attribute(type))
		add(f, HOB_FBX_ATTRIBUTE, type, record, model);
	else
		return;
	HOB_FBX_EACH_CHILD (material, f, record, "Material")
		add(f, HOB_FBX_MATERIAL, (hob_str){0}, material, model);
	add_textures(f, model);
}

/* Called once all models are known by name. */
static void connect_children(hob_fbx *f, uint32_t model)
{
	hob_fbx_cursor cursor =
		hob_fbx_values(f, hob_fbx_child(f, f->objects[model].record, HOB_STR("Children")));
	hob_fbx_value value;
	while (hob_fbx_next(f, &cursor, &value)) {
		uint32_t child = hob_name_map_get(&f->by_key, hob_fbx_plain(f, value.text));
		if (child != HOB_NONE && child != model)
			hob_fbx_add_edge(f, child, model, (hob_str){0});
	}
}

static void add_skin(hob_fbx *f, uint32_t geometry)
{
	uint32_t record = f->objects[geometry].record, skin = HOB_NONE;
	HOB_FBX_EACH_CHILD (link, f, record, "Link") {
		if (skin == HOB_NONE)
			skin = add(f, HOB_FBX_DEFORMER, HOB_STR("Skin"), record, geometry);
		uint32_t cluster = add(f, HOB_FBX_DEFORMER, HOB_STR("Cluster"), link, skin);
		uint32_t bone = hob_name_map_get(&f->by_key, hob_fbx_plain(f, hob_fbx_value_at(f, link, 0).text));
		if (bone != HOB_NONE)
			hob_fbx_add_edge(f, bone, cluster, (hob_str){0});
	}
}

void hob_fbx_read_legacy_objects(hob_fbx *f)
{
	hob_name_map_init(&f->old_videos, f->scratch);
	add_videos(f);
	HOB_FBX_EACH_CHILD (record, f, HOB_FBX_ROOT, "Model")
		add_model(f, record);
	uint32_t count = f->object_count;
	for (uint32_t i = 0; i < count; i++) {
		if (f->objects[i].class == HOB_FBX_MODEL)
			connect_children(f, i);
		if (f->objects[i].class == HOB_FBX_GEOMETRY)
			add_skin(f, i);
	}
}
