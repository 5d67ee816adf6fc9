/* text.h - small helpers that every text reader of this folder shares. */
#ifndef HOB_IMPORT_TEXT_H
#define HOB_IMPORT_TEXT_H

#include "../base/base.h"

/* A name fit for a model: blanks at both ends dropped, bytes that are not UTF-8 read as Latin-1, control
 * characters replaced by a space, cut at HOB_LIMIT_NAME_BYTES between characters. Copied into `arena`;
 * data == NULL only when memory is short. */
hob_str hob_text_name(hob_arena *arena, hob_str raw);

#endif
