#!/bin/sh
# CPU of the rules of schema/rules.def, beside cooks without them: see rules_bench.py. Give it the folders of models.
set -e
exec python3 "$(dirname "$0")/rules_bench.py" "$@"
