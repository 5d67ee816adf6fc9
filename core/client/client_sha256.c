#include "client_parse.h"

#include <string.h>

static const uint32_t round_words[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int by)
{
	return x >> by | x << (32 - by);
}

static void mix(uint32_t state[8], const uint8_t *block)
{
	uint32_t w[64], s[8];
	int i;
	for (i = 0; i < 16; i++)
		w[i] = (uint32_t)block[i * 4] << 24 | (uint32_t)block[i * 4 + 1] << 16 |
			   (uint32_t)block[i * 4 + 2] << 8 | block[i * 4 + 3];
	for (; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] +
			   (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
	}
	memcpy(s, state, sizeof s);
	for (i = 0; i < 64; i++) {
		uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
					   ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_words[i] + w[i];
		uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
					   ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof s[0]);
		s[4] += one;
		s[0] = one + two;
	}
	for (i = 0; i < 8; i++)
		state[i] += s[i];
}

void hobc_sha256_start(hobc_sha256 *hash)
{
	static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
									  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	memcpy(hash->state, first, sizeof first);
	hash->bytes = 0;
}

void hobc_sha256_add(hobc_sha256 *hash, const void *data, size_t size)
{
	const uint8_t *in = (const uint8_t *)data;
	size_t kept = (size_t)(hash->bytes % 64);
	if (size == 0)
		return;
	hash->bytes += size;
	if (kept > 0) {
		size_t take = size < 64 - kept ? size : 64 - kept;
		memcpy(hash->block + kept, in, take);
		in += take;
		size -= take;
		if (kept + take < 64)
			return;
		mix(hash->state, hash->block);
	}
	for (; size >= 64; in += 64, size -= 64)
		mix(hash->state, in);
	if (size > 0)
		memcpy(hash->block, in, size);
}

void hobc_sha256_end(hobc_sha256 *hash, char text[65])
{
	uint64_t bits = hash->bytes * 8;
	uint8_t tail[72] = {0x80};
	size_t kept = (size_t)(hash->bytes % 64), zeros = (kept < 56 ? 56 : 120) - kept;
	int i;
	for (i = 0; i < 8; i++)
		tail[zeros + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
	hobc_sha256_add(hash, tail, zeros + 8);
	for (i = 0; i < 64; i++)
		text[i] = "0123456789abcdef"[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
	text[64] = 0;
}

void hobc_sha256_text(const void *data, size_t size, char text[65])
{
	hobc_sha256 hash;
	hobc_sha256_start(&hash);
	hobc_sha256_add(&hash, data, size);
	hobc_sha256_end(&hash, text);
}

int hobc_is_hash(const char *text, size_t size)
{
	size_t i;
	for (i = 0; i < size; i++)
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
			return 0;
	return size == 64;
}
