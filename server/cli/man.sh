#!/bin/sh
# man.sh HOB OUT: writes the manual pages hob.1, hob.8 and hob.json.5 and the shells' completions from what the program says of
# itself, and the daemon's variables from schema/config.def.
set -eu
hob=$1 out=$2
mkdir -p "$out"
version=$("$hob" --version | cut -d' ' -f2)

table=$(dirname "$0")/../../schema/config.def

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
	printf '.SH SEE ALSO\n.BR hob (8),\n.BR hob.json (5)\n'
} >"$out/hob.1"

{
	printf '.TH HOB.JSON 5 "" "hob %s" "File Formats"\n.SH NAME\nhob.json \\- configuration of the Hob daemon\n.SH DESCRIPTION\n' "$version"
	"$hob" help config | tail -n +5 | verbatim
	printf '.SH JSON SCHEMA\n'
	"$hob" config --schema | sed -e 's/},"/},\n"/g' | verbatim
	printf '.SH SEE ALSO\n.BR hob (1),\n.BR hob (8)\n'
} >"$out/hob.json.5"

{
	printf '.TH HOB 8 "" "hob %s" "System Administration"\n.SH NAME\nhob \\- the Hob daemon: watch folders, cook 3D models, serve the results\n' "$version"
	printf '.SH SYNOPSIS\n.B hob serve\n.RI [ OPTION ...]\n.RI [ DIR ...]\n.SH DESCRIPTION\n'
	"$hob" help serve | sed -e '1,4d' -e '/^Options:/,$d' | verbatim
	printf '.SH OPTIONS\nEach is a key of\n.BR hob.json (5),\ntoo, but for the last ones.\n.PP\n'
	"$hob" help serve | sed '1,/^Options:/d' | verbatim
	cat <<'ROFF'
.SH SIGNALS
.TP
.BR SIGTERM ", " SIGINT
Stop: new requests are answered with 503, what is being answered and written is finished for up to ten seconds, everything
published is kept. A second one stops at once.
.TP
.B SIGHUP
Read hob.json again. What is wrong in it is logged, and the former configuration stays; what takes a restart is named. When the
daemon's terminal was closed: stop.
.TP
.B SIGUSR1
Log what the daemon is doing: counts by state, folders, queue, what is being cooked.
.SH FILES
.TP
.I hob.json
The configuration, in the current folder or one above it,
.IR ~/.config/hob/ ,
or
.IR /etc/hob/ .
.TP
.I .hob/
The cache: blobs by their SHA\-256, recipes, and an index that is made anew from them when it is damaged. One daemon at a time;
a second one names the process id of the first. May be deleted while no daemon runs; everything is cooked again then.
.TP
.IR cook.json ", " MODEL.cook.json
How the models of a folder, or one model, are cooked.
.TP
.IR hob.service ", " hob.socket
Units for systemd: ready, status, reload and watchdog are told, and sockets are taken over.
.SH ENVIRONMENT
Between hob.json and the options, each for one setting:
.PP
ROFF
	sed -n 's/^CONFIG([a-z_]*, [a-z]*, "\([^"]*\)", "\([^"]*\)".*/\2 \1/p' "$table" |
		while read -r variable key; do printf '  %-22s %s\n' "$variable" "$key"; done | verbatim
	printf '.PP\nAnd\n.BR HOB_CONFIG :\nthe file that stands for hob.json.\n.B NO_COLOR\nleaves colours out.\n'
	printf '.SH EXIT STATUS\n0 stopped as asked; 2 usage or configuration; 5 internal error; 130 stopped at once.\n'
	printf '.SH SEE ALSO\n.BR hob (1),\n.BR hob.json (5)\n'
} >"$out/hob.8"

for shell in bash zsh fish; do
	"$hob" completion "$shell" >"$out/hob.$shell"
done
