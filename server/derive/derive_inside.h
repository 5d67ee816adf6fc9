/* derive_inside.h - shared by the files of this folder. */
#ifndef SRV_DERIVE_INSIDE_H
#define SRV_DERIVE_INSIDE_H

#include "derive.h"
#include "../../core/base/array.h"
#include "../../core/hash/hex.h"

#include "../fs/fd.h"
#include "../store/record.h"
#include "../thumbnail/thumbnail.h"

enum { SRV_DERIVE_PARTS = 4 }; /* meshes, materials, scene, animations */

/* The digests of a model's parts. */
typedef struct srv_derive_parts {
	hob_sha256 digests[SRV_DERIVE_PARTS]; /* all zero: no such part */
} srv_derive_parts;

typedef struct derivation {
	srv_derive *derive;
	uv_work_t work;
	bool running;
	atomic_bool unwanted;
	uint64_t client, turn; /* client 0: no client waits */
	srv_derived kind;
	uint32_t level;
	hob_sha256 key, of, blob;
	hob_sha256 outputs[2][SRV_DERIVE_PARTS]; /* [0] for a GLB, both for two cooks */
	char *stats[2];							 /* of two cooks to compare; owned */
	srv_thumbnail_input *pair;				 /* input of a picture; owned */
	char *clip;								 /* clip that poses a picture; owned; NULL: at rest */
	hob_error error;
	struct asker *askers;
	struct derivation *next;
} derivation;

struct srv_derive {
	srv_derive_host host;
	srv_derive_counts counts;
	derivation *derivations; /* running and waiting, oldest first */
	uint32_t derivation_count;
	uint64_t turn; /* turn of the last start */
	struct thumbnails *thumbnails;
};

/* derive_make.c */
void srv_derive_run(uv_work_t *work); /* makes the output of a derivation, in the pool */
/* Fills in the input for a picture of one cook. */
void srv_derive_picture_of(const srv_record *record, const hob_sha256 parts[SRV_DERIVE_PARTS], uint32_t size,
						   srv_thumbnail_input *out);
/* Copies a blob of at most `most` bytes (else LIMIT) into pages that the caller unmaps. It is not mapped
 * because truncating a mapped file would kill the daemon. Any thread. */
hob_bytes srv_derive_read_blob(srv_store *store, const hob_sha256 *digest, uint64_t most, hob_error *err);
void srv_derive_unmap(hob_bytes *mapped);

/* Below: one function per kind of request, called by srv_derive_take. */
void srv_derive_answer(srv_control *control, const hob_sha256 *blob); /* 200 with the blob's digest */
/* On false, it has answered the request with 404. */
bool srv_derive_find(srv_derive *derive, srv_control *control, bool wanted, srv_derive_asset *out);
void srv_derive_classic(srv_derive *derive, srv_control *control);
void srv_derive_bundle(srv_derive *derive, srv_control *control);
void srv_derive_thumbnail(srv_derive *derive, srv_control *control);
struct thumbnails *srv_derive_thumbnails_new(void);

#endif
