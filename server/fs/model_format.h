/* model_format.h - model formats that Hob knows by extension, with or without a reader:
 * schema/model_formats.def. */
#ifndef SRV_MODEL_FORMAT_H
#define SRV_MODEL_FORMAT_H

#include "../../core/base/base.h"

typedef struct srv_model_format {
	hob_str ending; /* lower case; may contain a point: "mesh.xml" */
	const char *what, *remedy;
} srv_model_format;

extern const srv_model_format srv_model_formats[];
extern const uint32_t srv_model_format_count;

/* Finds the format by the ending of the path, ignoring case; NULL: none. */
const srv_model_format *srv_model_format_of(hob_str path);

#endif
