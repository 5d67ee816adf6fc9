/* touch.h - calls every function of the runtime on an opened asset and reads all its data, so that a
 * sanitizer finds hostile data that opening accepted. Shared with the fuzz target: libc only, no test
 * framework. */
#ifndef HOB_TEST_TOUCH_H
#define HOB_TEST_TOUCH_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/runtime/hob_runtime.h"

static volatile uint32_t touch_sink;

static inline void touch_bytes(const void *data, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)data;
	uint32_t sum = 0;
	for (size_t i = 0; i < size; i++)
		sum += bytes[i];
	touch_sink += sum;
}

static inline void touch_text(const char *text)
{
	touch_bytes(text, strlen(text));
}

static inline void touch_clusters(const hob_rt_asset *asset, uint32_t mesh)
{
	static const float identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, eye[3] = {1, 2, 3};
	hob_rt_clusters clusters;
	uint32_t indices[3 * 255];
	if (!hob_rt_mesh_clusters(asset, mesh, &clusters))
		return;
	uint8_t *good = (uint8_t *)malloc(clusters.group_count);
	uint32_t *chosen = (uint32_t *)malloc(clusters.cluster_count * sizeof *chosen);
	for (float pixels = 0; good && chosen && pixels < 20; pixels += 9) {
		uint32_t count = hob_rt_choose_clusters(&clusters, identity, eye, 1000, pixels, good, chosen);
		for (uint32_t i = 0; i < count; i++)
			touch_bytes(indices,
						hob_rt_cluster_indices(asset, &clusters, chosen[i], indices) * sizeof *indices);
	}
	free(good);
	free(chosen);
}

static inline void touch_mesh(const hob_rt_asset *asset, uint32_t index)
{
	const hob_rt_mesh *mesh = &asset->meshes[index];
	touch_text(mesh->name);
	for (uint32_t l = 0; l < mesh->lod_count; l++) {
		const hob_rt_lod *lod = &mesh->lods[l];
		touch_bytes(lod->indices, (size_t)lod->index_count * lod->index_bytes);
		const hob_pk_lod_attributes *errors = hob_rt_lod_attributes(asset, mesh, l);
		touch_bytes(errors, errors ? sizeof *errors : 0);
		const hob_pk_meshlet *meshlets = hob_rt_meshlets(asset, lod);
		uint32_t vertex_count, triangle_size;
		const uint32_t *vertices = hob_rt_meshlet_vertices(asset, &vertex_count);
		const uint8_t *triangles = hob_rt_meshlet_triangles(asset, &triangle_size);
		for (uint32_t i = 0; i < lod->meshlet_count; i++) {
			touch_bytes(vertices + meshlets[i].vertex_offset, (size_t)meshlets[i].vertex_count * 4);
			touch_bytes(triangles + meshlets[i].triangle_offset, (size_t)meshlets[i].triangle_count * 3);
		}
	}
	touch_clusters(asset, index);
	for (uint32_t a = 0; a < mesh->attribute_count; a++)
		for (uint32_t v = 0; v < mesh->vertex_count; v++) {
			float value[4];
			hob_rt_read_vertex(mesh, &mesh->attributes[a], v, value);
			touch_bytes(value, sizeof value);
		}
	for (uint32_t m = 0; m < mesh->morph_count; m++) {
		uint32_t count;
		const hob_pk_delta *deltas = hob_rt_deltas(asset, mesh->morph_first + m, &count);
		touch_bytes(deltas, count * sizeof *deltas);
		touch_text(hob_rt_morph_name(asset, mesh->morph_first + m));
	}
	for (uint32_t v = 0; v < asset->variant_count; v++)
		touch_sink += hob_rt_variant_material(asset, index, v);
}

