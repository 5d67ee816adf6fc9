#include "farm.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "farm_schema.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEASE_S = 30, ITEMS_MAX = 1 << 20 };

struct srv_farm {
	char *metadata, *blobs, *password, *access, *secret, *node;
	char owner[64];
	uint32_t lease_s;
	const srv_farm_module *sql_module;
	const srv_farm_module *blob_module; /* NULL: blob_folder.c */
	void *keeper;						/* used only by its thread */
	uint64_t listening;					/* the keeper's session that has its LISTENs */
	atomic_bool cut;
	pthread_mutex_t lock; /* guards `main` during one statement */
	void *main;
	uint64_t checked; /* the last session whose schema was checked */
	uint32_t failures;
};

/* ---- opening */

static bool holds_password(const char *url)
{
	const char *host = strstr(url, "://"), *at = host ? strchr(host, '@') : NULL;
	const char *colon = at ? memchr(host + 3, ':', (size_t)(at - host - 3)) : NULL;
	return colon || strstr(url, "password=");
}

static bool load_drivers(srv_farm *f, hob_error *err)
{
	bool folder = strncmp(f->blobs, "file://", 7) == 0;
	bool s3 = strncmp(f->blobs, "s3+http://", 10) == 0 || strncmp(f->blobs, "s3+https://", 11) == 0;
	bool postgres =
		strncmp(f->metadata, "postgresql://", 13) == 0 || strncmp(f->metadata, "postgres://", 11) == 0;
	if (!postgres)
		return hob_fail(err, CONFIG, "farm.metadata: '%.100s' is not postgresql://HOST/DATABASE",
						f->metadata);
	if (holds_password(f->metadata))
		return hob_fail(err, CONFIG,
						"farm.metadata holds a password, which everybody would see: put it into the file "
						"that farm.credentials_file names, as database_password=...");
	if (!folder && !s3)
		return hob_fail(err, CONFIG,
						"farm.blobs: '%.100s' is neither file:///PATH nor s3+https://HOST/BUCKET", f->blobs);
	f->sql_module = srv_farm_load("postgres", err);
	f->blob_module = s3 && f->sql_module ? srv_farm_load("s3", err) : NULL;
	return f->sql_module && (folder || f->blob_module);
}

static char *copy(const char *text)
{
	return text ? hob_must(strdup(text)) : NULL;
}

bool srv_farm_open(const srv_farm_options *options, const char *owner, srv_farm **out, hob_error *err)
{
	srv_farm_why why = {""};
	srv_farm *f = hob_must(calloc(1, sizeof *f));
	pthread_mutex_init(&f->lock, NULL);
	f->metadata = copy(options->metadata);
	f->blobs = copy(options->blobs);
	f->password = copy(options->password);
	f->access = copy(options->access);
	f->secret = copy(options->secret);
	f->node = copy(options->node ? options->node : "?");
	f->lease_s = options->lease_s > 0 ? options->lease_s : LEASE_S;
	hob_sha256 name = hob_sha256_of((hob_bytes){(const uint8_t *)f->node, strlen(f->node)});
	snprintf(f->owner, sizeof f->owner, "%s-%02x%02x%02x%02x", owner, name.bytes[0], name.bytes[1],
			 name.bytes[2], name.bytes[3]);
	bool ok = load_drivers(f, err);
	if (ok) {
		srv_farm_place place = {f->metadata, NULL, f->password};
		f->main = f->sql_module->sql->open(&place, &why);
		f->keeper = f->main ? f->sql_module->sql->open(&place, &why) : NULL;
		void *trial = f->keeper ? srv_farm_blobs_open(f, &why) : NULL;
		ok = trial || hob_fail(err, CONFIG, "farm: %s", why.text);
		if (trial)
			srv_farm_blobs_of(f)->close(trial);
	}
	if (!ok) {
		srv_farm_close(f);
		return false;
	}
	*out = f;
	return true;
}

