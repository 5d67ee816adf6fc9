#include "portable.h"

enum { PART_BYTES = 255, PORTABLE_BYTES = 1024 };

static bool is_device(hob_str part)
{
	static const char *const names[] = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"};
	hob_str stem = hob_str_sub(part, 0, hob_str_find(part, HOB_STR("."), 0));
	while (stem.len > 0 && stem.data[stem.len - 1] == ' ')
		stem.len--;
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		if (hob_str_equal_nocase(stem, hob_str_of(names[i])))
			return true;
	hob_str kind = hob_str_sub(stem, 0, 3), number = hob_str_sub(stem, 3, stem.len);
	bool port = hob_str_equal_nocase(kind, HOB_STR("COM")) || hob_str_equal_nocase(kind, HOB_STR("LPT"));
	/* Windows treats the superscripts 1 to 3 as digits. */
	bool digit = number.len == 1 && number.data[0] >= '0' && number.data[0] <= '9';
	bool raised = hob_str_equal(number, HOB_STR("\xC2\xB9")) || hob_str_equal(number, HOB_STR("\xC2\xB2")) ||
				  hob_str_equal(number, HOB_STR("\xC2\xB3"));
	return port && (digit || raised);
}

static const char *bad_part(hob_str part)
{
	if (part.len == 0)
		return "has an empty part";
	if (hob_str_equal(part, HOB_STR(".")) || hob_str_equal(part, HOB_STR("..")))
		return "leads outside with '.' or '..'";
	if (part.len > PART_BYTES)
		return "has a part of more than 255 bytes";
	if (part.data[part.len - 1] == '.' || part.data[part.len - 1] == ' ')
		return "has a part that ends with a dot or a space";
	if (is_device(part))
		return "holds the name of a device of Windows";
	return NULL;
}

const char *hob_path_unportable(hob_str path)
{
	if (path.len == 0 || path.len > PORTABLE_BYTES)
		return path.len == 0 ? "is empty" : "is longer than 1,024 bytes";
	if (!hob_utf8_valid(path))
		return "is not valid Unicode";
	for (size_t i = 0; i < path.len; i++) {
		char c = path.data[i];
		if ((uint8_t)c < 0x20 || c == 0x7F)
			return "holds a control character";
		if (strchr("<>:\"|?*\\", c))
			return "holds one of < > : \" | ? * \\";
	}
	for (size_t from = 0, to; from <= path.len; from = to + 1) {
		to = hob_str_find(path, HOB_STR("/"), from);
		to = to == SIZE_MAX ? path.len : to;
		const char *why = bad_part(hob_str_sub(path, from, to));
		if (why)
			return why;
	}
	return NULL;
}
