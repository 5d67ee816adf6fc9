#include "serve_config.h"

#include "../client/tls_client.h"
#include "../log/log.h"
#include "../worker/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads lines NAME=VALUE; a line that begins with '#' is a comment. */
static bool read_credentials(const char *path, serve_upstream *out, hob_error *err)
{
	const struct {
		const char *name;
		char *value;
	} known[] = {
		{"database_password", out->password}, {"access_key", out->access}, {"secret_key", out->secret}};
	char line[512];
	uint32_t number = 0;
	FILE *file = fopen(path, "re");
	if (!file)
		return hob_fail(err, IO, "farm.credentials_file '%s' cannot be read: %s", path, strerror(errno));
	bool ok = true;
	while (ok && fgets(line, sizeof line, file)) {
		number++;
		line[strcspn(line, "\r\n")] = 0;
		char *value = strchr(line, '=');
		bool taken = line[0] == 0 || line[0] == '#';
		for (size_t i = 0; value && !taken && i < HOB_COUNT_OF(known); i++)
			if (strncmp(line, known[i].name, (size_t)(value - line)) == 0 &&
				known[i].name[value - line] == 0 && strlen(value + 1) < sizeof out->secret) {
				snprintf(known[i].value, sizeof out->secret, "%s", value + 1);
				taken = true;
			}
		ok =
			taken ||
			hob_fail(
				err, USAGE,
				"%s:%u: neither database_password=, access_key= nor secret_key= with a value below 256 bytes",
				path, number);
	}
	explicit_bzero(line, sizeof line);
	fclose(file);
	return ok;
}

bool srv_serve_farm_options(const srv_config *config, serve_upstream *out, hob_error *err)
{
	const char *metadata = srv_config_text(config, SRV_CONFIG_farm_metadata);
	const char *blobs = srv_config_text(config, SRV_CONFIG_farm_blobs);
	const char *file = srv_config_text(config, SRV_CONFIG_farm_credentials_file);
	const char *node = srv_config_text(config, SRV_CONFIG_farm_node);
	if (!metadata && !blobs)
		return true;
	if (!metadata || !blobs)
		return hob_fail(err, USAGE, "a farm is a database and a place for blobs: farm.%s is missing",
						metadata ? "blobs" : "metadata");
	if (out->url)
		return hob_fail(err, USAGE,
						"cache.upstream and farm are two caches above this one: take one of them away");
	if (file && !read_credentials(file, out, err))
		return false;
	if (node)
		snprintf(out->node, sizeof out->node, "%.64s", node);
	else if (gethostname(out->node, sizeof out->node - 1) != 0)
		snprintf(out->node, sizeof out->node, "?");
	out->has_farm = true;
	out->url = metadata;
	out->farm =
		(srv_farm_options){.metadata = metadata,
						   .blobs = blobs,
						   .password = out->password[0] ? out->password : NULL,
						   .access = out->access[0] ? out->access : NULL,
						   .secret = out->secret[0] ? out->secret : NULL,
						   .node = out->node,
						   .lease_s = (uint32_t)srv_config_number(config, SRV_CONFIG_farm_lease_seconds)};
	return true;
}

cli_option srv_serve_option(serve_options *options, srv_config_key key)
{
	const srv_config_row *row = &srv_config_table[key];
	return (cli_option){row->option, row->letter, CLI_TEXT, &options->texts[key], row->placeholder, row->doc};
}

const char *srv_serve_cache(const srv_config *config)
{
	bool chosen = config->origin[SRV_CONFIG_cache] != SRV_CONFIG_DEFAULT;
	return chosen ? srv_config_text(config, SRV_CONFIG_cache) : NULL;
}

