#include "pack_check.h"

#include <float.h>
#include <stdlib.h>

typedef struct animation_checker {
	const check_file *file;
	check_section clips, channels, properties, samplers, times, values, skins, joints, binds;
	uint32_t *rise; /* [times] start of the rising run that contains this time */
} animation_checker;

static float time_at(const animation_checker *c, uint32_t index)
{
	return hob_load_f32(c->times.data + (size_t)index * c->times.entry.stride);
}

static bool find_runs(animation_checker *c)
{
	if (!HOB_MAKE(c->file->arena, &c->rise, c->times.entry.count, "validation", c->file->err))
		return false;
	for (uint32_t i = 1; i < c->times.entry.count; i++)
		c->rise[i] = time_at(c, i - 1) < time_at(c, i) ? c->rise[i - 1] : i;
	return true;
}

static bool check_sampler(const animation_checker *c, const hob_pk_sampler *s)
{
	CHECK(c->file, s->interpolation <= HOB_PK_CUBICSPLINE && s->value_format == HOB_PK_VALUE_F32,
		  "interpolation %u, value format %u", s->interpolation, s->value_format);
	CHECK(c->file, s->key_count > 0 && s->components > 0, "%u keys of %u components", s->key_count,
		  s->components);
	CHECK(c->file,
		  s->time_first < c->times.entry.count && s->key_count <= c->times.entry.count - s->time_first,
		  "times %u..+%u of %u", s->time_first, s->key_count, c->times.entry.count);
	uint64_t values =
		(uint64_t)s->key_count * s->components * (s->interpolation == HOB_PK_CUBICSPLINE ? 3 : 1);
	CHECK(c->file, s->value_first + values <= c->values.entry.count, "values %u..+%llu of %u", s->value_first,
		  (unsigned long long)values, c->values.entry.count);
	CHECK(c->file, c->rise[s->time_first + s->key_count - 1] <= s->time_first, "times do not rise");
	return true;
}

static bool check_channel(const animation_checker *c, uint32_t id)
{
	static const uint16_t components[] = {3, 4, 3};
	READ(channel, channel, c->channels, id);
	CHECK(c->file, channel.path <= HOB_PK_PATH_WEIGHTS, "path %u", channel.path);
	CHECK(c->file, channel.sampler < c->samplers.entry.count, "sampler %u of %u", channel.sampler,
		  c->samplers.entry.count);
	READ(sampler, sampler, c->samplers, channel.sampler);
	CHECK(c->file, channel.path == HOB_PK_PATH_WEIGHTS || sampler.components == components[channel.path],
		  "path %u has %u components", channel.path, sampler.components);
	return true;
}

/* Checks the property channels, which are sorted by clip; skips unknown properties of later versions. */
static bool check_properties(const animation_checker *c)
{
	static const uint8_t components[] = {
#define PROPERTY(name, number, record, field, count, length, pointer, doc) [number] = count,
#include "../../schema/formats/animation.def"
	};
	uint32_t clip = 0;
	for (uint32_t i = 0; i < c->properties.entry.count; i++) {
		READ(property_channel, channel, c->properties, i);
		CHECK(c->file, channel.clip >= clip && channel.clip < c->clips.entry.count,
			  "property channel %u: clip %u of %u after clip %u", i, channel.clip, c->clips.entry.count,
			  clip);
		clip = channel.clip;
		CHECK(c->file, channel.sampler < c->samplers.entry.count, "property channel %u: sampler %u of %u", i,
			  channel.sampler, c->samplers.entry.count);
		READ(sampler, sampler, c->samplers, channel.sampler);
		bool known = channel.property < sizeof components;
		CHECK(c->file, known || c->file->header.ver_minor > HOB_PK_VERSION_MINOR,
			  "property channel %u: property %u", i, channel.property);
		bool texture = channel.property >= HOB_PK_PROPERTY_TEXTURE_OFFSET &&
					   channel.property <= HOB_PK_PROPERTY_TEXTURE_ROTATION;
		CHECK(c->file, !known || channel.slot <= (texture ? HOB_PK_SLOT_BUMP : 0),
			  "property channel %u: slot %u", i, channel.slot);
		CHECK(c->file, !known || sampler.components == components[channel.property],
			  "property channel %u: %u components", i, sampler.components);
	}
	return true;
}

