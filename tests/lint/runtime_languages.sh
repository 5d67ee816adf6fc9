#!/bin/sh
# core/runtime is linked by other people's renderers: it must compile alone, without a warning, as C99 and as C++11, by
# every compiler that is here, and its header likewise.
cd "$(dirname "$0")/../.." || exit 2
bad=0
for compiler in "gcc -std=c99 -x c" "g++ -std=c++11 -x c++" "clang -std=c99 -x c" "clang++ -std=c++11 -x c++"; do
	command -v "${compiler%% *}" >/dev/null || continue
	for file in core/runtime/*.c; do
		# shellcheck disable=SC2086
		$compiler -pedantic -Wall -Wextra -Wshadow -Wcast-qual -Wvla -Werror -fsyntax-only "$file" || bad=1
	done
	printf '#include "core/runtime/hob_runtime.h"\n' |
		$compiler -pedantic -Wall -Wextra -Werror -fsyntax-only -I. - || bad=1
done
exit $bad
