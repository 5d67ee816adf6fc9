#include "cli.h"

#include <stdio.h>

/* The scripts pass the words to `hob __complete` (complete.h), so they offer what this program accepts. */

static const char bash_script[] =
	"# hob(1) completion: source <(hob completion bash)\n"
	"_hob() {\n"
	"\tlocal line word=${COMP_WORDS[COMP_CWORD]//\\\\/}\n"
	"\tCOMPREPLY=()\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tcase $line in\n"
	"\t\t:files) compopt -o filenames 2>/dev/null; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f "
	"-- \"$word\") ;;\n"
	"\t\t:folders) compopt -o filenames 2>/dev/null; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d "
	"-- \"$word\") ;;\n"
	"\t\t*) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
	"\t\tesac\n"
	"\t\t[[ $line == */* ]] && compopt -o filenames 2>/dev/null\n"
	"\tdone < <(\"${COMP_WORDS[0]}\" __complete \"${COMP_WORDS[@]:1:COMP_CWORD-1}\" \"$word\" 2>/dev/null)\n"
	"\t[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null\n"
	"\treturn 0\n"
	"}\n"
	"complete -F _hob hob\n";

static const char zsh_script[] =
	"#compdef hob\n"
	"# hob(1) completion: hob completion zsh > \"${fpath[1]}/_hob\"\n"
	"_hob() {\n"
	"\tlocal line name\n"
	"\tlocal -a described folders plain\n"
	"\tfor line in \"${(@f)$(${words[1]} __complete \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
	"\t\tname=${line%%$'\\t'*}\n"
	"\t\tcase $line in\n"
	"\t\t(:files) _files ;;\n"
	"\t\t(:folders) _files -/ ;;\n"
	"\t\t(*$'\\t'*) described+=(\"${name//:/\\\\:}:${line#*$'\\t'}\") ;;\n"
	"\t\t(*/) folders+=(\"$name\") ;;\n"
	"\t\t(?*) plain+=(\"$name\") ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\t(( $#described )) && _describe -V hob described\n"
	"\t(( $#folders )) && compadd -S '' -- $folders\n"
	"\t(( $#plain )) && compadd -- $plain\n"
	"\treturn 0\n"
	"}\n"
	"if [[ $funcstack[1] == _hob ]]; then _hob \"$@\"; else compdef _hob hob; fi\n";

static const char fish_script[] =
	"# hob(1) completion: hob completion fish > ~/.config/fish/completions/hob.fish\n"
	"function __hob_complete\n"
	"\tset -l words (commandline -opc)\n"
	"\tset -l word (commandline -ct)\n"
	"\tfor line in ($words[1] __complete $words[2..-1] \"$word\" 2>/dev/null)\n"
	"\t\tswitch $line\n"
	"\t\t\tcase :files\n"
	"\t\t\t\t__fish_complete_path \"$word\"\n"
	"\t\t\tcase :folders\n"
	"\t\t\t\t__fish_complete_directories \"$word\"\n"
	"\t\t\tcase '*'\n"
	"\t\t\t\techo $line\n"
	"\t\tend\n"
	"\tend\n"
	"end\n"
	"complete -c hob -f -a '(__hob_complete)'\n";

static int run_completion(int argc, char **argv)
{
	static const struct {
		const char *shell, *script;
	} scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
	int operands = srv_cli_parse(&srv_cli_completion, NULL, 0, argc, argv);
	if (operands < 0)
		return srv_cli_parse_exit(operands);
	for (size_t i = 0; operands == 1 && i < HOB_COUNT_OF(scripts); i++)
		if (strcmp(argv[1], scripts[i].shell) == 0) {
			fputs(scripts[i].script, stdout);
			return EXIT_GOOD;
		}
	return srv_cli_usage_error(&srv_cli_completion, "name a shell: bash, zsh or fish");
}

const cli_command srv_cli_completion = {
	"completion", "bash|zsh|fish", "print a completion script for a shell",
	"The script completes commands, options and their values, and files.\n"
	"\n"
	"Examples:\n"
	"  source <(hob completion bash)\n"
	"  hob completion zsh > \"${fpath[1]}/_hob\"\n"
	"  hob completion fish > ~/.config/fish/completions/hob.fish\n",
	run_completion};
