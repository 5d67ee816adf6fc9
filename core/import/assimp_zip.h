/* assimp_zip.h - one file out of a zip archive, for what Assimp leaves unread there. */
#ifndef HOB_ASSIMP_ZIP_H
#define HOB_ASSIMP_ZIP_H

#include "../base/base.h"

/* The first member whose name ends with `suffix`, unpacked into `arena`. False when there is none, when it is
 * neither stored nor deflated, larger than `most` bytes unpacked, or damaged. Source: PKWARE's APPNOTE.TXT. */
bool hob_assimp_zip_member(hob_arena *arena, hob_bytes zip, hob_str suffix, size_t most,
						   hob_bytes *out) HOB_MUST_CHECK;

#endif
