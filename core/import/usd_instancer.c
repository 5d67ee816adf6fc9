#include "usd_build.h"

bool hob_usd_build_instancer(hob_usd_build_t *b, uint32_t prim, uint32_t node, hob_usd_context context,
							 hob_error *err)
{
	(void)b, (void)prim, (void)node, (void)err, (void)context;
	return true;
}
