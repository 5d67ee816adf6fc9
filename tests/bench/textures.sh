#!/bin/sh
# Quality and speed of texture decoding, filtering and block compression on one thread, beside stb_image, stb_dxt, and
# with PEERS=1 squish and nvtt (apt-get install libsquish-dev libnvtt-dev libastcenc-dev g++).
#   cmake --preset release && ninja -C build/release libhob_texture.a
#   tests/bench/textures.sh build/release picture.png ...
set -e
build=$1
shift
here=$(dirname "$0")
out=$build/textures_bench
cflags="-O3 -ffp-contract=off -std=gnu11 -I$here/../.. -w"
${CC:-cc} $cflags -c "$here/textures_bench.c" -o "$out.o"
libs="$build/libhob_texture.a $build/libhob_hash.a $build/libhob_base.a -lzstd -ldeflate -lwebp -lcrypto -lxxhash -lm"
if [ -n "$PEERS" ]; then
	${CXX:-c++} -O2 -DASTCENC_DYNAMIC_LIBRARY "$here/textures_peers.cpp" "$out.o" $libs -lsquish -lnvtt -lastcenc -o "$out"
else
	echo 'void peer_squish(void){} void peer_nvtt(void){}' | ${CC:-cc} -w -x c -c - -o "$out.none.o"
	${CC:-cc} "$out.o" "$out.none.o" $libs -o "$out"
fi
exec "$out" "$@"
