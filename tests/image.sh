#!/usr/bin/env bash
# image.sh [PACKAGES [ROOT.tar]]: docker/Dockerfile in an empty Debian 12, without a container engine. Without PACKAGES (or with '')
# its first stage, with the files that docker would send, and the packages once more from another folder, umask and time zone:
# they must be the same bytes. Then its second stage, and what its CMD starts, as its user: health check, tokens, a first model, a
# thumbnail, the dashboard, the bill of materials. Ends at the first surprise. Needs root, curl, python3, a Debian mirror, for the
# first stage npm's registry, and mmdebstrap unless ROOT.tar, a Debian 12, is given.
set -euo pipefail
packages=${1:+$(cd "$1" && pwd)}
empty=${2:-}
project=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
daemon=
finish() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
	umount -l "$work"/*/proc 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap finish EXIT

# new_root ROOT: an empty Debian there.
new_root() {
	mkdir "$1"
	if [ -n "$empty" ]; then tar -xf "$empty" -C "$1"; else mmdebstrap --variant=minbase --quiet bookworm "$1"; fi
	rm -f "$1/dev/null" && mknod -m 666 "$1/dev/null" c 1 3
	[ -e "$1/dev/urandom" ] || mknod -m 666 "$1/dev/urandom" c 1 9
	cp /etc/resolv.conf "$1/etc/" 2>/dev/null || true
	# The certificate of a machine whose way out needs one of its own.
	[ -z "${NODE_EXTRA_CA_CERTS:-}" ] || cp "$NODE_EXTRA_CA_CERTS" "$1/etc/machine.pem"
	mount -t proc proc "$1/proc"
}
# within ROOT FOLDER LINE: runs it there, as RUN does; shows what it said only if it fails.
within() {
	printf '# %.100s\n' "$3"
	chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=/etc/machine.pem} \
		sh -c "cd $2 && $3" >"$1/tmp/said" 2>&1 </dev/null || { tail -n 30 "$1/tmp/said" && exit 1; }
}
# stage N: the lines of the Dockerfile's stage, each whole.
stage() { sed -e ':a;/\\$/{N;s/\\\n//;ba}' "$project/docker/Dockerfile" | awk -v n="$1" '/^FROM /{ s++ } s == n'; }

if [ -z "$packages" ]; then
	first=$work/first folder=/
	new_root "$first"
	while read -r word line; do
		case $word in
		WORKDIR) folder=$line && mkdir -p "$first$line" ;;
		# '.' is everything that docker sends.
		COPY) (cd "$project" && python3 tests/integration/docker_context.py | tar --null -T - -c) |
			tar -x -C "$first$folder" $([ "${line%% *}" = . ] || echo "${line%% *}") ;;
		RUN) within "$first" "$folder" "$line" ;;
		esac
	done < <(stage 1)
	within "$first" / "cp -r $folder /again && rm -rf /again/build && cd /again && umask 027 && TZ=Asia/Tokyo ./dev package /packages-again"
	grep -c . "$first/packages/SHA256SUMS"
	diff "$first/packages/SHA256SUMS" "$first/packages-again/SHA256SUMS"
	echo "image.sh: the same packages from another folder"
	packages=$first/packages
	umount -l "$first/proc"
fi

root=$work/second
new_root "$root"
mkdir "$root/packages"
cp "$packages"/hob_*.deb "$packages"/hob-tools_*.deb "$packages"/hob-farm_*.deb "$project/docker/sbom.sh" "$root/packages"
if [ -f "$packages/embedded" ]; then cp "$packages/embedded" "$root/packages"; else sh "$project/docker/sbom.sh" embedded >"$root/packages/embedded"; fi
user=$(stage 2 | sed -n 's/^USER //p')
while read -r line; do within "$root" / "$line"; done < <(stage 2 | sed -n 's/^RUN //p')

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
mapfile -t command < <(stage 2 | sed -n 's/^CMD //p' | tr -d '[]"' | tr ',' '\n' | sed -e 's/^ //' -e 's/0\.0\.0\.0/127.0.0.1/')
"${as_user[@]}" hob "${command[@]}" >"$root/tmp/log" 2>&1 &
daemon=$!
check=$(stage 2 | sed -n 's/^HEALTHCHECK .*CMD //p' | tr -d '[]",')
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
