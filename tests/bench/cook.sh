#!/bin/sh
# Whole cooks (file in, packed files out) beside Debian's gltfpack on the same file and Assimp with the flags and levels of
# detail of the reference converter: CPU seconds of whole processes, ratios, and bytes of quantised and encoded meshes.
#   cmake --preset release && ninja -C build/release libhob_cook.a
#   tests/bench/cook.sh build/release [MODEL...]     needs gltfpack (apt-get install gltfpack)
# Without models: those of the corpus that are large, and grids of up to 5 million triangles that its generator makes.
set -e
build=$1
shift
here=$(dirname "$0")
command -v gltfpack >/dev/null || { echo "cook: gltfpack is missing: apt-get install gltfpack" >&2; exit 2; }
${CC:-cc} -O3 -ffp-contract=off -std=gnu11 -Wall -Wextra -I"$here/../.." -DHOB_VERSION='"bench"' "$here/cook_bench.c" \
	-Wl,--start-group "$build"/libhob_*.a -Wl,--end-group -lassimp -lmeshoptimizer -lcjson -lzstd -ldeflate -lcrypto -lxxhash -lexpat \
	$(for l in libwebp draco libavif libtiff-4; do pkg-config --libs "$l" 2>/dev/null; done) \
	$([ -e /usr/include/OpenEXR/openexr.h ] && echo -lOpenEXRCore) $([ -e /usr/include/astcenc.h ] && echo -lastcenc) \
	-lstdc++ -lm -lpthread \
	-o "$build/cook_bench"
if [ $# -eq 0 ]; then
	corpus=${HOB_CORPUS:-$here/../../../shared/corpus}
	[ -d "$corpus" ] || { echo "cook: name models, or a corpus with HOB_CORPUS" >&2; exit 2; }
	made=$build/bench-models
	mkdir -p "$made"
	make() {
		[ -e "$made/$1" ] || python3 "$corpus/gen/gen_big.py" "$made/$1" --tris "$2" --prims "$3" >/dev/null
		set -- "$made/$1"
		models="$models $1"
	}
	khronos=$corpus/gltf/khronos
	models="$corpus/gltf/bevy/FlightHelmet/FlightHelmet.gltf $khronos/TransmissionTest/glTF/TransmissionTest.gltf
		$khronos/AnisotropyStrengthTest/glTF-Binary/AnisotropyStrengthTest.glb $corpus/gltf/playcanvas/cave.glb
		$khronos/MetalRoughSpheresNoTextures/glTF-Binary/MetalRoughSpheresNoTextures.glb"
	make 100k.glb 100000 1
	make 500k.obj 500000 1
	make 1m-16.glb 1000000 16
	make 2m.obj 2000000 4
	make 2m.glb 2000000 1
	make 5m-4.glb 5000000 4
	# shellcheck disable=SC2086
	set -- $models
fi
exec "$build/cook_bench" "$@"
