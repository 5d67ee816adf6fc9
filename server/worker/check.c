#include "check.h"

#include "../../core/formats/pack_validate.h"
#include "../../core/texture/ktx2.h"

hob_bytes srv_find_output(const srv_result *result, const char *name)
{
	for (uint32_t i = 0; i < result->output_count; i++)
		if (hob_str_equal(result->outputs[i].name, hob_str_of(name)))
			return result->outputs[i].bytes;
	return (hob_bytes){0};
}

static bool check_packed(const srv_result *result, hob_error *err)
{
	hob_pack_set set = {srv_find_output(result, "meshes"), srv_find_output(result, "materials"),
						srv_find_output(result, "scene"), srv_find_output(result, "animations")};
	return hob_pack_validate_set(&set, err);
}

static bool check_other(hob_str name, hob_bytes bytes, hob_error *err)
{
	static const char *const packed[] = {"meshes", "materials", "scene", "animations"};
	for (size_t i = 0; i < HOB_COUNT_OF(packed); i++)
		if (hob_str_equal(name, hob_str_of(packed[i])))
			return true;
	/* With encoding `source` or `png` a texture is a picture file, which nothing opens here. */
	static const uint8_t ktx2[4] = {0xAB, 'K', 'T', 'X'};
	if (hob_str_starts(name, HOB_STR("textures/")))
		return bytes.size < sizeof ktx2 || memcmp(bytes.data, ktx2, sizeof ktx2) != 0 ||
			   hob_ktx2_check(bytes, false, NULL, err);
	if (hob_str_equal(name, HOB_STR("report")))
		return hob_utf8_valid((hob_str){(const char *)bytes.data, bytes.size}) ||
			   hob_fail(err, REJECTED, "it is not UTF-8");
	return hob_fail(err, REJECTED, "nothing asked for it");
}

static bool refuse(const hob_error *why, const char *what, hob_str name, hob_error *err)
{
	if (why->code == HOB_ERR_MEMORY)
		return hob_fail(err, MEMORY, "%s", why->context);
	return hob_fail(err, REJECTED, "the validator refused %s%.*s of the cook process: %s", what,
					HOB_FMT(name), why->context);
}

bool srv_check_outputs(const srv_result *result, hob_error *err)
{
	hob_error why = {0};
	if (!check_packed(result, &why))
		return refuse(&why, "what came", (hob_str){0}, err);
	for (uint32_t i = 0; i < result->output_count; i++)
		if (!check_other(result->outputs[i].name, result->outputs[i].bytes, &why))
			return refuse(&why, "output ", result->outputs[i].name, err);
	return true;
}
