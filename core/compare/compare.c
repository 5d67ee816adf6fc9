#include "compare_parts.h"

#include "../base/json_write.h"
#include "../formats/pack_validate.h"

#include <stdio.h>

enum { ARENA_MAX = 512 << 20 };

static const char *const tones[TONE_COUNT] = {"bad", "warn", "note", "good"};

/* ---- reporting */

const char *hob_compare_called(comparison *c, const char *part, hob_str name, uint32_t index)
{
	return (name.len > 0 ? hob_arena_printf(&c->arena, "%s '%.*s'", part, HOB_FMT(name))
						 : hob_arena_printf(&c->arena, "%s %u, which has no name,", part, index))
		.data;
}

static void say(comparison *c, compare_tone tone, const char *part, const char *change, hob_str name,
				hob_str was, const uint32_t *counts, const char *text)
{
	hob_buf *out = &c->changes[tone];
	if (c->counts[tone]++ >= HOB_COMPARE_CHANGES_MAX) {
		c->left_out++;
		return;
	}
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("tone", tones[tone]), HOB_JSON("part", part),
				 HOB_JSON("change", change), HOB_JSON("name", name));
	if (was.len > 0)
		hob_json_put(out, HOB_JSON("was", was));
	if (counts)
		hob_json_put(out, HOB_JSON("from", counts[0]), HOB_JSON("to", counts[1]));
	hob_json_put(out, HOB_JSON("text", text), HOB_JSON_CLOSE('}'));
}

void hob_compare_say(comparison *c, compare_tone tone, const char *part, const char *change, hob_str name,
					 hob_str was, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	say(c, tone, part, change, name, was, NULL, text);
}

void hob_compare_say_rule(comparison *c, compare_tone tone, const char *change, const char *rule,
						  const uint32_t counts[2], const char *text)
{
	say(c, tone, "rule", change, hob_str_of(rule), (hob_str){0}, counts, text);
}

bool hob_compare_field_differs(const format_field *field, const uint8_t *a, const uint8_t *b)
{
	static const char *const apart[] = {"name", "textures", "reserved", "reserved0"};
	for (size_t i = 0; i < HOB_COUNT_OF(apart); i++)
		if (strcmp(field->name, apart[i]) == 0)
			return false;
	size_t bytes = hob_format_type_bytes(field->type) * (field->count > 0 ? field->count : 1);
	return memcmp(a + field->offset, b + field->offset, bytes) != 0;
}

void hob_compare_fields(comparison *c, const char *part, const uint8_t *a, const uint8_t *b,
						const char *called, hob_str name)
{
	uint32_t count;
	const format_field *fields = hob_format_record(part, &count);
	hob_own_buf was = {0}, now = {0};
	for (uint32_t i = 0; i < count; i++) {
		if (!hob_compare_field_differs(&fields[i], a, b))
			continue;
		hob_buf_clear(&was);
		hob_buf_clear(&now);
		hob_describe_field(&was, &fields[i], a, NULL);
		hob_describe_field(&now, &fields[i], b, NULL);
		hob_compare_differs(c, TONE_NOTE, part, name, "%s: %s %.*s, was %.*s", called, fields[i].name,
							HOB_FMT(hob_buf_str(&now)), HOB_FMT(hob_buf_str(&was)));
	}
}

uint32_t hob_compare_said(const comparison *c)
{
	uint32_t said = 0;
	for (int i = 0; i < TONE_COUNT; i++)
		said += c->counts[i];
	return said;
}

/* ---- opening */

static bool open_one(hob_bytes bytes, uint32_t kind, hob_pack *out, hob_error *err)
{
	*out = (hob_pack){0};
	if (bytes.size == 0 && kind == HOB_PK_KIND_ANIM)
		return true;
	if (!hob_pack_open(bytes, out, err))
		return false;
	return out->kind == kind || hob_fail(err, CORRUPT, "a %s file instead of a %s file",
										 hob_fourcc_text(out->kind).text, hob_fourcc_text(kind).text);
}

