/* engine_audit.h - the reproducibility check: cooks an asset again when nothing else is to be done, and compares. */
#ifndef ENGINE_AUDIT_H
#define ENGINE_AUDIT_H

#include "engine_assets.h"

/* All but the last three need engine->audit. */
struct srv_engine_audit *srv_engine_audit_new(void);
void srv_engine_audit(srv_engine *engine);			/* once a second: starts a check after enough idle time */
void srv_engine_go_on_auditing(srv_engine *engine); /* a worker is idle: continues */
void srv_engine_end_audit(srv_engine *engine);		/* there is other work: stops */
bool srv_engine_is_audit(const srv_engine *engine, const void *job);
/* True if the outcome belongs to a check; it is then taken. */
bool srv_engine_take_audit(srv_engine *engine, const void *job, srv_outcome *outcome);
/* The asset has another record. fresh: it was just cooked, so earlier checks do not count. */
void srv_engine_recall_audit(srv_engine *engine, asset *a, bool fresh);
void srv_engine_put_audit(const asset *a, hob_buf *out); /* JSON; empty without a check */
void srv_engine_forget_check(asset *a);

#endif
