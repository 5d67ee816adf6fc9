#include "serve_config.h"

#include <errno.h>
#include <stdio.h>
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
