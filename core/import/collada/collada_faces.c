#include "collada_private.h"

#include "../../base/number.h"

/* Appends a list of indices; a negative or invalid one becomes HOB_NONE. */
void hob_collada_indices(hob_str text, hob_buf *out)
{
	if (text.len == 0)
		return;
	const char *at = text.data, *end = text.data + text.len;
	size_t room = text.len / 2 + 1;
	if (room > HOB_LIMIT_INDICES || out->size / 4 + room > HOB_LIMIT_INDICES)
		hob_leave(LIMIT, "more than %llu indices", HOB_LIMIT_INDICES);
	size_t used = out->size;
	uint32_t *to = (uint32_t *)(void *)hob_buf_grow(out, room * sizeof *to);
	uint32_t *first = to;
	while (at < end) {
		if ((uint8_t)*at <= ' ') {
			at++;
			continue;
		}
		if (end - at >= 8 && hob_is_digit(*at)) {
			uint32_t digits, value = hob_number_digits(at, &digits);
			if (digits < 8 && (at + digits == end || (uint8_t)at[digits] <= ' ')) {
				*to++ = value;
				at += digits;
				continue;
			}
		}
		int64_t value;
		const char *behind = hob_number_int(at, end, &value);
		*to++ = behind && value >= 0 && value < HOB_NONE ? (uint32_t)value : HOB_NONE;
		while (at < end && (uint8_t)*at > ' ')
			at++;
	}
	out->size = used + (size_t)(to - first) * sizeof *to;
}

static void put(hob_buf *list, uint32_t value)
{
	hob_buf_put(list, &value, sizeof value);
}

static uint32_t corners_read(const hob_collada_faces *f)
{
	return (uint32_t)(f->tuples.size / sizeof(uint32_t) / f->stride);
}

/* Cuts off an incomplete last corner. */
static void trim(hob_collada_faces *f)
{
	f->tuples.size = (size_t)corners_read(f) * f->stride * sizeof(uint32_t);
}

/* <polylist>: corners in one list, counts per face in another. */
static void read_polylist(hob_xml_ptr primitive, hob_collada_faces *f)
{
	hob_xml_ptr counts = hob_xml_child(primitive, HOB_STR("vcount"));
	hob_xml_ptr p = hob_xml_child(primitive, HOB_STR("p"));
	if (!counts || !p)
		return;
	hob_collada_indices(p->text, &f->tuples);
	hob_collada_indices(counts->text, &f->sizes);
	trim(f);
	const uint32_t *sizes = (const uint32_t *)(const void *)f->sizes.data;
	uint32_t listed = (uint32_t)(f->sizes.size / sizeof(uint32_t)), have = corners_read(f);
	uint64_t used = 0;
	while (f->face_count < listed && used + sizes[f->face_count] <= have)
		used += sizes[f->face_count++];
	f->corner_count = (uint32_t)used;
	f->dropped += listed - f->face_count;
}

/* <polygons>: one <p> per face; <ph> is a face with holes. */
static void read_polygons(hob_xml_ptr primitive, hob_collada_faces *f)
{
	bool has_holes = hob_xml_child(primitive, HOB_STR("ph")) != NULL;
	for (hob_xml_ptr e = primitive->first; e; e = e->next) {
		bool holed = hob_xml_is(e, HOB_STR("ph"));
		if (!holed && !hob_xml_is(e, HOB_STR("p")))
			continue;
		uint32_t before = corners_read(f), rings = 0;
		size_t start = f->tuples.size;
		hob_xml_ptr rim = holed ? hob_xml_child(e, HOB_STR("p")) : e;
		if (!rim)
			return;
		hob_collada_indices(rim->text, &f->tuples);
		trim(f);
		uint32_t size = corners_read(f) - before;
		if (size < 3) {
			f->tuples.size = start;
			f->dropped++;
			continue;
		}
		if (has_holes) {
			put(&f->holes, size);
			rings = 1;
		}
		for (hob_xml_ptr h = hob_xml_child(e, HOB_STR("h")); h && holed; h = hob_xml_next(h, HOB_STR("h"))) {
			uint32_t hole_first = corners_read(f);
			hob_collada_indices(h->text, &f->tuples);
			trim(f);
			uint32_t hole = corners_read(f) - hole_first;
			if (hole < 3) {
				f->tuples.size = (size_t)hole_first * f->stride * sizeof(uint32_t);
				continue;
			}
			put(&f->holes, hole);
			rings++;
		}
		if (has_holes)
			put(&f->rings, rings);
		put(&f->sizes, corners_read(f) - before);
		f->face_count++;
	}
	f->corner_count = corners_read(f);
}

/* Strips and fans, one per <p>, as triangles or lines. */
static void read_strips(hob_xml_ptr primitive, bool fan, hob_collada_faces *f)
{
	hob_buf strip = {0};
	size_t step = (size_t)f->stride * sizeof(uint32_t);
	HOB_XML_EACH (p, primitive, "p") {
		hob_buf_clear(&strip);
		hob_collada_indices(p->text, &strip);
		uint32_t count = (uint32_t)(strip.size / step);
		if (count < f->size)
			f->dropped++;
		if (f->tuples.size / 4 + (uint64_t)count * f->size * f->stride > HOB_LIMIT_INDICES)
			hob_leave(LIMIT, "more than %llu indices", HOB_LIMIT_INDICES);
		for (uint32_t i = 0; i + f->size <= count; i++) {
			uint32_t at[3] = {fan ? 0 : i, i + 1, i + 2};
			if (!fan && f->size == 3 && i % 2 == 1)
				at[0] = i + 1, at[1] = i;
			for (uint32_t k = 0; k < f->size; k++)
				hob_buf_put(&f->tuples, strip.data + at[k] * step, step);
			f->face_count++;
		}
	}
	hob_buf_release(&strip);
	f->corner_count = f->face_count * f->size;
}

static void read_lists(hob_xml_ptr primitive, hob_collada_faces *f)
{
	HOB_XML_EACH (p, primitive, "p")
		hob_collada_indices(p->text, &f->tuples);
	f->face_count = corners_read(f) / f->size;
	f->corner_count = f->face_count * f->size;
}

void hob_collada_read_faces(hob_xml_ptr e, uint32_t stride, hob_collada_faces *f)
{
	*f = (hob_collada_faces){.stride = stride, .size = 3};
	bool lines = hob_xml_is(e, HOB_STR("lines")), line_strips = hob_xml_is(e, HOB_STR("linestrips"));
	bool strips = hob_xml_is(e, HOB_STR("tristrips")), fans = hob_xml_is(e, HOB_STR("trifans"));
	if (lines || line_strips)
		f->size = 2;
	if (hob_xml_is(e, HOB_STR("polylist")))
		read_polylist(e, f);
	else if (hob_xml_is(e, HOB_STR("polygons")))
		read_polygons(e, f);
	else if (strips || fans || line_strips)
		read_strips(e, fans, f);
	else
		read_lists(e, f);
}
