#include "cook_run_private.h"

#include "../../core/base/json_write.h"
#include "../fs/beneath.h"
#include "../fs/fd.h"
#include "../fs/folder.h"
#include "../fs/transfer.h"
#include "../reuse/kept.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A thread lists and uploads the regular files below the plan's root, then the offer (see offer.h). Hidden
 * folders, the folder of the results, and files too large for a cook are left out. */

enum { DEPTH_MAX = 64 };

typedef struct offering {
	run *r;
	uv_work_t work;
	char *without;
	uint64_t most;
	srv_farm *farm;
	void *blobs;
	_Atomic bool stop;
	bool made, done;
	hob_buf list;
	uint32_t models;
	hob_error error;
} offering;

static bool upload(offering *o, int fd, uint64_t size, const hob_sha256 *digest)
{
	const srv_farm_blobs *blobs = srv_farm_blobs_of(o->farm);
	char name[SRV_FARM_BLOB_NAME], text[HOB_SHA256_TEXT + 1];
	srv_farm_why why = {""};
	uint64_t there = 0;
	srv_farm_blob_name(digest, name);
	hob_sha256_text(digest, text);
	srv_farm_end end = blobs->head(o->blobs, name, &there, &why);
	if (end == SRV_FARM_NONE || (end == SRV_FARM_OK && there != size))
		end = blobs->put(o->blobs, name, fd, size, text, &why);
	return end == SRV_FARM_OK || hob_fail(&o->error, IO, "%s", why.text);
}

/* Uploads a file. A large or unreadable one is left out: models that need it are cooked here. */
static bool offer_file(offering *o, const char *path)
{
	struct stat info;
	hob_sha256 digest;
	uint64_t size = 0;
	bool ok = true;
	srv_own_fd fd = srv_open_beneath(o->r->plan.root_fd, path, O_RDONLY, true);
	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size <= o->most &&
		srv_hash_rest(fd, NULL, &digest, &size)) {
		ok = upload(o, fd, size, &digest);
		hob_json_put(&o->list, HOB_JSON_OPEN(NULL, '['), HOB_JSON(NULL, path), HOB_JSON(NULL, size),
					 HOB_JSON_DIGEST(NULL, &digest), HOB_JSON_CLOSE(']'));
	}
	return ok;
}

