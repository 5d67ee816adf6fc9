#include "../../core/hash/hash.h"

#include <windows.h>

#include <bcrypt.h>

/* The hasher of core/hash on bcrypt. */

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
