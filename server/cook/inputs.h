/* inputs.h - does a result of an earlier cook belong to the files as they are now? Pure. */
#ifndef SRV_INPUTS_H
#define SRV_INPUTS_H

#include "../../core/hash/hash.h"

/* A file or name that a cook asked for, and what is known of it now. */
typedef struct srv_input_then {
	bool missing; /* it looked for it, and there was none */
	const hob_sha256 *digest;
} srv_input_then;
typedef struct srv_input_now {
	bool exists, has_digest;
	const hob_sha256 *digest;
} srv_input_now;

/* False as well when the bytes of now are not known. */
bool srv_input_holds(srv_input_then then, srv_input_now now);
/* A result that depends on the source's own name counts for that name alone; `used` is empty when it does
 * not. */
bool srv_name_holds(hob_str used, hob_str name);

#endif
