#include "farm_tools.h"
#include "query.h"

#include "../../core/base/array.h"
#include "../log/log.h"
#include "../store/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RECORD_ARENA = 64 << 20,
	YOUNG_S = 24 * 3600, /* the record of a younger blob may not have been written yet */
	NAMES_TOGETHER = 1000
};

int srv_farm_tools_fail(const farm_tools *t, const srv_farm_why *why)
{
	srv_farm_why plain = *why;
	(void)t;
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
	hob_arena arena;
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
	hob_arena_release(&arena);
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

int srv_farm_tools_gc(farm_tools *t)
{
	char bytes[32], records[48], blobs[48];
	srv_farm_why why = {""};
	uint64_t trimmed = 0, names;
	sweep *s = calloc(1, sizeof *s);
	srv_farm_end end = s ? srv_farm_owns(t->farm, t->blobs, &why) : SRV_FARM_DOWN;
	end = end == SRV_FARM_OK ? trim(t, &trimmed, &why) : end;
	end = end == SRV_FARM_OK ? srv_farm_names_make(t->farm, &names, &why) : end;
	if (end == SRV_FARM_OK) {
		*s = (sweep){.tools = t, .end = SRV_FARM_OK, .why = &why};
		end = srv_farm_blobs_of(t->farm)->list(t->blobs, sweep_one, s, &why);
		end = s->end != SRV_FARM_OK ? s->end : end;
	}
	if (end != SRV_FARM_OK || !sweep_batch(s)) {
		free(s);
		return srv_farm_tools_fail(t, &why);
	}
	srv_text_bytes(s->bytes, bytes);
	printf("%s %s that nobody used for %u days; %s %s (%s) that nothing names\n",
		   t->dry ? "would forget" : "forgot", srv_cli_count((double)trimmed, "result", records), t->days,
		   t->dry ? "would delete" : "deleted", srv_cli_count((double)s->removed, "blob", blobs), bytes);
	free(s);
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
	printf("damaged: %s\n", name);
	if (!t->dry)
		c->failed = srv_farm_blobs_of(t->farm)->remove(t->blobs, name, &c->why) != SRV_FARM_OK;
	return !c->failed;
}

static void on_doubt(void *user, const char *const *values, const size_t *sizes)
{
	uint64_t *suspects = user;
	(void)sizes;
	char line[512];
	*suspects += values[0][0] == 'n';
	snprintf(line, sizeof line, "%s: key %.16s..., of %.100s%s%.200s", values[0], values[1], values[2],
			 values[3][0] ? ": " : "", values[3]);
	srv_plain(line);
	puts(line);
}

int srv_farm_tools_verify(farm_tools *t)
{
	static const char doubts[] = "(select 'nondeterministic', encode(key, 'hex'), node, '' from hob_action "
								 "where suspect > 0 limit 1000) union "
								 "all (select 'refused', encode(key, 'hex'), author, why || ' (says ' || "
								 "reporter || ')' from hob_refused order "
								 "by at desc limit 1000)";
	char records[48], blobs[48];
	srv_farm_why why = {""};
	walk w = {.tools = t};
	uint64_t names = 0, suspects = 0, others = 0;
	check *c = calloc(1, sizeof *c);
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
		end = srv_farm_query(t->farm, doubts, NULL, 0, on_doubt, &suspects, &why);
	uint64_t odd = w.odd_count + others, missing = c && c->found < names ? names - c->found : 0;
	free(w.odd);
	if (end != SRV_FARM_OK || c->failed) {
		int code = srv_farm_tools_fail(t, c && c->failed ? &c->why : &why);
		free(c);
		return code;
	}
	printf("%s, %s checked: %llu damaged, %llu named and not there, %llu no records\n",
		   srv_cli_count((double)w.records, "record", records),
		   srv_cli_count((double)c->blobs, "blob", blobs), (unsigned long long)c->damaged,
		   (unsigned long long)missing, (unsigned long long)odd);
	uint64_t errors = c->damaged + missing + odd + suspects;
	free(c);
	return errors > 0 ? EXIT_ASSETS_FAILED : EXIT_GOOD;
}