static bool open_files(const hob_compare_side *from, compare_files *f, hob_error *err)
{
	const hob_pack_set set = {from->meshes, from->materials, from->scene, from->animations};
	if (!hob_pack_validate_set(&set, err) || !open_one(from->meshes, HOB_PK_KIND_MESH, &f->meshes, err) ||
		!open_one(from->materials, HOB_PK_KIND_MATL, &f->materials, err) ||
		!open_one(from->scene, HOB_PK_KIND_SCNE, &f->scene, err) ||
		!open_one(from->animations, HOB_PK_KIND_ANIM, &f->animations, err))
		return false;
	const struct {
		hob_pack_array *into;
		const hob_pack *pack;
		uint32_t type;
	} sections[] = {
		{&f->mesh, &f->meshes, HOB_PK_MDSC},
		{&f->lod, &f->meshes, HOB_PK_LODS},
		{&f->morph, &f->meshes, HOB_PK_MRPH},
		{&f->material, &f->materials, HOB_PK_MATL},
		{&f->texref, &f->materials, HOB_PK_TEXR},
		{&f->image, &f->materials, HOB_PK_IMGS},
		{&f->variants, &f->materials, HOB_PK_VARI},
		{&f->hier, &f->scene, HOB_PK_HIER},
		{&f->trs, &f->scene, HOB_PK_TRS_},
		{&f->aabb, &f->scene, HOB_PK_AABB},
		{&f->node_names, &f->scene, HOB_PK_NAMS},
		{&f->mesh_links, &f->scene, HOB_PK_LMSH},
		{&f->material_links, &f->scene, HOB_PK_LMAT},
		{&f->cameras, &f->scene, HOB_PK_CAMS},
		{&f->lights, &f->scene, HOB_PK_LGTS},
		{&f->clip, &f->animations, HOB_PK_CLIP},
		{&f->channel, &f->animations, HOB_PK_CHAN},
		{&f->sampler, &f->animations, HOB_PK_SMPL},
		{&f->times, &f->animations, HOB_PK_TIME},
		{&f->values, &f->animations, HOB_PK_VALS},
		{&f->skin, &f->animations, HOB_PK_SKIN},
		{&f->joints, &f->animations, HOB_PK_JNTS},
		{&f->binds, &f->animations, HOB_PK_IBMS},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(sections); i++)
		if (sections[i].pack->header)
			*sections[i].into = hob_pack_find(sections[i].pack, sections[i].type);
	return true;
}

static bool same_bytes(hob_bytes a, hob_bytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void print(comparison *c, bool equal, hob_buf *out)
{
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_BOOL("equal", equal), HOB_JSON_OPEN("tones", '{'));
	for (int i = 0; i < TONE_COUNT; i++)
		hob_json_put_u64(out, tones[i], c->counts[i]);
	hob_json_put(out, HOB_JSON_CLOSE('}'), HOB_JSON_OPEN("numbers", '['));
	hob_compare_numbers(c, out);
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON_OPEN("changes", '['));
	for (int i = 0; i < TONE_COUNT; i++)
		if (c->changes[i].size > 0)
			hob_json_raw(out, hob_buf_str(&c->changes[i]));
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON("left_out", c->left_out), HOB_JSON_CLOSE('}'));
}

static bool compare(void *context, hob_error *err)
{
	comparison *c = context;
	const hob_compare_side *a = c->before, *b = c->after;
	hob_arena_init(&c->arena, ARENA_MAX);
	bool equal = same_bytes(a->meshes, b->meshes) && same_bytes(a->materials, b->materials) &&
				 same_bytes(a->scene, b->scene) && same_bytes(a->animations, b->animations);
	bool none = a->meshes.size + b->meshes.size == 0;
	bool ok = none || open_files(a, &c->a, err) || hob_fail_in(err, "the cook before");
	ok = ok && (none || open_files(b, &c->b, err) || hob_fail_in(err, "the cook after"));
	hob_compare_rules(c, a->stats, b->stats);
	if (ok && !equal) {
		hob_compare_clips(c);
		hob_compare_looks(c);
		hob_compare_meshes(c);
		hob_compare_nodes(c);
	}
	if (ok)
		print(c, equal, c->out);
	for (int i = 0; i < TONE_COUNT; i++)
		hob_buf_release(&c->changes[i]);
	hob_arena_release(&c->arena);
	return ok;
}

bool hob_compare(const hob_compare_side *before, const hob_compare_side *after, hob_buf *out, hob_error *err)
{
	comparison c = {.before = before, .after = after, .out = out};
	return hob_describe_guarded(compare, &c, out, err);
}
