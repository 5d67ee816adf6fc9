#include "ktx2.h"

#include "basis.h"

enum { SCHEME_NONE, SCHEME_BASIS_LZ, SCHEME_ZSTD };

bool hob_ktx2_open(hob_bytes file, hob_gpu_texture *out, hob_error *err)
{
	const uint8_t *p = file.data;
	if (file.size < 104)
		return hob_fail(err, TRUNCATED, "%zu bytes, the header and one level have 104", file.size);
	uint32_t depth = hob_load_u32(p + 28), layers = hob_load_u32(p + 32), faces = hob_load_u32(p + 36);
	uint32_t levels = hob_load_u32(p + 40), scheme = hob_load_u32(p + 44);
	hob_gpu_texture t = {
		.vk_format = hob_load_u32(p + 12), .width = hob_load_u32(p + 20), .height = hob_load_u32(p + 24)};
	if (!hob_gpu_size_check(t.width, t.height, err))
		return false;
	if (depth > 1 || layers > 1 || faces != 1)
		return hob_fail(err, UNSUPPORTED, "%u slices, %u layers, %u faces; a flat texture is needed", depth,
						layers, faces);
	if (scheme > SCHEME_ZSTD)
		return hob_fail(err, UNSUPPORTED, "supercompression %u; use none, zstd or BasisLZ", scheme);
	t.level_count = levels == 0 ? 1 : levels;
	if (t.level_count > hob_level_count(t.width, t.height))
		return hob_fail(err, CORRUPT, "%u levels of %u x %u pixels", levels, t.width, t.height);
	if (file.size < 80 + 24 * (size_t)t.level_count)
		return hob_fail(err, TRUNCATED, "the index of %u levels goes past the end of the file",
						t.level_count);
	t.zstd = scheme == SCHEME_ZSTD;
	t.basis = t.vk_format == 0;
	if (scheme == SCHEME_BASIS_LZ && !t.basis)
		return hob_fail(err, CORRUPT, "BasisLZ with format %u", t.vk_format);
	hob_gpu_format format;
	bool known = hob_gpu_format_find(t.vk_format, &format);
	for (uint32_t i = 0; i < t.level_count; i++) {
		const uint8_t *entry = p + 80 + 24 * (size_t)i;
		uint64_t at = hob_load_u64(entry), size = hob_load_u64(entry + 8);
		if (at > file.size || size > file.size - at)
			return hob_fail(err, TRUNCATED,
							"level %u at byte %llu with %llu bytes goes past the end of the file", i,
							(unsigned long long)at, (unsigned long long)size);
		t.levels[i] = (hob_bytes){p + at, (size_t)size};
		t.raw_bytes[i] = t.zstd ? hob_load_u64(entry + 16) : size;
		if (!known)
			continue;
		size_t need = hob_gpu_level_bytes(&format, hob_level_side(t.width, i), hob_level_side(t.height, i));
		if (t.raw_bytes[i] != need)
			return hob_fail(err, CORRUPT, "level %u has %llu bytes, its size and format need %zu", i,
							(unsigned long long)t.raw_bytes[i], need);
	}
	if (t.basis && !hob_basis_open(file, &t, err))
		return false;
	*out = t;
	return true;
}
