#include "view.h"

#include <assert.h>

static const char *const state_names[] = {
#define JOB_STATE(name, text, meaning) text,
#include "../../schema/job_states.def"
#undef JOB_STATE
};

const char *srv_state_name(srv_state state)
{
	assert(state < SRV_STATE_COUNT);
	return state_names[state];
}

bool srv_state_parse(hob_str text, srv_state *out)
{
	for (uint32_t i = 0; i < SRV_STATE_COUNT; i++)
		if (hob_str_equal(text, hob_str_of(state_names[i]))) {
			*out = (srv_state)i;
			return true;
		}
	return false;
}

static const char *const standing_names[] = {
#define STANDING(name, text, tone, old, meaning) text,
#include "../../schema/standings.def"
#undef STANDING
};

srv_standing srv_standing_of(const srv_standing_facts *f)
{
	assert(f->newest <= SRV_STANDING_INTERRUPTED && f->newest != SRV_STANDING_UPDATING);
	assert(f->alive || !f->has_good);
	if (!f->alive)
		return SRV_STANDING_REMOVED;
	if (f->away)
		return SRV_STANDING_MISSING;
	if (f->skipped)
		return SRV_STANDING_SKIPPED;
	if (f->busy)
		return f->has_good ? SRV_STANDING_UPDATING : SRV_STANDING_WAITING;
	return f->newest == SRV_STANDING_FRESH && !f->has_good ? SRV_STANDING_WAITING : f->newest;
}

bool srv_standing_is_problem(srv_standing standing, bool has_error)
{
	bool settled = standing == SRV_STANDING_BROKEN || standing == SRV_STANDING_BLOCKED ||
				   standing == SRV_STANDING_INTERRUPTED;
	bool busy = standing == SRV_STANDING_UPDATING || standing == SRV_STANDING_WAITING;
	return settled || (busy && has_error);
}

const char *srv_standing_name(srv_standing standing)
{
	assert(standing < SRV_STANDINGS);
	return standing_names[standing];
}

bool srv_view_is_problem(const srv_view_asset *asset)
{
	return srv_standing_is_problem(asset->standing, asset->error.len > 0);
}

void srv_asset_id(hob_str full, char out[SRV_ASSET_ID + 1])
{
	/* Crockford's alphabet: no letter that looks like a digit. An id is 12 x 5 bits of the digest. */
	static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
	hob_sha256 digest = hob_sha256_of((hob_bytes){(const uint8_t *)full.data, full.len});
	uint64_t bits = hob_load_u64(digest.bytes);
	for (int i = 0; i < SRV_ASSET_ID; i++, bits >>= 5)
		out[i] = alphabet[bits & 31];
	out[SRV_ASSET_ID] = 0;
}

bool srv_view_is_model(const srv_view *v, hob_str path)
{
	char line[66] = "\n";
	hob_str extension = hob_path_extension(path);
	if (extension.len == 0 || extension.len > sizeof line - 2)
		return false;
	for (size_t i = 0; i < extension.len; i++)
		line[1 + i] = (char)(extension.data[i] >= 'A' && extension.data[i] <= 'Z' ? extension.data[i] | 32
																				  : extension.data[i]);
	line[1 + extension.len] = '\n';
	return hob_str_find(v->extensions, (hob_str){line, extension.len + 2}, 0) != SIZE_MAX;
}

uint64_t srv_view_input_bytes(const srv_view_asset *asset)
{
	uint64_t sum = asset->source_bytes;
	for (uint32_t i = 0; i < asset->dep_count; i++)
		sum += asset->deps[i].size;
	return sum;
}
