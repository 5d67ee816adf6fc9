/* runtime_dump.c - prints core/runtime's result for a cooked model, as JSON for the comparison with other
 * players.
 *
 *     runtime_dump OUT/model.gltf POINTS [TIME...]    reads OUT/model.gltf.meshes, .scene, .animations
 *
 * With times: the first clip at these. Without: the rest pose, and nine times of each clip from start to end.
 * Per time: the world matrices of the default scene's nodes in depth-first order without the mesh child
 * nodes, and about POINTS positions of deformed vertices. */
#include "core/runtime/hob_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hob_rt_blob load(const char *base, const char *extension)
{
	char path[4096];
	snprintf(path, sizeof path, "%s%s", base, extension);
	FILE *file = fopen(path, "rb");
	hob_rt_blob blob = {NULL, 0};
	if (!file)
		return blob;
	fseek(file, 0, SEEK_END);
	long size = ftell(file);
	rewind(file);
	void *data = aligned_alloc(64, ((size_t)size + 63) & ~(size_t)63);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(file);
	blob.data = data;
	blob.size = (size_t)size;
	return blob;
}

static void transform(const float m[16], const float p[3], double weight, double out[3])
{
	for (int row = 0; row < 3; row++)
		out[row] += weight * ((double)m[row] * p[0] + (double)m[4 + row] * p[1] + (double)m[8 + row] * p[2] +
							  m[12 + row]);
}

static void add_morphs(const hob_rt_asset *asset, hob_rt_instance *instance, const hob_rt_draw *draw,
					   uint32_t vertex, float p[3])
{
	const hob_rt_mesh *mesh = &asset->meshes[draw->mesh];
	for (uint32_t t = 0; t < mesh->morph_count; t++) {
		uint32_t count;
		const hob_pk_delta *deltas = hob_rt_deltas(asset, mesh->morph_first + t, &count);
		for (uint32_t i = 0; i < count; i++)
			for (int k = 0; k < 3 && deltas[i].vertex == vertex; k++)
				p[k] += hob_rt_weights(instance)[draw->weight_first + t] * deltas[i].position[k];
	}
}

static void print_point(const hob_rt_asset *asset, hob_rt_instance *instance, const hob_rt_draw *draw,
						uint32_t vertex, const float *palette, const char *before)
{
	const hob_rt_mesh *mesh = &asset->meshes[draw->mesh];
	float p[4];
	double out[3] = {0, 0, 0};
	hob_rt_read_vertex(mesh, hob_rt_find_attribute(mesh, HOB_PK_SEMANTIC_POSITION, 0), vertex, p);
	add_morphs(asset, instance, draw, vertex, p);
	if (draw->skin == HOB_RT_NONE)
		transform(hob_rt_global(instance, draw->node), p, 1, out);
	for (uint32_t set = 0; draw->skin != HOB_RT_NONE && set < mesh->influence_count / 4; set++) {
		float joints[4], weights[4];
		hob_rt_read_vertex(mesh, hob_rt_find_attribute(mesh, HOB_PK_SEMANTIC_JOINTS, set), vertex, joints);
		hob_rt_read_vertex(mesh, hob_rt_find_attribute(mesh, HOB_PK_SEMANTIC_WEIGHTS, set), vertex, weights);
		for (int i = 0; i < 4; i++)
			transform(palette + (size_t)joints[i] * 16, p, weights[i], out);
	}
	printf("%s[%.9g,%.9g,%.9g]", before, out[0], out[1], out[2]);
}

static void print_points(const hob_rt_asset *asset, hob_rt_instance *instance, const uint8_t *shown,
						 uint32_t points)
{
	uint64_t total = 0;
	const char *before = "";
	for (uint32_t d = 0; d < asset->draw_count; d++)
		total += shown[asset->draws[d].node] ? asset->meshes[asset->draws[d].mesh].vertex_count : 0;
	uint32_t step = (uint32_t)(total / points) + 1;
	for (uint32_t d = 0; d < asset->draw_count; d++) {
		const hob_rt_draw *draw = &asset->draws[d];
		float *palette = NULL;
		if (!shown[draw->node])
			continue;
		if (draw->skin != HOB_RT_NONE) {
			palette = malloc((size_t)asset->skins[draw->skin].joint_count * 16 * sizeof *palette);
			hob_rt_palette(instance, draw->skin, palette, NULL);
		}
		for (uint32_t v = 0; v < asset->meshes[draw->mesh].vertex_count; v += step, before = ",")
			print_point(asset, instance, draw, v, palette, before);
		free(palette);
	}
}

