/* text_order.h - bytewise order of strings, for qsort and binary search. */
#ifndef HOB_TEXT_ORDER_H
#define HOB_TEXT_ORDER_H

#include "base.h"

/* Like memcmp; a prefix sorts before longer strings. */
static inline int hob_str_compare(hob_str a, hob_str b)
{
	size_t shared = a.len < b.len ? a.len : b.len;
	int order = shared > 0 ? memcmp(a.data, b.data, shared) : 0;
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

#endif
