#include "farm_tools.h"
#include "query.h"

#include "../log/log.h"
#include "../store/digest_map.h"
#include "../store/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_ARENA = 64 << 20, YOUNG_S = 24 * 3600 }; /* the record of a younger blob may still arrive */

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
	digest_map named; /* blobs that records name; value: found (bool) */
	hob_sha256 *odd;  /* keys of texts that are not records */
	char last[HOB_SHA256_TEXT + 1];
	uint32_t rows, odd_count, odd_room;
	uint64_t records;
	bool failed;
} walk;

static void note_odd(walk *w, const char *key)
{
	hob_sha256 digest;
	if (w->odd_count == w->odd_room) {
		uint32_t room = w->odd_room ? w->odd_room * 2 : 64;
		hob_sha256 *more = realloc(w->odd, room * sizeof *more);
		w->failed = w->failed || !more;
		if (!more)
			return;
		w->odd = more;
		w->odd_room = room;
	}
	if (hob_sha256_parse(hob_str_of(key), &digest))
		w->odd[w->odd_count++] = digest;
}

static void on_record(void *user, const char *const *values, const size_t *sizes)
{
	walk *w = user;
	hob_arena arena;
	srv_recipe record;
	hob_error ignored;
	bool fresh;
	char key[HOB_SHA256_TEXT + 1] = "";
	snprintf(w->last, sizeof w->last, "%s", values[0]);
	w->rows++;
	hob_arena_init(&arena, RECORD_ARENA);
	bool right = srv_record_parse((hob_str){values[1], sizes[1]}, &arena, &record, &ignored);
	if (right)
		hob_sha256_text(&record.key, key);
	if (!right || strcmp(key, values[0]) != 0)
		note_odd(w, values[0]);
	else
		w->records++;
	for (uint32_t i = 0; right && i < record.output_count; i++)
		w->failed = w->failed || !srv_digest_map_put(&w->named, &record.outputs[i].digest, &fresh);
	hob_arena_release(&arena);
}

static srv_farm_end walk_records(walk *w, srv_farm_why *why)
{
	static const char page[] =
		"select encode(key, 'hex'), case when octet_length(record) <= $2::int then record else '' end from "
		"(select "
		"key, record from hob_action union all select key, record from hob_failure) a where key > decode($1, "
		"'hex') order by key limit 200";
	char most[16];
	srv_farm_end end = SRV_FARM_OK;
	snprintf(most, sizeof most, "%d", SRV_FARM_RECORD_MAX);
	do {
		char after[HOB_SHA256_TEXT + 1];
		memcpy(after, w->last, sizeof after);
		const char *const params[] = {after, most};
		w->rows = 0;
		end = srv_farm_query(w->tools->farm, page, params, 2, on_record, w, why);
	} while (end == SRV_FARM_OK && w->rows > 0 && !w->failed);
	if (w->failed) {
		snprintf(why->text, sizeof why->text, "no memory left for the list of all blobs");
		end = SRV_FARM_DOWN;
	}
	return end;
}

static srv_farm_end refuse_odd(walk *w, srv_farm_why *why)
{
	enum { TOGETHER = 256 };
	srv_farm_end end = SRV_FARM_OK;
	for (uint32_t i = 0; i < w->odd_count && end == SRV_FARM_OK && !w->tools->dry; i += TOGETHER)
		end = srv_farm_refuse(w->tools->farm, &w->odd[i],
							  w->odd_count - i < TOGETHER ? w->odd_count - i : TOGETHER,
							  "it is not the record of its key", why);
	return end;
}

static void walk_release(walk *w)
{
	srv_digest_map_release(&w->named);
	free(w->odd);
}

static bool digest_of_name(const char *name, hob_sha256 *out)
{
	const char *slash = strrchr(name, '/');
	return slash && hob_sha256_parse(hob_str_of(slash + 1), out);
}

/* ---- gc */

typedef struct sweep {
	walk *walk;
	uint64_t removed, bytes;
	srv_farm_why why;
	bool failed;
} sweep;