void srv_serve_options_parse(serve_options *options, const cli_command *command, int argc, char **argv)
{
	static char docs[SRV_CONFIG_COUNT][160];
	cli_option table[SRV_CONFIG_COUNT + 3];
	*options = (serve_options){0};
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++) {
		const srv_config_row *row = &srv_config_table[key];
		cli_option *option = &table[key];
		bool plain = !row->initial[0] || row->type == SRV_CONFIG_TYPE_flag || strcmp(row->initial, "0") == 0;
		snprintf(docs[key], sizeof docs[key], plain ? "%s" : "%s (%s)", row->doc, row->initial);
		*option = srv_serve_option(options, key);
		option->doc = docs[key];
		if (row->type == SRV_CONFIG_TYPE_flag)
			*option = (cli_option){row->option, row->letter, CLI_FLAG, &options->flags[key], NULL, docs[key]};
		else if (row->type == SRV_CONFIG_TYPE_list)
			*option = (cli_option){row->option,			 row->letter,	   CLI_LIST,
								   &options->lists[key], row->placeholder, docs[key]};
	}
	table[SRV_CONFIG_COUNT] =
		(cli_option){"--config",	 0,		 CLI_TEXT,
					 &options->file, "FILE", "the configuration file (hob.json here or in a parent)"};
	table[SRV_CONFIG_COUNT + 1] =
		(cli_option){"--verbose", 'v', CLI_FLAG, &options->verbose, NULL, "log more, like --log-level debug"};
	table[SRV_CONFIG_COUNT + 2] = (cli_option){
		"--open",		0,	  CLI_FLAG,
		&options->open, NULL, "open the dashboard in a browser when ready, if there is a display"};
	options->operands = srv_cli_parse(command, table, HOB_COUNT_OF(table), argc, argv);
}

bool srv_serve_options_load(const serve_options *options, srv_config *config, hob_error *err)
{
	if (!srv_config_load(config, options->file, err))
		return false;
	bool ok = true;
	for (srv_config_key key = 0; ok && key < SRV_CONFIG_COUNT; key++) {
		const char *name = srv_config_table[key].option;
		if (options->flags[key])
			ok = srv_config_set(config, key, "true", SRV_CONFIG_OPTION, name, err);
		if (options->texts[key])
			ok = srv_config_set(config, key, options->texts[key], SRV_CONFIG_OPTION, name, err);
		for (uint32_t i = 0; ok && i < options->lists[key].count; i++)
			ok = srv_config_set(config, key, options->lists[key].texts[i], SRV_CONFIG_OPTION, name, err);
	}
	if (ok && options->verbose)
		ok = srv_config_set(config, SRV_CONFIG_log_level, "debug", SRV_CONFIG_OPTION, "--verbose", err);
	if (!ok)
		srv_config_release(config);
	return ok;
}

bool srv_serve_sandbox(const char *word, srv_sandbox_policy *out)
{
	static const char *const words[] = {[SRV_SANDBOX_BEST_EFFORT] = "best-effort",
										[SRV_SANDBOX_REQUIRE] = "require",
										[SRV_SANDBOX_OFF] = "off"};
	for (size_t i = 0; i < HOB_COUNT_OF(words); i++)
		if (strcmp(words[i], word) == 0) {
			*out = (srv_sandbox_policy)i;
			return true;
		}
	return false;
}

void srv_serve_engine_options(const srv_config *config, srv_engine_options *out)
{
	const char *mode = srv_config_text(config, SRV_CONFIG_watch_mode);
	if (config->origin[SRV_CONFIG_reproducibility_interval] != SRV_CONFIG_DEFAULT)
		srv_log(SRV_LOG_WARNING, "config",
				"reproducibility.interval_seconds has no effect any more; 'hob verify "
				"--cook' compares");
	*out = (srv_engine_options){
		.pool = {.workers = (uint32_t)srv_config_number(config, SRV_CONFIG_jobs),
				 .timeout_ms = (uint32_t)srv_config_number(config, SRV_CONFIG_timeout) * 1000,
				 .memory_limit = srv_config_number(config, SRV_CONFIG_memory),
				 .source_limit = srv_config_number(config, SRV_CONFIG_source_limit),
				 .blender = srv_config_text(config, SRV_CONFIG_blender)},
		.derived_limit = srv_config_number(config, SRV_CONFIG_derived_limit),
		.poll_ms = (uint32_t)srv_config_number(config, SRV_CONFIG_poll_ms),
		.watch_mode = strcmp(mode, "poll") == 0		 ? SRV_ENGINE_POLL
					  : strcmp(mode, "inotify") == 0 ? SRV_ENGINE_EVENTS
													 : SRV_ENGINE_AUTO,
		.no_probe = srv_config_flag(config, SRV_CONFIG_no_probe)};
	(void)srv_serve_sandbox(srv_config_text(config, SRV_CONFIG_sandbox), &out->pool.sandbox);
}

