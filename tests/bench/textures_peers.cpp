// textures_peers.cpp - the packaged compressors that Hob's are measured against, behind C names. Not part of Hob.
#include <astcenc.h>
#include <cstdint>
#include <cstring>
#include <nvtt/nvtt.h>
#include <squish.h>

extern "C" void peer_squish(const uint8_t *rgba, int width, int height, int quality, uint8_t *out)
{
	squish::CompressImage(rgba, width, height, out,
						  squish::kDxt1 | (quality ? squish::kColourClusterFit : squish::kColourRangeFit));
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
		bgra[4 * i + 3] = rgba[4 * i + 3];
	}
	input.setMipmapData(bgra, width, height);
	nvtt::OutputOptions output;
	output.setOutputHeader(false);
	Sink sink;
	sink.at = out;
	output.setOutputHandler(&sink);
	nvtt::CompressionOptions options;
	options.setFormat(bc == 1 ? nvtt::Format_BC1 : bc == 4 ? nvtt::Format_BC4 : nvtt::Format_BC5);
	options.setQuality(quality ? nvtt::Quality_Normal : nvtt::Quality_Fastest);
	nvtt::Compressor().process(input, options, output);
	delete[] bgra;
}

// ASTC there and back: what the decoder gives for the encoder's blocks.
extern "C" void peer_astc_decode(const uint8_t *blocks, size_t size, int width, int height, int side,
								 uint8_t *rgba)
{
	astcenc_config config;
	astcenc_config_init(ASTCENC_PRF_LDR, side, side, 1, ASTCENC_PRE_FAST, ASTCENC_FLG_DECOMPRESS_ONLY,
						&config);
	astcenc_context *context;
	astcenc_context_alloc(&config, 1, &context);
	void *slices[1] = {rgba};
	astcenc_image image = {unsigned(width), unsigned(height), 1, ASTCENC_TYPE_U8, slices};
	const astcenc_swizzle swizzle = {ASTCENC_SWZ_R, ASTCENC_SWZ_G, ASTCENC_SWZ_B, ASTCENC_SWZ_A};
	astcenc_decompress_image(context, blocks, size, &image, &swizzle, 0);
	astcenc_context_free(context);
}
