/* derived.h - outputs derived from blobs on request. Each is made once and stored as a blob, under a key
 * computed from its source blobs. The store treats it as a part, for eviction, gc and verify. The HTTP thread
 * looks keys up; the loop makes missing outputs (SRV_CONTROL_DERIVE). */
#ifndef SRV_DERIVED_H
#define SRV_DERIVED_H

#include "../../core/hash/hash.h"

typedef enum srv_derived {
	SRV_DERIVED_ZSTD, /* the blob with a content coding; "useless" if that saves less than a tenth */
	SRV_DERIVED_GZIP,
	SRV_DERIVED_LOD,	 /* a meshes file without its finest levels */
	SRV_DERIVED_GLB,	 /* binary glTF of an asset's outputs */
	SRV_DERIVED_COMPARE, /* the differences between two cooks, as JSON */
	SRV_DERIVED_PICTURE, /* two cooks side by side, as PNG */
	SRV_DERIVED_COUNT
} srv_derived;

enum {
	/* The sizes for which encoding pays. For smaller blobs the packet's head outweighs the saving; larger
	 * ones need too much memory. */
	SRV_ENCODE_BYTES_MIN = 1024,
	SRV_ENCODE_BYTES_MAX = 256 << 20
};

const char *srv_derived_name(srv_derived kind); /* "zstd", "gzip", "lod", "glb", "compare", "picture" */
/* Raise the kind's version in derived.c when the code that makes the bytes changes. level: for LOD the finest
 * level that is kept; for PICTURE pixels | view << 16. */
hob_sha256 srv_derived_key(srv_derived kind, uint64_t level, const hob_sha256 *of);
/* A digest over the outputs that a GLB is made from, in the order meshes, materials, scene, animations; zero:
 * missing. */
hob_sha256 srv_derived_set(const hob_sha256 digests[4]);
/* A digest over two such sets; `texts`: what else counts, the two stats of a comparison or
 * the clip of a picture. */
hob_sha256 srv_derived_pair(const hob_sha256 was[4], const hob_sha256 now[4], const hob_str texts[2]);
/* Whether the digest is that of the empty blob, which marks an output that is not worth keeping. */
bool srv_derived_useless(const hob_sha256 *digest);

#endif
