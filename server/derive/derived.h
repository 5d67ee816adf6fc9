/* derived.h - what is made of blobs on request: made once, stored as a blob of its own, and found again by a key of the blobs
 * that it comes from. The key is that of a part in the store, so eviction, gc and verify treat it as one. The HTTP thread looks
 * keys up; the loop makes what is missing (SRV_CONTROL_DERIVE). */
#ifndef SRV_DERIVED_H
#define SRV_DERIVED_H

#include "../../core/hash/hash.h"

typedef enum srv_derived {
	SRV_DERIVED_ZSTD, /* the blob's bytes under a content coding; useless where that saves less than a tenth */
	SRV_DERIVED_GZIP,
	SRV_DERIVED_LOD,	 /* a meshes file without its finest levels */
	SRV_DERIVED_GLB,	 /* binary glTF of an asset's outputs */
	SRV_DERIVED_COMPARE, /* what differs between two cooks, as JSON */
	SRV_DERIVED_PICTURE, /* the two beside each other, as PNG */
	SRV_DERIVED_COUNT
} srv_derived;

enum {
	/* Below that a packet's head weighs more than what is saved; above, one answer is not worth the memory. */
	SRV_ENCODE_BYTES_MIN = 1024,
	SRV_ENCODE_BYTES_MAX = 256 << 20
};

const char *srv_derived_name(srv_derived kind); /* "zstd", "gzip", "lod", "glb", "compare", "picture" */
/* Raised with the code that makes the bytes. level: the finest one kept, for LOD; pixels | view << 16, for PICTURE. */
hob_sha256 srv_derived_key(srv_derived kind, uint64_t level, const hob_sha256 *of);
/* Names the outputs that a GLB is made of, in the order meshes, materials, scene, animations; zero: not there. */
hob_sha256 srv_derived_set(const hob_sha256 digests[4]);
/* What is not worth having is remembered as the blob without bytes. */
bool srv_derived_useless(const hob_sha256 *digest);

#endif
