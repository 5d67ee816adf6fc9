#include "agent.h"
#include "agent_json.h"

#include <stdio.h>

enum { WAIT_S = 50, SILENCE_MS = 90000, PAUSE_MS = 3000, COOK_MS = 600000 };

static void put_encoded(hob_buf *out, hob_str text)
{
	for (size_t i = 0; i < text.len; i++)
		hob_buf_printf(out, "%%%02X", (uint8_t)text.data[i]);
}

/* {"triangles": [before, after]} of an event. */
static void put_growth(hob_buf *line, hob_str data)
{
	hob_str pair = agent_json_member(agent_json_member(data, "diff"), "triangles"), from, to;
	if (!agent_json_next(&pair, &from) || !agent_json_next(&pair, &to))
		return;
	double before = (double)agent_json_number(from), after = (double)agent_json_number(to);
	if (before > 0 && before != after)
		hob_buf_printf(line, "  %+.0f %% triangles", (after - before) * 100 / before);
}

static void say_event(agent *a, hob_str data)
{
	hob_buf name = {0}, kind = {0}, text = {0}, line = {0};
	agent_json_text(agent_json_member(data, "asset"), &name);
	agent_json_text(agent_json_member(data, "kind"), &kind);
	hob_str error = agent_json_member(data, "error");
	if (agent_json_text(agent_json_member(error, "message"), &text))
		hob_buf_printf(&line, "  broken: %.*s", HOB_FMT(hob_buf_str(&text)));
	else
		hob_buf_printf(&line, "  %.*s", HOB_FMT(hob_buf_str(&kind)));
	if (hob_str_equal(hob_buf_str(&kind), HOB_STR("cooked"))) {
		hob_buf_printf(&line, " %lld ms", (long long)agent_json_number(agent_json_member(data, "cook_ms")));
		put_growth(&line, data);
	}
	if (name.size > 0)
		agent_say(a, "%.*s%.*s", HOB_FMT(hob_buf_str(&name)), HOB_FMT(hob_buf_str(&line)));
	hob_buf_release(&name);
	hob_buf_release(&kind);
	hob_buf_release(&text);
	hob_buf_release(&line);
}

static void wait_for_events(agent *a, agent_fetch *fetch, hob_buf *since)
{
	hob_buf target = {0}, answer = {0}, next = {0};
	hob_error error;
	int status = 0;
	uint64_t sent = 0;
	hob_buf_printf(&target, "/api/v1/changes?kinds=asset&wait=%d&asset=", WAIT_S);
	put_encoded(&target, hob_str_of(a->options.root));
	hob_buf_put_str(&target, HOB_STR("%2F"));
	put_encoded(&target, hob_str_of(a->options.base));
	hob_buf_put_str(&target, a->options.base[0] ? HOB_STR("%2F**") : HOB_STR("**"));
	if (since->size > 0) {
		hob_buf_put_str(&target, HOB_STR("&since="));
		put_encoded(&target, hob_buf_str(since));
	}
	hob_buf_put(&target, "", 1);
	bool ok = agent_fetch_send(
		fetch,
		&(fetch_request){.method = "GET", .target = (const char *)target.data, .silence_ms = SILENCE_MS},
		&status, &answer, &sent, &error);
	hob_str text = hob_buf_str(&answer), items, item;
	if (ok && status == 200 && hob_json_valid(text, 64)) {
		items = agent_json_member(text, "items");
		while (agent_json_next(&items, &item))
			say_event(a, agent_json_member(item, "data"));
		if (agent_json_text(agent_json_member(text, "next"), &next)) {
			hob_buf_clear(since);
			hob_buf_put_str(since, hob_buf_str(&next));
		}
	} else if (!ok || status != 204) {
		sys_sleep_ms(PAUSE_MS);
	}
	hob_buf_release(&target);
	hob_buf_release(&answer);
	hob_buf_release(&next);
}

void agent_news_run(void *user)
{
	agent *a = user;
	hob_buf since = {0};
	hob_error error;
	agent_fetch *fetch = agent_fetch_open(a->options.url, a->token, a->options.ca_file, &error);
	while (fetch)
		wait_for_events(a, fetch, &since);
}

int agent_news_once(agent *a)
{
	hob_buf body = {0}, answer = {0};
	int status = 0, code = 3;
	hob_buf_printf(&body, "{\"roots\":[\"%s\"],\"timeout_ms\":%d}", a->options.root, COOK_MS);
	bool ok = agent_ask(a,
						&(fetch_request){.method = "POST",
										 .target = "/api/v1/sync",
										 .body = hob_buf_str(&body),
										 .silence_ms = COOK_MS + SILENCE_MS},
						&status, &answer);
	if (ok && status == 200) {
		hob_str failed = agent_json_member(hob_buf_str(&answer), "failed"), item;
		hob_buf name = {0}, prefix = {0};
		hob_buf_printf(&prefix, "%s/%s%s", a->options.root, a->options.base, a->options.base[0] ? "/" : "");
		for (code = 0; agent_json_next(&failed, &item);)
			if (agent_json_text(item, &name) && hob_str_starts(hob_buf_str(&name), hob_buf_str(&prefix))) {
				agent_say(a, "failed %.*s", HOB_FMT(hob_buf_str(&name)));
				code = 1;
			}
		hob_buf_release(&name);
		hob_buf_release(&prefix);
	} else if (ok) {
		agent_problem(a, status, hob_buf_str(&answer));
	}
	if (code == 3)
		agent_say(a, "%s", a->problem);
	hob_buf_release(&body);
	hob_buf_release(&answer);
	return code;
}
