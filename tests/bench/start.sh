#!/bin/sh
# A start with nothing to do, beside git status, ninja and watchman on the same tree: see start.py.
set -e
for program in git ninja watchman; do
	command -v $program >/dev/null || echo "bench: no $program, so it is left out (apt-get install $program)" >&2
done
HOB=$1/hob
shift
export HOB
exec python3 "$(dirname "$0")/start.py" "$@"
