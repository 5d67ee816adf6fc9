#include "describe_value.h"

#include "../base/limits.h"

typedef struct differ {
	hob_bytes files[2];
	hob_buf *out;
	uint32_t max_rows;
	const hob_pack *a, *b;
	uint32_t shown; /* records of this section */
	bool equal;
} differ;

/* Finds a section's counterpart in another file: same index among those of its type, part and owner. */
static uint32_t twin_of(const hob_pack *from, uint32_t index, const hob_pack *in)
{
	const hob_pk_section *s = hob_pack_section(from, index);
	uint32_t before = 0;
	for (uint32_t i = 0; i < index; i++) {
		const hob_pk_section *o = hob_pack_section(from, i);
		before += o->type == s->type && o->part == s->part && o->owner == s->owner;
	}
	for (uint32_t i = 0; i < in->section_count; i++) {
		const hob_pk_section *o = hob_pack_section(in, i);
		if (o->type == s->type && o->part == s->part && o->owner == s->owner && before-- == 0)
			return i;
	}
	return HOB_NONE;
}

static bool same_text(hob_buf *one, hob_buf *other)
{
	return one->size == other->size && memcmp(one->data, other->data, one->size) == 0;
}

static bool show_record(differ *d, uint32_t row)
{
	bool show = d->shown++ < d->max_rows;
	if (show)
		hob_buf_printf(d->out, "    %u:", row);
	return show;
}

static void diff_fields(differ *d, const format_section *section, uint32_t row, const uint8_t *a,
						const uint8_t *b)
{
	uint32_t count;
	const format_field *fields = hob_format_record(section->record, &count);
	hob_own_buf one = {0}, other = {0};
	bool told = false, show = false;
	for (uint32_t f = 0; f < (fields && count > 1 ? count : 1); f++) {
		hob_buf_clear(&one);
		hob_buf_clear(&other);
		if (fields && count > 1) {
			hob_describe_field(&one, &fields[f], a, d->a);
			hob_describe_field(&other, &fields[f], b, d->b);
		} else {
			hob_describe_element(&one, section, a, d->a);
			hob_describe_element(&other, section, b, d->b);
		}
		if (same_text(&one, &other))
			continue;
		show = told ? show : show_record(d, row);
		told = true;
		if (!show)
			continue;
		if (fields && count > 1)
			hob_buf_printf(d->out, " %s", fields[f].name);
		hob_buf_printf(d->out, " %.*s -> %.*s", HOB_FMT(hob_buf_str(&one)), HOB_FMT(hob_buf_str(&other)));
	}
	if (show)
		hob_buf_put(d->out, "\n", 1);
}

static void diff_records(differ *d, const format_section *section, hob_pack_array a, hob_pack_array b)
{
	d->shown = 0;
	for (uint32_t row = 0; row < a.count && row < b.count; row++)
		diff_fields(d, section, row, HOB_PACK_AT(uint8_t, a, row), HOB_PACK_AT(uint8_t, b, row));
	if (d->shown > d->max_rows)
		hob_buf_printf(d->out, "    ... and %u more records\n", d->shown - d->max_rows);
}

static void put_change(differ *d, const hob_pk_section *a, const hob_pk_section *b)
{
	hob_buf_printf(d->out, "  %s", hob_fourcc_text(a->type).text);
	if (a->part || a->owner)
		hob_buf_printf(d->out, " part %u owner %u", a->part, a->owner);
	if (a->count != b->count)
		hob_buf_printf(d->out, ": %u element%s -> %u\n", a->count, HOB_PLURAL(a->count), b->count);
	else
		hob_buf_printf(d->out, ": %u element%s, %llu bytes -> %llu\n", a->count, HOB_PLURAL(a->count),
					   (unsigned long long)a->stored_bytes, (unsigned long long)b->stored_bytes);
}

/* Compares records with their names resolved: offsets in STRS are arbitrary, and equal bytes may refer to
 * different names. Range digests are skipped: they only repeat the differences of the sections. */
static void diff_section(differ *d, uint32_t ia, uint32_t ib)
{
	const hob_pk_section *a = hob_pack_section(d->a, ia), *b = hob_pack_section(d->b, ib);
	bool same = memcmp(a->digest, b->digest, sizeof a->digest) == 0 && a->count == b->count;
	const format_section *section = hob_format_section_of(a->type);
	if (!section || section->gpu) {
		if (!same)
			put_change(d, a, b);
		return;
	}
	if (section->type == HOB_PK_STRS || section->type == HOB_PK_RNGS)
		return;
	size_t start = d->out->size;
	put_change(d, a, b);
	size_t heading = d->out->size;
	diff_records(d, section, hob_pack_array_at(d->a, ia), hob_pack_array_at(d->b, ib));
	if (d->out->size == heading && a->count == b->count)
		d->out->size = start;
}

static void diff_files(differ *d)
{
	const hob_pk_header *a = d->a->header, *b = d->b->header;
	if (memcmp(a->digest, b->digest, sizeof a->digest) == 0)
		return;
	hob_buf_printf(d->out, "  %llu bytes -> %llu\n", (unsigned long long)a->file_bytes,
				   (unsigned long long)b->file_bytes);
	d->equal = false;
	for (uint32_t i = 0; i < d->a->section_count; i++) {
		uint32_t twin = twin_of(d->a, i, d->b);
		if (twin != HOB_NONE)
			diff_section(d, i, twin);
		else
			hob_buf_printf(d->out, "  section %u %s is gone\n", i,
						   hob_fourcc_text(hob_pack_section(d->a, i)->type).text);
	}
	for (uint32_t i = 0; i < d->b->section_count; i++)
		if (twin_of(d->b, i, d->a) == HOB_NONE)
			hob_buf_printf(d->out, "  section %u %s is new\n", i,
						   hob_fourcc_text(hob_pack_section(d->b, i)->type).text);
}

static bool open_one(hob_bytes file, hob_arena *arena, hob_pack *out, const char *which, hob_error *err)
{
	return (hob_pack_open_anywhere(file, arena, out, err) && hob_pack_validate(file, err)) ||
		   hob_fail_in(err, "%s file", which);
}

static bool diff(void *context, hob_error *err)
{
	differ *d = context;
	hob_own_arena arena;
	hob_pack a, b;
	hob_arena_init(&arena, (size_t)HOB_LIMIT_COOK_ARENA_BYTES);
	bool ok =
		open_one(d->files[0], &arena, &a, "first", err) && open_one(d->files[1], &arena, &b, "second", err);
	ok = ok && (a.kind == b.kind || hob_fail(err, CORRUPT, "a %s file and a %s file",
											 hob_fourcc_text(a.kind).text, hob_fourcc_text(b.kind).text));
	d->a = &a;
	d->b = &b;
	if (ok)
		diff_files(d);
	return ok;
}

bool hob_diff_text(hob_bytes a, hob_bytes b, const hob_describe_options *options, bool *equal, hob_buf *out,
				   hob_error *err)
{
	differ d = {.files = {a, b},
				.out = out,
				.max_rows = options && options->max_rows ? options->max_rows : 20,
				.equal = true};
	bool ok = hob_describe_guarded(diff, &d, out, err);
	if (ok && equal)
		*equal = d.equal;
	return ok;
}
