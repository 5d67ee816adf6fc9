#include "engine_private.h"

#include "../fs/beneath.h"
#include "../../core/base/json_write.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Settings of one asset as people see and change them. Layers, the last wins: built-in, the daemon's own, each cook.json
 * from the root down, the sidecar MODEL.cook.json. Only the sidecar is ever written, as a whole and by rename. */

enum { FILE_MAX = 1 << 20, LAYERS_MAX = 64, NAME_BYTES = 256 };

static const char *const setting_paths[] = {
#define SETTING(field, type, path, value, min, max, doc) path,
#define SETTING_CHOICE(field, index, name)
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
};

typedef struct layer {
	char *path; /* below the root */
	hob_buf text;
	cJSON *json;
	bool there;
} layer;

typedef struct layers {
	layer items[LAYERS_MAX]; /* outermost folder first, the sidecar last */
	uint32_t count;
	hob_settings own, settings;		/* own: of the daemon for this root */
	char etag[HOB_SHA256_TEXT + 3]; /* of the sidecar */
} layers;

static bool read_file(int root_fd, const char *path, hob_buf *out, bool *there, hob_error *err)
{
	int fd = srv_open_beneath(root_fd, path, O_RDONLY, true);
	*there = fd >= 0;
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ||
			   hob_fail(err, IO, "%s cannot be read: %s", path, strerror(errno));
	uint8_t *room = hob_buf_grow(out, FILE_MAX);
	ssize_t got = room ? read(fd, room, FILE_MAX) : -1;
	close(fd);
	if (got < 0 || got == FILE_MAX)
		return hob_fail(err, CONFIG, "%s cannot be read or is larger than 1 MiB", path);
	out->size -= FILE_MAX - (size_t)got;
	return true;
}

static void release(layers *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		cJSON_Delete(l->items[i].json);
		hob_buf_release(&l->items[i].text);
		free(l->items[i].path);
	}
	free(l);
}

static layer *sidecar_of(layers *l)
{
	return &l->items[l->count - 1];
}

static void make_etag(layers *l)
{
	const layer *sidecar = sidecar_of(l);
	char text[HOB_SHA256_TEXT + 1] = "none";
	hob_sha256 digest = hob_sha256_of(hob_buf_bytes(&sidecar->text));
	if (sidecar->there)
		hob_sha256_text(&digest, text);
	snprintf(l->etag, sizeof l->etag, "\"%s\"", text);
}

/* Reads every layer; without `checked` what is wrong in them is no error. */
static bool load(srv_engine *engine, const asset *a, bool checked, layers *l, hob_error *err)
{
	hob_str path = hob_str_of(a->path);
	l->own = l->settings = engine->root_settings[a->root];
	for (size_t i = 0; i <= path.len; i++) {
		bool top = i == 0, end = i == path.len;
		if ((!top && !end && path.data[i] != '/') || l->count == LAYERS_MAX)
			continue;
		layer *at = &l->items[l->count++];
		int printed = end	? asprintf(&at->path, "%s.cook.json", a->path)
					  : top ? asprintf(&at->path, "cook.json")
							: asprintf(&at->path, "%.*s/cook.json", (int)i, path.data);
		if (printed < 0) {
			at->path = NULL;
			return hob_fail(err, MEMORY, "no memory left to read settings");
		}
		if (!read_file(engine->root_fds[a->root], at->path, &at->text, &at->there, err))
			return false;
		if (!at->there)
			continue;
		at->json = cJSON_ParseWithLength((const char *)at->text.data, at->text.size);
		if (!hob_settings_overlay(&l->settings, hob_buf_str(&at->text), hob_str_of(at->path), err) && checked)
			return false;
	}
	make_etag(l);
	return true;
}

/* ---- telling */

