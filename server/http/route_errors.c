#include "inside.h"

#include <stdlib.h>

#include "../../core/base/text_order.h"
#include "../../core/base/json_write.h"

/* GET /api/v1/errors: the failures, one item for each root cause. Assets that wait for a failed one are
 * listed under it; a message that many assets share is one item with a list. */

enum { GROUPS_MAX = 1000, ASSETS_MAX = 100 };

typedef struct fault {
	const srv_view_asset *asset;
	cJSON *error;
	hob_str code, message, hint, root_cause;
	hob_str cause; /* first key of its group: the asset that is the root cause; may be empty */
} fault;

static int same_group_first(const fault *x, const fault *y)
{
	int way = hob_str_compare(x->cause, y->cause);
	if (way == 0 && x->cause.len == 0) {
		way = hob_str_compare(x->code, y->code);
		if (way == 0)
			way = hob_str_compare(x->message, y->message);
	}
	return way;
}

static int compare_faults(const void *a, const void *b)
{
	const fault *x = a, *y = b;
	int way = same_group_first(x, y);
	if (way == 0) /* the root cause comes first in its group */
		way = (x->root_cause.len > 0) - (y->root_cause.len > 0);
	return way != 0 ? way : hob_str_compare(x->asset->full, y->asset->full);
}

static int compare_names(const void *a, const void *b)
{
	return hob_str_compare(*(const hob_str *)a, *(const hob_str *)b);
}

/* Sets `cause` of the assets that other assets name as their root cause. */
static void find_culprits(hob_arena *scratch, fault *faults, uint32_t count)
{
	hob_str *causes = hob_must(HOB_NEW(scratch, hob_str, count));
	uint32_t known = 0;
	for (uint32_t i = 0; i < count; i++)
		if (faults[i].root_cause.len > 0)
			causes[known++] = faults[i].root_cause;
	if (known > 0)
		qsort(causes, known, sizeof *causes, compare_names);
	for (uint32_t i = 0; i < count && known > 0; i++) {
		fault *f = &faults[i];
		const hob_str *names[] = {&f->asset->full, &f->asset->path};
		f->cause = f->root_cause;
		for (size_t n = 0; f->cause.len == 0 && n < HOB_COUNT_OF(names); n++)
			if (bsearch(names[n], causes, known, sizeof *causes, compare_names))
				f->cause = *names[n];
	}
}

static uint32_t collect(hob_arena *scratch, const srv_view *view, fault *faults)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < view->count; i++) {
		const srv_view_asset *a = view->assets[i];
		if (!srv_view_is_problem(a))
			continue;
		fault *f = &faults[count++];
		*f = (fault){.asset = a, .error = cJSON_ParseWithLength(a->error.data, a->error.len)};
		f->code = srv_json_text(f->error, "code");
		f->message = srv_json_text(f->error, "message");
		f->hint = srv_json_text(f->error, "hint");
		f->root_cause = srv_json_text(f->error, "root_cause");
	}
	find_culprits(scratch, faults, count);
	return count;
}

typedef struct fault_group {
	const fault *faults;
	uint32_t count;
	uint64_t rev; /* the highest rev in the group */
} fault_group;

static int newest_first(const void *a, const void *b)
{
	const fault_group *x = a, *y = b;
	return x->rev != y->rev ? (x->rev > y->rev ? -1 : 1) : x->faults < y->faults ? -1 : 1;
}

/* Groups sorted faults. `groups` has room for `count`; returns the number of groups. */
static uint32_t find_groups(const fault *faults, uint32_t count, fault_group *groups)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (i == 0 || same_group_first(&faults[i - 1], &faults[i]) != 0)
			groups[found++] = (fault_group){.faults = &faults[i]};
		fault_group *group = &groups[found - 1];
		group->count++;
		group->rev = faults[i].asset->rev > group->rev ? faults[i].asset->rev : group->rev;
	}
	if (found > 0)
		qsort(groups, found, sizeof *groups, newest_first);
	return found;
}

static void put_group(hob_buf *out, const fault_group *g)
{
	const fault *group = g->faults;
	uint32_t count = g->count;
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("code", group->code),
				 HOB_JSON("message", group->message), HOB_JSON("hint", group->hint));
	hob_own char *place = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(group->error, "location"));
	hob_json_put(out, HOB_JSON_RAW("location", hob_str_of(place)), HOB_JSON_SOME("root_cause", group->cause),
				 HOB_JSON("count", count), HOB_JSON("rev", g->rev), HOB_JSON_OPEN("assets", '['));
	for (uint32_t i = 0; i < count && i < ASSETS_MAX; i++)
		srv_put_asset(out, group[i].asset,
					  1u << FIELD_id | 1u << FIELD_path | 1u << FIELD_root | 1u << FIELD_state |
						  1u << FIELD_standing | 1u << FIELD_links);
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
}

enum MHD_Result srv_route_errors(request *r)
{
	const srv_view *view = srv_request_view(r);
	uint32_t broken = 0;
	for (uint32_t i = 0; i < view->count; i++)
		broken += srv_view_is_problem(view->assets[i]);
	fault *faults = hob_must(HOB_NEW(&r->http->scratch, fault, broken));
	fault_group *groups = hob_must(HOB_NEW(&r->http->scratch, fault_group, broken));
	uint32_t count = collect(&r->http->scratch, view, faults);
	qsort(faults, count, sizeof *faults, compare_faults);
	hob_buf body = {0};
	uint32_t group_count = find_groups(faults, count, groups);
	hob_json_put(&body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("items", '['));
	for (uint32_t i = 0; i < group_count && i < GROUPS_MAX; i++)
		put_group(&body, &groups[i]);
	hob_json_put(&body, HOB_JSON_CLOSE(']'), HOB_JSON("groups", group_count), HOB_JSON("assets", count),
				 HOB_JSON("rev", view->rev), HOB_JSON_CLOSE('}'));
	for (uint32_t i = 0; i < count; i++)
		cJSON_Delete(faults[i].error);
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}
