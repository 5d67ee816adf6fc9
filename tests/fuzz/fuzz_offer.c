/* Any bytes as the list of cooks that a machine of a farm offers to workers: only empty files inside the
 * worker's folder are made for the list, and each model is one of the list's paths.
 *
 * Links: srv_cli
 * Run:   fuzz_offer tests/fuzz/corpus/offer */
#include "server/farm/farm.c"

#include "server/cli/offer.h"

#include <assert.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static hob_bytes input;

static void *fake_open(const srv_farm_place *place, srv_farm_why *why)
{
	(void)place, (void)why;
	return &input;
}

static void fake_close(void *handle)
{
	assert(!handle || handle == &input);
}

static srv_farm_end fake_get(void *handle, const char *name,
							 bool (*take)(void *user, const void *data, size_t size), void *user,
							 srv_farm_why *why)
{
	(void)handle, (void)name, (void)why;
	return take(user, input.data, input.size) ? SRV_FARM_OK : SRV_FARM_REFUSED;
}

static const srv_farm_blobs blobs = {.open = fake_open, .close = fake_close, .get = fake_get};
static const srv_farm_module module = {.library = "", .blobs = &blobs};

static uint32_t files_seen;

static int see_file(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)path, (void)where;
	assert(kind == FTW_D || (kind == FTW_F && info->st_size == 0));
	files_seen += kind == FTW_F;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	srv_farm f = {.blob_module = &module};
	offer *o;
	cook_plan plan;
	hob_error err;
	input = (hob_bytes){data, size};
	hob_sha256 list = hob_sha256_of(input);
	setenv("TMPDIR", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", 1);
	if (!srv_offer_open(&f, &list, &o, &err)) {
		assert(err.context[0]);
		return 0;
	}
	assert(srv_offer_plan(o, &plan, &err));
	files_seen = 0;
	assert(nftw(plan.root, see_file, 16, FTW_PHYS) == 0);
	for (uint32_t i = 0; i < plan.count; i++) {
		const char *path = plan.entries[i].path;
		assert(path[0] && path[0] != '/' && strncmp(path, "../", 3) != 0 && !strstr(path, "/../"));
		(void)!srv_offer_bring(o, path, NULL);
	}
	char *root = strdup(plan.root);
	srv_cook_plan_release(&plan);
	srv_offer_close(o);
	assert(root && access(root, F_OK) != 0);
	free(root);
	return 0;
}
