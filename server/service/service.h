/* service.h - the interface between a service manager and this process, without libsystemd.
 *
 * Source: sd_notify(3) and sd_listen_fds(3), which describe both protocols as stable: NOTIFY_SOCKET names a
 * Unix datagram socket for lines "NAME=value"; LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES describe descriptors
 * from 3 on; WATCHDOG_USEC and WATCHDOG_PID say how often the watchdog must be notified. Any manager with
 * these protocols works.
 *
 * One thread. srv_service_begin removes the variables from the environment, so that no child uses them. */
#ifndef SRV_SERVICE_H
#define SRV_SERVICE_H

#include "../../core/base/base.h"

enum { SRV_SERVICE_SOCKETS_MAX = 8 };

typedef struct srv_service_socket {
	int fd;		   /* close-on-exec, non-blocking; a listening stream socket */
	char name[64]; /* name given by the manager ("hob.socket"); "": unknown */
} srv_service_socket;

typedef struct srv_service {
	int notify_fd;		  /* -1: no manager */
	uint64_t watchdog_us; /* longest time between watchdog notifications; 0: no watchdog */
	srv_service_socket sockets[SRV_SERVICE_SOCKETS_MAX];
	uint32_t socket_count;
} srv_service;

/* Call it before other threads and children exist. Variables for another process (LISTEN_PID, WATCHDOG_PID)
 * are ignored. Errors: CONFIG (a descriptor that is not a listening stream socket, or too many); *out is
 * valid even then. */
bool srv_service_begin(srv_service *out, hob_error *err) HOB_MUST_CHECK;
/* Closes the connection to the manager, but not the sockets. */
void srv_service_end(srv_service *service);
/* Sends lines such as "READY=1\nSTATUS=3 assets"; does nothing without a manager. Never blocks. */
void srv_service_tell(const srv_service *service, const char *fmt, ...) HOB_PRINTF(2, 3);

#endif
