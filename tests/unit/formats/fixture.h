/* fixture.h - a small cooked asset with one of everything, for the tests of core/formats. Header-only; all
 * memory is static. */
#ifndef HOB_FORMATS_FIXTURE_H
#define HOB_FORMATS_FIXTURE_H

#include "core/formats/pack_validate.h"
#include "core/formats/pack_write.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

typedef struct fixture {
	hob_baked_mesh meshes[4];
	hob_baked_materials materials;
	hob_baked_scene scene;
	hob_baked_animations animations;
} fixture;

/* ---- meshes: a quad with two levels, a skinned and morphed quantised triangle, a line, nothing ---- */

static float quad_positions[4][3] = {{0, 0, 0}, {2, 0, 0}, {2, 1, 0}, {0, 1, 0}};
static float quad_rest[4][5] = {{0, 0, 1, 0, 1}, {0, 0, 1, 1, 1}, {0, 0, 1, 1, 0.25f}, {0, 0, 1, 0, 0.25f}};
static uint32_t quad_indices[9] = {0, 1, 2, 0, 2, 3, 0, 1, 2};
static hob_baked_meshlet quad_meshlets[2] = {
	{{1, 0.5f, 0}, 1.25f, {0, 0, 127}, 127, 0, 0, 4, 2},
	{{1, 0.5f, 0}, 1.25f, {0, 0, 127}, 127, 4, 8, 3, 1},
};
static uint32_t quad_meshlet_vertices[7] = {0, 1, 2, 3, 0, 1, 2};
static uint8_t quad_meshlet_triangles[12] = {0, 1, 2, 0, 2, 3, 0, 0, 0, 1, 2, 0};
static hob_variant_mapping quad_mappings[2] = {{1, 0}, {0, 1}};

static uint16_t arm_positions[3][4] = {{0, 0, 0, 0}, {65535, 0, 0, 0}, {0, 32768, 65535, 0}};
static struct {
	int16_t normal[2];
	uint16_t uv[2];
} arm_rest[3] = {{{0, 0}, {0, 0}}, {{32767, 0}, {65535, 0}}, {{0, -32767}, {32768, 65535}}};
static struct {
	uint8_t joints[4], weights[4];
} arm_skin[3] = {
	{{0, 0, 0, 0}, {255, 0, 0, 0}}, {{1, 0, 0, 0}, {200, 55, 0, 0}}, {{1, 0, 0, 0}, {255, 0, 0, 0}}};
static uint32_t arm_indices[3] = {0, 1, 2};
static float arm_delta[9] = {0, 0, 0, 0, 0.5f, 0, 0, 0, 0};
static float arm_delta2[9] = {0.25f, 0, 0, 0, 0, 0, 0, 0, -1};
static float arm_delta2_normal[9] = {0, 0, 0, 0, 0.125f, 0, 0, 0, 0};
static hob_morph_target arm_targets[2] = {
	{{"bend", 4}, 0.5f, arm_delta, NULL, NULL},
	{{"twist", 5}, 0, arm_delta2, arm_delta2_normal, NULL},
};

static float wire_positions[2][3] = {{0, 0, 0}, {0, 3, 0}};
static float wire_rest[2][5] = {{0, 1, 0, 0, 0}, {0, 1, 0, 0, 0}};
static uint32_t wire_indices[2] = {0, 1};

static void fixture_float_layout(hob_baked_mesh *m, void *positions, void *rest)
{
	m->attribute_count = 3;
	m->attributes[0] = (hob_baked_attribute){HOB_SEMANTIC_POSITION, 0, 3, HOB_ENCODING_PLAIN, 106, 0, 0};
	m->attributes[1] = (hob_baked_attribute){HOB_SEMANTIC_NORMAL, 0, 3, HOB_ENCODING_PLAIN, 106, 1, 0};
	m->attributes[2] = (hob_baked_attribute){HOB_SEMANTIC_UV, 0, 2, HOB_ENCODING_PLAIN, 103, 1, 12};
	m->stream_count = 2;
	m->streams[0] = (hob_baked_stream){12, positions};
	m->streams[1] = (hob_baked_stream){20, rest};
	m->pos_scale = m->uv_scale[0] = m->uv_scale[1] = 1;
}

