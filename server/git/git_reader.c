#include "git_reader.h"
#include "../../core/hash/hex.h"

#include "../fs/transfer.h"
#include "../worker/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEAD_MAX = 512, LOOK_MS = 500, ANSWER_MAX = 256 << 20 };

static bool has(const char *folder, const char *name, mode_t kind)
{
	char path[SRV_GIT_PATH + 16];
	struct stat info;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return stat(path, &info) == 0 && (info.st_mode & S_IFMT) == kind;
}

static bool is_repository(const char *folder)
{
	return has(folder, "HEAD", S_IFREG) && has(folder, "objects", S_IFDIR) && has(folder, "refs", S_IFDIR);
}

bool srv_git_reader_open(srv_git_reader *reader, const char *path, int sandbox, const atomic_bool *stop,
						 hob_error *err)
{
	*reader = (srv_git_reader){.program = "hob-git", .sandbox = sandbox, .stop = stop, .socket = -1};
	if (strlen(path) + 8 > sizeof reader->repository)
		return hob_fail(err, USAGE, "the path '%.100s...' is too long", path);
	if (has(path, ".git", S_IFREG))
		return hob_fail(
			err, USAGE,
			"'%s' is a linked working copy or a submodule; name the repository that it belongs to", path);
	snprintf(reader->repository, sizeof reader->repository, "%s%s", path,
			 has(path, ".git", S_IFDIR) ? "/.git" : "");
	return is_repository(reader->repository) ||
		   hob_fail(err, IO, "'%s' is no git repository: it has no HEAD, objects and refs", path);
}

void srv_git_server_open(srv_git_reader *reader, const char *url, const char *token_file, int sandbox,
						 const atomic_bool *stop)
{
	*reader = (srv_git_reader){.program = "hob-lfs", .sandbox = sandbox, .stop = stop, .socket = -1};
	snprintf(reader->repository, sizeof reader->repository, "%s", url);
	reader->token = token_file ? token_file : "-";
}

