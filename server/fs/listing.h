/* listing.h - folders within a list of files that is sorted bytewise by path, and their digests. hob-agent
 * for Windows has it too. */
#ifndef SRV_LISTING_H
#define SRV_LISTING_H

#include "../../core/hash/hash.h"

typedef struct srv_listed {
	hob_str path;
	const hob_sha256 *digest;
} srv_listed;

typedef struct srv_listing {
	srv_listed (*at)(const void *files, uint32_t index);
	const void *files;
	uint32_t first, end; /* its part of the list */
	size_t skip;		 /* bytes of the folder's path, with a '/' */
} srv_listing;

/* The index of the first file at or after `path`. */
uint32_t srv_listing_lower(const srv_listing *in, hob_str path);
/* The files below a folder, whose path is whole ("" = all of them). */
srv_listing srv_listing_below(const srv_listing *in, hob_str folder);
/* SHA-256 over the files and folders in a folder, in the order of the list; for each, 'f' or 'd', the name, a
 * NUL, and 32 bytes of the file's digest or the folder's. Calls `item` for each (NULL: no calls); `index` is
 * HOB_NONE for a folder. */
typedef void srv_listing_item(void *user, hob_str name, uint32_t index, const hob_sha256 *digest);
hob_sha256 srv_listing_digest(const srv_listing *folder, srv_listing_item *item, void *user);

#endif
