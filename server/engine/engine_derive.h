/* engine_derive.h - what is made of blobs on request. */
#ifndef ENGINE_DERIVE_H
#define ENGINE_DERIVE_H

#include "engine_assets.h"

typedef struct derivation derivation;

struct engine_derive {
	derivation *derivations; /* running and waiting, oldest first */
	uint32_t derivation_count;
	uint64_t derive_turn; /* of the one that started last */
	struct engine_thumbnails *thumbnails;
};

struct engine_derive *srv_engine_derive_new(void);
void srv_engine_derive_free(struct engine_derive *derive);
struct engine_thumbnails *srv_engine_thumbnails_new(void);
void srv_engine_thumbnail(srv_engine *engine, srv_control *control);
void srv_engine_draw_thumbnails(srv_engine *engine); /* draws one when no cook needs the core */
void srv_engine_derive(srv_engine *engine, srv_control *control);
/* Largest input of one derived output. */
uint64_t srv_engine_derived_limit(const srv_engine *engine);
/* Drops jobs whose clients have all left. */
void srv_engine_derive_less(srv_engine *engine);
void srv_engine_bundle(srv_engine *engine, srv_control *control);
/* Copies a blob of at most `most` bytes (else LIMIT) into pages that the caller unmaps. A mapped file that is truncated
 * would kill the daemon. Any thread. */
hob_bytes srv_engine_read_blob(srv_store *store, const hob_sha256 *digest, uint64_t most, hob_error *err);

#endif
