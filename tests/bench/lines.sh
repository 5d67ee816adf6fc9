#!/bin/sh
# Lines of C in each part of the tree: ./dev bench lines [REV ...], beside each other for several commits.
set -e
shift
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- HEAD
printf '%-24s' part
for rev; do printf '%12s' "$(git rev-parse --short "$rev")"; done
echo
for part in server server/engine server/cook server/store server/http server/cli core core/import schema tests; do
	printf '%-24s' "$part"
	for rev; do
		printf '%12s' "$(git ls-tree -r --name-only "$rev" -- "$part" | grep -E '\.(c|h|cpp)$' | sed "s|^|$rev:|" | xargs -r git show |
			wc -l)"
	done
	echo
done
