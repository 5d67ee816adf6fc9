#include "causes.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TELL_SECONDS = 10, LINE_LENGTH = 1024 };

static void say(const srv_causes *causes, srv_log_level level, const char *verb, const char *text)
{
	if (causes->say)
		causes->say(verb, text);
	else
		srv_log(level, verb, "%s", text);
}

static void tell(const srv_causes *causes, struct srv_cause *c)
{
	char rest[LINE_LENGTH];
	snprintf(rest, sizeof rest, "%u more  %s", c->more, c->cause);
	if (c->more > 0)
		say(causes, c->level, c->verb, c->more == 1 && c->line ? c->line : rest);
	free(c->line);
	c->line = NULL;
	c->more = c->seconds = 0;
}

static void forget(struct srv_cause *c)
{
	free(c->cause);
	free(c->first);
}

/* Whether both lines name the same asset: a line begins with the name and two spaces. */
static bool is_of(const char *line, const char *other)
{
	const char *end = strstr(line, "  ");
	size_t length = end ? (size_t)(end - line) + 2 : strlen(line) + 1;
	return strncmp(line, other, length) == 0;
}

/* Index of the entry with this verb and cause; causes->count if there is none. */
static uint32_t find(const srv_causes *causes, const char *verb, hob_str cause)
{
	uint32_t i = 0;
	while (i < causes->count &&
		   (strcmp(causes->at[i].verb, verb) != 0 || !hob_str_equal(hob_str_of(causes->at[i].cause), cause)))
		i++;
	return i;
}

bool srv_causes_has(const srv_causes *causes, const char *verb, hob_str cause)
{
	return find(causes, verb, cause) < causes->count;
}

void srv_causes_log(srv_causes *causes, srv_log_level level, const char *verb, hob_str cause, const char *fmt,
					...)
{
	char line[LINE_LENGTH];
	va_list args;
	va_start(args, fmt);
	vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	uint32_t at = find(causes, verb, cause);
	struct srv_cause *c = at < causes->count ? &causes->at[at] : NULL;
	if (c && is_of(line, c->first)) { /* the same asset again: its author waits for this line */
		say(causes, level, verb, line);
		c->heard = true;
		return;
	}
	if (c) {
		assert(c->level == level);
		free(c->line);
		c->line = strdup(line);
		c->more++;
		c->heard = true;
		return;
	}
	say(causes, level, verb, line);
	if (causes->count == SRV_CAUSES_MAX)
		return;
	char *copy = strndup(cause.data, cause.len), *first = strdup(line);
	if (copy && first) {
		causes->at[causes->count++] =
			(struct srv_cause){.cause = copy, .first = first, .verb = verb, .level = level, .heard = true};
	} else {
		free(copy);
		free(first);
	}
}

void srv_causes_second(srv_causes *causes)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < causes->count; i++) {
		struct srv_cause *c = &causes->at[i];
		bool over = !c->heard;
		c->heard = false;
		c->seconds++;
		if (over || c->seconds >= TELL_SECONDS)
			tell(causes, c);
		if (over)
			forget(c);
		else
			causes->at[kept++] = *c;
	}
	assert(kept <= causes->count);
	causes->count = kept;
}

void srv_causes_end(srv_causes *causes)
{
	for (uint32_t i = 0; i < causes->count; i++) {
		tell(causes, &causes->at[i]);
		forget(&causes->at[i]);
	}
	causes->count = 0;
}
