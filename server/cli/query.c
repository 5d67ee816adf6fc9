#include "owner.h"
#include "query.h"

#include "../client/connection.h"
#include "../log/log.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one request */

enum { PIECE = 16384, BODY_MAX = 1 << 30, LINE_MAX_BYTES = 16 << 20, SILENCE_MS = 40000 };

static bool exchange(const char *url, const char *method, const char *target, const char *header,
					 hob_str body, srv_peer *peer, srv_connection **out, srv_answer *answer, hob_error *err)
{
	bool local = strncmp(url, "unix:", 5) == 0;
	hob_own_buf advice = {0}, headers = {0};
	if (local)
		hob_buf_printf(&advice, "; start one with 'hob serve DIR --listen %s'", url);
	else
		hob_buf_put_str(&advice, HOB_STR("; start one with 'hob serve DIR' or name another with --url"));
	if (header)
		hob_buf_printf(&headers, "%s\r\n", header);
	*peer = (srv_peer){.url = url, .token = getenv("HOB_TOKEN"), .advice = srv_cli_ended(&advice)};
	*out = NULL;
	srv_ask ask = {
		.method = method, .target = target, .headers = srv_cli_ended(&headers), .body_size = body.len};
	bool ok = advice.failed || headers.failed
				  ? hob_fail(err, MEMORY, "no memory left to ask the daemon")
				  : srv_connect(peer, out, err) && srv_connection_ask(*out, &ask, err) &&
						srv_connection_put(*out, body.data, body.len, err) &&
						srv_connection_answer(*out, answer, err);
	peer->advice = NULL;
	return ok;
}

static bool fail_large(const char *url, const char *target, hob_error *err)
{
	return hob_fail(
		err, USAGE,
		"the answer has more than 1 GiB, which is more than this command holds; fetch it with curl: %s%s",
		url, target);
}

bool srv_cli_request(const char *url, const char *method, const char *target, const char *header,
					 hob_str body, cli_response *out, hob_error *err)
{
	srv_peer peer;
	srv_connection *connection;
	srv_answer answer = {0};
	*out = (cli_response){0};
	bool ok = exchange(url, method, target, header, body, &peer, &connection, &answer, err);
	out->status = answer.status;
	memcpy(out->type, answer.type, sizeof out->type);
	memcpy(out->hash, answer.hash, sizeof out->hash);
	memcpy(out->standing, answer.standing, sizeof out->standing);
	char bytes[PIECE];
	if (ok && answer.has_length && answer.length > BODY_MAX)
		ok = fail_large(url, target, err);
	for (size_t got; ok && (got = srv_connection_read(connection, bytes, sizeof bytes)) > 0;) {
		hob_buf_put(&out->body, bytes, got);
		if (out->body.failed)
			ok = hob_fail(err, MEMORY, "no memory left for the daemon's answer");
		else if (out->body.size > BODY_MAX)
			ok = fail_large(url, target, err);
	}
	if (ok && !srv_connection_is_whole(connection))
		ok = hob_fail(err, IO, "the daemon's answer was cut off");
	srv_disconnect(connection);
	if (!ok)
		srv_cli_response_release(out);
	return ok;
}

static bool stream_refused(srv_connection *connection, int status, hob_error *err)
{
	char body[4096];
	size_t size = 0;
	for (size_t got;
		 size < sizeof body && (got = srv_connection_read(connection, body + size, sizeof body - size)) > 0;)
		size += got;
	hob_own_json *problem = cJSON_ParseWithLength(body, size);
	const char *detail = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(problem, "detail"));
	(void)hob_fail(err, USAGE, "the daemon refused (%d): %.180s", status,
				   detail ? detail : "no reason given");
	if (status == 429 || status >= 500)
		err->code = HOB_ERR_IO;
	return false;
}

