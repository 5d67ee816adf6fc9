#include "model_format.h"

const srv_model_format srv_model_formats[] = {
#define MODEL_FORMAT(ending, what, remedy) {{ending, sizeof ending - 1}, what, remedy},
#include "../../schema/model_formats.def"
#undef MODEL_FORMAT
};
const uint32_t srv_model_format_count = HOB_COUNT_OF(srv_model_formats);

const srv_model_format *srv_model_format_of(hob_str path)
{
	hob_str name = hob_path_name(path);
	for (uint32_t i = 0; i < srv_model_format_count; i++) {
		hob_str known = srv_model_formats[i].ending;
		if (name.len > known.len + 1 && name.data[name.len - known.len - 1] == '.' &&
			hob_str_equal_nocase(hob_str_sub(name, name.len - known.len, name.len), known))
			return &srv_model_formats[i];
	}
	return NULL;
}
