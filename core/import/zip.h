/* zip.h - files out of a zip archive: what 3MF, ZAE and USDZ are.
 *
 * Stored and deflated members; no encryption, no parts over several disks. Numbers of 64 bits are read
 * (lib3mf writes them always). Nothing is trusted: every offset and size is checked against the size of the
 * file. Checksums are not. Source: PKWARE's APPNOTE.TXT. */
#ifndef HOB_ZIP_H
#define HOB_ZIP_H

#include "../base/base.h"

typedef struct hob_zip {
	hob_bytes bytes;
	size_t directory; /* offset of the list of members */
	uint32_t count;	  /* of members, as declared */
} hob_zip;

typedef struct hob_zip_member {
	hob_str name;	  /* as written, borrowed from the archive; may hold anything */
	hob_bytes packed; /* inside the archive */
	size_t size;	  /* unpacked, as declared */
	bool stored;	  /* else deflated */
} hob_zip_member;

/* False when the bytes are no zip archive. */
bool hob_zip_open(hob_bytes file, hob_zip *out) HOB_MUST_CHECK;

/* Walks the members in the order of the list: *at is 0 at first. Members that are neither stored nor
 * deflated, encrypted, or outside the archive are passed over. False at the end, or where the list is
 * damaged. */
bool hob_zip_next(const hob_zip *zip, size_t *at, hob_zip_member *out);

/* The first member of exactly this name, or whose name ends with `suffix` in any case. */
bool hob_zip_find(const hob_zip *zip, hob_str name, hob_zip_member *out) HOB_MUST_CHECK;
bool hob_zip_find_suffix(const hob_zip *zip, hob_str suffix, hob_zip_member *out) HOB_MUST_CHECK;

/* The member's bytes: a stored one borrows from the archive, a deflated one lives in `arena`. False when it
 * is empty, larger than `most` bytes, damaged, or when memory is short. */
bool hob_zip_unpack(hob_arena *arena, const hob_zip_member *member, size_t most,
					hob_bytes *out) HOB_MUST_CHECK;

/* A file compressed with gzip (.wrl files are). False when it is not gzip, larger than `most` bytes, damaged,
 * or when memory is short. Source: RFC 1952. */
bool hob_gzip_unpack(hob_arena *arena, hob_bytes file, size_t most, hob_bytes *out) HOB_MUST_CHECK;

#endif
