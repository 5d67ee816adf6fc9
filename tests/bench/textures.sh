#!/bin/sh
# Quality (mean PSNR) and speed (CPU, one thread) of every texture encoder, over twenty pictures of the corpus or those
# given as color:FILE, alpha:FILE, normal:FILE, mask:FILE. Beside stb_dxt; beside squish, nvtt and astcenc as well where
# they are installed (apt-get install libsquish-dev libnvtt-dev libastcenc-dev g++). Pictures are cropped to 256 x 256.
#   ./dev bench textures [KIND:FILE ...]        HOB_ENCODERS=BC5: only those with it in their names
set -e
build=$1
shift
here=$(dirname "$0")
out=$build/textures_bench
if [ $# -eq 0 ]; then
	corpus=${HOB_CORPUS:-$here/../../../shared/corpus}
	[ -d "$corpus" ] || { echo "no corpus at $corpus; name pictures, or set HOB_CORPUS" >&2; exit 1; }
	helmet=$corpus/gltf/bevy/FlightHelmet/FlightHelmet_Materials
	khronos=$corpus/gltf/khronos
	set -- "color:$khronos/Avocado/glTF/Avocado_baseColor.png" "color:${helmet}_LeatherPartsMat_BaseColor.png" \
		"color:${helmet}_RubberWoodMat_BaseColor.png" "color:${helmet}_GlassPlasticMat_BaseColor.png" \
		"color:${helmet}_MetalPartsMat_BaseColor.png" "color:$khronos/Cube/glTF/Cube_BaseColor.png" \
		"color:$corpus/dae/khronos-source/CesiumMilkTruck/CesiumMilkTruck.png" \
		"color:$corpus/lwo/assimp/LWO2/MappingModes/earthCylindric.jpg" "color:$corpus/obj/raylib/plane_diffuse.png" \
		"color:$corpus/iqm/assimp/Body.jpg" "alpha:${helmet}_LensesMat_BaseColor.png" \
		"alpha:$khronos/ClearCoatTest/glTF/PartialCoating_Alpha.png" \
		"alpha:$khronos/TransmissionTest/glTF/TransmissionTest_images/texture4086.png" \
		"normal:$khronos/Avocado/glTF/Avocado_normal.png" "normal:${helmet}_LeatherPartsMat_Normal.png" \
		"normal:${helmet}_MetalPartsMat_Normal.png" "normal:$khronos/NormalTangentTest/glTF/NormalTangentTest_Normal.png" \
		"mask:$khronos/Avocado/glTF/Avocado_roughnessMetallic.png" "mask:${helmet}_LeatherPartsMat_OcclusionRoughMetal.png" \
		"mask:${helmet}_RubberWoodMat_OcclusionRoughMetal.png"
fi
${CC:-cc} -O3 -ffp-contract=off -std=gnu11 -I"$here/../.." -w -c "$here/textures_bench.c" -o "$out.o"
libs="$build/libhob_texture.a $build/libhob_hash.a $build/libhob_base.a -lzstd -ldeflate -lwebp -ltiff -lOpenEXRCore-3_1 -lavif -lcrypto -lxxhash -lm"
if echo '#include <squish.h>
#include <nvtt/nvtt.h>
#include <astcenc.h>' | ${CXX:-c++} -E -x c++ - >/dev/null 2>&1; then
	# nvtt carries a squish of its own, under the same names: ours must not be seen from there.
	${CXX:-c++} -O2 -DASTCENC_DYNAMIC_LIBRARY "$here/textures_peers.cpp" "$out.o" $libs \
		-Wl,--exclude-libs,ALL -l:libsquish.a -lnvtt -lastcenc -fopenmp -o "$out"
else
	echo "without squish, nvtt and astcenc: they are not installed" >&2
	echo 'void peer_squish(void){} void peer_nvtt(void){} void peer_astc(void){} const int peers_are_there = 0;' |
		${CC:-cc} -w -x c -c - -o "$out.none.o"
	${CXX:-c++} "$out.o" "$out.none.o" $libs $([ -e /usr/include/astcenc.h ] && echo -lastcenc) -o "$out"
fi
"$out" "$@"
