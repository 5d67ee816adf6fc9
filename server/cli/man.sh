#!/bin/sh
# man.sh HOB OUT: writes the manual pages (hob.1, hob.8, hob.json.5, one for each helper) and the completions from what the
# program says of itself, and the settings from schema/config.def and settings.def.
set -eu
hob=$1 out=$2
mkdir -p "$out"
version=$("$hob" --version | cut -d' ' -f2)
date=$(sed -n 's/^## [0-9.]* (\([0-9-]*\))$/\1/p' "$(dirname "$0")/../../CHANGELOG.md" | head -n 1)

table=$(dirname "$0")/../../schema/config.def cook=$(dirname "$0")/../../schema/settings.def

# Text as it stands: a dot or quote at the begin of a line is no request, a backslash and a hyphen are themselves.
verbatim() {
	printf '.nf\n'
	sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\\([.']\\)/\\\\\\&\\1/"
	printf '.fi\n'
}

# One line of text: as verbatim, but filled.
plain() {
	printf '%s\n' "$1" | sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\\([.']\\)/\\\\\\&\\1/"
}

# The keys of hob.json, from schema/config.def.
keys() {
	sed -n 's/^CONFIG([a-z_]*, \([a-z]*\), "\([^"]*\)", "\([^"]*\)", "\([^"]*\)", [^,]*, "[^"]*", "\([^"]*\)", "\(.*\)")$/\2|\1|\5|\4|\3|\6/p' \
		"$table" |
		while IFS='|' read -r key type default option variable doc; do
			printf '.TP\n.B %s\n' "$(plain "$key")"
			plain "$doc ($type${default:+, default $default}; $option, $variable)"
		done
}

# Cook settings, from schema/settings.def.
settings() {
	sed -n -e 's/^SETTING(\([a-z_]*\), \([a-z0-9]*\), "\([^"]*\)", \([^,]*\), \([^,]*\), \([^,]*\), "\(.*\)")$/\3|\2|\4|\5|\6|\7|\1/p' "$cook" |
		while IFS='|' read -r key type default least most doc field; do
			case $type in
			flag) [ "$default" = 0 ] && range='false or true, default false' || range='false or true, default true' ;;
			choice)
				range=$(sed -n "s/^SETTING_CHOICE($field, [0-9]*, \"\([^\"]*\)\")$/\1/p" "$cook" | paste -s -d ' ' -)
				range="one of $range; default $(sed -n "s/^SETTING_CHOICE($field, $default, \"\([^\"]*\)\")$/\1/p" "$cook")"
				;;
			rules) range='an object of rules' ;;
			text) range="text of at most ${most%.0} bytes, default empty" ;;
			u32) range="whole number from $least to ${most%.0}, default $default" ;;
			*) range="number from $least to $most, default $default" ;;
			esac
			printf '.TP\n.B %s\n' "$(plain "$key")"
			plain "$doc ($range)"
		done
}

{
	printf '.TH HOB 1 "%s" "hob %s" "User Commands"\n.SH NAME\nhob \\- cook 3D models into runtime\\-ready blobs and serve them\n' "$date" "$version"
	printf '.SH SYNOPSIS\n.B hob\n.I COMMAND\n.RI [ OPTION ...]\n.SH DESCRIPTION\n'
	"$hob" help | tail -n +3 | verbatim
	printf '.SH COMMANDS\n'
	for command in $("$hob" help | sed -n '/^Everyday/,$ s/^  \([a-z]\{2,\}\)  *.*$/\1/p'); do
		printf '.SS hob %s\n' "$command"
		"$hob" help "$command" | tail -n +3 | verbatim
	done
	printf '.SH ENVIRONMENT\n'
	"$hob" help environment | tail -n +3 | verbatim
	printf '.SH SEE ALSO\n.BR hob (8),\n.BR hob.json (5)\n'
} >"$out/hob.1"

