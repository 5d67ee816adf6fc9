#include "usd_build.h"

bool hob_usd_build_clips(hob_usd_build_t *b, hob_error *err)
{
	(void)b, (void)err;
	return true;
}
