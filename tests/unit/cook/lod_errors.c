/* In 25 real models, no level of detail and no cut of a hierarchy of clusters deviates from the full mesh by
 * more than its stated error, and no cut has open edges that the mesh lacks. The stated mean error is right
 * within 20 %, and in half of the levels the measured error reaches 0.7 of the stated one. Skipped without a
 * corpus (corpus_model.h). tests/bench/lods.sh samples the same models ten times as densely. */
#include "corpus_model.h"
#include "tests/surface_oracle.h"

#include "core/mesh/bake.h"
#include "core/mesh/weld.h"

static const char *const models[] = {
	"gltf/bevy/AnisotropyBarnLamp/AnisotropyBarnLamp.gltf",
	"gltf/bevy/Faces/faces.glb",
	"gltf/bevy/FlightHelmet/FlightHelmet.gltf",
	"gltf/bevy/ship/craft_speederD.gltf",
	"gltf/assimp/draco/2CylinderEngine.gltf",
	"gltf/gltf-transform/functions/in/DenseSphere.glb",
	"gltf/gltf-transform/functions/in/ShapeCollection.glb",
	"gltf/khronos/CesiumMan/glTF-Binary/CesiumMan.glb",
	"gltf/khronos/CesiumMilkTruck/glTF-Binary/CesiumMilkTruck.glb",
	"gltf/khronos/Duck/glTF-Binary/Duck.glb",
	"gltf/khronos/IridescenceSuzanne/glTF-Binary/IridescenceSuzanne.glb",
	"gltf/khronos/MorphStressTest/glTF-Binary/MorphStressTest.glb",
	"gltf/meshopt/japanese-bridge-garden/scene.glb",
	"gltf/playcanvas/house.glb",
	"gltf/playcanvas/terrain.glb",
	"gltf/raylib/robot.glb",
	"fbx/assimp/animation_with_skeleton.fbx",
	"fbx/ufbx/blender_293_suzanne_subsurf_uv_7400_binary.fbx",
	"obj/odedstein/goathead/goathead.obj",
	"obj/odedstein/penguin/penguin.obj",
	"obj/odedstein/spot/spot.obj",
	"obj/qt3d/toyplane.obj",
	"obj/qt3d/trefoil.obj",
	"obj/raylib/plane.obj",
	"stl/assimp/Wuson.stl",
};

enum { MOST = 1000 };

/* ---- cuts of hierarchies */

typedef struct totals {
	uint32_t levels, cuts;
	double reached[MOST]; /* per level: measured error divided by the stated one */
} totals_t;

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Finds edges with unequal numbers of triangles on their two sides. With `mark`, marks their end points;
 * returns how many of them have an unmarked end point. */
static uint32_t open_edges(const uint32_t *place, const uint32_t *indices, uint32_t index_count, bool *marked,
						   bool mark)
{
	uint64_t *edges = malloc(index_count * sizeof *edges + 1);
	uint32_t count = 0, open = 0;
	for (uint32_t i = 0; i < index_count; i++) {
		uint64_t a = place[indices[i]], b = place[indices[i % 3 == 2 ? i - 2 : i + 1]];
		if (a != b)
			edges[count++] = (a < b ? a : b) << 33 | (a < b ? b : a) << 1 | (a < b);
	}
	qsort(edges, count, sizeof *edges, ascending);
	for (uint32_t i = 0, next; i < count; i = next) {
		int32_t balance = 0;
		uint32_t low = (uint32_t)(edges[i] >> 33), high = (uint32_t)(edges[i] >> 1);
		for (next = i; next < count && edges[next] >> 1 == edges[i] >> 1; next++)
			balance += edges[next] & 1 ? 1 : -1;
		if (balance == 0)
			continue;
		if (mark)
			marked[low] = marked[high] = true;
		open += !(marked[low] && marked[high]);
	}
	free(edges);
	return open;
}

/* indices: room for all clusters. Returns the largest error in the cut. */
static double take_cut(const hob_baked_mesh *mesh, double tolerance, uint32_t *indices, uint32_t *count)
{
	double error = 0;
	const hob_baked_meshlet *clusters = mesh->meshlets + (mesh->meshlet_count - mesh->cluster_count);
	*count = 0;
	for (uint32_t g = 0; g < mesh->group_count; g++) {
		const hob_baked_cluster_group *group = &mesh->groups[g];
		bool good = g > 0 && (double)group->error <= tolerance;
		for (uint32_t i = good ? group->cluster_count : 0; i < group->cluster_count; i++) {
			uint32_t id = group->cluster_first + i, source = mesh->cluster_sources[id];
			double own = source == HOB_NONE ? 0 : (double)mesh->groups[source].error;
			if (own > tolerance)
				continue;
			error = own > error ? own : error;
			for (uint32_t k = 0; k < clusters[id].triangle_count * 3u; k++)
				indices[(*count)++] =
					mesh->meshlet_vertices[clusters[id].vertex_offset +
										   mesh->meshlet_triangles[clusters[id].triangle_offset + k]];
		}
	}
	return error;
}

