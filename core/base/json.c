#include "base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void hob_buf_put_double(hob_buf *buf, double value)
{
	char text[40];
	if (!isfinite(value)) {
		hob_buf_put_str(buf, HOB_STR("null"));
		return;
	}
	snprintf(text, sizeof text, "%.15g", value);
	double back = strtod(text, NULL);
	if (memcmp(&back, &value, sizeof back) != 0)
		snprintf(text, sizeof text, "%.17g", value);
	for (char *c = text; *c; c++)
		if (*c == ',')
			*c = '.'; /* the host program may have set a locale with another decimal point */
	hob_buf_put_str(buf, hob_str_of(text));
}
