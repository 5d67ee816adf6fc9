/* pack.h - many small byte strings in few files.
 *
 *   <folder>/0000002a.pack   records one behind the other, each at a multiple of 8; only ever appended to
 *
 *   offset  size
 *        0     4  "HobP"
 *        4     4  kind, the caller's
 *        8     4  size of the data
 *       12     4  zero
 *       16    32  name: the SHA-256 that the data is kept under
 *       48     8  XXH3 of the 48 bytes before
 *       56        the data, then zeros to a multiple of 8
 *
 * A head proves itself; that the data is right is the caller's to check. A file that ends early or is damaged in between costs the
 * records that are hit: a scan goes on at the next head. Data that is no longer wanted stays until its pack is mostly such:
 * the caller appends the rest again and retires the pack.
 *
 * Threads: any. `lock` is a leaf: it guards the list and the descriptors; readers share it, an append has it alone. */
#ifndef SRV_PACK_H
#define SRV_PACK_H

#include "../../core/base/base.h"
#include "../../core/hash/hash.h"

#include <pthread.h>

/* Where a record begins. pack 0: nowhere. */
typedef struct srv_pack_place {
	uint32_t pack, offset;
} srv_pack_place;

typedef struct srv_pack_file {
	uint32_t number;
	int fd;
	uint64_t size;	 /* where the next record goes */
	uint64_t wanted; /* bytes of records that srv_packs_want counted */
	bool retired;
} srv_pack_file;

typedef struct srv_packs {
	pthread_rwlock_t lock;
	int dir_fd;			  /* not owned */
	srv_pack_file *files; /* by number */
	uint32_t count;
	uint8_t *scratch;
	uint32_t scratch_size;
} srv_packs;

enum {
	SRV_PACK_HEAD = 56,
	SRV_PACK_BYTES_MAX = 16 << 20, /* a pack that is this large is full */
	SRV_PACK_DATA_MAX = 64 << 20   /* larger data is no record */
};

/* What a record takes up. */
static inline uint64_t srv_pack_room(uint64_t size)
{
	return (SRV_PACK_HEAD + size + 7) & ~7ull;
}

void srv_packs_init(srv_packs *packs);
/* Opens every pack of the folder, after closing those that were open. False with errno. */
bool srv_packs_open(srv_packs *packs, int dir_fd) HOB_MUST_CHECK;
void srv_packs_release(srv_packs *packs);

/* False with errno; nothing of the record is left then. */
bool srv_packs_append(srv_packs *packs, uint32_t kind, const hob_sha256 *name, hob_bytes data,
					  srv_pack_place *out) HOB_MUST_CHECK;

typedef enum srv_pack_answer {
	SRV_PACK_READ,
	SRV_PACK_GONE,	/* the place holds no such record, or its file was removed */
	SRV_PACK_FAILED /* errno: the disk refused */
} srv_pack_answer;
/* `size` bytes into `out`, which may be NULL to ask only whether the record is there. */
srv_pack_answer srv_packs_read(srv_packs *packs, srv_pack_place place, uint32_t kind, const hob_sha256 *name,
							   uint8_t *out, size_t size);

typedef struct srv_pack_record {
	uint32_t kind, size;
	hob_sha256 name;
	srv_pack_place place;
} srv_pack_record;
/* Every record of the packs that are not retired, in the order in which they were appended; of one pack (0: of all). mend: what
 * follows the last whole record of the newest pack is cut off. `each` returns false to stop, and must not call this module.
 * False with errno. */
bool srv_packs_scan(srv_packs *packs, uint32_t only, bool mend,
					bool (*each)(void *user, const srv_pack_record *record), void *user) HOB_MUST_CHECK;

/* The caller's count of what it wants of each pack: begins at nothing, then one record of `size` bytes of data more. */
void srv_packs_want_none(srv_packs *packs);
void srv_packs_want(srv_packs *packs, uint32_t pack, uint64_t size);
/* A full pack of which less than half is wanted, the emptiest; 0: there is none. */
uint32_t srv_packs_sparse(srv_packs *packs);
/* Nothing of it is wanted: it is no longer scanned, and stays until srv_packs_sweep, before which the caller makes durable
 * what it appended instead. */
void srv_packs_retire(srv_packs *packs, uint32_t pack);
/* Removes the first `count` of the retired ones; srv_packs_retired counts them. */
uint32_t srv_packs_retired(srv_packs *packs);
void srv_packs_sweep(srv_packs *packs, uint32_t count);
/* Of the packs that are not retired, by number; 0: there is none. */
uint32_t srv_packs_oldest(srv_packs *packs);
uint32_t srv_packs_newest(srv_packs *packs);
/* Bytes of all packs, retired ones included. */
uint64_t srv_packs_bytes(srv_packs *packs);

#endif
