/* No level of detail of 25 real models is farther from the full mesh than it states. The corpus is not part of the project:
 * HOB_CORPUS names its folder, "../shared/corpus" beside the checkout otherwise; without one the test is skipped.
 * tests/bench/lods.sh samples the same models ten times as densely. */
#include "tests/surface_oracle.h"
#include "tests/unit/support.h"

#include "core/import/importer.h"
#include "core/mesh/bake.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

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

static const char *corpus(void)
{
	const char *root = getenv("HOB_CORPUS");
	return root && root[0] ? root : HOB_TEST_DATA "/../../../shared/corpus";
}

static bool read_file(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	char name[PATH_MAX];
	snprintf(name, sizeof name, "%s/%.*s", corpus(), HOB_FMT(path));
	FILE *file = fopen(name, "rb");
	if (!file || fseek(file, 0, SEEK_END) != 0)
		return hob_fail(err, MISSING_FILE, "'%s' cannot be read", name);
	size_t size = (size_t)ftell(file);
	rewind(file);
	uint8_t *data = hob_arena_alloc(user, size, 16);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, size, file), size);
	fclose(file);
	*out = (hob_bytes){data, size};
	return true;
}

static uint32_t check_mesh(const char *model, uint32_t id, const hob_baked_mesh *mesh, uint32_t *levels)
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
		soup_free(level);
		++*levels;
	}
	soup_free(full);
	return above;
}

static uint32_t check_model(const char *name, uint32_t *levels)
{
	hob_arena arena, scratch;
	hob_arena_init(&arena, (size_t)2 << 30);
	hob_arena_init(&scratch, (size_t)2 << 30);
	static hob_notes notes;
	notes = (hob_notes){.arena = &arena};
	hob_io io = {.user = &arena, .read = read_file};
	hob_error err = {0};
	hob_model model;
	const hob_importer *importer;
	hob_space_override space = {0};
	hob_import_request request = {.io = &io,
								  .path = hob_str_of(name),
								  .result = &arena,
								  .scratch = &scratch,
								  .notes = &notes,
								  .space = &space};
	if (!read_file(&arena, request.path, &request.file, &err) ||
		!hob_import(&request, &importer, &model, &err))
		fail_msg("%s: %s", name, err.context);
	uint32_t above = 0;
	const hob_mesh_options options = {.lod_max = 7, .lod_error = 0.1f};
	for (uint32_t i = 0; i < model.mesh_count; i++) {
		hob_baked_mesh mesh;
		if (model.meshes[i].topology != HOB_TRIANGLES)
			continue;
		if (!hob_mesh_bake(&model.meshes[i], &options, &arena, &scratch, NULL, &mesh, &err))
			fail_msg("%s: %s", name, err.context);
		above += check_mesh(name, i, &mesh, levels);
	}
	hob_arena_release(&arena);
	hob_arena_release(&scratch);
	return above;
}

static void stated_errors_hold(void **state)
{
	(void)state;
	if (access(corpus(), R_OK) != 0) {
		print_message("skipped: there is no corpus at %s (set HOB_CORPUS)\n", corpus());
		skip();
	}
	uint32_t above = 0, levels = 0;
	for (size_t i = 0; i < HOB_COUNT_OF(models); i++)
		above += check_model(models[i], &levels);
	print_message("%u levels of %zu models\n", levels, HOB_COUNT_OF(models));
	assert_true(levels > 200);
	assert_int_equal(above, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(stated_errors_hold)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
