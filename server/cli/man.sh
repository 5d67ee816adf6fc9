#!/bin/sh
# man.sh HOB OUT: writes the manual pages hob.1 and hob.json.5 from what the program says of itself.
set -eu
hob=$1 out=$2
mkdir -p "$out"
version=$("$hob" --version | cut -d' ' -f2)

# Text as it stands: a dot or quote at the begin of a line is no request, a backslash and a hyphen are themselves.
verbatim() {
	printf '.nf\n'
	sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\\([.']\\)/\\\\\\&\\1/"
	printf '.fi\n'
}

{
	printf '.TH HOB 1 "" "hob %s" "User Commands"\n.SH NAME\nhob \\- cook 3D models into runtime\\-ready blobs and serve them\n' "$version"
	printf '.SH SYNOPSIS\n.B hob\n.I COMMAND\n.RI [ OPTION ...]\n.SH DESCRIPTION\n'
	"$hob" help | tail -n +3 | verbatim
	printf '.SH COMMANDS\n'
	for command in $("$hob" help | sed -n '/^Everyday/,$ s/^  \([a-z]\{2,\}\)  *.*$/\1/p'); do
		printf '.SS hob %s\n' "$command"
		"$hob" help "$command" | tail -n +3 | verbatim
	done
	printf '.SH SEE ALSO\n.BR hob.json (5)\n'
} >"$out/hob.1"

{
	printf '.TH HOB.JSON 5 "" "hob %s" "File Formats"\n.SH NAME\nhob.json \\- configuration of the Hob daemon\n.SH DESCRIPTION\n' "$version"
	"$hob" help config | tail -n +5 | verbatim
	printf '.SH JSON SCHEMA\n'
	"$hob" config --schema | sed -e 's/},"/},\n"/g' | verbatim
	printf '.SH SEE ALSO\n.BR hob (1)\n'
} >"$out/hob.json.5"
