#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

/* PUT /blobs/{sha256}: the body is written to an unnamed file of the store as it arrives. The file gets its
 * name only if its bytes match the digest.
 *
 * An encoded body is decoded on a thread of its own, because a few bytes may unpack to gigabytes: the
 * connection is suspended until the bytes that have arrived are written, and uploads take turns. Memory: one
 * received piece, one buffer of the decoder, and the window that the frame requires. Every decoder must
 * support 8 MiB; zstd's default would allow 128 MiB for a body of 4 KB. Large files are finished and dropped
 * there, too: to free the pages of a gigabyte takes half a second.
 *
 * If the connection ends before an unencoded blob is complete, the received bytes are kept for an hour. HEAD
 * answers 404 with their number as Upload-Offset, and a PUT with "Content-Range: bytes FIRST-LAST/SIZE"
 * continues there. */

static const uint64_t upload_max = (uint64_t)4 << 30;
enum { WINDOW_LOG_MAX = 23, DECODERS_MAX = 16, CUT_MAX = 16, CUT_MS = 3600000, LARGE = 1 << 20 };

/* Turns of an upload:     IDLE -- a piece or the end arrives ---> WAITS ---- its turn --> DECODING
 *                         ^------- the request is resumed ------- DONE <--- written --------' */
typedef enum turn { IDLE, WAITS, DECODING, DONE } turn;

struct upload {
	srv_blob_writer *writer;
	ZSTD_DStream *decoder;
	uint8_t *room;
	uint64_t expected, got; /* decoded bytes */
	bool known;				/* the store has the blob: the bytes are dropped */
	bool whole;				/* the decoder is at the end of a frame */
	bool ending;			/* the body is complete: its next turn finishes the blob */
	hob_error error;
	srv_http *http;
	hob_sha256 digest;
	int64_t cut_ms;
	/* The lock of `uploads` guards these. */
	struct upload *next;  /* next in `cut` */
	struct upload **slot; /* NULL: none */
	request *owner;
	turn turn;
	hob_buf piece; /* received bytes; the decoding thread's while WAITS or DECODING */
	int64_t since_ms;
	atomic_bool gone; /* the client is gone, so the decoding thread frees the upload */
};

/* The uploads of all shards, with the decoding thread. */
struct uploads {
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_t thread; /* begins with the first upload that needs it */
	bool runs, stop;
	upload *slots[DECODERS_MAX];
	upload *cut; /* interrupted uploads that can be resumed, newest first */
};

static void drop(upload *u)
{
	srv_blob_abort(u->writer);
	ZSTD_freeDStream(u->decoder);
	hob_buf_release(&u->piece);
	free(u->room);
	free(u);
}

/* ---- the decoding thread */

static void decode(upload *u);

static void finish(upload *u)
{
	srv_blob_writer *writer = u->writer;
	u->writer = NULL;
	(void)!srv_blob_finish(writer, &u->error);
}

/* The next waiting upload after `last`: round-robin. */
static upload *find_waiting(const uploads *d, uint32_t *last)
{
	for (uint32_t i = 1; i <= DECODERS_MAX; i++) {
		uint32_t at = (*last + i) % DECODERS_MAX;
		if (d->slots[at] && d->slots[at]->turn == WAITS) {
			*last = at;
			return d->slots[at];
		}
	}
	return NULL;
}

