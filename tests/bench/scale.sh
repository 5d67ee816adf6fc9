#!/bin/sh
# How each cost grows with the tree: start, memory, first page, search, sync, save, disk. See scale.py.
HOB=$1/hob
shift
export HOB
exec python3 "$(dirname "$0")/scale.py" "$@"
