/* hob-lfs: fetches large files from a server of Git LFS for the daemon, from inside a sandbox that allows the
 * network, and no files but certificates and what looks up names.
 *
 *     hob-lfs SANDBOX URL TOKEN_FILE|-     descriptor 1: a socket to the daemon
 *
 * A question is the line "get SHA256 SIZE" with the descriptor of an empty file, which gets the bytes.
 * Answers:
 *
 *     ok 0          they are there: so many, and with this SHA-256
 *     no TEXT       this file cannot be had
 *     end TEXT      no file can be had of this server now; the process ends
 *
 * The token is sent to the server of URL only: as "Basic" if it holds a colon (USER:PASSWORD), else as
 * "Bearer". Other servers, to which that one refers, get the fields that it names for them; redirects to
 * others get none.
 *
 * Ends with 2 if it was not started by hob. */
#include "../../../core/base/pieces.h"
#include "../../../core/hash/hash.h"
#include "../../client/connection.h"
#include "../../fs/fd.h"
#include "../../worker/sandbox.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	BAD_CALL = 2,
	SOCKET = 1,
	BASE_MAX = 300, /* SCHEME://HOST:PORT */
	URL_MAX = 4096,
	TOKEN_MAX = 4096,
	FIELDS_MAX = 8192,
	ANSWER_MAX = 1 << 20,
	HOPS_MAX = 5,
	TRIES_MAX = 3,
	PAUSE_MAX_S = 10,
	CONNECT_MS = 10000,
	SILENCE_MS = 20000,
	LEAST_S = 60,
	LEAST_BYTES_PER_S = 65536
};

static const uint64_t memory_max = (uint64_t)1 << 30;

/* An address, in two parts. */
typedef struct address {
	char base[BASE_MAX];
	const char *target; /* points into the text */
} address;

static const char *url;
static address home;
static char authorization[2 * TOKEN_MAX]; /* a header line; empty: no token */

/* ---- the daemon */

