#!/usr/bin/env bash
# platforms.sh SUITE OUT: Hob on an empty Debian of this suite (trixie, bookworm), as a stranger has it, with the time of each step: the
# committed sources, ./dev up, ./dev test, ./dev package, then in a second empty root apt install, a first asset, an upgrade, purge
# (package.sh). OUT gets the packages, a transcript and the digests of what the sample models cook to; OUT of the other suite beside
# it is compared. Ends at the first surprise.
# platforms.sh upgrade BOOKWORM TRIXIE: one root with the packages of the folder BOOKWORM becomes Debian 13 with those of TRIXIE; the
# cache goes on.
# OLD=FOLDER: packages to upgrade from (0.2.0); OLD=COMMIT: they are built first. TESTS=: no ./dev test. CCACHE=FOLDER: a compiler
# cache, which the root gets. Needs root, mmdebstrap, curl and a Debian mirror, and for the page npm's registry.
set -euo pipefail
project=$(cd "$(dirname "$0")/.." && pwd)
suite=$1 work=$(mktemp -d /var/tmp/hob-platform-XXXXXX) daemon=
finish() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
	umount -l "$work"/*/{proc,dev/shm,ccache} 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap finish EXIT

# root_of SUITE NAME [PACKAGE...]: an empty Debian in $work/NAME.
root_of() {
	local root=$work/$2
	mmdebstrap --variant=minbase --quiet --include="ca-certificates,sudo${3:+,$3}" "$1" "$root"
	rm -f "$root/dev/null" && mknod -m 666 "$root/dev/null" c 1 3
	[ -e "$root/dev/urandom" ] || mknod -m 666 "$root/dev/urandom" c 1 9
	[ -e "$root/dev/random" ] || mknod -m 666 "$root/dev/random" c 1 8
	[ -e "$root/dev/zero" ] || mknod -m 666 "$root/dev/zero" c 1 5
	ln -sfn /proc/self/fd "$root/dev/fd"
	cp /etc/resolv.conf "$root/etc/"
	[ -z "${NODE_EXTRA_CA_CERTS:-}" ] || cp "$NODE_EXTRA_CA_CERTS" "$root/etc/machine.pem"
	mount -t proc proc "$root/proc"
	mkdir -p "$root/dev/shm"
	mount -t tmpfs tmpfs "$root/dev/shm"
}
# inside NAME LINE: in that root, as a shell does; prints it first, and its time.
inside() {
	local started=$SECONDS
	printf '# [%s] %s\n' "$1" "$2"
	chroot "$work/$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=/etc/machine.pem} ${CCACHE:+CCACHE_DIR=/ccache CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros} \
		${CCACHE:+CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache} \
		bash -c "$2" </dev/null 2>&1
	printf '# took %d s\n' $((SECONDS - started))
}
digests() { # of cooked files, by name
	(cd "$1" && find . -type f ! -name '*.report.json' -exec sha256sum {} + | sort -k2)
}

if [ "$suite" = upgrade ]; then
	root_of bookworm root
	mkdir "$work/root/old" "$work/root/new"
	cp "$2"/hob_*.deb "$work/root/old" && cp "$3"/hob_*.deb "$work/root/new"
	serve() {
		chroot "$work/root" setpriv --reuid=hob --regid=hob --init-groups env -i PATH=/usr/bin:/bin HOME=/var/lib/hob \
			/usr/bin/hob serve --config /etc/hob/hob.json >>"$work/log" 2>&1 &
		daemon=$!
		inside root 'hob get art/spot.obj --wait 100 -o /tmp/meshes && hob inspect --validate /tmp/meshes && hob why art/spot.obj | head -n 3'
		hash=$(sha256sum "$work/root/tmp/meshes" | cut -d' ' -f1)
		[ -z "${1:-}" ] || { curl -sf "127.0.0.1:7780/blobs/$1" | sha256sum | grep -q "^$1" && echo "the bytes of the old system are served by their hash"; }
		kill "$daemon" && wait "$daemon"
		daemon=
	}
	inside root 'apt-get update -qq && apt-get install -y -qq --no-install-recommends ./old/*.deb >/tmp/apt 2>&1 || { tail /tmp/apt; exit 1; }; dpkg-query -W hob'
	cp "$project"/tests/data/models/simple/spot.* "$work/root/var/lib/hob/art/"
	serve
	before=$hash
	inside root 'sed -i s/bookworm/trixie/g /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null; apt-get update -qq &&
		apt-get full-upgrade -y -qq >/tmp/apt 2>&1 && apt-get install -y -qq --no-install-recommends ./new/*.deb >>/tmp/apt 2>&1 ||
		{ tail /tmp/apt; exit 1; }; cat /etc/debian_version; dpkg-query -W hob; hob --version --json'
	serve "$before"
	[ "$before" = "$hash" ] && echo "the same bytes on both" || echo "other bytes: $before, $hash"
	echo "platforms.sh: a Debian 12 with its cache became a Debian 13"
	exit
fi

mkdir -p "$2"
out=$(cd "$2" && pwd)
exec > >(tee "$out/transcript") 2>&1
echo "# $suite, $(git -C "$project" rev-parse --short HEAD), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
root_of "$suite" build git${CCACHE:+,ccache}
if [ -n "${CCACHE:-}" ]; then mkdir "$work/build/ccache" && mount --bind "$CCACHE" "$work/build/ccache"; fi
git clone -q --no-hardlinks "$project" "$work/build/src"
mkdir "$work/build/models"
cp "$project"/tests/data/models/simple/spot.* "$work/build/models/"
inside build 'cd /src && { ./dev up /models --listen 127.0.0.1:7791 >/tmp/up 2>&1 & } ; until grep -q "cooked models/spot.obj" /tmp/up; do
	sleep 0.5; kill -0 $! || { cat /tmp/up; exit 1; }; done; cat /tmp/up; kill $!; wait $!; dpkg -l | grep -c ^ii'
if [ -z "${TESTS-yes}" ]; then echo "# without ./dev test"; else inside build 'cd /src && ./dev test'; fi
inside build 'cd /src && ./dev package /packages >/tmp/packages.log 2>&1 || { tail -n 30 /tmp/packages.log; exit 1; }; ls -l /packages'
cp "$work"/build/packages/* "$out"
inside build 'cd /src && build/release/hob cook tests/data/models -o /cooked --quiet && build/release/hob --version --json'
digests "$work/build/cooked" >"$out/digests"
case ${OLD:-} in
'') old=$out ;;
/*) old=$OLD ;;
*)
	git clone -q --no-hardlinks "$project" "$work/build/old"
	git -C "$work/build/old" checkout -q "$OLD"
	inside build 'cd /old && ./dev package /old-packages >/tmp/packages.log 2>&1 || { tail -n 30 /tmp/packages.log; exit 1; }; ls /old-packages'
	mkdir -p "$out/old"
	cp "$work"/build/old-packages/*.deb "$out/old"
	old=$out/old
	;;
esac
root_of "$suite" install
tar -C "$work/install" --exclude=./proc/'*' --exclude=./dev/shm/'*' -cf "$work/empty.tar" .
mkdir "$work/install/packages"
cp "$out"/hob_*.deb "$work/install/packages"
inside install 'apt-get update -qq'
inside install 'apt-get install -y -qq --no-install-recommends ./packages/hob_*.deb >/tmp/apt 2>&1 || { tail /tmp/apt; exit 1; }; hob --version; hob docs'
"$project/tests/package.sh" "$old" "$out" "$work/empty.tar"
for other in "$out"/../*/digests; do
	[ "$other" -ef "$out/digests" ] || [ ! -f "$other" ] || {
		echo "# beside $other"
		join -j 2 "$other" "$out/digests" | awk '{ kind = $1; sub(/.*[.]/, "", kind); all[kind]++; same[kind] += $2 == $3; if ($2 != $3) print "differs " $1 }
			END { for (kind in all) print kind ": " same[kind] " of " all[kind] " are equal" }'
	}
done
echo "platforms.sh: built, tested, packaged, installed, upgraded and purged on $suite"
