/* version.h - finds the record of an earlier cook of an asset from a name that a person typed.
 *
 * Any thread that may read the store, or a reader of it (store/reader.h). Functions return 0, or the HTTP
 * status of *err: 400, 404, 410, 503. Records are made in `arena`. */
#ifndef SRV_QUERY_VERSION_H
#define SRV_QUERY_VERSION_H

#include "../store/store.h"

typedef struct srv_version_of {
	srv_store *store;
	uint64_t newest; /* newest revision */
	hob_str full;
	const hob_sha256 *served; /* key of the served cook; NULL: none */
} srv_version_of;

/* The record that was served at the revision. */
int srv_version_at(srv_store *store, uint64_t newest, hob_str full, uint64_t rev, hob_arena *arena,
				   srv_record *out, hob_error *err);
/* which: a revision, the key of a cook, "latest" (the served cook), "previous" (the newest earlier cook with
 * other outputs). */
int srv_version_find(const srv_version_of *of, hob_str which, hob_arena *arena, srv_record *out,
					 hob_error *err);

#endif
