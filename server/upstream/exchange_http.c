#include "exchange.h"

#include "../../core/base/array.h"
#include "../../core/base/pieces.h"
#include "../fs/clock.h"
#include "../store/record.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PIECE = 64 << 10, ANSWER_MAX = 64 << 10 };

static const srv_exchange_way http;

void srv_exchange_init(srv_exchange *x, const char *url, const char *token, srv_store *store,
					   const char *epoch)
{
	*x = (srv_exchange){.way = &http,
						.peer = {.url = url,
								 .token = token,
								 .connect_ms = SRV_EXCHANGE_CONNECT_MS,
								 .silence_ms = SRV_EXCHANGE_SILENCE_MS},
						.store = store,
						.epoch = epoch};
	pthread_mutex_init(&x->lock, NULL);
}

static void hang_up(srv_exchange *x)
{
	pthread_mutex_lock(&x->lock);
	srv_connection *connection = x->connection;
	x->connection = NULL;
	pthread_mutex_unlock(&x->lock);
	srv_disconnect(connection);
}

static void cut(srv_exchange *x)
{
	if (x->connection)
		srv_connection_cut(x->connection);
}

static bool is_closing(srv_exchange *x)
{
	SRV_LOCKED(&x->lock);
	return x->closing;
}

/* ---- one request */

typedef struct request_body {
	const void *data;
	uint64_t size;
	int fd; /* the file with the body; -1: `data` */
	const char *type;
} request_body;

static bool put_file(srv_connection *c, int fd, uint64_t size, hob_error *err)
{
	hob_own char *piece = hob_must(malloc(PIECE));
	bool ok = true;
	for (uint64_t at = 0; ok && at < size;) {
		ssize_t got = pread(fd, piece, size - at < PIECE ? (size_t)(size - at) : PIECE, (off_t)at);
		ok = got > 0 ? srv_connection_put(c, piece, (size_t)got, err)
					 : hob_fail(err, IO, "a blob cannot be read");
		at += got > 0 ? (uint64_t)got : 0;
	}
	return ok;
}

static bool try_request(srv_exchange *x, const char *method, const char *target, const request_body *body,
						srv_answer *answer)
{
	srv_ask ask = {
		.method = method, .target = target, .keep = true, .body_size = body->size, .type = body->type};
	srv_connection *c = x->connection;
	return srv_connection_ask(c, &ask, &x->error) &&
		   (body->fd >= 0 ? put_file(c, body->fd, body->size, &x->error)
						  : srv_connection_put(c, body->data, body->size, &x->error)) &&
		   srv_connection_answer(c, answer, &x->error);
}

static bool dial(srv_exchange *x)
{
	srv_connection *c;
	if (is_closing(x))
		return hob_fail(&x->error, IO, "this daemon stops");
	if (!srv_connect(&x->peer, &c, &x->error))
		return false;
	SRV_LOCKED(&x->lock);
	x->connection = c;
	if (x->closing)
		srv_connection_cut(c);
	return true;
}

static bool request(srv_exchange *x, const char *method, const char *target, const request_body *body,
					srv_answer *answer)
{
	bool kept = x->connection != NULL;
	if ((kept || dial(x)) && try_request(x, method, target, body, answer))
		return true;
	hang_up(x);
	if (kept && dial(x) && try_request(x, method, target, body, answer))
		return true;
	hang_up(x);
	return false;
}

/* Reads the rest of the answer, at most `most` bytes. False: incomplete or longer. */
static bool read_all(srv_exchange *x, size_t most, hob_buf *out)
{
	srv_connection *c = x->connection;
	int64_t until = srv_clock_ms(CLOCK_MONOTONIC) + SRV_EXCHANGE_SILENCE_MS;
	hob_own char *piece = hob_must(malloc(PIECE));
	size_t total = 0;
	bool ok = true;
	for (size_t got; ok && (got = srv_connection_read(c, piece, PIECE)) > 0;) {
		total += got;
		hob_buf_put(out, piece, got);
		ok = total <= most && !out->failed &&
			 srv_clock_ms(CLOCK_MONOTONIC) < until + (int64_t)(total / (SRV_EXCHANGE_SLOWEST / 1000));
	}
	return ok && srv_connection_is_whole(c);
}

/* Finishes this answer and keeps the connection if possible. */
static void end_answer(srv_exchange *x)
{
	srv_connection *c = x->connection;
	if (c && !srv_connection_is_reusable(c))
		hang_up(x);
}

static srv_exchange_end down(srv_exchange *x)
{
	hang_up(x);
	return SRV_EXCHANGE_DOWN;
}

