/* thumbnail.h - a picture of one cooked model, drawn by a separate process.
 *
 *   hob                                                    hob-thumbnail SANDBOX SIZE YAW PITCH CLIP {MOVES
 *                                                          COUNT SHA256...}
 *   descriptors 3 meshes, 4 materials, 5 scene,      -->   draws in software, at nice 19, and reads no file
 *   [6 animations,] then textures in SHA256's order
 *                                                    <--   stdout: PNG of SIZE x SIZE, ground transparent
 *
 * With a second {...}, whose descriptors follow, it draws both models with one camera that sees both, at the
 * daemon's own priority, because somebody waits. The picture is three times as wide: before, after, and the
 * differences, with a ring around the largest. If the finest levels of detail look the same, the coarsest are
 * drawn; parts that look the same but have new names are blue in the differences (renamed.c). CLIP: the name
 * of the clip that poses both, at the time at which they differ most (posed.c); empty: at rest.
 *
 * The program is searched beside this one and in libexec, like hob-worker. */
#ifndef SRV_THUMBNAIL_H
#define SRV_THUMBNAIL_H

#include "../store/store.h"
#include "../worker/sandbox.h"

#include <stdatomic.h>

enum { SRV_THUMBNAIL_TEXTURES = 192, SRV_THUMBNAIL_MIN = 32, SRV_THUMBNAIL_MAX = 512 };

/* The outputs of one cook. */
typedef struct srv_thumbnail_input {
	hob_sha256 meshes, materials, scene, animations;
	bool has_animations;
	uint32_t texture_count; /* models with more textures are drawn grey */
	hob_sha256 textures[SRV_THUMBNAIL_TEXTURES];
	uint32_t size; /* pixels */
} srv_thumbnail_input;

/* The position of the camera: "corner" (for thumbnails), "front", "back", "left", "right", "top",
 * "bottom". */
typedef struct srv_thumbnail_view {
	const char *name;
	int yaw, pitch; /* degrees */
} srv_thumbnail_view;
const srv_thumbnail_view *srv_thumbnail_view_at(uint32_t index); /* in the order of this list */

/* The key under which the store keeps the picture (as a part). */
hob_sha256 srv_thumbnail_key(const srv_thumbnail_input *input);

/* Blocks until the picture is drawn; any thread. Setting *stop ends it early. *png gets a complete PNG of the
 * requested size. Errors: IO (cannot be started, a blob is gone), INTERRUPTED (ended from outside), TIMEOUT,
 * CRASHED, UNSUPPORTED (no OpenGL ES here, or nothing in this model to draw). */
bool srv_thumbnail_draw(const char *path, srv_sandbox_policy sandbox, srv_store *store,
						const srv_thumbnail_input *input, const atomic_bool *stop, hob_buf *png,
						hob_error *err) HOB_MUST_CHECK;
/* Like srv_thumbnail_draw, for two cooks side by side, as above; the size is that of pair[0]. clip: the name
 * of a clip that poses both, or empty; UNSUPPORTED also if neither model has it. */
bool srv_thumbnail_draw_pair(const char *path, srv_sandbox_policy sandbox, srv_store *store,
							 const srv_thumbnail_input pair[2], const srv_thumbnail_view *view,
							 const char *clip, const atomic_bool *stop, hob_buf *png,
							 hob_error *err) HOB_MUST_CHECK;

#endif
