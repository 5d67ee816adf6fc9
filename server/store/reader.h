/* reader.h - the index, read beside the loop: a connection of its own that cannot write.
 *
 *   srv_reader_open --> begin --> row functions --> end --> begin ... --> srv_reader_close
 *
 * A reader is a srv_store that knows no blobs. It belongs to one thread. Between begin and end these functions take it:
 * srv_store_recipe, _recipes, _jobs, _changes, _each_change, _first_rev. They all see the rows of one moment, which is not
 * before begin. Reading does not count as use of a recipe. Begin and end in pairs, and soon: the log of the index cannot be
 * folded past an open reader.
 *
 * A reader that meets damage reports it to the store it reads (srv_store_is_damaged). After srv_store_rebuild the index is another
 * file, and the reader opens it at the next begin. */
#ifndef SRV_STORE_READER_H
#define SRV_STORE_READER_H

#include "store.h"

/* The store must outlive the reader. No file is opened before the first begin. Errors: MEMORY. */
bool srv_reader_open(srv_store *store, srv_store **out, hob_error *err) HOB_MUST_CHECK;
/* Begins to read. After `limit_ms` a row function fails with LIMIT. Errors: IO, CORRUPT (the index is being rebuilt), MEMORY. */
bool srv_reader_begin(srv_store *reader, uint32_t limit_ms, hob_error *err) HOB_MUST_CHECK;
void srv_reader_end(srv_store *reader);
void srv_reader_close(srv_store *reader); /* before srv_store_close; NULL is fine */

#endif
