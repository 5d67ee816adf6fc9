#include "check.h"

#include "../../core/formats/pack_validate.h"
#include "../../core/texture/ktx2.h"

static bool check(hob_str name, hob_bytes bytes, hob_error *err)
{
	static const char *const packed[] = {"meshes", "materials", "scene", "animations"};
	for (size_t i = 0; i < HOB_COUNT_OF(packed); i++)
		if (hob_str_equal(name, hob_str_of(packed[i])))
			return hob_pack_validate(bytes, err);
	/* With encoding `source` or `png` a texture is a picture file, which nobody here opens. */
	static const uint8_t ktx2[4] = {0xAB, 'K', 'T', 'X'};
	if (hob_str_starts(name, HOB_STR("textures/")))
		return bytes.size < sizeof ktx2 || memcmp(bytes.data, ktx2, sizeof ktx2) != 0 ||
			   hob_ktx2_check(bytes, false, NULL, err);
	if (hob_str_equal(name, HOB_STR("report")))
		return hob_utf8_valid((hob_str){(const char *)bytes.data, bytes.size}) ||
			   hob_fail(err, REJECTED, "it is not UTF-8");
	return hob_fail(err, REJECTED, "nothing asked for it");
}

bool srv_check_output(hob_str name, hob_bytes bytes, hob_error *err)
{
	hob_error why = {0};
	if (check(name, bytes, &why))
		return true;
	if (why.code == HOB_ERR_MEMORY)
		return hob_fail(err, MEMORY, "%s", why.context);
	return hob_fail(err, REJECTED, "the validator refused output '%.*s' of the cook process: %s",
					HOB_FMT(name), why.context);
}
