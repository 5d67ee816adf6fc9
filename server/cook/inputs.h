/* inputs.h - compares the inputs of an earlier cook with the current files. Pure. */
#ifndef SRV_INPUTS_H
#define SRV_INPUTS_H

#include "../../core/hash/hash.h"

/* A file or name that a cook requested, with its state at that time. */
typedef struct srv_input_then {
	bool missing; /* it was looked for and did not exist */
	const hob_sha256 *digest;
} srv_input_then;
typedef struct srv_input_now {
	bool exists, has_digest;
	const hob_sha256 *digest;
} srv_input_now;

/* True if the input is unchanged. False also when its current bytes are unknown. */
bool srv_input_holds(srv_input_then then, srv_input_now now);
/* A result that depends on the source's name is valid only for that name; `used` is empty when it does
 * not. */
bool srv_name_holds(hob_str used, hob_str name);

#endif
