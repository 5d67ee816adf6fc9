#include "cook_run.h"
#include "offer.h"
#include "query.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../log/log.h"
#include "../store/record.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* hob farm: commands for the shared database and blob store of a farm. */

typedef struct farm_tools {
	srv_config config;
	serve_upstream upstream;
	srv_farm *farm;
	void *blobs; /* a handle of srv_farm_blobs_of(farm) */
	uint32_t days;
	bool dry, json, adopt;
	hob_buf damaged, doubts; /* verify --json */
	uint64_t suspects;
} farm_tools;

enum {
	RECORD_ARENA = 64 << 20,
	YOUNG_S = 24 * 3600, /* the record of a younger blob may not have been written yet */
	NAMES_TOGETHER = 1000
};

static int fail(const srv_farm_why *why)
{
	srv_farm_why plain = *why;
	srv_plain(plain.text);
	fprintf(stderr, "hob farm: %s\n", plain.text);
	return EXIT_UNREACHABLE;
}

/* ---- all records */

typedef struct walk {
	farm_tools *tools;
	hob_sha256 *odd; /* keys of records with a valid beginning that do not parse */
	uint32_t rows, odd_count, odd_room;
	uint64_t records;
	bool failed;
} walk;

static void note_odd(walk *w, const char *key)
{
	hob_sha256 digest;
	if (!HOB_ROOM(w->odd, w->odd_room, w->odd_count))
		w->failed = true;
	else if (hob_sha256_parse(hob_str_of(key), &digest))
		w->odd[w->odd_count++] = digest;
}

static void on_record(void *user, const char *const *values, const size_t *sizes)
{
	walk *w = user;
	hob_own_arena arena;
	srv_record record;
	hob_error ignored;
	char key[HOB_SHA256_TEXT + 1] = "";
	w->rows++;
	hob_arena_init(&arena, RECORD_ARENA);
	bool right = srv_record_parse((hob_str){values[1], sizes[1]}, &arena, &record, &ignored);
	if (right)
		hob_sha256_text(&record.key, key);
	if (!right || strcmp(key, values[0]) != 0)
		note_odd(w, values[0]);
	else
		w->records++;
}

static srv_farm_end walk_records(walk *w, srv_farm_why *why)
{
	static const char begin[] =
		"begin; declare hob_walk no scroll cursor for "
		"select encode(key, 'hex'), record from " SRV_FARM_RECORDS " r where " SRV_FARM_BEGINS_RIGHT;
	srv_farm_why ignored;
	srv_farm_end end = srv_farm_query(w->tools->farm, begin, NULL, 0, NULL, NULL, why);
	do {
		w->rows = 0;
		if (end == SRV_FARM_OK)
			end = srv_farm_query(w->tools->farm, "fetch 64 from hob_walk", NULL, 0, on_record, w, why);
	} while (end == SRV_FARM_OK && w->rows > 0 && !w->failed);
	(void)srv_farm_query(w->tools->farm, "rollback", NULL, 0, NULL, NULL, &ignored);
	if (w->failed) {
		snprintf(why->text, sizeof why->text, "no memory left for the list of damaged records");
		end = SRV_FARM_DOWN;
	}
	return end;
}

static void on_count(void *user, const char *const *values, const size_t *sizes)
{
	(void)sizes;
	*(uint64_t *)user = values[0] ? strtoull(values[0], NULL, 10) : 0;
}

/* Rows without a valid beginning are refused in the database, as there can be millions. *others: how many. */
static srv_farm_end refuse_odd(walk *w, uint64_t *others, srv_farm_why *why)
{
	enum { TOGETHER = 256 };
	static const char chosen[] = " from " SRV_FARM_RECORDS " r where not (" SRV_FARM_BEGINS_RIGHT ")";
	/* Does for many rows what hob_refuse does for one. */
	static const char refuse[] =
		"with page as (select key from hob_step where n between $1::bigint and $2::bigint), gone as "
		"(delete from hob_action a using page p where a.key = p.key returning a.key, a.lookup, "
		"a.node), failed as (delete from hob_failure f using page p where f.key = p.key returning "
		"f.key, f.lookup, f.node), all_gone as (select * from gone union all select * from failed), "
		"less as (update hob_lookup h set records = greatest(0, h.records - g.n) from (select "
		"lookup, count(*)::int as n from all_gone group by lookup) g where h.lookup = g.lookup), "
		"told as (insert into hob_refused(key, author, reporter, why) select key, node, $3, $4 from "
		"all_gone) select count(*) from all_gone";
	static const char reason[] = "it is not the record of its key";
	const char *const params[2] = {w->tools->upstream.node, reason};
	char select[sizeof chosen + 32];
	bool dry = w->tools->dry;
	snprintf(select, sizeof select, "select %s%s", dry ? "count(*)" : "key", chosen);
	srv_farm_end end = dry ? srv_farm_query(w->tools->farm, select, NULL, 0, on_count, others, why)
						   : srv_farm_in_steps(w->tools->farm, select, refuse, params, others, why);
	for (uint32_t i = 0; i < w->odd_count && end == SRV_FARM_OK && !dry; i += TOGETHER)
		end = srv_farm_refuse(w->tools->farm, &w->odd[i],
							  w->odd_count - i < TOGETHER ? w->odd_count - i : TOGETHER, reason, why);
	return end;
}

