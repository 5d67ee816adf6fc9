#!/bin/sh
# Levels of detail: the error that each states beside the one that sampling both surfaces finds, and the time of baking.
#   cmake --preset release && ninja -C build/release libhob_import.a libhob_mesh.a
#   tests/bench/lods.sh build/release [--each] [--points=N] [--most=N] [--draw=SHEET.png] [MODEL...]
# --points: random points a triangle, on either surface (100; 0 measures time alone); --most: at most so many a surface and
# level (2,000,000); --each prints every level; --draw compares pictures of each level with the full mesh, as large as they are
# where its error is a pixel, and writes a row for each model. Fails when a level is farther off than it states. Without models: 25 of the
# corpus.
set -e
build=$1
shift
here=$(dirname "$0")
${CC:-cc} -O3 -ffp-contract=off -std=gnu11 -Wall -Wextra -I"$here/../.." "$here/lods_bench.c" "$here/lods_draw.c" \
	-Wl,--start-group "$build"/libhob_import.a "$build"/libhob_mesh.a "$build"/libhob_model.a "$build"/libhob_base.a -Wl,--end-group \
	-lassimp -lmeshoptimizer -lcjson -ldeflate -lexpat -lzstd $(pkg-config --libs draco 2>/dev/null) -lstdc++ -lm -lpthread -o "$build/lods_bench"
models=
for option; do
	case $option in -*) ;; *) models=1 ;; esac
done
if [ -z "$models" ]; then
	corpus=${HOB_CORPUS:-$here/../../../shared/corpus}
	[ -d "$corpus" ] || { echo "lods: name models, or a corpus with HOB_CORPUS" >&2; exit 2; }
	# shellcheck disable=SC2046
	set -- "$@" $(sed -n "s|^\t\"\(.*\)\",$|$corpus/\1|p" "$here/../unit/cook/lod_errors.c")
fi
exec "$build/lods_bench" "$@"
