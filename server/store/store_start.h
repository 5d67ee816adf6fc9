/* store_start.h - the layout of index.start: written by store_start_collect.c and store_start.c, read by the
 * latter.
 *
 * A head, the digests of blobs, the texts, then rows of parts, blobs, files and assets. Numbers are LEB128; a
 * text is 0 (empty) or its number from 1. A path is the length of the prefix shared with the previous path,
 * and the rest. A record follows the first asset that names it; its lists are those of row.h. Only the
 * program and the machine that wrote the file can read it. */
#ifndef SRV_STORE_START_H
#define SRV_STORE_START_H

#include "store_internal.h"

enum { START_FORMAT = 6 };

typedef struct start_head {
	char magic[8];
	uint32_t format, schema;
	srv_stat index; /* index.db at close */
	uint64_t size, hash[2];
	uint64_t last_job, last_rev, record_count;
	int64_t base_ms;
	uint64_t blob_capacity, blobs, files, texts, parts, assets, path_max;
	uint64_t texts_at, parts_at, blobs_at, files_at, assets_at;
} start_head;

typedef struct start_part {
	hob_sha256 key, blob;
	uint32_t used_at_s, saved_at_s;
} start_part;

/* Reference of an asset to a record: its place from RECORD_PLACES, or one of these. A record is stored at its
 * first reference. */
enum { RECORD_NONE, RECORD_UNKNOWN /* key */, RECORD_HERE /* length, record */, RECORD_SAME, RECORD_PLACES };

#endif
