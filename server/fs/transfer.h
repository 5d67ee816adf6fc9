/* transfer.h - reads or writes all bytes, in as many calls as necessary.
 *
  * False with errno if a call fails; errno is meaningless if nothing more can be written. */
#ifndef SRV_TRANSFER_H
#define SRV_TRANSFER_H

#include "../../core/hash/hash.h"

#include <sys/types.h>

bool srv_write_all(int fd, const void *data, size_t size);
/* These keep the file's offset; errno is 0 if it ends early. all: reads from the beginning. */
bool srv_read_at(int fd, void *out, size_t size, uint64_t at);
bool srv_read_all(int fd, void *out, size_t size);
/* SHA-256 of the file from its offset on, and the number of these bytes (size: may be NULL). stop: checked
 * between pieces, fails with ECANCELED; may be NULL. */
bool srv_hash_rest(int fd, const _Atomic bool *stop, hob_sha256 *out, uint64_t *size);

/* Copies the first `size` bytes of `from` to the offset of `to`. */
bool srv_copy(int from, int to, uint64_t size);
/* Replaces a file at once, or makes it: begin opens a new file beside it (-1: it cannot); end closes that,
 * gives it the name if `ok` (all is written), and otherwise removes it. */
int srv_replace_begin(int folder, const char *temporary, mode_t mode);
bool srv_replace_end(int folder, const char *temporary, int fd, bool ok, const char *name);

#endif
