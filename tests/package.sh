#!/usr/bin/env bash
# package.sh OLD NEW [ROOT.tar]: the packages in the folder NEW as an administrator meets them, in an empty Debian of
# this machine's suite: install OLD, start the daemon as the unit does, cook and fetch a first model, upgrade to NEW over an edited
# configuration, fetch it again (without a cook if both versions cook alike), fetch the old bytes from the cache by their hash,
# purge. Prints what it types and what came; ends at the first surprise. Needs root, mmdebstrap (unless ROOT.tar, another suite perhaps, is given) and a
# Debian mirror. OLD may be the same folder as NEW.
set -euo pipefail
old=$(cd "$1" && pwd) new=$(cd "$2" && pwd)
models=$(cd "$(dirname "$0")/data/models/simple" && pwd)
root=$(mktemp -d)
daemon=
finish() {
	if [ -n "$daemon" ]; then
		kill "$daemon" 2>/dev/null || true
		wait "$daemon" || true
	fi
	umount -l "$root/proc" 2>/dev/null || true
	rm -rf --one-file-system "$root"
}
trap finish EXIT

if command -v lintian >/dev/null; then lintian --allow-root --fail-on error "$new"/*.deb; fi
if [ -n "${3:-}" ]; then tar -xf "$3" -C "$root"; else mmdebstrap --variant=minbase --quiet "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root"; fi
rm -f "$root/dev/null" && mknod -m 666 "$root/dev/null" c 1 3
[ -e "$root/dev/urandom" ] || mknod -m 666 "$root/dev/urandom" c 1 9
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
mount -t proc proc "$root/proc"
mkdir -p "$root/old" "$root/new"
cp "$old"/*.deb "$root/old"
cp "$new"/*.deb "$root/new"

inside() {
	printf '# %s\n' "$*"
	chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 sh -c "$*" 2>&1
}
wanted() {
	[ "$1" = "$2" ] || { printf 'package.sh: %s: wanted "%s", got "%s"\n' "$3" "$2" "$1" >&2 && exit 1; }
}
# As the unit starts it: its user, its command. No service manager runs in here.
start() {
	local command
	command=$(inside "sed -n 's/^ExecStart=//p' /lib/systemd/system/hob.service" | tail -n 1)
	printf '# %s          (as user hob, in the background)\n' "$command"
	chroot "$root" setpriv --reuid=hob --regid=hob --init-groups --no-new-privs env -i PATH=/usr/bin:/bin HOME=/var/lib/hob \
		$command >>"$root/tmp/log" 2>&1 &
	daemon=$!
	inside 'for i in $(seq 100); do hob status --live >/dev/null 2>&1 && exit 0; sleep 0.1; done; cat /tmp/log; exit 1'
}
stop() {
	kill "$daemon"
	wait "$daemon" || wanted "$?" 0 "exit code of the daemon"
	daemon=
}

inside "apt-get update -qq"
inside "apt-get install -y -qq --no-install-recommends ./old/hob_*.deb >/tmp/apt 2>&1 || { tail /tmp/apt; exit 1; }; tail -n 2 /tmp/apt"
inside "hob --version --json | tee -a /tmp/versions; dpkg-query -W hob; id hob; ls -ld /var/lib/hob/art /var/cache/hob /etc/hob/hob.json"
start
cp "$models"/spot.* "$root/var/lib/hob/art/"
inside "hob get art/spot.obj meshes --wait 60 -o /tmp/spot.meshes && hob inspect --validate /tmp/spot.meshes && hob status"
stop
echo '{"sources": [{"name": "art", "path": "/var/lib/hob/art"}], "cache": {"dir": "/var/cache/hob"}, "cook": {"jobs": 1}}' \
	>"$root/etc/hob/hob.json"
inside "apt-get install -y -qq --no-install-recommends ./new/hob_*.deb ./new/hob-dev_*.deb ./new/hob-tools_*.deb >/tmp/apt 2>&1 || { tail /tmp/apt; exit 1; }; tail -n 3 /tmp/apt"
inside "hob --version --json | tee -a /tmp/versions; dpkg-query -W 'hob*'; cat /etc/hob/hob.json; hob config --config /etc/hob/hob.json | grep cook.jobs; hob config | grep cook.jobs"
start
inside "hob get art/spot.obj meshes --wait 60 -o /tmp/again.meshes && hob inspect --validate /tmp/again.meshes"
cook_of() { sed -n "$1"'s/.*"cook":\([0-9]*\).*/\1/p' "$root/tmp/versions"; }
if [ "$(cook_of 1)" = "$(cook_of 2)" ]; then inside "cmp /tmp/spot.meshes /tmp/again.meshes && echo same bytes"; fi
inside "hob why art/spot.obj | head -n 3"
# The network is that of the host, which has curl. What the old version cooked is still in the cache.
hash=$(sha256sum "$root/tmp/spot.meshes" | cut -d' ' -f1)
curl -sf "127.0.0.1:7780/blobs/$hash" | cmp - "$root/tmp/spot.meshes"
printf '# curl .../blobs/%s\nthe bytes of the old version\n' "$hash"
id=$(curl -sf 127.0.0.1:7780/api/v1/assets | grep -o '"id":"[^"]*' | head -n 1 | cut -d'"' -f4)
for _ in $(seq 100); do
	picture=$(curl -sf -o /dev/null -w '%{content_type}' "127.0.0.1:7780/api/v1/assets/$id/thumbnail?size=128")
	[ "$picture" != image/png ] || break
	sleep 0.2
done
printf '# curl .../thumbnail\n%s\n' "$picture"
wanted "$picture" image/png "thumbnail"
stop
inside "apt-get remove -y -qq hob >/dev/null 2>&1; ls /etc/hob /var/cache/hob | head -n 20; command -v hob || echo hob is gone"
inside "apt-get purge -y -qq hob hob-dev hob-tools >/dev/null 2>&1; dpkg -l 'hob*' 2>/dev/null | grep -c '^ii' || true"
inside "ls -d /etc/hob /var/cache/hob 2>&1 || true; ls /var/lib/hob/art"
[ ! -e "$root/etc/hob" ] && [ ! -e "$root/var/cache/hob" ] || wanted "left behind" "nothing" "purge"
[ -e "$root/var/lib/hob/art/spot.obj" ] || wanted "models removed" "models kept" "purge"
left=$(find "$root" -xdev \( -path "$root/old" -o -path "$root/new" -o -path "$root/tmp" -o -path "$root/var/lib/hob" \) -prune -o -name '*hob*' -print)
wanted "$left" "" "files left after purge"
echo "package.sh: installed, started, served, upgraded and purged"
