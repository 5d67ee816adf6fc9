/* cook_wait.h - models of a run whose files are being written. Each waits until they rest, and is then cooked
 * again; one whose writer does not stop fails. Loop thread. */
#ifndef CLI_COOK_WAIT_H
#define CLI_COOK_WAIT_H

#include "../fs/beneath.h"
#include "../worker/pool.h"

#include <uv.h>

enum { COOK_WAIT_WRITER_S = 30 }; /* unless the command line says otherwise */

/* The wait of one model. {0}: it has not waited. */
typedef struct cook_wait {
	srv_outcome *outcome; /* the cook that read a changing file; NULL: it does not wait now */
	srv_stat *seen;		  /* of its inputs, at the last look */
	uint64_t began_ns;	  /* of its first wait */
	hob_str file;		  /* the input that changed last */
	char writer[80];	  /* "NAME (process PID)"; empty: not seen */
	bool told;
} cook_wait;

/* Whether an input of this cook is not what the cook read. root_fd: of the inputs; source: the model, if no
 * file has its bytes, else NULL. Any thread. */
bool srv_cook_wait_changed(int root_fd, const char *source, const srv_outcome *outcome);
/* Takes the outcome. False: no memory, and the outcome stays the caller's. */
bool srv_cook_wait_begin(cook_wait *wait, srv_outcome *outcome);
/* Looks at its inputs; true: all are as at the last look, and nobody writes. */
bool srv_cook_wait_rests(cook_wait *wait, int root_fd);
/* It waits no longer. */
void srv_cook_wait_end(cook_wait *wait);

#endif
