#!/bin/sh
# Pictures of levels of detail beside those of npm's gltfpack (tests/oracle) at equal numbers of triangles: the root of the
# mean square of differences from the full mesh, of 255, over six views, for each level of the largest mesh of a model.
#   cmake --preset release && ninja -C build/release libhob_import.a libhob_mesh.a
#   tests/bench/pictures.sh build/release [--sheet=SHEET.png] [MODEL...]
# The sheet (pictures.png in the build folder) has a row for each pair: the full mesh, Hob, gltfpack, from two sides. Normals
# and the texture of base colour are drawn. Without models: 30 of the corpus, with seams, skins, foliage, hard edges and scans.
set -e
build=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
${CC:-cc} -O3 -ffp-contract=off -std=gnu11 -Wall -Wextra -I"$here/../.." "$here/pictures_bench.c" \
	-Wl,--start-group "$build"/libhob_import.a "$build"/libhob_mesh.a "$build"/libhob_model.a "$build"/libhob_base.a -Wl,--end-group \
	-lassimp -lmeshoptimizer -lcjson -ldeflate -lexpat -lzstd $(pkg-config --libs draco 2>/dev/null) -lstdc++ -lm -lpthread -o "$build/pictures_bench"
sheet=$build/pictures.png
case $1 in --sheet=*) sheet=${1#--sheet=} && shift ;; esac
if [ $# -eq 0 ]; then
	corpus=${HOB_CORPUS:-$here/../../../shared/corpus}
	[ -d "$corpus" ] || { echo "pictures: name models, or a corpus with HOB_CORPUS" >&2; exit 2; }
	for model in gltf/bevy/AnisotropyBarnLamp/AnisotropyBarnLamp.gltf gltf/bevy/Faces/faces.glb gltf/bevy/FlightHelmet/FlightHelmet.gltf \
		gltf/bevy/ship/craft_speederD.gltf gltf/assimp/draco/2CylinderEngine.gltf gltf/gltf-transform/functions/in/DenseSphere.glb \
		gltf/khronos/CesiumMan/glTF-Binary/CesiumMan.glb gltf/khronos/CesiumMilkTruck/glTF-Binary/CesiumMilkTruck.glb \
		gltf/khronos/Duck/glTF-Binary/Duck.glb gltf/khronos/IridescenceSuzanne/glTF-Binary/IridescenceSuzanne.glb \
		gltf/khronos/MorphStressTest/glTF-Binary/MorphStressTest.glb gltf/playcanvas/house.glb gltf/playcanvas/terrain.glb \
		gltf/raylib/robot.glb obj/odedstein/goathead/goathead.obj obj/odedstein/penguin/penguin.obj obj/odedstein/spot/spot.obj \
		obj/qt3d/toyplane.obj obj/qt3d/trefoil.obj obj/raylib/plane.obj stl/assimp/Wuson.stl \
		tree/kaykit-dungeon/gltf/barrel_large.gltf.glb tree/kaykit-dungeon/gltf/banner_shield_blue.gltf.glb \
		tree/kaykit-dungeon/gltf/table_long_decorated_A.gltf.glb tree/kaykit-dungeon/gltf/wall_broken.gltf.glb \
		tree/kaykit-dungeon/gltf/keyring.gltf.glb tree/kaykit-dungeon/gltf/chest_gold.glb \
		tree/kaykit-dungeon/gltf/stairs_wood_decorated.gltf.glb tree/kaykit-dungeon/gltf/table_medium_decorated_A.gltf.glb \
		tree/kaykit-dungeon/gltf/coin_stack_medium.gltf.glb; do
		set -- "$@" "$corpus/$model"
	done
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/pictures_bench" "node $here/../oracle/node_modules/gltfpack/cli.js" "$work" "$sheet" "$@"
