/* live.h - unsaved models from an editor: a folder in the cache, live/USER/ROOT/PATH.glb, that is watched as
 * the root "live". Its assets replace ROOT/PATH in requests with ?live=USER, and in no others. The folder is
 * emptied at the start. A user who sends nothing for SRV_LIVE_IDLE_S is dropped. Any thread. */
#ifndef SRV_LIVE_H
#define SRV_LIVE_H

#include "../../core/base/base.h"
#include "../../core/settings/settings.h"

#define SRV_LIVE_ROOT "live"
enum { SRV_LIVE_IDLE_S = 3600, SRV_LIVE_USER_MAX = 64 };
#define SRV_LIVE_BYTES_MAX ((uint64_t)256 << 20)

typedef struct srv_live srv_live;

/* Makes and empties the folder below `cache`. Errors: IO. */
bool srv_live_open(const char *cache, srv_live **out, hob_error *err) HOB_MUST_CHECK;
/* Empties the folder; NULL is allowed. */
void srv_live_close(srv_live *live);
const char *srv_live_folder(const srv_live *live);

/* A user is 1 to 64 letters, digits, '-', '_' and '.', and does not start with '.'. An asset is ROOT/PATH, at
 * most 32 folders deep, without control characters; no part is empty or begins with '.'. */
bool srv_live_is_user(hob_str user);
bool srv_live_is_asset(hob_str asset);
/* Appends the name of the asset that replaces `asset`: "live/USER/ROOT/PATH.glb". */
void srv_live_put_name(hob_buf *out, hob_str user, hob_str asset);

/* Appends the effective settings for the model `path` of a root, as JSON: those of the root, its folders and
 * the model's sidecar. up_axis and unit are left out: they correct the saved file, but a live model is glTF.
 * Errors: those of srv_settings_walk. */
bool srv_live_settings(int root_fd, const hob_settings *own, hob_str path, hob_buf *out,
					   hob_error *err) HOB_MUST_CHECK;

/* Replaces the asset atomically by the first `size` bytes of `fd`, with `settings` as its sidecar; empty: no
 * sidecar. Errors: BAD_REQUEST (the name, the size), IO, DISK_FULL. */
bool srv_live_set(srv_live *live, hob_str user, hob_str asset, hob_str settings, int fd, uint64_t size,
				  hob_error *err) HOB_MUST_CHECK;
/* Removes the replacement of one asset, or all of the user's if `asset` is empty; returns the number of
 * files. */
uint32_t srv_live_drop(srv_live *live, hob_str user, hob_str asset);
/* Drops users who sent nothing for `idle_s`; returns the number of files. */
uint32_t srv_live_drop_idle(srv_live *live, int64_t now_s, int64_t idle_s);

#endif