static uint32_t check_clusters(const char *model, uint32_t id, const hob_baked_mesh *mesh, hob_arena *arena,
							   totals_t *totals)
{
	uint32_t above = 0, vertices = mesh->mesh.vertex_count;
	if (mesh->group_count == 0)
		return 0;
	uint32_t *place = HOB_NEW(arena, uint32_t, vertices), count;
	uint32_t *indices = HOB_NEW(arena, uint32_t, (size_t)mesh->cluster_count * 372);
	bool *border = HOB_NEW(arena, bool, vertices);
	hob_weld_places(mesh->mesh.position, vertices, arena, place);
	memset(border, 0, vertices);
	open_edges(place, mesh->indices, mesh->lods[0].index_count, border, true);
	soup *full = soup_new(mesh->mesh.position, mesh->indices, mesh->lods[0].index_count);
	for (double part = 0.002; part < 0.1; part *= 5) {
		double stated = take_cut(mesh, part * (double)mesh->sphere[3], indices, &count);
		soup *cut = soup_new(mesh->mesh.position, indices, count);
		double distance = surface_distance(full, cut, 10, 5000);
		uint32_t open = open_edges(place, indices, count, border, false);
		if (distance > stated + 1e-6 * (double)mesh->sphere[3] || open > 0) {
			print_message("%s, mesh %u, cut at %g: states %g, is %g from the full mesh; %u open edges\n",
						  model, id, part, stated, distance, open);
			above++;
		}
		soup_free(cut);
		totals->cuts++;
	}
	soup_free(full);
	return above;
}

static uint32_t check_mesh(const char *model, uint32_t id, const hob_baked_mesh *mesh, totals_t *totals)
{
	uint32_t above = 0;
	if (mesh->lod_count < 2)
		return 0;
	soup *full = soup_new(mesh->mesh.position, mesh->indices, mesh->lods[0].index_count);
	for (uint32_t l = 1; l < mesh->lod_count; l++) {
		const hob_baked_lod *lod = &mesh->lods[l];
		soup *level = soup_new(mesh->mesh.position, mesh->indices + lod->index_first, lod->index_count);
		double distance = surface_distance(full, level, 20, 10000);
		if (distance > (double)lod->error) {
			print_message("%s, mesh %u, level %u: states %g, but is %g from the full mesh\n", model, id, l,
						  (double)lod->error, distance);
			above++;
		}
		double mean = surface_mean(full, level, 20000), least = 1e-6 * (double)mesh->sphere[3];
		if (fabs(mean - (double)lod->mean_error) > 0.2 * mean + least) {
			print_message("%s, mesh %u, level %u: states %g on average, but is %g\n", model, id, l,
						  (double)lod->mean_error, mean);
			above++;
		}
		soup_free(level);
		assert_true(totals->levels < MOST);
		totals->reached[totals->levels++] = lod->error > 0 ? distance / (double)lod->error : 1;
	}
	soup_free(full);
	return above;
}

static uint32_t check_model(const char *name, totals_t *totals)
{
	hob_arena arena, scratch;
	hob_model model;
	corpus_import(name, &arena, &scratch, &model);
	uint32_t above = 0;
	const hob_mesh_options options = {.lod_max = 7, .lod_error = 0.1f, .clusters = true};
	for (uint32_t i = 0; i < model.mesh_count; i++) {
		if (model.meshes[i].topology != HOB_TRIANGLES)
			continue;
		hob_baked_mesh mesh = hob_mesh_bake(&model.meshes[i], &options, &arena, &scratch, NULL);
		above += check_mesh(name, i, &mesh, totals) + check_clusters(name, i, &mesh, &arena, totals);
	}
	hob_arena_release(&arena);
	hob_arena_release(&scratch);
	return above;
}

static int by_value(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void stated_errors_hold(void **state)
{
	(void)state;
	uint32_t above = 0;
	totals_t totals = {0};
	skip_without_corpus();
	for (size_t i = 0; i < HOB_COUNT_OF(models); i++)
		above += check_model(models[i], &totals);
	qsort(totals.reached, totals.levels, sizeof *totals.reached, by_value);
	double median = totals.reached[totals.levels / 2];
	print_message("%u levels and %u cuts of %zu models; the median level reaches %.2f of what it states\n",
				  totals.levels, totals.cuts, HOB_COUNT_OF(models), median);
	assert_true(totals.levels > 200 && totals.cuts > 30);
	assert_int_equal(above, 0);
	assert_true(median >= 0.7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(stated_errors_hold)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
