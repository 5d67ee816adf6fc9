#!/bin/sh
# sbom.sh embedded               what Hob's programs contain of others without a package of its own, one "type name version" a line
# sbom.sh image VERSION EMBEDDED  the bill of materials of the system that it runs in, as CycloneDX 1.5: all of its Debian packages,
#                                and what the file EMBEDDED names. Nothing in it depends on the time.
# sbom.sh packages VERSION EMBEDDED DEB...  that of these packages: they, what Debian package each needs, and what is embedded
set -eu
case ${1:-} in
embedded)
	here=$(dirname "$0")
	sed -n '/"dependencies"/,/}/s/^[[:space:]]*"\([^"]*\)": "\([0-9][^"]*\)",\{0,1\}$/npm \1 \2/p' "$here/../web/package.json"
	dpkg-query -W -f 'deb ${Package} ${Version}\n' libstb-dev # headers only
	;;
image | packages)
	{
		kind=$1 version=$2
		cat "$3"
		shift 3
		if [ "$kind" = image ]; then dpkg-query -W -f '${db:Status-Status} deb ${Package} ${Version} ${Architecture}\n' | sed -n 's/^installed //p'; fi
		for package in "$@"; do
			dpkg-deb -W --showformat='deb ${Package} ${Version} ${Architecture}\n' "$package"
			# The version is the oldest that will do.
			dpkg-deb -f "$package" Depends | tr , '\n' | sed -n 's/^ *\([^ ]*\) *(>= \([^)]*\)).*/deb \1 \2/p'
		done
	} | LC_ALL=C sort -u | awk -v version="$2" -v kind="$1" '
		BEGIN {
			print "{\"bomFormat\":\"CycloneDX\",\"specVersion\":\"1.5\",\"version\":1,"
			print "\"metadata\":{\"component\":{\"type\":\"" (kind == "image" ? "container" : "application") "\",\"bom-ref\":\"hob\",\"name\":\"hob\",\"version\":\"" version "\"}},"
			print "\"components\":["
		}
		{
			encoded = $3
			gsub(/%/, "%25", encoded); gsub(/\+/, "%2B", encoded); gsub(/:/, "%3A", encoded)
			name = $2
			sub(/^@/, "%40", name); gsub(/\+/, "%2B", name)
			url = "pkg:" ($1 == "deb" ? "deb/debian" : $1) "/" name "@" encoded ($4 != "" ? "?arch=" $4 : "")
			printf "%s{\"type\":\"library\",\"bom-ref\":\"%s\",\"name\":\"%s\",\"version\":\"%s\",\"purl\":\"%s\"}", (NR > 1 ? ",\n" : ""), url, $2, $3, url
		}
		END { print "]}" }'
	;;
*)
	echo "usage: sbom.sh embedded | sbom.sh image VERSION EMBEDDED | sbom.sh packages VERSION EMBEDDED DEB..." >&2
	exit 2
	;;
esac
