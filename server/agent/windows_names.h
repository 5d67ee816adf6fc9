/* windows_names.h - names and attributes of Windows, without Windows: a unit test runs it on both systems. */
#ifndef AGENT_WINDOWS_NAMES_H
#define AGENT_WINDOWS_NAMES_H

#include "sys.h"

/* Appends UTF-16 as UTF-8, '\' as '/'. False: half of a surrogate pair; then nothing is appended. */
static inline bool agent_put_utf16(hob_buf *out, const uint16_t *text, size_t length)
{
	size_t before = out->size;
	for (size_t i = 0; i < length; i++) {
		uint32_t c = text[i] == '\\' ? '/' : text[i];
		bool first = (c & 0xFC00) == 0xD800,
			 pair = first && i + 1 < length && (text[i + 1] & 0xFC00) == 0xDC00;
		if ((c & 0xF800) == 0xD800 && !pair) {
			out->size = before;
			return false;
		}
		if (pair)
			c = 0x10000 + ((c & 0x3FF) << 10 | (text[++i] & 0x3FF));
		if (c < 0x80)
			hob_buf_printf(out, "%c", (int)c);
		else if (c < 0x800)
			hob_buf_printf(out, "%c%c", 0xC0 | (int)(c >> 6), 0x80 | (int)(c & 63));
		else if (c < 0x10000)
			hob_buf_printf(out, "%c%c%c", 0xE0 | (int)(c >> 12), 0x80 | (int)(c >> 6 & 63),
						   0x80 | (int)(c & 63));
		else
			hob_buf_printf(out, "%c%c%c%c", 0xF0 | (int)(c >> 18), 0x80 | (int)(c >> 12 & 63),
						   0x80 | (int)(c >> 6 & 63), 0x80 | (int)(c & 63));
	}
	return !out->failed;
}

/* Appends the form without a limit of length: "\\?\C:\art\duck.fbx" from "C:/art" and "duck.fbx". */
static inline void agent_put_long_path(hob_buf *out, const char *folder, hob_str path)
{
	bool share = folder[0] == '/' && folder[1] == '/';
	hob_buf_printf(out, "%s%s%s%.*s", share ? "//?/UNC" : "//?/", share ? folder + 1 : folder,
				   path.len > 0 ? "/" : "", HOB_FMT(path));
	for (size_t i = 0; i < out->size; i++)
		out->data[i] = out->data[i] == '/' ? '\\' : out->data[i];
}

/* attributes, tag: FILE_ATTRIBUTE_*, IO_REPARSE_TAG_*. A reparse point that names another place (a link, a
 * junction, a mounted drive) is a link; others, such as files of OneDrive, open like any. */
static inline sys_kind agent_kind_of(uint32_t attributes, uint32_t tag)
{
	enum { FOLDER = 0x10, DEVICE = 0x40, REPARSE_POINT = 0x400, NAME_SURROGATE = 0x20000000 };
	return attributes & REPARSE_POINT && tag & NAME_SURROGATE ? SYS_LINK
		   : attributes & FOLDER							  ? SYS_FOLDER
		   : attributes & DEVICE							  ? SYS_OTHER
															  : SYS_FILE;
}

#endif