static void fixture_quad(hob_baked_mesh *m)
{
	m->mesh = (hob_mesh){.name = HOB_STR("quad"),
						 .material = 0,
						 .source_mesh = 0,
						 .vertex_count = 4,
						 .index_count = 6,
						 .mappings = quad_mappings,
						 .mapping_count = 2};
	m->skin = HOB_NONE;
	fixture_float_layout(m, quad_positions, quad_rest);
	m->lod_count = 2;
	m->lods[0] = (hob_baked_lod){0, 6, 4, 0, 0, 0, 1, {0, 0, 0}};
	m->lods[1] = (hob_baked_lod){6, 3, 3, 0.125f, 0.0625f, 1, 1, {0, 0, 0}};
	m->index_count = 9;
	m->indices = quad_indices;
	m->meshlet_count = 2;
	m->meshlets = quad_meshlets;
	m->meshlet_vertex_count = 7;
	m->meshlet_vertices = quad_meshlet_vertices;
	m->meshlet_triangle_bytes = 12;
	m->meshlet_triangles = quad_meshlet_triangles;
	memcpy(m->aabb_max, (float[]){2, 1, 0}, 12);
	memcpy(m->sphere, (float[]){1, 0.5f, 0, 1.25f}, 16);
	m->uv_density = 0.5f;
}

static void fixture_arm(hob_baked_mesh *m)
{
	m->mesh = (hob_mesh){.name = HOB_STR("arm"),
						 .material = 1,
						 .source_mesh = 1,
						 .vertex_count = 3,
						 .index_count = 3,
						 .influence_count = 4,
						 .target_count = 2,
						 .targets = arm_targets};
	m->skin = 0;
	m->flags = HOB_MESH_SKINNED | HOB_MESH_MORPHED | HOB_MESH_QUANTIZED | HOB_MESH_GENERATED_NORMALS;
	m->attribute_count = 5;
	m->attributes[0] = (hob_baked_attribute){HOB_SEMANTIC_POSITION, 0, 3, HOB_ENCODING_SCALED, 91, 0, 0};
	m->attributes[1] = (hob_baked_attribute){HOB_SEMANTIC_NORMAL, 0, 2, HOB_ENCODING_OCTAHEDRAL, 78, 1, 0};
	m->attributes[2] = (hob_baked_attribute){HOB_SEMANTIC_UV, 0, 2, HOB_ENCODING_SCALED, 77, 1, 4};
	m->attributes[3] = (hob_baked_attribute){HOB_SEMANTIC_JOINTS, 0, 4, HOB_ENCODING_PLAIN, 41, 2, 0};
	m->attributes[4] = (hob_baked_attribute){HOB_SEMANTIC_WEIGHTS, 0, 4, HOB_ENCODING_PLAIN, 37, 2, 4};
	m->stream_count = 3;
	m->streams[0] = (hob_baked_stream){8, (uint8_t *)arm_positions};
	m->streams[1] = (hob_baked_stream){8, (uint8_t *)arm_rest};
	m->streams[2] = (hob_baked_stream){8, (uint8_t *)arm_skin};
	m->pos_scale = 4;
	m->pos_offset[0] = -1;
	m->uv_scale[0] = 2, m->uv_scale[1] = 1;
	m->uv_offset[1] = -0.5f;
	m->lod_count = 1;
	m->lods[0] = (hob_baked_lod){0, 3, 3, 0, 0, 0, 0, {0, 0, 0}};
	m->index_count = 3;
	m->indices = arm_indices;
	memcpy(m->aabb_min, (float[]){-1, 0, 0}, 12);
	memcpy(m->aabb_max, (float[]){3, 2.00003052f, 4}, 12);
	memcpy(m->sphere, (float[]){1, 1, 2, 3}, 16);
}

static void fixture_wire(hob_baked_mesh *m)
{
	m->mesh = (hob_mesh){.name = HOB_STR("wire"),
						 .material = HOB_NONE,
						 .source_mesh = 2,
						 .vertex_count = 2,
						 .topology = HOB_LINES,
						 .index_count = 2};
	m->flags = HOB_MESH_LINES;
	m->skin = HOB_NONE;
	fixture_float_layout(m, wire_positions, wire_rest);
	m->lod_count = 1;
	m->lods[0] = (hob_baked_lod){0, 2, 2, 0, 0, 0, 0, {0, 0, 0}};
	m->index_count = 2;
	m->indices = wire_indices;
	memcpy(m->aabb_max, (float[]){0, 3, 0}, 12);
	memcpy(m->sphere, (float[]){0, 1.5f, 0, 1.5f}, 16);
}

static void fixture_void(hob_baked_mesh *m)
{
	m->mesh = (hob_mesh){.material = HOB_NONE, .source_mesh = 3};
	m->skin = HOB_NONE;
	m->pos_scale = m->uv_scale[0] = m->uv_scale[1] = 1;
}

