/* service.h - what a service manager and this process tell each other, without libsystemd.
 *
 * Source: sd_notify(3) and sd_listen_fds(3), which describe both protocols as stable: NOTIFY_SOCKET names a Unix datagram
 * socket that takes lines "NAME=value"; LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES tell of descriptors from 3 on; WATCHDOG_USEC
 * and WATCHDOG_PID how often a sign of life is due. Any manager that speaks them will do.
 *
 * One thread. srv_service_begin takes the variables out of the environment, so that no child believes they are meant for it. */
#ifndef SRV_SERVICE_H
#define SRV_SERVICE_H

#include "../../core/base/base.h"

enum { SRV_SERVICE_SOCKETS_MAX = 8 };

typedef struct srv_service_socket {
	int fd;		   /* close-on-exec, non-blocking; a stream socket that listens */
	char name[64]; /* as the manager calls it ("hob.socket"); "" = not told */
} srv_service_socket;

typedef struct srv_service {
	int notify_fd;		  /* -1: nobody listens */
	uint64_t watchdog_us; /* a sign of life is due at least this often; 0 = not asked for */
	srv_service_socket sockets[SRV_SERVICE_SOCKETS_MAX];
	uint32_t socket_count;
} srv_service;

/* Before other threads and children exist. Variables for another process (LISTEN_PID, WATCHDOG_PID) count as none. Errors: CONFIG, a
 * descriptor that is no listening stream socket, or too many; *out is valid even then. */
bool srv_service_begin(srv_service *out, hob_error *err) HOB_MUST_CHECK;
/* Closes the connection to the manager. The sockets stay with their owners. */
void srv_service_end(srv_service *service);
/* Sends lines such as "READY=1\nSTATUS=3 assets"; without a manager it does nothing. Never blocks. */
void srv_service_tell(const srv_service *service, const char *fmt, ...) HOB_PRINTF(2, 3);

#endif
