#!/bin/sh
# Speed of core/runtime beside straightforward implementations of the same work, in one process and on the same data.
#   tests/bench/runtime.sh [BUILD]
set -e
build=${1:-${TMPDIR:-/tmp}}
here=$(dirname "$0")
${CC:-cc} -O3 -ffp-contract=off -fno-math-errno -std=gnu11 -Wall -Wextra -I"$here/../.." "$here/runtime_bench.c" \
	"$here"/../../core/runtime/*.c -lcmocka -lm -o "$build/runtime_bench"
exec "$build/runtime_bench"
