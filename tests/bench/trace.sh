#!/bin/sh
# Functions that one save and one GET run through: see trace.py. Builds an instrumented daemon into build/trace.
set -e
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
build=${HOB_TRACE_BUILD:-$source/build/trace}
[ -f "$build/build.ninja" ] || cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
	-DCMAKE_C_FLAGS="-O0 -finstrument-functions -finstrument-functions-exclude-file-list=/usr/include" >/dev/null
ninja -C "$build" --quiet hob hob-worker
cc -O2 -shared -fPIC -o "$build/trace_hooks.so" "$here/trace_hooks.c"
shift
exec python3 "$here/trace.py" "$build" "$@"
