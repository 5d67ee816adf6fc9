#include "inside.h"

#include "../control/derived.h"
#include "../fs/transfer.h"
#include "../store/digest_map.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Measured: up to MEMORY_BYTES_MAX, one sendmsg of header and body costs less than header, sendfile and two
 * socket options. */
enum { MEMORY_BYTES_MAX = 32 << 10, IDLE_MS = 60000, ETAG_SIZE = 96, LOOK_AGAIN_MS = 20000 };

/* Cached state of one encoding of a blob. It expires, so that the store sees that the encoding is in use. */
typedef struct encoded_form {
	enum { FORM_UNKNOWN, FORM_ORDERED, FORM_MADE, FORM_USELESS } state;
	int64_t looked_ms;
	hob_sha256 digest;
} encoded_form;

struct blob {
	hob_sha256 digest;
	char etag[HOB_SHA256_TEXT + 3]; /* including quotes */
	uint64_t size;
	uint8_t *data; /* content of a small blob */
	int fd;		   /* file of a large blob; `response` owns the descriptor */
	struct timespec changed;
	struct MHD_Response *response;
	uint32_t references; /* one from the cache, and one from each response that uses `data` */
	encoded_form forms[CODING_COUNT];
	int64_t used_ms;
	blob *older, *newer;
};

struct blob_cache {
	srv_store *store;
	_Atomic uint32_t count; /* other shards may read it */
	uint32_t max_entries;
	blob *oldest, *newest; /* in order of last use */
	bool refused;		   /* the last load failed although the blob exists: unreadable or damaged */
	digest_map blobs;	   /* blob * */
};

blob_cache *srv_blob_cache_new(srv_store *store, uint32_t max_entries)
{
	assert(max_entries > 0);
	blob_cache *cache = hob_must(calloc(1, sizeof *cache));
	cache->store = store;
	cache->max_entries = max_entries;
	srv_digest_map_init(&cache->blobs, sizeof(blob *));
	return cache;
}

static void unref(void *pointer)
{
	blob *b = pointer;
	if (--b->references > 0)
		return;
	free(b->data);
	free(b);
}

static void unlink_use(blob_cache *cache, blob *b)
{
	*(b->older ? &b->older->newer : &cache->oldest) = b->newer;
	*(b->newer ? &b->newer->older : &cache->newest) = b->older;
	b->older = b->newer = NULL;
}

static void link_newest(blob_cache *cache, blob *b)
{
	b->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = b;
	cache->newest = b;
}

static void drop(blob_cache *cache, blob *b)
{
	unlink_use(cache, b);
	srv_digest_map_remove(&cache->blobs, &b->digest);
	cache->count--;
	MHD_destroy_response(b->response);
	unref(b);
}

void srv_blob_cache_free(blob_cache *cache)
{
	if (!cache)
		return;
	while (cache->oldest)
		drop(cache, cache->oldest);
	srv_digest_map_release(&cache->blobs);
	free(cache);
}

void srv_blob_cache_tick(blob_cache *cache, int64_t now_ms)
{
	while (cache->oldest && now_ms - cache->oldest->used_ms > IDLE_MS)
		drop(cache, cache->oldest);
}

uint32_t srv_blob_cache_count(const blob_cache *cache)
{
	return cache->count;
}

/* The body to send: the blob's own bytes or an encoding. */
typedef struct chosen_form {
	blob *bytes;
	const char *coding; /* NULL: not encoded */
	char etag[ETAG_SIZE];
} chosen_form;

static void add_common(struct MHD_Response *response, const chosen_form *form, const char *type)
{
	srv_response_type(response, type);
	srv_response_add(response, "Accept-Ranges", "bytes");
	srv_response_add(response, "Vary", "Accept-Encoding");
	srv_response_add(response, "ETag", form->etag);
	if (form->coding)
		srv_response_add(response, "Content-Encoding", form->coding);
}

static void add_headers(struct MHD_Response *response, const chosen_form *form, const blob_headers *extra)
{
	add_common(response, form, extra && extra->type ? extra->type : "application/octet-stream");
	if (!extra) {
		srv_response_add(response, "Cache-Control", "public, max-age=31536000, immutable");
		return;
	}
	srv_response_add(response, "Cache-Control", "no-cache");
	srv_response_add(response, "Content-Location", extra->location);
	srv_response_add(response, "Cook-State", extra->state);
	srv_response_add(response, "Cook-Standing", extra->standing);
	srv_response_add(response, "Cook-Quality", extra->quality);
	srv_response_add(response, "Cook-Rev", extra->rev);
}