static bool digest_of_name(const char *name, hob_sha256 *out)
{
	const char *slash = strrchr(name, '/');
	return slash && hob_sha256_parse(hob_str_of(slash + 1), out);
}

/* ---- gc */

typedef struct sweep {
	farm_tools *tools;
	uint64_t removed, bytes;
	srv_farm_end end;
	srv_farm_why *why;
	uint32_t count; /* old blobs not yet checked against the database */
	hob_sha256 digests[NAMES_TOGETHER];
	uint64_t sizes[NAMES_TOGETHER];
} sweep;

static bool sweep_away(sweep *s, const char *name, uint64_t size)
{
	farm_tools *t = s->tools;
	if (!t->dry)
		s->end = srv_farm_blobs_of(t->farm)->remove(t->blobs, name, s->why);
	if (s->end == SRV_FARM_NONE)
		s->end = SRV_FARM_OK;
	s->removed += s->end == SRV_FARM_OK;
	s->bytes += s->end == SRV_FARM_OK ? size : 0;
	return s->end == SRV_FARM_OK;
}

static bool sweep_batch(sweep *s)
{
	bool named[NAMES_TOGETHER];
	s->end = srv_farm_names_have(s->tools->farm, s->digests, s->count, named, s->why);
	for (uint32_t i = 0; i < s->count && s->end == SRV_FARM_OK; i++) {
		char name[SRV_FARM_BLOB_NAME];
		srv_farm_blob_name(&s->digests[i], name);
		if (!named[i])
			sweep_away(s, name, s->sizes[i]);
	}
	s->count = 0;
	return s->end == SRV_FARM_OK;
}

static bool sweep_one(void *user, const char *name, uint64_t size, int64_t age_s)
{
	sweep *s = user;
	char usual[SRV_FARM_BLOB_NAME] = "";
	if (age_s < YOUNG_S)
		return true;
	if (digest_of_name(name, &s->digests[s->count]))
		srv_farm_blob_name(&s->digests[s->count], usual);
	if (strcmp(name, usual) != 0)
		return sweep_away(s, name, size);
	s->sizes[s->count++] = size;
	return s->count < NAMES_TOGETHER || sweep_batch(s);
}

/* Deletes in steps: a claim for a lookup of many deleted rows must not wait for all of them. hob_trim does
 * the rest. */
static srv_farm_end trim(farm_tools *t, uint64_t *trimmed, srv_farm_why *why)
{
	static const char change[] =
		"with gone as (delete from hob_action a using hob_step s where s.n between $1::bigint and $2::bigint "
		"and a.key = s.key and a.last_used < current_date - s.days returning a.lookup), less as (update "
		"hob_lookup h set records = greatest(0, h.records - g.n) from (select lookup, count(*)::int as n "
		"from gone group by lookup) g where h.lookup = g.lookup returning 1) select count(*) from gone, "
		"(select count(*) from less) l";
	static const char idle[] =
		"select lookup from hob_lookup where records = 0 and until < clock_timestamp() - interval '1 day'";
	static const char forget[] =
		"with gone as (delete from hob_lookup h using hob_step s where s.n between $1::bigint and "
		"$2::bigint and h.lookup = s.lookup and records = 0 and until < clock_timestamp() - interval '1 day' "
		"returning 1) select count(*) from gone";
	static const char *const nothing[2] = {NULL, NULL};
	char chosen[160], days[16];
	uint64_t rest = 0;
	snprintf(days, sizeof days, "%u", t->days);
	snprintf(chosen, sizeof chosen,
			 "select key, %u as days from hob_action where last_used < current_date - %u", t->days, t->days);
	const char *const params[] = {days};
	if (t->dry)
		return srv_farm_query(t->farm,
							  "select count(*) from hob_action where last_used < current_date - $1::int",
							  params, 1, on_count, trimmed, why);
	srv_farm_end end = srv_farm_in_steps(t->farm, chosen, change, nothing, trimmed, why);
	if (end == SRV_FARM_OK)
		end = srv_farm_in_steps(t->farm, idle, forget, nothing, &rest, why);
	if (end == SRV_FARM_OK)
		end =
			srv_farm_query(t->farm, "select records from hob_trim($1::int)", params, 1, on_count, &rest, why);
	return end;
}