static bool read_token(const char *path, serve_upstream *out, hob_error *err)
{
	FILE *file = fopen(path, "re");
	bool ok = file && fgets(out->token, sizeof out->token, file);
	int code = file ? 0 : errno;
	if (file)
		fclose(file);
	out->token[strcspn(out->token, " \t\r\n")] = 0;
	return (ok && out->token[0]) || hob_fail(err, USAGE, "'%s' holds no token for the upstream%s%s", path,
											 code ? ": " : "", code ? strerror(code) : "");
}

bool srv_serve_upstream_options(const srv_config *config, serve_upstream *out, hob_error *err)
{
	const char *file = srv_config_text(config, SRV_CONFIG_upstream_token_file);
	const char *told = getenv("HOB_UPSTREAM_TOKEN"), *ci = getenv("CI");
	const char *push = srv_config_text(config, SRV_CONFIG_push);
	*out = (serve_upstream){.url = srv_config_text(config, SRV_CONFIG_upstream)};
	if (!srv_serve_farm_options(config, out, err))
		return false;
	if (!out->url)
		return true;
	srv_tls_ca_file();
	bool in_ci = ci && ci[0] && strcmp(ci, "false") != 0 && strcmp(ci, "0") != 0;
	out->push = strcmp(push, "always") == 0 || (strcmp(push, "ci") == 0 && in_ci);
	if (!file && told)
		snprintf(out->token, sizeof out->token, "%s", told);
	return !file || read_token(file, out, err);
}

static uint32_t http_threads(const srv_config *config)
{
	enum { HTTP_THREADS_MAX = 32 };
	uint64_t chosen = srv_config_number(config, SRV_CONFIG_http_threads);
	uint32_t quarter = srv_machine_cpus("", uv_available_parallelism()) / 4;
	if (chosen > HTTP_THREADS_MAX)
		srv_log(SRV_LOG_WARNING, "config",
				"%d threads answer HTTP, the most there can be (--http-threads %llu)", HTTP_THREADS_MAX,
				(unsigned long long)chosen);
	if (chosen > 0)
		return (uint32_t)(chosen < HTTP_THREADS_MAX ? chosen : HTTP_THREADS_MAX);
	return quarter < 1 ? 1 : quarter > 4 ? 4 : quarter;
}

void srv_serve_http_options(srv_config *config, srv_http_options *out)
{
	*out = (srv_http_options){.listen = srv_config_text(config, SRV_CONFIG_listen),
							  .allowed_hosts = srv_config_list(config, SRV_CONFIG_allowed_hosts),
							  .cors_origins = srv_config_list(config, SRV_CONFIG_cors_origins),
							  .token_file = srv_config_text(config, SRV_CONFIG_token_file),
							  .trust_network = srv_config_flag(config, SRV_CONFIG_trust_network),
							  .threads = http_threads(config),
							  .hide_sources = srv_config_flag(config, SRV_CONFIG_hide_sources),
							  .web_root = srv_config_text(config, SRV_CONFIG_web_root),
							  .tls_cert = srv_config_text(config, SRV_CONFIG_tls_cert),
							  .tls_key = srv_config_text(config, SRV_CONFIG_tls_key)};
}

srv_log_level srv_serve_log_level(const srv_config *config)
{
	static const char *const names[] = {"debug", "info", "warning", "error"};
	const char *text = srv_config_text(config, SRV_CONFIG_log_level);
	srv_log_level level = SRV_LOG_DEBUG;
	while (level < SRV_LOG_ERROR && strcmp(names[level], text) != 0)
		level++;
	return level;
}
