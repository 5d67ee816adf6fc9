#!/usr/bin/env bash
# release.sh OUT PACKAGES...: one folder to publish as it is, from folders that package.sh has filled, one for each Debian release: a
# signed apt repository (apt/, its key in apt/hob.gpg), the npm package, the wheel, the Blender add-on, the sources, the container
# image (without docker or podman what they build it from), the notes of this version (RELEASE.md), a bill of materials and signed
# SHA-256 sums. HOB_RELEASE_KEY: fingerprints of the keys to sign with, in this user's keyring; without it one is made for this run and
# thrown away. The address that the notes name is that of the README.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 2 ] || { echo "usage: release.sh OUT PACKAGES..." >&2 && exit 2; }
say() { printf 'release: %s\n' "$*" >&2; }
for tool in gpg dpkg-scanpackages; do
	command -v $tool >/dev/null || { say "there is no $tool (packages gpg, dpkg-dev)" && exit 2; }
done
rm -rf "$1"
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
version=$(sed -n 's/^project(hob VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
address=$(sed -n 's/^at=\([^ ]*\).*/\1/p' "$root/README.md")
work=$(mktemp -d)
made=
finish() {
	[ -z "$made" ] || GNUPGHOME=$made gpgconf --kill all 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
umask 022

key=${HOB_RELEASE_KEY:-}
if [ -z "$key" ]; then
	made=$work/keys
	export GNUPGHOME=$made
	install -d -m 0700 "$made"
	gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-generate-key "Hob $version, a key of one run" ed25519 sign 2y 2>/dev/null
	key=$(gpg --batch --with-colons --list-secret-keys | awk -F: '$1 ~ /^fp/ { print $10; exit }')
	say "signed with a key of this run; a later release has another one. HOB_RELEASE_KEY names yours"
fi
sign() { gpg --batch --yes --quiet $(printf -- '--local-user %s ' $key) --digest-algo SHA512 "$@"; }

mkdir -p "$out/apt/pool"
gpg --batch --export --export-options export-minimal $key >"$out/apt/hob.gpg"
expires=$(gpg --batch --with-colons --list-keys $key | awk -F: '$1 == "pub" { print $7; exit }')
expires=${expires:+$(date -u -d "@$expires" +%F)}

# Packages of all folders; those that are for every machine come from the first one that has them.
for folder in "$@"; do
	suite=
	for package in "$folder"/*.deb; do
		[ -e "$package" ] || { say "'$folder' has no package; ./dev package fills it" && exit 2; }
		case $(basename "$package") in
		*_"$version"-1+deb12_*) suite=bookworm ;;
		*_"$version"-1+deb13_*) suite=trixie ;;
		*) say "'$package' is no package of Hob $version for Debian 12 or 13" && exit 2 ;;
		esac
		mkdir -p "$out/apt/pool/$suite"
		cp "$package" "$out/apt/pool/$suite/"
	done
	for file in "$folder"/hob-*"$version"*.tgz "$folder"/hob_client-"$version"*.whl "$folder"/hob-blender-"$version".zip "$folder"/hob-"$version".tar.xz; do
		[ ! -e "$file" ] || cp -n "$file" "$out/"
	done
done

# The index of a Debian release, and its signature.
for pool in "$out"/apt/pool/*; do
	suite=$(basename "$pool")
	index=dists/$suite/main
	machines=$(cd "$pool" && for package in *.deb; do dpkg-deb -f "$package" Architecture; done | sort -u)
	for machine in $machines; do
		mkdir -p "$out/apt/$index/binary-$machine"
		(cd "$out/apt" && dpkg-scanpackages --multiversion --arch "$machine" "pool/$suite" 2>/dev/null) >"$out/apt/$index/binary-$machine/Packages"
		gzip -9nk "$out/apt/$index/binary-$machine/Packages"
	done
	(
		cd "$out/apt/dists/$suite"
		files=$(find main -type f | LC_ALL=C sort)
		printf 'Origin: Hob\nLabel: Hob\nSuite: %s\nCodename: %s\nVersion: %s\nDate: %s\nArchitectures: %s\nComponents: main\nSHA256:\n' \
			"$suite" "$suite" "$version" "$(LC_ALL=C date -u -R)" "$(echo $machines)"
		for file in $files; do printf ' %s %s %s\n' "$(sha256sum <"$file" | cut -d' ' -f1)" "$(stat -c %s "$file")" "$file"; done
	) >"$work/Release"
	mv "$work/Release" "$out/apt/dists/$suite/Release"
	sign --clearsign -o "$out/apt/dists/$suite/InRelease" "$out/apt/dists/$suite/Release"
	sign --armor --detach-sign -o "$out/apt/dists/$suite/Release.gpg" "$out/apt/dists/$suite/Release"
done

# The image, or its build context: `docker build -f docker/Dockerfile - < FILE`.
engine=
for tool in docker podman; do
	if $tool info >/dev/null 2>&1; then engine=$tool && break; fi
done
if [ -n "$engine" ]; then
	$engine build --quiet -t "hob:$version" -f "$root/docker/Dockerfile" "$root" >/dev/null
	$engine save "hob:$version" | gzip -9n >"$out/hob-$version-image.tar.gz"
	image="\`hob-$version-image.tar.gz\` is the container image: \`$engine load < hob-$version-image.tar.gz\`."
else
	say "neither docker nor podman runs here: the folder has what they build the image from"
	(cd "$root" && python3 tests/integration/docker_context.py | tar --null -T - --sort=name --owner=0 --group=0 --numeric-owner -c) |
		gzip -9n >"$out/hob-$version-image-context.tar.gz"
	image="\`hob-$version-image-context.tar.gz\` builds the container image: \`docker build -t hob:$version -f docker/Dockerfile - < FILE\`."
fi

# Whatever the packages need, and what the programs embed.
sh "$root/docker/sbom.sh" embedded >"$work/embedded"
sh "$root/docker/sbom.sh" packages "$version" "$work/embedded" "$out"/apt/pool/*/*.deb >"$out/hob-$version.cdx.json"

section=$(awk -v head="## $version (" 'index($0, head) == 1 { on = 1; next } /^## / { on = 0 } on' "$root/CHANGELOG.md")
[ -n "$section" ] || { say "CHANGELOG.md has no section '## $version (DATE)'" && exit 2; }
if grep -q "^## $version (unreleased)" "$root/CHANGELOG.md"; then say "CHANGELOG.md calls $version unreleased: give it its date before you publish"; fi
{
	printf '# Hob %s\n' "$version"
	printf '\nOn %s:\n\n```\nat=%s\n' "$(cd "$out/apt/pool" && echo * | sed 's/ / and /; s/bookworm/Debian 12/; s/trixie/Debian 13/')" "$address"
	sed -n '/^at=/,/^```/p' "$root/README.md" | sed '1d'
	printf '\nThe repository and `SHA256SUMS` are signed with the key %s%s. `gpg --verify SHA256SUMS.asc SHA256SUMS` checks the sums.\n%s\n' \
		"$key" "${expires:+, which expires on $expires}" "$image"
	printf '\n# Changes\n%s\n' "$section"
} >"$out/RELEASE.md"
(cd "$out" && find . -type f ! -name 'SHA256SUMS*' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS)
sign --armor --detach-sign -o "$out/SHA256SUMS.asc" "$out/SHA256SUMS"
say "$out is complete: copy it to $address"
