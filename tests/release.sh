#!/usr/bin/env bash
# release.sh PUBLISH [SUITE]: the folder of ./dev release as a user of it meets it. Serves it on loopback, types the README's Install in
# an empty Debian (bookworm) with that address, and cooks the sample that the package brings. Ends at the first surprise. Needs root,
# mmdebstrap, python3 and a Debian mirror.
set -euo pipefail
publish=$(cd "$1" && pwd) suite=${2:-bookworm}
project=$(cd "$(dirname "$0")/.." && pwd)
root=$(mktemp -d /var/tmp/hob-release-XXXXXX)
server=
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	umount -l "$root/proc" 2>/dev/null || true
	rm -rf --one-file-system "$root"
}
trap finish EXIT
inside() {
	printf '# %s\n' "$1"
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash -ec "$1" 2>&1 </dev/null
}
(cd "$publish" && sha256sum --quiet -c SHA256SUMS)
gpgv --keyring "$publish/apt/hob.gpg" "$publish/SHA256SUMS.asc" "$publish/SHA256SUMS" 2>&1 | tail -n 1
mmdebstrap --variant=minbase --quiet --include=ca-certificates,curl "$suite" "$root"
rm -f "$root/dev/null" && mknod -m 666 "$root/dev/null" c 1 3
[ -e "$root/dev/urandom" ] || mknod -m 666 "$root/dev/urandom" c 1 9
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
mount -t proc proc "$root/proc"
python3 -u -m http.server --bind 127.0.0.1 --directory "$publish" 0 >"$root/tmp/server" 2>&1 &
server=$!
until port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$root/tmp/server") && [ -n "$port" ]; do kill -0 "$server" && sleep 0.1; done
typed=$(sed -n '/^at=/,/^```/p' "$project/README.md" | sed "/^\`\`\`/d; s#^at=[^ ]*#at=http://127.0.0.1:$port#; s/apt install/apt-get install -y -qq --no-install-recommends/; s/apt update/apt-get update -qq/")
inside "$typed" | grep -v '^\(Selecting\|Preparing\|Unpacking\|Setting up\|Processing\|(Reading\)' || true
inside 'dpkg-query -W hob hob-tools; apt-cache policy hob | sed -n 2,6p; hob --version'
inside 'cd /root; cp -r /usr/share/doc/hob/examples/art .; hob cook art/ -o cooked --quiet && hob inspect --validate cooked/lantern.gltf.meshes'
echo "release.sh: installed from the published folder on $suite by its signed key"
