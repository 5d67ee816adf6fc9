#!/bin/sh
# optimized.sh all|workers HOB COMMAND...: runs a test with other programs than those of its own build, when ./dev test names some.
# all: no sanitizer finds anything in this test, because it looks at pictures, pages or files and other tests run the same code under
# them. HOB_OPTIMIZED is an optimised hob. workers: the test is about the daemon. HOB_WITH_WORKERS is a hob of this build whose folder
# has optimised workers. What is named takes the place of HOB in the environment and among the arguments.
case $1 in
all) taken=${HOB_OPTIMIZED:-$2} ;;
workers) taken=${HOB_WITH_WORKERS:-$2} ;;
esac
built=$2
shift 2
left=$#
while [ "$left" -gt 0 ]; do
	argument=$1
	shift
	[ "$argument" != "$built" ] || argument=$taken
	set -- "$@" "$argument"
	left=$((left - 1))
done
HOB=$taken HOB_BUILD=$(dirname "$built") exec "$@"
