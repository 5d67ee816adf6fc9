#include "offer.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../fs/beneath.h"
#include "../fs/transfer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

typedef struct making {
	const cook_plan *plan;
	const char *without;
	uint64_t most;
	srv_farm *farm;
	void *blobs;
	const _Atomic bool *stop;
	hob_buf list;
	hob_error *err;
} making;

static bool upload(making *m, int fd, uint64_t size, const hob_sha256 *digest)
{
	const srv_farm_blobs *blobs = srv_farm_blobs_of(m->farm);
	char name[SRV_FARM_BLOB_NAME], text[HOB_SHA256_TEXT + 1];
	srv_farm_why why = {""};
	uint64_t there = 0;
	srv_farm_blob_name(digest, name);
	hob_sha256_text(digest, text);
	srv_farm_end end = blobs->head(m->blobs, name, &there, &why);
	if (end == SRV_FARM_NONE || (end == SRV_FARM_OK && there != size))
		end = blobs->put(m->blobs, name, fd, size, text, &why);
	return end == SRV_FARM_OK || hob_fail(m->err, IO, "%s", why.text);
}

/* A file that cannot be read, or is too large, is left out: models that need it are cooked here. */
static bool offer_file(making *m, const char *path)
{
	struct stat info;
	hob_sha256 digest;
	uint64_t size = 0;
	bool ok = true;
	int fd = srv_open_beneath(m->plan->root_fd, path, O_RDONLY, true);
	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size <= m->most &&
		srv_hash_rest(fd, NULL, &digest, &size)) {
		ok = upload(m, fd, size, &digest);
		hob_json_put(&m->list, HOB_JSON_OPEN(NULL, '['), HOB_JSON(NULL, path), HOB_JSON(NULL, size),
					 HOB_JSON_DIGEST(NULL, &digest), HOB_JSON_CLOSE(']'));
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool offer_folder(making *m, const char *folder, int depth)
{
	char path[4096], whole[4200];
	int fd = srv_open_beneath(m->plan->root_fd, folder, O_RDONLY | O_DIRECTORY, false);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	bool ok = true;
	if (!list && fd >= 0)
		close(fd);
	for (struct dirent *entry; ok && list && (entry = readdir(list));) {
		struct stat info;
		int length = snprintf(path, sizeof path, "%s%s%s", folder, folder[0] ? "/" : "", entry->d_name);
		if (atomic_load(m->stop))
			ok = hob_fail(m->err, CANCELLED, "all is cooked");
		if (!ok || length >= (int)sizeof path || fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		snprintf(whole, sizeof whole, "%s/%s", m->plan->root, path);
		if (!S_ISDIR(info.st_mode))
			ok = offer_file(m, path);
		else if (entry->d_name[0] != '.' && depth < DEPTH_MAX &&
				 !(m->without && strcmp(whole, m->without) == 0))
			ok = offer_folder(m, path, depth + 1);
	}
	if (list)
		closedir(list);
	return ok;
}

/* Most models have the settings of the one before. */
static void put_models(making *m, const hob_sha256 *lookups)
{
	const cook_plan *plan = m->plan;
	const hob_settings *last = NULL;
	uint32_t place = 0;
	hob_buf models = {0};
	hob_json_put(&m->list, HOB_JSON_OPEN("settings", '['));
	hob_json_open(&models, '[');
	for (uint32_t i = 0; i < plan->count; i++) {
		const cook_entry *entry = &plan->entries[i];
		if (hob_sha256_equal(&lookups[i], &(hob_sha256){{0}}))
			continue;
		if (!last || memcmp(last, &entry->settings, sizeof *last) != 0) {
			hob_buf text = {0};
			hob_settings_print(&entry->settings, &text);
			hob_json_raw(&m->list, hob_buf_str(&text));
			hob_buf_release(&text);
			place += last != NULL;
			last = &entry->settings;
		}
		hob_json_object(&models, HOB_JSON("path", entry->path), HOB_JSON_DIGEST("lookup", &lookups[i]),
						HOB_JSON("settings", place));
	}
	hob_json_close(&models, ']');
	hob_json_put(&m->list, HOB_JSON_CLOSE(']'), HOB_JSON_RAW("models", hob_buf_str(&models)));
	hob_buf_release(&models);
}

static bool upload_list(making *m, hob_sha256 *list)
{
	hob_str text = hob_buf_str(&m->list);
	*list = hob_sha256_of((hob_bytes){(const uint8_t *)text.data, text.len});
	int fd = memfd_create("hob-offer", MFD_CLOEXEC);
	bool ok = fd >= 0 && !m->list.failed && write(fd, text.data, text.len) == (ssize_t)text.len;
	ok = ok ? upload(m, fd, text.len, list) : hob_fail(m->err, MEMORY, "no memory left for an offer");
	if (fd >= 0)
		close(fd);
	return ok;
}

bool srv_offer_make(const cook_plan *plan, const hob_sha256 *lookups, const char *without, uint64_t most,
					srv_farm *farm, const _Atomic bool *stop, hob_sha256 *list, hob_error *err)
{
	srv_farm_why why = {""};
	making m = {.plan = plan,
				.without = without,
				.most = most,
				.farm = farm,
				.blobs = srv_farm_blobs_open(farm, &why),
				.stop = stop,
				.err = err};
	bool ok = m.blobs != NULL;
	if (!ok)
		(void)hob_fail(err, MEMORY, "no memory left for an offer");
	hob_json_put(&m.list, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("hob_offer", 1), HOB_JSON_OPEN("files", '['));
	ok = ok && offer_folder(&m, "", 0);
	hob_json_close(&m.list, ']');
	put_models(&m, lookups);
	hob_json_close(&m.list, '}');
	ok = ok && upload_list(&m, list);
	if (m.blobs)
		srv_farm_blobs_of(farm)->close(m.blobs);
	hob_buf_release(&m.list);
	return ok;
}
