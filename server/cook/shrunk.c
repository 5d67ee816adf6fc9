#include "shrunk.h"

#include "../../core/base/number.h"

static uint64_t number_in(hob_str stats, const char *key)
{
	return hob_number_behind(stats, hob_str_of(key));
}

bool srv_shrunk(const srv_version_facts *before, const srv_version_facts *now, hob_buf *out)
{
	/* Minimum percentage that must remain; 0: at least one item. */
	static const struct {
		const char *name, *key;
		uint32_t keep;
	} rows[] = {{"triangles", "\"triangles\":", 50},
				{"clips", "\"animations\":", 0},
				{"materials", "\"materials\":", 100},
				{"bytes", NULL, 50}};
	size_t begin = out->size;
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++) {
		uint64_t from = rows[i].key ? number_in(before->stats, rows[i].key) : before->bytes;
		uint64_t to = rows[i].key ? number_in(now->stats, rows[i].key) : now->bytes;
		bool compared = rows[i].key || (from > 0 && to > 0);
		if (compared && from > 0 && (to == 0 || to * 100 < from * rows[i].keep))
			hob_buf_printf(out, "%s%s %llu -> %llu", out->size > begin ? ", " : "", rows[i].name,
						   (unsigned long long)from, (unsigned long long)to);
	}
	return out->size > begin;
}

void srv_numbers_that_differ(const srv_version_facts *before, const srv_version_facts *now, hob_buf *out)
{
	static const struct {
		const char *name, *key;
	} rows[] = {{"triangles", "\"triangles\":"},
				{"vertices", "\"vertices\":"},
				{"lods", "\"lods\":"},
				{"clips", "\"animations\":"},
				{"materials", "\"materials\":"},
				{"textures", "\"textures\":"},
				{"nodes", "\"nodes\":"},
				{"bytes", NULL},
				{"warnings", NULL}};
	const uint64_t known[2][2] = {{before->bytes, now->bytes}, {before->warnings, now->warnings}};
	size_t begin = out->size;
	for (size_t i = 0, at = 0; i < HOB_COUNT_OF(rows); at += !rows[i].key, i++) {
		uint64_t from = rows[i].key ? number_in(before->stats, rows[i].key) : known[at][0];
		uint64_t to = rows[i].key ? number_in(now->stats, rows[i].key) : known[at][1];
		if (from != to)
			hob_buf_printf(out, "%c\"%s\":[%llu,%llu]", out->size > begin ? ',' : '{', rows[i].name,
						   (unsigned long long)from, (unsigned long long)to);
	}
	hob_buf_put_str(out, out->size > begin ? HOB_STR("}") : HOB_STR("{}"));
}
