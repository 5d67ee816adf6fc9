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

/* Facts about an asset, given by the host. Texts are valid during the call. */
typedef struct srv_derive_asset {
	uint32_t number; /* the host's number */
	char id[SRV_ASSET_ID + 1];
	const char *full, *path;
	int root_fd;
	const hob_sha256 *good;	  /* key of its newest good cook; NULL: none */
	const hob_sha256 *served; /* key of the cook that is served; NULL: none */
} srv_derive_asset;

typedef struct srv_derive_host {
	void *user;
	srv_store *store;
	srv_publish *publish;		/* commits rows; sends events "thumbnail" */
	const atomic_bool *closing; /* set at shutdown: requests are answered and work in progress ends soon */
	uint64_t most_bytes;		/* limit for each input of an output */
	srv_sandbox_policy sandbox;
	uint32_t timeout_ms; /* limits of a cook, recorded in bundles */
	uint64_t memory_limit;
	const char *(*sandbox_text)(void *user);
	/* `wanted`: a client waits for this asset. False: there is none. */
	bool (*find)(void *user, hob_str full, bool wanted, srv_derive_asset *out);
	bool (*at)(void *user, uint32_t number, srv_derive_asset *out); /* false: it no longer exists */
	uint64_t (*rev)(void *user);									/* newest revision */
	bool (*is_busy)(void *user);									/* cooks are waiting for a core */
	/* the record has new outputs: publish them */
	void (*added)(void *user, uint32_t number, const hob_sha256 *key);
	/* Runs work in libuv's pool; `done` must end with a call of `over`. */
	void (*work)(void *user, uv_work_t *work, uv_work_cb run, uv_after_work_cb done);
	void (*over)(void *user);
} srv_derive_host;

enum { SRV_DERIVE_MADE, SRV_DERIVE_USELESS, SRV_DERIVE_FAILED, SRV_DERIVE_CANCELLED, SRV_DERIVE_RESULTS };

/* Counters since the start. Any thread. */
typedef struct srv_derive_counts {
	atomic_ullong derived[SRV_DERIVED_COUNT][SRV_DERIVE_RESULTS];
	atomic_ullong thumbnails; /* pictures drawn */
} srv_derive_counts;

srv_derive *srv_derive_new(const srv_derive_host *host); /* copies *host; NULL without memory */
void srv_derive_free(srv_derive *derive);				 /* no work may be running */
const srv_derive_counts *srv_derive_count(const srv_derive *derive);
/* Answers a control of its kinds; false: another kind. */
bool srv_derive_take(srv_derive *derive, srv_control *control);
/* Draws a requested thumbnail if no cook needs the core. Call it whenever that may have changed. */
void srv_derive_draw(srv_derive *derive);

#endif