static bool check_clip(const animation_checker *c, uint32_t id, uint32_t *cursor)
{
	READ(clip, clip, c->clips, id);
	CHECK(c->file,
		  hob_check_finite(&clip.start, 1) && hob_check_finite(&clip.end, 1) && clip.start <= clip.end,
		  "start and end");
	CHECK(c->file, clip.flags == 0, "flags %x", clip.flags);
	CHECK(c->file, hob_check_finite(clip.bounds_min, 3) && hob_check_finite(clip.bounds_max, 3),
		  "bounds are not finite");
	bool empty = clip.bounds_min[0] > clip.bounds_max[0];
	for (size_t i = 0; i < 3; i++)
		CHECK(c->file,
			  empty ? clip.bounds_min[i] >= FLT_MAX && clip.bounds_max[i] <= -FLT_MAX
					: clip.bounds_min[i] <= clip.bounds_max[i],
			  "bounds on axis %zu", i);
	return hob_check_name(c->file, clip.name) &&
		   hob_check_run(c->file, clip.channel_first, clip.channel_count, cursor, c->channels.entry.count,
						 "channel");
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static bool check_clip_names(const animation_checker *c)
{
	uint32_t count = c->clips.entry.count, *names = HOB_NEW(c->file->arena, uint32_t, count);
	if (!names)
		return hob_fail_memory(c->file->err, c->file->arena, "validation");
	for (uint32_t i = 0; i < count; i++)
		names[i] = hob_check_u32(&c->clips, i);
	qsort(names, count, sizeof *names, compare_u32);
	for (uint32_t i = 1; i < count; i++)
		CHECK(c->file, names[i] != names[i - 1], "two clips are named '%s'",
			  (const char *)c->file->strings + names[i]);
	return true;
}

static bool check_clips(const animation_checker *c)
{
	uint32_t cursor = 0;
	for (uint32_t i = 0; i < c->samplers.entry.count; i++) {
		READ(sampler, sampler, c->samplers, i);
		if (!check_sampler(c, &sampler))
			return hob_fail_in(c->file->err, "sampler %u", i);
	}
	for (uint32_t i = 0; i < c->channels.entry.count; i++)
		if (!check_channel(c, i))
			return hob_fail_in(c->file->err, "channel %u", i);
	for (uint32_t i = 0; i < c->clips.entry.count; i++)
		if (!check_clip(c, i, &cursor))
			return hob_fail_in(c->file->err, "clip %u", i);
	CHECK(c->file, cursor == c->channels.entry.count, "channels without a clip");
	return check_clip_names(c);
}

static bool check_skins(const animation_checker *c)
{
	uint32_t cursor = 0;
	for (uint32_t i = 0; i < c->skins.entry.count; i++) {
		READ(skin, skin, c->skins, i);
		if (!hob_check_name(c->file, skin.name) || !hob_check_run(c->file, skin.joint_first, skin.joint_count,
																  &cursor, c->joints.entry.count, "joint"))
			return hob_fail_in(c->file->err, "skin %u", i);
	}
	CHECK(c->file, cursor == c->joints.entry.count && cursor == c->binds.entry.count,
		  "%u joints of skins, %u joints, %u inverse bind matrices", cursor, c->joints.entry.count,
		  c->binds.entry.count);
	return true;
}

bool hob_check_animations(const check_file *file)
{
	animation_checker c = {
		.file = file,
		.clips = hob_check_find(file, HOB_PK_CLIP),
		.channels = hob_check_find(file, HOB_PK_CHAN),
		.properties = hob_check_find(file, HOB_PK_PROP),
		.samplers = hob_check_find(file, HOB_PK_SMPL),
		.times = hob_check_find(file, HOB_PK_TIME),
		.values = hob_check_find(file, HOB_PK_VALS),
		.skins = hob_check_find(file, HOB_PK_SKIN),
		.joints = hob_check_find(file, HOB_PK_JNTS),
		.binds = hob_check_find(file, HOB_PK_IBMS),
	};
	return find_runs(&c) && hob_check_all_finite(file, &c.times, "time") &&
		   hob_check_all_finite(file, &c.values, "value") &&
		   hob_check_all_finite(file, &c.binds, "inverse bind matrix") && check_clips(&c) &&
		   check_properties(&c) && check_skins(&c);
}
