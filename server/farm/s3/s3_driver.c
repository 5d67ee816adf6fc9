#include "../driver.h"

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A bucket of any S3-compatible store, through libcurl, which signs requests (AWS Signature 4). For this,
 * libcurl 7.88 needs a header with the payload's digest, no header without a value, sorted query parameters,
 * and names of [0-9a-f/]. */

enum {
	PART_DEFAULT = 64 << 20, /* larger blobs are uploaded in parts of this size; S3 allows 10,000 */
	TOLD_MAX = 2048,
	HEAD_MAX = 64 << 10, /* header lines of one answer */
	LIST_MAX = 4 << 20,
	EMPTY_PAGES_MAX = 100 /* empty pages of one list */
};
static const char EMPTY[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

typedef struct s3 {
	CURL *curl;
	char base[1024]; /* http://HOST:PORT/BUCKET */
	char region[96]; /* "aws:amz:us-east-1:s3" */
	uint64_t part;
	char *access, *secret;
	atomic_bool cut;
} s3;

typedef struct request {
	const char *method, *name, *query; /* `name`: in the bucket; `query`: sorted, without '?', or NULL */
	const char *sha256;				   /* digest of the body */
	int fd;							   /* the body: `size` bytes of this file from `offset`; -1: `text` */
	uint64_t offset, size;
	const char *text;
	long silence_s; /* 0: SRV_FARM_SILENCE_MS */
	/* in */
	bool (*take)(void *user, const void *data,
				 size_t size); /* for the body of a successful answer; NULL: goes to `told` */
	void *user;
} request;

typedef struct answer {
	s3 *store;
	const request *asked;
	uint64_t sent;
	bool refused;
	char *told; /* the body, truncated at `room` */
	size_t told_size, room, head_size;
	bool told_all; /* the body is longer than `room`; the rest is not read */
	char etag[128];
	long status;
	uint64_t length;
} answer;

/* ---- callbacks of libcurl */

static size_t on_body(char *data, size_t one, size_t size, void *user)
{
	answer *a = user;
	long status = 0;
	(void)one;
	curl_easy_getinfo(a->store->curl, CURLINFO_RESPONSE_CODE, &status);
	if (a->asked->take && status >= 200 && status < 300) {
		a->refused = !a->asked->take(a->asked->user, data, size);
		return a->refused ? 0 : size;
	}
	size_t room = a->room - a->told_size, kept = size < room ? size : room;
	memcpy(a->told + a->told_size, data, kept);
	a->told_size += kept;
	a->told[a->told_size] = 0;
	a->told_all = kept < size;
	return kept;
}

static size_t on_header(char *data, size_t one, size_t size, void *user)
{
	answer *a = user;
	(void)one;
	a->head_size += size;
	if (a->head_size > HEAD_MAX)
		return 0;
	if (size > 5 && strncasecmp(data, "etag:", 5) == 0) {
		size_t begin = 5, end = size;
		while (begin < end && data[begin] == ' ')
			begin++;
		while (end > begin && (data[end - 1] == '\r' || data[end - 1] == '\n'))
			end--;
		snprintf(a->etag, sizeof a->etag, "%.*s", (int)(end - begin), data + begin);
	}
	return size;
}

static size_t on_send(char *out, size_t one, size_t room, void *user)
{
	answer *a = user;
	const request *r = a->asked;
	uint64_t left = r->size - a->sent;
	size_t want = left < one * room ? (size_t)left : one * room;
	ssize_t got = r->fd >= 0 ? pread(r->fd, out, want, (off_t)(r->offset + a->sent)) : (ssize_t)want;
	if (r->fd < 0)
		memcpy(out, r->text + a->sent, want);
	if (got < 0 || (got == 0 && want > 0))
		return CURL_READFUNC_ABORT;
	a->sent += (uint64_t)got;
	return (size_t)got;
}

static int on_rewind(void *user, curl_off_t offset, int origin)
{
	answer *a = user;
	if (origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	a->sent = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

static int on_progress(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	s3 *s = user;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return atomic_load(&s->cut);
}

/* ---- interpretation of answers */

/* The text between <tag> and </tag>, unchanged. False: there is none, or it does not fit; `out` then holds
 * its beginning. */
static bool find_tag(const char *xml, const char *tag, char *out, size_t room)
{
	char begin[64];
	int length = snprintf(begin, sizeof begin, "<%s>", tag);
	const char *at = strstr(xml, begin), *end = at ? strstr(at, "</") : NULL;
	out[0] = 0;
	size_t size = end ? (size_t)(end - at - length) : 0, kept = size < room ? size : room - 1;
	memcpy(out, at ? at + length : xml, kept);
	out[kept] = 0;
	return end && kept == size;
}

static srv_farm_end end_of(const answer *a, srv_farm_why *why)
{
	char code[48], message[100];
	find_tag(a->told, "Code", code, sizeof code);
	find_tag(a->told, "Message", message, sizeof message);
	bool skewed = strcmp(code, "RequestTimeTooSkewed") == 0;
	bool head = strcmp(a->asked->method, "HEAD") == 0; /* an answer to HEAD has no reason */
	/* Another region or place: no answer about the blob. */
	bool elsewhere = a->status / 100 == 3 || strcmp(code, "AuthorizationHeaderMalformed") == 0 ||
					 (head && a->status == 400);
	if (!code[0] && (a->status == 401 || a->status == 403))
		snprintf(message, sizeof message, "check access_key, secret_key and this machine's clock");
	snprintf(why->text, sizeof why->text, "the farm's bucket answered %s with %ld%s%s%s%s%s",
			 a->asked->method, a->status, code[0] ? " " : "", code, message[0] ? ": " : "", message,
			 skewed		 ? "; set this machine's clock"
			 : elsewhere ? "; check region= and the address in farm.blobs"
						 : "");
	if (a->status >= 200 && a->status < 300)
		return SRV_FARM_OK;
	if (strstr(code, "Quota") || strstr(code, "NotEnoughStorage") || a->status == 507)
		return SRV_FARM_FULL;
	if (a->status == 404)
		return strcmp(code, "NoSuchBucket") == 0 ? SRV_FARM_DOWN : SRV_FARM_NONE;
	bool reads = head || strcmp(a->asked->method, "GET") == 0;
	elsewhere = elsewhere || (reads && a->status < 500 && a->status != 429);
	if (a->status == 403 && !reads && strcmp(code, "AccessDenied") == 0)
		return SRV_FARM_READ_ONLY;
	if (a->status == 401 || a->status == 403 || elsewhere)
		return SRV_FARM_BARRED;
	return a->status == 429 || a->status >= 500 ? SRV_FARM_DOWN : SRV_FARM_REFUSED;
}

static void set_body(CURL *curl, answer *a)
{
	const request *r = a->asked;
	bool put = strcmp(r->method, "PUT") == 0, post = strcmp(r->method, "POST") == 0;
	curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_send);
	curl_easy_setopt(curl, CURLOPT_READDATA, a);
	curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, on_rewind);
	curl_easy_setopt(curl, CURLOPT_SEEKDATA, a);
	if (put) {
		curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->size);
	} else if (post) {
		curl_easy_setopt(curl, CURLOPT_POST, 1L);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->size);
	} else if (strcmp(r->method, "HEAD") == 0) {
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	} else if (strcmp(r->method, "GET") != 0) {
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, r->method);
	}
}

