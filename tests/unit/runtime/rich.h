/* rich.h - one small model that uses everything the runtime reads: nodes of two scenes, a skinned and morphed
 * mesh with two levels and meshlets, a quantised rigid mesh, materials, clips. */
#ifndef HOB_TEST_RICH_H
#define HOB_TEST_RICH_H

#include "maker.h"

enum { RICH_NODES = 8, RICH_SKINNED_VERTICES = 6, RICH_WEIGHT_FIRST = 1 };

/* 0 root, 1 body (skin, own weights), 2 body mesh, 3 hip joint, 4 knee joint, 5 box, 6 box mesh, 7 second
 * root */
static const uint32_t rich_parents[RICH_NODES] = {HOB_RT_NONE, 0, 1, 0, 3, 0, 5, HOB_RT_NONE};
static const float rich_positions[RICH_SKINNED_VERTICES][3] = {{-1, 0, 0}, {1, 0, 0},  {-1, 1, 0},
															   {1, 1, 0},  {-1, 2, 0}, {1, 2, 0}};
static const uint8_t rich_joints[RICH_SKINNED_VERTICES][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 1, 0, 0},
															  {0, 1, 0, 0}, {1, 0, 0, 0}, {1, 0, 0, 0}};
static const uint8_t rich_weights[RICH_SKINNED_VERTICES][4] = {
	{255, 0, 0, 0}, {255, 0, 0, 0}, {127, 128, 0, 0}, {64, 191, 0, 0}, {255, 0, 0, 0}, {255, 0, 0, 0}};

/* Variations by a test: flags of node 5, and whether the clip shows it from 0.5 s on. */
static uint32_t rich_box_flags;
static bool rich_box_appears;

static inline hob_rt_blob rich_scene(void)
{
	const char *names[RICH_NODES] = {"root", "body", "body_Mesh_0", "hip",
									 "knee", "box",	 "box_Mesh_0",	"sun"};
	hob_pk_trs trs[RICH_NODES];
	for (int i = 0; i < RICH_NODES; i++)
		trs[i] = rest_trs();
	trs[1].t[0] = 100; /* skinned meshes do not follow their node */
	trs[4].t[1] = 1;
	trs[5].t[2] = -5;
	trs[5].flags = rich_box_flags;
	trs[7].flags = HOB_PK_NODE_SHEAR;
	maker *m = maker_new();
	add_nodes(m, rich_parents, RICH_NODES, trs, names);
	const hob_pk_link meshes[] = {{2, 0}, {6, 1}}, materials[] = {{2, 1}}, skins[] = {{1, 0}},
					  cameras[] = {{0, 0}}, lights[] = {{7, 0}}, weights[] = {{1, RICH_WEIGHT_FIRST}};
	const float node_weights[] = {9, 0.25f};
	hob_pk_camera camera = {0};
	hob_pk_light light = {0};
	camera.name = maker_text(m, "eye");
	light.name = maker_text(m, "sunlight");
	light.range = INFINITY;
	hob_pk_extra extras[2] = {{HOB_PK_EXTRA_FILE, 0, 0, 0}, {HOB_PK_EXTRA_NODE, 5, 0, 0}};
	extras[0].values = maker_text(m, "[1]");
	extras[1].values = maker_text(m, "{\"health\":10}");
	extras[1].extensions = maker_text(m, "{\"EXT_x\":{}}");
	maker_add(m, HOB_PK_LMSH, meshes, 2, sizeof meshes[0]);
	maker_add(m, HOB_PK_LMAT, materials, 1, sizeof materials[0]);
	maker_add(m, HOB_PK_LSKN, skins, 1, sizeof skins[0]);
	maker_add(m, HOB_PK_LCAM, cameras, 1, sizeof cameras[0]);
	maker_add(m, HOB_PK_LLGT, lights, 1, sizeof lights[0]);
	maker_add(m, HOB_PK_LWGT, weights, 1, sizeof weights[0]);
	maker_add(m, HOB_PK_WGTS, node_weights, 2, sizeof node_weights[0]);
	maker_add(m, HOB_PK_CAMS, &camera, 1, sizeof camera);
	maker_add(m, HOB_PK_LGTS, &light, 1, sizeof light);
	maker_add(m, HOB_PK_XTRA, extras, 2, sizeof extras[0]);
	return maker_finish(m, HOB_PK_KIND_SCNE);
}

static inline hob_rt_blob rich_materials(void)
{
	maker *m = maker_new();
	hob_pk_material materials[2];
	hob_pk_texref ref = {0};
	hob_pk_image image = {0};
	const hob_pk_texture_sampler sampler = {0, 1, 2, 6};
	memset(materials, 0, sizeof materials);
	for (int i = 0; i < 2; i++)
		memset(materials[i].textures, 0xFF, sizeof materials[i].textures);
	materials[0].name = maker_text(m, "skin");
	materials[1].name = maker_text(m, "cloth");
	materials[1].textures[HOB_PK_SLOT_BASE_COLOR] = 0;
	image.name = maker_text(m, "cloth.png");
	const uint32_t variants[] = {maker_text(m, "red"), maker_text(m, "blue")};
	maker_add(m, HOB_PK_MATL, materials, 2, sizeof materials[0]);
	maker_add(m, HOB_PK_TEXR, &ref, 1, sizeof ref);
	maker_add(m, HOB_PK_IMGS, &image, 1, sizeof image);
	maker_add(m, HOB_PK_TSMP, &sampler, 1, sizeof sampler);
	maker_add(m, HOB_PK_VARI, variants, 2, sizeof variants[0]);
	return maker_finish(m, HOB_PK_KIND_MATL);
}

