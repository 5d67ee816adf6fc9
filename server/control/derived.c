#include "derived.h"

static const struct {
	const char *name;
	uint64_t version;
} kinds[SRV_DERIVED_COUNT] = {{"zstd", 1}, {"gzip", 1},	   {"lod", 1},
							  {"glb", 1},  {"compare", 4}, {"picture", 4}};

const char *srv_derived_name(srv_derived kind)
{
	return kinds[kind].name;
}

hob_sha256 srv_derived_key(srv_derived kind, uint64_t level, const hob_sha256 *of)
{
	hob_keyer keyer;
	hob_keyer_init(&keyer, "hob derived 1");
	hob_key_str(&keyer, "kind", hob_str_of(kinds[kind].name));
	hob_key_u64(&keyer, "version", kinds[kind].version);
	hob_key_u64(&keyer, "level", level);
	hob_key_digest(&keyer, "of", of);
	return hob_keyer_finish(&keyer);
}

hob_sha256 srv_derived_set(const hob_sha256 digests[4])
{
	static const char *const names[] = {"meshes", "materials", "scene", "animations"};
	hob_keyer keyer;
	hob_keyer_init(&keyer, "hob outputs 1");
	for (size_t i = 0; i < 4; i++)
		hob_key_digest(&keyer, names[i], &digests[i]);
	return hob_keyer_finish(&keyer);
}

static hob_sha256 digest_of(hob_str text)
{
	return text.len > 0 ? hob_sha256_of((hob_bytes){(const uint8_t *)text.data, text.len})
						: (hob_sha256){{0}};
}

hob_sha256 srv_derived_pair(const hob_sha256 was[4], const hob_sha256 now[4], const hob_str texts[2])
{
	return srv_derived_set((const hob_sha256[4]){srv_derived_set(was), srv_derived_set(now),
												 digest_of(texts[0]), digest_of(texts[1])});
}

bool srv_derived_useless(const hob_sha256 *digest)
{
	static const uint8_t nothing[32] = {0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4,
										0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b,
										0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55};
	return memcmp(digest->bytes, nothing, sizeof nothing) == 0;
}