static bool says(const cJSON *json, const char *path)
{
	char group[64];
	const char *dot = strchr(path, '.');
	if (cJSON_HasObjectItem(json, path) ||
		(strcmp(path, "lods.max") == 0 && cJSON_HasObjectItem(json, "calculate_LODs")))
		return true;
	if (!dot)
		return false;
	snprintf(group, sizeof group, "%.*s", (int)(dot - path), path);
	return cJSON_HasObjectItem(cJSON_GetObjectItemCaseSensitive(json, group), dot + 1);
}

static const cJSON *value_at(const cJSON *json, const char *path)
{
	char group[64];
	const char *dot = strchr(path, '.');
	if (!dot)
		return cJSON_GetObjectItemCaseSensitive(json, path);
	snprintf(group, sizeof group, "%.*s", (int)(dot - path), path);
	return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, group), dot + 1);
}

static void put_origins(const layers *l, hob_buf *out)
{
	hob_settings built_in;
	hob_settings_init(&built_in);
	cJSON *initial = hob_settings_json(&built_in), *own = hob_settings_json(&l->own);
	hob_json_open(out, '{');
	for (size_t i = 0; i < HOB_COUNT_OF(setting_paths); i++) {
		const char *path = setting_paths[i];
		const char *origin =
			cJSON_Compare(value_at(initial, path), value_at(own, path), true) ? "default" : "hob.json";
		for (uint32_t n = 0; n < l->count; n++)
			if (says(l->items[n].json, setting_paths[i]))
				origin = l->items[n].path;
		hob_json_put_str(out, setting_paths[i], hob_str_of(origin));
	}
	hob_json_close(out, '}');
	cJSON_Delete(initial);
	cJSON_Delete(own);
}

static void tell(srv_control *control, layers *l)
{
	hob_buf body = {0}, value = {0};
	const layer *sidecar = sidecar_of(l);
	hob_settings_print(&l->settings, &value);
	hob_json_open(&body, '{');
	hob_json_put_str(&body, "asset", control->asset);
	hob_json_key(&body, "settings");
	hob_json_raw(&body, hob_buf_str(&value));
	hob_json_key(&body, "origins");
	put_origins(l, &body);
	hob_json_key(&body, "sidecar");
	hob_json_open(&body, '{');
	hob_json_put_str(&body, "path", hob_str_of(sidecar->path));
	hob_json_key(&body, "exists");
	hob_json_bool(&body, sidecar->there);
	char *text = cJSON_PrintUnformatted(sidecar->json);
	hob_json_key(&body, "value");
	hob_json_raw(&body, hob_str_of(text));
	cJSON_free(text);
	hob_json_close(&body, '}');
	hob_json_close(&body, '}');
	memcpy(control->etag, l->etag, sizeof l->etag);
	control->answer(control, 200, hob_buf_str(&body));
	hob_buf_release(&body);
	hob_buf_release(&value);
}

cJSON *engine_setting_origins(srv_engine *engine, const asset *a)
{
	hob_error ignored;
	hob_buf text = {0};
	layers *l = calloc(1, sizeof *l);
	if (l && load(engine, a, false, l, &ignored))
		put_origins(l, &text);
	if (l)
		release(l);
	cJSON *json = cJSON_ParseWithLength((const char *)text.data, text.size);
	hob_buf_release(&text);
	return json;
}

/* ---- changing */

/* RFC 7396. */
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

static bool write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t step = write(fd, data, size);
		if (step <= 0)
			return false;
		data += step;
		size -= (size_t)step;
	}
	return true;
}

static int open_folder(srv_engine *engine, const asset *a, const char *path, const char **name)
{
	char folder[4096] = "";
	const char *slash = strrchr(path, '/');
	*name = slash ? slash + 1 : path;
	if (slash)
		snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
	return srv_open_beneath(engine->root_fds[a->root], folder, O_RDONLY | O_DIRECTORY, true);
}

