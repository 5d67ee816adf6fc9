/* fuzz_mirror.c - the daemon's side of mirror roots, with agents that ask anything.
 *
 * Links: srv_mirror srv_control srv_fs srv_log hob_hash hob_base PkgConfig::libcjson
 * Run:   fuzz_mirror tests/fuzz/corpus/mirror
 *
 * Input: requests, each a byte that selects the question and a body up to a NUL; in a body, '@' and a digit
 * stand for the digest of a blob, '@' and 's' for the newest session. After each request nothing lies outside
 * the root, what the tree holds is what lies on the disk, and no name is unportable. */
#include "server/mirror/mirror.c"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const blobs[] = {"one", "two", "three", "", "another"};
static char above[64], session_text[ID_DIGITS + 1];

static hob_sha256 digest_of(const char *text)
{
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	hob_hasher_put(&hasher, text, strlen(text));
	return hob_hasher_finish(&hasher);
}

/* Stands for the store's: the last blob is missing. */
int srv_blob_open(srv_store *store, const hob_sha256 *digest, uint64_t *size)
{
	(void)store;
	for (size_t i = 0; i + 1 < HOB_COUNT_OF(blobs); i++) {
		hob_sha256 own = digest_of(blobs[i]);
		if (!hob_sha256_equal(&own, digest))
			continue;
		int fd = memfd_create("blob", MFD_CLOEXEC);
		*size = strlen(blobs[i]);
		if (fd >= 0 && write(fd, blobs[i], *size) != (ssize_t)*size)
			abort();
		return fd;
	}
	return -1;
}

static void on_answer(srv_control *control, int status, hob_str body)
{
	(void)control;
	assert(status == 200 || (status >= 400 && status <= 507 && status != 500));
	cJSON *json = cJSON_ParseWithLength(body.data, body.len);
	assert(json && cJSON_IsObject(json));
	const char *opened = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "session"));
	if (status == 200 && opened)
		snprintf(session_text, sizeof session_text, "%s", opened);
	cJSON_Delete(json);
}

static void remove_below(int folder_fd)
{
	DIR *folder = fdopendir(folder_fd);
	assert(folder);
	struct dirent *item;
	while ((item = readdir(folder))) {
		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(folder), item->d_name, 0) == 0)
			continue;
		int below = openat(dirfd(folder), item->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		assert(below >= 0);
		remove_below(below);
		unlinkat(dirfd(folder), item->d_name, AT_REMOVEDIR);
	}
	closedir(folder);
}

/* The digest stays when the disk is read again, and the folder above holds the root alone. */
static void check(srv_mirrors *m)
{
	hob_error error;
	srv_tree *tree = &m->trees[0];
	if (!tree->log)
		return;
	hob_sha256 before = srv_tree_digest(tree, (hob_str){0}, NULL, NULL);
	for (uint32_t i = 0; i < tree->count; i++) {
		assert(!hob_path_unportable(tree->entries[i]->path));
		assert(!hob_str_starts(tree->entries[i]->path, HOB_STR(SRV_MIRROR_AREA "/")));
	}
	assert(srv_tree_check(tree, &error));
	hob_sha256 after = srv_tree_digest(tree, (hob_str){0}, NULL, NULL);
	assert(hob_sha256_equal(&before, &after));
	DIR *folder = opendir(above);
	struct dirent *item;
	while (folder && (item = readdir(folder)))
		assert(item->d_name[0] == '.' || strcmp(item->d_name, "root") == 0);
	closedir(folder);
}

static void put_body(hob_buf *out, hob_str body)
{
	for (size_t i = 0; i < body.len; i++) {
		if (body.data[i] != '@' || i + 1 == body.len) {
			hob_buf_put(out, body.data + i, 1);
		} else if (body.data[++i] == 's') {
			hob_buf_put_str(out, hob_str_of(session_text));
		} else {
			char text[HOB_SHA256_TEXT + 1];
			hob_sha256 digest = digest_of(blobs[(uint8_t)body.data[i] % HOB_COUNT_OF(blobs)]);
			hob_sha256_text(&digest, text);
			hob_buf_put(out, text, HOB_SHA256_TEXT);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const tags[] = {"session", "changes", "manifest", "origin", "list", "again"};
	char root[80];
	hob_str rest = {(const char *)data, size};
	if (size > 65536)
		return 0;
	if (!above[0]) {
		snprintf(above, sizeof above, "%s/hob-fuzz-XXXXXX",
				 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		assert(mkdtemp(above));
		srv_log_init(SRV_LOG_ERROR, false);
	}
	snprintf(root, sizeof root, "%s/root", above);
	mkdir(root, 0700);
	char *names[] = {"art"};
	srv_tree trees[1] = {{.path = strdup(root), .fd = -1}};
	srv_mirrors m = {.names = names, .trees = trees, .count = 1, .version = "0.2.0"};
	session_text[0] = 0;
	while (rest.len > 0) {
		size_t end = hob_str_find(rest, (hob_str){"", 1}, 1);
		hob_buf text = {0};
		size_t kind = (uint8_t)rest.data[0] % HOB_COUNT_OF(tags);
		end = end == SIZE_MAX ? rest.len : end;
		put_body(&text, hob_str_sub(rest, 1, end));
		bool folder = (uint8_t)rest.data[0] & 64;
		rest = hob_str_sub(rest, end + 1, rest.len);
		if (kind == 5) { /* the daemon is started again */
			for (uint32_t i = 0; i < m.session_count; i++)
				session_release(&m.sessions[i]);
			m.session_count = 0;
			srv_tree_release(&trees[0]);
			trees[0] = (srv_tree){.path = strdup(root), .fd = -1};
		} else {
			answer(&m, &(srv_control){.kind = SRV_CONTROL_MIRROR,
									  .asset = kind == 4 ? (hob_str){0} : HOB_STR("art"),
									  .tag = hob_str_of(tags[kind]),
									  .text = hob_buf_str(&text),
									  .answer = on_answer,
									  .file = kind == 3 ? hob_buf_str(&text)
											  : folder	? HOB_STR("anna")
														: (hob_str){0}});
			check(&m);
		}
		hob_buf_release(&text);
	}
	for (uint32_t i = 0; i < m.session_count; i++)
		session_release(&m.sessions[i]);
	free(m.sessions);
	srv_tree_release(&trees[0]);
	remove_below(open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	rmdir(root);
	return 0;
}
