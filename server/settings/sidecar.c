#include "sidecar.h"
#include "chain.h"

#include "../fs/beneath.h"
#include "../fs/fd.h"
#include "../fs/folder.h"
#include "../fs/transfer.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { TEMPORARY_NAME = 256 };

typedef struct sidecar {
	char path[PATH_MAX];
	hob_buf text;
	bool exists;
} sidecar;

void srv_sidecar_tag(bool exists, hob_str text, char out[SRV_SIDECAR_TAG])
{
	char digits[HOB_SHA256_TEXT + 1] = "none";
	hob_sha256 digest = hob_sha256_of((hob_bytes){(const uint8_t *)text.data, text.len});
	if (exists)
		hob_sha256_text(&digest, digits);
	snprintf(out, SRV_SIDECAR_TAG, "\"%s\"", digits);
}

static bool open_sidecar(int root_fd, hob_str file, sidecar *out, hob_error *err)
{
	*out = (sidecar){0};
	int length = snprintf(out->path, sizeof out->path, "%.*s", HOB_FMT(file));
	if (file.len == 0 || length >= (int)sizeof out->path)
		return hob_fail(err, CONFIG, "the path is too long for a settings file");
	return srv_settings_read(root_fd, out->path, &out->text, &out->exists, err);
}

static bool matches(const sidecar *s, hob_str if_match)
{
	char tag[SRV_SIDECAR_TAG];
	srv_sidecar_tag(s->exists, hob_buf_str(&s->text), tag);
	return hob_str_equal(if_match, hob_str_of(tag)) || (s->exists && hob_str_equal(if_match, HOB_STR("*")));
}

/* Opens the folder of `path` beneath the root. *name: its last part, which is not opened. */
static int open_folder(int root_fd, const char *path, const char **name)
{
	char folder[PATH_MAX] = "";
	const char *slash = strrchr(path, '/');
	*name = slash ? slash + 1 : path;
	if (slash)
		memcpy(folder, path, (size_t)(slash - path));
	return srv_open_beneath(root_fd, folder, O_RDONLY | O_DIRECTORY, true);
}

static bool write_sidecar(int root_fd, const char *path, const char *text, hob_error *err)
{
	const char *name;
	char temporary[TEMPORARY_NAME];
	srv_own_fd folder = open_folder(root_fd, path, &name);
	snprintf(temporary, sizeof temporary, ".%.200s.hob-new", name);
	int fd = folder >= 0 ? srv_replace_begin(folder, temporary, 0666) : -1;
	bool ok =
		fd >= 0 && srv_write_all(fd, text, strlen(text)) && srv_write_all(fd, "\n", 1) && fsync(fd) == 0;
	ok = srv_replace_end(folder, temporary, fd, ok, name);
	if (!ok) {
		bool full = errno == ENOSPC || errno == EDQUOT;
		(void)hob_fail(err, IO, "%s cannot be written: %s", path, strerror(errno));
		if (full)
			err->code = HOB_ERR_DISK_FULL;
	}
	return ok;
}

static cJSON *merge(cJSON *target, const cJSON *patch)
{
	if (!cJSON_IsObject(patch)) {
		cJSON_Delete(target);
		return cJSON_Duplicate(patch, true);
	}
	if (!cJSON_IsObject(target)) {
		cJSON_Delete(target);
		target = cJSON_CreateObject();
	}
	const cJSON *item;
	cJSON_ArrayForEach(item, patch)
	{
		cJSON *old = cJSON_DetachItemFromObjectCaseSensitive(target, item->string);
		if (cJSON_IsNull(item))
			cJSON_Delete(old);
		else
			cJSON_AddItemToObject(target, item->string, merge(old, item));
	}
	return target;
}

static bool apply(const sidecar *s, int root_fd, hob_str patch, hob_error *err)
{
	hob_own_json *change = cJSON_ParseWithLength(patch.data, patch.len);
	hob_own_json *value = s->exists ? cJSON_ParseWithLength((const char *)s->text.data, s->text.size) : NULL;
	hob_own char *text = NULL;
	hob_settings checked;
	hob_settings_init(&checked);
	bool ok = cJSON_IsObject(change) ||
			  hob_fail(err, BAD_REQUEST, "the body is not a JSON object such as {\"lods\":{\"max\":3}}");
	ok = ok && (!s->exists || cJSON_IsObject(value) ||
				hob_fail(err, CONFIG, "%s is not a JSON object: fix it, or DELETE these settings", s->path));
	if (ok && !s->exists) {
		value = cJSON_CreateObject();
		cJSON_AddStringToObject(value, "$schema", "http://127.0.0.1:7780/api/v1/schema/settings.json");
	}
	if (ok) {
		value = merge(value, change);
		text = cJSON_Print(value);
		ok = text || hob_fail(err, MEMORY, "no memory left for the settings");
	}
	return ok && hob_settings_overlay(&checked, hob_str_of(text), hob_str_of(s->path), err) &&
		   write_sidecar(root_fd, s->path, text, err);
}

