/* derive.h - makes outputs of blobs on request, in libuv's pool: encoded blobs, cuts, GLB files, comparisons,
 * pictures, classic files and bundles. Each is stored, so it is made once; control/derived.h has the keys.
 * Loop thread; knows no asset but by its host. */
#ifndef SRV_DERIVE_H
#define SRV_DERIVE_H

#include "../control/control.h"
#include "../cook/publish.h"
#include "../view/view.h"
#include "../worker/sandbox.h"
#include "../control/derived.h"

#include <stdatomic.h>
#include <uv.h>

typedef struct srv_derive srv_derive;

/* Facts of the host about an asset. Texts are valid during the call. */
typedef struct srv_derive_asset {
	uint32_t number; /* the host's */
	char id[SRV_ASSET_ID + 1];
	const char *full, *path;
	int root_fd;
	const hob_sha256 *good;	  /* key of its newest good cook; NULL: none */
	const hob_sha256 *served; /* the same of what clients see */
} srv_derive_asset;

typedef struct srv_derive_host {
	void *user;
	srv_store *store;
	srv_publish *publish;		/* rows to commit; events "thumbnail" */
	const atomic_bool *closing; /* what waits is answered, what runs ends soon */
	uint64_t most_bytes;		/* largest input of one output */
	srv_sandbox_policy sandbox;
	uint32_t timeout_ms; /* the limits of a cook, for bundles */
	uint64_t memory_limit;
	const char *(*sandbox_text)(void *user);
	/* wanted: a client waits for this very asset. False: there is none. */
	bool (*find)(void *user, hob_str full, bool wanted, srv_derive_asset *out);
	bool (*at)(void *user, uint32_t number, srv_derive_asset *out);	   /* false: it is gone */
	uint64_t (*rev)(void *user);									   /* the newest */
	bool (*is_busy)(void *user);									   /* cooks wait for a core */
	void (*added)(void *user, uint32_t number, const hob_sha256 *key); /* the record got outputs; show it */
	/* Runs work in libuv's pool; `done` ends with `over`. */
	void (*work)(void *user, uv_work_t *work, uv_work_cb run, uv_after_work_cb done);
	void (*over)(void *user);
} srv_derive_host;

enum { SRV_DERIVE_MADE, SRV_DERIVE_USELESS, SRV_DERIVE_FAILED, SRV_DERIVE_CANCELLED, SRV_DERIVE_RESULTS };

/* Since the start. Any thread. */
typedef struct srv_derive_counts {
	atomic_ullong derived[SRV_DERIVED_COUNT][SRV_DERIVE_RESULTS];
	atomic_ullong thumbnails; /* drawn */
} srv_derive_counts;

srv_derive *srv_derive_new(const srv_derive_host *host); /* copies; NULL without memory */
void srv_derive_free(srv_derive *derive);				 /* nothing of it runs any longer */
const srv_derive_counts *srv_derive_count(const srv_derive *derive);
/* Answers requests for what it makes; false: another kind. */
bool srv_derive_take(srv_derive *derive, srv_control *control);
/* Draws a thumbnail that somebody wanted, when no cook needs the core. Call it when that may have changed. */
void srv_derive_draw(srv_derive *derive);

#endif
