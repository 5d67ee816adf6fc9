#include "check.h"

#include "../../core/formats/pack_validate.h"
#include "../../core/texture/ktx2.h"

#include <stdio.h>

enum { TEXTURES_MAX = 1 << 16 }; /* as many as HOB_LIMIT_OUTPUTS allows */

static const char *const packed[] = {"meshes", "materials", "scene", "animations"};

hob_bytes srv_find_output(const srv_result *result, const char *name)
{
	for (uint32_t i = 0; i < result->output_count; i++)
		if (hob_str_equal(result->outputs[i].name, hob_str_of(name)))
			return result->outputs[i].bytes;
	return (hob_bytes){0};
}

/* Returns 12 for "textures/12"; HOB_NONE for a name of another form. */
static uint32_t texture_number(hob_str name)
{
	char text[24];
	uint32_t number = 0;
	hob_str digits = hob_str_sub(name, sizeof "textures/" - 1, name.len);
	for (size_t i = 0; i < digits.len && number < TEXTURES_MAX; i++)
		number = number * 10 + (uint32_t)(digits.data[i] - '0') % 10;
	snprintf(text, sizeof text, "textures/%u", number);
	return number < TEXTURES_MAX && hob_str_equal(name, hob_str_of(text)) ? number : HOB_NONE;
}

/* Refuses duplicate names: only one output of a name is validated, and readers might take the other. */
static bool check_names(const srv_result *result, hob_error *err)
{
	uint8_t seen[TEXTURES_MAX / 8] = {0};
	bool other[HOB_COUNT_OF(packed) + 1] = {false};
	for (uint32_t i = 0; i < result->output_count; i++) {
		hob_str name = result->outputs[i].name;
		if (hob_str_starts(name, HOB_STR("textures/"))) {
			uint32_t number = texture_number(name);
			if (number == HOB_NONE)
				return hob_fail(err, REJECTED, "an output has a name that no texture has");
			if (seen[number / 8] >> number % 8 & 1)
				return hob_fail(err, REJECTED, "texture %u comes twice", number);
			seen[number / 8] |= (uint8_t)(1u << number % 8);
			continue;
		}
		size_t which = 0;
		while (which < HOB_COUNT_OF(packed) && !hob_str_equal(name, hob_str_of(packed[which])))
			which++;
		if (which == HOB_COUNT_OF(packed) && !hob_str_equal(name, HOB_STR("report")))
			return hob_fail(err, REJECTED, "nothing asked for an output of this name");
		if (other[which])
			return hob_fail(err, REJECTED, "'%.*s' comes twice", HOB_FMT(name));
		other[which] = true;
	}
	return true;
}

static bool check_packed(const srv_result *result, hob_error *err)
{
	hob_pack_set set = {srv_find_output(result, "meshes"), srv_find_output(result, "materials"),
						srv_find_output(result, "scene"), srv_find_output(result, "animations")};
	return hob_pack_validate_set(&set, err);
}

static bool check_other(hob_str name, hob_bytes bytes, hob_error *err)
{
	for (size_t i = 0; i < HOB_COUNT_OF(packed); i++)
		if (hob_str_equal(name, hob_str_of(packed[i])))
			return true;
	/* With encoding `source` or `png` a texture is a picture file, which is not decoded here. */
	static const uint8_t ktx2[4] = {0xAB, 'K', 'T', 'X'};
	if (hob_str_starts(name, HOB_STR("textures/")))
		return bytes.size < sizeof ktx2 || memcmp(bytes.data, ktx2, sizeof ktx2) != 0 ||
			   hob_ktx2_check(bytes, false, NULL, err);
	return hob_utf8_valid((hob_str){(const char *)bytes.data, bytes.size}) ||
		   hob_fail(err, REJECTED, "it is not UTF-8");
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
	if (!check_names(result, &why) || !check_packed(result, &why))
		return refuse(&why, "what came", (hob_str){0}, err);
	for (uint32_t i = 0; i < result->output_count; i++)
		if (!check_other(result->outputs[i].name, result->outputs[i].bytes, &why))
			return refuse(&why, "output ", result->outputs[i].name, err);
	return true;
}
