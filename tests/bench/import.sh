#!/bin/sh
# Import alone, ours beside Assimp with the flags of the reference converter: CPU seconds and peak memory, process by process.
#   cmake --preset release && ninja -C build/release libhob_import.a
#   tests/bench/import.sh build/release [MODEL...]
# Without models: FBX files of the corpus, the largest of each kind, and one of a million triangles made from a grid;
# the same as COLLADA of 76 MB.
set -e
build=$1
shift
here=$(dirname "$0")
${CC:-cc} -O3 -ffp-contract=off -std=gnu11 -Wall -Wextra -I"$here/../.." "$here/import_bench.c" \
	-Wl,--start-group "$build"/libhob_import.a "$build"/libhob_model.a "$build"/libhob_base.a -Wl,--end-group -lassimp -lmeshoptimizer -lcjson -ldeflate -lexpat -lzstd \
	$(pkg-config --libs draco 2>/dev/null) -lstdc++ -lm -lpthread -o "$build/import_bench"
if [ $# -eq 0 ]; then
	corpus=${HOB_CORPUS:-$here/../../../shared/corpus}
	[ -d "$corpus" ] || { echo "import: name models, or a corpus with HOB_CORPUS" >&2; exit 2; }
	made=$build/bench-models
	mkdir -p "$made"
	[ -e "$made/grid.fbx" ] || python3 "$here/fbx_grid.py" "$made/grid.fbx" 707
	[ -e "$made/grid.dae" ] || python3 "$here/collada_grid.py" "$made/grid.dae" 707
	# shellcheck disable=SC2046
	set -- "$made/grid.fbx" "$made/grid.dae" $(ls -S "$corpus"/fbx/ufbx/*7[457]00_binary.fbx | head -6) $(ls -S "$corpus"/fbx/ufbx/*7[457]00_ascii.fbx | head -4)
fi
exec "$build/import_bench" "$@"
