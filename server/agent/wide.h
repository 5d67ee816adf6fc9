/* wide.h - Windows: texts in UTF-16, and paths without a limit of length. */
#ifndef AGENT_WIDE_H
#define AGENT_WIDE_H

#include "../../core/base/base.h"

#include <windows.h>

enum { WIDE_PATH = 16384 };

/* "\\?\C:\art\props\duck.fbx" from "C:/art" and "props/duck.fbx"; free() it. NULL: no memory, or no UTF-8. */
wchar_t *agent_wide_path(const char *folder, hob_str path);
wchar_t *agent_wide_text(hob_str text); /* for free() */
/* Appends as UTF-8 in NFC. False: a lone surrogate. */
bool agent_put_narrow(hob_buf *out, const wchar_t *text, size_t length);

/* Appends the path as the disk spells it, with its case and long names. False: that is another text. */
bool agent_spelled(const char *folder, hob_str path, hob_buf *out);

#endif