void srv_git_reader_close(srv_git_reader *reader)
{
	if (reader->socket < 0)
		return;
	close(reader->socket);
	reader->socket = -1;
	kill(reader->pid, SIGKILL);
	while (waitpid(reader->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

/* ---- the socket */

/* Reads some bytes. False: the process has ended, is silent, or the daemon stops. */
static bool receive(srv_git_reader *reader, void *data, size_t most, size_t *got, hob_error *err)
{
	for (int waited = 0; waited < SRV_GIT_SILENT_S * 1000 && !atomic_load(reader->stop); waited += LOOK_MS) {
		struct pollfd wait = {.fd = reader->socket, .events = POLLIN};
		if (poll(&wait, 1, LOOK_MS) <= 0)
			continue;
		ssize_t size = recv(reader->socket, data, most, 0);
		if (size < 0 && errno == EINTR)
			continue;
		*got = size > 0 ? (size_t)size : 0;
		return size > 0 ||
			   hob_fail(err, IO, "%s ended while it read '%s'", reader->program, reader->repository);
	}
	return hob_fail(err, IO, "%s did not answer about '%s'", reader->program, reader->repository);
}

/* hob-git ends at an object, hob-lfs with words. */
static bool end_slow(srv_git_reader *reader, const char *id, hob_error *err)
{
	if (reader->token)
		return hob_fail(err, IO, "%s", id);
	srv_git_hex *slow = &reader->slow[reader->slow_count++ % SRV_GIT_SLOW_MAX];
	snprintf(slow->text, sizeof slow->text, "%.40s", id);
	return hob_fail(err, IO, SRV_GIT_SLOW, slow->text);
}

/* Reads "ok SIZE MORE", "no TEXT", "end ID" or "end TEXT". */
static bool read_head(srv_git_reader *reader, uint64_t *size, char more[HEAD_MAX], hob_error *err)
{
	char head[HEAD_MAX];
	size_t used = 0, got;
	do {
		if (used == sizeof head - 1)
			return hob_fail(err, IO, "hob-git answers in a way that Hob does not know");
		if (!receive(reader, head + used, 1, &got, err))
			return false;
	} while (head[used++] != '\n');
	head[used - 1] = 0;
	if (strncmp(head, "no ", 3) == 0)
		return hob_fail(err, NOT_FOUND, "%s", head + 3);
	if (strncmp(head, "end ", 4) == 0)
		return end_slow(reader, head + 4, err);
	char *end = head;
	*size = strncmp(head, "ok ", 3) == 0 ? strtoull(head + 3, &end, 10) : 0;
	snprintf(more, HEAD_MAX, "%s", *end == ' ' ? end + 1 : "");
	return end > head + 3 || hob_fail(err, IO, "hob-git answers in a way that Hob does not know");
}

static bool read_into(srv_git_reader *reader, uint64_t size, hob_buf *out, hob_error *err)
{
	if (size > ANSWER_MAX)
		return hob_fail(err, LIMIT, "the answer of hob-git is larger than %d MiB", ANSWER_MAX >> 20);
	uint8_t *data = hob_buf_grow(out, (size_t)size);
	if (!data)
		return hob_fail(err, MEMORY, "no memory left for the answer of hob-git");
	for (size_t have = 0, got; have < size; have += got)
		if (!receive(reader, data + have, (size_t)size - have, &got, err))
			return false;
	return true;
}

static bool start(srv_git_reader *reader, hob_error *err)
{
	char program[4096], policy[16], more[HEAD_MAX];
	int ends[2];
	uint64_t size;
	if (reader->socket >= 0)
		return true;
	if (!srv_find_program(reader->program, program))
		return hob_fail(err, IO, "%s, which reads git repositories, is not installed; its package is hob-git",
						reader->program);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return hob_fail(err, IO, "no socket for a program: %s", strerror(errno));
	snprintf(policy, sizeof policy, "%d", reader->sandbox);
	char *argv[4 + SRV_GIT_SLOW_MAX] = {program, policy, reader->repository,
										(char *)(uintptr_t)reader->token};
	for (uint32_t i = 0; i < reader->slow_count && i < SRV_GIT_SLOW_MAX; i++)
		argv[3 + i] = reader->slow[i].text;
	const int fds[] = {ends[1], -1};
	bool ok = srv_spawn(argv, fds, 2, &reader->pid, err);
	close(ends[1]);
	if (!ok) {
		close(ends[0]);
		return false;
	}
	reader->socket = ends[0];
	hob_buf hello = {0};
	ok = read_head(reader, &size, more, err) && read_into(reader, size, &hello, err);
	hob_buf_release(&hello);
	if (!ok)
		srv_git_reader_close(reader);
	return ok || hob_fail_in(err, "'%s'", reader->repository);
}

/* A refusal in words leaves the process in step; anything else does not. */
static bool settle(srv_git_reader *reader, bool ok, const hob_error *err)
{
	if (!ok && err->code != HOB_ERR_NOT_FOUND)
		srv_git_reader_close(reader);
	return ok;
}

static bool send_line(srv_git_reader *reader, int fd, const hob_buf *line, hob_error *err)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {0};
	for (size_t at = 0; at < line->size;) {
		struct iovec part = {line->data + at, line->size - at};
		struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
		if (fd >= 0 && at == 0) {
			message.msg_control = control;
			message.msg_controllen = sizeof control;
			struct cmsghdr *head = CMSG_FIRSTHDR(&message);
			*head = (struct cmsghdr){
				.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
			memcpy(CMSG_DATA(head), &fd, sizeof fd);
		}
		ssize_t sent = sendmsg(reader->socket, &message, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return hob_fail(err, IO, "%s ended: %s", reader->program, strerror(errno));
		at += (size_t)sent;
	}
	return true;
}

bool srv_git_send(srv_git_reader *reader, int fd, const hob_buf *line, hob_error *err)
{
	return start(reader, err) && settle(reader, send_line(reader, fd, line, err), err);
}

bool srv_git_receive(srv_git_reader *reader, hob_buf *out, hob_error *err)
{
	char more[HEAD_MAX];
	uint64_t size;
	return settle(reader, read_head(reader, &size, more, err) && read_into(reader, size, out, err), err);
}

bool srv_git_ask(srv_git_reader *reader, hob_buf *out, hob_error *err, const char *fmt, ...)
{
	char text[SRV_GIT_PATH + 128];
	va_list args;
	va_start(args, fmt);
	int len = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof text || strchr(text, '\n'))
		return hob_fail(err, NOT_FOUND, "no branch, tag or commit has such a name");
	hob_buf line = {0};
	hob_buf_printf(&line, "%s\n", text);
	bool ok, ended;
	uint32_t tries = 0;
	do {
		uint32_t slow = reader->slow_count;
		*err = (hob_error){0};
		ok = srv_git_send(reader, -1, &line, err) && srv_git_receive(reader, out, err);
		ended = reader->slow_count > slow;
	} while (ended && ++tries < SRV_GIT_SLOW_MAX && !atomic_load(reader->stop));
	hob_buf_release(&line);
	return ok;
}

/* Copies `size` bytes to fd. `wanted`: their SHA-256 in hex; empty: unknown. */
static bool copy(srv_git_reader *reader, uint64_t size, const char *wanted, int fd, hob_error *err)
{
	uint8_t piece[1 << 16];
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	for (size_t got; size > 0; size -= got) {
		if (!receive(reader, piece, size < sizeof piece ? (size_t)size : sizeof piece, &got, err))
			return false;
		if (!srv_write_all(fd, piece, got))
			return errno == ENOSPC
					   ? hob_fail(err, DISK_FULL, "no disk space is left for a file of the repository")
					   : hob_fail(err, IO, "a file of the repository cannot be kept: %s", strerror(errno));
		if (wanted[0])
			hob_hasher_put(&hasher, piece, got);
	}
	hob_sha256 sum = hob_hasher_finish(&hasher);
	return !wanted[0] || strcmp(hob_sha256_hex(&sum).text, wanted) == 0 ||
		   hob_fail(err, CORRUPT, "a large file in lfs/objects is not what its name says: %s", wanted);
}

bool srv_git_fetch(srv_git_reader *reader, const srv_git_id *id, int fd, bool *pointer, hob_error *err)
{
	char more[HEAD_MAX];
	uint64_t size;
	hob_buf line = {0};
	hob_buf_printf(&line, "blob %s\n", srv_git_id_text(id).text);
	*pointer = false;
	bool ok = srv_git_send(reader, -1, &line, err) && read_head(reader, &size, more, err);
	*pointer = ok && strcmp(more, "pointer") == 0;
	ok = ok && copy(reader, size, *pointer ? "" : more, fd, err);
	hob_buf_release(&line);
	return settle(reader, ok, err);
}
