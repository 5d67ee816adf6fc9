#include "complete.h"
#include "query.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

enum { PATIENCE_MS = 700, WORD_MAX = 1024 };

static struct {
	const cli_command *command;
	char **words; /* the command's name first, the word to complete last */
	int count;
	const char *url;
} asked;

static const struct {
	const char *option, *value;
} choices[] = {
#define CONFIG(field, type, path, environment, option, letter, placeholder, value, doc)
#define CONFIG_CHOICE(field, value) {#field, value},
#include "../../schema/config.def"
#undef CONFIG
#undef CONFIG_CHOICE
};

static const struct {
	const char *field, *option;
} fields[] = {
#define CONFIG(field, type, path, environment, option, letter, placeholder, value, doc) {#field, option},
#define CONFIG_CHOICE(field, value)
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

/* ---- from the daemon */

static void on_late(int number)
{
	(void)number;
	_exit(EXIT_GOOD); /* what was written so far remains */
}

static void ask_in_time(void)
{
	struct itimerval patience = {.it_value = {PATIENCE_MS / 1000, PATIENCE_MS % 1000 * 1000}};
	fflush(stdout);
	signal(SIGALRM, on_late);
	setitimer(ITIMER_REAL, &patience, NULL);
}

static cJSON *ask(const char *target)
{
	cli_response response;
	hob_error error = {0};
	if (!srv_cli_request(asked.url, "GET", target, NULL, (hob_str){0}, &response, &error))
		return NULL;
	cJSON *root = NULL;
	if (response.status == 200)
		root = cJSON_ParseWithLength((const char *)response.body.data, response.body.size);
	srv_cli_response_release(&response);
	return root;
}

/* Walks names as a shell walks folders: up to the next '/'. Names are sorted, so those of one folder are
 * neighbours. */
static void offer_name(const char *prefix, const char *root, const char *path, char last[WORD_MAX])
{
	char name[WORD_MAX];
	size_t length = strlen(prefix);
	if (snprintf(name, sizeof name, "%s/%s", root, path) >= (int)sizeof name ||
		strncmp(name, prefix, length) != 0)
		return;
	char *slash = strchr(name + length, '/');
	if (slash)
		slash[1] = 0;
	if (strcmp(name, last) != 0)
		offer(prefix, name, NULL);
	memcpy(last, name, sizeof name);
}

static void offer_roots(const char *prefix)
{
	cJSON *answer = ask("/api/v1/roots");
	const cJSON *root;
	char name[WORD_MAX];
	cJSON_ArrayForEach(root, srv_cli_member(answer, "items"))
	{
		snprintf(name, sizeof name, "%.1000s/", srv_cli_text(root, "name"));
		offer(prefix, name, NULL);
	}
	cJSON_Delete(answer);
}

static void offer_assets(const char *prefix)
{
	char last[WORD_MAX] = "";
	hob_buf cursor = {0};
	ask_in_time();
	if (!strchr(prefix, '/')) {
		offer_roots(prefix);
		return;
	}
	for (bool more = true; more;) {
		hob_buf target = {0};
		hob_buf_put_str(&target, HOB_STR("/api/v1/assets?limit=1000&fields=root,path&q="));
		srv_cli_encode(&target, hob_str_of(prefix));
		if (cursor.size > 0)
			hob_buf_printf(&target, "&cursor=%.*s", HOB_FMT(hob_buf_str(&cursor)));
		hob_buf_put(&target, "", 1);
		cJSON *page = ask((const char *)target.data);
		const cJSON *item;
		cJSON_ArrayForEach(item, srv_cli_member(page, "items"))
			offer_name(prefix, srv_cli_text(item, "root"), srv_cli_text(item, "path"), last);
		fflush(stdout);
		hob_buf_clear(&cursor);
		hob_buf_put_str(&cursor, hob_str_of(srv_cli_text(page, "next")));
		more = cursor.size > 0;
		hob_buf_release(&target);
		cJSON_Delete(page);
	}
	hob_buf_release(&cursor);
}

static void offer_outputs(const char *prefix, const char *asset)
{
	hob_buf target = {0};
	ask_in_time();
	hob_buf_put_str(&target, HOB_STR("/api/v1/assets?fields=outputs&path="));
	srv_cli_encode(&target, hob_str_of(asset));
	hob_buf_put(&target, "", 1);
	cJSON *page = ask((const char *)target.data);
	const cJSON *output;
	cJSON_ArrayForEach(output, srv_cli_member(cJSON_GetArrayItem(srv_cli_member(page, "items"), 0),
											  "outputs")) offer(prefix, srv_cli_text(output, "name"), NULL);
	cJSON_Delete(page);
	hob_buf_release(&target);
}

/* ---- from the usage line */

static void offer_words(const char *prefix, const char *alternatives)
{
	char word[64];
	for (const char *at = alternatives; *at; at += strcspn(at, "|") + (at[strcspn(at, "|")] == '|')) {
		snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "|"), at);
		offer(prefix, word, NULL);
	}
}