bool srv_cli_stream(const char *url, const char *target, const char *header,
					bool (*line)(void *user, hob_str line), void *user, hob_error *err)
{
	srv_peer peer;
	srv_connection *connection;
	srv_answer head = {0};
	hob_own_buf pending = {0};
	bool ok = exchange(url, "GET", target, header, (hob_str){0}, &peer, &connection, &head, err);
	if (ok)
		srv_connection_limit_silence(connection, SILENCE_MS);
	if (ok && head.status != 200)
		ok = stream_refused(connection, head.status, err);
	char bytes[4096];
	bool going = ok;
	for (size_t got; going && (got = srv_connection_read(connection, bytes, sizeof bytes)) > 0;)
		for (size_t i = 0; i < got && going; i++) {
			if (bytes[i] != '\n') {
				hob_buf_put(&pending, &bytes[i], 1);
				going = ok = !pending.failed && pending.size <= LINE_MAX_BYTES;
				continue;
			}
			going = line(user, hob_buf_str(&pending));
			hob_buf_clear(&pending);
		}
	if (pending.failed || pending.size > LINE_MAX_BYTES)
		ok = hob_fail(err, USAGE, "%s sends a line of more than %d bytes; is it a Hob daemon?", url,
					  LINE_MAX_BYTES);
	srv_disconnect(connection);
	return ok;
}

void srv_cli_response_release(cli_response *response)
{
	hob_buf_release(&response->body);
}

void srv_cli_put_parameter(hob_buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	hob_buf_put_str(out, hob_str_of(name));
	hob_buf_put_percent(out, hob_str_of(value));
}

const char *srv_cli_text(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(srv_cli_member(object, key));
	return text ? text : "";
}

double srv_cli_number(const cJSON *object, const char *key)
{
	const cJSON *item = srv_cli_member(object, key);
	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

const cJSON *srv_cli_member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

const cJSON *srv_cli_find(const cJSON *list, const char *key, const char *text)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, list)
	{
		if (strcmp(srv_cli_text(item, key), text) == 0)
			return item;
	}
	return NULL;
}

static const struct {
	const char *name, *old;
	enum { GOOD, WORK, WARN, BAD, QUIET } tone;
} standings[] = {
#define STANDING(id, text, tone, old, meaning) {text, old, tone},
#include "../../schema/standings.def"
#undef STANDING
};

static bool is_among(hob_str word, const char *list)
{
	hob_str all = hob_str_of(list);
	for (size_t at = 0, end; at <= all.len; at = end + 1) {
		end = hob_str_find(all, HOB_STR(","), at);
		end = end == SIZE_MAX ? all.len : end;
		if (hob_str_equal(word, hob_str_sub(all, at, end)))
			return true;
	}
	return false;
}

bool srv_cli_put_standings(hob_str word, hob_buf *out)
{
	size_t before = out->size;
	for (size_t i = 0; i < HOB_COUNT_OF(standings); i++)
		if (hob_str_equal(word, hob_str_of(standings[i].name)))
			hob_buf_printf(out, ",%s", standings[i].name);
	for (size_t i = 0; i < HOB_COUNT_OF(standings) && out->size == before; i++)
		if (is_among(word, standings[i].old))
			hob_buf_printf(out, ",%s", standings[i].name);
	return out->size > before;
}

const char *srv_cli_standing(const cJSON *asset)
{
	const char *told = srv_cli_text(asset, "standing");
	hob_str state = hob_str_of(srv_cli_text(asset, "state"));
	bool broken = cJSON_IsObject(srv_cli_member(asset, "error"));
	for (size_t i = 0; !told[0] && i < HOB_COUNT_OF(standings); i++)
		if (is_among(state, standings[i].old) && (standings[i].tone != WORK || !broken))
			told = standings[i].name;
	return told;
}

static uint32_t tone_of(const char *standing)
{
	for (size_t i = 0; i < HOB_COUNT_OF(standings); i++)
		if (strcmp(standing, standings[i].name) == 0)
			return standings[i].tone;
	return GOOD;
}

const char *srv_cli_standing_color(const char *standing)
{
	static const char *const colors[] = {"\x1b[32m", "\x1b[33m", "\x1b[33m", "\x1b[31m", "\x1b[2m"};
	return srv_color_wanted(1) ? colors[tone_of(standing)] : "";
}

bool srv_cli_is_busy(const char *standing)
{
	return tone_of(standing) == WORK;
}