static int run_gc(farm_tools *t)
{
	char bytes[32], records[48], blobs[48];
	srv_farm_why why = {""};
	uint64_t trimmed = 0, names;
	hob_own sweep *s = calloc(1, sizeof *s);
	srv_farm_end end = s ? srv_farm_owns(t->farm, t->blobs, &why) : SRV_FARM_DOWN;
	end = end == SRV_FARM_OK ? trim(t, &trimmed, &why) : end;
	end = end == SRV_FARM_OK ? srv_farm_names_make(t->farm, &names, &why) : end;
	if (end == SRV_FARM_OK) {
		*s = (sweep){.tools = t, .end = SRV_FARM_OK, .why = &why};
		end = srv_farm_blobs_of(t->farm)->list(t->blobs, sweep_one, s, &why);
		end = s->end != SRV_FARM_OK ? s->end : end;
	}
	if (end != SRV_FARM_OK || !sweep_batch(s))
		return fail(&why);
	srv_text_bytes(s->bytes, bytes);
	if (t->json)
		printf("{\"forgotten\":%llu,\"deleted\":%llu,\"bytes\":%llu,\"dry_run\":%s}\n",
			   (unsigned long long)trimmed, (unsigned long long)s->removed, (unsigned long long)s->bytes,
			   t->dry ? "true" : "false");
	else
		printf("%s %s that nobody used for %u days; %s %s (%s) that nothing names\n",
			   t->dry ? "would forget" : "forgot", srv_cli_count((double)trimmed, "result", records), t->days,
			   t->dry ? "would delete" : "deleted", srv_cli_count((double)s->removed, "blob", blobs), bytes);
	return EXIT_GOOD;
}

/* ---- verify */

typedef struct check {
	farm_tools *tools;
	hob_hasher hasher;
	uint64_t blobs, damaged, found; /* found: undamaged blobs that records name */
	srv_farm_why why;
	bool failed;
	uint32_t count; /* undamaged blobs not yet checked against the database */
	hob_sha256 good[NAMES_TOGETHER];
} check;

static void count_named(check *c)
{
	bool named[NAMES_TOGETHER];
	c->failed = srv_farm_names_have(c->tools->farm, c->good, c->count, named, &c->why) != SRV_FARM_OK;
	for (uint32_t i = 0; i < c->count && !c->failed; i++)
		c->found += named[i];
	c->count = 0;
}

static bool hash_piece(void *user, const void *data, size_t size)
{
	check *c = user;
	hob_hasher_put(&c->hasher, data, size);
	return true;
}

static bool check_one(void *user, const char *name, uint64_t size, int64_t age_s)
{
	check *c = user;
	farm_tools *t = c->tools;
	hob_sha256 digest;
	(void)size;
	(void)age_s;
	if (!digest_of_name(name, &digest))
		return true;
	hob_hasher_init(&c->hasher);
	srv_farm_end end = srv_farm_blobs_of(t->farm)->get(t->blobs, name, hash_piece, c, &c->why);
	hob_sha256 found = hob_hasher_finish(&c->hasher);
	if (end == SRV_FARM_NONE)
		return true;
	c->failed = end != SRV_FARM_OK;
	if (c->failed)
		return false;
	c->blobs++;
	if (hob_sha256_equal(&found, &digest)) {
		c->good[c->count++] = digest;
		if (c->count == NAMES_TOGETHER)
			count_named(c);
		return !c->failed;
	}
	c->damaged++;
	if (t->json)
		hob_json_str(&t->damaged, hob_str_of(name));
	else
		printf("damaged: %s\n", name);
	if (!t->dry)
		c->failed = srv_farm_blobs_of(t->farm)->remove(t->blobs, name, &c->why) != SRV_FARM_OK;
	return !c->failed;
}

