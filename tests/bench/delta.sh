#!/bin/sh
# Bytes that a client fetches after one mesh of a scene of many changed, beside the whole blob: ./dev bench delta [MESHES]
exec python3 "$(dirname "$0")/delta_bench.py" "$@"
