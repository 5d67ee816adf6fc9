/* serve_config.h - the options of `hob serve`: one for each row of schema/config.def. */
#ifndef CLI_SERVE_CONFIG_H
#define CLI_SERVE_CONFIG_H

#include "cli.h"

#include "../config/config.h"
#include "../engine/engine.h"
#include "../http/http.h"
#include "../log/log.h"

typedef struct serve_options {
	const char *file; /* --config */
	bool flags[SRV_CONFIG_COUNT];
	const char *texts[SRV_CONFIG_COUNT];
	cli_list lists[SRV_CONFIG_COUNT];
	bool verbose, open;
	int operands; /* number of operands, which the parser moves to argv[1] and after */
} serve_options;

/* The option of one key, for a command that takes few of them. */
cli_option srv_serve_option(serve_options *options, srv_config_key key);
void srv_serve_options_parse(serve_options *options, const cli_command *command, int argc, char **argv);
/* hob.json and the environment, overridden by the options. Errors: CONFIG, IO, MEMORY. */
bool srv_serve_options_load(const serve_options *options, srv_config *config, hob_error *err) HOB_MUST_CHECK;
/* The folder of the configured cache, which a daemon may share. NULL: only the built-in default applies,
 * which belongs to this machine's daemon. */
const char *srv_serve_cache(const srv_config *config);
/* Parses `word`: best-effort, require or off. False: it is none of these. */
bool srv_serve_sandbox(const char *word, srv_sandbox_policy *out);
/* Fills in the options of a module. Texts stay in `config`. */
void srv_serve_engine_options(const srv_config *config, srv_engine_options *out);
/* The upstream of this cache: cache.upstream or farm, with settings. It must not move in memory. */
typedef struct serve_upstream {
	const char *url; /* NULL: none; lives as long as the configuration */
	char token[512]; /* empty: none */
	bool push;
	bool has_farm; /* the upstream is a farm, and `url` its database */
	srv_farm_options farm;
	char node[65], password[256], access[256], secret[256];
} serve_upstream;
/* Errors: USAGE (a token file that cannot be read, or has no token; two Hobs with one address). */
bool srv_serve_upstream_options(const srv_config *config, serve_upstream *out, hob_error *err) HOB_MUST_CHECK;
/* farm_config.c: the settings of a farm. Errors: USAGE (an incomplete farm, a farm and an upstream), IO. */
bool srv_serve_farm_options(const srv_config *config, serve_upstream *out, hob_error *err) HOB_MUST_CHECK;
void srv_serve_http_options(srv_config *config, srv_http_options *out);
srv_log_level srv_serve_log_level(const srv_config *config);

#endif
