#include "model_format.h"

const srv_model_format srv_model_formats[] = {
#define MODEL_FORMAT(ending, what, remedy) {ending, what, remedy},
#include "../../schema/model_formats.def"
#undef MODEL_FORMAT
};
const uint32_t srv_model_format_count = HOB_COUNT_OF(srv_model_formats);

const srv_model_format *srv_model_format_of(hob_str path)
{
	hob_str ending = hob_path_extension(path);
	for (uint32_t i = 0; i < srv_model_format_count; i++)
		if (hob_str_equal_nocase(ending, hob_str_of(srv_model_formats[i].ending)))
			return &srv_model_formats[i];
	return NULL;
}
