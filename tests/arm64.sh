#!/usr/bin/env bash
# arm64.sh ROOT [HOB]: Hob for arm64, built by Debian's cross compiler and run under qemu-aarch64-static: two runs of `hob cook` with
# a cache, a daemon, `hob get` and its end. ROOT is a folder that keeps an x86-64 Debian 12 with compilers, libraries and the build;
# it is made where there is none. With HOB, a program of this machine, what the two cook is compared. Ends at the first surprise.
# Needs root, a Debian mirror, mmdebstrap, and a kernel whose namespaces have emulators of their own (from 6.7).
set -euo pipefail
project=$(cd "$(dirname "$0")/.." && pwd)
root=$1 own=${2:+$(realpath "$2")}
[ -d "$root/usr" ] || mmdebstrap --variant=minbase --quiet bookworm "$root"
root=$(cd "$root" && pwd)

inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"; }

if [ ! -x "$root/usr/bin/aarch64-linux-gnu-g++" ]; then
	cp /etc/resolv.conf "$root/etc/"
	mapfile -t libraries < <(sed -n '/^build_packages=(/,/)$/p' "$project/dev" | tr -d '()' | tr ' \t' '\n\n' | grep -- '-dev$' | sed 's/$/:arm64/')
	inside dpkg --add-architecture arm64
	inside apt-get update -qq
	inside DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc g++ gcc-aarch64-linux-gnu \
		g++-aarch64-linux-gnu cmake ninja-build pkg-config esbuild qemu-user-static python3 "${libraries[@]}" >/dev/null
fi

# Files keep their time, so that ninja builds what is new.
mkdir -p "$root/src"
(cd "$project" && python3 tests/integration/docker_context.py | tar --null -T - -c) | tar -x -C "$root/src"
cat >"$root/src/arm64.cmake" <<'CMAKE'
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
CMAKE
inside env PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig cmake -G Ninja -S /src -B /src/build/arm64 \
	-DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE=/src/arm64.cmake >/dev/null
inside ninja -C /src/build/arm64 --quiet

# Commands that a shell in there runs; the emulator is registered for this namespace alone.
cat >"$root/src/arm64.run" <<'RUN'
set -euo pipefail
export PATH=/src/build/arm64:$PATH HOB_URL=127.0.0.1:7797
rm -rf /run/try && mkdir -p /run/try/art && cd /run/try
cp /src/tests/data/models/simple/spot.obj art/
hob --version
hob cook art/ -o out --cache cache
hob cook art/ -o again --cache cache 2>&1 | tee said
grep -q '^0 cooked, 1 from the cache, 0 failed' said
hob serve art/ --cache served --listen "$HOB_URL" >log 2>&1 &
hob get art/spot.obj --wait 300 -o got
hob inspect --validate got
cmp got out/spot.obj.meshes
kill -TERM %1
wait %1
RUN
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
export root own handler=":arm64:M::$magic:$mask:$root/usr/bin/qemu-aarch64-static:F"
unshare --user --map-root-user --mount --pid --fork --mount-proc bash -euc '
	mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
	printf %s "$handler" >/proc/sys/fs/binfmt_misc/register
	mount --rbind /proc "$root/proc"
	exec chroot "$root" env -i PATH=/usr/bin:/bin HOME=/root bash /src/arm64.run'
if [ -n "$own" ]; then
	rm -rf "$root/run/own"
	"$own" cook "$root/run/try/art" -o "$root/run/own"
	diff -r -x '*.report.json' "$root/run/own" "$root/run/try/out" # those have times
	echo "arm64.sh: the same bytes as those of $("$own" --version)"
fi
echo "arm64.sh: built, cooked, served and stopped"