static void set_connection(s3 *s, answer *a, const char *url)
{
	CURL *curl = s->curl;
	const char *trusted = getenv("HOB_CACERT");
	curl_easy_reset(curl); /* keeps connections open */
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)SRV_FARM_CONNECT_MS);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)SRV_FARM_SLOWEST);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
					 a->asked->silence_s > 0 ? a->asked->silence_s : (long)SRV_FARM_SILENCE_MS / 1000);
	curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 200L);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, s);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, a);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, a);
	if (trusted && trusted[0])
		curl_easy_setopt(curl, CURLOPT_CAINFO, trusted);
	if (s->access && s->secret) {
		curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, s->region);
		curl_easy_setopt(curl, CURLOPT_USERNAME, s->access);
		curl_easy_setopt(curl, CURLOPT_PASSWORD, s->secret);
	}
}

static srv_farm_end endless(srv_farm_why *why)
{
	snprintf(why->text, sizeof why->text, "the farm's bucket answered with a list that does not end");
	return SRV_FARM_DOWN;
}

/* Makes a request. The answer's body is in a->told, which the caller frees. */
static srv_farm_end ask(s3 *s, const request *r, size_t room, answer *a, srv_farm_why *why)
{
	char url[2048], digest[96];
	*a = (answer){.store = s, .asked = r, .room = room, .told = calloc(1, room + 1)};
	snprintf(url, sizeof url, "%s%s%s%s%s", s->base, r->name[0] ? "/" : "", r->name, r->query ? "?" : "",
			 r->query ? r->query : "");
	snprintf(digest, sizeof digest, "x-amz-content-sha256: %s", r->sha256);
	struct curl_slist *headers = curl_slist_append(NULL, digest);
	if (!a->told || !headers) {
		snprintf(why->text, sizeof why->text, "no memory left for a request");
		curl_slist_free_all(headers);
		return SRV_FARM_DOWN;
	}
	set_connection(s, a, url);
	set_body(s->curl, a);
	curl_easy_setopt(s->curl, CURLOPT_HTTPHEADER, headers);
	CURLcode code = curl_easy_perform(s->curl);
	curl_slist_free_all(headers);
	if (a->refused) {
		snprintf(why->text, sizeof why->text, "the blob was not taken");
		return SRV_FARM_REFUSED;
	}
	if (a->told_all && a->room == LIST_MAX) {
		return endless(why);
	}
	if (code != CURLE_OK && !a->told_all) {
		snprintf(why->text, sizeof why->text, "the farm's bucket: %s",
				 code == CURLE_ABORTED_BY_CALLBACK ? "this daemon stops" : curl_easy_strerror(code));
		return SRV_FARM_DOWN;
	}
	curl_off_t length = -1;
	curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &a->status);
	curl_easy_getinfo(s->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	a->length = length > 0 ? (uint64_t)length : 0;
	return end_of(a, why);
}

