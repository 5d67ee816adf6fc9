/* pack.h - many small byte strings in few files.
 *
 *   <folder>/0000002a.pack   consecutive records, each at a multiple of 8; append only
 *
 *   offset  size
 *        0     4  "HobP"
 *        4     4  kind, the caller's
 *        8     4  size of the data
 *       12     4  size of the zstd frame that holds the data; 0: the data is uncompressed
 *       16    32  name: the SHA-256 under which the data is kept
 *       48     8  XXH3 of the 48 bytes before
 *       56        the data or its frame, then zeros to a multiple of 8
 *
 * A head has its own checksum; the caller must check the data. In a truncated or damaged file only the
 * affected records are lost: a scan continues at the next head. Unused data stays until it is most of its
 * pack. Then the used records are appended to another pack, and this one is removed.
 *
 * Threads: any. `lock` is a leaf: it guards the list and the descriptors; readers share it, an append is
 * exclusive. */
#ifndef SRV_PACK_H
#define SRV_PACK_H

#include "../../core/base/base.h"
#include "../../core/hash/hash.h"
#include "../fs/lock.h"

/* Location of a record. pack 0: none; frame: size of the zstd frame, as in the head. */
typedef struct srv_pack_place {
	uint32_t pack, offset, frame;
} srv_pack_place;

typedef struct srv_pack_file {
	uint32_t number;
	int fd;
	uint64_t size;	 /* offset of the next record */
	uint64_t wanted; /* total size of the records counted by srv_packs_want or appended since */
	bool retired;
} srv_pack_file;

typedef struct srv_packs {
	pthread_rwlock_t lock;
	int dir_fd;			  /* not owned */
	srv_pack_file *files; /* by number */
	uint32_t count;
	uint32_t aside; /* number of renamed entries */
} srv_packs;

enum {
	SRV_PACK_HEAD = 56,
	SRV_PACK_BYTES_MAX = 16 << 20, /* a pack of this size is full */
	SRV_PACK_DATA_MAX = 64 << 20   /* larger data is rejected */
};

/* Space of a record with `size` bytes of data. */
static inline uint64_t srv_pack_room(uint64_t size, uint32_t frame)
{
	return (SRV_PACK_HEAD + (frame > 0 ? frame : size) + 7) & ~7ull;
}

void srv_packs_init(srv_packs *packs);
/* Opens every pack of the folder, after closing those that were open. mend: renames entries with the name of
 * a pack that are not files (NAME.wrong-1), and counts them. False, with errno, on failure. */
bool srv_packs_open(srv_packs *packs, int dir_fd, bool mend) HOB_MUST_CHECK;
void srv_packs_release(srv_packs *packs);

/* Appends the data's frame to `out` if that is much smaller, otherwise nothing. */
void srv_pack_compress(hob_bytes data, hob_buf *out);
/* frame: output of srv_pack_compress; NULL or empty: the data is stored uncompressed. False, with errno, on
 * failure; nothing of the record remains then. */
bool srv_packs_append(srv_packs *packs, uint32_t kind, const hob_sha256 *name, hob_bytes data,
					  const hob_buf *frame, srv_pack_place *out) HOB_MUST_CHECK;

typedef enum srv_pack_answer {
	SRV_PACK_READ,
	SRV_PACK_GONE,	/* no such record, its file was removed, or its frame is damaged */
	SRV_PACK_FAILED /* errno: reading failed */
} srv_pack_answer;
/* Reads `size` bytes into `out`; `out` NULL: only tests whether the record exists. */
srv_pack_answer srv_packs_read(srv_packs *packs, srv_pack_place place, uint32_t kind, const hob_sha256 *name,
							   uint8_t *out, size_t size);

typedef struct srv_pack_record {
	uint32_t kind, size;
	hob_sha256 name;
	srv_pack_place place;
} srv_pack_record;
/* Appends the record again, without decompressing it. */
srv_pack_answer srv_packs_copy(srv_packs *packs, const srv_pack_record *record, srv_pack_place *out);
/* Calls `each` for every record of pack `only` (0: of all packs that are not retired), in the order of
 * appending. mend: cuts off data after the last complete record of the newest pack; if a record in between is
 * incomplete, later appends go to another pack. `each` returns false to stop, and must not call this module.
 * False, with errno, on failure. */
bool srv_packs_scan(srv_packs *packs, uint32_t only, bool mend,
					bool (*each)(void *user, const srv_pack_record *record), void *user) HOB_MUST_CHECK;

/* Count the needed data of each pack: want_none resets the counts to zero; want adds a needed record with
 * `size` bytes of data. */
void srv_packs_want_none(srv_packs *packs);
void srv_packs_want(srv_packs *packs, srv_pack_place place, uint64_t size);
/* Empties the full pack with the least needed data, if that is less than half: `move` gets each of its
 * records, and copies it if it is needed. The pack is then retired: no longer scanned, and removed by
 * srv_packs_sweep, before which the caller makes the copies durable. False: there is no such pack, or it
 * stays because a `move` returned false. */
bool srv_packs_shrink(srv_packs *packs, bool (*move)(void *user, const srv_pack_record *record), void *user);
/* The number of retired packs. srv_packs_sweep removes the first `count` of them. */
uint32_t srv_packs_retired(srv_packs *packs);
void srv_packs_sweep(srv_packs *packs, uint32_t count);

#endif
