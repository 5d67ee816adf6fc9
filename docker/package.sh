#!/usr/bin/env bash
# package.sh BUILD OUT: from a release build the Debian packages hob, hob-dev, hob-farm, hob-git and hob-tools, the npm package of the client, the
# wheel of hob.py, the Blender add-on as a zip, the source archive, and their SHA-256 sums. The same sources give the same bytes: no
# time is in them but that of the version, which CHANGELOG.md names. The version of a Debian package ends in the suite that it was
# built in (0.2.0-1+deb13): it sorts behind that of the suite before.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
version=$("$build/hob" --version | cut -d' ' -f2)
date=$(sed -n 's/^## [0-9.]* (\([0-9-]*\))$/\1/p' "$root/CHANGELOG.md" | head -n 1)
SOURCE_DATE_EPOCH=$(date -u -d "${date:-2026-11-22}" +%s)
export SOURCE_DATE_EPOCH
machine=$(dpkg --print-architecture)
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-unstable}")
revision=$version-1+$(. /etc/os-release && echo "${ID/debian/deb}${VERSION_ID:-}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# depends PROGRAM...: the packages whose libraries these link.
depends() {
	mkdir -p "$work/shlibs/debian"
	printf 'Source: hob\n\nPackage: hob\nArchitecture: any\n' >"$work/shlibs/debian/control"
	(cd "$work/shlibs" && dpkg-shlibdeps -O "$@" 2>/dev/null) | sed 's/^shlibs:Depends=//' | only_this_meshoptimizer
}

# The next suite has another meshoptimizer under the same package name, and cook keys hold the version that Hob was built with.
only_this_meshoptimizer() {
	local upstream
	upstream=$(dpkg-query -W -f '${Version}' libmeshoptimizer-dev | sed 's/^\([0-9]*[.][0-9]*\).*/\1/')
	sed "s/\(libmeshoptimizer[0-9a-z]*\) ([^)]*)/&, \1 (<< $upstream.999)/"
}

# stage COMPONENT PACKAGE: installs a component below $work/PACKAGE, the way Debian has it.
stage() {
	local to=$work/$2 doc=$work/$2/usr/share/doc/$2
	DESTDIR=$to cmake --install "$build" --prefix /usr --component "$1" >/dev/null
	mkdir -p "$doc"
	[ ! -d "$to/usr/share/doc/hob" ] || [ "$2" = hob ] || {
		cp -r "$to/usr/share/doc/hob/." "$doc"
		rm -r "$to/usr/share/doc/hob"
	}
	[ ! -d "$to/usr/lib/systemd" ] || { mkdir -p "$to/lib" && mv "$to/usr/lib/systemd" "$to/lib/"; }
	if [ -d "$to/usr/share/zsh/site-functions" ]; then mv "$to/usr/share/zsh/site-functions" "$to/usr/share/zsh/vendor-completions"; fi
	cp "$root/docker/debian/copyright" "$doc/copyright"
	[ "$2" = hob ] || rm -f "$doc/CHANGELOG.md"
	gzip -9n <"$root/CHANGELOG.md" >"$doc/changelog.gz"
	printf 'hob (%s) %s; urgency=medium\n\n  * See changelog.gz.\n\n -- The Hob authors <hob@hob.invalid>  %s\n' \
		"$revision" "$suite" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$doc/changelog.Debian.gz"
	if [ -d "$to/usr/share/man" ]; then find "$to/usr/share/man" -type f -exec gzip -9n {} +; fi
	if [ -d "$to/usr/bin" ]; then strip --strip-unneeded --remove-section=.comment --remove-section=.note "$to"/usr/bin/*; fi
	find "$to" -name '*.so' -exec strip --strip-unneeded --remove-section=.comment --remove-section=.note {} +
	find "$to" -name '*.a' -exec strip --strip-debug --enable-deterministic-archives {} +
}

# deb PACKAGE SECTION DEPENDS SUMMARY: $work/PACKAGE becomes a package; what it is, at length, comes from stdin.
deb() {
	local to=$work/$1
	mkdir -p "$to/DEBIAN"
	{
		printf 'Package: %s\nSource: hob\nVersion: %s\nArchitecture: %s\nMaintainer: The Hob authors <hob@hob.invalid>\n' \
			"$1" "$revision" "$machine"
		printf 'Installed-Size: %s\nDepends: %s\n' "$(du -k -s --exclude=DEBIAN "$to" | cut -f1)" "$3"
		[ "$1" != hob ] || printf 'Recommends: hob-tools (= %s)\n' "$revision"
		printf 'Section: %s\nPriority: optional\nDescription: %s\n' "$2" "$4"
		sed -e 's/^$/./' -e 's/^/ /'
	} >"$to/DEBIAN/control"
	for script in postinst prerm postrm; do
		[ ! -f "$root/docker/debian/$1.$script" ] || install -m 0755 "$root/docker/debian/$1.$script" "$to/DEBIAN/$script"
	done
	if [ -f "$root/docker/debian/$1.overrides" ]; then
		install -D -m 0644 "$root/docker/debian/$1.overrides" "$to/usr/share/lintian/overrides/$1"
	fi
	(cd "$to" && find etc -type f 2>/dev/null | sed 's#^#/#' >DEBIAN/conffiles) || true
	[ -s "$to/DEBIAN/conffiles" ] || rm -f "$to/DEBIAN/conffiles"
	(cd "$to" && find . -path ./DEBIAN -prune -o -path ./etc -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
	find "$to" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	dpkg-deb --root-owner-group -Zxz --build "$to" "$out/$1_${revision}_$machine.deb" >/dev/null
}

stage hob hob
deb hob graphics "adduser, init-system-helpers (>= 1.52), $(depends "$work"/hob/usr/bin/*)" \
	"daemon that cooks 3D models and serves them to renderers" <<'TXT'
Hob watches folders of models (glTF, FBX, USD, COLLADA, OBJ and others), cooks
each into mesh, material, scene, animation and texture blobs that a GPU uses
as they are, remembers by content hash what it has cooked, and serves it over
HTTP with an event stream: a save in the editor changes every renderer that
listens.

This package holds the daemon with its dashboard, the command line and a
systemd unit.
TXT

if [ -x "$build/hob-thumbnail" ]; then
	stage tools hob-tools
	deb hob-tools graphics "hob (= $revision), libgl1-mesa-dri, libegl1, libgles2, $(depends "$work"/hob-tools/usr/bin/*)" \
		"thumbnails of cooked models for the Hob daemon" <<'TXT'
With this package, Hob serves pictures of cooked models. It draws them with a
software renderer, without a display and without a graphics card.
TXT
fi

if [ -x "$build/hob-git" ]; then
	stage git hob-git
	deb hob-git graphics "hob (= $revision), $(depends "$work"/hob-git/usr/bin/*)" \
		"git repositories as sources of the Hob daemon" <<'TXT'
With this package, Hob cooks the models of a git repository without a working
copy: each push as soon as it arrives, and any earlier commit on request.
TXT
fi

if [ -f "$build/hob-farm-postgres.so" ] && [ -f "$build/hob-farm-s3.so" ]; then
	stage farm hob-farm
	deb hob-farm graphics "hob (= $revision), $(depends "$work"/hob-farm/usr/lib/hob/*)" \
		"one cache for many machines that run the Hob daemon" <<'TXT'
With this package the daemon shares what it cooks through a PostgreSQL database
and an S3 bucket or a mounted folder, so that each model is cooked once, by one
of many machines.
TXT
fi

stage dev hob-dev
deb hob-dev libdevel "libc6-dev" "libraries of Hob for renderers: client and runtime" <<'TXT'
The client fetches cooked models from a Hob daemon by name or by hash, checks
them, caches them on disk and reports every change. The runtime opens them in
place: transforms, clips, skins, levels of detail.

Static libraries without dependencies, headers, pkg-config and CMake packages.
TXT

python3 "$root/docker/wheel.py" "$root" "$version" "$out"
page=$build/web/dist
[ -f "$page/index.html" ] || page=$root/web/dist
python3 "$root/docker/archives.py" "$root" "$version" "$page" "$out"
(cd "$out" && sha256sum -- *"$version"* >SHA256SUMS)
printf '%s\n' "$out"/*"$version"* "$out/SHA256SUMS"
