#include "inside.h"

static hob_str skip_blanks(hob_str s)
{
	while (s.len > 0 && (s.data[0] == ' ' || s.data[0] == '\t'))
		s = hob_str_sub(s, 1, s.len);
	return s;
}

/* Reads leading digits; a number that is too large saturates. */
static bool take_number(hob_str *s, uint64_t *out)
{
	size_t i = 0;
	uint64_t value = 0;
	for (; i < s->len && s->data[i] >= '0' && s->data[i] <= '9'; i++) {
		uint64_t digit = (uint64_t)(s->data[i] - '0');
		value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
	}
	*s = hob_str_sub(*s, i, s->len);
	*out = value;
	return i > 0;
}

range_result srv_range_parse(hob_str field, uint64_t size, uint64_t *first, uint64_t *last)
{
	field = skip_blanks(field);
	if (field.len < 6 || !hob_str_equal_nocase(hob_str_sub(field, 0, 6), HOB_STR("bytes=")))
		return RANGE_WHOLE;
	hob_str rest = skip_blanks(hob_str_sub(field, 6, field.len));
	uint64_t from = 0, to = UINT64_MAX;
	bool has_from = take_number(&rest, &from);
	if (rest.len == 0 || rest.data[0] != '-')
		return RANGE_WHOLE;
	rest = hob_str_sub(rest, 1, rest.len);
	bool has_to = take_number(&rest, &to);
	rest = skip_blanks(rest);
	if (rest.len > 0 || (!has_from && !has_to) || (has_from && has_to && to < from))
		return RANGE_WHOLE;
	if (!has_from) {
		if (to == 0 || size == 0)
			return RANGE_NOWHERE;
		*first = to < size ? size - to : 0;
		*last = size - 1;
		return RANGE_PART;
	}
	if (from >= size)
		return RANGE_NOWHERE;
	*first = from;
	*last = has_to && to < size ? to : size - 1;
	return RANGE_PART;
}

bool srv_etag_in_list(hob_str list, hob_str tag)
{
	for (;;) {
		list = skip_blanks(list);
		if (list.len > 0 && list.data[0] == ',') {
			list = hob_str_sub(list, 1, list.len);
			continue;
		}
		if (list.len == 0)
			return false;
		if (list.data[0] == '*')
			return true;
		if (hob_str_starts(list, HOB_STR("W/")))
			list = hob_str_sub(list, 2, list.len);
		if (list.len == 0 || list.data[0] != '"')
			return false;
		size_t end = hob_str_find(list, HOB_STR("\""), 1);
		if (end == SIZE_MAX)
			return false;
		if (hob_str_equal(hob_str_sub(list, 0, end + 1), tag))
			return true;
		list = hob_str_sub(list, end + 1, list.len);
	}
}