/* ---- materials ---- */

static hob_material fixture_material_list[2];
static hob_baked_image fixture_images[2];
static hob_sampler fixture_samplers[1] = {
	{HOB_WRAP_CLAMP, HOB_WRAP_MIRROR, HOB_FILTER_LINEAR, HOB_FILTER_LINEAR_MIP_LINEAR}};
static hob_str fixture_variants[2] = {{"day", 3}, {"night", 5}};

static void fixture_material_init(hob_material *m, hob_str name)
{
	*m = (hob_material){.name = name,
						.base_color = {1, 1, 1, 1},
						.metallic = 1,
						.roughness = 1,
						.emissive_strength = 1,
						.normal_scale = 1,
						.occlusion_strength = 1,
						.alpha_cutoff = 0.5f,
						.ior = 1.5f,
						.specular = 1,
						.specular_color = {1, 1, 1},
						.clearcoat_normal_scale = 1,
						.attenuation_distance = INFINITY,
						.attenuation_color = {1, 1, 1},
						.iridescence_ior = 1.3f,
						.iridescence_min = 100,
						.iridescence_max = 400,
						.diffuse_transmission_color = {1, 1, 1}};
	for (size_t s = 0; s < HOB_SLOT_COUNT; s++)
		m->slots[s] = (hob_texture_ref){.image = HOB_NONE, .sampler = HOB_NONE, .scale = {1, 1}};
}

static void fixture_materials(hob_baked_materials *m)
{
	hob_material *brick = &fixture_material_list[0], *glass = &fixture_material_list[1];
	fixture_material_init(brick, HOB_STR("brick"));
	brick->metallic = 0;
	brick->roughness = 0.75f;
	brick->base_color[0] = 0.5f;
	brick->slots[HOB_SLOT_BASE_COLOR] = (hob_texture_ref){.image = 0, .sampler = 0, .scale = {1, 1}};
	brick->slots[HOB_SLOT_METAL_ROUGH] = (hob_texture_ref){.image = 1,
														   .sampler = HOB_NONE,
														   .uv_set = 0,
														   .offset = {0.5f, 0},
														   .scale = {2, 2},
														   .rotation = 0.25f};
	fixture_material_init(glass, HOB_STR("glass"));
	glass->alpha_mode = HOB_ALPHA_BLEND;
	glass->base_color[3] = 0.25f;
	glass->double_sided = true;
	glass->ext_mask = 1u << HOB_MATERIAL_TRANSMISSION | 1u << HOB_MATERIAL_UNLIT;
	glass->transmission = 0.5f;
	fixture_images[0] = (hob_baked_image){.name = HOB_STR("textures/brick.png"),
										  .width = 64,
										  .height = 32,
										  .mips = 7,
										  .vk_format = 43,
										  .flags = HOB_IMAGE_SRGB,
										  .container = HOB_IMAGE_KTX2,
										  .bytes = 11000};
	fixture_images[1] = (hob_baked_image){.name = HOB_STR("textures/br\xC3\xA4un.png"),
										  .width = 8,
										  .height = 8,
										  .mips = 1,
										  .flags = HOB_IMAGE_ORM,
										  .container = HOB_IMAGE_PNG,
										  .bytes = 99};
	for (uint8_t i = 0; i < 32; i++) {
		fixture_images[0].cooked_sha256[i] = (uint8_t)(i * 3);
		fixture_images[1].cooked_sha256[i] = (uint8_t)(0xF0 + i);
		fixture_images[0].source_sha256[i] = (uint8_t)(200 - i);
	}
	*m = (hob_baked_materials){.material_count = 2,
							   .image_count = 2,
							   .sampler_count = 1,
							   .variant_count = 2,
							   .materials = fixture_material_list,
							   .images = fixture_images,
							   .samplers = fixture_samplers,
							   .variants = fixture_variants};
}

/* ---- scene: world > (quad holder > quad, arm holder > arm > ... camera), second root with the wire ---- */

enum { FIXTURE_NODES = 8 };

