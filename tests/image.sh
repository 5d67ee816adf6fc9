#!/usr/bin/env bash
# image.sh PACKAGES [ROOT.tar]: the second stage of docker/Dockerfile in an empty Debian 12, without a container engine: its RUN
# lines, then what its CMD starts, as its user: health check, tokens, a first model, a thumbnail, the dashboard, the bill of
# materials. Ends at the first surprise. Needs root, curl, mmdebstrap (unless ROOT.tar is given) and a Debian mirror.
set -euo pipefail
packages=$(cd "$1" && pwd)
project=$(cd "$(dirname "$0")/.." && pwd)
root=$(mktemp -d)
daemon=
finish() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
	umount -l "$root/proc" 2>/dev/null || true
	rm -rf --one-file-system "$root"
}
trap finish EXIT

if [ -n "${2:-}" ]; then tar -xf "$2" -C "$root"; else mmdebstrap --variant=minbase --quiet bookworm "$root"; fi
rm -f "$root/dev/null" && mknod -m 666 "$root/dev/null" c 1 3
[ -e "$root/dev/urandom" ] || mknod -m 666 "$root/dev/urandom" c 1 9
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
mount -t proc proc "$root/proc"
mkdir "$root/packages"
cp "$packages"/hob_*.deb "$packages"/hob-tools_*.deb "$packages"/hob-farm_*.deb "$project/docker/sbom.sh" "$root/packages"
sh "$project/docker/sbom.sh" embedded >"$root/packages/embedded"

stage=$(sed -e ':a;/\\$/{N;s/\\\n//;ba}' "$project/docker/Dockerfile" | sed -n '/^FROM \${BASE}$/,$p')
user=$(sed -n 's/^USER //p' <<<"$stage")
while read -r line; do
	printf '# %.100s\n' "$line"
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c "$line" >"$root/tmp/said" 2>&1 </dev/null || { tail "$root/tmp/said" && exit 1; }
done < <(sed -n 's/^RUN //p' <<<"$stage")

as_user=(chroot "$root" setpriv --reuid="$user" --regid="$user" --clear-groups --no-new-privs env -i PATH=/usr/bin:/bin HOME=/var/lib/hob)
wanted() {
	printf '%s: %s\n' "$3" "$1"
	[ "$1" = "$2" ] || { printf 'image.sh: %s: wanted "%s"\n' "$3" "$2" >&2 && exit 1; }
}
# until_is WORD COMMAND...: repeats the command until it prints the word, at most a hundred times.
until_is() {
	local word=$1 said=
	shift
	for _ in $(seq 100); do
		said=$("$@" 2>&1) || true
		[ "$said" != "$word" ] || break
		sleep 0.2
	done
	printf '%s' "$said"
}

cp "$project/tests/data/models/simple/spot.obj" "$root/art/"
token=$("${as_user[@]}" hob token create me --write --token-file /var/lib/hob/tokens 2>/dev/null | grep -oE '[A-Za-z0-9_-]{20,}' | head -n 1)
mapfile -t command < <(sed -n 's/^CMD //p' <<<"$stage" | tr -d '[]"' | tr ',' '\n' | sed -e 's/^ //' -e 's/0\.0\.0\.0/127.0.0.1/')
"${as_user[@]}" hob "${command[@]}" >"$root/tmp/log" 2>&1 &
daemon=$!
check=$(sed -n 's/^HEALTHCHECK .*CMD //p' <<<"$stage" | tr -d '[]",')
wanted "$(until_is 0 "${as_user[@]}" sh -c "$check >/dev/null 2>&1; echo \$?")" 0 "health check"
ask() { curl -s -o /dev/null -H "Authorization: Bearer ${token_of_request-$token}" -w "$@"; }
wanted "$(token_of_request='' ask '%{http_code}' 127.0.0.1:7780/api/v1/assets)" 401 "without a token"
"${as_user[@]}" env HOB_TOKEN="$token" hob get art/spot.obj --wait 60 -o /tmp/meshes
"${as_user[@]}" hob inspect --validate /tmp/meshes
id=$(curl -sf -H "Authorization: Bearer $token" 127.0.0.1:7780/api/v1/assets | grep -o '"id":"[^"]*' | head -n 1 | cut -d'"' -f4)
wanted "$(until_is image/png ask '%{content_type}' "127.0.0.1:7780/api/v1/assets/$id/thumbnail?size=128")" image/png "thumbnail"
wanted "$(curl -s 127.0.0.1:7780/ | grep -o '<title>[^<]*' | head -n 1)" "<title>Hob" "dashboard"
wanted "$(grep -o '"specVersion":"[0-9.]*"' "$root/usr/share/doc/hob/sbom.cdx.json")" '"specVersion":"1.5"' "bill of materials"
kill "$daemon"
wait "$daemon" || wanted "$?" 0 "exit code of the daemon"
daemon=
echo "image.sh: built, started, served and stopped"
