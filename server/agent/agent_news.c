#include "agent.h"

#include "../../core/base/percent.h"

enum { WAIT_S = 50, SILENCE_MS = 90000, PAUSE_MS = 3000, COOK_MS = 600000 };

/* Appends the growth in triangles, from {"triangles": [before, after]} of an event. */
static void put_growth(hob_buf *line, hobc_json data)
{
	hobc_json pair = agent_member(agent_member(data, "diff"), "triangles"), from, to;
	size_t at = 0;
	if (!hobc_json_item(pair, &at, &from) || !hobc_json_item(pair, &at, &to))
		return;
	double before = (double)agent_number(from), after = (double)agent_number(to);
	if (before > 0 && before != after)
		hob_buf_printf(line, "  %+.0f %% triangles", (after - before) * 100 / before);
}

static void say_event(hobc_json data)
{
	char name[AGENT_PATH + 300], kind[64], text[4096];
	hob_own_buf line = {0};
	agent_text(data, "kind", kind, sizeof kind);
	if (agent_text(agent_member(data, "error"), "message", text, sizeof text))
		hob_buf_printf(&line, "  broken: %s", text);
	else
		hob_buf_printf(&line, "  %s", kind);
	if (strcmp(kind, "cooked") == 0) {
		uint64_t ms = agent_number(agent_member(data, "cook_ms"));
		hob_buf_printf(&line, " %s%llu ms", ms > 0 ? "" : "under ", ms > 0 ? (unsigned long long)ms : 1ull);
		put_growth(&line, data);
	}
	if (agent_text(data, "asset", name, sizeof name))
		agent_say("%s%.*s", name, HOB_FMT(hob_buf_str(&line)));
}

static void wait_for_events(agent *a, agent_fetch *fetch, hob_buf *since)
{
	hob_own_buf target = {0}, answer = {0};
	hob_error error;
	int status = 0;
	hob_buf_printf(&target, "/api/v1/changes?kinds=asset&wait=%d&asset=", WAIT_S);
	hob_buf_put_percent(&target, hob_str_of(a->options.root));
	hob_buf_put_str(&target, HOB_STR("%2F"));
	hob_buf_put_percent(&target, hob_str_of(a->options.base));
	hob_buf_put_str(&target, a->options.base[0] ? HOB_STR("%2F**") : HOB_STR("**"));
	if (since->size > 0) {
		hob_buf_put_str(&target, HOB_STR("&since="));
		hob_buf_put_percent(&target, hob_buf_str(since));
	}
	hob_buf_put(&target, "", 1);
	bool ok = agent_fetch_send(
		fetch,
		&(fetch_request){.method = "GET", .target = (const char *)target.data, .silence_ms = SILENCE_MS},
		&status, &answer, &error);
	if (ok && status == 200) {
		hobc_json items = agent_member(agent_json(&answer), "items"), item;
		char next[256];
		for (size_t at = 0; hobc_json_item(items, &at, &item);)
			say_event(agent_member(item, "data"));
		if (agent_text(agent_json(&answer), "next", next, sizeof next)) {
			hob_buf_clear(since);
			hob_buf_put_str(since, hob_str_of(next));
		}
	} else if (!ok || status != 204) {
		agent_sleep_ms(PAUSE_MS);
	}
}

void *agent_news_run(void *user)
{
	agent *a = user;
	hob_buf since = {0};
	hob_error error;
	agent_fetch *fetch = agent_fetch_open(a->options.url, a->token, a->options.ca_file, &error);
	while (fetch)
		wait_for_events(a, fetch, &since);
	return NULL;
}

int agent_news_once(agent *a)
{
	hob_own_buf body = {0}, answer = {0};
	int status = 0, code = 3;
	hob_buf_printf(&body, "{\"roots\":[\"%s\"],\"timeout_ms\":%d}", a->options.root, COOK_MS);
	bool ok = agent_ask(a,
						&(fetch_request){.method = "POST",
										 .target = "/api/v1/sync",
										 .body = hob_buf_str(&body),
										 .silence_ms = COOK_MS + SILENCE_MS},
						&status, &answer);
	if (ok && status == 200) {
		hobc_json failed = agent_member(agent_json(&answer), "failed"), item;
		hob_own_buf prefix = {0};
		char name[AGENT_PATH + 300];
		size_t at = 0;
		hob_buf_printf(&prefix, "%s/%s%s", a->options.root, a->options.base, a->options.base[0] ? "/" : "");
		for (code = 0; hobc_json_item(failed, &at, &item);)
			if (hobc_json_text(item, name, sizeof name) &&
				hob_str_starts(hob_str_of(name), hob_buf_str(&prefix))) {
				agent_say("failed %s", name);
				code = 1;
			}
	} else if (ok) {
		agent_problem(a, status, agent_json(&answer));
	}
	if (code == 3)
		agent_say("%s", a->problem);
	return code;
}
