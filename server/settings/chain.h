/* chain.h - the sources of a model's cook settings.
 *
 * Layers, the last wins: the root's own settings, cook.json of every folder from the root down to the
 * model's, then the model's sidecar (duck.glb.cook.json). The root's own settings belong to the caller; the
 * files are walked only here.
 *
 * Files are opened beneath the root. A path that is not a regular file, or a link that leaves the root,
 * counts as missing. There is no limit on depth but PATH_MAX. Any thread; a cache belongs to one thread at a
 * time. */
#ifndef SRV_SETTINGS_CHAIN_H
#define SRV_SETTINGS_CHAIN_H

#include "../../core/base/base.h"
#include "../../core/settings/settings.h"

enum { SRV_SETTINGS_FILE_MAX = 1 << 20 };

typedef struct srv_layer {
	hob_str path; /* below the root, NUL-terminated */
	hob_str text; /* empty if there is no file */
	bool exists, sidecar;
} srv_layer;

/* Returns false with *err to end the walk. The layer is valid during the call. */
typedef bool srv_layer_fn(void *user, const srv_layer *layer, hob_error *err);

/* Calls `each` for every layer of `asset` (path below the root), outermost first, the sidecar last, including
 * files that do not exist. Errors: CONFIG (a file that cannot be read, or is larger than
 * SRV_SETTINGS_FILE_MAX), IO (a failing device or machine, worth another try), MEMORY, and what `each`
 * returns. */
bool srv_settings_walk(int root_fd, hob_str asset, srv_layer_fn *each, void *user,
					   hob_error *err) HOB_MUST_CHECK;

/* Reads one settings file as the walk does; appends to *text. Errors: those of the walk. */
bool srv_settings_read(int root_fd, const char *path, hob_buf *text, bool *exists,
					   hob_error *err) HOB_MUST_CHECK;

/* Whether the settings file `file` is a layer of `asset`; both below the same root. */
bool srv_settings_reaches(hob_str file, hob_str asset);
/* The only asset that `file` is a layer of; empty: a folder's cook.json, or no settings. */
hob_str srv_settings_sidecar_of(hob_str file);

/* Resolved settings of one root's folders, for a caller that asks for many assets and is notified of
 * changes. */
typedef struct srv_settings_cache srv_settings_cache;

srv_settings_cache *srv_settings_cache_new(void);		 /* NULL without memory */
void srv_settings_cache_free(srv_settings_cache *cache); /* NULL is allowed */
/* Call it when a cook.json or the root's own settings change, or when the root becomes another folder. */
void srv_settings_forget(srv_settings_cache *cache);
/* Resolves the settings of `asset`.
 * own           the root's own settings, the same in every call until srv_settings_forget
 * sidecar_fd    the root of `sidecar_of`
 * sidecar_of    the model whose sidecar is used: `asset`, or its former name; empty: no sidecar
 * Errors        those of the walk, and CONFIG for a file with wrong settings. IO and MEMORY are not
 *               remembered.
 * Cost          one look-up for a known folder, plus the sidecar */
bool srv_settings_resolve(srv_settings_cache *cache, int root_fd, const hob_settings *own, hob_str asset,
						  int sidecar_fd, hob_str sidecar_of, hob_settings *out,
						  hob_error *err) HOB_MUST_CHECK;

#endif