static bool write_file(srv_engine *engine, const asset *a, const char *path, const char *text, hob_error *err)
{
	const char *name;
	char temporary[NAME_BYTES];
	int folder = open_folder(engine, a, path, &name);
	snprintf(temporary, sizeof temporary, ".%.200s.hob-new", name);
	int fd = -1;
	if (folder >= 0) {
		unlinkat(folder, temporary, 0);
		fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	}
	bool ok = fd >= 0 && write_all(fd, text, strlen(text)) && write_all(fd, "\n", 1) && fsync(fd) == 0 &&
			  renameat(folder, temporary, folder, name) == 0;
	if (!ok) {
		int code = errno;
		(void)hob_fail(err, IO, "%s cannot be written: %s", path, strerror(code));
		if (code == ENOSPC || code == EDQUOT)
			err->code = HOB_ERR_DISK_FULL;
		if (fd >= 0)
			unlinkat(folder, temporary, 0);
	}
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
	return ok;
}

static bool patch(srv_engine *engine, const asset *a, srv_control *control, layers *l, hob_error *err)
{
	layer *sidecar = sidecar_of(l);
	cJSON *change = cJSON_ParseWithLength(control->text.data, control->text.len);
	if (!cJSON_IsObject(change)) {
		cJSON_Delete(change);
		return hob_fail(err, BAD_REQUEST, "the body is not a JSON object such as {\"lods\":{\"max\":3}}");
	}
	if (sidecar->there && !cJSON_IsObject(sidecar->json)) {
		cJSON_Delete(change);
		return hob_fail(err, CONFIG, "%s is not a JSON object: mend it, or DELETE these settings",
						sidecar->path);
	}
	sidecar->json = merge(sidecar->json, change);
	cJSON_Delete(change);
	char *text = cJSON_Print(sidecar->json);
	hob_settings checked = engine->root_settings[a->root];
	bool ok = text ? hob_settings_overlay(&checked, hob_str_of(text), hob_str_of(sidecar->path), err)
				   : hob_fail(err, MEMORY, "no memory left for the settings");
	ok = ok && write_file(engine, a, sidecar->path, text, err);
	cJSON_free(text);
	return ok;
}

static bool remove_sidecar(srv_engine *engine, const asset *a, const layers *l, hob_error *err)
{
	const char *name, *path = l->items[l->count - 1].path;
	int folder = open_folder(engine, a, path, &name);
	bool ok = folder >= 0 && (unlinkat(folder, name, 0) == 0 || errno == ENOENT);
	if (!ok)
		(void)hob_fail(err, IO, "%s cannot be deleted: %s", path, strerror(errno));
	if (folder >= 0)
		close(folder);
	return ok;
}

static bool fits(const layers *l, hob_str tag)
{
	return hob_str_equal(tag, hob_str_of(l->etag)) ||
		   (hob_str_equal(tag, HOB_STR("*")) && l->items[l->count - 1].there);
}

void engine_settings(srv_engine *engine, srv_control *control)
{
	asset *a = engine_asked_asset(engine, control);
	if (!a)
		return;
	if (engine_root_is_away(engine, a->root)) {
		engine_answer_missing(engine, control, a);
		return;
	}
	hob_error error = {0};
	bool reads = control->kind == SRV_CONTROL_SETTINGS;
	layers *l = calloc(1, sizeof *l), *after = calloc(1, sizeof *after);
	if (!l || !after || !load(engine, a, false, l, &error)) {
		if (!l || !after)
			(void)hob_fail(&error, MEMORY, "no memory left to read settings");
		engine_refuse(control, 0, &error);
	} else if (reads) {
		tell(control, l);
	} else if (!fits(l, control->tag)) {
		engine_answer(control, 412, "http.precondition-failed",
					  "the sidecar is not what If-Match names any more");
	} else if (control->kind == SRV_CONTROL_SETTINGS_DELETE) {
		if (remove_sidecar(engine, a, l, &error))
			control->answer(control, 204, (hob_str){0});
		else
			engine_refuse(control, 0, &error);
	} else if (!patch(engine, a, control, l, &error) || !load(engine, a, false, after, &error)) {
		engine_refuse(control, 0, &error);
	} else {
		tell(control, after);
	}
	if (l)
		release(l);
	if (after)
		release(after);
}
