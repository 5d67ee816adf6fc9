#include "git_inside.h"

#include "../../core/hash/hex.h"
#include "../fs/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POINTER_MAX = 1024 };
static const uint64_t large_max = (uint64_t)1 << 30;

static git_large *find_large(const git_root *root, const srv_git_id *id)
{
	for (uint32_t i = 0; i < root->large_count; i++)
		if (srv_git_id_equal(&root->large[i].id, id))
			return &root->large[i];
	return NULL;
}

uint32_t srv_git_large_pending(const git_root *root)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < root->large_count; i++)
		count += !root->large[i].fault;
	return count;
}

const char *srv_git_large_fault(const git_root *root, const srv_git_id *id)
{
	const git_large *large = find_large(root, id);
	return large ? large->fault : NULL;
}

void srv_git_large_forget(git_root *root)
{
	for (uint32_t i = 0; i < root->large_count; i++) {
		free(root->large[i].fault);
		root->large[i].fault = NULL;
	}
}

static void add_large(git_root *root, const srv_git_id *id)
{
	hob_buf text = {0};
	hob_str sha256;
	git_large large = {.id = *id};
	srv_git_files_peek(&root->gits->files, id, true, POINTER_MAX, &text);
	bool points = srv_git_lfs_parse((hob_bytes){text.data, text.size}, &sha256, &large.size);
	if (points && HOB_ROOM(root->large, root->large_room, root->large_count)) {
		snprintf(large.sha256, sizeof large.sha256, "%.*s", HOB_FMT(sha256));
		if (large.size > large_max)
			large.fault = hob_must(strdup("it is larger than 1 GiB"));
		root->large[root->large_count++] = large;
	}
	hob_buf_release(&text);
}

bool srv_git_large_wanted(git_root *root, const srv_git_changes *changes)
{
	bool pending = false;
	for (uint32_t i = 0; root->server.program && i < changes->count; i++) {
		const srv_git_change *c = &changes->items[i];
		if (c->letter != 'P' || !c->pointer)
			continue;
		if (!find_large(root, &c->id))
			add_large(root, &c->id);
		const git_large *large = find_large(root, &c->id);
		pending = pending || (large && !large->fault);
	}
	return pending;
}

/* `all`: the server is to blame. */
static void fail_large(git_root *root, git_large *failed, const hob_error *error)
{
	bool all = error->code != HOB_ERR_NOT_FOUND;
	for (git_large *large = root->large; large < root->large + root->large_count; large++)
		if (!large->fault && (all || large == failed))
			large->fault = hob_must(strdup(error->context));
}

static void close_large(git_root *root)
{
	srv_close(root->large_fd);
	root->large_fd = -1;
}

void srv_git_large_next(git_root *root)
{
	char name[300];
	hob_error error = {0};
	hob_buf line = {0};
	uint32_t at = 0;
	while (at < root->large_count && root->large[at].fault)
		at++;
	if (root->large_fd >= 0 || at == root->large_count)
		return;
	git_large *large = &root->large[at];
	snprintf(name, sizeof name, "incoming/large %s", root->name);
	unlinkat(root->gits->files.fd, name, 0);
	root->large_fd = openat(root->gits->files.fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	hob_buf_printf(&line, "get %s %llu\n", large->sha256, (unsigned long long)large->size);
	root->large_id = large->id;
	bool ok = root->large_fd >= 0 || hob_fail(&error, IO, "it cannot be kept: %s", strerror(errno));
	if (!ok || !srv_git_send(&root->server, root->large_fd, &line, &error)) {
		error.code = HOB_ERR_IO;
		fail_large(root, large, &error);
		close_large(root);
	}
	hob_buf_release(&line);
}

/* Believes nothing that hob-lfs says. */
static bool keep(git_root *root, const git_large *large, hob_error *err)
{
	char from[300], to[SRV_GIT_OBJECT_NAME];
	hob_sha256 sum;
	uint64_t size;
	snprintf(from, sizeof from, "incoming/large %s", root->name);
	srv_git_object_name(&large->id, false, to);
	if (lseek(root->large_fd, 0, SEEK_SET) != 0 ||
		!srv_hash_rest(root->large_fd, &root->gits->stop, &sum, &size) || fdatasync(root->large_fd) != 0)
		return hob_fail(err, IO, "it cannot be kept: %s", strerror(errno));
	if (size != large->size || strcmp(hob_sha256_hex(&sum).text, large->sha256) != 0)
		return hob_fail(err, NOT_FOUND, "hob-lfs brought another file");
	return renameat(root->gits->files.fd, from, root->gits->files.fd, to) == 0 ||
		   hob_fail(err, IO, "it cannot be kept: %s", strerror(errno));
}

bool srv_git_large_take(git_root *root)
{
	hob_error error = {0};
	hob_buf answer = {0};
	git_large *large = find_large(root, &root->large_id);
	bool ok = srv_git_receive(&root->server, &answer, &error) && keep(root, large, &error);
	if (ok)
		*large = root->large[--root->large_count];
	else
		fail_large(root, large, &error);
	close_large(root);
	hob_buf_release(&answer);
	return srv_git_large_pending(root) == 0;
}

void srv_git_large_end(git_root *root)
{
	if (root->server.program)
		srv_git_reader_close(&root->server);
	close_large(root);
	srv_git_large_forget(root);
	free(root->large);
}