static srv_farm_end ask_plainly(s3 *s, const request *r, srv_farm_why *why)
{
	answer a;
	srv_farm_end end = ask(s, r, TOLD_MAX, &a, why);
	free(a.told);
	return end;
}

/* ---- the driver */

static void s3_close(void *handle)
{
	s3 *s = handle;
	if (!s)
		return;
	if (s->curl)
		curl_easy_cleanup(s->curl);
	free(s->access);
	if (s->secret)
		explicit_bzero(s->secret, strlen(s->secret));
	free(s->secret);
	free(s);
}

/* region=NAME and part=BYTES, in any order. */
static bool read_parameters(s3 *s, const char *text)
{
	char region[64] = "us-east-1";
	unsigned long long part = PART_DEFAULT;
	while (text && *text) {
		text++; /* '?' or '&' */
		int length = (int)strcspn(text, "&");
		char one[80];
		snprintf(one, sizeof one, "%.*s", length, text);
		if (sscanf(one, "region=%63[a-z0-9-]", region) != 1 && sscanf(one, "part=%llu", &part) != 1)
			return false;
		text += length;
	}
	s->part = part;
	snprintf(s->region, sizeof s->region, "aws:amz:%s:s3", region);
	return part >= 1 << 10;
}

static bool read_address(s3 *s, const char *url, srv_farm_why *why)
{
	const char *address = url + strlen("s3+"), *host = strstr(address, "://"), *query = strchr(address, '?');
	size_t length = query ? (size_t)(query - address) : strlen(address);
	while (length > 0 && address[length - 1] == '/')
		length--;
	const char *slash = host ? memchr(host + 3, '/', length - (size_t)(host + 3 - address)) : NULL;
	if (!slash || slash + 1 >= address + length || length > 900 || memchr(address, '@', length) ||
		!read_parameters(s, query)) {
		snprintf(why->text, sizeof why->text,
				 "'%.100s' is no s3+https://HOST/BUCKET[?region=NAME&part=BYTES]", url);
		return false;
	}
	memcpy(s->base, address, length);
	return true;
}