/* Ends an answer whose body does not matter. */
static srv_exchange_end done(srv_exchange *x)
{
	hob_own_buf ignored = {0};
	bool whole = read_all(x, ANSWER_MAX, &ignored);
	end_answer(x);
	return whole ? SRV_EXCHANGE_OK : down(x);
}

/* Maps an unsuccessful answer to an end; the error has its message. */
static srv_exchange_end refuse(srv_exchange *x, const srv_answer *answer, const char *what)
{
	hob_own_buf body = {0};
	bool whole = read_all(x, ANSWER_MAX, &body);
	hob_own_json *problem = whole ? cJSON_ParseWithLength((const char *)body.data, body.size) : NULL;
	const char *detail = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(problem, "detail"));
	char text[128];
	snprintf(text, sizeof text, "%.120s", detail ? detail : "no reason given");
	for (char *c = text; *c; c++)
		*c = (unsigned char)*c < 0x20 ? ' ' : *c;
	(void)hob_fail(&x->error, IO, "%.60s answered %s with %d: %s", x->peer.url, what, answer->status, text);
	end_answer(x);
	switch (answer->status) {
	case 401:
	case 403:
		return SRV_EXCHANGE_BARRED;
	case 404:
		return SRV_EXCHANGE_NONE;
	case 409:
		return SRV_EXCHANGE_CONFLICT;
	case 507:
		return SRV_EXCHANGE_FULL;
	case 508:
		return SRV_EXCHANGE_LOOP;
	default:
		return answer->status == 429 || answer->status >= 500 ? SRV_EXCHANGE_DOWN : SRV_EXCHANGE_REFUSED;
	}
}

/* ---- asking */

static void put_via(hob_buf *out, hob_str via, const char *epoch)
{
	hob_buf_put_str(out, HOB_STR("],\"via\":["));
	for (hob_str rest = via, word; via.len > 0 && hob_str_piece(&rest, ',', &word);)
		hob_buf_printf(out, "\"%.*s\",", HOB_FMT(word));
	hob_buf_printf(out, "\"%s\"]}", epoch);
}

static srv_exchange_end find(srv_exchange *x, const hob_sha256 *lookups, uint32_t count, hob_str via,
							 hob_buf *out)
{
	hob_own_buf body = {0};
	srv_answer answer;
	hob_buf_put_str(&body, HOB_STR("{\"lookups\":["));
	for (uint32_t i = 0; i < count; i++)
		hob_buf_printf(&body, "%s\"%s\"", i > 0 ? "," : "", hob_sha256_hex(&lookups[i]).text);
	put_via(&body, via, x->epoch);
	bool answered = !body.failed && request(x, "POST", "/records:batch",
											&(request_body){body.data, body.size, -1, NULL}, &answer);
	if (!answered)
		return SRV_EXCHANGE_DOWN;
	if (answer.status != 200) {
		srv_exchange_end end = refuse(x, &answer, "a question for records");
		/* 404: a Hob that does not know this request. */
		return end == SRV_EXCHANGE_NONE ? SRV_EXCHANGE_REFUSED : end;
	}
	x->bytes = 0;
	if (!read_all(x, SRV_EXCHANGE_RECORDS_MAX, out)) {
		(void)hob_fail(&x->error, IO, "the records of %.100s were cut off, came too slowly or are too many",
					   x->peer.url);
		return down(x);
	}
	end_answer(x);
	return SRV_EXCHANGE_OK;
}

static srv_exchange_end probe(srv_exchange *x)
{
	srv_answer answer;
	if (!request(x, "GET", "/livez", &(request_body){.fd = -1}, &answer))
		return SRV_EXCHANGE_DOWN;
	return answer.status == 200 ? done(x) : refuse(x, &answer, "GET /livez");
}

/* ---- fetching */

static void blob_target(const hob_sha256 *digest, char out[HOB_SHA256_TEXT + 8])
{
	memcpy(out, "/blobs/", 7);
	hob_sha256_text(digest, out + 7);
}

