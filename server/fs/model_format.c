#include "model_format.h"

const srv_model_format srv_model_formats[] = {
#define MODEL_FORMAT(ending, what, remedy) {{ending, sizeof ending - 1}, what, remedy},
#include "../../schema/model_formats.def"
#undef MODEL_FORMAT
};
const uint32_t srv_model_format_count = HOB_COUNT_OF(srv_model_formats);

const srv_model_format *srv_model_format_of(hob_str path)
{
	hob_str ending = hob_path_extension(path);
	for (uint32_t i = 0; ending.len > 0 && i < srv_model_format_count; i++) {
		hob_str known = srv_model_formats[i].ending;
		/* Length and first letter distinguish most of them. */
		if (known.len == ending.len && known.data[0] == (ending.data[0] | 32) &&
			hob_str_equal_nocase(ending, known))
			return &srv_model_formats[i];
	}
	return NULL;
}
