#include "query.h"

#include "../auth/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* hob token create|list|revoke: edits the file for hob serve --token-file. */

static int create(const char *path, const char *name, srv_scope scope, const char *place)
{
	static const char *const rights[] = {"nothing", "read commits of ", "read",
										 "read, and feed the mirror root ", "read and write"};
	hob_error error = {0};
	char text[SRV_TOKEN_TEXT + 1];
	if (!srv_token_create(path, hob_str_of(name), scope, hob_str_of(place), text, &error))
		return srv_cli_fail("hob token", &error, EXIT_USAGE);
	printf("%s\n", text);
	fprintf(stderr,
			"This is the only time it is shown: '%s' may %s%s. Programs of hob take it from HOB_TOKEN.\n",
			name, rights[scope], place ? place : "");
	return EXIT_GOOD;
}

static int list(const char *path, bool json)
{
	hob_error error = {0};
	srv_tokens tokens;
	if (!srv_tokens_read(path, &tokens, &error))
		return srv_cli_fail("hob token", &error, EXIT_USAGE);
	hob_own_json *items = cJSON_CreateArray();
	for (uint32_t i = 0; i < tokens.count; i++) {
		const srv_token *token = &tokens.items[i];
		char day[32];
		time_t created = (time_t)token->created_s;
		struct tm parts;
		strftime(day, sizeof day, json ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d", gmtime_r(&created, &parts));
		if (!json) {
			printf("%-24s %-6s %s%s%s\n", token->name, srv_scope_name(token->scope), day,
				   token->place[0] ? " " : "", token->place);
			continue;
		}
		cJSON *item = cJSON_CreateObject();
		cJSON_AddStringToObject(item, "name", token->name);
		cJSON_AddStringToObject(item, "scope", srv_scope_name(token->scope));
		if (token->place[0])
			cJSON_AddStringToObject(item, srv_scope_name(token->scope), token->place);
		cJSON_AddStringToObject(item, "created_at", day);
		cJSON_AddItemToArray(items, item);
	}
	srv_cli_print_json(json ? items : NULL);
	if (!json && tokens.count == 0)
		fprintf(stderr, "'%s' has no token yet: hob token create NAME\n", path);
	srv_tokens_release(&tokens);
	return EXIT_GOOD;
}

static int revoke(const char *path, const char *name)
{
	hob_error error = {0};
	if (!srv_token_revoke(path, hob_str_of(name), &error))
		return srv_cli_fail("hob token", &error, EXIT_USAGE);
	fprintf(stderr, "'%s' no longer has access.\n", name);
	return EXIT_GOOD;
}

static int run_token(int argc, char **argv)
{
	const char *path = getenv("HOB_TOKEN_FILE"), *mirror = NULL, *ref = NULL;
	bool write = false, json = false;
	cli_option options[] = {
		{"--token-file", 0, CLI_TEXT, &path, "FILE", "the token file ($HOB_TOKEN_FILE)"},
		{"--write", 'w', CLI_FLAG, &write, NULL,
		 "create a token that also allows changes: cook, upload, settings"},
		{"--mirror", 0, CLI_TEXT, &mirror, "ROOT",
		 "create a token for hob-agent: it may read, and feed this mirror root, or ROOT/FOLDER"},
		{"--ref", 0, CLI_TEXT, &ref, "ROOT/BRANCH",
		 "create a token that reads only commits of this branch, tag, or glob of them, of a git repository"},
		{"--json", 0, CLI_FLAG, &json, NULL, "list as JSON"},
	};
	int operands = srv_cli_parse(&srv_cli_token, options, HOB_COUNT_OF(options), argc, argv);
	const char *verb = operands > 0 ? argv[1] : "";
	bool is_list = strcmp(verb, "list") == 0, is_create = strcmp(verb, "create") == 0;
	static const char *const verbs[] = {"create", "list", "revoke"};
	const char *near = operands > 0 ? srv_cli_nearest(hob_str_of(verb), verbs, HOB_COUNT_OF(verbs)) : NULL;
	if (near && strcmp(near, verb) != 0)
		return srv_cli_usage_error(&srv_cli_token, "'%s' is no command of hob token; did you mean '%s'?",
								   verb, near);
	if (!near)
		return srv_cli_usage_error(&srv_cli_token, "say what to do: create NAME, list or revoke NAME");
	if (operands != (is_list ? 1 : 2))
		return srv_cli_usage_error(&srv_cli_token,
								   is_list ? "list takes no name" : "%s takes the name of one token", verb);
	if (!!mirror + !!ref + write > (is_create ? 1 : 0))
		return srv_cli_usage_error(&srv_cli_token, "--mirror, --ref or --write, one of them, is for create");
	srv_scope scope = mirror  ? SRV_SCOPE_MIRROR
					  : ref	  ? SRV_SCOPE_REF
					  : write ? SRV_SCOPE_WRITE
							  : SRV_SCOPE_READ;
	if (!path || !path[0])
		return srv_cli_usage_error(&srv_cli_token,
								   "which file? Give --token-file FILE or set HOB_TOKEN_FILE");
	return is_list	   ? list(path, json)
		   : is_create ? create(path, argv[2], scope, mirror ? mirror : ref)
					   : revoke(path, argv[2]);
}

const cli_command srv_cli_token = {
	"token", "create|list|revoke [NAME]", "manage access tokens for daemons that serve other machines",
	"Tokens give programs and people access from other machines. FILE keeps only their SHA-256, so a token "
	"is shown once. A daemon that uses FILE notices changes at once.\n"
	"\n"
	"Examples:\n"
	"  hob token create build-farm --write --token-file /etc/hob/tokens\n"
	"  hob token create anna --mirror art --token-file /etc/hob/tokens\n"
	"  hob token create outsourcer --ref art/main --token-file /etc/hob/tokens\n"
	"  hob serve art/ --listen 0.0.0.0:7780 --token-file /etc/hob/tokens\n"
	"  curl -H \"Authorization: Bearer $HOB_TOKEN\" http://host:7780/api/v1/assets\n"
	"  hob token revoke build-farm --token-file /etc/hob/tokens\n",
	run_token};
