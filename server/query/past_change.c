#include "past_job.h"
#include "../../core/hash/hex.h"

#include "../../core/base/json_write.h"
#include "../../core/compare/compare.h"
#include "../control/derived.h"
#include "../store/record.h"

#include <cjson/cJSON.h>
#include <unistd.h>

/* A finished job as a change of its asset: compares its version with the final one before, by their stored
 * comparison (core/compare). */

enum { EARLIER_MAX = 32, SAID_MAX = 5, COMPARED_BYTES_MAX = 64 << 20 };

typedef enum tone { BAD, WARN, NOTE, GOOD } tone;
static const char *const tones[] = {"bad", "warn", "note", "good"};

typedef struct change {
	const srv_job_row *row;
	srv_record now, was;
	bool has_was, repaired, compared;
	uint32_t said[GOOD + 1], shown;
	hob_buf words, numbers; /* items of JSON arrays */
	hob_arena arena;
} change;

static bool is(hob_str text, const char *word)
{
	return hob_str_equal(text, hob_str_of(word));
}

static const cJSON *member(const cJSON *json, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(json, name);
}

static cJSON *parse(hob_str json)
{
	return cJSON_ParseWithLength(json.data, json.len);
}

static void say(change *c, tone t, const char *part, const char *what, hob_str name, const char *text)
{
	c->said[t]++;
	if (c->shown++ < SAID_MAX)
		hob_json_object(&c->words, HOB_JSON("tone", tones[t]), HOB_JSON("part", part),
						HOB_JSON("change", what), HOB_JSON("name", name), HOB_JSON("text", text));
}

static bool is_final(const srv_record *record)
{
	return hob_str_find(record->ingredients, HOB_STR("\"profile\":\"preview\""), 0) == SIZE_MAX;
}

/* Finds the version before, and whether cooks failed since. */
static bool find_was(question *q, change *c)
{
	srv_job_row *rows;
	uint32_t count;
	hob_error error;
	if (!srv_store_jobs(q->reader, c->row->asset, c->row->id, EARLIER_MAX, &c->arena, &rows, &count, &error))
		return false;
	for (uint32_t i = 0; i < count && !c->has_was; i++) {
		c->repaired = c->repaired || is(rows[i].result, "failed");
		c->has_was = srv_store_record(q->reader, &rows[i].record, &c->arena, &c->was, &error) &&
					 c->was.error.len == 0 && is_final(&c->was);
	}
	return true;
}

static void say_failure(change *c)
{
	hob_own_json *error = parse(c->row->error);
	const char *message = cJSON_GetStringValue(member(error, "message"));
	say(c, BAD, "asset", "failed", (hob_str){0}, message ? message : "it cannot be cooked");
}

static void put_item(hob_buf *out, const cJSON *item)
{
	hob_own char *text = cJSON_PrintUnformatted(item);
	hob_json_raw(out, hob_str_of(text ? text : "null"));
}

static void read_comparison(change *c, hob_str text)
{
	hob_own_json *json = parse(text);
	const cJSON *each;
	cJSON_ArrayForEach(each, member(json, "changes")) if (c->shown < SAID_MAX)
	{
		put_item(&c->words, each);
		c->shown++;
	}
	for (int t = 0; t <= GOOD; t++) {
		const cJSON *count = member(member(json, "tones"), tones[t]);
		c->said[t] += cJSON_IsNumber(count) ? (uint32_t)count->valuedouble : 0;
	}
	cJSON_ArrayForEach(each, member(json, "numbers"))
	{
		const char *found = cJSON_GetStringValue(member(each, "tone"));
		if (found && strcmp(found, "same") != 0)
			put_item(&c->numbers, each);
	}
}

/* Reads the stored comparison. */
static bool read_stored(question *q, change *c, const hob_sha256 *blob)
{
	uint64_t size = 0;
	int fd = srv_blob_open(q->store, blob, &size);
	uint8_t *text = fd >= 0 ? hob_arena_alloc(&c->arena, size + 1, 1) : NULL;
	srv_close(fd);
	if (!text || !srv_blob_read(q->store, blob, text, size))
		return false;
	read_comparison(c, (hob_str){(const char *)text, size});
	return true;
}

static void compare_rules(change *c)
{
	hob_own_buf out = {0};
	hob_error error;
	if (hob_compare(&(hob_compare_side){.stats = c->was.stats}, &(hob_compare_side){.stats = c->now.stats},
					&out, &error))
		read_comparison(c, hob_buf_str(&out));
}

