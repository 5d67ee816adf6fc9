#!/bin/sh
# Speed of core/mesh by stage on one mesh, beside the plain calls of meshoptimizer that do the nearest thing, and two
# meshes on one and on two threads.
#   cmake --preset release && ninja -C build/release libhob_mesh.a
#   tests/bench/meshes.sh build/release [triangles]
set -e
build=$1
shift
here=$(dirname "$0")
${CC:-cc} -O3 -ffp-contract=off -std=gnu11 -Wall -Wextra -I"$here/../.." "$here/meshes_bench.c" "$build/libhob_mesh.a" \
	"$build/libhob_model.a" "$build/libhob_base.a" -lmeshoptimizer -lstdc++ -lm -lpthread -o "$build/meshes_bench"
exec "$build/meshes_bench" "$@"
