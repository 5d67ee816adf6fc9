#include "hash.h"

#include "../base/json_write.h"

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

bool hob_sha256_equal(const hob_sha256 *a, const hob_sha256 *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void hob_sha256_text(const hob_sha256 *digest, char out[HOB_SHA256_TEXT + 1])
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < sizeof digest->bytes; i++) {
		out[2 * i] = digits[digest->bytes[i] >> 4];
		out[2 * i + 1] = digits[digest->bytes[i] & 15];
	}
	out[HOB_SHA256_TEXT] = 0;
}

void hob_json_digest(hob_buf *out, const hob_sha256 *digest)
{
	static const hob_sha256 zero;
	if (hob_sha256_equal(digest, &zero)) {
		hob_json_null(out);
		return;
	}
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(digest, text);
	hob_json_str(out, hob_str_of(text));
}

void hob_json_call_digest(hob_buf *out, const void *digest)
{
	hob_json_digest(out, digest);
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hob_sha256_parse(hob_str text, hob_sha256 *out)
{
	if (text.len != HOB_SHA256_TEXT)
		return false;
	hob_sha256 digest;
	for (size_t i = 0; i < sizeof digest.bytes; i++) {
		int high = digit(text.data[2 * i]), low = digit(text.data[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		digest.bytes[i] = (uint8_t)(high * 16 + low);
	}
	*out = digest;
	return true;
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
