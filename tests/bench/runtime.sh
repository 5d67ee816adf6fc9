#!/bin/sh
# Speed of core/runtime beside straightforward implementations of the same work, in one process and on the same data; then
# opening 100 MB of cooked scene beside Assimp's reading of its source and a memcpy.
#   tests/bench/runtime.sh [BUILD [MEGABYTES]]
set -e
build=${1:-build/release}
here=$(dirname "$0")
flags="-O3 -ffp-contract=off -fno-math-errno -std=gnu11 -Wall -Wextra -I$here/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
${CC:-cc} $flags "$here/runtime_bench.c" "$here"/../../core/runtime/*.c -lcmocka -lm -o "$folder/runtime_bench"
"$folder/runtime_bench"
${CC:-cc} $flags "$here/runtime_open.c" "$here"/../../core/runtime/*.c -lassimp -lm -o "$folder/runtime_open"
"$folder/runtime_open" "$build/hob" "$folder" "${2:-100}"
