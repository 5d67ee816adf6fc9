#include "astc.h"

#if !HOB_ASTC
bool hob_astc_available(void)
{
	return false;
}

const char *hob_astc_version(void)
{
	return "";
}

bool hob_astc_encode(const uint8_t *pixels, uint32_t width, uint32_t height, const hob_gpu_format *format,
					 uint32_t quality, const hob_parallel *parallel, uint8_t *out, hob_error *err)
{
	(void)pixels, (void)width, (void)height, (void)format, (void)quality, (void)parallel, (void)out;
	return hob_fail(err, UNSUPPORTED, "this Hob was built without astcenc");
}
#endif