static void on_doubt(void *user, const char *const *values, const size_t *sizes)
{
	farm_tools *t = user;
	(void)sizes;
	char line[512];
	t->suspects += values[0][0] == 'n';
	if (t->json) {
		hob_json_object(&t->doubts, HOB_JSON("kind", values[0]), HOB_JSON("key", values[1]),
						HOB_JSON("node", values[2]), HOB_JSON("why", values[3]));
		return;
	}
	snprintf(line, sizeof line, "%s: key %.16s..., of %.100s%s%.200s", values[0], values[1], values[2],
			 values[3][0] ? ": " : "", values[3]);
	srv_plain(line);
	puts(line);
}

static int run_verify(farm_tools *t)
{
	static const char doubts[] = "(select 'nondeterministic', encode(key, 'hex'), node, '' from hob_action "
								 "where suspect > 0 limit 1000) union "
								 "all (select 'refused', encode(key, 'hex'), author, why || ' (says ' || "
								 "reporter || ')' from hob_refused order "
								 "by at desc limit 1000)";
	char records[48], blobs[48];
	srv_farm_why why = {""};
	walk w = {.tools = t};
	uint64_t names = 0, others = 0;
	hob_own check *c = calloc(1, sizeof *c);
	srv_farm_end end = c ? walk_records(&w, &why) : SRV_FARM_DOWN;
	end = end == SRV_FARM_OK ? refuse_odd(&w, &others, &why) : end;
	end = end == SRV_FARM_OK ? srv_farm_names_make(t->farm, &names, &why) : end;
	if (end == SRV_FARM_OK) {
		c->tools = t;
		end = srv_farm_blobs_of(t->farm)->list(t->blobs, check_one, c, &why);
	}
	if (end == SRV_FARM_OK && !c->failed)
		count_named(c);
	if (end == SRV_FARM_OK && !c->failed)
		end = srv_farm_query(t->farm, doubts, NULL, 0, on_doubt, t, &why);
	uint64_t odd = w.odd_count + others, missing = c && c->found < names ? names - c->found : 0;
	free(w.odd);
	if (end != SRV_FARM_OK || c->failed)
		return fail(c && c->failed ? &c->why : &why);
	if (t->json)
		printf("{\"records\":%llu,\"blobs\":%llu,\"damaged\":[%.*s],\"missing\":%llu,\"no_records\":%llu,"
			   "\"doubts\":[%.*s]}\n",
			   (unsigned long long)w.records, (unsigned long long)c->blobs, HOB_FMT(hob_buf_str(&t->damaged)),
			   (unsigned long long)missing, (unsigned long long)odd, HOB_FMT(hob_buf_str(&t->doubts)));
	else
		printf("%s, %s checked: %llu damaged, %llu named and not there, %llu no records\n",
			   srv_cli_count((double)w.records, "record", records),
			   srv_cli_count((double)c->blobs, "blob", blobs), (unsigned long long)c->damaged,
			   (unsigned long long)missing, (unsigned long long)odd);
	uint64_t errors = c->damaged + missing + odd + t->suspects;
	return errors > 0 ? EXIT_ASSETS_FAILED : EXIT_GOOD;
}

enum { POLL_MS = 1000 };

static volatile sig_atomic_t ended;

/* Passes SIGTERM on as SIGINT to a cook in progress, which then gives up its leases. Between cooks SIGINT
 * would end the process. */
static void on_signal(int number)
{
	struct sigaction now;
	ended = 1;
	if (number == SIGTERM && sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler != SIG_DFL)
		raise(SIGINT);
}

static void hear_signals(void)
{
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
}

static void on_lost(void *user, const hob_sha256 *lookup)
{
	(void)user;
	(void)lookup;
}

static void on_share(void *user, uint32_t nodes, uint32_t place)
{
	(void)user;
	(void)nodes;
	(void)place;
}

static int work_on(farm_tools *t, const hob_sha256 *list)
{
	offer *offered = NULL;
	cook_plan plan;
	hob_error error = {0};
	if (!srv_offer_open(t->farm, list, &offered, &error) || !srv_offer_plan(offered, &plan, &error)) {
		fprintf(stderr, "hob farm work: an offer is left to others: %s\n", error.context);
		srv_offer_close(offered);
		return EXIT_GOOD;
	}
	cook_run_options how = {.who = "hob farm work",
							.write = {.out = "", .nothing = true},
							.config = &t->config,
							.cache = srv_serve_cache(&t->config),
							.upstream = &t->upstream,
							.offered = offered,
							.wait_s = COOK_WAIT_WRITER_S};
	int code = srv_cook_run(&plan, &how);
	hear_signals();
	srv_offer_close(offered);
	return code;
}

