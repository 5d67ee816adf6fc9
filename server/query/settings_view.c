#include "question.h"

#include "../../core/base/json_write.h"
#include "../settings/chain.h"
#include "../settings/sidecar.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <limits.h>
#include <stdlib.h>

/* The settings of one asset, for people to see and change: effective values, and their layers. */

static const char *const setting_paths[] = {
#define SETTING(field, type, path, value, min, max, doc) path,
#define SETTING_CHOICE(field, index, name)
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
};

typedef struct layer {
	char *path; /* below the root */
	cJSON *json;
} layer;

typedef struct layers {
	layer *items; /* existing layers, outermost folder first, the sidecar last; owned */
	hob_str file; /* the layer reported as "sidecar"; empty: none */
	uint32_t count, capacity;
	hob_settings own, settings; /* `own`: the daemon's settings for this root */
	bool has_file, has_sidecar;
	char etag[SRV_SIDECAR_TAG]; /* of `file` */
} layers;

static void release(layers *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		cJSON_Delete(l->items[i].json);
		free(l->items[i].path);
	}
	free(l->items);
}

static void add_layer(layers *l, const srv_layer *from)
{
	if (!HOB_ROOM(l->items, l->capacity, l->count))
		abort();
	l->items[l->count++] = (layer){.path = hob_must(strndup(from->path.data, from->path.len)),
								   .json = cJSON_ParseWithLength(from->text.data, from->text.len)};
}

/* Adds a layer; leaves out an invalid one, which the cook reports. */
static bool take_layer(void *user, const srv_layer *from, hob_error *err)
{
	layers *l = user;
	hob_error wrong;
	l->has_sidecar = from->sidecar && from->exists;
	if (hob_str_equal(from->path, l->file)) {
		l->has_file = from->exists;
		srv_sidecar_tag(from->exists, from->text, l->etag);
	}
	if (from->exists && !hob_settings_overlay(&l->settings, from->text, from->path, &wrong) &&
		wrong.code != HOB_ERR_CONFIG) {
		*err = wrong;
		return false;
	}
	if (from->exists)
		add_layer(l, from);
	return true;
}

/* The former place of a moved model whose settings file is still there: its root and `model`; NULL: none. */
static const srv_view_root *left_behind(const question *q, const srv_view_asset *asset, hob_str *model)
{
	hob_str full = hob_str_of(asset->settings_of);
	size_t slash = hob_str_find(full, HOB_STR("/"), 0);
	if (slash == SIZE_MAX)
		return NULL;
	*model = hob_str_sub(full, slash + 1, full.len);
	return srv_query_root(q, hob_str_sub(full, 0, slash));
}

/* Takes a settings file that was left behind as if it were beside the model, where it will be. */
static bool take_left(const question *q, const srv_view_asset *asset, layers *l, hob_error *err)
{
	hob_str model;
	const srv_view_root *from = l->has_sidecar ? NULL : left_behind(q, asset, &model);
	char file[PATH_MAX], path[PATH_MAX];
	if (!from || snprintf(file, sizeof file, "%.*s.cook.json", HOB_FMT(model)) >= (int)sizeof file ||
		snprintf(path, sizeof path, "%.*s.cook.json", HOB_FMT(asset->path)) >= (int)sizeof path)
		return true;
	hob_own_buf text = {0};
	srv_layer left = {.path = hob_str_of(path), .sidecar = true};
	bool ok = srv_settings_read(from->folder, file, &text, &left.exists, err);
	left.text = hob_buf_str(&text);
	return ok && take_layer(l, &left, err);
}

