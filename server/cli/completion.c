#include "cli.h"

#include <ctype.h>
#include <stdio.h>

enum { WORD_MAX = 1024 };

static struct {
	const cli_command *command;
	char **words; /* the command's name first, the word to complete last */
	int count;
} asked;

/* Each option of the configuration, and then its choices, without an option. */
static const struct {
	const char *option, *value;
} choices[] = {
#define CONFIG(field, type, path, environment, option, letter, placeholder, value, doc) {option, NULL},
#define CONFIG_CHOICE(field, value)														{NULL, value},
#include "../../schema/config.def"
#undef CONFIG
#undef CONFIG_CHOICE
};

static void offer(const char *prefix, const char *candidate, const char *what)
{
	for (const char *p = candidate; *p; p++)
		if (iscntrl((unsigned char)*p))
			return;
	if (strncmp(candidate, prefix, strlen(prefix)) == 0)
		printf("%s%s%s\n", candidate, what ? "\t" : "", what ? what : "");
}

/* ---- words of the usage line */

static void offer_words(const char *prefix, const char *alternatives)
{
	char word[64];
	for (const char *at = alternatives; *at; at += strcspn(at, "|") + (at[strcspn(at, "|")] == '|')) {
		snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "|"), at);
		offer(prefix, word, NULL);
	}
}

/* Completes the last of comma-separated states. */
static void offer_states(const char *prefix)
{
	static const struct {
		const char *name, *meaning;
	} states[] = {
#define STANDING(id, text, tone, old, meaning) {text, meaning},
#include "../../schema/standings.def"
#undef STANDING
	};
	const char *comma = strrchr(prefix, ',');
	int before = comma ? (int)(comma - prefix) + 1 : 0;
	for (size_t i = 0; i < HOB_COUNT_OF(states); i++) {
		char word[WORD_MAX];
		snprintf(word, sizeof word, "%.*s%s", before < 900 ? before : 0, prefix, states[i].name);
		offer(prefix, word, states[i].meaning);
	}
}

static void offer_choices(const char *prefix, const char *option)
{
	bool chosen = false;
	for (size_t i = 0; i < HOB_COUNT_OF(choices); i++) {
		chosen = choices[i].option ? strcmp(choices[i].option, option) == 0 : chosen;
		if (chosen && choices[i].value)
			offer(prefix, choices[i].value, NULL);
	}
}

/* Offers "lods.max=" and, after the '=', the setting's values. */
static void offer_settings(const char *prefix)
{
	static const struct {
		const char *path, *doc;
	} keys[] = {
#define SETTING(field, type, path, value, min, max, doc) {path "=", doc},
#define SETTING_CHOICE(field, index, name)
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
	};
	static const char *const values[][2] = {
#define SETTING(field, type, path, value, min, max, doc) {#field, path "="},
#define SETTING_CHOICE(field, index, name)				 {NULL, name},
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
	};
	bool chosen = strchr(prefix, '=') != NULL;
	for (size_t i = 0; i < HOB_COUNT_OF(keys) && !chosen; i++)
		offer(prefix, keys[i].path, keys[i].doc);
	const char *key = "";
	for (size_t i = 0; i < HOB_COUNT_OF(values) && chosen; i++) {
		char word[WORD_MAX];
		key = values[i][0] ? values[i][1] : key;
		snprintf(word, sizeof word, "%s%s", key, values[i][1]);
		if (!values[i][0])
			offer(prefix, word, NULL);
	}
}

static void offer_kind(const char *prefix, const char *kind)
{
	static const char *const files[] = {"SOURCE", "A", "B", "PATH", "BUNDLE", "LIST"};
	if (islower((unsigned char)kind[0]))
		offer_words(prefix, kind);
	else if (strcmp(kind, "STATES") == 0)
		offer_states(prefix);
	else if (strcmp(kind, "KEY=VALUE") == 0)
		offer_settings(prefix);
	else if (strcmp(kind, "DIR") == 0)
		puts(":folders");
	else if (strstr(kind, "FILE"))
		puts(":files");
	for (size_t i = 0; i < HOB_COUNT_OF(files); i++)
		if (strcmp(kind, files[i]) == 0)
			puts(":files");
}