srv_sidecar_result srv_sidecar_patch(int root_fd, hob_str file, hob_str if_match, hob_str patch,
									 hob_error *err)
{
	sidecar s;
	srv_sidecar_result result = SRV_SIDECAR_FAILED;
	if (open_sidecar(root_fd, file, &s, err))
		result = !matches(&s, if_match)			  ? SRV_SIDECAR_CHANGED
				 : apply(&s, root_fd, patch, err) ? SRV_SIDECAR_DONE
												  : SRV_SIDECAR_FAILED;
	hob_buf_release(&s.text);
	return result;
}

static bool delete_sidecar(int root_fd, const char *path, hob_error *err)
{
	const char *name;
	srv_own_fd folder = open_folder(root_fd, path, &name);
	bool ok = folder >= 0 && (unlinkat(folder, name, 0) == 0 || errno == ENOENT);
	if (!ok)
		(void)hob_fail(err, IO, "%s cannot be deleted: %s", path, strerror(errno));
	return ok;
}

srv_sidecar_result srv_sidecar_delete(int root_fd, hob_str file, hob_str if_match, hob_error *err)
{
	sidecar s;
	srv_sidecar_result result = SRV_SIDECAR_FAILED;
	if (open_sidecar(root_fd, file, &s, err))
		result = !matches(&s, if_match)					? SRV_SIDECAR_CHANGED
				 : delete_sidecar(root_fd, s.path, err) ? SRV_SIDECAR_DONE
														: SRV_SIDECAR_FAILED;
	hob_buf_release(&s.text);
	return result;
}

bool srv_sidecar_move(int from_fd, hob_str from, int to_fd, hob_str to, bool *moved, hob_error *err)
{
	char old[PATH_MAX], new[PATH_MAX];
	const char *old_name, *new_name;
	*moved = false;
	int lengths[] = {snprintf(old, sizeof old, "%.*s.cook.json", HOB_FMT(from)),
					 snprintf(new, sizeof new, "%.*s.cook.json", HOB_FMT(to))};
	if (lengths[0] >= PATH_MAX || lengths[1] >= PATH_MAX)
		return true;
	srv_own_fd old_folder = open_folder(from_fd, old, &old_name),
			   new_folder = open_folder(to_fd, new, &new_name);
	bool both = old_folder >= 0 && new_folder >= 0;
	*moved = both && renameat2(old_folder, old_name, new_folder, new_name, RENAME_NOREPLACE) == 0;
	int code = errno;
	return !both || *moved || code == ENOENT || code == EEXIST ||
		   hob_fail(err, IO, "%s cannot be renamed to %s: %s", old, new, strerror(code));
}

/* Names of files beside a model that contain its name but are not models. */
static bool is_companion(hob_str name)
{
	static const char *const endings[] = {"json", "bin",  "mtl",  "png", "jpg",
										  "jpeg", "webp", "ktx2", "txt", "md"};
	hob_str ending = hob_path_extension(name);
	for (size_t i = 0; i < HOB_COUNT_OF(endings); i++)
		if (hob_str_equal_nocase(ending, hob_str_of(endings[i])))
			return true;
	return false;
}

const cJSON *srv_settings_value(const cJSON *settings, const char *path)
{
	char group[64];
	const char *dot = strchr(path, '.');
	if (!dot)
		return cJSON_GetObjectItemCaseSensitive(settings, path);
	snprintf(group, sizeof group, "%.*s", (int)(dot - path), path);
	return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(settings, group), dot + 1);
}

bool srv_sidecar_stray(int folder, const char *name, char *model)
{
	hob_str ending = HOB_STR(".cook.json"), whole = hob_str_of(name);
	if (whole.len <= ending.len ||
		!hob_str_equal(hob_str_sub(whole, whole.len - ending.len, whole.len), ending))
		return false;
	hob_str stem = hob_str_sub(whole, 0, whole.len - ending.len);
	memcpy(model, stem.data, stem.len);
	model[stem.len] = 0;
	srv_own_folder *list = faccessat(folder, model, F_OK, 0) != 0 ? srv_folder_open(folder, ".") : NULL;
	bool found = false;
	for (struct dirent *entry; !found && (entry = srv_folder_next(list));) {
		hob_str other = hob_str_of(entry->d_name);
		found = hob_str_starts(other, stem) && other.data[stem.len] == '.' && !is_companion(other);
		if (found)
			memcpy(model, other.data, other.len + 1);
	}
	return found;
}
