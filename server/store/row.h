/* row.h - compact values of rows in index.db: similar texts, and the lists of a record.
 *
 * A short text is the text itself, or 0x00 and the text, or 0x01, a count of digests, the digests, and a zstd
 * frame (compressed with row_dictionary.h; for a text in parts without a dictionary, and without a stated
 * size). In the frame, 0x02 encodes the 64 lower-case hex digits of the next digest. Empty stays empty.
 *
 * The lists of a record are its dependencies, then its outputs; each list begins with its count. Numbers are
 * LEB128.
 *
 *   dependency   2 * length of the path + 1 if it was missing, the path, its digest unless it was missing
 *   output       2 * length of the name and the name, or 2 * number of a usual name + 1; its digest; its size
 *
 * Pure functions on memory; any thread. */
#ifndef SRV_ROW_H
#define SRV_ROW_H

#include "store.h"

#include <sqlite3.h>

/* These append to `out`, which records a failed allocation. */
void srv_row_put_number(hob_buf *out, uint64_t value);
void srv_row_put_short(hob_str text, hob_buf *out);
/* srv_row_put_short for a text in parts, each compressed. A digest that spans two parts remains text. */
typedef struct srv_row_packer srv_row_packer;
srv_row_packer *srv_row_packer_new(void);					   /* NULL without memory */
void srv_row_packer_put(srv_row_packer *packer, hob_str text); /* remembers failures */
bool srv_row_packer_end(srv_row_packer *packer, hob_buf *out); /* false: something failed */
void srv_row_packer_free(srv_row_packer *packer);
void srv_row_put_lists(const srv_record *record, hob_buf *out);
/* Decodes a short text, into `arena` or in place in `bytes`. False if srv_row_put_short did not write it, or
 * without memory. */
bool srv_row_take_short(hob_str bytes, hob_arena *arena, hob_str *out);
/* Sets deps and outputs with their counts, in `arena`, names and paths in `bytes`. False as above. */
bool srv_row_take_lists(hob_str bytes, hob_arena *arena, srv_record *out);
/* Key of a text in the table `text`: the first half of its SHA-256; nothing for an empty one. */
enum { SRV_ROW_NAME = 16 };
hob_str srv_row_name(hob_str text, uint8_t out[SRV_ROW_NAME]);

/* The functions that steps of schema/store.sql call: hob_name(text), hob_short(text), hob_lists(id,
 * dep_count, output_count). */
bool srv_row_add_functions(sqlite3 *db);

#endif
