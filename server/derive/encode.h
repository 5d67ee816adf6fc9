/* encode.h - encodes blobs with content codings, once for many answers. */
#ifndef SRV_ENCODE_H
#define SRV_ENCODE_H

#include "../../core/base/base.h"

/* Appends `plain`, encoded, to *out; appends nothing if that would save less than a tenth. Any thread;
 * memory: nine tenths of `plain`. Compression levels were chosen on 65 MB of cooked meshes, where higher ones
 * cost much more time: zstd 3 leaves 23.7 % at 160 MB/s (6: 22.0 % at 68), gzip 4 28.2 % at 73 MB/s (9: 28.1
 * % at 16). Brotli 5 left 21.0 % at 22 MB/s, which is not worth a dependency. Errors: MEMORY. */
bool srv_encode_zstd(hob_bytes plain, hob_buf *out, hob_error *err) HOB_MUST_CHECK;
bool srv_encode_gzip(hob_bytes plain, hob_buf *out, hob_error *err) HOB_MUST_CHECK;

#endif