static void print_numbers(const char *what, uint32_t index, int slot, const char *name, const float *values,
						  int count)
{
	printf(",\"%s %u ", what, index);
	if (slot >= 0)
		printf("%d ", slot);
	printf("%s\":[", name);
	for (int i = 0; i < count; i++)
		if (values[i] > 1e30f) /* JSON has no infinity */
			printf("%s1e999", i ? "," : "");
		else
			printf("%s%.9g", i ? "," : "", (double)values[i]);
	printf("]");
}

/* Prints each number that a clip can animate, by target: "material 0 base_color": [...]. */
static void print_driven(const hob_rt_asset *asset, const hob_rt_instance *instance)
{
	hob_pk_material material;
	hob_pk_texref texref;
	hob_pk_camera camera;
	hob_pk_light light;
	for (uint32_t i = 0; i < asset->material_count; i++) {
		if (hob_rt_driven_material(instance, i, &material)) {
#define material_FIELD(record, i, slot, field, count)                                                        \
	print_numbers(#record, i, slot, #field, (const float *)(const void *)&record.field, count);
#define texref_FIELD(record, i, slot, field, count)
#define camera_FIELD(record, i, slot, field, count)
#define light_FIELD(record, i, slot, field, count)
#define trs_FIELD(record, i, slot, field, count)
#define PROPERTY(name, number, record, field, count, length, pointer, doc)                                   \
	record##_FIELD(record, i, -1, field, count)
#include "schema/formats/animation.def"
		}
		for (uint32_t slot = 0; slot < 24; slot++)
			if (material.textures[slot] != HOB_PK_NONE && hob_rt_driven_texref(instance, i, slot, &texref)) {
#undef material_FIELD
#undef texref_FIELD
#define material_FIELD(record, i, slot, field, count)
#define texref_FIELD(record, i, slot, field, count)                                                          \
	print_numbers(#record, i, slot, #field, (const float *)(const void *)&record.field, count);
#define PROPERTY(name, number, record, field, count, length, pointer, doc)                                   \
	record##_FIELD(record, i, (int)slot, field, count)
#include "schema/formats/animation.def"
			}
	}
	for (uint32_t i = 0; i < asset->camera_count; i++)
		if (hob_rt_driven_camera(instance, i, &camera)) {
			print_numbers("camera", i, -1, "yfov_or_ymag", &camera.yfov_or_ymag, 1);
			print_numbers("camera", i, -1, "aspect_or_xmag", &camera.aspect_or_xmag, 1);
			print_numbers("camera", i, -1, "znear", &camera.znear, 1);
			print_numbers("camera", i, -1, "zfar", &camera.zfar, 1);
		}
	for (uint32_t i = 0; i < asset->light_count; i++)
		if (hob_rt_driven_light(instance, i, &light)) {
			print_numbers("light", i, -1, "color", light.color, 3);
			print_numbers("light", i, -1, "intensity", &light.intensity, 1);
			print_numbers("light", i, -1, "range", &light.range, 1);
			print_numbers("light", i, -1, "inner_cone", &light.inner_cone, 1);
			print_numbers("light", i, -1, "outer_cone", &light.outer_cone, 1);
		}
}

/* Prints the roots in the scene's order, each with its subtree: the nodes after it that are no roots. */
static void print_frame(const hob_rt_asset *asset, hob_rt_instance *instance, const uint8_t *shown,
						uint32_t points)
{
	const char *before = "";
	uint32_t root_count;
	const uint32_t *roots = hob_rt_scene_roots(asset, asset->default_scene, &root_count);
	printf("{\"nodes\":[");
	for (uint32_t r = 0; r < root_count; r++)
		for (uint32_t node = roots[r];
			 node < asset->node_count && (node == roots[r] || hob_rt_parent(asset, node) != HOB_RT_NONE);
			 node++) {
			if (shown[node] != 1)
				continue;
			printf("%s[", before);
			for (int i = 0; i < 16; i++)
				printf("%s%.9g", i ? "," : "", (double)hob_rt_global(instance, node)[i]);
			printf("]");
			before = ",";
		}
	printf("],\"points\":[");
	print_points(asset, instance, shown, points);
	printf("],\"driven\":{\"\":0");
	print_driven(asset, instance);
	printf("}}");
}

static void print_clip(const hob_rt_asset *asset, hob_rt_instance *instance, const uint8_t *shown,
					   uint32_t clip, const double *times, int count, uint32_t points, hob_rt_pose *pose)
{
	printf("{\"times\":[");
	for (int k = 0; k < count; k++)
		printf("%s%.17g", k ? "," : "", times[k]);
	printf("],\"frames\":[");
	for (int k = 0; k < count; k++) {
		printf("%s", k ? "," : "");
		hob_rt_sample(asset, clip, times[k], NULL, pose);
		hob_rt_apply(pose, instance);
		hob_rt_update(instance);
		print_frame(asset, instance, shown, points);
	}
	printf("]}");
}

int main(int argc, char **argv)
{
	hob_rt_asset *asset;
	hob_rt_instance *instance;
	hob_rt_pose *pose;
	hob_rt_error error;
	if (argc < 3) {
		fputs("usage: runtime_dump OUT/model.gltf POINTS [TIME...]\n", stderr);
		return 2;
	}
	hob_rt_files files = {load(argv[1], ".meshes"), load(argv[1], ".materials"), load(argv[1], ".scene"),
						  load(argv[1], ".animations")};
	if (!hob_rt_open(&files, NULL, &asset, &error) || !hob_rt_instance_open(asset, &instance, &error) ||
		!hob_rt_pose_open(asset, &pose, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	/* per node: 1 source node of the default scene, 2 mesh child node of it, 0 other */
	uint8_t *shown = calloc(asset->node_count + 1, 1);
	uint32_t root_count;
	const uint32_t *roots = hob_rt_scene_roots(asset, asset->default_scene, &root_count);
	for (uint32_t i = 0; i < root_count; i++)
		shown[roots[i]] = 1;
	for (uint32_t node = 0; node < asset->node_count; node++)
		if (hob_rt_parent(asset, node) != HOB_RT_NONE && shown[hob_rt_parent(asset, node)])
			shown[node] = 1;
	for (uint32_t d = 0; d < asset->draw_count; d++)
		if (shown[asset->draws[d].node])
			shown[asset->draws[d].node] = 2;
	printf("{\"rest\":");
	print_frame(asset, instance, shown, (uint32_t)atoi(argv[2]));
	printf(",\"clips\":[");
	for (uint32_t c = 0; c < asset->clip_count && argc == 3; c++) {
		const hob_rt_clip *clip = &asset->clips[c];
		double times[9];
		for (int k = 0; k < 9; k++)
			times[k] = clip->start + ((double)clip->end - clip->start) * k / 8;
		printf("%s", c ? "," : "");
		print_clip(asset, instance, shown, c, times, 9, (uint32_t)atoi(argv[2]), pose);
	}
	if (argc > 3 && asset->clip_count > 0) {
		double times[64];
		int count = argc - 3 < 64 ? argc - 3 : 64;
		for (int k = 0; k < count; k++)
			times[k] = atof(argv[3 + k]);
		print_clip(asset, instance, shown, 0, times, count, (uint32_t)atoi(argv[2]), pose);
	}
	puts("]}");
	hob_rt_pose_close(pose);
	hob_rt_instance_close(instance);
	hob_rt_close(asset);
	free(shown);
	free((void *)(uintptr_t)files.meshes.data);
	free((void *)(uintptr_t)files.materials.data);
	free((void *)(uintptr_t)files.scene.data);
	free((void *)(uintptr_t)files.animations.data);
	return 0;
}
