#!/bin/sh
# Memory of large scenes: one grid of so many million triangles as a GLB, behind the word obj as an OBJ, cooked by default settings.
#   cmake --preset release && ninja -C build/release hob hob-worker
#   tests/bench/scenes.sh build/release [MILLIONS...] [obj MILLIONS...] [-- OPTION...]
# Without numbers: 1 5 20. OPTIONs are those of hob cook. Needs /usr/bin/time, and on disk three times the size of the GLB, which
# is 22 bytes a triangle (an OBJ: 65). The peak is resident memory of the cook process; what it returns is in a file of memory beside that.
set -e
build=$1
shift
here=$(dirname "$0")
sizes=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	sizes="$sizes $1"
	shift
done
[ $# -eq 0 ] || shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${CC:-cc} -O2 -std=gnu11 -Wall -Wextra "$here/scenes_make.c" -o "$work/make" -lm
format=glb
printf '%14s %10s %10s %8s %8s %14s %12s\n' triangles 'source MB' 'peak MB' 'x source' 'CPU s' 'cooked B/tri' 'us/tri'
for millions in ${sizes:-1 5 20}; do
	if [ "$millions" = obj ]; then
		format=obj
		continue
	fi
	"$work/make" 1000 $((millions * 500)) "$format" >"$work/grid.$format"
	/usr/bin/time -o "$work/time" -f '%M %U %S' "$build/hob" cook "$work/grid.$format" -o "$work/out" --quiet "$@" || true
	tail -1 "$work/time" | awk -v source="$(stat -c %s "$work/grid.$format")" -v triangles="$((millions * 1000000))" -v format="$format" \
		-v cooked="$(stat -c %s "$work/out/grid.$format.meshes" 2>/dev/null || echo 0)" \
		'{ printf "%10d %s %10.0f %10.0f %8.1f %8.1f %14.1f %12.2f\n", triangles, format, source / 1e6, $1 * 1024 / 1e6, $1 * 1024 / source,
			$2 + $3, cooked / triangles, ($2 + $3) * 1e6 / triangles }'
	rm -rf "$work/out" "$work/grid.$format"
done
