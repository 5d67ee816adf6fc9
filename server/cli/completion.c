#include "cli.h"

#include <stdio.h>

/* The scripts ask `hob help` when they are used: what they offer is always what this program takes. */

static const char bash_script[] =
	"# hob(1) completion: source <(hob completion bash)\n"
	"_hob() {\n"
	"\tlocal word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
	"\tlocal commands=$(hob help 2>/dev/null | sed -n '/^Everyday/,$ s/^  \\([a-z]\\{2,\\}\\)  *.*$/\\1/p')\n"
	"\tif [ \"$COMP_CWORD\" -eq 1 ] || [ \"$command\" = help ]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"$commands help --version\" -- \"$word\"))\n"
	"\telif [[ $word == -* ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"$(hob help \"$command\" 2>/dev/null | grep -o -- ' --[a-z-]*' | sort "
	"-u)\" -- \"$word\"))\n"
	"\telse\n"
	"\t\tCOMPREPLY=($(compgen -f -- \"$word\"))\n"
	"\tfi\n"
	"}\n"
	"complete -o filenames -F _hob hob\n";

static const char zsh_script[] = "#compdef hob\n"
								 "# hob(1) completion: hob completion zsh > \"${fpath[1]}/_hob\"\n"
								 "_hob() {\n"
								 "\tlocal -a names\n"
								 "\tif (( CURRENT == 2 )); then\n"
								 "\t\tnames=(${(f)\"$(hob help 2>/dev/null | sed -n '/^Everyday/,$ s/^  "
								 "\\([a-z]\\{2,\\}\\)  *\\(.*\\)$/\\1:\\2/p')\"})\n"
								 "\t\t_describe command names\n"
								 "\telif [[ $words[CURRENT] == -* ]]; then\n"
								 "\t\tnames=(${(f)\"$(hob help $words[2] 2>/dev/null | grep -o -- ' "
								 "--[a-z-]*' | sort -u | tr -d ' ')\"})\n"
								 "\t\tcompadd -- $names\n"
								 "\telse\n"
								 "\t\t_files\n"
								 "\tfi\n"
								 "}\n"
								 "compdef _hob hob\n";

static const char fish_script[] =
	"# hob(1) completion: hob completion fish > ~/.config/fish/completions/hob.fish\n"
	"function __hob_commands\n"
	"\thob help 2>/dev/null | sed -n '/^Everyday/,$ s/^  \\([a-z]\\{2,\\}\\)  *\\(.*\\)$/\\1\\t\\2/p'\n"
	"end\n"
	"function __hob_options\n"
	"\thob help (commandline -opc)[2] 2>/dev/null | grep -o -- ' --[a-z-]*' | sort -u | string trim\n"
	"end\n"
	"complete -c hob -n __fish_use_subcommand -f -a '(__hob_commands)'\n"
	"complete -c hob -n 'not __fish_use_subcommand; and string match -q -- \"-*\" (commandline -ct)' -a "
	"'(__hob_options)'\n";

static int run_completion(int argc, char **argv)
{
	static const struct {
		const char *shell, *script;
	} scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
	int operands = cli_parse(&cli_completion, NULL, 0, argc, argv);
	if (operands < 0)
		return cli_parse_exit(operands);
	for (size_t i = 0; operands == 1 && i < HOB_COUNT_OF(scripts); i++)
		if (strcmp(argv[1], scripts[i].shell) == 0) {
			fputs(scripts[i].script, stdout);
			return EXIT_GOOD;
		}
	return cli_usage_error(&cli_completion, "name a shell: bash, zsh or fish");
}

const cli_command cli_completion = {"completion", "bash|zsh|fish", "print a completion script for a shell",
									"Examples:\n"
									"  source <(hob completion bash)\n"
									"  hob completion fish > ~/.config/fish/completions/hob.fish\n",
									run_completion};
