#!/bin/sh
# core/runtime is linked by other people's renderers: the files that its README lists must build alone, without a warning,
# as C99 and as C++11, by every compiler that is here, into a program that includes its header and links libm alone.
cd "$(dirname "$0")/../.." || exit 2
alone=$(mktemp -d)
trap 'rm -rf "$alone"' EXIT
sed -n 's/^    \(\(core\|schema\)\/.*\)/\1/p' core/runtime/README.md | tr ' ' '\n' | while read -r pattern; do
	for file in $pattern; do
		mkdir -p "$alone/$(dirname "$file")"
		cp "$file" "$alone/$file" || exit 1
	done
done || exit 1
cd "$alone" || exit 2
cat >program.c <<'TXT'
#include "core/runtime/hob_runtime.h"
int main(void)
{
	hob_rt_files files = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
	hob_rt_asset *asset = 0;
	hob_rt_error error;
	return hob_rt_open(&files, 0, &asset, &error) ? 1 : 0;
}
TXT
flags="-pedantic -Wall -Wextra -Wshadow -Wcast-qual -Wvla -Werror"
for compiler in "gcc -std=c99 -x c" "g++ -std=c++11 -x c++" "clang -std=c99 -x c" "clang++ -std=c++11 -x c++"; do
	command -v "${compiler%% *}" >/dev/null || continue
	# shellcheck disable=SC2086
	$compiler $flags program.c core/runtime/*.c -lm -o program && ./program || exit 1
done
exit 0
