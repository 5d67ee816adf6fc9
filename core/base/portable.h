/* portable.h - file names that Linux, Windows and macOS all accept. */
#ifndef HOB_PORTABLE_H
#define HOB_PORTABLE_H

#include "base.h"

/* Why a relative path with '/' cannot be a file on every one of these systems, as the end of a sentence
 * ("holds ':'"); NULL if it can. Refused are absolute paths, "." and "..", control characters, invalid UTF-8,
 * the characters < > : " | ? * and backslash, a space or dot at the end of a part, device names (CON, NUL,
 * COM1 ... with any extension), parts over 255 bytes and paths over 1,024 bytes. */
const char *hob_path_unportable(hob_str path);

#endif
