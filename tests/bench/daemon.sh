#!/bin/sh
# Every figure that the daemon promises, in one table: a start with nothing to do beside git, ninja and watchman; a save to its blob in
# a client's hands on disk and in memory; a job beside its cook; a stored blob beside a bare write. About ten minutes, most of them for
# making and cooking the tree the first time; TREE keeps it.
#   ./dev bench daemon [TREE]
set -e
here=$(dirname "$0")
sh "$here/start.sh" "$1" ${2:+--tree "$2"}
for folder in /tmp /dev/shm; do
	echo "on the file system of $folder:"
	TMPDIR=$folder sh "$here/save.sh" "$1"
	sh "$here/jobs.sh" "$1" $folder
done