static inline hob_rt_blob rich_meshes(void)
{
	maker *m = maker_new();
	float positions[RICH_SKINNED_VERTICES][3];
	uint8_t influences[RICH_SKINNED_VERTICES][8];
	memcpy(positions, rich_positions, sizeof positions);
	for (int v = 0; v < RICH_SKINNED_VERTICES; v++) {
		memcpy(influences[v], rich_joints[v], 4);
		memcpy(influences[v] + 4, rich_weights[v], 4);
	}
	/* The box: positions as three u16 and two bytes of padding, a normal as two octahedral s16, a uv as two
	 * u16. */
	struct {
		uint16_t position[4];
		int16_t normal[2];
		uint16_t uv[2];
	} box[8];
	for (int v = 0; v < 8; v++) {
		for (int i = 0; i < 3; i++)
			box[v].position[i] = v >> i & 1 ? 65535 : 0;
		box[v].position[3] = 0;
		box[v].normal[0] = v & 1 ? 32767 : 0;
		box[v].normal[1] = v & 1 ? 0 : -32767;
		box[v].uv[0] = 65535;
		box[v].uv[1] = 0;
	}
	const uint16_t fine[] = {0, 1, 2, 2, 1, 3, 2, 3, 4, 4, 3, 5};
	const uint32_t coarse[] = {0, 1, 3, 0, 1, 2, 4, 5, 6};
	uint32_t idx_fine = maker_add(m, HOB_PK_IDX_, fine, 12, 2);
	uint32_t idx_coarse = maker_add(m, HOB_PK_IDX_, coarse, 9, 4);
	uint32_t vtx_position = maker_add(m, HOB_PK_VTX_, positions, RICH_SKINNED_VERTICES, 12);
	uint32_t vtx_influence = maker_add(m, HOB_PK_VTX_, influences, RICH_SKINNED_VERTICES, 8);
	uint32_t vtx_box = maker_add(m, HOB_PK_VTX_, box, 8, sizeof box[0]);
	const hob_pk_attribute attributes[] = {
		{HOB_PK_SEMANTIC_POSITION, 0, 3, HOB_PK_ENCODING_PLAIN, 106, 0, 0, 0},
		{HOB_PK_SEMANTIC_JOINTS, 0, 4, HOB_PK_ENCODING_PLAIN, 41, 1, 0, 0},
		{HOB_PK_SEMANTIC_WEIGHTS, 0, 4, HOB_PK_ENCODING_PLAIN, 37, 1, 4, 0},
		{HOB_PK_SEMANTIC_POSITION, 0, 3, HOB_PK_ENCODING_SCALED, 84, 0, 0, 0},
		{HOB_PK_SEMANTIC_NORMAL, 0, 2, HOB_PK_ENCODING_OCTAHEDRAL, 78, 0, 8, 0},
		{HOB_PK_SEMANTIC_UV, 0, 2, HOB_PK_ENCODING_SCALED, 77, 0, 12, 0},
	};
	const hob_pk_layout layouts[] = {
		{0, 3, 2, RICH_SKINNED_VERTICES, {vtx_position, vtx_influence, HOB_RT_NONE, HOB_RT_NONE}},
		{3, 3, 1, 8, {vtx_box, HOB_RT_NONE, HOB_RT_NONE, HOB_RT_NONE}},
	};
	const hob_pk_lod lods[] = {
		{0, 12, 6, 0, 0, 1, idx_fine, 0},
		{0, 3, 4, 0.5f, 0, 0, idx_coarse, 0},
		{3, 6, 8, 0, 0, 0, idx_coarse, 0},
	};
	hob_pk_mesh meshes[2];
	memset(meshes, 0, sizeof meshes);
	for (int i = 0; i < 2; i++) {
		hob_pk_mesh *mesh = &meshes[i];
		mesh->material = 0;
		mesh->layout = (uint32_t)i;
		mesh->skin = HOB_RT_NONE;
		mesh->pos_scale = mesh->uv_scale[0] = mesh->uv_scale[1] = 1;
	}
	meshes[0].name = maker_text(m, "body");
	meshes[0].flags = HOB_PK_MESH_SKINNED | HOB_PK_MESH_MORPHED;
	meshes[0].vertex_count = RICH_SKINNED_VERTICES;
	meshes[0].lod_count = 2;
	meshes[0].skin = 0;
	meshes[0].morph_count = 1;
	meshes[0].influence_count = 4;
	meshes[0].variant_count = 1;
	meshes[0].aabb_min[0] = -1;
	meshes[0].aabb_max[0] = 1;
	meshes[0].aabb_max[1] = 2;
	meshes[0].sphere[1] = 1;
	meshes[0].sphere[3] = 1.5f;
	meshes[1].flags = HOB_PK_MESH_QUANTIZED;
	meshes[1].vertex_count = 8;
	meshes[1].lod_first = 2;
	meshes[1].lod_count = 1;
	meshes[1].pos_scale = 2;
	meshes[1].uv_scale[0] = 3;
	meshes[1].uv_offset[1] = 0.5f;
	for (int i = 0; i < 3; i++) {
		meshes[1].pos_offset[i] = meshes[1].aabb_min[i] = -1;
		meshes[1].aabb_max[i] = 1;
	}
	meshes[1].sphere[3] = 1.7320508f;
	const hob_pk_delta delta = {5, {0, 0, 4}, {0, 0, 0}, {0, 0, 0}};
	hob_pk_morph morph = {0};
	morph.name = maker_text(m, "lean");
	morph.weight = 0.125f;
	morph.delta_count = 1;
	morph.attribute_mask = HOB_PK_DELTA_POSITION;
	morph.max[2] = 4;
	const hob_pk_meshlet meshlet = {{0, 1, 0}, 2, {0, 0, 127}, 0, 0, 0, 4, 2, 0};
	const uint32_t meshlet_vertices[] = {0, 1, 2, 3};
	const uint8_t meshlet_triangles[] = {0, 1, 2, 2, 1, 3, 0, 0};
	const hob_pk_variant_map map = {0, 1, 0};
	maker_add(m, HOB_PK_MDSC, meshes, 2, sizeof meshes[0]);
	maker_add(m, HOB_PK_LODS, lods, 3, sizeof lods[0]);
	const hob_pk_lod_attributes errors[3] = {{0, 0, 0, 0}, {0.25f, 0.5f, 0.125f, 0}, {0, 0, 0, 0}};
	maker_add(m, HOB_PK_LODA, errors, 3, sizeof errors[0]);
	const float means[3] = {0, 0.25f, 0};
	maker_add(m, HOB_PK_LODM, means, 3, sizeof means[0]);
	maker_add(m, HOB_PK_LAYT, layouts, 2, sizeof layouts[0]);
	maker_add(m, HOB_PK_ATTR, attributes, 6, sizeof attributes[0]);
	maker_add(m, HOB_PK_MRPH, &morph, 1, sizeof morph);
	maker_add(m, HOB_PK_MDLT, &delta, 1, sizeof delta);
	maker_add(m, HOB_PK_VMAP, &map, 1, sizeof map);
	maker_add(m, HOB_PK_MLET, &meshlet, 1, sizeof meshlet);
	maker_add(m, HOB_PK_MLVT, meshlet_vertices, 4, 4);
	maker_add(m, HOB_PK_MLTR, meshlet_triangles, 8, 1);
	return maker_finish(m, HOB_PK_KIND_MESH);
}