{
	printf '.TH HOB.JSON 5 "%s" "hob %s" "File Formats"\n.SH NAME\nhob.json \\- configuration of the Hob daemon\n.SH DESCRIPTION\n' "$date" "$version"
	"$hob" help config | tail -n +5 | verbatim
	cat <<'ROFF'
.SH FORMAT
One JSON object. Keys that begin with // are comments. An unknown key, a value of the wrong type or a value out of range is an
error that names it. Relative paths are relative to the file's folder. A size is a number of bytes, or has a unit: "20 GiB",
"500 MB".
.PP
.nf
{
  "sources": [
    { "name": "art", "path": "art", "exclude": ["**/wip/**"] },
    { "name": "art@mobile", "path": "art", "options": { "texture": { "max_size": 512 } } }
  ],
  "defaults": { "lods": { "max": 4 }, "texture": { "encoding": "bc" } },
  "server": { "listen": "127.0.0.1:7780" },
  "cache": { "dir": ".hob", "max_size": "20 GiB" }
}
.fi
.SH SOURCES
.TP
.BR sources " (list of at most 256)"
The watched folders. Folders on the command line replace them. Each has
.B path
and can have
.B name
(used in URLs; default: the folder's name; NAME@PROFILE on the same folder is a profile of NAME),
.BR include " and " exclude
(lists of globs that select assets) and
.B options
(cook settings of this folder).
.TP
.BR defaults " (object)"
Cook settings of every folder.
.SH KEYS
Each with its type and default, and the option of hob serve and the variable that override it.
ROFF
	keys
	cat <<'ROFF'
.SH COOK SETTINGS
Used in
.BR defaults ,
in a source's
.BR options ,
in a folder's cook.json and in a model's MODEL.cook.json; the nearest wins. "lods.max" is written
{ "lods": { "max": 4 } }.
ROFF
	settings
	printf '.SH JSON SCHEMA\nFor editors:\n.PP\n.nf\nhob config \\-\\-schema > hob.schema.json\n.fi\n'
	printf '.SH SEE ALSO\n.BR hob (1),\n.BR hob (8)\n'
} >"$out/hob.json.5"

{
	printf '.TH HOB 8 "%s" "hob %s" "System Administration"\n.SH NAME\nhob \\- the Hob daemon: watch folders, cook 3D models, serve the results\n' "$date" "$version"
	printf '.SH SYNOPSIS\n.B hob serve\n.RI [ OPTION ...]\n.RI [ DIR ...]\n.SH DESCRIPTION\n'
	"$hob" help serve | sed -e '1,4d' -e '/^Options:/,$d' | verbatim
	printf '.SH OPTIONS\nMost are also keys of\n.BR hob.json (5).\n.PP\n'
	"$hob" help serve | sed '1,/^Options:/d' | verbatim
	cat <<'ROFF'
.SH SIGNALS
.TP
.BR SIGTERM ", " SIGINT
Stop. New requests get 503. Running answers and writes may take up to ten more seconds. Everything published is kept. A second
signal stops at once.
.TP
.B SIGHUP
Read hob.json again. If it has errors, they are logged and the old configuration stays. Changes that need a restart are named in
the log. If the daemon's terminal was closed: stop.
.TP
.B SIGUSR1
Log what the daemon is doing: counts by state, folders, queue, running cooks.
.SH FILES
.TP
.I hob.json
The configuration, in the current folder or one above it, or in
.IR ~/.config/hob/ .
.TP
.I /etc/hob/hob.json
The configuration of the service
.BR hob.service ,
and of no other command.
.TP
.I .hob/
The cache: blobs by their SHA\-256, records of cooks, and an index, which is rebuilt from them if it is damaged. Only one daemon
can use it; a second one prints the process id of the first. You can delete it while no daemon runs; everything is then cooked
again.
.TP
.IR cook.json ", " MODEL.cook.json
How the models of a folder, or one model, are cooked.
.TP
.IR hob.service ", " hob.socket
Units for systemd, with readiness, status, reload, watchdog and socket activation.
.SH ENVIRONMENT
Each variable sets one key. It overrides hob.json, and an option overrides it:
.PP
ROFF
	sed -n 's/^CONFIG([a-z_]*, [a-z]*, "\([^"]*\)", "\([^"]*\)".*/\2 \1/p' "$table" |
		while read -r variable key; do printf '  %-22s %s\n' "$variable" "$key"; done | verbatim
	printf '.PP\nAnd\n.BR HOB_CONFIG :\nthe file to use as hob.json.\n.B NO_COLOR\nturns colours off.\n'
	printf '.SH EXIT STATUS\n0 stopped as asked; 2 usage or configuration; 5 internal error; 130 stopped at once.\n'
	printf '.SH SEE ALSO\n.BR hob (1),\n.BR hob.json (5)\n'
} >"$out/hob.8"

# program NAME WHAT: a page for a program that only the daemon starts.
program() {
	printf '.TH %s 1 "%s" "hob %s" "User Commands"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n' \
		"$(echo "$1" | tr a-z A-Z)" "$date" "$version" "$(plain "$1")" "$2"
	printf '%s\nIt takes no options, communicates only with its parent, and must be installed beside\n.BR hob .\n.SH SEE ALSO\n.BR hob (1),\n.BR hob (8)\n' \
		"$(plain "$3")"
}
program hob-worker 'cook 3D models for hob' \
	'The process that hob serve and hob cook start for each core. It reads models and pictures in a sandbox of landlock, seccomp and limits.' \
	>"$out/hob-worker.1"
program hob-exporter 'have Blender export for hob' \
	'The process that becomes Blender to cook a .blend file, in a sandbox of landlock, seccomp, limits and mounts of its own.' \
	>"$out/hob-exporter.1"
program hob-thumbnail 'draw thumbnails for hob' \
	'The process that hob serve starts to draw pictures of cooked models with EGL and OpenGL ES, without a display.' \
	>"$out/hob-thumbnail.1"

program hob-git 'read git repositories for hob' \
	'The process that hob serve starts for each git repository. It reads objects and references in a sandbox of landlock, seccomp and limits.' \
	>"$out/hob-git.1"
program hob-lfs 'fetch large files of git repositories for hob' \
	'The process that hob serve starts for a source with "lfs" in hob.json. It asks that server of Git LFS, in a sandbox that allows the network and no files but certificates.' \
	>"$out/hob-lfs.1"

for shell in bash zsh fish; do
	"$hob" completion "$shell" >"$out/hob.$shell"
done