static chosen_form plain_form(blob *b)
{
	chosen_form form = {.bytes = b};
	memcpy(form.etag, b->etag, sizeof b->etag);
	return form;
}

static blob *load(blob_cache *cache, const hob_sha256 *digest)
{
	uint64_t size;
	cache->refused = srv_blob_known(cache->store, digest);
	int fd = srv_blob_open(cache->store, digest, &size);
	if (fd < 0)
		return NULL;
	struct stat info = {0};
	fstat(fd, &info);
	blob *b = hob_must(calloc(1, sizeof *b));
	bool small = size <= MEMORY_BYTES_MAX;
	if (small)
		b->data = hob_must(malloc(size > 0 ? size : 1));
	if (small && !srv_read_all(fd, b->data, size)) {
		close(fd);
		free(b->data);
		free(b);
		return NULL;
	}
	b->digest = *digest;
	b->size = size;
	b->fd = small ? -1 : fd;
	b->changed = info.st_ctim;
	b->references = 1;
	snprintf(b->etag, sizeof b->etag, "\"%s\"", hob_sha256_hex(digest).text);
	if (small) {
		close(fd);
		b->response = MHD_create_response_from_buffer_with_free_callback_cls(size, b->data, unref, b);
		if (b->response)
			b->references++;
	} else {
		b->response = MHD_create_response_from_fd64(size, fd);
	}
	if (!b->response) {
		if (!small)
			close(fd);
		unref(b);
		return NULL;
	}
	chosen_form plain = plain_form(b);
	add_headers(b->response, &plain, NULL);
	return b;
}

/* Whether the file is unchanged: a blob never changes, but a program may have written to its file. */
static bool is_unchanged(const blob *b)
{
	struct stat info;
	return b->fd < 0 || (fstat(b->fd, &info) == 0 && info.st_ctim.tv_sec == b->changed.tv_sec &&
						 info.st_ctim.tv_nsec == b->changed.tv_nsec);
}

blob *srv_blob_find(blob_cache *cache, const hob_sha256 *digest, int64_t now_ms)
{
	blob **known = srv_digest_map_find(&cache->blobs, digest), *b = known ? *known : NULL;
	bool fresh;
	if (b && !is_unchanged(b)) {
		drop(cache, b);
		b = NULL;
	}
	if (b) {
		unlink_use(cache, b);
	} else {
		b = load(cache, digest);
		if (!b)
			return NULL;
		if (cache->count == cache->max_entries)
			drop(cache, cache->oldest);
		*(blob **)srv_digest_map_put(&cache->blobs, digest, &fresh) = b;
		cache->count++;
	}
	link_newest(cache, b);
	b->used_ms = now_ms;
	return b;
}

/* ---- encoded blobs */

static encoded_form *form_of(srv_http *http, blob *b, coding_id which)
{
	encoded_form *form = &b->forms[which];
	bool known = form->state == FORM_MADE || form->state == FORM_USELESS;
	if (known && http->now_ms - form->looked_ms < LOOK_AGAIN_MS)
		return form;
	srv_derived kind = which == CODING_ZSTD ? SRV_DERIVED_ZSTD : SRV_DERIVED_GZIP;
	hob_sha256 key = srv_derived_key(kind, 0, &b->digest);
	if (srv_store_part(http->sources.store, &key, &form->digest)) {
		form->state = srv_derived_useless(&form->digest) ? FORM_USELESS : FORM_MADE;
		form->looked_ms = http->now_ms;
	} else if (known) {
		form->state = FORM_UNKNOWN;
	}
	return form;
}

/* The ETag of an encoding, with its digest: another version of zstd or gzip can encode a blob differently. */
static void form_etag(const blob *b, coding_id which, const encoded_form *form, char out[ETAG_SIZE])
{
	snprintf(out, ETAG_SIZE, "%.*s-%s-%.16s\"", HOB_SHA256_TEXT + 1, b->etag, srv_coding_name(which),
			 hob_sha256_hex(&form->digest).text);
}

