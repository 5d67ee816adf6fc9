/* driver.h - what a database and a blob store must implement for a farm: two tables of functions.
 *
 * A driver that needs a library is a module of its own, hob-farm-<name>.so, which exports one
 * `srv_farm_driver` and knows nothing else of Hob: this header includes only the C library. farm_load.c opens
 * it. blob_folder.c is the driver without a library.
 *
 * One handle is used by one thread at a time; only `cut` may be called meanwhile. Nothing blocks longer than
 * the deadlines here, except a name lookup or a hung network mount. */
#ifndef SRV_FARM_DRIVER_H
#define SRV_FARM_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SRV_FARM_ABI = 3,
	SRV_FARM_CONNECT_MS = 2000,
	SRV_FARM_SESSION_MS = 10000,  /* a new session with a database: a thousand machines may start together */
	SRV_FARM_RUN_MS = 5000,		  /* one statement; saves do not wait for it */
	SRV_FARM_COMMAND_MS = 600000, /* a statement of a command that a user waits for */
	SRV_FARM_SILENCE_MS = 4000,	  /* limit for a blob store's answer, and for a transfer without progress */
	SRV_FARM_SLOWEST = 128 << 10  /* bytes per second; a slower transfer counts as no progress */
};

typedef enum srv_farm_end {
	SRV_FARM_OK,
	SRV_FARM_NONE,		/* it does not exist */
	SRV_FARM_DOWN,		/* no answer, a late one, or a request to retry later */
	SRV_FARM_FULL,		/* temporarily not writable: no space left, or a standby */
	SRV_FARM_BARRED,	/* unusable: wrong credentials, a wrong clock */
	SRV_FARM_READ_ONLY, /* these credentials may not write */
	SRV_FARM_REFUSED	/* the request is wrong, or what is stored is unusable */
} srv_farm_end;

typedef struct srv_farm_why {
	char text[256]; /* without secrets */
} srv_farm_why;

typedef struct srv_farm_place {
	const char *url;
	const char *user, *secret; /* NULL: none. A database uses only the secret, as its password */
} srv_farm_place;

/* `values`: as text, NULL for null; valid until the call returns. */
typedef void srv_farm_row(void *user, const char *const *values, const size_t *sizes);

typedef struct srv_farm_sql {
	void *(*open)(const srv_farm_place *place, srv_farm_why *why); /* connects later; NULL: see `why` */
	void (*close)(void *handle);								   /* NULL is allowed */
	void (*cut)(void *handle); /* any thread: requests in progress fail soon, and so do all later ones */
	/* One statement, or several without parameters. params: text, or NULL for null. each: NULL to ignore the
	 * rows. */
	srv_farm_end (*run)(void *handle, const char *sql, const char *const *params, int count, int deadline_ms,
						srv_farm_row *each, void *user, srv_farm_why *why);
	/* Waits for notifications of channels with LISTEN: OK after the first few, or at the end of the time.
	 * DOWN: the connection, and its LISTENs, are lost. */
	srv_farm_end (*wait)(void *handle, int ms, void (*heard)(void *user, const char *text), void *user,
						 srv_farm_why *why);
	/* Increases with each new connection, which needs its session settings again. */
	uint64_t (*sessions)(const void *handle);
} srv_farm_sql;

typedef struct srv_farm_blobs {
	void *(*open)(const srv_farm_place *place, srv_farm_why *why);
	void (*close)(void *handle);
	void (*cut)(void *handle);
	/* Creates what the first put needs, and tests write access. */
	srv_farm_end (*init)(void *handle, srv_farm_why *why);
	/* `name` has characters [0-9a-f/] only. */
	srv_farm_end (*head)(void *handle, const char *name, uint64_t *size, srv_farm_why *why);
	/* Passes the bytes to `take` in pieces. If it returns false, the transfer ends with REFUSED. */
	srv_farm_end (*get)(void *handle, const char *name,
						bool (*take)(void *user, const void *data, size_t size), void *user,
						srv_farm_why *why);
	/* Stores `size` bytes from the start of the file; sha256: their digest, 64 hex digits. The blob is
	 * visible when it is complete. */
	srv_farm_end (*put)(void *handle, const char *name, int fd, uint64_t size, const char *sha256,
						srv_farm_why *why);
	srv_farm_end (*remove)(void *handle, const char *name, srv_farm_why *why);
	/* Lists every blob, in no order. age_s: since it was written. */
	srv_farm_end (*list)(void *handle,
						 bool (*each)(void *user, const char *name, uint64_t size, int64_t age_s), void *user,
						 srv_farm_why *why);
} srv_farm_blobs;

/* A module exports this under the name `srv_farm_driver`. */
typedef struct srv_farm_module {
	uint32_t abi;
	const char *library;		 /* name and version, for people */
	const srv_farm_sql *sql;	 /* NULL: not a database */
	const srv_farm_blobs *blobs; /* NULL: not a blob store */
} srv_farm_module;

#endif
