/* percent.h - percent-encoding for paths and queries of URLs. */
#ifndef HOB_PERCENT_H
#define HOB_PERCENT_H

#include "base.h"

/* Appends the text; all but unreserved characters and '/' is escaped. */
static inline void hob_buf_put_percent(hob_buf *out, hob_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
					 c == '.' || c == '_' || c == '~' || c == '/';
		if (plain)
			hob_buf_put(out, &c, 1);
		else
			hob_buf_printf(out, "%%%02X", (uint8_t)c);
	}
}

#endif
