/* engine_audit.h - the reproducibility check: cooks an asset again when the daemon is idle, and compares. It
 * listens to facts (cook/facts.h); when checks are off, it does not subscribe. */
#ifndef ENGINE_AUDIT_H
#define ENGINE_AUDIT_H

#include "engine_jobs.h"

struct engine_audit *srv_engine_audit_new(srv_engine *engine); /* NULL without memory: no checks */
void srv_engine_audit_free(struct engine_audit *audit);
void srv_engine_audit_listens(srv_engine *engine);
/* The store may hold results of checks: loads those of an asset's new record. */
void srv_engine_audit_recalls(srv_engine *engine);
void srv_engine_put_audit(const asset *a, hob_buf *out); /* JSON; empty without a check */

#endif
