/* cook_wait.h - models whose files another program is writing. Each waits until its files stop changing, and
 * is then cooked again; if the writer does not stop, the model fails. Loop thread. */
#ifndef CLI_COOK_WAIT_H
#define CLI_COOK_WAIT_H

#include "../fs/beneath.h"
#include "../worker/pool.h"

#include <uv.h>

enum { COOK_WAIT_WRITER_S = 30 }; /* unless the command line says otherwise */

/* The wait of one model. {0}: it has not waited yet. */
typedef struct cook_wait {
	/* of the cook that read a changing file, its inputs as at the last look; NULL: not waiting */
	srv_outcome *outcome;
	uint64_t began_ns; /* start of its first wait */
	hob_str file;	   /* the input that changed last */
	char writer[80];   /* "NAME (process PID)"; empty: not found */
	bool told;
} cook_wait;

/* Whether an input has changed since the cook read it. root_fd: root of the inputs; source: the model, if no
 * file has its bytes, else NULL. Any thread. */
bool srv_cook_wait_changed(int root_fd, const char *source, const srv_outcome *outcome);
/* Looks at the inputs; true if none changed since the last look and no process writes to them. */
bool srv_cook_wait_rests(cook_wait *wait, int root_fd);

#endif