static bool sweep_one(void *user, const char *name, uint64_t size, int64_t age_s)
{
	sweep *s = user;
	farm_tools *t = s->walk->tools;
	hob_sha256 digest;
	if (age_s < YOUNG_S || (digest_of_name(name, &digest) && srv_digest_map_find(&s->walk->named, &digest)))
		return true;
	if (!t->dry) {
		srv_farm_end end = srv_farm_blobs_of(t->farm)->remove(t->blobs, name, &s->why);
		s->failed = end != SRV_FARM_OK && end != SRV_FARM_NONE;
	}
	s->removed += !s->failed;
	s->bytes += s->failed ? 0 : size;
	return !s->failed;
}

static void on_trimmed(void *user, const char *const *values, const size_t *sizes)
{
	(void)sizes;
	*(uint64_t *)user = values[0] ? strtoull(values[0], NULL, 10) : 0;
}

int srv_farm_tools_gc(farm_tools *t)
{
	char days[16], bytes[32], records[48], blobs[48];
	srv_farm_why why = {""};
	uint64_t trimmed = 0;
	snprintf(days, sizeof days, "%u", t->days);
	const char *const params[] = {days};
	srv_farm_end end = srv_farm_owns(t->farm, t->blobs, &why);
	if (end == SRV_FARM_OK)
		end =
			srv_farm_query(t->farm,
						   t->dry ? "select count(*) from hob_action where last_used < current_date - $1::int"
								  : "select records from hob_trim($1::int)",
						   params, 1, on_trimmed, &trimmed, &why);
	walk w = {.tools = t};
	sweep s = {.walk = &w};
	srv_digest_map_init(&w.named, 1);
	end = end == SRV_FARM_OK ? walk_records(&w, &why) : end;
	if (end == SRV_FARM_OK)
		end = srv_farm_blobs_of(t->farm)->list(t->blobs, sweep_one, &s, &why);
	walk_release(&w);
	if (end != SRV_FARM_OK || s.failed)
		return srv_farm_tools_fail(t, s.failed ? &s.why : &why);
	srv_text_bytes(s.bytes, bytes);
	printf("%s %s that nobody used for %u days; %s %s (%s) that nothing names\n",
		   t->dry ? "would forget" : "forgot", srv_cli_count((double)trimmed, "result", records), t->days,
		   t->dry ? "would delete" : "deleted", srv_cli_count((double)s.removed, "blob", blobs), bytes);
	return EXIT_GOOD;
}

/* ---- verify */

typedef struct check {
	walk *walk;
	hob_hasher hasher;
	uint64_t blobs, damaged;
	srv_farm_why why;
	bool failed;
} check;

static bool hash_piece(void *user, const void *data, size_t size)
{
	check *c = user;
	hob_hasher_put(&c->hasher, data, size);
	return true;
}

static bool check_one(void *user, const char *name, uint64_t size, int64_t age_s)
{
	check *c = user;
	farm_tools *t = c->walk->tools;
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
	uint8_t *there = srv_digest_map_find(&c->walk->named, &digest);
	if (hob_sha256_equal(&found, &digest)) {
		if (there)
			*there = 1;
		return true;
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
	check c = {.walk = &w};
	uint64_t missing = 0, suspects = 0;
	srv_digest_map_init(&w.named, 1);
	srv_farm_end end = walk_records(&w, &why);
	if (end == SRV_FARM_OK)
		end = srv_farm_blobs_of(t->farm)->list(t->blobs, check_one, &c, &why);
	end = end == SRV_FARM_OK ? refuse_odd(&w, &why) : end;
	hob_sha256 digest;
	const uint8_t *there;
	for (size_t at = 0; (there = srv_digest_map_next(&w.named, &at, &digest));)
		missing += !*there;
	if (end == SRV_FARM_OK && !c.failed)
		end = srv_farm_query(t->farm, doubts, NULL, 0, on_doubt, &suspects, &why);
	uint32_t odd = w.odd_count;
	uint64_t count = w.records;
	walk_release(&w);
	if (end != SRV_FARM_OK || c.failed)
		return srv_farm_tools_fail(t, c.failed ? &c.why : &why);
	printf("%s, %s checked: %llu damaged, %llu named and not there, %u no records\n",
		   srv_cli_count((double)count, "record", records), srv_cli_count((double)c.blobs, "blob", blobs),
		   (unsigned long long)c.damaged, (unsigned long long)missing, odd);
	return c.damaged + missing + odd + suspects > 0 ? EXIT_ASSETS_FAILED : EXIT_GOOD;
}
