#include "collada_channel.h"

#include "../../base/number.h"
#include "../text.h"

/* ---- targets: "node/sid.X", "node/sid(0)(3)", "controller(2)" */

typedef struct target {
	hob_xml_ptr element;
	hob_str member; /* after the dot */
	uint32_t index[2], index_count;
} target;

static bool split_target(hob_collada *c, hob_xml_ptr channel, target *out)
{
	*out = (target){0};
	hob_str text = hob_text_trim(hob_xml_attr(channel, HOB_STR("target")));
	size_t end = text.len, point = SIZE_MAX, slash = 0;
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '/')
			slash = i;
	for (size_t i = slash; i < text.len; i++) {
		if (text.data[i] == '(') {
			int64_t number;
			if (out->index_count < 2 && hob_number_int(text.data + i + 1, text.data + text.len, &number) &&
				number >= 0 && number < HOB_NONE)
				out->index[out->index_count++] = (uint32_t)number;
			end = i < end ? i : end;
		} else if (text.data[i] == '.' && slash > 0 && point == SIZE_MAX) {
			point = i;
		}
	}
	if (point != SIZE_MAX && point < end) {
		out->member = hob_str_sub(text, point + 1, end);
		end = point;
	}
	hob_str path = hob_str_sub(text, 0, end);
	hob_xml_ptr at = NULL;
	for (size_t from = 0; from < path.len;) {
		size_t next = hob_str_find(path, HOB_STR("/"), from);
		next = next < path.len ? next : path.len;
		hob_str part = hob_str_sub(path, from, next);
		hob_xml_ptr found = from == 0 ? hob_collada_by_id(c, channel, "node", part) : NULL;
		if (from > 0)
			for (hob_xml_ptr e = at->first; e && !found; e = e->next)
				found = hob_str_equal(hob_xml_attr(e, HOB_STR("sid")), part) ? e : NULL;
		if (from > 0 && !found)
			found = hob_collada_by_sid(at, part);
		/* Some exporters write ids in place of sids. */
		if (from > 0 && !found)
			found = hob_collada_by_id(c, channel, "node", part);
		if (!found)
			return false;
		at = found;
		from = next + 1;
	}
	out->element = at;
	return at != NULL;
}

/* Component of the transform for the member or index; HOB_NONE for all. */
static uint32_t member_number(const target *t)
{
	static const struct {
		const char *name;
		uint32_t number;
	} members[] = {{"X", 0}, {"Y", 1}, {"Z", 2}, {"ANGLE", 3}, {"W", 3}, {"R", 0}, {"G", 1}, {"B", 2}};
	if (t->index_count == 2)
		return t->index[0] < 4 && t->index[1] < 4 ? t->index[0] * 4 + t->index[1] : HOB_NONE;
	if (t->index_count == 1)
		return t->index[0];
	for (size_t i = 0; i < HOB_COUNT_OF(members); i++)
		if (hob_str_equal(t->member, hob_str_of(members[i].name)))
			return members[i].number;
	return HOB_NONE;
}

/* The <morph> that owns a source of weights, or that belongs to a controller. */
static hob_xml_ptr morph_of(hob_xml_ptr e)
{
	if (hob_xml_is(e, HOB_STR("controller")))
		return hob_xml_child(e, HOB_STR("morph"));
	for (int up = 0; e && up < 3; up++, e = e->parent)
		if (hob_xml_is(e, HOB_STR("morph")))
			return e;
	return NULL;
}

bool hob_collada_bind(hob_collada *c, hob_xml_ptr channel, hob_buf *bindings, hob_error *err)
{
	hob_str text = hob_xml_attr(channel, HOB_STR("target"));
	hob_xml_ptr sampler = hob_collada_target(c, channel, "sampler", hob_xml_attr(channel, HOB_STR("source")));
	target t;
	hob_collada_binding made = {.order = channel->number};
	if (!sampler || !hob_xml_is(sampler, HOB_STR("sampler")))
		return true;
	if (!split_target(c, channel, &t)) {
		hob_note_add(c->request->notes, HOB_NOTE_WARNING, "animation.missing-node",
					 "line %u: a channel moves '%.*s', which does not exist; it is left out", channel->line,
					 HOB_FMT(text));
		return true;
	}
	uint32_t number = member_number(&t);
	hob_xml_ptr morph = morph_of(t.element);
	bool moves = hob_collada_is_transform(t.element) && t.element->parent &&
				 hob_xml_is(t.element->parent, HOB_STR("node"));
	if (!moves && !morph) {
		hob_note_add(c->request->notes, HOB_NOTE_WARNING, "collada.channel",
					 "line %u: a channel animates '%.*s', which is neither a transform nor a morph weight; "
					 "it is left out",
					 channel->line, HOB_FMT(text));
		return true;
	}
	if (!hob_collada_read_curve(c, sampler, &made.curve, err))
		return false;
	if (made.curve.key_count == 0)
		return true;
	double numbers[16];
	uint32_t have = moves ? hob_collada_transform_numbers(t.element, numbers) : 0;
	made.node = moves ? t.element->parent : morph->parent;
	made.transform = moves ? t.element : NULL;
	made.first = number == HOB_NONE ? 0 : number;
	/* A curve of one number that targets a whole rotation is its angle. */
	if (moves && number == HOB_NONE && have == 4 && made.curve.width == 1)
		made.first = 3;
	if (number != HOB_NONE && made.curve.width > 1 && moves)
		made.curve.width = made.curve.width < have - (number < have ? number : have) ? made.curve.width : 1;
	if (moves && made.first + made.curve.width > have)
		return true;
	hob_buf_put(bindings, &made, sizeof made);
	return !bindings->failed || hob_fail(err, MEMORY, "no memory left for animation");
}
