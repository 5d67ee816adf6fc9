/* zip.h - reads zip archives: 3MF, ZAE and USDZ.
 *
 * Stored and deflated members; no encryption, no multi-disk archives. 64-bit sizes are read (lib3mf always
 * writes them). Every offset and size is checked against the size of the file; checksums are not verified.
 * Source: PKWARE's APPNOTE.TXT. */
#ifndef HOB_ZIP_H
#define HOB_ZIP_H

#include "../base/base.h"

typedef struct hob_zip {
	hob_bytes bytes;
	size_t directory; /* offset of the directory */
	uint32_t count;	  /* declared number of members */
} hob_zip;

typedef struct hob_zip_member {
	hob_str name;	  /* as stored, borrowed from the archive; may hold anything */
	hob_bytes packed; /* bytes in the archive */
	size_t size;	  /* declared unpacked size */
	bool stored;	  /* otherwise deflated */
} hob_zip_member;

/* False when the bytes are no zip archive. */
bool hob_zip_open(hob_bytes file, hob_zip *out) HOB_MUST_CHECK;

/* Iterates over the members in directory order: *at is 0 at first. Skips members that are neither stored nor
 * deflated, encrypted, or outside the archive. False at the end, or where the directory is damaged. */
bool hob_zip_next(const hob_zip *zip, size_t *at, hob_zip_member *out);

/* The first member of exactly this name, or whose name ends with `suffix` in any case. */
bool hob_zip_find(const hob_zip *zip, hob_str name, hob_zip_member *out) HOB_MUST_CHECK;
bool hob_zip_find_suffix(const hob_zip *zip, hob_str suffix, hob_zip_member *out) HOB_MUST_CHECK;

/* The member's bytes: borrowed from the archive if stored, else unpacked into `arena`. False when it is
 * empty, larger than `most` bytes, or damaged. */
bool hob_zip_unpack(hob_arena *arena, const hob_zip_member *member, size_t most,
					hob_bytes *out) HOB_MUST_CHECK;

/* Unpacks a gzip file (.wrl files may be). False when it is not gzip, larger than `most` bytes, or damaged.
 * Source: RFC 1952. */
bool hob_gzip_unpack(hob_arena *arena, hob_bytes file, size_t most, hob_bytes *out) HOB_MUST_CHECK;

#endif
