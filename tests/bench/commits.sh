#!/bin/sh
# How long a daemon takes to see a push to a large repository and to list its history: see commits_bench.py.
set -e
HOB=$1/hob
shift
export HOB
exec python3 "$(dirname "$0")/commits_bench.py" "$@"