static void say(const char *word, const char *text)
{
	char line[480];
	int len = snprintf(line, sizeof line - 1, "%s %s", word, text);
	len = len < (int)sizeof line - 2 ? len : (int)sizeof line - 2;
	for (int i = 0; i < len; i++)
		if ((uint8_t)line[i] < 0x20 || line[i] == 0x7F)
			line[i] = '?';
	line[len] = '\n';
	struct iovec part = {line, (size_t)len + 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (sendmsg(SOCKET, &message, MSG_NOSIGNAL) != len + 1 || strcmp(word, "end") == 0)
		_exit(0);
}

static void end_slow(int number)
{
	static char line[] = "end the server of large files is too slow\n";
	struct iovec part = {line, sizeof line - 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	(void)number;
	(void)!sendmsg(SOCKET, &message, MSG_NOSIGNAL);
	_exit(0);
}

/* Reads a question, which comes whole. False: the daemon is gone. */
static bool receive(char *line, size_t room, int *fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {line, room - 1};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	ssize_t got;
	do
		got = recvmsg(SOCKET, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	const struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (!head || head->cmsg_type != SCM_RIGHTS)
		return false;
	memcpy(fd, CMSG_DATA(head), sizeof *fd);
	line[got] = 0;
	return true;
}

/* ---- requests */

static bool parse_url(const char *text, address *out)
{
	const char *host = strncmp(text, "https://", 8) == 0  ? text + 8
					   : strncmp(text, "http://", 7) == 0 ? text + 7
														  : NULL;
	for (const char *at = text; *at; at++)
		if ((uint8_t)*at <= ' ' || (uint8_t)*at >= 0x7F)
			return false;
	size_t size = host ? (size_t)(host - text) + strcspn(host, "/?#") : 0;
	if (!host || host[0] == 0 || size >= sizeof out->base || memchr(host, '@', size - (size_t)(host - text)))
		return false;
	memcpy(out->base, text, size);
	out->base[size] = 0;
	out->target = text[size] == '/' ? text + size : "/";
	return true;
}

/* Sends a request and reads the head of the answer; waits and tries again while the server is busy. */
static bool ask(const address *to, const srv_ask *request, hob_str body, srv_peer *peer, srv_connection **out,
				srv_answer *answer, hob_error *err)
{
	*peer = (srv_peer){
		.url = to->base, .kind = "server of large files", .connect_ms = CONNECT_MS, .silence_ms = SILENCE_MS};
	for (int tries = 1;; tries++) {
		*out = NULL;
		if (!srv_connect(peer, out, err) || !srv_connection_ask(*out, request, err) ||
			!srv_connection_put(*out, body.data, body.len, err) || !srv_connection_answer(*out, answer, err))
			return false;
		if ((answer->status != 429 && answer->status != 503) || tries == TRIES_MAX)
			return true;
		srv_disconnect(*out);
		long pause = strtol(answer->retry_after, NULL, 10);
		sleep((unsigned)(pause < 1 ? 1 : pause > PAUSE_MAX_S ? PAUSE_MAX_S : pause));
	}
}

static bool read_text(srv_connection *c, hob_buf *out)
{
	uint8_t piece[8192];
	for (size_t got; out->size <= ANSWER_MAX && (got = srv_connection_read(c, piece, sizeof piece)) > 0;)
		hob_buf_put(out, piece, got);
	hob_buf_put(out, "", 1);
	return srv_connection_is_whole(c) && out->size <= ANSWER_MAX && !out->failed;
}

/* ---- where the file is: the batch API */

/* The header lines that the server names for a download. */
static bool put_fields(const cJSON *fields, char out[FIELDS_MAX], bool *authorizes)
{
	size_t used = 0;
	out[0] = 0;
	for (const cJSON *field = fields ? fields->child : NULL; field; field = field->next) {
		const char *value = cJSON_GetStringValue(field);
		if (!value || !field->string[0] || strpbrk(value, "\r\n") || strpbrk(field->string, "\r\n: ") ||
			used + strlen(field->string) + strlen(value) + 5 > FIELDS_MAX)
			return false;
		used += (size_t)sprintf(out + used, "%s: %s\r\n", field->string, value);
		*authorizes = *authorizes || strcasecmp(field->string, "Authorization") == 0;
	}
	return true;
}

static const cJSON *member(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static bool read_place(const cJSON *root, const char *sha256, char place[URL_MAX], char fields[FIELDS_MAX],
					   bool *authorizes, hob_error *err)
{
	const cJSON *object = cJSON_GetArrayItem(member(root, "objects"), 0), *problem = member(object, "error");
	const cJSON *download = member(member(object, "actions"), "download");
	const char *oid = cJSON_GetStringValue(member(object, "oid")), *message = NULL;
	const char *href = cJSON_GetStringValue(member(download, "href"));
	if (cJSON_IsObject(problem)) {
		message = cJSON_GetStringValue(member(problem, "message"));
		return hob_fail(err, NOT_FOUND, "%s does not have it: %d %.100s", home.base,
						(int)cJSON_GetNumberValue(member(problem, "code")), message ? message : "");
	}
	if (!oid || strcmp(oid, sha256) != 0 || !href || strlen(href) >= URL_MAX)
		return hob_fail(err, NOT_FOUND, "%s does not say where it is", home.base);
	strcpy(place, href);
	return put_fields(member(download, "header"), fields, authorizes) ||
		   hob_fail(err, NOT_FOUND, "%s names fields that cannot be sent", home.base);
}

/* A refusal of the batch API is about all files. */
static void end_if_refused(int status)
{
	char text[BASE_MAX + 100];
	if (status == 200)
		return;
	snprintf(text, sizeof text, "%s answers %d%s", home.base, status,
			 status == 401 || status == 403
				 ? authorization[0] ? ": it refuses the token" : ": it wants a token"
			 : status == 404				  ? ": is 'lfs' its whole address?"
			 : status == 429 || status == 503 ? ": it is busy"
			 : status / 100 == 3			  ? ", a redirect: name the new address as 'lfs'"
											  : "");
	say("end", text);
}

static bool find_place(const char *sha256, uint64_t size, char place[URL_MAX], char fields[FIELDS_MAX],
					   bool *authorizes, hob_error *err)
{
	char target[URL_MAX + 32], headers[sizeof authorization + 64];
	srv_peer peer;
	srv_connection *c;
	srv_answer answer;
	hob_buf body = {0}, text = {0};
	size_t size_of_target = strlen(home.target);
	snprintf(target, sizeof target, "%.*s/objects/batch",
			 (int)(size_of_target - (home.target[size_of_target - 1] == '/')), home.target);
	snprintf(headers, sizeof headers, "Accept: application/vnd.git-lfs+json\r\n%s", authorization);
	hob_buf_printf(&body,
				   "{\"operation\":\"download\",\"transfers\":[\"basic\"],\"hash_algo\":\"sha256\","
				   "\"objects\":[{\"oid\":\"%s\",\"size\":%llu}]}",
				   sha256, (unsigned long long)size);
	srv_ask request = {.method = "POST",
					   .target = target,
					   .headers = headers,
					   .body_size = body.size,
					   .type = "application/vnd.git-lfs+json"};
	if (!ask(&home, &request, hob_buf_str(&body), &peer, &c, &answer, err))
		say("end", err->context);
	end_if_refused(answer.status);
	bool whole = read_text(c, &text);
	cJSON *root = whole ? cJSON_Parse((const char *)text.data) : NULL;
	bool ok = root ? read_place(root, sha256, place, fields, authorizes, err)
				   : hob_fail(err, NOT_FOUND, "%s answers no JSON of the batch API", home.base);
	cJSON_Delete(root);
	srv_disconnect(c);
	hob_buf_release(&body);
	hob_buf_release(&text);
	return ok;
}

/* ---- the file */

static bool save(srv_connection *c, const srv_answer *answer, const char *base, hob_str sha256, uint64_t size,
				 int fd, hob_error *err)
{
	static uint8_t piece[1 << 16];
	hob_hasher hasher;
	uint64_t have = 0;
	hob_hasher_init(&hasher);
	if (answer->has_length && answer->length != size)
		return hob_fail(err, NOT_FOUND, "%s has %llu bytes of it, and not %llu", base,
						(unsigned long long)answer->length, (unsigned long long)size);
	for (size_t got; (got = srv_connection_read(c, piece, sizeof piece)) > 0; have += got) {
		if (got > size - have)
			return hob_fail(err, NOT_FOUND, "%s sends more than its %llu bytes", base,
							(unsigned long long)size);
		for (size_t at = 0; at < got;) {
			ssize_t wrote = write(fd, piece + at, got - at);
			if (wrote < 0 && errno != EINTR)
				return hob_fail(err, NOT_FOUND, "it cannot be kept: %s", strerror(errno));
			at += wrote > 0 ? (size_t)wrote : 0;
		}
		hob_hasher_put(&hasher, piece, got);
	}
	if (have != size || !srv_connection_is_whole(c))
		return hob_fail(err, NOT_FOUND, "%s sent %llu of its %llu bytes", base, (unsigned long long)have,
						(unsigned long long)size);
	char sum[HOB_SHA256_TEXT + 1];
	hob_sha256 digest = hob_hasher_finish(&hasher);
	hob_sha256_text(&digest, sum);
	return hob_str_equal(hob_str_of(sum), sha256) ||
		   hob_fail(err, NOT_FOUND, "%s sent another file: its SHA-256 is %s", base, sum);
}

/* `place` gets the address of each redirect. */
static bool download(char place[URL_MAX], char fields[FIELDS_MAX], bool authorizes, hob_str sha256,
					 uint64_t size, int fd, hob_error *err)
{
	address to, former = home;
	for (int hops = 0; hops <= HOPS_MAX; hops++) {
		if (!parse_url(place, &to))
			return hob_fail(err, NOT_FOUND, "%s refers to an address that is none of HTTP", former.base);
		if (strncmp(former.base, "https:", 6) == 0 && strncmp(to.base, "https:", 6) != 0)
			return hob_fail(err, NOT_FOUND, "%s refers to %s, which is without TLS", former.base, to.base);
		bool at_home = strcmp(to.base, home.base) == 0;
		char headers[FIELDS_MAX + sizeof authorization];
		snprintf(headers, sizeof headers, "%s%s", fields, at_home && !authorizes ? authorization : "");
		srv_peer peer;
		srv_connection *c;
		srv_answer answer;
		srv_ask request = {.method = "GET", .target = to.target, .headers = headers};
		bool ok = ask(&to, &request, (hob_str){0}, &peer, &c, &answer, err);
		bool moved = ok && answer.status / 100 == 3 && answer.location[0];
		if (ok && !moved)
			ok = answer.status == 200 ? save(c, &answer, to.base, sha256, size, fd, err)
									  : hob_fail(err, NOT_FOUND, "%s answers %d", to.base, answer.status);
		srv_disconnect(c);
		if (!ok || !moved)
			return ok;
		former = to;
		if (answer.location[0] == '/' && answer.location[1] != '/')
			snprintf(place, URL_MAX, "%s%s", to.base, answer.location);
		else
			snprintf(place, URL_MAX, "%s", answer.location);
		if (!parse_url(place, &to) || strcmp(to.base, former.base) != 0)
			fields[0] = 0;
	}
	return hob_fail(err, NOT_FOUND, "%s redirects more than %d times", former.base, HOPS_MAX);
}

static void serve(const char *line, int fd)
{
	static char place[URL_MAX], fields[FIELDS_MAX];
	char sha256[HOB_SHA256_TEXT + 1];
	unsigned long long size;
	bool authorizes = false;
	hob_error error = {0};
	if (sscanf(line, "get %64[0-9a-f] %llu", sha256, &size) != 2 || strlen(sha256) != HOB_SHA256_TEXT)
		_exit(BAD_CALL);
	const struct itimerval limit = {.it_value = {.tv_sec = LEAST_S + (time_t)(size / LEAST_BYTES_PER_S)}};
	setitimer(ITIMER_REAL, &limit, NULL);
	bool ok = find_place(sha256, size, place, fields, &authorizes, &error) &&
			  download(place, fields, authorizes, hob_str_of(sha256), size, fd, &error);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	say(ok ? "ok" : "no", ok ? "0" : error.context);
}

/* ---- start */

static void read_token(const char *path)
{
	char token[TOKEN_MAX + 1], text[BASE_MAX + 100];
	int fd = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t size = fd >= 0 ? read(fd, token, TOKEN_MAX) : -1;
	srv_close(fd);
	if (strcmp(path, "-") == 0)
		return;
	token[size > 0 ? size : 0] = 0;
	token[strcspn(token, "\r\n")] = 0;
	if (token[0] == 0) {
		snprintf(text, sizeof text, "the token file '%.200s' cannot be read, or is empty", path);
		say("end", text);
	}
	if (strchr(token, ':')) {
		unsigned char coded[4 * (TOKEN_MAX / 3 + 2)];
		EVP_EncodeBlock(coded, (const unsigned char *)token, (int)strlen(token));
		snprintf(authorization, sizeof authorization, "Authorization: Basic %s\r\n", coded);
	} else {
		snprintf(authorization, sizeof authorization, "Authorization: Bearer %s\r\n", token);
	}
}

static void enter_sandbox(srv_sandbox_policy policy)
{
	static const char *const read[] = {
		"/etc/ssl",			"/etc/pki",	  "/usr/lib/ssl",	"/usr/share/ca-certificates",
		"/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf",
		"/etc/gai.conf"};
	int fds[HOB_COUNT_OF(read) + 1];
	srv_sandbox_layers layers;
	hob_error error = {0};
	for (size_t i = 0; i <= HOB_COUNT_OF(read); i++) {
		const char *path = i < HOB_COUNT_OF(read) ? read[i] : getenv("HOB_CACERT");
		fds[i] = path && path[0] ? open(path, O_PATH | O_CLOEXEC) : -1;
	}
	if (!srv_sandbox_enter(policy, memory_max, fds, HOB_COUNT_OF(fds), SRV_SANDBOX_FETCHES, NULL, NULL,
						   &layers, &error))
		say("end", error.context);
	for (size_t i = 0; i < HOB_COUNT_OF(fds); i++)
		srv_close(fds[i]);
}

int main(int argc, char **argv)
{
	char line[160];
	struct stat info;
	int fd;
	if (argc != 4 || fstat(SOCKET, &info) != 0 || !S_ISSOCK(info.st_mode)) {
		fprintf(stderr, "hob-lfs is started by hob; name a server as 'lfs' of a source in hob.json\n");
		return BAD_CALL;
	}
	signal(SIGINT, SIG_IGN); /* Ctrl-C is for the daemon */
	signal(SIGALRM, end_slow);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	url = argv[2];
	read_token(argv[3]);
	enter_sandbox((srv_sandbox_policy)atoi(argv[1]));
	if (!parse_url(url, &home))
		say("end", "the address of the server of large files is none of HTTP");
	say("ok", "0");
	while (receive(line, sizeof line, &fd)) {
		serve(line, fd);
		close(fd);
	}
	_exit(0);
}