static void *s3_open(const srv_farm_place *place, srv_farm_why *why)
{
	s3 *s = calloc(1, sizeof *s);
	if (s && !read_address(s, place->url, why)) {
		free(s);
		return NULL;
	}
	if (s && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
		s->curl = curl_easy_init();
		s->access = place->user ? strdup(place->user) : NULL;
		s->secret = place->secret ? strdup(place->secret) : NULL;
	}
	if (s && s->curl && (s->access || !place->user) && (s->secret || !place->secret))
		return s;
	snprintf(why->text, sizeof why->text, "libcurl cannot be started");
	s3_close(s);
	return NULL;
}

static void s3_cut(void *handle)
{
	s3 *s = handle;
	atomic_store(&s->cut, true);
}

static srv_farm_end s3_head(void *handle, const char *name, uint64_t *size, srv_farm_why *why)
{
	answer a;
	request r = {.method = "HEAD", .name = name, .sha256 = EMPTY, .fd = -1};
	srv_farm_end end = ask(handle, &r, TOLD_MAX, &a, why);
	*size = a.length;
	free(a.told);
	return end;
}

static srv_farm_end s3_get(void *handle, const char *name,
						   bool (*take)(void *user, const void *data, size_t size), void *user,
						   srv_farm_why *why)
{
	return ask_plainly(
		handle,
		&(request){.method = "GET", .name = name, .sha256 = EMPTY, .fd = -1, .take = take, .user = user},
		why);
}

static srv_farm_end s3_remove(void *handle, const char *name, srv_farm_why *why)
{
	return ask_plainly(handle, &(request){.method = "DELETE", .name = name, .sha256 = EMPTY, .fd = -1}, why);
}

/* Completes a multipart upload; parts are listed by number. Parts of an unfinished upload would remain and
 * cost money. */
static srv_farm_end end_parts(s3 *s, const char *name, const char *upload, const char *list,
							  srv_farm_why *why)
{
	answer a;
	char query[640];
	snprintf(query, sizeof query, "uploadId=%s", upload);
	if (!list) {
		srv_farm_why ignored;
		(void)ask_plainly(
			s, &(request){.method = "DELETE", .name = name, .query = query, .sha256 = EMPTY, .fd = -1},
			&ignored);
		return SRV_FARM_DOWN;
	}
	request r = {.method = "POST",
				 .name = name,
				 .query = query,
				 .sha256 = "UNSIGNED-PAYLOAD",
				 .fd = -1,
				 .text = list,
				 .size = strlen(list)};
	srv_farm_end end = ask(s, &r, TOLD_MAX, &a, why);
	/* An answer with status 200 may still report a failure. */
	if (end == SRV_FARM_OK && strstr(a.told, "<Error>"))
		end = SRV_FARM_DOWN;
	free(a.told);
	return end;
}

