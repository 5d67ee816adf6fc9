#include "inputs.h"

#include <assert.h>

bool srv_input_holds(srv_input_then then, srv_input_now now)
{
	assert(then.missing || then.digest);
	assert(!now.has_digest || (now.exists && now.digest));
	if (then.missing || !now.exists)
		return then.missing && !now.exists;
	return now.has_digest && hob_sha256_equal(then.digest, now.digest);
}

bool srv_name_holds(hob_str used, hob_str name)
{
	return used.len == 0 || hob_str_equal(used, name);
}