/* Comma-separated: the last is completed. */
static void offer_states(const char *prefix)
{
	static const struct {
		const char *name, *meaning;
	} states[] = {
#define JOB_STATE(id, name, meaning) {name, meaning},
#include "../../schema/job_states.def"
#undef JOB_STATE
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
	for (size_t f = 0; f < HOB_COUNT_OF(fields); f++)
		for (size_t i = 0; strcmp(fields[f].option, option) == 0 && i < HOB_COUNT_OF(choices); i++)
			if (strcmp(choices[i].option, fields[f].field) == 0)
				offer(prefix, choices[i].value, NULL);
}

static void offer_kind(const char *prefix, const char *kind, const char *operand_before)
{
	if (strcmp(kind, "OUTPUT") == 0) {
		offer_outputs(prefix, operand_before);
		return;
	}
	bool both = strcmp(kind, "SOURCE") == 0 || strcmp(kind, "A") == 0 || strcmp(kind, "B") == 0;
	if (islower((unsigned char)kind[0]))
		offer_words(prefix, kind);
	else if (strcmp(kind, "STATES") == 0)
		offer_states(prefix);
	else if (strcmp(kind, "DIR") == 0)
		puts(":folders");
	else if (both || strstr(kind, "FILE") || strcmp(kind, "PATH") == 0 || strcmp(kind, "BUNDLE") == 0 ||
			 strcmp(kind, "LIST") == 0)
		puts(":files");
	if (both || strstr(kind, "ASSET") || strstr(kind, "GLOB"))
		offer_assets(prefix);
}

/* The n-th word of "ASSET [OUTPUT]"; the last one of "PATH..." is used for all that follow. */
static void offer_operand(const char *prefix, int n, const char *before)
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
	offer_kind(prefix, kind, before);
}

/* ---- the words before the last */

static const cli_option *find_option(const cli_option *options, size_t count, const char *word)
{
	for (size_t i = 0; i < count && word[0] == '-'; i++)
		if (strcmp(options[i].name, word) == 0 ||
			(options[i].letter && word[1] == options[i].letter && word[2] == 0))
			return &options[i];
	return NULL;
}

/* "--log=te" is one word in some shells, three in bash. */
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
	const cli_option *option = find_option(options, count, name);
	if (!option || option->kind == CLI_FLAG)
		return false;
	if (equal)
		return true; /* the candidates would have to repeat the option; bash and zsh split it */
	offer_choices(last, option->name);
	offer_kind(last, option->placeholder, "");
	return true;
}

static void take_options(const cli_option *options, size_t count)
{
	const char *last = asked.words[asked.count - 1], *before = "";
	int operands = 0;
	bool ended = false; /* by "--" */
	for (int i = 1; i < asked.count - 1; i++) {
		const cli_option *option = ended ? NULL : find_option(options, count, asked.words[i]);
		if (option && option->kind != CLI_FLAG) {
			if (strcmp(option->name, "--url") == 0 && i + 2 < asked.count)
				asked.url = asked.words[i + 1];
			i++;
		} else if (!ended && strcmp(asked.words[i], "--") == 0) {
			ended = true;
		} else if (ended || asked.words[i][0] != '-') {
			operands++;
			before = asked.words[i];
		}
	}
	if (!ended && offer_value(options, count))
		return;
	if (ended || last[0] != '-') {
		offer_operand(last, operands, before);
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
	asked.url = srv_cli_default_url();
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
