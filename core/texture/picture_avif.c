#include "picture.h"

#ifdef HOB_AVIF
#include "../base/limits.h"

#include <avif/avif.h>

static avifDecoder *open_file(hob_bytes file, hob_error *err)
{
	avifDecoder *decoder = avifDecoderCreate();
	if (!decoder) {
		hob_fail(err, MEMORY, "no memory left for an AVIF file");
		return NULL;
	}
	decoder->maxThreads = 1;
	decoder->ignoreExif = decoder->ignoreXMP = AVIF_TRUE;
	decoder->imageSizeLimit = (uint32_t)HOB_LIMIT_IMAGE_PIXELS;
	decoder->imageDimensionLimit = (uint32_t)HOB_LIMIT_IMAGE_SIDE;
	/* Other readers accept files with missing properties, too. */
	decoder->strictFlags = AVIF_STRICT_DISABLED;
	avifResult result = avifDecoderSetIOMemory(decoder, file.data, file.size);
	if (result == AVIF_RESULT_OK)
		result = avifDecoderParse(decoder);
	if (result == AVIF_RESULT_OK)
		return decoder;
	hob_fail(err, CORRUPT, "the header is damaged or too large: %s", avifResultToString(result));
	avifDecoderDestroy(decoder);
	return NULL;
}

bool hob_avif_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	avifDecoder *decoder = open_file(file, err);
	if (!decoder)
		return false;
	const avifImage *image = decoder->image;
	out->width = image->width;
	out->height = image->height;
	out->channels =
		(image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400 ? 1u : 3u) + (decoder->alphaPresent ? 1u : 0u);
	out->depth = image->depth > 8 ? HOB_DEPTH_16 : HOB_DEPTH_8;
	if (image->icc.size > 0)
		out->has_profile = !hob_profile_is_srgb((hob_bytes){image->icc.data, image->icc.size});
	else
		out->has_profile = image->transferCharacteristics == AVIF_TRANSFER_CHARACTERISTICS_SMPTE2084 ||
						   image->transferCharacteristics == AVIF_TRANSFER_CHARACTERISTICS_HLG ||
						   image->transferCharacteristics == AVIF_TRANSFER_CHARACTERISTICS_LINEAR;
	avifDecoderDestroy(decoder);
	return true;
}

bool hob_avif_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				   hob_error *err)
{
	hob_picture_new(info, arena, out);
	avifDecoder *decoder = open_file(file, err);
	if (!decoder)
		return false;
	avifResult result = avifDecoderNextImage(decoder);
	if (result == AVIF_RESULT_OK) {
		avifRGBImage rgb;
		avifRGBImageSetDefaults(&rgb, decoder->image);
		rgb.format = AVIF_RGB_FORMAT_RGBA;
		rgb.depth = info->depth == HOB_DEPTH_16 ? 16 : 8;
		rgb.pixels = out->pixels;
		rgb.rowBytes = (uint32_t)(4 * hob_depth_size(info->depth) * info->width);
		result = avifImageYUVToRGB(decoder->image, &rgb);
	}
	avifDecoderDestroy(decoder);
	return result == AVIF_RESULT_OK ||
		   hob_fail(err, CORRUPT, "the pixels are damaged or cut off: %s", avifResultToString(result));
}

#endif