/* Completes the n-th operand of "ASSET [OUTPUT]"; the last one of "PATH..." serves for all that follow. */
static void offer_operand(const char *prefix, int n)
{
	char words[128], *kind = NULL, *state = NULL;
	snprintf(words, sizeof words, "%s", asked.command->arguments);
	bool many = strstr(words, "...") != NULL;
	char *next = strtok_r(words, " []", &state);
	for (int i = 0; next && (i <= n || many); i++, next = strtok_r(NULL, " []", &state))
		kind = i == n || many ? next : kind;
	if (!kind)
		return;
	kind[strcspn(kind, ".")] = 0;
	offer_kind(prefix, kind);
}

/* ---- the words before the last one */

/* Offers the values of an option. "--log=te" is one word in some shells, three words in bash. */
static bool offer_value(const cli_option *options, size_t count)
{
	char *last = asked.words[asked.count - 1], *equal = last[0] == '-' ? strchr(last, '=') : NULL;
	const char *name = asked.count > 1 ? asked.words[asked.count - 2] : "";
	char own[64] = "";
	if (strcmp(name, "=") == 0 && asked.count > 2)
		name = asked.words[asked.count - 3];
	else if (strcmp(last, "=") == 0)
		last++;
	else if (equal) {
		snprintf(own, sizeof own, "%.*s", (int)(equal - last), last);
		name = own;
	}
	const cli_option *option = srv_cli_find_option(options, count, name);
	if (!option || option->kind == CLI_FLAG)
		return false;
	if (equal)
		return true; /* no candidates: each would have to repeat "--name="; bash and zsh split the word */
	offer_choices(last, option->name);
	offer_kind(last, option->placeholder);
	return true;
}

static void take_options(const cli_option *options, size_t count)
{
	const char *last = asked.words[asked.count - 1];
	int operands = 0;
	bool ended = false; /* "--" ended the options */
	for (int i = 1; i < asked.count - 1; i++) {
		const cli_option *option = ended ? NULL : srv_cli_find_option(options, count, asked.words[i]);
		if (option && option->kind != CLI_FLAG) {
			i++;
		} else if (!ended && strcmp(asked.words[i], "--") == 0) {
			ended = true;
		} else if (ended || asked.words[i][0] != '-') {
			operands++;
		}
	}
	if (!ended && offer_value(options, count))
		return;
	if (ended || last[0] != '-') {
		offer_operand(last, operands);
		return;
	}
	for (size_t i = 0; i < count; i++)
		offer(last, options[i].name, options[i].doc);
	offer(last, "--help", "what it does, with examples");
}

int srv_cli_complete(const cli_command *const *commands, size_t command_count, int argc, char **argv)
{
	if (argc == 0)
		return EXIT_GOOD;
	asked.words = argv;
	asked.count = argc;
	if (argc == 1 || (argc == 2 && strcmp(argv[0], "help") == 0)) {
		for (size_t i = 0; i < command_count; i++)
			offer(argv[argc - 1], commands[i]->name, commands[i]->summary);
		if (argc == 2)
			offer(argv[1], "environment", "variables that hob reads and sets");
		if (argc == 1)
			offer(argv[0], "help", "what a command does, with examples");
		if (argc == 1)
			offer(argv[0], "--version", NULL);
		return EXIT_GOOD;
	}
	for (size_t i = 0; i < command_count; i++)
		if (strcmp(commands[i]->name, argv[0]) == 0) {
			asked.command = commands[i];
			srv_cli_take_options(take_options);
			(void)commands[i]->run(argc, argv);
		}
	return EXIT_GOOD;
}

/* The scripts pass the words to `hob __complete`, so they offer what this program accepts. */

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
