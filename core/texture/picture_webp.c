#include "picture.h"

#ifdef HOB_WEBP
#include <webp/decode.h>

bool hob_webp_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	WebPBitstreamFeatures features;
	if (WebPGetFeatures(file.data, file.size, &features) != VP8_STATUS_OK)
		return hob_fail(err, CORRUPT, "the header is damaged");
	if (features.has_animation)
		return hob_fail(err, UNSUPPORTED, "the picture is an animation; save one frame");
	out->width = (uint32_t)features.width;
	out->height = (uint32_t)features.height;
	out->channels = features.has_alpha ? 4 : 3;
	out->depth = HOB_DEPTH_8;
	return true;
}

bool hob_webp_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				   hob_error *err)
{
	hob_picture_new(info, arena, out);
	size_t stride = 4 * (size_t)info->width;
	if (!WebPDecodeRGBAInto(file.data, file.size, out->pixels, stride * info->height, (int)stride))
		return hob_fail(err, CORRUPT, "the pixels are damaged or cut off");
	return true;
}

#endif