static bool offer_folder(offering *o, const char *folder, int depth)
{
	char path[4096], whole[4200];
	srv_own_folder *list =
		srv_folder_of(srv_open_beneath(o->r->plan.root_fd, folder, O_RDONLY | O_DIRECTORY, false));
	bool ok = true;
	for (struct dirent *entry; ok && (entry = srv_folder_next(list));) {
		struct stat info;
		int length = snprintf(path, sizeof path, "%s%s%s", folder, folder[0] ? "/" : "", entry->d_name);
		if (atomic_load(&o->stop))
			ok = hob_fail(&o->error, CANCELLED, "all is cooked");
		if (!ok || length >= (int)sizeof path ||
			fstatat(dirfd(list), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		snprintf(whole, sizeof whole, "%s/%s", o->r->plan.root, path);
		if (!S_ISDIR(info.st_mode))
			ok = offer_file(o, path);
		else if (entry->d_name[0] != '.' && depth < DEPTH_MAX &&
				 !(o->without && strcmp(whole, o->without) == 0))
			ok = offer_folder(o, path, depth + 1);
	}
	return ok;
}

/* Computes the lookup that a worker must compute, too. False: the model is not offered. */
static bool find_lookup(const offering *o, const cook_entry *entry, hob_sha256 *lookup)
{
	hob_sha256 source;
	hob_ingredients of;
	const srv_pool_importer *importer = srv_pool_importer_for(o->r->pool, hob_str_of(entry->path));
	if (entry->text || entry->settings_error.code != HOB_ERR_OK || !importer)
		return false;
	int fd = srv_open_beneath(o->r->plan.root_fd, entry->path, O_RDONLY, true);
	bool readable = fd >= 0 && srv_hash_rest(fd, NULL, &source, NULL);
	srv_close(fd);
	of = srv_kept_ingredients(importer, hob_str_of(entry->path), &entry->settings);
	*lookup = hob_cook_lookup(&source, &of);
	return readable;
}

/* Lists the models. Equal settings of consecutive models are written once. */
static bool put_models(offering *o)
{
	const hob_settings *last = NULL;
	uint32_t place = 0;
	hob_own_buf models = {0};
	hob_sha256 lookup;
	hob_json_put(&o->list, HOB_JSON_OPEN("settings", '['));
	hob_json_open(&models, '[');
	for (uint32_t i = 0; i < o->r->plan.count && !atomic_load(&o->stop); i++) {
		const cook_entry *entry = &o->r->plan.entries[i];
		if (!find_lookup(o, entry, &lookup))
			continue;
		if (!last || memcmp(last, &entry->settings, sizeof *last) != 0) {
			hob_own_buf text = {0};
			hob_settings_print(&entry->settings, &text);
			hob_json_raw(&o->list, hob_buf_str(&text));
			place += last != NULL;
			last = &entry->settings;
		}
		hob_json_object(&models, HOB_JSON("path", entry->path), HOB_JSON_DIGEST("lookup", &lookup),
						HOB_JSON("settings", place));
		o->models++;
	}
	hob_json_close(&models, ']');
	hob_json_put(&o->list, HOB_JSON_CLOSE(']'), HOB_JSON_RAW("models", hob_buf_str(&models)));
	return !atomic_load(&o->stop) || hob_fail(&o->error, CANCELLED, "all is cooked");
}

static bool upload_list(offering *o, hob_sha256 *list)
{
	hob_str text = hob_buf_str(&o->list);
	*list = hob_sha256_of((hob_bytes){(const uint8_t *)text.data, text.len});
	srv_own_fd fd = memfd_create("hob-offer", MFD_CLOEXEC);
	bool ok = fd >= 0 && !o->list.failed && write(fd, text.data, text.len) == (ssize_t)text.len;
	return ok ? upload(o, fd, text.len, list) : hob_fail(&o->error, MEMORY, "no memory left for an offer");
}

static void make(uv_work_t *work)
{
	offering *o = work->data;
	hob_sha256 list;
	srv_farm_why why = {""};
	o->blobs = srv_farm_blobs_open(o->farm, &why);
	bool ok = o->blobs || hob_fail(&o->error, MEMORY, "no memory left for an offer");
	hob_json_put(&o->list, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("hob_offer", 1), HOB_JSON_OPEN("files", '['));
	ok = ok && offer_folder(o, "", 0);
	hob_json_close(&o->list, ']');
	ok = ok && put_models(o);
	hob_json_close(&o->list, '}');
	ok = ok && upload_list(o, &list);
	o->made = ok && srv_farm_offer(o->farm, &list, o->models, &why) == SRV_FARM_OK;
	if (ok && !o->made)
		(void)hob_fail(&o->error, IO, "%s", why.text);
	if (o->blobs)
		srv_farm_blobs_of(o->farm)->close(o->blobs);
	hob_buf_release(&o->list);
}

static void made(uv_work_t *work, int status)
{
	(void)status;
	offering *o = work->data;
	run *r = o->r;
	o->done = true;
	if (!o->made && o->error.code != HOB_ERR_CANCELLED)
		fprintf(stderr, "%s: nothing is offered to workers: %s\n", r->options->who, o->error.context);
	else if (o->made && !r->options->quiet)
		fprintf(stderr, "%s: offered to the workers of the farm\n", r->options->who);
	srv_cook_run_finish_if_over(r);
}

void srv_cook_run_offer(run *r)
{
	const cook_run_options *options = r->options;
	if (!options->offer || !options->upstream->has_farm || r->plan.count == 0)
		return;
	offering *o = calloc(1, sizeof *o);
	if (!o)
		return;
	o->r = r;
	o->work.data = o;
	o->farm = srv_upstream_farm(srv_batch_upstream(r->engine));
	o->without = realpath(r->options->write.out, NULL);
	o->most = srv_config_number(options->config, SRV_CONFIG_source_limit);
	r->offering = o;
	uv_queue_work(&r->loop, &o->work, make, made);
}

bool srv_cook_run_end_offer(run *r)
{
	offering *o = r->offering;
	if (!o)
		return true;
	atomic_store(&o->stop, true);
	if (!o->done)
		return false;
	srv_farm_why why = {""};
	if (o->made)
		(void)srv_farm_withdraw(o->farm, &why); /* on failure, the offer expires once our heartbeats stop */
	free(o->without);
	free(o);
	r->offering = NULL;
	return true;
}
