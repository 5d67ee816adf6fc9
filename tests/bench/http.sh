#!/bin/sh
# Hob's HTTP side beside nginx, a bare loop and itself: see http_bench.py.
set -e
build=$1
here=$(dirname "$0")
${CC:-cc} -O2 -D_GNU_SOURCE -Wall -Wextra "$here/http_load.c" -o "$build/http_load"
${CC:-cc} -O2 -D_GNU_SOURCE -DHOB_VERSION="\"bench\"" -Wall -Wextra -I"$here/../.." "$here/http_parts.c" -Wl,--start-group "$build"/libsrv_*.a \
	"$build"/libhob_*.a -Wl,--end-group -lmicrohttpd -lcjson -lsqlite3 -lzstd -lcrypto -lxxhash -luv -lpthread -lm \
	-o "$build/http_parts"
exec python3 "$here/http_bench.py" "$@"
