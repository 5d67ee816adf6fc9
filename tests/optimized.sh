#!/bin/sh
# optimized.sh HOB COMMAND...: runs a test in which sanitizers find nothing, because it looks at pictures, pages or files and other
# tests run the same code under them. ./dev test names an optimised hob in HOB_OPTIMIZED, which then takes the place of HOB in the
# environment and among the arguments. Without that variable the test runs the programs of its own build.
built=$1
shift
taken=${HOB_OPTIMIZED:-$built}
left=$#
while [ "$left" -gt 0 ]; do
	argument=$1
	shift
	[ "$argument" != "$built" ] || argument=$taken
	set -- "$@" "$argument"
	left=$((left - 1))
done
HOB=$taken HOB_BUILD=$(dirname "$built") exec "$@"
