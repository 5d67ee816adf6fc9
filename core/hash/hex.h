/* hex.h - a digest as text within one expression: printf("%s", hob_sha256_hex(&digest).text) */
#ifndef HOB_HEX_H
#define HOB_HEX_H

#include "hash.h"

typedef struct hob_hex {
	char text[HOB_SHA256_TEXT + 1];
} hob_hex;

static inline hob_hex hob_sha256_hex(const hob_sha256 *digest)
{
	hob_hex hex;
	hob_sha256_text(digest, hex.text);
	return hex;
}

#endif
