#include "inside.h"

/* Accept-Encoding, RFC 9110 12.5.3. */

static const hob_str names[CODING_COUNT] = {HOB_STR("zstd"), HOB_STR("gzip")};

const char *srv_coding_name(coding_id which)
{
	return names[which].data;
}

/* "q=0.125" as 125; an invalid weight counts as 0. */
static uint16_t weight_of(hob_str text)
{
	uint32_t weight = 0, unit = 1000;
	if (text.len < 3 || text.len > 7 || !hob_str_equal_nocase(hob_str_sub(text, 0, 2), HOB_STR("q=")))
		return 0;
	for (size_t i = 2; i < text.len; i++) {
		char c = text.data[i];
		if (i == 3 ? c != '.' : c < '0' || c > '9')
			return 0;
		if (i == 3)
			continue;
		weight += (uint32_t)(c - '0') * unit;
		unit /= 10;
	}
	return weight > 1000 ? 0 : (uint16_t)weight;
}

void srv_request_codings(const request *r, codings *out)
{
	enum { UNSAID = -1 };
	int32_t said[CODING_COUNT] = {UNSAID, UNSAID}, plain = UNSAID, others = UNSAID;
	hob_str rest = r->head.accept_encoding, piece;
	while (hob_str_piece(&rest, ',', &piece)) {
		hob_str parameter = piece, name = piece;
		bool weighed = hob_str_piece(&parameter, ';', &name) && parameter.data;
		int32_t weight = weighed ? weight_of(srv_trim(parameter)) : 1000;
		name = srv_trim(name);
		for (int i = 0; i < CODING_COUNT; i++)
			if (hob_str_equal_nocase(name, names[i]) ||
				(i == CODING_GZIP && hob_str_equal_nocase(name, HOB_STR("x-gzip"))))
				said[i] = weight;
		if (hob_str_equal_nocase(name, HOB_STR("identity")))
			plain = weight;
		else if (hob_str_equal(name, HOB_STR("*")))
			others = weight;
	}
	for (int i = 0; i < CODING_COUNT; i++)
		out->weight[i] = (uint16_t)(said[i] != UNSAID ? said[i] : others != UNSAID ? others : 0);
	/* Unless the header names it, the unencoded form is acceptable as the last choice. */
	out->plain = (uint16_t)(plain != UNSAID ? plain : others == 0 ? 0 : 1);
}

bool srv_request_takes_gzip(const request *r)
{
	codings accepted;
	srv_request_codings(r, &accepted);
	return accepted.weight[CODING_GZIP] > 0 && accepted.weight[CODING_GZIP] >= accepted.plain;
}