static srv_farm_end put_parts(s3 *s, const char *name, int fd, uint64_t size, const char *upload,
							  srv_farm_why *why)
{
	size_t count = (size_t)((size + s->part - 1) / s->part), room = 64 + count * 256, used = 0;
	char *list = calloc(1, room);
	srv_farm_end end = list ? SRV_FARM_OK : SRV_FARM_DOWN;
	if (list)
		used = (size_t)snprintf(list, room, "<CompleteMultipartUpload>");
	for (size_t i = 0; i < count && end == SRV_FARM_OK; i++) {
		answer a;
		char query[700];
		uint64_t offset = (uint64_t)i * s->part, left = size - offset;
		snprintf(query, sizeof query, "partNumber=%zu&uploadId=%s", i + 1, upload);
		request r = {.method = "PUT",
					 .name = name,
					 .query = query,
					 .sha256 = "UNSIGNED-PAYLOAD",
					 .fd = fd,
					 .offset = offset,
					 .size = left < s->part ? left : s->part};
		end = ask(s, &r, TOLD_MAX, &a, why);
		if (end == SRV_FARM_OK)
			used += (size_t)snprintf(list + used, room - used,
									 "<Part><PartNumber>%zu</PartNumber><ETag>%.127s</ETag></Part>", i + 1,
									 a.etag);
		free(a.told);
	}
	if (end == SRV_FARM_OK) {
		snprintf(list + used, room - used, "</CompleteMultipartUpload>");
		end = end_parts(s, name, upload, list, why);
	}
	if (end != SRV_FARM_OK)
		(void)end_parts(s, name, upload, NULL, why);
	free(list);
	return end;
}

static srv_farm_end put_large(s3 *s, const char *name, int fd, uint64_t size, srv_farm_why *why)
{
	answer a;
	char upload[256];
	request r = {.method = "POST", .name = name, .query = "uploads=", .sha256 = EMPTY, .fd = -1, .text = ""};
	srv_farm_end end = ask(s, &r, TOLD_MAX, &a, why);
	bool begun = end == SRV_FARM_OK && find_tag(a.told, "UploadId", upload, sizeof upload);
	free(a.told);
	if (end == SRV_FARM_OK && !begun) {
		snprintf(why->text, sizeof why->text,
				 "the farm's bucket began an upload in parts and gave it no UploadId");
		return SRV_FARM_DOWN;
	}
	char *escaped = begun ? curl_easy_escape(s->curl, upload, 0) : NULL;
	if (escaped && strlen(escaped) < 512)
		end = put_parts(s, name, fd, size, escaped, why);
	else if (begun)
		end = SRV_FARM_DOWN;
	curl_free(escaped);
	return end;
}

static srv_farm_end s3_put(void *handle, const char *name, int fd, uint64_t size, const char *sha256,
						   srv_farm_why *why)
{
	s3 *s = handle;
	srv_farm_end end =
		size > s->part
			? put_large(handle, name, fd, size, why)
			: ask_plainly(handle,
						  &(request){.method = "PUT", .name = name, .sha256 = sha256, .fd = fd, .size = size},
						  why);
	return end == SRV_FARM_NONE ? SRV_FARM_DOWN : end;
}

static srv_farm_end s3_init(void *handle, srv_farm_why *why)
{
	srv_farm_why tried;
	/* Creating a bucket may take long. */
	request bucket = {.method = "PUT", .name = "", .sha256 = EMPTY, .fd = -1, .text = "", .silence_s = 60};
	request trial = {.method = "PUT", .name = "blobs/0", .sha256 = EMPTY, .fd = -1, .text = ""};
	srv_farm_end end = ask_plainly(handle, &trial, why);
	/* The bucket may not exist yet, and this user may be able to create it. */
	if (end != SRV_FARM_OK && ask_plainly(handle, &bucket, &tried) == SRV_FARM_OK)
		end = ask_plainly(handle, &trial, why);
	return end == SRV_FARM_OK ? s3_remove(handle, "blobs/0", why) : end;
}

/* ---- listing */

static int64_t age_of(const char *time_text)
{
	struct tm parts = {0};
	return strptime(time_text, "%Y-%m-%dT%H:%M:%S", &parts) ? (int64_t)time(NULL) - (int64_t)timegm(&parts)
															: 0;
}