static bool take_form(srv_http *http, blob *b, coding_id which, chosen_form *out)
{
	encoded_form *form = form_of(http, b, which);
	if (form->state != FORM_MADE)
		return false;
	blob *bytes = srv_blob_find(http->blobs, &form->digest, http->now_ms);
	if (!bytes) {
		form->state = FORM_UNKNOWN;
		return false;
	}
	*out = (chosen_form){.bytes = bytes, .coding = srv_coding_name(which)};
	form_etag(b, which, form, out->etag);
	return true;
}

/* Chooses the form whose ETag is in the client's header field, if the client accepts that form. */
static bool take_named(request *r, blob *b, const codings *accepted, hob_str field, bool list,
					   chosen_form *out)
{
	if (!field.data)
		return false;
	if (accepted->plain > 0 &&
		(list ? srv_etag_in_list(field, hob_str_of(b->etag)) : hob_str_equal(field, hob_str_of(b->etag))))
		return true;
	for (int i = 0; i < CODING_COUNT; i++) {
		char etag[ETAG_SIZE];
		const encoded_form *form = accepted->weight[i] > 0 ? form_of(r->http, b, (coding_id)i) : NULL;
		if (!form || form->state != FORM_MADE)
			continue;
		form_etag(b, (coding_id)i, form, etag);
		bool named =
			list ? srv_etag_in_list(field, hob_str_of(etag)) : hob_str_equal(field, hob_str_of(etag));
		if (named && take_form(r->http, b, (coding_id)i, out))
			return true;
	}
	return false;
}

static srv_control order_of(const blob *b, coding_id which)
{
	return (srv_control){.number = which == CODING_ZSTD ? SRV_DERIVED_ZSTD : SRV_DERIVED_GZIP,
						 .digest = b->digest};
}

static void order(srv_http *http, blob *b, coding_id which)
{
	encoded_form *form = &b->forms[which];
	if (form->state == FORM_ORDERED && http->now_ms - form->looked_ms < LOOK_AGAIN_MS)
		return;
	form->state = FORM_ORDERED;
	form->looked_ms = http->now_ms;
	srv_control control = order_of(b, which);
	srv_ask_aside(http, SRV_CONTROL_DERIVE, &control);
}

static bool waited_for(const request *r, const blob *b, coding_id which)
{
	const srv_control order = order_of(b, which), *last = r->ask ? &r->ask->control : NULL;
	return last && last->kind == SRV_CONTROL_DERIVE && last->number == order.number &&
		   hob_sha256_equal(&last->digest, &order.digest);
}

/* The accepted coding with the highest weight, zstd before gzip; CODING_COUNT if the client prefers the
 * unencoded blob. */
static coding_id best_coding(const codings *accepted)
{
	coding_id best = CODING_COUNT;
	for (int i = CODING_COUNT; i-- > 0;)
		if (accepted->weight[i] > 0 && accepted->weight[i] >= accepted->plain &&
			(best == CODING_COUNT || accepted->weight[i] >= accepted->weight[best]))
			best = (coding_id)i;
	return best;
}

/* Chooses the form to send. False: the request was parked or refused. */
static bool choose_form(request *r, blob *b, bool ranged, chosen_form *out)
{
	codings accepted;
	srv_request_codings(r, &accepted);
	coding_id best = best_coding(&accepted);
	bool fits = b->size >= SRV_ENCODE_BYTES_MIN && b->size <= SRV_ENCODE_BYTES_MAX;
	if (take_named(r, b, &accepted, r->head.if_match, true, out) ||
		take_named(r, b, &accepted, r->head.if_none_match, true, out) ||
		(ranged && take_named(r, b, &accepted, r->head.if_range, false, out)))
		return true;
	/* Ranges refer to the unencoded bytes. To resume an encoded download, name its ETag in If-Range. */
	if (ranged && accepted.plain > 0)
		return true;
	if (fits && best != CODING_COUNT) {
		if (take_form(r->http, b, best, out))
			return true;
		bool can_be = b->forms[best].state != FORM_USELESS && !waited_for(r, b, best);
		if (can_be && (accepted.plain == 0 || srv_request_prefers(r, "encoded"))) {
			srv_control control = order_of(b, best);
			r->result = srv_ask(r, SRV_CONTROL_DERIVE, (hob_str){0}, &control);
			return false;
		}
		if (can_be)
			order(r->http, b, best);
	}
	for (int i = 0; fits && i < CODING_COUNT; i++)
		if (accepted.weight[i] > 0 && accepted.weight[i] >= accepted.plain &&
			take_form(r->http, b, (coding_id)i, out))
			return true;
	if (accepted.plain > 0)
		return true;
	return srv_refuse(r, PROBLEM_ACCEPT, "do not weigh identity or * zero",
					  "this blob is not kept under any coding of '%.*s'", HOB_FMT(r->head.accept_encoding));
}