static void *decode_all(void *arg)
{
	uploads *d = arg;
	uint32_t last = 0;
	pthread_mutex_lock(&d->lock);
	while (!d->stop) {
		upload *u = find_waiting(d, &last);
		if (!u) {
			pthread_cond_wait(&d->work, &d->lock);
			continue;
		}
		u->turn = DECODING;
		pthread_mutex_unlock(&d->lock);
		if (u->ending && !atomic_load(&u->gone))
			finish(u);
		else
			decode(u);
		pthread_mutex_lock(&d->lock);
		u->turn = DONE;
		if (atomic_load(&u->gone)) {
			*u->slot = NULL;
			pthread_mutex_unlock(&d->lock);
			drop(u);
			pthread_mutex_lock(&d->lock);
			continue;
		}
		srv_wake(u->http->wake_fd);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

uploads *srv_uploads_new(void)
{
	uploads *all = hob_must(calloc(1, sizeof *all));
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->work, NULL);
	return all;
}

/* Takes a slot of the decoding thread. False: all are taken, or no thread could be started. */
static bool take_slot(upload *u)
{
	uploads *d = u->http->uploads;
	SRV_LOCKED(&d->lock);
	d->runs = d->runs || pthread_create(&d->thread, NULL, decode_all, d) == 0;
	for (uint32_t i = 0; d->runs && i < DECODERS_MAX && !u->slot; i++)
		if (!d->slots[i]) {
			d->slots[i] = u;
			u->slot = &d->slots[i];
		}
	return u->slot != NULL;
}

/* Lets the upload wait for its turn. `gone`: the decoding thread frees it, perhaps at once. */
static void take_turn(upload *u, bool gone)
{
	uploads *d = u->http->uploads;
	SRV_LOCKED(&d->lock);
	atomic_store(&u->gone, gone);
	u->turn = u->turn == DECODING ? DECODING : WAITS;
	pthread_cond_signal(&d->work);
}

static void drop_aside(upload *u)
{
	/* An upload with a slot is left to the decoding thread, which may be writing to it. */
	if (u->slot || (u->writer && u->got > LARGE && take_slot(u)))
		take_turn(u, true);
	else
		drop(u);
}

/* Parks the request until the upload has had a turn. */
static void await_turn(upload *u)
{
	u->since_ms = u->http->now_ms;
	srv_request_park(u->owner);
	take_turn(u, false);
}

void srv_uploads_decoded(srv_http *http)
{
	uploads *d = http->uploads;
	for (uint32_t i = 0; i < DECODERS_MAX; i++) {
		pthread_mutex_lock(&d->lock);
		upload *u = d->slots[i];
		if (u && (u->http != http || u->turn != DONE || atomic_load(&u->gone)))
			u = NULL;
		if (u)
			u->turn = IDLE;
		pthread_mutex_unlock(&d->lock);
		if (!u || !u->owner->parked)
			continue;
		/* Decoding time does not count against the client's deadline; at the end there is none. */
		if (!u->ending)
			u->owner->body_deadline_ms += http->now_ms - u->since_ms;
		srv_request_unpark(u->owner);
	}
}

/* Puts an interrupted upload first in `cut`; drops the oldest ones, and earlier ones of the same blob. */
static void keep_cut(upload *u)
{
	uploads *all = u->http->uploads;
	upload *olds = NULL;
	u->cut_ms = u->http->now_ms;
	pthread_mutex_lock(&all->lock);
	u->next = all->cut;
	all->cut = u;
	upload **at = &all->cut;
	for (uint32_t i = 0; *at; i++) {
		upload *old = *at;
		bool same = old != u && hob_sha256_equal(&old->digest, &u->digest);
		if (i < CUT_MAX && !same && u->cut_ms - old->cut_ms < CUT_MS) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		old->next = olds;
		olds = old;
	}
	pthread_mutex_unlock(&all->lock);
	while (olds) {
		upload *old = olds;
		olds = old->next;
		drop_aside(old);
	}
}

void srv_upload_free(upload *u)
{
	if (!u)
		return;
	if (u->slot || !u->writer || u->error.code != HOB_ERR_OK || u->got == 0 || u->got >= u->expected) {
		drop_aside(u);
		return;
	}
	keep_cut(u);
}

void srv_uploads_free(uploads *all)
{
	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	all->stop = true;
	pthread_cond_signal(&all->work);
	pthread_mutex_unlock(&all->lock);
	if (all->runs)
		pthread_join(all->thread, NULL);
	for (uint32_t i = 0; i < DECODERS_MAX; i++)
		if (all->slots[i])
			drop(all->slots[i]);
	while (all->cut) {
		upload *u = all->cut;
		all->cut = u->next;
		drop(u);
	}
	pthread_mutex_destroy(&all->lock);
	pthread_cond_destroy(&all->work);
	free(all);
}

static upload **find_cut(uploads *all, const hob_sha256 *digest)
{
	upload **at = &all->cut;
	while (*at && !hob_sha256_equal(&(*at)->digest, digest))
		at = &(*at)->next;
	return at;
}

uint64_t srv_upload_held(const srv_http *http, const hob_sha256 *digest)
{
	SRV_LOCKED(&http->uploads->lock);
	const upload *u = *find_cut(http->uploads, digest);
	return u ? u->got : 0;
}

/* Takes the interrupted upload of the blob out of the list, for the request's shard. NULL: there is none. */
static upload *claim_cut(srv_http *http, const hob_sha256 *digest)
{
	SRV_LOCKED(&http->uploads->lock);
	upload **at = find_cut(http->uploads, digest), *u = *at;
	if (u) {
		*at = u->next;
		u->next = NULL;
		u->http = http;
	}
	return u;
}

/* Reads the size of the blob from the head. */
static bool read_size(request *r, upload *u)
{
	hob_str coding = r->head.content_encoding;
	bool plain = coding.len == 0 || hob_str_equal_nocase(coding, HOB_STR("identity"));
	if (!plain && !hob_str_equal_nocase(coding, HOB_STR("zstd")))
		return srv_refuse(r, PROBLEM_MEDIA_TYPE, "send it plain or with Content-Encoding: zstd",
						  "the content coding '%.*s' is not understood", HOB_FMT(coding));
	if (r->head.length_count == 0)
		return srv_refuse(r, PROBLEM_LENGTH_REQUIRED, "send Content-Length",
						  "a blob must say its size before it comes");
	hob_str size = plain ? r->head.content_length : r->head.digest_size;
	if (!srv_parse_decimal(size, &u->expected))
		return srv_refuse(r, PROBLEM_BAD_REQUEST, "send X-Digest-SizeBytes, the size of the decoded blob",
						  "'%.*s' is not a size", HOB_FMT(size));
	if (u->expected > upload_max)
		return srv_refuse(r, PROBLEM_TOO_LARGE, "blobs of this size cannot be stored",
						  "the blob has %llu bytes, at most %llu are taken", (unsigned long long)u->expected,
						  (unsigned long long)upload_max);
	if (!plain && !take_slot(u))
		return srv_refuse_text(
			r, PROBLEM_UNAVAILABLE,
			&(problem_text){.detail = HOB_STR("as many encoded blobs as are decoded at once are coming"),
							.hint = HOB_STR("send it again in a moment, or without an encoding"),
							.retry_after_s = 1});
	if (!plain) {
		u->decoder = ZSTD_createDStream();
		u->room = malloc(ZSTD_DStreamOutSize());
		if (!u->decoder || !u->room ||
			ZSTD_isError(ZSTD_DCtx_setParameter(u->decoder, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
			return false;
	}
	return true;
}

static bool has_quota(request *r, const upload *u)
{
	srv_store_usage usage;
	srv_store_measure(r->http->sources.store, &usage);
	uint64_t used = usage.blob_bytes + u->expected;
	if ((usage.max_bytes == 0 || used <= usage.max_bytes) && u->expected <= usage.disk_free_bytes)
		return true;
	return srv_refuse(r, PROBLEM_DISK_FULL, "POST /api/v1/gc, or give the cache more room (--max-size)",
					  "the cache has %llu bytes and may have %llu; %llu bytes of disk are free",
					  (unsigned long long)usage.blob_bytes, (unsigned long long)usage.max_bytes,
					  (unsigned long long)usage.disk_free_bytes);
}

/* Parses "bytes FIRST-LAST/SIZE". False if it is something else. */
static bool parse_content_range(hob_str field, uint64_t *first, uint64_t *last, uint64_t *size)
{
	hob_str unit = HOB_STR("bytes "), piece, rest = hob_str_sub(field, unit.len, field.len);
	return hob_str_starts(field, unit) && hob_str_piece(&rest, '-', &piece) &&
		   srv_parse_decimal(piece, first) && hob_str_piece(&rest, '/', &piece) &&
		   srv_parse_decimal(piece, last) && srv_parse_decimal(rest, size) && *first <= *last &&
		   *last < *size;
}

/* Continues an interrupted upload of the blob if the request has a range; else starts again. */
static bool take_cut(request *r, const hob_sha256 *digest)
{
	uint64_t first = 0, last = 0, size = 0;
	bool part = r->head.content_range.len > 0, encoded = r->head.content_encoding.len > 0;
	uint64_t length = 0;
	if (part && (encoded || !parse_content_range(r->head.content_range, &first, &last, &size) ||
				 !srv_parse_decimal(r->head.content_length, &length) || length != last - first + 1 ||
				 last != size - 1))
		return srv_refuse(r, PROBLEM_BAD_REQUEST,
						  "send the rest: Content-Range: bytes FIRST-LAST/SIZE, and no coding",
						  "the range '%.*s' does not fit the body", HOB_FMT(r->head.content_range));
	upload *u = claim_cut(r->http, digest);
	uint64_t held = u ? u->got : 0;
	if (part && first > 0 && (!u || first != held || u->expected != size) &&
		!srv_blob_exists(r->http->sources.store, digest)) {
		if (u)
			keep_cut(u);
		return srv_refuse_text(
			r, PROBLEM_CONFLICT,
			&(problem_text){.detail =
								srv_print(r, "%llu bytes of the blob are held, and the range begins at %llu",
										  (unsigned long long)held, (unsigned long long)first),
							.hint = HOB_STR("send the bytes from Upload-Offset on, or all"),
							.held = held});
	}
	if (!u)
		return true;
	if (part && first > 0 && first == held)
		r->upload = u;
	else
		drop_aside(u);
	return true;
}

static bool begin(request *r)
{
	hob_sha256 digest;
	hob_error error;
	srv_store *store = r->http->sources.store;
	if (!hob_sha256_parse(r->args[0], &digest))
		return srv_refuse(r, PROBLEM_BAD_REQUEST, "a blob is named by 64 lower-case hexadecimal digits",
						  "'%.*s' is not a SHA-256", HOB_FMT(r->args[0]));
	if (!take_cut(r, &digest))
		return false;
	upload *u = r->upload;
	if (u) {
		u->owner = r;
		return true;
	}
	u = r->upload = hob_must(calloc(1, sizeof *u));
	u->http = r->http;
	u->owner = r;
	u->digest = digest;
	u->whole = true;
	if (!read_size(r, u))
		return false;
	u->known = srv_blob_exists(store, &digest);
	if (u->known)
		return true;
	if (!has_quota(r, u))
		return false;
	if (!srv_blob_begin(store, &digest, &u->writer, &error))
		return srv_refuse(r, error.code == HOB_ERR_DISK_FULL ? PROBLEM_DISK_FULL : PROBLEM_UNAVAILABLE,
						  "look at the disk of the cache", "%s", error.context);
	return true;
}

bool srv_upload_begin(request *r)
{
	r->result = MHD_NO;
	if (begin(r))
		return true;
	srv_upload_free(r->upload);
	r->upload = NULL;
	return false;
}

static void store_bytes(upload *u, hob_bytes bytes)
{
	u->got += bytes.size;
	if (u->got > u->expected)
		(void)hob_fail(&u->error, BAD_REQUEST, "more bytes came than the %llu announced",
					   (unsigned long long)u->expected);
	else if (!srv_blob_write(u->writer, bytes, &u->error))
		return;
}

static void decode(upload *u)
{
	ZSTD_inBuffer in = {u->piece.data, u->piece.size, 0};
	ZSTD_outBuffer out = {u->room, ZSTD_DStreamOutSize(), 0};
	size_t left = 1;
	/* If the output buffer is full and the frame unfinished, the decoder may have more output. */
	while (u->error.code == HOB_ERR_OK && !atomic_load(&u->gone) &&
		   (in.pos < in.size || (left > 0 && out.pos == out.size))) {
		out.pos = 0;
		left = ZSTD_decompressStream(u->decoder, &out, &in);
		if (ZSTD_isError(left)) {
			(void)hob_fail(&u->error, BAD_REQUEST, "the body is not valid zstd: %s", ZSTD_getErrorName(left));
			return;
		}
		u->whole = left == 0;
		store_bytes(u, (hob_bytes){u->room, out.pos});
	}
}

void srv_upload_put(upload *u, hob_bytes bytes)
{
	if (u->known || u->error.code != HOB_ERR_OK)
		return;
	if (!u->decoder) {
		store_bytes(u, bytes);
		return;
	}
	hob_buf_clear(&u->piece);
	hob_buf_put(&u->piece, bytes.data, bytes.size);
	if (u->piece.failed) {
		(void)hob_fail(&u->error, MEMORY, "no memory left to decode the body");
		return;
	}
	await_turn(u);
}

static enum MHD_Result reply_stored(request *r, int status)
{
	hob_buf empty = {0};
	return srv_reply_body(r, status, &empty, "application/octet-stream", "Location",
						  srv_print(r, "/blobs/%.*s", HOB_FMT(r->args[0])).data, "ETag",
						  srv_print(r, "\"%.*s\"", HOB_FMT(r->args[0])).data, NULL);
}

enum MHD_Result srv_route_blob_put(request *r)
{
	if (!r->upload && !srv_upload_begin(r))
		return r->result;
	upload *u = r->upload;
	if (u->known)
		return reply_stored(r, MHD_HTTP_NO_CONTENT);
	if (u->error.code == HOB_ERR_OK && (u->got != u->expected || !u->whole))
		(void)hob_fail(&u->error, BAD_REQUEST, "%llu bytes came instead of the %llu announced",
					   (unsigned long long)u->got, (unsigned long long)u->expected);
	if (u->error.code == HOB_ERR_OK && u->writer) {
		u->ending = u->got > LARGE && (u->slot || take_slot(u));
		if (u->ending) {
			await_turn(u);
			return MHD_YES;
		}
		finish(u);
	}
	if (u->error.code == HOB_ERR_OK)
		return reply_stored(r, MHD_HTTP_CREATED);
	problem_id problem = u->error.code == HOB_ERR_DISK_FULL ? PROBLEM_DISK_FULL
						 : u->error.code == HOB_ERR_IO		? PROBLEM_UNAVAILABLE
															: PROBLEM_BAD_REQUEST;
	return srv_reply_problem(
		r, problem, problem == PROBLEM_BAD_REQUEST ? "name a blob by the SHA-256 of its own bytes" : "", "%s",
		u->error.context);
}