static inline hob_rt_blob rich_clips(void)
{
	static const float half[] = {0, 0.5f}, times[] = {0, 1},
					   bend[] = {0, 0, 0, 1, 0.70710678f, 0, 0, 0.70710678f}, lean[] = {0, 1};
	static const float move[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0};
	const test_track tracks[] = {{4, HOB_PK_PATH_ROTATION, HOB_PK_LINEAR, 4, 2, times, bend},
								 {1, HOB_PK_PATH_WEIGHTS, HOB_PK_LINEAR, 1, 2, times, lean},
								 {3, HOB_PK_PATH_TRANSLATION, HOB_PK_CUBICSPLINE, 3, 2, times, move},
								 {7, HOB_PK_PATH_WEIGHTS, HOB_PK_STEP, 1, 2, half, lean}};
	const test_clip clips[] = {{"bend", 0, 1, tracks, rich_box_appears ? 4 : 3}};
	const uint32_t joints[] = {3, 4};
	hob_pk_mat4 binds[2];
	memset(binds, 0, sizeof binds);
	for (int j = 0; j < 2; j++)
		for (int i = 0; i < 4; i++)
			binds[j].m[i * 5] = 1;
	binds[1].m[13] = -1;
	maker *m = maker_new();
	add_clips(m, clips, 1);
	const hob_pk_skin skin = {maker_text(m, "leg"), 3, 0, 2};
	const hob_pk_property_channel shows = {0, HOB_PK_PROPERTY_NODE_VISIBLE, 0, 5, 3};
	if (rich_box_appears)
		maker_add(m, HOB_PK_PROP, &shows, 1, sizeof shows);
	maker_add(m, HOB_PK_SKIN, &skin, 1, sizeof skin);
	maker_add(m, HOB_PK_JNTS, joints, 2, 4);
	maker_add(m, HOB_PK_IBMS, binds, 2, sizeof binds[0]);
	return maker_finish(m, HOB_PK_KIND_ANIM);
}

static inline hob_rt_files rich_files(void)
{
	hob_rt_files files;
	files.meshes = rich_meshes();
	files.materials = rich_materials();
	files.scene = rich_scene();
	files.animations = rich_clips();
	return files;
}

#endif
