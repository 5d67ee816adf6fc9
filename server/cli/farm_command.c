#include "farm_tools.h"
#include "query.h"

#include "../../core/base/json_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* hob farm: commands for the shared database and blob store of a farm. */

/* ---- init */

static int run_init(farm_tools *t)
{
	srv_farm_why why = {""};
	bool made;
	if (srv_farm_init(t->farm, &made, &why) != SRV_FARM_OK)
		return srv_farm_tools_fail(t, &why);
	printf("database   %s (%s): %s\n", t->upstream.farm.metadata, srv_farm_library(t->farm, false),
		   made ? "the tables are made" : "the tables are there");
	if (srv_farm_blobs_of(t->farm)->init(t->blobs, &why) != SRV_FARM_OK)
		return srv_farm_tools_fail(t, &why);
	srv_farm_end owned = srv_farm_own(t->farm, t->blobs, t->adopt, &why);
	if (owned != SRV_FARM_OK && owned != SRV_FARM_NONE)
		return srv_farm_tools_fail(t, &why);
	printf("blobs      %s (%s): can be written\n", t->upstream.farm.blobs, srv_farm_library(t->farm, true));
	if (owned == SRV_FARM_NONE)
		printf("           %s. Until then, 'hob farm gc' deletes nothing\n", why.text);
	puts("\nThe farm is ready. Give every machine the same farm.metadata and farm.blobs in its hob.json.");
	return EXIT_GOOD;
}

/* ---- status */

static void on_totals(void *user, const char *const *values, const size_t *sizes)
{
	static const char *const names[] = {"schema", "records", "bytes", "suspect", "refused", "cooking"};
	(void)sizes;
	hob_buf *out = user;
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		hob_json_put_u64(out, names[i], values[i] ? strtoull(values[i], NULL, 10) : 0);
}

static void put_text(hob_buf *out, const char *name, const char *value)
{
	hob_json_put_str(out, name, hob_str_of(value ? value : ""));
}

static void on_node(void *user, const char *const *values, const size_t *sizes)
{
	hob_buf *out = user;
	hob_json_open(out, '{');
	put_text(out, "name", values[0]);
	put_text(out, "version", values[1]);
	hob_json_put(out, HOB_JSON("seen_seconds_ago", strtoull(values[2], NULL, 10)),
				 HOB_JSON_RAW("state", (hob_str){values[3], sizes[3]}),
				 HOB_JSON_RAW("cooks", (hob_str){values[4], sizes[4]}), HOB_JSON_CLOSE('}'));
}

static srv_farm_end collect_status(farm_tools *t, hob_buf *out, srv_farm_why *why)
{
	static const char totals[] =
		"select (select version from hob_farm), count(*), "
		"least(coalesce(sum(bytes), 0), 1::bigint << 62)::bigint, count(*) filter (where "
		"suspect > 0), (select count(*) from hob_refused), (select count(*) from "
		"hob_lookup where until > now()) "
		"from hob_action";
	static const char nodes[] =
		"select name, version, extract(epoch from now() - least(greatest(seen, now() - interval '1 "
		"year'), now()))::bigint, case when octet_length(state::text) < 4096 then state::text else '{}' "
		"end, (select coalesce(json_agg(what), '[]')::text from (select what from hob_lookup where owner "
		"= id and until > now() and what is not null limit 16) w) from hob_node "
		"order by seen desc limit 1000";
	hob_json_open(out, '{');
	put_text(out, "metadata", t->upstream.farm.metadata);
	put_text(out, "blobs", t->upstream.farm.blobs);
	srv_farm_end end = srv_farm_query(t->farm, totals, NULL, 0, on_totals, out, why);
	hob_json_put(out, HOB_JSON_OPEN("nodes", '['));
	if (end == SRV_FARM_OK)
		end = srv_farm_query(t->farm, nodes, NULL, 0, on_node, out, why);
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	return end;
}

static void print_status(const cJSON *status)
{
	char bytes[32], records[48];
	const cJSON *node, *name;
	srv_text_bytes((uint64_t)srv_cli_number(status, "bytes"), bytes);
	printf("database   %s, schema %.0f\nblobs      %s\n", srv_cli_text(status, "metadata"),
		   srv_cli_number(status, "schema"), srv_cli_text(status, "blobs"));
	printf("holds      %s, %s of blobs; %.0f being cooked\n",
		   srv_cli_count(srv_cli_number(status, "records"), "result", records), bytes,
		   srv_cli_number(status, "cooking"));
	if (srv_cli_number(status, "suspect") + srv_cli_number(status, "refused") > 0)
		printf("suspect    %.0f keys with different results, %.0f refused records: 'hob farm verify' lists "
			   "them\n",
			   srv_cli_number(status, "suspect"), srv_cli_number(status, "refused"));
	puts("machines");
	cJSON_ArrayForEach(node, srv_cli_member(status, "nodes"))
	{
		const cJSON *state = srv_cli_member(node, "state"), *cooks = srv_cli_member(node, "cooks");
		double seen = srv_cli_number(node, "seen_seconds_ago");
		printf("  %-20s %-8s last seen %.0f s ago; fetched %.0f, gave %.0f, %.0f waiting to be given\n",
			   srv_cli_text(node, "name"), srv_cli_text(node, "version"), seen,
			   srv_cli_number(state, "fetched"), srv_cli_number(state, "given"),
			   srv_cli_number(state, "outbox"));
		cJSON_ArrayForEach(name, cooks) if (cJSON_IsString(name)) printf("    cooks %s\n", name->valuestring);
	}
}

