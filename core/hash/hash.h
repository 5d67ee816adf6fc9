/* hash.h - content digests and keyed item-by-item hashing.
 *
 * SHA-256 (OpenSSL) names every blob and everything that is kept or shared; XXH3-128 only detects changed
 * bytes inside one process. A hob_keyer hashes typed, length-prefixed, labelled items, so that different item
 * lists never give the same stream. It makes cook keys and part keys. */
#ifndef HOB_HASH_H
#define HOB_HASH_H

#include "../base/base.h"

typedef struct hob_sha256 {
	uint8_t bytes[32];
} hob_sha256;

enum { HOB_SHA256_TEXT = 64 };

hob_sha256 hob_sha256_of(hob_bytes data);
bool hob_sha256_equal(const hob_sha256 *a, const hob_sha256 *b);
/* 64 lower-case hex digits and a NUL. */
void hob_sha256_text(const hob_sha256 *digest, char out[HOB_SHA256_TEXT + 1]);
/* Accepts exactly 64 lower-case hex digits. */
bool hob_sha256_parse(hob_str text, hob_sha256 *out);
/* A JSON item (core/base/json_write.h); null for an all-zero digest. */
void hob_json_digest(hob_buf *out, const hob_sha256 *digest);
/* A member for hob_json_put. */
#define HOB_JSON_DIGEST(name, digest)                                                                        \
	(hob_json_member)                                                                                        \
	{                                                                                                        \
		name, 'x', {0}, 0, hob_json_call_digest, digest                                                      \
	}
void hob_json_call_digest(hob_buf *out, const void *digest);

/* First 128 bits of a fast non-cryptographic hash. It is stored only as a checksum of files that this machine
 * wrote. */
void hob_fast_hash(hob_bytes data, uint64_t out[2]);

/* Streaming; nothing to release. `state` holds OpenSSL's SHA256_CTX: the newer interface of OpenSSL looks the
 * algorithm up and allocates for each digest, which costs more than hashing a short text. */
typedef struct hob_hasher {
	uint64_t state[14];
} hob_hasher;

void hob_hasher_init(hob_hasher *hasher);
void hob_hasher_put(hob_hasher *hasher, const void *data, size_t size);
hob_sha256 hob_hasher_finish(hob_hasher *hasher);

/* Keyed items. `domain` separates kinds of keys ("hob cook 1"). Every item has a label and a type. */
typedef struct hob_keyer {
	hob_hasher hasher;
} hob_keyer;

void hob_keyer_init(hob_keyer *keyer, const char *domain);
void hob_key_str(hob_keyer *keyer, const char *label, hob_str value);
void hob_key_u64(hob_keyer *keyer, const char *label, uint64_t value);
void hob_key_f32(hob_keyer *keyer, const char *label,
				 float value); /* compared by bits; -0 counts as +0, every NaN as one NaN */
void hob_key_bytes(hob_keyer *keyer, const char *label, hob_bytes value);
void hob_key_digest(hob_keyer *keyer, const char *label, const hob_sha256 *value);
hob_sha256 hob_keyer_finish(hob_keyer *keyer);

#endif
