/* reader.h - reads the index outside the loop, on a read-only connection.
 *
 *   srv_reader_open --> begin --> row functions --> end --> begin ... --> srv_reader_close
 *
 * A reader is a srv_store without blobs. It belongs to one thread. Between begin and end these functions
 * accept it: srv_store_record, _records, _jobs, _each_change, _first_rev. They all see the rows of one
 * moment, at or after begin. Reading does not count as use of a record. Call end soon after begin: while a
 * reader is open, a checkpoint cannot include later rows.
 *
 * A reader that finds damage reports it to its store (srv_store_is_damaged). srv_store_rebuild makes a new
 * index file, which the reader opens at the next begin. */
#ifndef SRV_STORE_READER_H
#define SRV_STORE_READER_H

#include "store.h"

/* The store must outlive the reader. The first begin opens the file. Errors: MEMORY. */
bool srv_reader_open(srv_store *store, srv_store **out, hob_error *err) HOB_MUST_CHECK;
/* Starts reading. After `limit_ms` a row function fails with LIMIT. Errors: IO, CORRUPT (the index is being
 * rebuilt), MEMORY. */
bool srv_reader_begin(srv_store *reader, uint32_t limit_ms, hob_error *err) HOB_MUST_CHECK;
void srv_reader_end(srv_store *reader);
void srv_reader_close(srv_store *reader); /* call it before srv_store_close; NULL is allowed */

#endif
