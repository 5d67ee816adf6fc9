#include "config_check.h"
#include "cli.h"

#include "../http/http.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

HOB_PRINTF(3, 4) static void say(uint32_t *count, const char *where, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	fprintf(stderr, "%s: ", where);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	++*count;
}

static const char *name_of(const srv_config_source *source, const char *path)
{
	const char *slash = strrchr(path, '/');
	return source->name[0] ? source->name : slash && slash[1] ? slash + 1 : path;
}

static void check_sources(const srv_config *config, const char *where, uint32_t *count)
{
	char **paths = calloc(config->source_count + 1, sizeof *paths);
	for (uint32_t i = 0; paths && i < config->source_count; i++) {
		const srv_config_source *one = &config->sources[i];
		struct stat info;
		paths[i] = realpath(one->path, NULL);
		if (!paths[i])
			say(count, where, "the folder '%s' of 'sources' cannot be opened: %s; make it, or correct 'path'",
				one->path, strerror(errno));
		else if (stat(paths[i], &info) == 0 && !S_ISDIR(info.st_mode))
			say(count, where, "'%s' of 'sources' is not a folder; name the folder that it is in", one->path);
		for (uint32_t j = 0; j < i && paths[i]; j++) {
			const char *name = name_of(one, paths[i]), *other = name_of(&config->sources[j], paths[i]);
			if (paths[j] && strcmp(paths[i], paths[j]) == 0 && !srv_config_are_profiles(other, name))
				say(count, where,
					"the folder '%s' is in 'sources' twice; leave one out, or name them art and art@mobile",
					paths[i]);
			else if (strcmp(name, other) == 0)
				say(count, where, "two sources are called '%s'; give one of them another 'name'", name);
		}
	}
	for (uint32_t i = 0; paths && i < config->source_count; i++)
		free(paths[i]);
	free(paths);
}

static void check_addresses(const srv_config *config, uint32_t *count)
{
	const char *listen = srv_config_text(config, SRV_CONFIG_listen);
	const char *where = srv_config_origin_name(config, SRV_CONFIG_listen);
	hob_str rest = hob_str_of(listen ? listen : "");
	for (bool more = rest.len > 0; more;) {
		size_t comma = hob_str_find(rest, HOB_STR(","), 0);
		hob_str one = hob_str_sub(rest, 0, comma);
		bool exposed = false;
		hob_error error;
		if (!srv_http_check_address(one, &exposed, &error))
			say(count, where, "server.listen: %s", error.context);
		else if (exposed && !srv_config_text(config, SRV_CONFIG_token_file) &&
				 !srv_config_flag(config, SRV_CONFIG_trust_network))
			say(count, where,
				"server.listen: other machines reach '%.*s', so 'hob serve' requires server.token_file (see "
				"'hob help token') or server.trust_network",
				HOB_FMT(one));
		more = comma != SIZE_MAX;
		rest = more ? hob_str_sub(rest, comma + 1, rest.len) : rest;
	}
	bool cert = srv_config_text(config, SRV_CONFIG_tls_cert),
		 key = srv_config_text(config, SRV_CONFIG_tls_key);
	if (cert != key)
		say(count, srv_config_origin_name(config, cert ? SRV_CONFIG_tls_cert : SRV_CONFIG_tls_key),
			"server.%s also needs server.%s", cert ? "tls_cert" : "tls_key", cert ? "tls_key" : "tls_cert");
	static const srv_config_key files[] = {SRV_CONFIG_token_file, SRV_CONFIG_tls_cert, SRV_CONFIG_tls_key};
	for (size_t i = 0; i < HOB_COUNT_OF(files); i++) {
		const char *path = srv_config_text(config, files[i]);
		if (path && access(path, R_OK) != 0)
			say(count, srv_config_origin_name(config, files[i]), "%s: '%s' cannot be read: %s",
				srv_config_table[files[i]].path, path, strerror(errno));
	}
}

static void check_environment(uint32_t *count)
{
	static const char *const others[] = {
		"HOB_URL",	 "HOB_TOKEN", "HOB_CACERT", "HOB_CONFIG", "HOB_UPSTREAM_TOKEN", "HOB_PID", "HOB_ASSET",
		"HOB_STATE", "HOB_KIND",  "HOB_ID",		"HOB_REV"};
	const char *known[SRV_CONFIG_COUNT + HOB_COUNT_OF(others)];
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++)
		known[key] = srv_config_table[key].environment;
	memcpy(known + SRV_CONFIG_COUNT, others, sizeof others);
	for (char **at = environ; *at; at++) {
		hob_str name = hob_str_sub(hob_str_of(*at), 0, strcspn(*at, "="));
		if (!hob_str_starts(name, HOB_STR("HOB_")))
			continue;
		const char *near = srv_cli_nearest(name, known, HOB_COUNT_OF(known));
		if (near && hob_str_equal(name, hob_str_of(near)))
			continue;
		say(count, "environment", "Hob does not use %.*s%s%s%s", HOB_FMT(name), near ? "; did you mean " : "",
			near ? near : "", near ? "?" : "; 'hob help environment' lists its variables");
	}
}

uint32_t srv_cli_config_check(const srv_config *config)
{
	uint32_t count = 0;
	const char *where = config->file ? config->file : "hob.json";
	check_sources(config, where, &count);
	check_addresses(config, &count);
	check_environment(&count);
	return count;
}