bool srv_cli_is_fresh(const char *standing)
{
	return strcmp(standing, "fresh") == 0;
}

const char *srv_cli_color_off(void)
{
	return srv_color_wanted(1) ? "\x1b[0m" : "";
}

const char *srv_cli_dim(void)
{
	return srv_color_wanted(1) ? "\x1b[2m" : "";
}

const char *srv_cli_count(double number, const char *word, char out[48])
{
	if (number == 0)
		snprintf(out, 48, "no %.32ss", word);
	else
		snprintf(out, 48, "%.0f %.32s%s", number, word, number == 1 ? "" : "s");
	return out;
}

/* ---- errors */

/* The hint for a person, who uses commands; the daemon's hints are for programs. */
static const char *own_hint(const char *problem)
{
	static const struct {
		const char *problem, *hint;
	} hints[] = {
		{"/problems/token-needed",
		 "set HOB_TOKEN to a token of this daemon; 'hob token create NAME' makes one where it runs"},
		{"/problems/token-scope", "this takes a token that may write: 'hob token create NAME --write'"},
		{"/problems/host-not-allowed", "start it with 'hob serve --allowed-host NAME'"},
		{"/problems/cook-failed", "'hob why ASSET' and 'hob log ASSET' tell more"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(hints); i++)
		if (strcmp(problem, hints[i].problem) == 0)
			return hints[i].hint;
	return "";
}

void srv_cli_plain_json(cJSON *tree)
{
	for (cJSON *item = tree; item; item = item->next) {
		bool lines = item->string && strcmp(item->string, "log") == 0;
		for (char *line = cJSON_IsString(item) ? item->valuestring : NULL; line;) {
			char *end = lines ? strchr(line, '\n') : NULL;
			if (end)
				*end = 0;
			srv_plain(line);
			if (end)
				*end = '\n';
			line = end ? end + 1 : NULL;
		}
		srv_cli_plain_json(item->child);
	}
}

static bool speaks_http(const char *hint)
{
	static const char *const words[] = {"GET ",			 "POST ",	 "PUT ",	"/api/",
										"Authorization", "If-Match", "Content-"};
	for (size_t i = 0; i < HOB_COUNT_OF(words); i++)
		if (strstr(hint, words[i]))
			return true;
	return false;
}

int srv_cli_print_problem(const char *who, const cli_response *response)
{
	hob_own_json *root = cJSON_ParseWithLength((const char *)response->body.data, response->body.size);
	srv_cli_plain_json(root);
	const char *detail = srv_cli_text(root, "detail"), *title = srv_cli_text(root, "title");
	const char *hint = srv_cli_text(root, "hint"), *own = own_hint(srv_cli_text(root, "type"));
	fprintf(stderr, "%s: %s\n", who, detail[0] ? detail : title[0] ? title : "the daemon refused");
	if (!hint[0] || speaks_http(hint) ||
		strcmp(srv_cli_text(root, "type"), "/problems/host-not-allowed") == 0)
		hint = own;
	if (hint[0])
		fprintf(stderr, "  hint: %s\n", hint);
	return response->status == 422 ? EXIT_ASSETS_FAILED : EXIT_USAGE;
}

/* ---- asking */

/* EXIT_GOOD: there is an answer, whatever its status. */
static int send(const char *who, const char *url, const char *method, const char *target, hob_str body,
				cli_response *out)
{
	hob_error error = {0};
	return srv_cli_request(url, method, target, NULL, body, out, &error)
			   ? EXIT_GOOD
			   : srv_cli_fail(who, &error, error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_UNREACHABLE);
}

typedef enum answer_form { FORM_PLAIN, FORM_EXACT, FORM_RAW } answer_form;

static cJSON *ask(const char *who, const char *url, const char *method, const char *target, hob_str body,
				  answer_form form, int *code)
{
	cli_response response;
	int sent = send(who, url, method, target, body, &response);
	if (sent != EXIT_GOOD) {
		*code = sent;
		return NULL;
	}
	cJSON *root = NULL;
	(void)srv_owner_is_here(who, url);
	if (response.status >= 400)
		*code = srv_cli_print_problem(who, &response);
	else if (form == FORM_RAW)
		fwrite(response.body.data, 1, response.body.size, stdout);
	else if (!(root = cJSON_ParseWithLength((const char *)response.body.data, response.body.size))) {
		fprintf(stderr, "%s: %s gave an answer that is no JSON; is it a Hob daemon?\n", who, url);
		*code = EXIT_INTERNAL;
	}
	srv_cli_response_release(&response);
	if (form == FORM_PLAIN)
		srv_cli_plain_json(root);
	return root;
}

cJSON *srv_cli_ask_json(const char *who, const char *url, const char *target, bool raw, int *code)
{
	return ask(who, url, "GET", target, (hob_str){0}, raw ? FORM_RAW : FORM_PLAIN, code);
}

cJSON *srv_cli_post_json(const char *who, const char *url, const char *target, const char *body, int *code)
{
	return ask(who, url, "POST", target, hob_str_of(body), FORM_PLAIN, code);
}

int srv_cli_fetch(const char *who, const char *url, const char *target, cli_response *out)
{
	int code = send(who, url, "GET", target, (hob_str){0}, out);
	if (code != EXIT_GOOD || out->status == 200)
		return code;
	code = srv_cli_print_problem(who, out);
	srv_cli_response_release(out);
	return code;
}

cJSON *srv_cli_try_json(const char *url, const char *target, int *status)
{
	srv_own_response response = {0};
	hob_error ignored;
	(void)!srv_cli_request(url, "GET", target, NULL, (hob_str){0}, &response, &ignored);
	cJSON *root = response.status == 200
					  ? cJSON_ParseWithLength((const char *)response.body.data, response.body.size)
					  : NULL;
	if (status)
		*status = response.status;
	return root;
}

void srv_cli_print_json(const cJSON *json)
{
	hob_own char *text = json ? cJSON_PrintUnformatted(json) : NULL;
	if (text)
		printf("%s\n", text);
}

cJSON *srv_cli_ask_about(const char *who, const char *url, const char *target, const char *name, bool raw,
						 int *code)
{
	hob_own_buf whole = {0};
	hob_buf_put_str(&whole, hob_str_of(target));
	hob_buf_put_percent(&whole, hob_str_of(name));
	return srv_cli_ask_json(who, url, srv_cli_ended(&whole), raw, code);
}

/* ---- one asset by name */

/* The distance between whole names or, if smaller, between their last parts: people remember the file, not
 * the folder. */
static size_t distance_of(hob_str asked, hob_str full)
{
	size_t whole = hob_str_distance(asked, full);
	hob_str name = hob_path_name(full), asked_name = hob_path_name(asked);
	size_t last = hob_str_distance(asked_name, name);
	if (last != SIZE_MAX && !hob_str_equal(hob_path_dir(asked), hob_path_dir(full)))
		last++;
	if (asked_name.len > 2 && hob_str_find(name, asked_name, 0) != SIZE_MAX)
		last = last < 2 ? last : 2;
	return whole < last ? whole : last;
}

void srv_cli_end_pages(cli_pages *pages)
{
	cJSON_Delete(pages->page);
	pages->page = NULL;
	pages->item = NULL;
	pages->over = true;
}

const cJSON *srv_cli_next_item(cli_pages *pages)
{
	pages->item = pages->item ? pages->item->next : NULL;
	while (!pages->item && !pages->over) {
		hob_own_buf target = {0};
		const char *next = srv_cli_text(pages->page, "next");
		hob_buf_printf(&target, "%s%s%s", pages->target, next[0] ? "&cursor=" : "", next);
		cJSON_Delete(pages->page);
		pages->page = ask(pages->who, pages->url, "GET", srv_cli_ended(&target), (hob_str){0},
						  pages->exact ? FORM_EXACT : FORM_PLAIN, &pages->code);
		const cJSON *items = srv_cli_member(pages->page, "items");
		pages->item = items ? items->child : NULL;
		pages->over = srv_cli_text(pages->page, "next")[0] == 0;
	}
	if (!pages->item)
		srv_cli_end_pages(pages);
	return pages->item;
}

static void suggest_assets(const char *who, const char *url, const char *name)
{
	enum { MOST = 3, FAR = 4 };
	cJSON *by_distance[FAR];
	for (int i = 0; i < FAR; i++)
		by_distance[i] = cJSON_CreateArray();
	cli_pages pages = {.who = who, .url = url, .target = "/api/v1/assets?limit=1000&fields=name"};
	for (const cJSON *item; (item = srv_cli_next_item(&pages));) {
		const char *full = srv_cli_text(item, "name");
		size_t distance = distance_of(hob_str_of(name), hob_str_of(full));
		if (distance < FAR)
			cJSON_AddItemToArray(by_distance[distance], cJSON_CreateString(full));
	}
	int named = 0;
	for (int i = 0; i < FAR; i++) {
		const cJSON *near;
		cJSON_ArrayForEach(near, by_distance[i]) if (named < MOST)
			fprintf(stderr, "%s  %s\n", named++ == 0 ? "; did you mean\n" : "", near->valuestring);
		cJSON_Delete(by_distance[i]);
	}
	if (named == 0)
		fputs("; 'hob ls' lists them as root/path\n", stderr);
}

cJSON *srv_cli_skipped_files(const char *who, const char *url, int *code)
{
	hob_own_json *roots = srv_cli_ask_json(who, url, "/api/v1/roots", false, code);
	cJSON *files = cJSON_CreateArray();
	const cJSON *root;
	cJSON_ArrayForEach(root, srv_cli_member(roots, "items"))
	{
		cJSON *file;
		while (
			(file = cJSON_DetachItemFromArray(cJSON_GetObjectItemCaseSensitive(root, "skipped_files"), 0))) {
			const char *why = srv_cli_text(file, "why");
			hob_own_buf name = {0}, reason = {0};
			hob_buf_printf(&name, "%s/%s", srv_cli_text(root, "name"), srv_cli_text(file, "path"));
			if (why[0])
				hob_buf_put_str(&reason, hob_str_of(why));
			else
				hob_buf_printf(&reason, "Hob does not read a %s; %s", srv_cli_text(file, "format"),
							   srv_cli_text(file, "remedy"));
			cJSON_AddStringToObject(file, "name", srv_cli_ended(&name));
			cJSON_AddStringToObject(file, "reason", srv_cli_ended(&reason));
			cJSON_AddItemToArray(files, file);
		}
	}
	return files;
}

bool srv_cli_find_id(const char *who, const char *url, const char *name, char id[32], int *code)
{
	if (srv_owner_is_wrong(who, url, name, code))
		return false;
	hob_own_json *root = srv_cli_ask_about(who, url, "/api/v1/assets?path=", name, false, code);
	const cJSON *first = cJSON_GetArrayItem(srv_cli_member(root, "items"), 0);
	snprintf(id, 32, "%s", srv_cli_text(first, "id"));
	if (root && id[0] == 0) {
		*code = EXIT_USAGE;
		int ignored;
		hob_own_json *files = srv_cli_skipped_files(who, url, &ignored);
		const cJSON *file = srv_cli_find(files, "name", name);
		if (file) {
			fprintf(stderr, "%s: '%s' is skipped: %s\n", who, name, srv_cli_text(file, "reason"));
		} else {
			fprintf(stderr, "%s: there is no asset '%s'", who, name);
			suggest_assets(who, url, name);
		}
	}
	return id[0] != 0;
}

bool srv_cli_full_name(const char *who, const char *url, const char *name, hob_buf *full, int *code)
{
	hob_own_json *asset = srv_cli_ask_asset(who, url, name, code);
	hob_buf_printf(full, "%s/%s", srv_cli_text(asset, "root"), srv_cli_text(asset, "path"));
	return asset != NULL;
}

cJSON *srv_cli_ask_asset(const char *who, const char *url, const char *name, int *code)
{
	char id[32], target[96];
	if (!srv_cli_find_id(who, url, name, id, code))
		return NULL;
	snprintf(target, sizeof target, "/api/v1/assets/%s", id);
	return srv_cli_ask_json(who, url, target, false, code);
}
