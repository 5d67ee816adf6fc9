/* transfer.h - reads or writes all bytes, however many calls that takes.
 *
 * False with errno if a call fails; errno means nothing if the file ends too early, or if nothing more can be
 * written. */
#ifndef SRV_TRANSFER_H
#define SRV_TRANSFER_H

#include "../../core/base/base.h"

bool srv_write_all(int fd, const void *data, size_t size);
/* From the beginning of the file; leaves its offset alone. */
bool srv_read_all(int fd, void *out, size_t size);

#endif
