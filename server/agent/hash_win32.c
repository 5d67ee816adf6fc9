#include "../../core/hash/hash.h"

#include "../../core/base/json_write.h"

#include <windows.h>

#include <bcrypt.h>

/* The part of core/hash that the agent uses, on bcrypt. */

static const char digits[] = "0123456789abcdef";

void hob_hasher_init(hob_hasher *hasher)
{
	static BCRYPT_ALG_HANDLE algorithm;
	BCRYPT_HASH_HANDLE hash = NULL;
	if (!algorithm)
		BCryptOpenAlgorithmProvider(&algorithm, BCRYPT_SHA256_ALGORITHM, NULL, 0);
	BCryptCreateHash(algorithm, &hash, NULL, 0, NULL, 0, 0);
	*hasher = (hob_hasher){.state = {(uint64_t)(uintptr_t)hash}};
}

void hob_hasher_put(hob_hasher *hasher, const void *data, size_t size)
{
	if (size > 0)
		BCryptHashData((BCRYPT_HASH_HANDLE)(uintptr_t)hasher->state[0], (PUCHAR)(uintptr_t)data, (ULONG)size,
					   0);
}

hob_sha256 hob_hasher_finish(hob_hasher *hasher)
{
	hob_sha256 digest = {{0}};
	BCRYPT_HASH_HANDLE hash = (BCRYPT_HASH_HANDLE)(uintptr_t)hasher->state[0];
	BCryptFinishHash(hash, digest.bytes, sizeof digest.bytes, 0);
	BCryptDestroyHash(hash);
	return digest;
}

bool hob_sha256_equal(const hob_sha256 *a, const hob_sha256 *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void hob_sha256_text(const hob_sha256 *digest, char out[HOB_SHA256_TEXT + 1])
{
	for (size_t i = 0; i < sizeof digest->bytes; i++) {
		out[2 * i] = digits[digest->bytes[i] >> 4];
		out[2 * i + 1] = digits[digest->bytes[i] & 15];
	}
	out[HOB_SHA256_TEXT] = 0;
}

bool hob_sha256_parse(hob_str text, hob_sha256 *out)
{
	for (size_t i = 0; i < text.len && text.len == HOB_SHA256_TEXT; i++) {
		const char *digit = memchr(digits, text.data[i], 16);
		if (!digit)
			return false;
		uint8_t value = (uint8_t)(digit - digits);
		out->bytes[i / 2] = (uint8_t)(i % 2 ? out->bytes[i / 2] << 4 | value : value);
	}
	return text.len == HOB_SHA256_TEXT;
}

void hob_json_digest(hob_buf *out, const hob_sha256 *digest)
{
	static const hob_sha256 zero;
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(digest, text);
	if (hob_sha256_equal(digest, &zero))
		hob_json_null(out);
	else
		hob_json_str(out, (hob_str){text, HOB_SHA256_TEXT});
}

void hob_json_call_digest(hob_buf *out, const void *digest)
{
	hob_json_digest(out, digest);
}
