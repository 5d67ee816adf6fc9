/* doctor.h - the list of `hob doctor`: one line per check. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "../config/config.h"
#include "cli.h"

typedef enum doctor_state { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL } doctor_state;

typedef struct doctor_item {
	doctor_state state;
	const char *name; /* static text */
	char text[512], remedy[320];
} doctor_item;

enum { DOCTOR_ITEMS_MAX = 128 };

typedef struct doctor {
	srv_config config;
	bool has_config;
	const char *url;
	bool daemon_runs;
	char daemon_version[32];
	doctor_item items[DOCTOR_ITEMS_MAX];
	uint32_t count;
	uint64_t folder_count, file_count; /* in the watched folders */
} doctor;

/* Adds a line and returns it; lines that do not fit are dropped. */
doctor_item *srv_doctor_say(doctor *d, doctor_state state, const char *name, const char *fmt, ...)
	HOB_PRINTF(4, 5);
/* Adds a remedy. */
void srv_doctor_advise(doctor_item *item, const char *fmt, ...) HOB_PRINTF(2, 3);

/* doctor_folders.c: watched folders, the kernel's limits for them, the clock. */
void srv_doctor_look_at_folders(doctor *d, char **folders, int count);
/* doctor_machine.c: the cache's disk, memory, addresses, a running daemon, Hob's other programs. */
void srv_doctor_look_at_cache(doctor *d);
void srv_doctor_look_at_limits(doctor *d);
void srv_doctor_look_at_daemon(doctor *d);
void srv_doctor_look_at_lock(doctor *d); /* call it after look_at_daemon */
/* doctor_roots.c: what a running daemon reports about its folders; call it after look_at_daemon. */
void srv_doctor_look_at_roots(doctor *d);
void srv_doctor_look_at_addresses(doctor *d);
void srv_doctor_look_at_worker(doctor *d);
void srv_doctor_look_at_upstream(doctor *d); /* if one is configured */

#endif
