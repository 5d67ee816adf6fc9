/* compress.h - zstd for small byte strings. A context costs more to make than to use, so it is kept.
 *
 * Threads: any. */
#ifndef SRV_COMPRESS_H
#define SRV_COMPRESS_H

#include "../../core/base/base.h"

/* Common content of rows of one kind: row_dictionary.h and record_dictionary.h. */
typedef enum srv_dictionary {
	SRV_NO_DICTIONARY,
	SRV_ROW_DICTIONARY,
	SRV_OLD_RECORD_DICTIONARY,
	SRV_RECORD_DICTIONARY,
	SRV_DICTIONARIES
} srv_dictionary;

/* Appends one zstd frame. False without memory; `out` is then unchanged. */
bool srv_compress(hob_bytes from, srv_dictionary dictionary, hob_buf *out) HOB_MUST_CHECK;
/* The unpacked size of a frame. False if it is not a frame, states no size, or states more than `most`. */
bool srv_compressed_size(hob_bytes frame, uint64_t most, size_t *out) HOB_MUST_CHECK;
/* False without memory, or unless the frame holds exactly `size` bytes. */
bool srv_decompress(hob_bytes frame, srv_dictionary dictionary, uint8_t *out, size_t size) HOB_MUST_CHECK;

#endif
