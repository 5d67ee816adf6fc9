// textures_peers.cpp - C wrappers of the packaged compressors used for comparison.
#include <astcenc.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <nvtt/nvtt.h>
#include <squish.h>

extern "C" const int peers_are_there = 1;

extern "C" void peer_squish(const uint8_t *rgba, int width, int height, int bc, int quality, uint8_t *out)
{
	static const int fits[] = {squish::kColourRangeFit, squish::kColourClusterFit,
							   squish::kColourIterativeClusterFit};
	int format = bc == 1 ? squish::kDxt1 : bc == 3 ? squish::kDxt5 : bc == 4 ? squish::kBc4 : squish::kBc5;
	squish::CompressImage(rgba, width, height, out, format | fits[quality]);
}

namespace
{
struct Sink : nvtt::OutputHandler {
	uint8_t *at;
	void beginImage(int, int, int, int, int, int) override
	{
	}
	bool writeData(const void *data, int size) override
	{
		memcpy(at, data, size);
		at += size;
		return true;
	}
};
} // namespace

extern "C" void peer_nvtt(const uint8_t *rgba, int width, int height, int bc, int quality, uint8_t *out)
{
	nvtt::InputOptions input;
	input.setTextureLayout(nvtt::TextureType_2D, width, height);
	input.setMipmapGeneration(false);
	input.setGamma(1.0f, 1.0f);
	input.setAlphaMode(nvtt::AlphaMode_None);
	uint8_t *bgra = new uint8_t[4 * size_t(width) * height];
	for (size_t i = 0; i < size_t(width) * height; i++) {
		bgra[4 * i] = rgba[4 * i + 2], bgra[4 * i + 1] = rgba[4 * i + 1], bgra[4 * i + 2] = rgba[4 * i];
		// nvtt's BC4 holds alpha.
		bgra[4 * i + 3] = rgba[4 * i + (bc == 4 ? 0 : 3)];
	}
	input.setMipmapData(bgra, width, height);
	nvtt::OutputOptions output;
	output.setOutputHeader(false);
	Sink sink;
	sink.at = out;
	output.setOutputHandler(&sink);
	nvtt::CompressionOptions options;
	options.setFormat(bc == 1	? nvtt::Format_BC1
					  : bc == 3 ? nvtt::Format_BC3
					  : bc == 4 ? nvtt::Format_BC4
								: nvtt::Format_BC5);
	options.setQuality(quality ? nvtt::Quality_Normal : nvtt::Quality_Fastest);
	nvtt::Compressor().process(input, options, output);
	delete[] bgra;
}

extern "C" void peer_astc(const uint8_t *rgba, int width, int height, int side, float quality, uint8_t *out,
						  size_t size)
{
	astcenc_config config;
	astcenc_context *context;
	if (astcenc_config_init(ASTCENC_PRF_LDR, side, side, 1, quality, 0, &config) != ASTCENC_SUCCESS ||
		astcenc_context_alloc(&config, 1, &context) != ASTCENC_SUCCESS)
		abort();
	void *slices[1] = {const_cast<uint8_t *>(rgba)};
	astcenc_image image = {unsigned(width), unsigned(height), 1, ASTCENC_TYPE_U8, slices};
	const astcenc_swizzle swizzle = {ASTCENC_SWZ_R, ASTCENC_SWZ_G, ASTCENC_SWZ_B, ASTCENC_SWZ_A};
	if (astcenc_compress_image(context, &image, &swizzle, out, size, 0) != ASTCENC_SUCCESS)
		abort();
	astcenc_context_free(context);
}
