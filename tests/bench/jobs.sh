#!/bin/sh
# Cost of a job beside its cook (sent to a waiting worker, cooked, answered, taken), and of storing a blob of 1 MiB beside a
# bare write of the same durability: a file without a name, linked when it is complete, not synced.
#   ./dev bench jobs [FOLDER]     FOLDER: on the file system to measure (default: a folder in /tmp)
set -e
build=$1
here=$(dirname "$0")
folder=$(mktemp -d "${2:-/tmp}/hob-bench-XXXXXX")
trap 'rm -rf "$folder"' EXIT
${CC:-cc} -O2 -D_GNU_SOURCE -std=gnu11 -Wall -Wextra -I"$here/../.." "$here/jobs_bench.c" -Wl,--start-group "$build"/libsrv_worker.a \
	"$build"/libsrv_protocol.a "$build"/libsrv_store.a "$build"/libsrv_watch.a "$build"/libsrv_fs.a "$build"/libsrv_log.a \
	"$build"/libhob_*.a -Wl,--end-group -luv -lsqlite3 -lseccomp -lcjson -lzstd -lcrypto -lxxhash -lm -lpthread -o "$build/jobs_bench"
"$build/jobs_bench" "$build/hob-worker" "$folder"
python3 "$here/first_cook.py" "$build"