static hob_baked_hierarchy fixture_hierarchy[FIXTURE_NODES] = {
	{-1, 1, -1, -1, 0}, /* world */
	{0, 2, 3, 5, 1},	/* body */
	{1, -1, -1, 2, 2},	/* body_Mesh_0 */
	{0, 4, 5, -1, 1},	/* shoulder */
	{3, -1, -1, 4, 2},	/* shoulder_Mesh_0 */
	{0, -1, -1, -1, 1}, /* eye */
	{-1, 7, -1, -1, 0}, /* cable */
	{6, -1, -1, 7, 1},	/* cable_Mesh_0 */
};
static uint32_t fixture_subtree[FIXTURE_NODES] = {6, 2, 1, 2, 1, 1, 2, 1};
static hob_baked_trs fixture_trs[FIXTURE_NODES];
static float fixture_local[FIXTURE_NODES][16], fixture_global[FIXTURE_NODES][16];
static float fixture_aabb[FIXTURE_NODES][6] = {
	{0, 0, 0, 12, 2, 4}, {10, 0, 0, 12, 1, 0},	{10, 0, 0, 12, 1, 0}, {0, 0, 0, 3, 2, 4},
	{0, 0, 0, 3, 2, 4},	 {1, 1, 1, -1, -1, -1}, {0, 0, 0, 0, 3, 0},	  {0, 0, 0, 0, 3, 0}};
static hob_str fixture_names[FIXTURE_NODES] = {
	{"world", 5}, {"body", 4}, {"body_Mesh_0", 11}, {"shoulder", 8}, {"shoulder_Mesh_0", 15},
	{"eye", 3},	  {"", 0},	   {"_Mesh_0", 7}};
static hob_baked_link fixture_mesh_links[3] = {{2, 0}, {4, 1}, {7, 2}};
static hob_baked_link fixture_material_links[2] = {{2, 0}, {4, 1}};
static hob_baked_link fixture_camera_links[1] = {{5, 0}}, fixture_light_links[1] = {{5, 1}};
static hob_baked_link fixture_skin_links[1] = {{3, 0}}, fixture_weight_links[1] = {{3, 0}};
static float fixture_weights[2] = {0.25f, 0.75f};
static hob_scene fixture_scenes[2] = {{.name = {"main", 4}, .root_count = 1},
									  {.name = {"all", 3}, .root_first = 1, .root_count = 2}};
static hob_baked_extra fixture_extras[4] = {
	{HOB_EXTRA_FILE, 0, {{"{\"author\":\"somebody\"}", 21}, {NULL, 0}}},
	{HOB_EXTRA_SCENE, 1, {{"\"all of it\"", 11}, {NULL, 0}}},
	{HOB_EXTRA_NODE, 3, {{"{\"health\":10}", 13}, {"{\"EXT_x\":{\"a\":[1]}}", 19}}},
	{HOB_EXTRA_MATERIAL, 1, {{"{\"health\":10}", 13}, {NULL, 0}}},
};
static uint32_t fixture_scene_roots[3] = {0, 0, 6};
static hob_camera fixture_cameras[1] = {
	{{"eye", 3}, HOB_CAMERA_PERSPECTIVE, 0.75f, 0, 0.125f, INFINITY, {{0}, {0}}}};
static hob_light fixture_lights[2] = {
	{{"sun", 3}, HOB_LIGHT_DIRECTIONAL, {1, 1, 1}, 3, INFINITY, 0, 0, {{0}, {0}}},
	{{"lamp", 4}, HOB_LIGHT_SPOT, {1, 0.5f, 0.25f}, 100, 8, 0.25f, 0.5f, {{0}, {0}}},
};

static void fixture_scene(hob_baked_scene *s)
{
	for (uint32_t n = 0; n < FIXTURE_NODES; n++) {
		fixture_trs[n] = (hob_baked_trs){.r = {0, 0, 0, 1}, .s = {1, 1, 1}};
		for (uint32_t i = 0; i < 16; i++)
			fixture_local[n][i] = fixture_global[n][i] = i % 5 == 0 ? 1.0f : 0.0f;
	}
	fixture_trs[1].t[0] = fixture_local[1][12] = fixture_global[1][12] = fixture_global[2][12] = 10;
	*s = (hob_baked_scene){.node_count = FIXTURE_NODES,
						   .hierarchy = fixture_hierarchy,
						   .subtree = fixture_subtree,
						   .trs = fixture_trs,
						   .local = fixture_local[0],
						   .global = fixture_global[0],
						   .aabb = fixture_aabb[0],
						   .names = fixture_names,
						   .mesh_links = {3, fixture_mesh_links},
						   .material_links = {2, fixture_material_links},
						   .camera_links = {1, fixture_camera_links},
						   .light_links = {1, fixture_light_links},
						   .skin_links = {1, fixture_skin_links},
						   .weight_links = {1, fixture_weight_links},
						   .morph_weight_count = 2,
						   .morph_weights = fixture_weights,
						   .scene_count = 2,
						   .scene_root_count = 3,
						   .default_scene = 0,
						   .scenes = fixture_scenes,
						   .scene_roots = fixture_scene_roots,
						   .camera_count = 1,
						   .light_count = 2,
						   .cameras = fixture_cameras,
						   .lights = fixture_lights,
						   .extra_count = HOB_COUNT_OF(fixture_extras),
						   .extras = fixture_extras};
}