/* ---- answers */

/* Over TLS the library cannot use sendfile: it would read the file in pieces of 4 KB and send each as a
 * record of its own. */
enum { RECORD_BYTES = 16 << 10 };

typedef struct file_part {
	int fd;
	uint64_t first;
} file_part;

static ssize_t read_part(void *user, uint64_t at, char *out, size_t room)
{
	const file_part *part = user;
	ssize_t got;
	do
		got = pread(part->fd, out, room, (off_t)(part->first + at));
	while (got < 0 && errno == EINTR);
	return got > 0 ? got : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void end_part(void *user)
{
	hob_own file_part *part = user;
	close(part->fd);
}

static struct MHD_Response *read_in_records(int fd, uint64_t first, uint64_t size)
{
	file_part *part = hob_must(malloc(sizeof *part));
	*part = (file_part){fd, first};
	struct MHD_Response *response =
		MHD_create_response_from_callback(size, RECORD_BYTES, read_part, part, end_part);
	if (!response)
		free(part);
	return response;
}

/* Makes a response for a part of the blob, or for the whole with other headers. */
static struct MHD_Response *response_for(const chosen_form *form, uint64_t first, uint64_t size, bool tls,
										 const blob_headers *extra)
{
	struct MHD_Response *response;
	blob *b = form->bytes;
	if (b->data) {
		b->references++;
		response = MHD_create_response_from_buffer_with_free_callback_cls(size, b->data + first, unref, b);
		if (!response)
			unref(b);
	} else {
		int fd = fcntl(b->fd, F_DUPFD_CLOEXEC, 0);
		response = fd < 0 ? NULL
				   : tls  ? read_in_records(fd, first, size)
						  : MHD_create_response_from_fd_at_offset64(size, fd, first);
		if (!response && fd >= 0)
			close(fd);
	}
	if (response)
		add_headers(response, form, extra);
	return response;
}

static enum MHD_Result reply_nowhere(request *r, const blob *b)
{
	return srv_reply_problem_text(
		r, PROBLEM_RANGE,
		&(problem_text){.detail =
							srv_print(r, "the range '%.*s' has no byte of this blob, which has %" PRIu64,
									  HOB_FMT(r->head.range), b->size),
						.hint = HOB_STR("ask for bytes that are there"),
						.has_size = true,
						.size = b->size});
}

static void count_encoded(srv_http *http, const chosen_form *form, uint64_t plain_size)
{
	for (int i = 0; i < CODING_COUNT; i++)
		srv_count(&http->encoded[i], form->coding == srv_coding_name((coding_id)i));
	srv_count(&http->encoded_saved_bytes, plain_size - form->bytes->size);
}

enum MHD_Result srv_reply_blob(request *r, blob *b, const blob_headers *extra)
{
	bool get = strcmp(r->method, "GET") == 0, ranged = get && r->head.range.data;
	chosen_form form = plain_form(b);
	if (r->head.accept_encoding.data && (!extra || !extra->as_it_is) && !choose_form(r, b, ranged, &form))
		return r->result;
	uint64_t plain_size = b->size;
	b = form.bytes;
	hob_str etag = hob_str_of(form.etag);
	if (r->head.if_match.data && !srv_etag_in_list(r->head.if_match, etag))
		return srv_reply_problem(r, PROBLEM_PRECONDITION, "GET it without If-Match", "the ETag is %s now",
								 form.etag);
	uint64_t first = 0, last = 0;
	range_result range = RANGE_WHOLE;
	/* 304 uses the same response as 200: an empty one would announce a length of zero. */
	bool unchanged = r->head.if_none_match.data && srv_etag_in_list(r->head.if_none_match, etag);
	if (!unchanged && ranged && (!r->head.if_range.data || hob_str_equal(r->head.if_range, etag)))
		range = srv_range_parse(r->head.range, b->size, &first, &last);
	if (range == RANGE_NOWHERE)
		return reply_nowhere(r, b);
	int status = unchanged			   ? MHD_HTTP_NOT_MODIFIED
				 : range == RANGE_PART ? MHD_HTTP_PARTIAL_CONTENT
									   : MHD_HTTP_OK;
	if (!b->data && get && !unchanged)
		srv_request_cork(r, 1);
	if (form.coding && get && status == MHD_HTTP_OK)
		count_encoded(r->http, &form, plain_size);
	bool tls = !b->data && get && !unchanged && srv_speaks_tls(r);
	if (!extra && !form.coding && range == RANGE_WHOLE && !r->http->cors_origins[0] && !tls)
		return srv_reply_shared(r, status, b->response, b->size);

	uint64_t size = range == RANGE_PART ? last - first + 1 : b->size;
	struct MHD_Response *response = response_for(&form, first, size, tls, extra);
	if (!response)
		return srv_reply_problem_text(
			r, PROBLEM_UNAVAILABLE,
			&(problem_text){.detail = HOB_STR("there are too few descriptors or memory for another answer"),
							.hint = HOB_STR("try again; raise the limit of open files"),
							.retry_after_s = 1});
	if (range == RANGE_PART)
		srv_response_add(response, "Content-Range",
						 srv_print(r, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, first, last, b->size).data);
	return srv_reply(r, status, response, size);
}

blob *srv_blob_made(request *r)
{
	hob_sha256 digest;
	return r->ask->status == MHD_HTTP_OK && hob_sha256_parse(hob_buf_str(&r->ask->body), &digest)
			   ? srv_blob_find(r->http->blobs, &digest, r->http->now_ms)
			   : NULL;
}

enum MHD_Result srv_reply_made(request *r, const char *type, const char *what)
{
	if (r->ask->status != MHD_HTTP_OK)
		return srv_reply_answer(r, "application/json");
	blob *b = srv_blob_made(r);
	return b ? srv_reply_blob(r, b, &(blob_headers){.type = type, .as_it_is = true})
			 : srv_reply_problem(r, PROBLEM_UNAVAILABLE, "try again", "%s could not be kept", what);
}

enum MHD_Result srv_route_blob(request *r)
{
	hob_sha256 digest;
	if (!hob_sha256_parse(r->args[0], &digest))
		return srv_reply_problem(r, PROBLEM_BAD_REQUEST,
								 "a blob is named by 64 lower-case hexadecimal digits",
								 "'%.*s' is not a SHA-256", HOB_FMT(r->args[0]));
	bool here = r->ask || !r->http->sources.pulls || srv_blob_find(r->http->blobs, &digest, r->http->now_ms);
	if (!here && strcmp(r->method, "GET") == 0)
		return srv_ask(r, SRV_CONTROL_PULL, (hob_str){0}, &(srv_control){.digest = digest});
	return srv_reply_named_blob(r, &digest, NULL);
}

enum MHD_Result srv_reply_named_blob(request *r, const hob_sha256 *digest, const char *type)
{
	blob *b = srv_blob_find(r->http->blobs, digest, r->http->now_ms);
	if (!b && r->http->blobs->refused)
		return srv_reply_problem_text(
			r, PROBLEM_UNAVAILABLE,
			&(problem_text){.detail =
								HOB_STR("the blob cannot be read at the moment, or proved damaged just now"),
							.hint = HOB_STR("try again: what is damaged is cooked again"),
							.retry_after_s = 1});
	if (!b) {
		return srv_reply_problem_text(
			r, PROBLEM_NOT_FOUND,
			&(problem_text){
				.detail = srv_print(r, "there is no blob %s", hob_sha256_hex(digest).text),
				.hint = HOB_STR("ask for the asset by name under /a/: it tells the blob of its newest cook"),
				.held = srv_upload_held(r->http, digest)});
	}
	return srv_reply_blob(r, b, type ? &(blob_headers){.type = type} : NULL);
}
