#!/bin/sh
# Hob's HTTP side beside nginx, a bare loop and itself: see http_bench.py.
set -e
build=$1
here=$(dirname "$0")
${CC:-cc} -O2 -D_GNU_SOURCE -Wall -Wextra "$here/http_load.c" -o "$build/http_load"
${CC:-cc} -O2 -D_GNU_SOURCE -DHOB_VERSION="\"bench\"" -Wall -Wextra -I"$here/../.." "$here/http_parts.c" "$build/libsrv_http.a" \
	"$build/libsrv_auth.a" "$build/libsrv_events.a" "$build/libsrv_store.a" "$build/libsrv_watch.a" "$build/libsrv_fs.a" \
	"$build/libsrv_log.a" "$build/libhob_hash.a" "$build/libhob_base.a" -lmicrohttpd -lcjson -lsqlite3 -lzstd -lcrypto -lxxhash \
	-luv -lpthread -lm -o "$build/http_parts"
exec python3 "$here/http_bench.py" "$@"