/* Names of blobs, and of the files that the folder's driver or a trial writes. Other names are foreign; with
 * ".." in one, libcurl would even leave the bucket. */
static bool is_ours(const char *name)
{
	const char *rest = name + strlen("blobs/");
	return strncmp(name, "blobs/", strlen("blobs/")) == 0 && rest[strspn(rest, "0123456789abcdef/")] == 0;
}

/* Passes the blobs of one page to `each`. False: it stopped. */
static bool tell_page(const char *xml, const char *prefix,
					  bool (*each)(void *user, const char *name, uint64_t size, int64_t age_s), void *user)
{
	for (const char *at = strstr(xml, "<Contents>"); at; at = strstr(at + 1, "<Contents>")) {
		char key[512], size[32], made[64];
		if (!find_tag(at, "Key", key, sizeof key) || !find_tag(at, "Size", size, sizeof size))
			continue;
		find_tag(at, "LastModified", made, sizeof made);
		size_t skip = strlen(prefix);
		if (strncmp(key, prefix, skip) == 0 && is_ours(key + skip) &&
			!each(user, key + skip, strtoull(size, NULL, 10), age_of(made)))
			return false;
	}
	return true;
}

static srv_farm_end s3_list(void *handle,
							bool (*each)(void *user, const char *name, uint64_t size, int64_t age_s),
							void *user, srv_farm_why *why)
{
	s3 *s = handle;
	s3 bucket = {.curl = s->curl, .access = s->access, .secret = s->secret};
	char prefix[512] = "", token[1024] = "", query[2048], more[16];
	uint32_t empty = 0;
	const char *host = strstr(s->base, "://") + 3, *slash = strchr(host, '/');
	const char *below = slash ? strchr(slash + 1, '/') : NULL;
	if (below)
		snprintf(prefix, sizeof prefix, "%.500s/", below + 1);
	snprintf(bucket.base, sizeof bucket.base, "%.*s", below ? (int)(below - s->base) : (int)strlen(s->base),
			 s->base);
	memcpy(bucket.region, s->region, sizeof bucket.region);
	for (;;) {
		answer a;
		char *escaped = token[0] ? curl_easy_escape(s->curl, token, 0) : NULL;
		char *begin = curl_easy_escape(s->curl, prefix, 0);
		snprintf(query, sizeof query, "%s%s%slist-type=2&prefix=%sblobs%%2F",
				 escaped ? "continuation-token=" : "", escaped ? escaped : "", escaped ? "&" : "",
				 begin ? begin : "");
		curl_free(escaped);
		curl_free(begin);
		request r = {.method = "GET", .name = "", .query = query, .sha256 = EMPTY, .fd = -1};
		srv_farm_end end = ask(&bucket, &r, LIST_MAX, &a, why);
		bool go_on = end == SRV_FARM_OK && tell_page(a.told, prefix, each, user);
		go_on = go_on && find_tag(a.told, "IsTruncated", more, sizeof more) && strcmp(more, "true") == 0 &&
				find_tag(a.told, "NextContinuationToken", token, sizeof token) && !atomic_load(&s->cut);
		empty += !strstr(a.told ? a.told : "", "<Contents>");
		free(a.told);
		if (empty == EMPTY_PAGES_MAX)
			return endless(why);
		if (!go_on)
			return end;
	}
}

static const srv_farm_blobs blobs = {.open = s3_open,
									 .close = s3_close,
									 .cut = s3_cut,
									 .init = s3_init,
									 .head = s3_head,
									 .get = s3_get,
									 .put = s3_put,
									 .remove = s3_remove,
									 .list = s3_list};

__attribute__((visibility("default"))) extern const srv_farm_module srv_farm_driver;
const srv_farm_module srv_farm_driver = {
	.abi = SRV_FARM_ABI, .library = "libcurl " LIBCURL_VERSION, .blobs = &blobs};
