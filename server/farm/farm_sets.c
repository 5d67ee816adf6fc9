#include "farm.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEP = 5000 };

static void on_number(void *user, const char *const *values, const size_t *sizes)
{
	(void)sizes;
	*(uint64_t *)user = values[0] ? strtoull(values[0], NULL, 10) : 0;
}

static srv_farm_end number_of(srv_farm *f, const char *sql, const char *const *params, int count,
							  uint64_t *out, srv_farm_why *why)
{
	*out = 0;
	return srv_farm_query(f, sql, params, count, on_number, out, why);
}

/* ---- rows in steps */

srv_farm_end srv_farm_in_steps(srv_farm *f, const char *chosen, const char *change,
							   const char *const params[2], uint64_t *changed, srv_farm_why *why)
{
	char *sql = NULL;
	uint64_t rows = 0;
	*changed = 0;
	if (asprintf(&sql,
				 "create temp table hob_step as select row_number() over () "
				 "as n, * from (%s) c; create index on hob_step(n); analyze hob_step",
				 chosen) < 0)
		return SRV_FARM_DOWN;
	srv_farm_end end = srv_farm_query(f, sql, NULL, 0, NULL, NULL, why);
	free(sql);
	if (end == SRV_FARM_OK)
		end = number_of(f, "select count(*) from hob_step", NULL, 0, &rows, why);
	for (uint64_t at = 0; at < rows && end == SRV_FARM_OK; at += STEP) {
		char first[24], last[24];
		uint64_t done = 0;
		snprintf(first, sizeof first, "%llu", (unsigned long long)at + 1);
		snprintf(last, sizeof last, "%llu", (unsigned long long)at + STEP);
		const char *const all[] = {first, last, params[0], params[1]};
		end = number_of(f, change, all, params[0] ? 4 : 2, &done, why);
		*changed += done;
	}
	return end == SRV_FARM_OK ? srv_farm_query(f, "drop table hob_step", NULL, 0, NULL, NULL, why) : end;
}

/* ---- names */

srv_farm_end srv_farm_names_make(srv_farm *f, uint64_t *count, srv_farm_why *why)
{
	/* In a record, only outputs have a size after their digest. The text before the first digest is not a
	 * name. */
	static const char make[] =
		"create temp table hob_named as select distinct decode(left(part, 64), 'hex') as blob from "
		"(select unnest(string_to_array(record, '\"sha256\":\"')) as part from " SRV_FARM_RECORDS
		" r where " SRV_FARM_BEGINS_RIGHT
		") p where part ~ '^[0-9a-f]{64}\",\"size\":'; create unique index on "
		"hob_named(blob); analyze hob_named";
	srv_farm_end end = srv_farm_query(f, make, NULL, 0, NULL, NULL, why);
	return end == SRV_FARM_OK ? number_of(f, "select count(*) from hob_named", NULL, 0, count, why) : end;
}

static void on_known(void *user, const char *const *values, const size_t *sizes)
{
	hob_buf_put(user, values[0] ? values[0] : "", values[0] ? sizes[0] : 0);
}

srv_farm_end srv_farm_names_have(srv_farm *f, const hob_sha256 *digests, uint32_t count, bool *named,
								 srv_farm_why *why)
{
	static const char look[] =
		"select string_agg(case when n.blob is null then '0' else '1' end, '' order by i) from "
		"unnest(string_to_array($1, ',')) with ordinality u(x, i) left join hob_named n on n.blob = "
		"decode(x, 'hex')";
	hob_own_buf list = {0}, known = {0};
	srv_farm_put_list(&list, digests, count);
	const char *const params[] = {(const char *)list.data};
	srv_farm_end end = SRV_FARM_OK;
	if (count > 0)
		end = list.failed ? SRV_FARM_DOWN : srv_farm_query(f, look, params, 1, on_known, &known, why);
	if (end == SRV_FARM_OK && known.size != count) {
		snprintf(why->text, sizeof why->text, "the farm's database: the list of names is incomplete");
		end = SRV_FARM_DOWN;
	}
	for (uint32_t i = 0; i < count && end == SRV_FARM_OK; i++)
		named[i] = known.data[i] == '1';
	return end;
}
