/* transfer.h - reads or writes all bytes, however many calls that takes.
 *
 * False with errno if a call fails; errno means nothing if the file ends too early, or if nothing more can be
 * written. */
#ifndef SRV_TRANSFER_H
#define SRV_TRANSFER_H

#include "../../core/hash/hash.h"

bool srv_write_all(int fd, const void *data, size_t size);
/* From the beginning of the file; leaves its offset alone. */
bool srv_read_all(int fd, void *out, size_t size);
/* SHA-256 of the file from its offset on, and that many bytes (NULL: not asked for). stop: looked at between
 * pieces, ECANCELED if it is set; may be NULL. */
bool srv_hash_rest(int fd, const _Atomic bool *stop, hob_sha256 *out, uint64_t *size);

#endif
