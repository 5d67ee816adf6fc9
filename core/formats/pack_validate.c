#include "pack_validate.h"

#include "../base/limits.h"
#include "pack_check.h"

static bool check_contents(const check_file *file)
{
	switch (file->header.kind) {
	case HOB_PK_KIND_MESH:
		return hob_check_meshes(file);
	case HOB_PK_KIND_MATL:
		return hob_check_materials(file);
	case HOB_PK_KIND_SCNE:
		return hob_check_scene(file);
	default:
		return hob_check_animations(file);
	}
}

bool hob_pack_validate(hob_bytes bytes, hob_error *err)
{
	hob_own_arena arena;
	hob_arena_init(&arena, (size_t)HOB_LIMIT_COOK_ARENA_BYTES);
	check_file file;
	return hob_check_container(&file, bytes, &arena, err) && check_contents(&file);
}

/* ---- the files of an asset ---- */

typedef struct check_set {
	check_file meshes, materials, scene, animations;
	bool has_meshes, has_materials, has_scene, has_animations;
} check_set;

static bool in_range(const check_file *file, uint32_t id, uint32_t count, bool none, const char *what,
					 uint32_t of)
{
	CHECK(file, id < count || (none && id == HOB_PK_NONE), "%s %u of %u; record %u", what, id, count, of);
	return true;
}

static bool cross_meshes(const check_set *set)
{
	const check_file *file = &set->meshes;
	uint32_t materials = set->has_materials ? hob_check_find(&set->materials, HOB_PK_MATL).entry.count : 0;
	uint32_t variants = set->has_materials ? hob_check_find(&set->materials, HOB_PK_VARI).entry.count : 0;
	check_section skins =
		set->has_animations ? hob_check_find(&set->animations, HOB_PK_SKIN) : (check_section){0};
	check_section meshes = hob_check_find(file, HOB_PK_MDSC), maps = hob_check_find(file, HOB_PK_VMAP);
	for (uint32_t i = 0; i < meshes.entry.count; i++) {
		READ(mesh, mesh, meshes, i);
		if (set->has_materials && !in_range(file, mesh.material, materials, true, "material", i))
			return false;
		if (!set->has_animations || mesh.skin == HOB_PK_NONE)
			continue;
		if (!in_range(file, mesh.skin, skins.entry.count, false, "skin", i))
			return false;
		READ(skin, skin, skins, mesh.skin);
		int64_t top = hob_check_top_joint(file, i);
		CHECK(file, top < (int64_t)skin.joint_count, "mesh %u uses joint %lld of %u", i, (long long)top,
			  skin.joint_count);
	}
	for (uint32_t i = 0; i < maps.entry.count && set->has_materials; i++) {
		READ(variant_map, map, maps, i);
		if (!in_range(file, map.variant, variants, false, "variant", i) ||
			!in_range(file, map.material, materials, true, "variant material", i))
			return false;
	}
	return true;
}

static bool cross_links(const check_set *set, uint32_t type, const check_file *to, bool has, uint32_t section,
						const char *what)
{
	check_section links = hob_check_find(&set->scene, type);
	for (uint32_t i = 0; i < links.entry.count && has; i++) {
		READ(link, link, links, i);
		if (!in_range(&set->scene, link.value, hob_check_find(to, section).entry.count, false, what, i))
			return false;
	}
	return true;
}

static bool cross_properties(const check_set *set)
{
	const check_file *file = &set->animations;
	uint32_t materials = hob_check_find(&set->materials, HOB_PK_MATL).entry.count;
	uint32_t cameras = hob_check_find(&set->scene, HOB_PK_CAMS).entry.count,
			 lights = hob_check_find(&set->scene, HOB_PK_LGTS).entry.count;
	check_section channels = hob_check_find(file, HOB_PK_PROP);
	for (uint32_t i = 0; i < channels.entry.count; i++) {
		READ(property_channel, channel, channels, i);
		bool light = channel.property >= HOB_PK_PROPERTY_LIGHT_COLOR,
			 camera = !light && channel.property >= HOB_PK_PROPERTY_CAMERA_Y;
		if (channel.property > HOB_PK_PROPERTY_LIGHT_OUTER_CONE || (!light && !camera && !set->has_materials))
			continue;
		if (!in_range(file, channel.index,
					  light	   ? lights
					  : camera ? cameras
							   : materials,
					  false, "driven thing", i))
			return false;
	}
	return true;
}

static bool cross_animations(const check_set *set)
{
	const check_file *file = &set->animations;
	uint32_t nodes = hob_check_find(&set->scene, HOB_PK_HIER).entry.count;
	check_section channels = hob_check_find(file, HOB_PK_CHAN), joints = hob_check_find(file, HOB_PK_JNTS);
	check_section skins = hob_check_find(file, HOB_PK_SKIN);
	for (uint32_t i = 0; i < channels.entry.count; i++)
		if (!in_range(file, hob_check_u32(&channels, i), nodes, false, "channel node", i))
			return false;
	if (!cross_properties(set))
		return false;
	for (uint32_t i = 0; i < joints.entry.count; i++)
		if (!in_range(file, hob_check_u32(&joints, i), nodes, false, "joint node", i))
			return false;
	for (uint32_t i = 0; i < skins.entry.count; i++) {
		READ(skin, skin, skins, i);
		if (!in_range(file, skin.root, nodes, true, "skeleton root", i))
			return false;
	}
	return true;
}

static bool cross_check(const check_set *set)
{
	if (set->has_meshes && !cross_meshes(set))
		return hob_fail_in(set->meshes.err, "meshes file");
	if (!set->has_scene)
		return true;
	if (!cross_links(set, HOB_PK_LMSH, &set->meshes, set->has_meshes, HOB_PK_MDSC, "mesh link") ||
		!cross_links(set, HOB_PK_LMAT, &set->materials, set->has_materials, HOB_PK_MATL, "material link") ||
		!cross_links(set, HOB_PK_LSKN, &set->animations, set->has_animations, HOB_PK_SKIN, "skin link"))
		return hob_fail_in(set->scene.err, "scene file");
	if (set->has_animations && !cross_animations(set))
		return hob_fail_in(set->animations.err, "animations file");
	return true;
}

static bool open_one(check_file *file, hob_bytes bytes, uint32_t kind, hob_arena *arena, bool *has,
					 const char *what, hob_error *err)
{
	*has = bytes.size > 0;
	if (!*has)
		return true;
	if (!hob_check_container(file, bytes, arena, err) || !check_contents(file))
		return hob_fail_in(err, "%s file", what);
	CHECK(file, file->header.kind == kind, "the %s file is of another kind", what);
	return true;
}

bool hob_pack_validate_set(const hob_pack_set *from, hob_error *err)
{
	hob_own_arena arena;
	hob_arena_init(&arena, (size_t)HOB_LIMIT_COOK_ARENA_BYTES);
	check_set set = {0};
	return open_one(&set.meshes, from->meshes, HOB_PK_KIND_MESH, &arena, &set.has_meshes, "meshes", err) &&
		   open_one(&set.materials, from->materials, HOB_PK_KIND_MATL, &arena, &set.has_materials,
					"materials", err) &&
		   open_one(&set.scene, from->scene, HOB_PK_KIND_SCNE, &arena, &set.has_scene, "scene", err) &&
		   open_one(&set.animations, from->animations, HOB_PK_KIND_ANIM, &arena, &set.has_animations,
					"animations", err) &&
		   cross_check(&set);
}
