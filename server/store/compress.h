/* compress.h - zstd for small byte strings. Making a context costs more than using it, so one is kept.
 *
 * Threads: any. */
#ifndef SRV_COMPRESS_H
#define SRV_COMPRESS_H

#include "../../core/base/base.h"

/* Strings that rows of one kind have in common: row_dictionary.h and record_dictionary.h. */
typedef enum srv_dictionary {
	SRV_NO_DICTIONARY,
	SRV_ROW_DICTIONARY,
	SRV_OLD_RECORD_DICTIONARY,
	SRV_RECORD_DICTIONARY,
	SRV_DICTIONARIES
} srv_dictionary;

/* Appends one zstd frame. False without memory; `out` is as before then. */
bool srv_compress(hob_bytes from, srv_dictionary dictionary, hob_buf *out) HOB_MUST_CHECK;
/* How many bytes a frame holds. False if it is none, does not say so, or says more than `most`. */
bool srv_compressed_size(hob_bytes frame, uint64_t most, size_t *out) HOB_MUST_CHECK;
/* False unless the frame holds exactly `size` bytes, and without memory. */
bool srv_decompress(hob_bytes frame, srv_dictionary dictionary, uint8_t *out, size_t size) HOB_MUST_CHECK;

#endif