static bool load(const question *q, const srv_view_root *root, const srv_view_asset *asset, hob_str file,
				 layers *l, hob_error *err)
{
	*l = (layers){.file = file, .own = root->settings, .settings = root->settings};
	return srv_settings_walk(root->folder, asset->path, take_layer, l, err) && take_left(q, asset, l, err);
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

static void put_origins(const layers *l, hob_buf *out)
{
	hob_settings built_in;
	hob_settings_init(&built_in);
	hob_own_json *initial = hob_settings_json(&built_in), *own = hob_settings_json(&l->own);
	hob_json_open(out, '{');
	for (size_t i = 0; i < HOB_COUNT_OF(setting_paths); i++) {
		const char *path = setting_paths[i];
		const char *origin =
			cJSON_Compare(srv_settings_value(initial, path), srv_settings_value(own, path), true)
				? "default"
				: "hob.json";
		for (uint32_t n = 0; n < l->count; n++)
			if (says(l->items[n].json, setting_paths[i]))
				origin = l->items[n].path;
		hob_json_put_str(out, setting_paths[i], hob_str_of(origin));
	}
	hob_json_close(out, '}');
}

static const cJSON *json_of_file(const layers *l)
{
	for (uint32_t i = 0; l->has_file && i < l->count; i++)
		if (hob_str_equal(hob_str_of(l->items[i].path), l->file))
			return l->items[i].json;
	return NULL;
}

static void tell(question *q, const layers *l)
{
	hob_own_buf value = {0};
	hob_buf *body = &q->body;
	hob_settings_print(&l->settings, &value);
	hob_json_put(body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("asset", q->control->asset),
				 HOB_JSON_RAW("settings", hob_buf_str(&value)), HOB_JSON_KEY("origins"));
	put_origins(l, body);
	hob_json_put(body, HOB_JSON_OPEN("sidecar", '{'), HOB_JSON("path", l->file),
				 HOB_JSON_BOOL("exists", l->has_file));
	hob_own char *text = cJSON_PrintUnformatted(json_of_file(l));
	hob_json_put(body, HOB_JSON_RAW("value", hob_str_of(text)));
	hob_json_put(body, HOB_JSON_CLOSE('}'), HOB_JSON_CLOSE('}'));
	memcpy(q->control->etag, l->etag, sizeof l->etag);
}

void srv_query_put_origins(const question *q, const srv_view_asset *asset, hob_buf *out)
{
	hob_error ignored;
	layers l;
	const srv_view_root *root = srv_query_root(q, asset->root);
	if (!root || root->missing_since_ms != 0)
		return;
	if (load(q, root, asset, (hob_str){0}, &l, &ignored))
		put_origins(&l, out);
	release(&l);
}

static int refuse(question *q, const hob_error *error)
{
	return srv_query_refuse(q, hob_err_http(error->code), hob_err_name(error->code), error->context);
}

static int tell_now(question *q, const srv_view_root *root, const srv_view_asset *asset, hob_str file)
{
	hob_error error;
	layers l;
	int status = 200;
	if (load(q, root, asset, file, &l, &error))
		tell(q, &l);
	else
		status = refuse(q, &error);
	release(&l);
	return status;
}

static int refuse_missing(question *q, const srv_view_root *root)
{
	hob_own_buf why = {0};
	hob_buf_printf(&why, "%.*s", HOB_FMT(root->note));
	hob_buf_put(&why, "", 1);
	return srv_query_refuse(q, 409, "source-missing", why.failed ? "" : (const char *)why.data);
}

/* Path of the requested settings file; `out`: PATH_MAX bytes. Empty: the asset does not use it. */
static hob_str file_of(const srv_control *control, hob_str path, char *out)
{
	bool own = control->file.len == 0;
	hob_str name = own ? path : control->file;
	int length = snprintf(out, PATH_MAX, "%.*s%s", HOB_FMT(name), own ? ".cook.json" : "");
	hob_str file = {out, (size_t)length};
	return length < PATH_MAX && out[0] != '/' && srv_settings_reaches(file, path) ? file : (hob_str){0};
}

int srv_query_settings(question *q)
{
	srv_control *control = q->control;
	int status = 200;
	const srv_view_asset *asset = srv_query_asset(q, &status);
	if (!asset)
		return status;
	const srv_view_root *root = srv_query_root(q, asset->root);
	if (!root || root->missing_since_ms != 0)
		return root ? refuse_missing(q, root) : srv_query_refuse(q, 404, "http.not-found", "no such root");
	char room[PATH_MAX];
	hob_str file = file_of(control, asset->path, room);
	if (file.len == 0)
		return srv_query_refuse(q, 404, "http.not-found",
								"'file' is not a settings file that this asset is cooked with");
	hob_error error;
	hob_str left;
	bool moved;
	srv_sidecar_result result = SRV_SIDECAR_DONE;
	const srv_view_root *from = control->kind == SRV_CONTROL_SETTINGS ? NULL : left_behind(q, asset, &left);
	if (from && !srv_sidecar_move(from->folder, left, root->folder, asset->path, &moved, &error))
		return refuse(q, &error);
	if (control->kind == SRV_CONTROL_SETTINGS_DELETE)
		result = srv_sidecar_delete(root->folder, file, control->tag, &error);
	else if (control->kind == SRV_CONTROL_SETTINGS_PATCH)
		result = srv_sidecar_patch(root->folder, file, control->tag, control->text, &error);
	if (result == SRV_SIDECAR_CHANGED)
		return srv_query_refuse(q, 412, "http.precondition-failed",
								"the settings file has changed: it is no longer the version in If-Match");
	if (result == SRV_SIDECAR_FAILED)
		return refuse(q, &error);
	return control->kind == SRV_CONTROL_SETTINGS_DELETE ? 204 : tell_now(q, root, asset, file);
}
