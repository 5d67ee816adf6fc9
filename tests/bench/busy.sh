#!/bin/sh
# Latency while everything happens at once: see busy.py.
set -e
build=$1
here=$(dirname "$0")
[ -n "$HOB_BENCH_BUILT" ] || ${CC:-cc} -O2 -D_GNU_SOURCE -Wall -Wextra "$here/http_load.c" -o "$build/http_load"
exec python3 "$here/busy.py" "$@"
