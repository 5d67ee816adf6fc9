/* driver.h - what a farm asks of a database and of a blob store: two tables of functions.
 *
 * A driver that needs a library is a module of its own, hob-farm-<name>.so, which exports one `srv_farm_driver` and knows
 * nothing else of Hob: this header includes only the C library. farm_load.c opens it. blob_folder.c is the driver without a
 * library.
 *
 * One handle is used by one thread at a time; only `cut` may be called meanwhile. Nothing blocks longer than the deadlines
 * here say, except that a name server or a hung network mount may. */
#ifndef SRV_FARM_DRIVER_H
#define SRV_FARM_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SRV_FARM_ABI = 1,
	SRV_FARM_CONNECT_MS = 2000,
	SRV_FARM_RUN_MS = 2000,		  /* one statement */
	SRV_FARM_COMMAND_MS = 600000, /* one of a command that somebody waits for */
	SRV_FARM_SILENCE_MS = 4000,	  /* of a blob store, and of a transfer that has stalled */
	SRV_FARM_SLOWEST = 128 << 10  /* bytes a second; slower than that is stalled */
};

typedef enum srv_farm_end {
	SRV_FARM_OK,
	SRV_FARM_NONE,	 /* there is no such thing */
	SRV_FARM_DOWN,	 /* no answer, not in time, or one that says: later */
	SRV_FARM_FULL,	 /* no room there */
	SRV_FARM_BARRED, /* these credentials may not do that */
	SRV_FARM_REFUSED /* the request is wrong, or what is there is of no use */
} srv_farm_end;

typedef struct srv_farm_why {
	char text[200]; /* without secrets */
} srv_farm_why;

typedef struct srv_farm_place {
	const char *url;
	const char *user, *secret; /* NULL: none. A database takes the secret alone, as its password */
} srv_farm_place;

/* values: as text, NULL for null; valid until the call returns. */
typedef void srv_farm_row(void *user, const char *const *values, const size_t *sizes);

typedef struct srv_farm_sql {
	void *(*open)(const srv_farm_place *place, srv_farm_why *why); /* connects later; NULL: see why */
	void (*close)(void *handle);								   /* NULL is fine */
	void (*cut)(void *handle); /* any thread: what is under way fails soon, and all that comes after */
	/* One statement, or several without parameters. params: text or NULL for null. each: NULL when no row matters. */
	srv_farm_end (*run)(void *handle, const char *sql, const char *const *params, int count, int deadline_ms,
						srv_farm_row *each, void *user, srv_farm_why *why);
	/* Waits for notifications of channels that were LISTENed to: OK after the first few, or when the time is over. DOWN: the
	 * connection is lost, and with it what it listened to. */
	srv_farm_end (*wait)(void *handle, int ms, void (*heard)(void *user, const char *text), void *user,
						 srv_farm_why *why);
	/* Grows by one with each new connection: what a session was told has to be said again. */
	uint64_t (*sessions)(const void *handle);
} srv_farm_sql;

typedef struct srv_farm_blobs {
	void *(*open)(const srv_farm_place *place, srv_farm_why *why);
	void (*close)(void *handle);
	void (*cut)(void *handle);
	/* Makes what must be there before the first put, and tries whether it can be written. */
	srv_farm_end (*init)(void *handle, srv_farm_why *why);
	/* name: of [0-9a-f/]. */
	srv_farm_end (*head)(void *handle, const char *name, uint64_t *size, srv_farm_why *why);
	/* Hands the bytes to `take` piece by piece; it returns false to end the transfer, which is REFUSED then. */
	srv_farm_end (*get)(void *handle, const char *name,
						bool (*take)(void *user, const void *data, size_t size), void *user,
						srv_farm_why *why);
	/* `size` bytes from the start of the file; sha256: their digest, 64 hex digits. Visible when whole, or not at all. */
	srv_farm_end (*put)(void *handle, const char *name, int fd, uint64_t size, const char *sha256,
						srv_farm_why *why);
	srv_farm_end (*remove)(void *handle, const char *name, srv_farm_why *why);
	/* Every blob, in no order. age_s: since it was written. */
	srv_farm_end (*list)(void *handle,
						 bool (*each)(void *user, const char *name, uint64_t size, int64_t age_s), void *user,
						 srv_farm_why *why);
} srv_farm_blobs;

/* What a module exports under the name `srv_farm_driver`, visibly. */
typedef struct srv_farm_module {
	uint32_t abi;
	const char *library;		 /* its name and version, for people */
	const srv_farm_sql *sql;	 /* NULL: it is no database */
	const srv_farm_blobs *blobs; /* NULL: it is no blob store */
} srv_farm_module;

#endif
