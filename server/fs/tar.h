/* tar.h - tar archives for bundles: regular files one after the other, written and read in one pass.
 *
 * POSIX ustar; a name of more than 100 bytes goes into a pax header before its file. No times, owners or
 * modes of this machine: the same files give the same bytes. The reader accepts such archives, and those of
 * other tar programs in these formats; it skips entries that are not regular files (folders, links, devices).
 * Source: POSIX.1-2017, pax. */
#ifndef SRV_TAR_H
#define SRV_TAR_H

#include "../../core/base/base.h"

enum { SRV_TAR_BLOCK = 512, SRV_TAR_NAME_MAX = 4096 };

/* Appends the header of a file. size < 8 GiB, the limit of its field. */
void srv_tar_put_head(hob_buf *out, hob_str name, uint64_t size);
/* Appends the padding after a file's bytes; after the last file, the end of the archive. */
void srv_tar_put_padding(hob_buf *out, uint64_t size);
void srv_tar_put_end(hob_buf *out);

typedef struct srv_tar_reader {
	int fd; /* read from its current offset */
	uint64_t left, padding;
	char name[SRV_TAR_NAME_MAX + 1];
} srv_tar_reader;

typedef enum srv_tar_step { SRV_TAR_FILE, SRV_TAR_END, SRV_TAR_BROKEN } srv_tar_step;

/* Skips the rest of the current file and reads the next one's name (in reader->name, unchecked, as the
 * archive has it) and size. BROKEN: CORRUPT, TRUNCATED, UNSUPPORTED (GNU tar's own long names) or IO. */
srv_tar_step srv_tar_next(srv_tar_reader *reader, uint64_t *size, hob_error *err);
/* Reads some bytes of the file, 0 at its end; false: TRUNCATED or IO. */
bool srv_tar_read(srv_tar_reader *reader, void *out, size_t room, size_t *got, hob_error *err) HOB_MUST_CHECK;

/* Whether a relative path has no "..", ".", empty parts and NUL, so that it stays below a folder. */
bool srv_tar_name_is_safe(hob_str name);

#endif
