#!/bin/sh
# Hierarchies of clusters: the time to build one, its size, and the time in which the runtime makes a cut of it.
#   cmake --preset release && ninja -C build/release libhob_mesh.a libhob_runtime.a
#   tests/bench/clusters.sh build/release [MILLIONS...]
# Measures closed wavy rings of so many million triangles; without numbers: 0.1 1 10.
set -e
build=$1
shift
here=$(dirname "$0")
${CC:-cc} -O3 -ffp-contract=off -std=gnu11 -Wall -Wextra -I"$here/../.." "$here/clusters_bench.c" \
	-Wl,--start-group "$build"/libhob_mesh.a "$build"/libhob_model.a "$build"/libhob_base.a "$build"/libhob_runtime.a -Wl,--end-group \
	-lmeshoptimizer -lstdc++ -lm -lpthread -o "$build/clusters_bench"
[ $# -gt 0 ] || set -- 0.1 1 10
exec "$build/clusters_bench" "$@"
