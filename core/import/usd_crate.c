#include "usd_private.h"
bool hob_usd_crate_read(hob_usd *u, hob_bytes file, hob_usd_layer *layer, hob_error *err)
{
	(void)u, (void)file, (void)layer;
	return hob_fail(err, UNSUPPORTED, "crate");
}