static uint64_t bytes_of(const srv_record *record)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < record->output_count; i++)
		bytes += hob_str_starts(record->outputs[i].name, HOB_STR("textures/")) ? 0 : record->outputs[i].size;
	return bytes;
}

/* Compares the versions, by the stored comparison if there is one. False: it must be made first. */
static bool compare(question *q, change *c)
{
	hob_sha256 models[2][4] = {{{{0}}}}, blob;
	bool both = srv_record_model(&c->was, models[0]) && srv_record_model(&c->now, models[1]);
	hob_sha256 was = srv_derived_set(models[0]), now = srv_derived_set(models[1]);
	c->compared = hob_sha256_equal(&was, &now);
	if (both && !c->compared) {
		const hob_str stats[2] = {c->was.stats, c->now.stats};
		hob_sha256 pair = srv_derived_pair(models[0], models[1], stats),
				   key = srv_derived_key(SRV_DERIVED_COMPARE, 0, &pair);
		if (srv_store_part(q->store, &key, &blob)) {
			c->compared = read_stored(q, c, &blob);
			return true;
		}
		if (c->row->id < q->control->below && bytes_of(&c->was) + bytes_of(&c->now) < COMPARED_BYTES_MAX) {
			hob_buf_printf(&q->uncompared, "%llu %s %s %.*s", (unsigned long long)c->row->id,
						   hob_sha256_hex(&c->was.key).text, hob_sha256_hex(&c->now.key).text,
						   HOB_FMT(c->row->asset));
			return false;
		}
	}
	compare_rules(c);
	return true;
}

/* Describes the change in words. False: there is none, or it is not compared yet. */
static bool describe(question *q, change *c)
{
	hob_error error;
	bool failed = is(c->row->result, "failed"), first = !failed && !c->has_was && !c->repaired;
	if (failed) {
		say_failure(c);
		return true;
	}
	if ((first && q->control->force) ||
		!srv_store_record(q->reader, &c->row->record, &c->arena, &c->now, &error) || !is_final(&c->now))
		return false;
	if (c->repaired)
		say(c, GOOD, "asset", "repaired", (hob_str){0}, "it can be cooked again");
	if (first)
		say(c, NOTE, "asset", "added", (hob_str){0}, "it is new");
	if (c->has_was && !compare(q, c))
		return false;
	return c->shown > 0 || (c->has_was && !c->compared);
}

static tone tone_of(const change *c)
{
	return c->said[BAD] > 0 ? BAD : c->said[WARN] > 0 ? WARN : c->said[GOOD] > 0 ? GOOD : NOTE;
}

static void print(const change *c, const srv_view_asset *asset, hob_buf *out)
{
	uint32_t all = 0;
	for (int t = 0; t <= GOOD; t++)
		all += c->said[t];
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("job", c->row->id),
				 HOB_JSON_TIME("at", c->row->finished_at_ms), HOB_JSON("asset", asset->full),
				 HOB_JSON("id", asset->id), HOB_JSON("result", c->row->result),
				 HOB_JSON("tone", tones[tone_of(c)]), HOB_JSON_MS("cook_ms", c->row->cook_ns),
				 HOB_JSON_DIGEST("from", &c->was.key), HOB_JSON_DIGEST("to", &c->now.key),
				 HOB_JSON_BOOL("compared", c->compared), HOB_JSON_LIST("changes", hob_buf_str(&c->words)),
				 HOB_JSON("left_out", all > SAID_MAX ? all - SAID_MAX : 0),
				 HOB_JSON_LIST("numbers", hob_buf_str(&c->numbers)), HOB_JSON_CLOSE('}'));
}

bool srv_past_put_change(question *q, const srv_job_row *row, hob_buf *out)
{
	change c = {.row = row};
	const srv_view_asset *asset = srv_view_find(q->view, row->asset);
	bool counts = is(row->result, "cooked") || is(row->result, "hit") || is(row->result, "fetched") ||
				  is(row->result, "failed");
	if (!counts || !asset || hob_str_starts(row->asset, HOB_STR("live/")))
		return false;
	hob_arena_init(&c.arena, 64 << 20);
	bool shown = find_was(q, &c) && describe(q, &c) && (!q->control->force || tone_of(&c) <= WARN);
	if (shown)
		print(&c, asset, out);
	hob_buf_release(&c.words);
	hob_buf_release(&c.numbers);
	hob_arena_release(&c.arena);
	return shown;
}
