#include "hash.h"

#define OPENSSL_SUPPRESS_DEPRECATED
#include <assert.h>
#include <openssl/sha.h>
#include <xxhash.h>

hob_sha256 hob_sha256_of(hob_bytes data)
{
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	hob_hasher_put(&hasher, data.data, data.size);
	return hob_hasher_finish(&hasher);
}

void hob_fast_hash(hob_bytes data, uint64_t out[2])
{
	XXH128_hash_t hash = XXH3_128bits(data.data, data.size);
	out[0] = hash.low64;
	out[1] = hash.high64;
}

static SHA256_CTX *context_of(hob_hasher *hasher)
{
	static_assert(sizeof(SHA256_CTX) <= sizeof hasher->state, "the state holds OpenSSL's context");
	return (SHA256_CTX *)(void *)hasher->state;
}

void hob_hasher_init(hob_hasher *hasher)
{
	SHA256_Init(context_of(hasher));
}

void hob_hasher_put(hob_hasher *hasher, const void *data, size_t size)
{
	if (size > 0)
		SHA256_Update(context_of(hasher), data, size);
}

hob_sha256 hob_hasher_finish(hob_hasher *hasher)
{
	hob_sha256 digest;
	SHA256_Final(digest.bytes, context_of(hasher));
	return digest;
}

static void put_item(hob_keyer *keyer, char type, const char *label, const void *data, size_t size)
{
	uint8_t head[17];
	head[0] = (uint8_t)type;
	hob_store_u64(head + 1, strlen(label));
	hob_store_u64(head + 9, size);
	hob_hasher_put(&keyer->hasher, head, sizeof head);
	hob_hasher_put(&keyer->hasher, label, strlen(label));
	hob_hasher_put(&keyer->hasher, data, size);
}

void hob_keyer_init(hob_keyer *keyer, const char *domain)
{
	hob_hasher_init(&keyer->hasher);
	put_item(keyer, 'd', domain, NULL, 0);
}

void hob_key_str(hob_keyer *keyer, const char *label, hob_str value)
{
	put_item(keyer, 's', label, value.data, value.len);
}

void hob_key_u64(hob_keyer *keyer, const char *label, uint64_t value)
{
	uint8_t bytes[8];
	hob_store_u64(bytes, value);
	put_item(keyer, 'u', label, bytes, sizeof bytes);
}

void hob_key_f32(hob_keyer *keyer, const char *label, float value)
{
	uint8_t bytes[4];
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	if (value == 0)
		bits = 0;
	else if (value != value)
		bits = 0x7FC00000u;
	hob_store_u32(bytes, bits);
	put_item(keyer, 'f', label, bytes, sizeof bytes);
}

void hob_key_bytes(hob_keyer *keyer, const char *label, hob_bytes value)
{
	put_item(keyer, 'b', label, value.data, value.size);
}

void hob_key_digest(hob_keyer *keyer, const char *label, const hob_sha256 *value)
{
	put_item(keyer, 'h', label, value->bytes, sizeof value->bytes);
}

hob_sha256 hob_keyer_finish(hob_keyer *keyer)
{
	return hob_hasher_finish(&keyer->hasher);
}
