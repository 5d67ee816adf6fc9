/* derived.h - outputs that are derived from blobs on request. Each is made once and stored as a blob, under a
 * key computed from its source blobs. In the store it is a part, so that eviction, gc and verify treat it as
 * one. The HTTP thread looks keys up; the loop makes missing outputs (SRV_CONTROL_DERIVE). */
#ifndef SRV_DERIVED_H
#define SRV_DERIVED_H

#include "../../core/hash/hash.h"

typedef enum srv_derived {
	SRV_DERIVED_ZSTD, /* the blob's bytes under a content coding; useless if it saves less than a tenth */
	SRV_DERIVED_GZIP,
	SRV_DERIVED_LOD,	 /* a meshes file without its finest levels */
	SRV_DERIVED_GLB,	 /* binary glTF of an asset's outputs */
	SRV_DERIVED_COMPARE, /* the differences between two cooks, as JSON */
	SRV_DERIVED_PICTURE, /* two cooks side by side, as PNG */
	SRV_DERIVED_COUNT
} srv_derived;

enum {
	/* Smaller blobs are not worth it: the head of a packet is larger than what is saved. Larger ones are not
	 * worth the memory. */
	SRV_ENCODE_BYTES_MIN = 1024,
	SRV_ENCODE_BYTES_MAX = 256 << 20
};

const char *srv_derived_name(srv_derived kind); /* "zstd", "gzip", "lod", "glb", "compare", "picture" */
/* Raise it when the code that makes the bytes changes. level: the finest level that is kept, for LOD; pixels
 * | view << 16, for PICTURE. */
hob_sha256 srv_derived_key(srv_derived kind, uint64_t level, const hob_sha256 *of);
/* Names the outputs that a GLB is made from, in the order meshes, materials, scene, animations; zero:
 * missing. */
hob_sha256 srv_derived_set(const hob_sha256 digests[4]);
/* An output that is not worth keeping is remembered as an empty blob. */
bool srv_derived_useless(const hob_sha256 *digest);

#endif