static int run_status(farm_tools *t)
{
	srv_farm_why why = {""};
	hob_buf out = {0};
	srv_farm_end end = collect_status(t, &out, &why);
	cJSON *status = cJSON_ParseWithLength((const char *)out.data, out.size);
	int code = EXIT_GOOD;
	srv_cli_plain_json(status);
	if (end != SRV_FARM_OK || !status)
		code = srv_farm_tools_fail(t, &why);
	else if (t->json)
		printf("%.*s\n", (int)out.size, (const char *)out.data);
	else
		print_status(status);
	cJSON_Delete(status);
	hob_buf_release(&out);
	return code;
}

/* ---- the command */

static int run_farm(int argc, char **argv)
{
	static const srv_config_key keys[] = {
		SRV_CONFIG_farm_metadata, SRV_CONFIG_farm_blobs, SRV_CONFIG_farm_credentials_file,
		SRV_CONFIG_farm_node,	  SRV_CONFIG_jobs,		 SRV_CONFIG_cache};
	static const struct {
		const char *name;
		int (*run)(farm_tools *t);
	} verbs[] = {{"init", run_init},
				 {"status", run_status},
				 {"gc", srv_farm_tools_gc},
				 {"work", srv_farm_tools_work},
				 {"verify", srv_farm_tools_verify}};
	const char *given[HOB_COUNT_OF(keys)] = {0}, *file = NULL;
	farm_tools t = {.days = 30};
	cli_option options[5 + HOB_COUNT_OF(keys)] = {
		{"--config", 0, CLI_TEXT, &file, "FILE", "the configuration file (hob.json here or in a parent)"},
		{"--days", 0, CLI_NUMBER, &t.days, "N", "gc: drop results unused for N days (30)"},
		{"--dry-run", 'n', CLI_FLAG, &t.dry, NULL, "gc, verify: change nothing"},
		{"--json", 0, CLI_FLAG, &t.json, NULL, "status: as JSON"},
		{"--adopt", 0, CLI_FLAG, &t.adopt, NULL, "init: take the blobs over from another database"}};
	for (size_t i = 0; i < HOB_COUNT_OF(keys); i++) {
		const srv_config_row *row = &srv_config_table[keys[i]];
		options[5 + i] =
			(cli_option){row->option, row->letter, CLI_TEXT, &given[i], row->placeholder, row->doc};
	}
	int operands = srv_cli_parse(&srv_cli_farm, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return srv_cli_parse_exit(operands);
	size_t verb = 0;
	while (operands == 1 && verb < HOB_COUNT_OF(verbs) && strcmp(verbs[verb].name, argv[1]) != 0)
		verb++;
	if (operands != 1 || verb == HOB_COUNT_OF(verbs))
		return srv_cli_usage_error(&srv_cli_farm, "say init, status, work, gc or verify");
	hob_error error = {0};
	bool ok = srv_config_load(&t.config, file, &error);
	for (size_t i = 0; ok && i < HOB_COUNT_OF(keys); i++)
		ok = !given[i] || srv_config_set(&t.config, keys[i], given[i], SRV_CONFIG_OPTION,
										 srv_config_table[keys[i]].option, &error);
	ok = ok && srv_serve_farm_options(&t.config, &t.upstream, &error);
	if (ok && !t.upstream.has_farm)
		ok = hob_fail(&error, USAGE,
					  "no farm is configured: name it with farm.metadata and farm.blobs in hob.json");
	srv_farm_why why = {""};
	char owner[96];
	snprintf(owner, sizeof owner, "hob farm on %.64s, %ld", t.upstream.node, (long)getpid());
	ok = ok && srv_farm_open(&t.upstream.farm, owner, &t.farm, &error);
	t.blobs = ok ? srv_farm_blobs_open(t.farm, &why) : NULL;
	int code = t.blobs ? verbs[verb].run(&t)
					   : srv_cli_usage_error(&srv_cli_farm, "%s", ok ? why.text : error.context);
	if (t.blobs)
		srv_farm_blobs_of(t.farm)->close(t.blobs);
	srv_farm_close(t.farm);
	srv_config_release(&t.config);
	return code;
}

const cli_command srv_cli_farm = {
	"farm", "init|status|work|gc|verify", "manage the cache that many machines share",
	"A farm is a PostgreSQL database and a blob store (a mounted folder, or an S3 bucket) that many machines "
	"share. Each model is cooked once, by one of them. Name both in hob.json:\n"
	"\n"
	"  \"farm\": { \"metadata\": \"postgresql://db/hob\", \"blobs\": \"file:///mnt/hob\" }\n"
	"\n"
	"  init     create the tables and test whether this machine can write; safe to repeat\n"
	"  status   show the machines, their cooks, and the size of the stored results\n"
	"  work     cook what 'hob cook --farm' on other machines offers, until stopped; needs no sources\n"
	"  gc       drop results unused for a month, and blobs that no record refers to\n"
	"  verify   check every blob against its hash, and drop damaged ones\n"
	"\n"
	"Examples:\n"
	"  hob farm init\n"
	"  hob farm status --json\n"
	"  hob farm work --cache /var/cache/hob-work\n"
	"  hob farm gc --days 90 --dry-run\n",
	run_farm};
