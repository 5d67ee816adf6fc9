#include "version.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

typedef struct served {
	hob_str full;
	hob_sha256 key;
	bool found, over;
} served;

static bool take_change(void *user, const srv_change_row *row)
{
	served *s = user;
	if (hob_str_find(row->data, hob_path_name(s->full), 0) == SIZE_MAX)
		return true;
	hob_own_json *change = cJSON_ParseWithLength(row->data.data, row->data.len);
	const char *full = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(change, "asset"));
	const char *key = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(change, "key"));
	const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(change, "kind"));
	if (full && hob_str_equal(hob_str_of(full), s->full)) {
		s->found = key && hob_sha256_parse(hob_str_of(key), &s->key);
		s->over = s->found || (kind && strcmp(kind, "removed") == 0);
	}
	return !s->over;
}

int srv_version_at(srv_store *store, uint64_t newest, hob_str full, uint64_t rev, hob_arena *arena,
				   srv_record *out, hob_error *err)
{
	served s = {.full = srv_store_name_at(store, full, rev, arena)};
	if (rev > newest) {
		(void)hob_fail(err, NOT_FOUND, "there is no rev %llu yet; the newest is %llu",
					   (unsigned long long)rev, (unsigned long long)newest);
		return 404;
	}
	if (!srv_store_each_change(store, 0, rev, true, take_change, &s, err))
		return 503;
	if (!s.found && !srv_store_is_whole(store, err))
		return 503;
	if (!s.found) {
		bool trimmed = !s.over && srv_store_first_rev(store) > 1;
		(void)hob_fail(err, NOT_FOUND,
					   trimmed ? "the history does not reach back to rev %llu"
							   : "nothing was served at rev %llu yet",
					   (unsigned long long)rev);
		return trimmed ? 410 : 404;
	}
	if (srv_store_record(store, &s.key, arena, out, err))
		return 0;
	if (err->code == HOB_ERR_IO)
		return 503;
	(void)hob_fail(err, NOT_FOUND, "the record of the cook served at rev %llu is no longer kept",
				   (unsigned long long)rev);
	return 410;
}

static bool has_same_outputs(const srv_record *a, const srv_record *b)
{
	uint32_t seen = 0;
	for (uint32_t i = 0; i < a->output_count; i++)
		for (uint32_t k = 0; k < b->output_count; k++)
			if (hob_str_equal(a->outputs[i].name, b->outputs[k].name) &&
				(hob_str_equal(a->outputs[i].name, HOB_STR("report")) ||
				 hob_sha256_equal(&a->outputs[i].digest, &b->outputs[k].digest)))
				seen++;
	return a->output_count == b->output_count && seen == a->output_count;
}

/* The newest cook whose outputs differ from the served ones. */
static int find_previous(const srv_version_of *of, hob_arena *arena, srv_record *out, hob_error *err)
{
	enum { JOBS_LOOKED_AT = 100 };
	static const hob_sha256 none;
	srv_record now;
	srv_job_row *rows;
	uint32_t count;
	bool passed = false;
	if (!srv_store_record(of->store, of->served, arena, &now, err) ||
		!srv_store_jobs(of->store, of->full, 0, JOBS_LOOKED_AT, arena, &rows, &count, err))
		return 404;
	for (uint32_t i = 0; i < count; i++) {
		passed = passed || hob_sha256_equal(&rows[i].record, &now.key);
		if (passed && !hob_sha256_equal(&rows[i].record, &none) &&
			srv_store_record(of->store, &rows[i].record, arena, out, err) && out->output_count > 0 &&
			!has_same_outputs(out, &now))
			return 0;
	}
	(void)hob_fail(err, NOT_FOUND, "no earlier cook of '%.*s' with other outputs is known",
				   HOB_FMT(of->full));
	return 404;
}

int srv_version_find(const srv_version_of *of, hob_str which, hob_arena *arena, srv_record *out,
					 hob_error *err)
{
	char number[24];
	hob_sha256 key;
	if (!of->served || hob_str_equal(which, HOB_STR("latest"))) {
		if (of->served && srv_store_record(of->store, of->served, arena, out, err))
			return 0;
		(void)hob_fail(err, NOT_FOUND, "nothing of '%.*s' is served yet", HOB_FMT(of->full));
		return 404;
	}
	if (hob_str_equal(which, HOB_STR("previous")))
		return find_previous(of, arena, out, err);
	if (which.len == HOB_SHA256_TEXT && hob_sha256_parse(which, &key)) {
		if (srv_store_record(of->store, &key, arena, out, err))
			return 0;
		if (err->code == HOB_ERR_IO)
			return 503;
		(void)hob_fail(err, NOT_FOUND, "no cook with the key %.12s is kept", which.data);
		return 410;
	}
	size_t digits = which.len < sizeof number ? which.len : 0;
	memcpy(number, which.data, digits);
	number[digits] = 0;
	if (digits == 0 || strspn(number, "0123456789") != which.len) {
		(void)hob_fail(err, BAD_REQUEST,
					   "'%.*s' is not a version: a rev, the key of a cook, 'latest' or 'previous'",
					   HOB_FMT(which));
		return 400;
	}
	return srv_version_at(of->store, of->newest, of->full, strtoull(number, NULL, 10), arena, out, err);
}
