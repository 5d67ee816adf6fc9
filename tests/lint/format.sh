#!/bin/sh
# format.sh [--fix]: is every C file as clang-format 14 writes it (other versions differ)? --fix rewrites those that are
# not. Prints the first place of each such file; exits 1 when there is any, 77 (skipped) without clang-format 14.
cd "$(dirname "$0")/../.." || exit 2
format=
for name in clang-format-14 clang-format; do
	if [ -z "$format" ] && $name --version 2>/dev/null | grep -q 'version 14[.]'; then format=$name; fi
done
if [ -z "$format" ]; then
	echo "skipped: there is no clang-format 14, which decides in CI (apt-get install clang-format on Debian 12; elsewhere: pip install clang-format==14.0.6)"
	exit 77
fi
files=$(git ls-files --deduplicate '*.c' '*.h' '*.cpp' 2>/dev/null || find core server schema tests web -name '*.[ch]' -o -name '*.cpp')
existing=$(for file in $files; do [ -f "$file" ] && echo "$file"; done)
if [ "$1" = --fix ]; then
	exec $format -i $existing
fi
places=$($format --dry-run -Werror --ferror-limit=1 $existing 2>&1 | sed -n 's/^\([^ :]*:[0-9]*\):.* error: .*/\1/p' | sort -u -t: -k1,1)
[ -z "$places" ] && echo "format: $(echo "$existing" | wc -l) files" && exit 0
echo "$places" | sed 's/$/: not as clang-format 14 writes it; .\/dev fmt mends it/'
exit 1
