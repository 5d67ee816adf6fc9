#include "inside.h"

#include <stdlib.h>

static bool add(char **list, uint32_t *count, uint32_t room, hob_str text)
{
	if (*count == room || text.len == 0 || text.len > HOB_GLOB_BYTES_MAX)
		return false;
	list[*count] = strndup(text.data, text.len);
	return list[*count] && ++*count;
}

bool srv_event_filter_init(event_filter *filter, request *r)
{
	bool fine = true;
	for (uint32_t i = 0; fine && i < r->param_count; i++)
		if (hob_str_equal(r->params[i].name, HOB_STR("asset")))
			fine = add(filter->globs, &filter->glob_count, FILTER_GLOBS, r->params[i].value);
	hob_str rest, kind;
	bool some = srv_request_param(r, "kinds", &rest) && rest.len > 0;
	while (fine && some && hob_str_piece(&rest, ',', &kind))
		fine = add(filter->kinds, &filter->kind_count, FILTER_KINDS, kind);
	if (fine)
		return true;
	srv_event_filter_release(filter);
	return srv_refuse(r, PROBLEM_BAD_REQUEST, "kinds=asset,job,log and asset=props/** (may be given again)",
					  "more than %d kinds or %d patterns, or one that is empty or over %d bytes",
					  FILTER_KINDS, FILTER_GLOBS, HOB_GLOB_BYTES_MAX);
}

void srv_event_filter_release(event_filter *filter)
{
	for (uint32_t i = 0; i < filter->glob_count; i++)
		free(filter->globs[i]);
	for (uint32_t i = 0; i < filter->kind_count; i++)
		free(filter->kinds[i]);
	*filter = (event_filter){0};
}

bool srv_event_filter_passes(const event_filter *filter, const srv_event *event)
{
	/* A reset concerns all listeners. */
	if (strcmp(event->kind, "reset") == 0)
		return true;
	/* Log lines go only to clients that ask for them. */
	bool kind = filter->kind_count == 0 && strcmp(event->kind, "log") != 0, asset = filter->glob_count == 0;
	for (uint32_t i = 0; !kind && i < filter->kind_count; i++)
		kind = strcmp(filter->kinds[i], event->kind) == 0;
	/* Patterns match "root/path", or the path below the root. */
	size_t slash = hob_str_find(event->asset, HOB_STR("/"), 0);
	hob_str path = slash == SIZE_MAX ? event->asset : hob_str_sub(event->asset, slash + 1, event->asset.len);
	for (uint32_t i = 0; kind && !asset && i < filter->glob_count; i++) {
		hob_str pattern = hob_str_of(filter->globs[i]);
		asset = hob_glob_match(pattern, event->asset) || hob_glob_match(pattern, path);
	}
	return kind && asset;
}

since_kind srv_event_since(request *r, uint64_t *seq)
{
	hob_str id = r->head.last_event_id;
	if (id.len == 0 && (!srv_request_param(r, "since", &id) || id.len == 0))
		return SINCE_NOW;
	hob_str epoch = hob_str_of(srv_events_epoch(r->http->sources.events));
	size_t dot = hob_str_find(id, HOB_STR("."), 0);
	if (dot != SIZE_MAX) {
		if (!hob_str_equal(hob_str_sub(id, 0, dot), epoch))
			return SINCE_LOST;
		id = hob_str_sub(id, dot + 1, id.len);
	}
	return srv_parse_decimal(id, seq) ? SINCE_SEQ : SINCE_LOST;
}