static int run_work(farm_tools *t)
{
	uint64_t last = 0;
	bool down = false;
	t->upstream.push = true;
	hear_signals();
	fprintf(stderr, "hob farm work: waits for 'hob cook --farm' on other machines\n");
	while (!ended) {
		srv_farm_why why = {""};
		hob_sha256 list;
		srv_farm_told told = {on_lost, on_share, NULL};
		srv_farm_end end = srv_farm_next_offer(t->farm, &last, &list, &why);
		if (end == SRV_FARM_OK || end == SRV_FARM_NONE)
			(void)srv_farm_heartbeat(t->farm, NULL, 0, "worker", "{}", 0, &told, &why);
		if (end == SRV_FARM_OK && work_on(t, &list) == EXIT_INTERRUPTED)
			break;
		if (end != SRV_FARM_OK && end != SRV_FARM_NONE && !down)
			fprintf(stderr, "hob farm work: %s; tried again\n", why.text);
		down = end != SRV_FARM_OK && end != SRV_FARM_NONE;
		if (end != SRV_FARM_OK)
			nanosleep(&(struct timespec){.tv_sec = POLL_MS / 1000}, NULL);
	}
	return EXIT_GOOD;
}

/* ---- init */

static int run_init(farm_tools *t)
{
	srv_farm_why why = {""};
	bool made;
	if (srv_farm_init(t->farm, &made, &why) != SRV_FARM_OK)
		return fail(&why);
	printf("database   %s (%s): %s\n", t->upstream.farm.metadata, srv_farm_library(t->farm, false),
		   made ? "the tables are made" : "the tables are there");
	if (srv_farm_blobs_of(t->farm)->init(t->blobs, &why) != SRV_FARM_OK)
		return fail(&why);
	srv_farm_end owned = srv_farm_own(t->farm, t->blobs, t->adopt, &why);
	if (owned != SRV_FARM_OK && owned != SRV_FARM_NONE)
		return fail(&why);
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
	hob_own_buf out = {0};
	srv_farm_end end = collect_status(t, &out, &why);
	hob_own_json *status = cJSON_ParseWithLength((const char *)out.data, out.size);
	int code = EXIT_GOOD;
	srv_cli_plain_json(status);
	if (end != SRV_FARM_OK || !status)
		code = fail(&why);
	else if (t->json)
		printf("%.*s\n", (int)out.size, (const char *)out.data);
	else
		print_status(status);
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
				 {"gc", run_gc},
				 {"work", run_work},
				 {"verify", run_verify}};
	serve_options chosen = {0};
	farm_tools t = {.days = 30};
	cli_option options[5 + HOB_COUNT_OF(keys)] = {
		{"--config", 0, CLI_TEXT, &chosen.file, "FILE",
		 "the configuration file (hob.json here or in a parent)"},
		{"--days", 0, CLI_NUMBER, &t.days, "N", "gc: drop results unused for N days (30)"},
		{"--dry-run", 'n', CLI_FLAG, &t.dry, NULL, "gc, verify: change nothing"},
		{"--json", 0, CLI_FLAG, &t.json, NULL, "status, gc, verify: as JSON"},
		{"--adopt", 0, CLI_FLAG, &t.adopt, NULL, "init: take the blobs over from another database"}};
	for (size_t i = 0; i < HOB_COUNT_OF(keys); i++)
		options[5 + i] = srv_serve_option(&chosen, keys[i]);
	int operands = srv_cli_parse(&srv_cli_farm, options, HOB_COUNT_OF(options), argc, argv);
	size_t verb = 0;
	while (operands == 1 && verb < HOB_COUNT_OF(verbs) && strcmp(verbs[verb].name, argv[1]) != 0)
		verb++;
	if (operands != 1 || verb == HOB_COUNT_OF(verbs))
		return srv_cli_usage_error(&srv_cli_farm, "say init, status, work, gc or verify");
	hob_error error = {0};
	bool ok = srv_serve_options_load(&chosen, &t.config, &error) &&
			  srv_serve_farm_options(&t.config, &t.upstream, &error);
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
	hob_buf_release(&t.damaged);
	hob_buf_release(&t.doubts);
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