static srv_exchange_end receive_blob(srv_exchange *x, const hob_sha256 *digest, uint64_t size)
{
	srv_connection *c = x->connection;
	srv_blob_writer *writer;
	if (!srv_blob_begin(x->store, digest, &writer, &x->error)) {
		hang_up(x);
		return SRV_EXCHANGE_HERE;
	}
	hob_own char *piece = hob_must(malloc(PIECE));
	int64_t until = srv_clock_ms(CLOCK_MONOTONIC) + SRV_EXCHANGE_SILENCE_MS;
	uint64_t total = 0;
	bool written = true, slow = false;
	for (size_t got; written && !slow && (got = srv_connection_read(c, piece, PIECE)) > 0;) {
		total += got;
		if (total > size)
			break;
		written = srv_blob_write(writer, (hob_bytes){(const uint8_t *)piece, got}, &x->error);
		slow = srv_clock_ms(CLOCK_MONOTONIC) > until + (int64_t)(total / (SRV_EXCHANGE_SLOWEST / 1000));
	}
	x->bytes += total;
	if (total == size && written && srv_connection_is_whole(c)) {
		end_answer(x);
		if (srv_blob_finish(writer, &x->error))
			return SRV_EXCHANGE_OK;
		return x->error.code == HOB_ERR_CORRUPT ? SRV_EXCHANGE_REFUSED : SRV_EXCHANGE_HERE;
	}
	srv_blob_abort(writer);
	hang_up(x);
	if (!written)
		return SRV_EXCHANGE_HERE;
	(void)hob_fail(&x->error, IO, "a blob of %.100s was cut off or came too slowly, after %llu of %llu bytes",
				   x->peer.url, (unsigned long long)total, (unsigned long long)size);
	return SRV_EXCHANGE_DOWN;
}

static srv_exchange_end fetch_blob(srv_exchange *x, const hob_sha256 *digest, uint64_t size)
{
	char target[HOB_SHA256_TEXT + 8];
	srv_answer answer;
	blob_target(digest, target);
	if (!request(x, "GET", target, &(request_body){.fd = -1}, &answer))
		return SRV_EXCHANGE_DOWN;
	if (answer.status != 200)
		return refuse(x, &answer, "a question for a blob");
	uint64_t most = (uint64_t)SRV_EXCHANGE_BLOBS_MAX_GIB << 30;
	bool right = answer.has_length && answer.length <= most && (size == UINT64_MAX || answer.length == size);
	if (!right) {
		(void)hob_fail(&x->error, CORRUPT, "%.100s has another size of blob %.12s than its record",
					   x->peer.url, target + 7);
		hang_up(x);
		return SRV_EXCHANGE_REFUSED;
	}
	return receive_blob(x, digest, answer.length);
}

/* ---- giving */

static srv_exchange_end refuse_gift(srv_exchange *x, const srv_answer *answer, const char *what)
{
	srv_exchange_end end = refuse(x, answer, what);
	return end == SRV_EXCHANGE_NONE		? SRV_EXCHANGE_REFUSED
		   : end == SRV_EXCHANGE_BARRED ? SRV_EXCHANGE_READ_ONLY
										: end;
}

static srv_exchange_end give_blob(srv_exchange *x, const srv_record_output *output)
{
	char target[HOB_SHA256_TEXT + 8];
	srv_answer answer;
	uint64_t size = 0;
	blob_target(&output->digest, target);
	if (!request(x, "HEAD", target, &(request_body){.fd = -1}, &answer))
		return SRV_EXCHANGE_DOWN;
	if (answer.status != 200 && answer.status != 404)
		return refuse(x, &answer, "a question for a blob");
	end_answer(x);
	if (answer.status == 200)
		return SRV_EXCHANGE_OK;
	int fd = srv_blob_open(x->store, &output->digest, &size);
	if (fd < 0)
		return SRV_EXCHANGE_NONE;
	bool sent =
		request(x, "PUT", target, &(request_body){NULL, size, fd, "application/octet-stream"}, &answer);
	close(fd);
	x->bytes += size;
	if (!sent)
		return SRV_EXCHANGE_DOWN;
	return answer.status == 201 || answer.status == 204 ? done(x) : refuse_gift(x, &answer, "a blob");
}

static srv_exchange_end give_record(srv_exchange *x, const srv_record *record)
{
	char target[HOB_SHA256_TEXT + 10] = "/records/";
	hob_own_buf text = {0};
	srv_answer answer;
	hob_sha256_text(&record->key, target + 9);
	srv_record_print(record, &text);
	bool sent =
		!text.failed && request(x, "PUT", target, &(request_body){text.data, text.size, -1, NULL}, &answer);
	if (!sent)
		return SRV_EXCHANGE_DOWN;
	return answer.status == 200 || answer.status == 201 ? done(x) : refuse_gift(x, &answer, "a record");
}

static const srv_exchange_way http = {.release = hang_up,
									  .cut = cut,
									  .find = find,
									  .fetch_blob = fetch_blob,
									  .give_blob = give_blob,
									  .give_record = give_record,
									  .probe = probe};
