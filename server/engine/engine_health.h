/* engine_health.h - faults of the daemon, for /readyz, and the sandbox of its workers. Set on the loop, read
 * on any thread. */
#ifndef ENGINE_HEALTH_H
#define ENGINE_HEALTH_H

#include "engine_kit.h"

typedef enum engine_part_of {
	ENGINE_HEALTH_WORKERS, /* no worker can be started */
	ENGINE_HEALTH_INDEX,   /* the index cannot be rebuilt */
	ENGINE_HEALTH_ROWS,	   /* the index could not be written for more than two seconds */
	ENGINE_HEALTH_DISK,	   /* the disk was full for the newest result */
	ENGINE_HEALTH_PARTS
} engine_health_part;

struct engine_health *srv_engine_health_new(void);
void srv_engine_health_free(struct engine_health *health);
void srv_engine_set_health(srv_engine *engine, engine_health_part part,
						   const hob_error *why); /* NULL: healthy */
/* The error of this part; NULL: healthy. Loop thread. */
const hob_error *srv_engine_ill(const srv_engine *engine, engine_health_part part);
void srv_engine_set_sandbox(srv_engine *engine, const char *sandbox); /* once */

#endif