static inline void touch_tables(const hob_rt_asset *asset)
{
	for (uint32_t i = 0; i < asset->mesh_count; i++)
		touch_mesh(asset, i);
	for (uint32_t i = 0; i < asset->material_count; i++) {
		const hob_pk_material *material = hob_rt_material(asset, i);
		touch_bytes(material, sizeof *material);
		touch_text(hob_rt_material_name(asset, i));
		for (int slot = 0; slot < 24; slot++)
			if (material->textures[slot] != HOB_RT_NONE)
				touch_sink += hob_rt_texref(asset, material->textures[slot])->image;
	}
	for (uint32_t i = 0; i < asset->texref_count; i++) {
		const hob_pk_texref *ref = hob_rt_texref(asset, i);
		if (ref->image != HOB_RT_NONE)
			touch_text(hob_rt_image_name(asset, ref->image));
		if (ref->sampler != HOB_RT_NONE)
			touch_sink += hob_rt_sampler(asset, ref->sampler)->mag;
	}
	for (uint32_t i = 0; i < asset->variant_count; i++)
		touch_text(hob_rt_variant_name(asset, i));
	for (uint32_t i = 0; i < asset->camera_count; i++)
		touch_bytes(hob_rt_camera(asset, i), sizeof(hob_pk_camera));
	for (uint32_t i = 0; i < asset->light_count; i++)
		touch_bytes(hob_rt_light(asset, i), sizeof(hob_pk_light));
	for (uint32_t i = 0; i < asset->scene_count; i++) {
		uint32_t count;
		const uint32_t *roots = hob_rt_scene_roots(asset, i, &count);
		touch_bytes(roots, count * sizeof *roots);
		touch_text(hob_rt_scene_name(asset, i));
	}
	for (uint32_t i = 0; i < asset->node_count; i++) {
		touch_text(hob_rt_node_name(asset, i));
		touch_sink += hob_rt_find_next(asset, i) + hob_rt_parent(asset, i) + hob_rt_node_camera(asset, i) +
					  hob_rt_node_light(asset, i);
	}
}

static inline void touch_motion(const hob_rt_asset *asset, hob_rt_instance *instance)
{
	hob_rt_player *player;
	if (!hob_rt_player_open(asset, 2, &player, NULL))
		return;
	for (uint32_t i = 0; i < asset->clip_count; i++) {
		touch_text(asset->clips[i].name);
		hob_rt_player_play(player, i, 0.3f, i % 2 ? -1.0f : 1.0f, i % 2 == 0);
		if (i % 3 == 2)
			hob_rt_player_add(player, i, 0.5f, 0, 1, true);
		for (int step = 0; step < 3; step++)
			hob_rt_player_advance(player, 0.21, instance);
		hob_rt_update(instance);
		if (i == 15)
			break;
	}
	hob_rt_player_close(player);
	for (uint32_t i = 0; i < asset->skin_count; i++) {
		size_t joints = asset->skins[i].joint_count;
		float *room = (float *)malloc(joints * 28 * sizeof *room + 1);
		touch_text(asset->skins[i].name);
		if (room) {
			hob_rt_palette(instance, i, room, room + joints * 16);
			touch_bytes(room, joints * 28 * sizeof *room);
		}
		free(room);
	}
	for (uint32_t i = 0; i < asset->draw_count; i++) {
		float min[3], max[3];
		const hob_rt_draw *draw = &asset->draws[i];
		touch_bytes(hob_rt_weights(instance) + draw->weight_first, draw->weight_count * sizeof(float));
		touch_sink += hob_rt_draw_bounds(instance, i, min, max);
		if (draw->material != HOB_RT_NONE)
			touch_text(hob_rt_material_name(asset, draw->material));
	}
}

static inline void touch_asset(const hob_rt_asset *asset)
{
	hob_rt_instance *instance;
	touch_tables(asset);
	if (!hob_rt_instance_open(asset, &instance, NULL))
		return;
	touch_motion(asset, instance);
	touch_bytes(hob_rt_globals(instance), (size_t)asset->node_count * 64);
	hob_rt_instance_close(instance);
}

#endif
