#include "basis.h"
#include "blocks.h"

enum {
	DFD_MODEL = 12,
	DFD_SAMPLES = 28,
	SAMPLE_BYTES = 16,
	SAMPLE_CHANNEL = 3,
	UASTC_RRRG = 5,
	UASTC_RG = 6,
	UASTC_RGBA = 3,
	ETC1S_GGG = 4
};

bool hob_basis_open(hob_bytes file, hob_gpu_texture *out, hob_error *err)
{
	const uint8_t *p = file.data;
	uint64_t dfd = hob_load_u32(p + 48), dfd_size = hob_load_u32(p + 52), global = hob_load_u64(p + 64),
			 global_size = hob_load_u64(p + 72);
	if (dfd > file.size || dfd_size > file.size - dfd)
		return hob_fail(err, TRUNCATED, "the data format descriptor goes past the end of the file");
	if (dfd_size < DFD_SAMPLES + SAMPLE_BYTES)
		return hob_fail(err, CORRUPT, "a Basis Universal texture without a data format descriptor");
	const uint8_t *d = p + dfd, *samples = d + DFD_SAMPLES;
	uint8_t model = d[DFD_MODEL];
	out->basis_model = model == HOB_BASIS_ETC1S || model == HOB_BASIS_UASTC ? model : 0;
	if (model == HOB_BASIS_ETC1S && (global > file.size || global_size > file.size - global))
		return hob_fail(err, TRUNCATED, "the codebooks of BasisLZ go past the end of the file");
	if (model == HOB_BASIS_ETC1S)
		out->basis_global = (hob_bytes){p + global, (size_t)global_size};
	out->basis_channels[0] = samples[SAMPLE_CHANNEL] & 15;
	bool second = dfd_size >= DFD_SAMPLES + 2 * SAMPLE_BYTES;
	out->basis_channels[1] = second ? samples[SAMPLE_BYTES + SAMPLE_CHANNEL] & 15 : 0;
	return true;
}

static bool is_pair(const hob_gpu_texture *t)
{
	if (t->basis_model == HOB_BASIS_UASTC)
		return t->basis_channels[0] == UASTC_RRRG || t->basis_channels[0] == UASTC_RG;
	return t->basis_channels[1] == ETC1S_GGG;
}

uint32_t hob_basis_channels(const hob_gpu_texture *t)
{
	bool alpha =
		t->basis_model == HOB_BASIS_UASTC ? t->basis_channels[0] == UASTC_RGBA : t->basis_channels[1] != 0;
	return alpha && !is_pair(t) ? 4 : 3;
}

static bool decode_uastc(const hob_gpu_texture *t, hob_bytes level, uint8_t *pixels, hob_error *err)
{
	uint32_t wide = (t->width + 3) / 4, high = (t->height + 3) / 4, bad = 0;
	if (level.size / 16 < (size_t)wide * high)
		return hob_fail(err, TRUNCATED, "%zu bytes of UASTC, %u x %u pixels need %zu", level.size, t->width,
						t->height, (size_t)wide * high * 16);
	for (uint32_t y = 0; y < high; y++)
		for (uint32_t x = 0; x < wide; x++) {
			uint8_t block[64];
			bad += !hob_uastc_decode_block(level.data + 16 * ((size_t)y * wide + x), block);
			hob_block_place(block, 4, 4 * x, 4 * y, t->width, t->height, pixels);
		}
	return bad == 0 || hob_fail(err, CORRUPT, "%u blocks break the format of UASTC", bad);
}

/* Converts two channels, which are stored as RRRG to keep the precision of each. */
static void spread_pair(uint8_t *pixels, size_t count, bool green_in_alpha)
{
	for (size_t i = 0; i < count; i++, pixels += 4) {
		pixels[1] = green_in_alpha ? pixels[3] : pixels[1];
		pixels[2] = 0;
		pixels[3] = 255;
	}
}

bool hob_basis_decode(const hob_gpu_texture *t, hob_bytes level, hob_arena *arena, uint8_t *pixels,
					  hob_error *err)
{
	bool ok = t->basis_model == HOB_BASIS_UASTC ? decode_uastc(t, level, pixels, err)
												: hob_etc1s_decode(t, level, arena, pixels, err);
	if (ok && is_pair(t))
		spread_pair(pixels, (size_t)t->width * t->height,
					t->basis_model == HOB_BASIS_ETC1S || t->basis_channels[0] == UASTC_RRRG);
	return ok;
}
