#!/bin/sh
# Latency of other clients while encoded uploads of gigabytes arrive, beside nginx: see uploads_bench.py.
set -e
build=$1
here=$(dirname "$0")
${CC:-cc} -O2 -D_GNU_SOURCE -Wall -Wextra "$here/http_load.c" -o "$build/http_load"
HOB=$build/hob
export HOB
exec python3 "$here/uploads_bench.py" "$@"