/* ---- animations ---- */

static float fixture_times[3] = {0, 0.5f, 2}, fixture_times_twin[3] = {0, 0.5f, 2},
			 fixture_step_times[1] = {1};
static float fixture_moves[9] = {0, 0, 0, 1, 0, 0, 1, 1, 0};
static float fixture_spline[3 * 3 * 4] = {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
										  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0};
static float fixture_morphs[2] = {1, 0.5f};
static hob_track fixture_tracks[3] = {
	{HOB_LINEAR, 3, 3, fixture_times, fixture_moves},
	{HOB_CUBICSPLINE, 4, 3, fixture_times_twin, fixture_spline},
	{HOB_STEP, 2, 1, fixture_step_times, fixture_morphs},
};
static hob_channel fixture_channels[3] = {
	{1, HOB_PATH_TRANSLATION, 0}, {3, HOB_PATH_ROTATION, 1}, {3, HOB_PATH_WEIGHTS, 2}};
static hob_clip fixture_clips[2] = {
	{.name = {"walk", 4},
	 .channel_count = 3,
	 .track_count = 3,
	 .channels = fixture_channels,
	 .tracks = fixture_tracks},
	{.name = {"rest", 4}},
};
static float fixture_ranges[4] = {0, 2, 0, 0};
static float fixture_bounds[12] = {-1,		0,		 0,		  3,		3,		  4,
								   FLT_MAX, FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX};
static uint32_t fixture_joints[2] = {3, 4};
static float fixture_binds[32] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0,  0, 0, 1,
								  1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -2, 0, 0, 1};
static hob_skin fixture_skins[1] = {{{"rig", 3}, 3, 2, fixture_joints, fixture_binds, {{0}, {0}}}};

static void fixture_animations(hob_baked_animations *a)
{
	*a = (hob_baked_animations){.clip_count = 2,
								.skin_count = 1,
								.clips = fixture_clips,
								.skins = fixture_skins,
								.ranges = fixture_ranges,
								.skin_bounds = fixture_bounds};
}

static inline void fixture_init(fixture *f)
{
	memset(f, 0, sizeof *f);
	fixture_quad(&f->meshes[0]);
	fixture_arm(&f->meshes[1]);
	fixture_wire(&f->meshes[2]);
	fixture_void(&f->meshes[3]);
	fixture_materials(&f->materials);
	fixture_scene(&f->scene);
	fixture_animations(&f->animations);
}

/* ---- packed ---- */

typedef struct packed_fixture {
	hob_buf files[4]; /* meshes, materials, scene, animations */
} packed_fixture;

static inline bool fixture_pack_one(const fixture *f, int kind, const hob_pack_options *options, hob_buf *out,
									hob_error *err)
{
	switch (kind) {
	case 0:
		return hob_pack_meshes(f->meshes, 4, options, out, err);
	case 1:
		return hob_pack_materials(&f->materials, options, out, err);
	case 2:
		return hob_pack_scene(&f->scene, options, out, err);
	default:
		return hob_pack_animations(&f->animations, options, out, err);
	}
}

static inline void fixture_pack(packed_fixture *out, hob_pack_encode encode)
{
	fixture f;
	fixture_init(&f);
	hob_pack_options options = {.encode = encode};
	memset(out, 0, sizeof *out);
	for (int kind = 0; kind < 4; kind++) {
		hob_error err = {0};
		if (!fixture_pack_one(&f, kind, &options, &out->files[kind], &err))
			fail_msg("pack %d: %s", kind, err.context);
	}
}

static inline void fixture_release(packed_fixture *packed)
{
	for (int kind = 0; kind < 4; kind++)
		hob_buf_release(&packed->files[kind]);
}

static inline hob_pack_set fixture_set(const packed_fixture *packed)
{
	return (hob_pack_set){hob_buf_bytes(&packed->files[0]), hob_buf_bytes(&packed->files[1]),
						  hob_buf_bytes(&packed->files[2]), hob_buf_bytes(&packed->files[3])};
}

#endif
