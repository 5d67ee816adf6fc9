#include "http_client.h"

#include "../client/connection.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 16384, BODY_MAX = 1 << 30, LINE_MAX_BYTES = 16 << 20, SILENCE_MS = 40000 };

static bool exchange(const char *url, const char *method, const char *target, const char *header,
					 hob_str body, srv_peer *peer, srv_connection **out, srv_answer *answer, hob_error *err)
{
	bool local = strncmp(url, "unix:", 5) == 0;
	hob_buf advice = {0}, headers = {0};
	if (local)
		hob_buf_printf(&advice, "; start one with 'hob serve DIR --listen %s'", url);
	else
		hob_buf_put_str(&advice, HOB_STR("; start one with 'hob serve DIR' or name another with --url"));
	hob_buf_put(&advice, "", 1);
	if (header)
		hob_buf_printf(&headers, "%s\r\n", header);
	hob_buf_put(&headers, "", 1);
	*peer = (srv_peer){.url = url, .token = getenv("HOB_TOKEN"), .advice = (const char *)advice.data};
	*out = NULL;
	srv_ask ask = {
		.method = method, .target = target, .headers = (const char *)headers.data, .body_size = body.len};
	bool ok = advice.failed || headers.failed
				  ? hob_fail(err, MEMORY, "no memory left to ask the daemon")
				  : srv_connect(peer, out, err) && srv_connection_ask(*out, &ask, err) &&
						srv_connection_put(*out, body.data, body.len, err) &&
						srv_connection_answer(*out, answer, err);
	peer->advice = NULL;
	hob_buf_release(&advice);
	hob_buf_release(&headers);
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
	cJSON *problem = cJSON_ParseWithLength(body, size);
	const char *detail = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(problem, "detail"));
	(void)hob_fail(err, USAGE, "the daemon refused (%d): %.180s", status,
				   detail ? detail : "no reason given");
	if (status == 429 || status >= 500)
		err->code = HOB_ERR_IO;
	cJSON_Delete(problem);
	return false;
}

bool srv_cli_stream(const char *url, const char *target, const char *header,
					bool (*line)(void *user, hob_str line), void *user, hob_error *err)
{
	srv_peer peer;
	srv_connection *connection;
	srv_answer head = {0};
	hob_buf pending = {0};
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
	hob_buf_release(&pending);
	srv_disconnect(connection);
	return ok;
}

void srv_cli_response_release(cli_response *response)
{
	hob_buf_release(&response->body);
}

void srv_cli_encode(hob_buf *out, hob_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		bool plain =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~/", c);
		if (plain && c)
			hob_buf_put(out, &c, 1);
		else
			hob_buf_printf(out, "%%%02X", (unsigned char)c);
	}
}

void srv_cli_put_parameter(hob_buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	hob_buf_put_str(out, hob_str_of(name));
	srv_cli_encode(out, hob_str_of(value));
}
