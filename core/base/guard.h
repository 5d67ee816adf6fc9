/* guard.h - what hob_guarded is to memory and to hob_parallel_for. */
#ifndef HOB_GUARD_H
#define HOB_GUARD_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Leaves the function of hob_guarded that runs in this thread, which fails with `why`; returns outside of
 * one. */
void hob_guard_raise(const hob_error *why);
bool hob_guard_active(void);

#ifdef __cplusplus
}
#endif

#endif