static void wipe(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

void srv_farm_close(srv_farm *f)
{
	if (!f)
		return;
	if (f->sql_module) {
		f->sql_module->sql->close(f->main);
		f->sql_module->sql->close(f->keeper);
	}
	pthread_mutex_destroy(&f->lock);
	free(f->metadata);
	free(f->blobs);
	wipe(f->password);
	free(f->access);
	wipe(f->secret);
	free(f->node);
	free(f);
}

void srv_farm_cut(srv_farm *f)
{
	atomic_store(&f->cut, true);
	f->sql_module->sql->cut(f->main);
	f->sql_module->sql->cut(f->keeper);
}

uint32_t srv_farm_lease_ms(const srv_farm *f)
{
	return f->lease_s * 1000;
}

const char *srv_farm_library(const srv_farm *f, bool blobs)
{
	return !blobs ? f->sql_module->library : f->blob_module ? f->blob_module->library : "a folder";
}

const srv_farm_blobs *srv_farm_blobs_of(const srv_farm *f)
{
	return f->blob_module ? f->blob_module->blobs : &srv_farm_folder;
}

void *srv_farm_blobs_open(srv_farm *f, srv_farm_why *why)
{
	return srv_farm_blobs_of(f)->open(&(srv_farm_place){f->blobs, f->access, f->secret}, why);
}

void srv_farm_blob_name(const hob_sha256 *digest, char out[SRV_FARM_BLOB_NAME])
{
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(digest, text);
	snprintf(out, SRV_FARM_BLOB_NAME, "blobs/%.2s/%s", text, text);
}

/* ---- statements */

typedef struct versions {
	int version, oldest;
} versions;

static void on_versions(void *user, const char *const *values, const size_t *sizes)
{
	(void)sizes;
	versions *v = user;
	v->version = values[0] ? atoi(values[0]) : 0;
	v->oldest = values[1] ? atoi(values[1]) : 0;
}

/* Checks the schema, once per session. Lock held. */
static srv_farm_end check_schema(srv_farm *f, srv_farm_why *why)
{
	const srv_farm_sql *sql = f->sql_module->sql;
	versions v = {0};
	if (f->checked > 0 && sql->sessions(f->main) == f->checked)
		return SRV_FARM_OK;
	srv_farm_end end = sql->run(f->main, "select version, oldest from hob_farm", NULL, 0, SRV_FARM_RUN_MS,
								on_versions, &v, why);
	if (end == SRV_FARM_REFUSED)
		return SRV_FARM_BARRED; /* tried again from time to time */
	if (end != SRV_FARM_OK)
		return end;
	if (v.oldest > SRV_FARM_SCHEMA || v.version < SRV_FARM_SCHEMA) {
		snprintf(
			why->text, sizeof why->text,
			v.oldest > SRV_FARM_SCHEMA
				? "the farm's schema %d is for newer programs than this one, which knows %d: update Hob here"
				: "the farm's schema %d is older than this Hob's, %d: 'hob farm init' brings it up to date",
			v.version, SRV_FARM_SCHEMA);
		return SRV_FARM_BARRED;
	}
	f->checked = sql->sessions(f->main);
	return SRV_FARM_OK;
}

/* Runs a statement. Those that waited behind a failure fail too, so that their deadlines do not add up. A
 * parameter that is NULL found no memory. */
static srv_farm_end run_for(srv_farm *f, int deadline_ms, const char *sql, const char *const *params,
							int count, srv_farm_row *each, void *user, bool checked, srv_farm_why *why)
{
	uint32_t failures = __atomic_load_n(&f->failures, __ATOMIC_ACQUIRE);
	srv_farm_end end = SRV_FARM_DOWN;
	for (int i = 0; i < count; i++)
		if (!params[i])
			abort();
	pthread_mutex_lock(&f->lock);
	if (atomic_load(&f->cut) || failures != f->failures) {
		snprintf(why->text, sizeof why->text, "the farm's database does not answer");
	} else {
		end = checked ? check_schema(f, why) : SRV_FARM_OK;
		if (end == SRV_FARM_OK)
			end = f->sql_module->sql->run(f->main, sql, params, count, deadline_ms, each, user, why);
		if (end == SRV_FARM_DOWN)
			__atomic_store_n(&f->failures, f->failures + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&f->lock);
	return end;
}

static srv_farm_end run(srv_farm *f, const char *sql, const char *const *params, int count,
						srv_farm_row *each, void *user, bool checked, srv_farm_why *why)
{
	return run_for(f, SRV_FARM_RUN_MS, sql, params, count, each, user, checked, why);
}

/* Runs a statement with these parameters. */
#define RUN(f, sql, each, user, why, ...)                                                                    \
	run(f, sql, (const char *const[]){__VA_ARGS__},                                                          \
		(int)(sizeof(const char *const[]){__VA_ARGS__} / sizeof(char *)), each, user, true, why)

typedef struct decimal {
	char text[24];
} decimal;

static decimal decimal_of(uint64_t number)
{
	decimal d;
	snprintf(d.text, sizeof d.text, "%llu", (unsigned long long)number);
	return d;
}

srv_farm_end srv_farm_query(srv_farm *f, const char *sql, const char *const *params, int count,
							srv_farm_row *each, void *user, srv_farm_why *why)
{
	return run_for(f, SRV_FARM_COMMAND_MS, sql, params, count, each, user, true, why);
}

srv_farm_end srv_farm_probe(srv_farm *f, srv_farm_why *why)
{
	return run(f, "select 1", NULL, 0, NULL, NULL, true, why);
}

srv_farm_end srv_farm_init(srv_farm *f, bool *made, srv_farm_why *why)
{
	static const char *const steps[SRV_FARM_SCHEMA] = {farm_schema_1, farm_schema_2, farm_schema_3,
													   farm_schema_4};
	versions v = {0};
	*made = false;
	srv_farm_end end = run(f, "select case when to_regclass('hob_farm') is null then 0 else 1 end, 0", NULL,
						   0, on_versions, &v, false, why);
	if (end == SRV_FARM_OK && v.version > 0)
		end = run(f, "select version, oldest from hob_farm", NULL, 0, on_versions, &v, false, why);
	if (end == SRV_FARM_OK && v.version < 0) {
		snprintf(why->text, sizeof why->text, "the farm's database: there is no schema %d", v.version);
		end = SRV_FARM_REFUSED;
	}
	for (int i = v.version; end == SRV_FARM_OK && i < SRV_FARM_SCHEMA; i++) {
		end = run_for(f, SRV_FARM_COMMAND_MS, steps[i], NULL, 0, NULL, NULL, false, why);
		*made = end == SRV_FARM_OK;
	}
	return end == SRV_FARM_OK ? srv_farm_probe(f, why) : end;
}

void srv_farm_put_list(hob_buf *out, const hob_sha256 *digests, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		hob_buf_printf(out, "%s%s", i > 0 ? "," : "", hob_sha256_hex(&digests[i]).text);
	hob_buf_put(out, "", 1);
}

/* The text of a buffer, which hob_buf_free frees; NULL without memory. */
static char *text_of(hob_buf *buf)
{
	hob_buf_put(buf, "", 1);
	if (buf->failed)
		hob_buf_release(buf);
	return (char *)buf->data;
}

static char *list_of(const hob_sha256 *digests, uint32_t count)
{
	hob_buf list = {0};
	srv_farm_put_list(&list, digests, count);
	return text_of(&list);
}

static void on_record(void *user, const char *const *values, const size_t *sizes)
{
	if (values[0])
		hob_buf_put(user, values[0], sizes[0]);
}

/* The newest few records of each lookup, each lookup's newest first, up to the total limit. Ignores texts
 * that do not begin as a record of their row. Sizes are known without reading the texts. */
srv_farm_end srv_farm_find(srv_farm *f, const hob_sha256 *lookups, uint32_t count, hob_buf *out,
						   srv_farm_why *why)
{
	static const char statement[] =
		"with l as (select decode(x, 'hex') as lookup from unnest(string_to_array($1, ',')) x), r as "
		"(select a.* from l, lateral ((select key, record, made, l.lookup from hob_action where lookup = "
		"l.lookup order by made desc limit 64) union all (select key, record, made, l.lookup from "
		"hob_failure where lookup = l.lookup order by made desc limit 64)) a), small as (select *, "
		"row_number() over (partition by lookup order by made desc) as place from r where "
		"octet_length(record) <= $2::int), fits as (select *, sum(octet_length(record)) over (order by "
		"place, lookup, key rows unbounded preceding) as total from small) select record from fits where "
		"total <= $3::int and starts_with(record, '{\"hob_result\":1,\"key\":\"' || encode(key, 'hex') "
		"|| '\",\"lookup\":\"' || encode(lookup, 'hex')) limit 4096";
	char *list = list_of(lookups, count);
	srv_farm_end end = RUN(f, statement, on_record, out, why, list, decimal_of(SRV_FARM_RECORD_MAX).text,
						   decimal_of(8 * SRV_FARM_RECORD_MAX).text);
	hob_buf_free(list);
	return end;
}

/* ---- leases */

typedef struct claims {
	srv_farm_claim *items;
	uint32_t count;
} claims;

static void on_claim(void *user, const char *const *values, const size_t *sizes)
{
	(void)sizes;
	const claims *c = user;
	unsigned long place = values[0] ? strtoul(values[0], NULL, 10) : c->count;
	if (place >= c->count || !values[1])
		return;
	srv_farm_claim *item = &c->items[place];
	item->verdict = strcmp(values[1], "mine") == 0	  ? SRV_FARM_MINE
					: strcmp(values[1], "again") == 0 ? SRV_FARM_AGAIN
													  : SRV_FARM_HELD;
	item->attempt = values[2] ? (uint32_t)strtoul(values[2], NULL, 10) : 1;
	unsigned long long left = values[3] ? strtoull(values[3], NULL, 10) : 0;
	item->left_ms = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
}

srv_farm_end srv_farm_ask_claims(srv_farm *f, srv_farm_claim *items, uint32_t count, srv_farm_why *why)
{
	/* When a thousand machines ask at once, most get 'held' or 'again' without a lock, or 'busy': another
	 * machine is inside hob_claim, which decides the rest and would block. 'busy' is treated as 'held'. */
	static const char statement[] =
		"with i as (select ord - 1 as place, item, decode(item->>'lookup', 'hex') as lookup, "
		"(item->>'seen')::int as seen from json_array_elements($1::json) with ordinality u(item, "
		"ord)), l as materialized (select i.place, i.item, h.attempt, case when h.records is not null "
		"and least(h.records, 64) <> least(i.seen, 64) then 'again' when h.owner <> $2 and h.until "
		"between clock_timestamp() and clock_timestamp() + interval '1 day' then 'held' when not "
		"pg_try_advisory_xact_lock(('x' || encode(substr(i.lookup, 1, 8), 'hex'))::bit(64)::bigint) "
		"then 'busy' end as verdict, h.until from i left join hob_lookup h on h.lookup = i.lookup), "
		"rest as (select json_agg(item order by place) as items, array_agg(place order by place) as "
		"places from l where verdict is null) select place, verdict, attempt, case verdict when "
		"'held' then greatest(0, extract(epoch from until - clock_timestamp()) * 1000)::bigint when "
		"'busy' then ($3::float8 * 1000)::bigint else 0 end from l where verdict is not null union "
		"all select rest.places[c.place::int + 1], c.verdict, c.tries, c.left_ms from rest, lateral "
		"hob_claim(rest.items, $2, $3::float8) c where rest.items is not null";
	hob_buf json = {0};
	for (uint32_t i = 0; i < count; i++) {
		hob_buf_printf(&json, "%s{\"lookup\":\"%s\",\"seen\":%u,\"what\":", i > 0 ? "," : "[",
					   hob_sha256_hex(&items[i].lookup).text, items[i].seen);
		hob_buf_put_json(&json, hob_str_of(items[i].what));
		hob_buf_put_str(&json, HOB_STR("}"));
		items[i].verdict = SRV_FARM_HELD;
	}
	hob_buf_put(&json, "]", 1);
	claims all = {items, count};
	char *text = text_of(&json);
	srv_farm_end end = RUN(f, statement, on_claim, &all, why, text, f->owner, decimal_of(f->lease_s).text);
	hob_buf_free(text);
	return end;
}

srv_farm_end srv_farm_leave(srv_farm *f, const hob_sha256 *lookups, uint32_t count, srv_farm_why *why)
{
	char *list = list_of(lookups, count);
	srv_farm_end end = RUN(f, "select hob_leave($1, $2)", NULL, NULL, why, list, f->owner);
	hob_buf_free(list);
	return end;
}

static void on_beat(void *user, const char *const *values, const size_t *sizes)
{
	(void)sizes;
	const srv_farm_told *told = user;
	hob_sha256 lookup;
	if (values[0] && hob_sha256_parse(hob_str_of(values[0]), &lookup))
		told->lost(told->user, &lookup);
	else if (!values[0] && values[1] && values[2])
		told->share(told->user, (uint32_t)strtoul(values[1], NULL, 10),
					(uint32_t)strtoul(values[2], NULL, 10));
}

srv_farm_end srv_farm_heartbeat(srv_farm *f, const hob_sha256 *lookups, uint32_t count, const char *role,
								const char *state, uint32_t within_s, srv_farm_told *told, srv_farm_why *why)
{
	static const char statement[] =
		"with mine as (select decode(x, 'hex') as lookup from unnest(string_to_array($1, ',')) x where x "
		"<> ''), kept as (update hob_lookup h set until = clock_timestamp() + make_interval(secs => "
		"$3::float8) from mine m where h.lookup = m.lookup and h.owner = $2 returning h.lookup), node as "
		"(insert into hob_node(id, name, version, role, state) values ($2, $4, $5, $6, $7::json) on "
		"conflict (id) do update set name = excluded.name, version = excluded.version, role = "
		"excluded.role, state = excluded.state, seen = now()) select encode(lookup, 'hex'), 0, 0 from "
		"mine where lookup not in (select lookup from kept) union all select null, count(*) + 1, "
		"count(*) filter (where id < $2) from hob_node where id <> $2 and role = $6 and seen > now() - "
		"make_interval(secs => $8::float8)";
	char *list = list_of(lookups, count);
	srv_farm_end end =
		RUN(f, statement, on_beat, told, why, list, f->owner, decimal_of(f->lease_s).text, f->node,
			HOB_VERSION, role, state, decimal_of(within_s > 0 ? within_s : f->lease_s).text);
	hob_buf_free(list);
	return end;
}

typedef struct machines {
	srv_farm *farm;
	hob_buf *out;
} machines;

static uint64_t number_of(const char *text)
{
	return text ? strtoull(text, NULL, 10) : 0;
}

static void on_machine(void *user, const char *const *values, const size_t *sizes)
{
	static const char *const counts[] = {"cooking", "cooked", "fetched", "outbox"};
	(void)sizes;
	const machines *m = user;
	hob_json_open(m->out, '{');
	for (int i = 0; i < 3; i++)
		hob_json_put_str(m->out, (const char *const[]){"name", "version", "role"}[i],
						 hob_str_of(values[i] ? values[i] : ""));
	hob_json_put(m->out, HOB_JSON_BOOL("here", values[3] && strcmp(values[3], m->farm->owner) == 0),
				 HOB_JSON("seen_seconds_ago", number_of(values[4])));
	for (size_t i = 0; i < HOB_COUNT_OF(counts); i++)
		hob_json_put_u64(m->out, counts[i], number_of(values[5 + i]));
	hob_json_close(m->out, '}');
}

srv_farm_end srv_farm_machines(srv_farm *f, hob_buf *out, srv_farm_why *why)
{
	/* These columns may contain anything. */
	static const char statement[] =
		"select left(name, 64), left(version, 64), left(role, 16), id, extract(epoch from now() - "
		"least(greatest(seen, now() - interval '1 year'), now()))::bigint, s->>'leases', s->>'given', s->"
		">'fetched', s->>'outbox' from (select *, case when octet_length(state::text) < 4096 and "
		"json_typeof(state) = 'object' then state else '{}' end as s from hob_node order by least(seen, "
		"now()) desc, name, id limit 100) n";
	machines all = {f, out};
	hob_json_open(out, '[');
	srv_farm_end end = run(f, statement, NULL, 0, on_machine, &all, true, why);
	hob_json_close(out, ']');
	return end;
}

/* ---- results */

static void on_taken(void *user, const char *const *values, const size_t *sizes)
{
	(void)sizes;
	static const char *const names[] = {"given", "known", "conflict", "late"};
	srv_farm_taken *taken = user;
	for (uint32_t i = 0; values[0] && i < HOB_COUNT_OF(names); i++)
		if (strcmp(values[0], names[i]) == 0)
			*taken = (srv_farm_taken)i;
}

srv_farm_end srv_farm_give(srv_farm *f, const srv_farm_result *r, srv_farm_taken *taken, srv_farm_why *why)
{
	hob_hex key = hob_sha256_hex(&r->key), lookup = hob_sha256_hex(&r->lookup);
	hob_buf record = {0};
	hob_buf_put_str(&record, r->record);
	char *text = text_of(&record);
	*taken = SRV_FARM_LATE;
	srv_farm_end end =
		r->failed ? RUN(f, "select hob_give_failure($1, $2, $3, $4, $5)", on_taken, taken, why, key.text,
						lookup.text, text, f->owner, f->node)
				  : RUN(f, "select hob_give($1, $2, $3, $4, $5::bigint, $6::bigint, $7, $8)", on_taken, taken,
						why, key.text, lookup.text, hob_sha256_hex(&r->result).text, text,
						decimal_of(r->bytes).text, decimal_of(r->cook_ms).text, f->owner, f->node);
	hob_buf_free(text);
	return end;
}

srv_farm_end srv_farm_refuse(srv_farm *f, const hob_sha256 *keys, uint32_t count, const char *reason,
							 srv_farm_why *why)
{
	char *list = list_of(keys, count);
	srv_farm_end end = RUN(f, "select hob_refuse(x, $2, $3) from unnest(string_to_array($1, ',')) x", NULL,
						   NULL, why, list, f->node, reason);
	hob_buf_free(list);
	return end;
}

typedef struct text_out {
	char *text;
	size_t room;
} text_out;

static void on_text(void *user, const char *const *values, const size_t *sizes)
{
	(void)sizes;
	const text_out *out = user;
	snprintf(out->text, out->room, "%s", values[0] ? values[0] : "");
}

srv_farm_end srv_farm_used(srv_farm *f, const hob_sha256 *key, bool mark, char author[SRV_FARM_NAME],
						   srv_farm_why *why)
{
	static const char look[] =
		"select left(regexp_replace(node, '[[:cntrl:]]', '?', 'g'), 64) from (select node from hob_action "
		"where key = decode($1, 'hex') "
		"union all select node from hob_failure where key = decode($1, 'hex')) a limit 1";
	static const char marks[] = "with a as (update hob_action set last_used = current_date where key = "
								"decode($1, 'hex') and last_used < "
								"current_date), b as (update hob_failure set last_used = current_date where "
								"key = decode($1, 'hex') and "
								"last_used < current_date) ";
	char statement[sizeof look + sizeof marks];
	text_out out = {author, SRV_FARM_NAME};
	author[0] = 0;
	snprintf(statement, sizeof statement, "%s%s", mark ? marks : "", look);
	return RUN(f, statement, on_text, &out, why, hob_sha256_hex(key).text);
}

srv_farm_end srv_farm_id(srv_farm *f, char out[HOB_SHA256_TEXT + 1], srv_farm_why *why)
{
	text_out text = {out, HOB_SHA256_TEXT + 1};
	out[0] = 0;
	return run(f, "select id from hob_farm", NULL, 0, on_text, &text, true, why);
}

/* ---- offers */

srv_farm_end srv_farm_offer(srv_farm *f, const hob_sha256 *list, uint32_t models, srv_farm_why *why)
{
	return RUN(f,
			   "with old as (delete from hob_offer where made < now() - interval '7 days') "
			   "insert into hob_offer(list, owner, models) values (decode($1, 'hex'), $2, $3::int)",
			   NULL, NULL, why, hob_sha256_hex(list).text, f->owner, decimal_of(models).text);
}

srv_farm_end srv_farm_withdraw(srv_farm *f, srv_farm_why *why)
{
	return RUN(f, "delete from hob_offer where owner = $1", NULL, NULL, why, f->owner);
}

typedef struct next_offer {
	uint64_t *id;
	hob_sha256 *list;
	bool found;
} next_offer;

static void on_offer(void *user, const char *const *values, const size_t *sizes)
{
	(void)sizes;
	next_offer *next = user;
	if (!values[0] || !values[1])
		return;
	*next->id = strtoull(values[0], NULL, 10);
	next->found = hob_sha256_parse(hob_str_of(values[1]), next->list);
}

srv_farm_end srv_farm_next_offer(srv_farm *f, uint64_t *id, hob_sha256 *list, srv_farm_why *why)
{
	next_offer next = {id, list, false};
	srv_farm_end end = RUN(
		f,
		"select o.id, encode(o.list, 'hex') from hob_offer o join hob_node n on n.id = o.owner where o.id > "
		"$1::bigint and n.seen > now() - make_interval(secs => $2::float8) order by o.id limit 1",
		on_offer, &next, why, decimal_of(*id).text, decimal_of(f->lease_s).text);
	return end == SRV_FARM_OK && !next.found ? SRV_FARM_NONE : end;
}

/* ---- notifications */

typedef struct heard_calls {
	void (*heard)(void *user, const hob_sha256 *lookup);
	void *user;
} heard_calls;

static void on_heard(void *user, const char *text)
{
	const heard_calls *calls = user;
	hob_sha256 lookup;
	if (hob_sha256_parse(hob_str_of(text), &lookup))
		calls->heard(calls->user, &lookup);
}

srv_farm_end srv_farm_listen(srv_farm *f, int ms, void (*heard)(void *user, const hob_sha256 *lookup),
							 void *user, srv_farm_why *why)
{
	const srv_farm_sql *sql = f->sql_module->sql;
	heard_calls calls = {heard, user};
	if (f->listening == 0 || sql->sessions(f->keeper) != f->listening) {
		srv_farm_end end = sql->run(f->keeper, "listen hob_farm", NULL, 0, SRV_FARM_RUN_MS, NULL, NULL, why);
		if (end != SRV_FARM_OK)
			return end;
		f->listening = sql->sessions(f->keeper);
	}
	return sql->wait(f->keeper, ms, on_heard, &calls, why);
}
