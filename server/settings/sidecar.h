/* sidecar.h - changes a settings file: a model's sidecar duck.glb.cook.json, or the cook.json of a folder.
 *
 * The caller decides which assets it applies to (srv_settings_reaches). A change writes a whole file and
 * renames it into place, so a reader sees either the old file or the new one. If-Match guards against lost
 * updates; two writers in this process must take turns. */
#ifndef SRV_SETTINGS_SIDECAR_H
#define SRV_SETTINGS_SIDECAR_H

#include "../../core/base/base.h"
#include "../../core/hash/hash.h"

enum { SRV_SIDECAR_TAG = HOB_SHA256_TEXT + 3 };

typedef enum srv_sidecar_result {
	SRV_SIDECAR_DONE,
	SRV_SIDECAR_CHANGED, /* `if_match` does not match; nothing was done */
	SRV_SIDECAR_FAILED	 /* see *err */
} srv_sidecar_result;

/* The entity tag of a settings file, with its quotes: the digest of its text, or "none" if it is missing. */
void srv_sidecar_tag(bool exists, hob_str text, char out[SRV_SIDECAR_TAG]);
/* Applies a JSON merge patch (RFC 7396). file: path below the root; if_match: a tag, or * for any existing
 * file. Errors: BAD_REQUEST (the patch is not a JSON object), CONFIG (wrong settings, or the file is not a
 * JSON object), IO, DISK_FULL, MEMORY. */
srv_sidecar_result srv_sidecar_patch(int root_fd, hob_str file, hob_str if_match, hob_str patch,
									 hob_error *err) HOB_MUST_CHECK;
/* Deletes the file if it exists. Errors: IO, CONFIG (it cannot be read). */
srv_sidecar_result srv_sidecar_delete(int root_fd, hob_str file, hob_str if_match,
									  hob_error *err) HOB_MUST_CHECK;

/* Renames the sidecar of `from` to that of `to`, each below its root. *moved: whether it was renamed: `from`
 * had a sidecar and `to` had none. Errors: IO. */
bool srv_sidecar_move(int from_fd, hob_str from, int to_fd, hob_str to, bool *moved,
					  hob_error *err) HOB_MUST_CHECK;

/* Whether `name` in `folder` looks like a sidecar but belongs to no model: "Fox.cook.json" beside Fox.glb.
 * `model`: the most similar model, "Fox.glb"; NAME_MAX + 1 bytes. */
bool srv_sidecar_stray(int folder, const char *name, char *model);

/* The value of a setting such as "lods.max" in settings as JSON; NULL if it is not there. */
const struct cJSON *srv_settings_value(const struct cJSON *settings, const char *path);

#endif
