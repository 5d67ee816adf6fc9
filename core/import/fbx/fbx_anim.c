#include "fbx_anim.h"

#include <math.h>
#include <stdlib.h>

enum { LAYERS = 64 };

const hob_str hob_fbx_rig_parts[HOB_FBX_RIG_PARTS] = {{"RotationOffset", 14}, {"RotationPivot", 13},
													  {"ScalingOffset", 13},  {"ScalingPivot", 12},
													  {"PreRotation", 11},	  {"PostRotation", 12}};

typedef struct gather {
	hob_fbx *f;
	hob_buf clips, layers, motions;
	hob_fbx_curve **curve_of; /* [objects] 7.x curves, each read once */
	bool *curve_read;
	uint32_t left_out;	/* animated properties that are not imported */
	hob_name_map takes; /* records of 7.x files, by name */
} gather;

/* ---- AnimationStacks */

static bool curve_of(gather *g, uint32_t object, const hob_fbx_curve **out, hob_error *err)
{
	if (!g->curve_read[object] && !hob_fbx_read_curve(g->f, object, &g->curve_of[object], err))
		return false;
	g->curve_read[object] = true;
	*out = g->curve_of[object];
	return true;
}

/* Component of a channel: "d|X" or "X" -> 0, also for a single number ("d|DeformPercent"). */
static int component_of(hob_str property)
{
	bool named = property.len == 1 || (property.len > 2 && property.data[property.len - 2] == '|');
	char c = named ? property.data[property.len - 1] : 'X';
	return c == 'Y' ? 1 : c == 'Z' ? 2 : 0;
}

static bool is_moved(const hob_fbx *f, const hob_fbx_edge *edge)
{
	const hob_fbx_object *o = &f->objects[edge->parent];
	if (edge->property.len == 0)
		return false;
	return o->class == HOB_FBX_MODEL || o->class == HOB_FBX_GEOMETRY ||
		   (o->class == HOB_FBX_DEFORMER && hob_str_equal(o->subclass, HOB_STR("BlendShapeChannel")));
}

static bool changes(const hob_fbx_motion *motion)
{
	for (int k = 0; k < 3; k++) {
		const hob_fbx_curve *curve = motion->curves[k];
		for (uint32_t i = 1; curve && i < curve->count; i++)
			if (fabs(curve->keys[i].value - curve->keys[0].value) > 1e-9)
				return true;
	}
	return false;
}

/* Whether the property is imported: translation, rotation, scale and visibility of nodes, and shape weights;
 * a clip holds nothing else. */
static bool is_read(const hob_fbx *f, const hob_fbx_edge *edge)
{
	static const hob_str properties[] = {
		{"Lcl Translation", 15}, {"Lcl Rotation", 12}, {"Lcl Scaling", 11}, {"Visibility", 10}};
	if (f->objects[edge->parent].class != HOB_FBX_MODEL || f->version < 7000)
		return is_moved(f, edge) || f->objects[edge->parent].class == HOB_FBX_LAYER;
	for (size_t i = 0; i < HOB_COUNT_OF(properties); i++)
		if (hob_str_equal(edge->property, properties[i]))
			return true;
	for (size_t i = 0; i < HOB_FBX_RIG_PARTS; i++)
		if (hob_str_equal(edge->property, hob_fbx_rig_parts[i]))
			return true;
	return false;
}

static bool add_curve_node(gather *g, uint32_t clip, uint32_t layer, uint32_t object, hob_error *err)
{
	static const hob_str keys[3] = {{"d|X", 3}, {"d|Y", 3}, {"d|Z", 3}},
						 old_keys[3] = {{"X", 1}, {"Y", 1}, {"Z", 1}};
	const hob_fbx *f = g->f;
	const hob_fbx_object *o = &f->objects[object];
	hob_fbx_motion motion = {.clip = clip, .layer = layer};
	for (uint32_t i = 0; i < o->below_count; i++) {
		const hob_fbx_edge *edge = &f->edges[o->below_first + i];
		if (f->objects[edge->child].class == HOB_FBX_CURVE &&
			!curve_of(g, edge->child, &motion.curves[component_of(edge->property)], err))
			return false;
	}
	for (int k = 0; k < 3; k++)
		motion.otherwise[k] =
			hob_fbx_prop_real(f, object, keys[k], hob_fbx_prop_real(f, object, old_keys[k], (double)NAN));
	for (uint32_t i = 0; i < o->above_count; i++) {
		const hob_fbx_edge *edge = &f->edges_up[o->above_first + i];
		g->left_out += edge->property.len > 0 && !is_read(f, edge) && changes(&motion);
		if (!is_moved(f, edge))
			continue;
		motion.object = edge->parent;
		motion.property = edge->property;
		hob_fbx_motion one = motion;
		for (int k = 0; k < 3; k++)
			if (!isfinite(one.otherwise[k]))
				one.otherwise[k] = hob_fbx_prop_real(f, object, edge->property, (double)NAN);
		hob_buf_put(&g->motions, &one, sizeof one);
	}
	return !g->motions.failed || hob_fail(err, MEMORY, "no memory left for animation");
}

/* A layer's weight may be animated as well. */
static bool weight_curve(gather *g, uint32_t layer, const hob_fbx_curve **out, hob_error *err)
{
	const hob_fbx *f = g->f;
	const hob_fbx_object *o = &f->objects[layer];
	*out = NULL;
	for (uint32_t i = 0; i < o->below_count; i++) {
		const hob_fbx_edge *edge = &f->edges[o->below_first + i];
		if (f->objects[edge->child].class != HOB_FBX_CURVE_NODE ||
			!hob_str_equal(edge->property, HOB_STR("Weight")))
			continue;
		uint32_t curve = hob_fbx_below(f, edge->child, HOB_FBX_CURVE, (hob_str){0});
		if (curve != HOB_NONE && !curve_of(g, curve, out, err))
			return false;
	}
	return true;
}

static bool add_layer(gather *g, uint32_t clip, uint32_t object, uint32_t number, hob_error *err)
{
	hob_fbx *f = g->f;
	const hob_fbx_object *o = &f->objects[object];
	uint32_t id = (uint32_t)(g->layers.size / sizeof(hob_fbx_layer_state));
	hob_fbx_layer_state layer = {
		.object = object,
		.weight = number == 0 ? 1 : hob_fbx_prop_real(f, object, HOB_STR("Weight"), 100) / 100,
		.mode = (uint32_t)hob_fbx_prop_integer(f, object, HOB_STR("BlendMode"), 0) & 3,
		.by_channel = hob_fbx_prop_integer(f, object, HOB_STR("RotationAccumulationMode"), 0) == 1,
		.scale_adds = hob_fbx_prop_integer(f, object, HOB_STR("ScaleAccumulationMode"), 0) == 1,
		.silent = hob_fbx_prop_integer(f, object, HOB_STR("Mute"), 0) != 0,
	};
	if (number == 0)
		layer.mode = 1;
	else if (!weight_curve(g, object, &layer.weight_curve, err))
		return false;
	hob_buf_put(&g->layers, &layer, sizeof layer);
	for (uint32_t i = 0; i < o->below_count; i++) {
		uint32_t child = f->edges[o->below_first + i].child;
		if (f->objects[child].class == HOB_FBX_CURVE_NODE && !add_curve_node(g, clip, id, child, err))
			return false;
	}
	return !g->layers.failed || hob_fail(err, MEMORY, "no memory left for animation");
}

/* If any layer is solo, only solo layers play. */
static void respect_solo(gather *g, uint32_t first)
{
	hob_fbx_layer_state *layers = (hob_fbx_layer_state *)(void *)g->layers.data;
	uint32_t count = (uint32_t)(g->layers.size / sizeof *layers);
	bool any = false;
	for (uint32_t i = first; i < count; i++)
		any = any || hob_fbx_prop_integer(g->f, layers[i].object, HOB_STR("Solo"), 0) != 0;
	for (uint32_t i = first; i < count && any; i++)
		layers[i].silent = hob_fbx_prop_integer(g->f, layers[i].object, HOB_STR("Solo"), 0) == 0;
}

static bool take_times(const hob_fbx *f, uint32_t take, double *begin, double *end)
{
	static const hob_str names[2] = {{"LocalTime", 9}, {"ReferenceTime", 13}};
	for (int i = 0; i < 2 && take != HOB_NONE; i++) {
		uint32_t record = hob_fbx_child(f, take, names[i]);
		hob_fbx_value first = hob_fbx_value_at(f, record, 0), last = hob_fbx_value_at(f, record, 1);
		if (last.type == HOB_FBX_NOTHING)
			continue;
		*begin = first.real / f->ticks;
		*end = last.real / f->ticks;
		return true;
	}
	return false;
}

static bool index_takes(gather *g, hob_error *err)
{
	const hob_fbx *f = g->f;
	uint32_t take = hob_fbx_child(f, f->takes, HOB_STR("Take"));
	hob_name_map_init(&g->takes, f->scratch);
	for (; take != HOB_NONE; take = hob_fbx_sibling(f, take, HOB_STR("Take")))
		if (!hob_name_map_add(&g->takes, hob_fbx_value_at(f, take, 0).text, take, NULL))
			return hob_fail_memory(err, f->scratch, "animation");
	return true;
}

static void stack_times(const gather *g, uint32_t stack, hob_fbx_clip *clip)
{
	static const hob_str names[2][2] = {{{"LocalStart", 10}, {"LocalStop", 9}},
										{{"ReferenceStart", 14}, {"ReferenceStop", 13}}};
	const hob_fbx *f = g->f;
	hob_fbx_cursor cursor;
	for (int i = 0; i < 2; i++) {
		if (!hob_fbx_own_prop(f, stack, names[i][0], &cursor) &&
			!hob_fbx_own_prop(f, stack, names[i][1], &cursor))
			continue;
		clip->begin = (double)hob_fbx_prop_integer(f, stack, names[i][0], 0) / f->ticks;
		clip->end = (double)hob_fbx_prop_integer(f, stack, names[i][1], 0) / f->ticks;
		return;
	}
	(void)take_times(f, hob_name_map_get(&g->takes, clip->name), &clip->begin, &clip->end);
}

static bool add_stack(gather *g, uint32_t object, hob_error *err)
{
	hob_fbx *f = g->f;
	const hob_fbx_object *o = &f->objects[object];
	uint32_t id = (uint32_t)(g->clips.size / sizeof(hob_fbx_clip)), layers = 0;
	hob_fbx_clip clip = {.name = o->name,
						 .object = object,
						 .layer_first = (uint32_t)(g->layers.size / sizeof(hob_fbx_layer_state))};
	stack_times(g, object, &clip);
	for (uint32_t i = 0; i < o->below_count; i++) {
		uint32_t child = f->edges[o->below_first + i].child;
		if (f->objects[child].class != HOB_FBX_LAYER)
			continue;
		if (layers == LAYERS)
			hob_fbx_note(f, "layers", "clip '%.*s' has more than %d layers; the rest is left out",
						 HOB_FMT(o->name), LAYERS);
		if (layers >= LAYERS)
			break;
		if (!add_layer(g, id, child, layers++, err))
			return hob_fail_in(err, "clip '%.*s'", HOB_FMT(o->name));
	}
	if (id >= HOB_LIMIT_CLIPS)
		return hob_fail(err, LIMIT, "more than %llu animation clips", HOB_LIMIT_CLIPS);
	clip.layer_count = layers;
	respect_solo(g, clip.layer_first);
	hob_buf_put(&g->clips, &clip, sizeof clip);
	return !g->clips.failed || hob_fail(err, MEMORY, "no memory left for animation");
}

/* ---- Takes of 6.x */

static bool add_take_motion(gather *g, uint32_t clip, uint32_t object, uint32_t record, hob_str property,
							hob_error *err)
{
	hob_fbx *f = g->f;
	hob_fbx_motion motion = {.clip = clip,
							 .object = object,
							 .layer = (uint32_t)(g->layers.size / sizeof(hob_fbx_layer_state)) - 1,
							 .property = property};
	uint32_t channels[3] = {record, HOB_NONE, HOB_NONE};
	bool alone = hob_fbx_child(f, record, HOB_STR("Key")) != HOB_NONE ||
				 hob_fbx_child(f, record, HOB_STR("Default")) != HOB_NONE;
	if (!alone) {
		uint32_t child = hob_fbx_child(f, record, HOB_STR("Channel"));
		channels[0] = HOB_NONE;
		for (; child != HOB_NONE; child = hob_fbx_sibling(f, child, HOB_STR("Channel"))) {
			hob_str letter = hob_fbx_value_at(f, child, 0).text;
			int k = letter.len == 1 ? letter.data[0] - 'X' : -1;
			if (k >= 0 && k < 3)
				channels[k] = child;
		}
	}
	for (int k = 0; k < 3; k++) {
		hob_fbx_curve *curve = NULL;
		motion.otherwise[k] = (double)NAN;
		if (channels[k] == HOB_NONE)
			continue;
		motion.otherwise[k] = hob_fbx_child_real(f, channels[k], HOB_STR("Default"), (double)NAN);
		if (!hob_fbx_read_take_curve(f, channels[k], &curve, err))
			return false;
		motion.curves[k] = curve;
	}
	hob_buf_put(&g->motions, &motion, sizeof motion);
	return !g->motions.failed || hob_fail(err, MEMORY, "no memory left for animation");
}

static bool add_take_channels(gather *g, uint32_t clip, uint32_t object, uint32_t record, hob_error *err)
{
	static const struct {
		char letter;
		hob_str property;
	} parts[3] = {{'T', {"Lcl Translation", 15}}, {'R', {"Lcl Rotation", 12}}, {'S', {"Lcl Scaling", 11}}};
	hob_fbx *f = g->f;
	uint32_t channel = hob_fbx_child(f, record, HOB_STR("Channel"));
	for (; channel != HOB_NONE; channel = hob_fbx_sibling(f, channel, HOB_STR("Channel"))) {
		hob_str name = hob_fbx_value_at(f, channel, 0).text;
		if (!hob_str_equal(name, HOB_STR("Transform"))) {
			hob_str suffix = HOB_STR(" (Shape)");
			if (hob_str_ends_nocase(name, suffix))
				name.len -= suffix.len;
			if (!add_take_motion(g, clip, object, channel, name, err))
				return false;
			continue;
		}
		uint32_t part = hob_fbx_child(f, channel, HOB_STR("Channel"));
		for (; part != HOB_NONE; part = hob_fbx_sibling(f, part, HOB_STR("Channel"))) {
			hob_str letter = hob_fbx_value_at(f, part, 0).text;
			for (int k = 0; k < 3; k++)
				if (letter.len == 1 && letter.data[0] == parts[k].letter &&
					!add_take_motion(g, clip, object, part, parts[k].property, err))
					return false;
		}
	}
	return true;
}

static bool add_take_object(gather *g, uint32_t clip, uint32_t record, hob_error *err)
{
	uint32_t object =
		hob_name_map_get(&g->f->by_key, hob_fbx_plain(g->f, hob_fbx_value_at(g->f, record, 0).text));
	return object == HOB_NONE || add_take_channels(g, clip, object, record, err);
}

/* Before 6000 models may have channels outside any take; they become a clip of their own, the last one. */
static bool add_inner_take(gather *g, hob_error *err)
{
	hob_fbx *f = g->f;
	uint32_t id = (uint32_t)(g->clips.size / sizeof(hob_fbx_clip));
	bool any = false;
	for (uint32_t i = 0; i < f->object_count && f->version < 6000; i++) {
		uint32_t record = f->objects[i].record;
		if (f->objects[i].class != HOB_FBX_MODEL || hob_fbx_child(f, record, HOB_STR("Channel")) == HOB_NONE)
			continue;
		hob_fbx_layer_state layer = {.object = HOB_NONE, .weight = 1, .mode = 1};
		hob_fbx_clip clip = {.name = HOB_STR("(internal)"),
							 .object = HOB_NONE,
							 .layer_first = (uint32_t)(g->layers.size / sizeof layer),
							 .layer_count = 1};
		if (!any) {
			hob_buf_put(&g->clips, &clip, sizeof clip);
			hob_buf_put(&g->layers, &layer, sizeof layer);
		}
		any = true;
		if (g->layers.failed || g->clips.failed)
			return hob_fail(err, MEMORY, "no memory left for animation");
		if (!add_take_channels(g, id, i, record, err))
			return false;
	}
	return true;
}

static bool add_take(gather *g, uint32_t take, hob_error *err)
{
	hob_fbx *f = g->f;
	uint32_t id = (uint32_t)(g->clips.size / sizeof(hob_fbx_clip));
	hob_fbx_clip clip = {.name = hob_fbx_value_at(f, take, 0).text,
						 .object = HOB_NONE,
						 .layer_first = (uint32_t)(g->layers.size / sizeof(hob_fbx_layer_state)),
						 .layer_count = 1};
	hob_fbx_layer_state layer = {.object = HOB_NONE, .weight = 1, .mode = 1};
	(void)take_times(f, take, &clip.begin, &clip.end);
	hob_buf_put(&g->layers, &layer, sizeof layer);
	hob_buf_put(&g->clips, &clip, sizeof clip);
	if (g->layers.failed || g->clips.failed)
		return hob_fail(err, MEMORY, "no memory left for animation");
	uint32_t record = hob_fbx_child(f, take, HOB_STR("Model"));
	for (; record != HOB_NONE; record = hob_fbx_sibling(f, record, HOB_STR("Model")))
		if (!add_take_object(g, id, record, err))
			return hob_fail_in(err, "clip '%.*s'", HOB_FMT(clip.name));
	return true;
}

/* ---- all */

static int compare_numbers(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_property(hob_str a, hob_str b)
{
	if (a.len != b.len)
		return a.len < b.len ? -1 : 1;
	return a.len > 0 ? memcmp(a.data, b.data, a.len) : 0;
}

static int compare_motions(const void *a, const void *b)
{
	const hob_fbx_motion *x = a, *y = b;
	int order = compare_numbers(x->clip, y->clip);
	order = order != 0 ? order : compare_numbers(x->object, y->object);
	order = order != 0 ? order : compare_property(x->property, y->property);
	return order != 0 ? order : compare_numbers(x->layer, y->layer);
}

/* A clip without times spans its first to its last key. */
static void times_of_keys(hob_fbx_anim *anim)
{
	for (uint32_t c = 0; c < anim->clip_count; c++)
		if (!(anim->clips[c].end > anim->clips[c].begin))
			anim->clips[c].begin = (double)INFINITY, anim->clips[c].end = -(double)INFINITY;
	for (uint32_t m = 0; m < anim->motion_count; m++) {
		hob_fbx_clip *clip = &anim->clips[anim->motions[m].clip];
		if (isfinite(clip->begin) && isfinite(clip->end) && clip->end > clip->begin && !clip->from_keys)
			continue;
		for (int k = 0; k < 3; k++) {
			const hob_fbx_curve *curve = anim->motions[m].curves[k];
			if (!curve)
				continue;
			clip->from_keys = true;
			clip->begin = fmin(clip->begin, curve->keys[0].time);
			clip->end = fmax(clip->end, curve->keys[curve->count - 1].time);
		}
	}
	for (uint32_t c = 0; c < anim->clip_count; c++)
		if (!(anim->clips[c].end >= anim->clips[c].begin))
			anim->clips[c].begin = anim->clips[c].end = 0;
}

static void mark_nodes(hob_fbx *f)
{
	for (uint32_t m = 0; m < f->anim->motion_count; m++) {
		const hob_fbx_motion *motion = &f->anim->motions[m];
		const hob_fbx_object *o = &f->objects[motion->object];
		/* A motion without curves may still hold a value other than the rest pose. */
		bool says = false;
		for (int k = 0; k < 3; k++)
			says = says || motion->curves[k] || isfinite(motion->otherwise[k]);
		if (o->class != HOB_FBX_MODEL || !says)
			continue;
		hob_fbx_node *node = &f->nodes[o->index];
		node->scale_moves = node->scale_moves || hob_str_equal(motion->property, HOB_STR("Lcl Scaling"));
		for (size_t i = 0; i < HOB_FBX_RIG_PARTS; i++)
			node->rig_moves = node->rig_moves || hob_str_equal(motion->property, hob_fbx_rig_parts[i]);
	}
}

static bool gather_all(gather *g, hob_error *err)
{
	hob_fbx *f = g->f;
	bool stacks = false;
	if (!index_takes(g, err))
		return false;
	for (uint32_t i = 0; i < f->object_count; i++)
		if (f->objects[i].class == HOB_FBX_STACK) {
			stacks = true;
			if (!add_stack(g, i, err))
				return false;
		}
	uint32_t take = stacks ? HOB_NONE : hob_fbx_child(f, f->takes, HOB_STR("Take"));
	for (; take != HOB_NONE; take = hob_fbx_sibling(f, take, HOB_STR("Take")))
		if (!add_take(g, take, err))
			return false;
	return stacks || f->version == 0 || add_inner_take(g, err);
}

static bool keep(hob_fbx *f, const hob_buf *from, void **to, hob_error *err)
{
	*to = hob_arena_alloc(f->scratch, from->size, 8);
	if (!*to)
		return hob_fail_memory(err, f->scratch, "animation");
	if (from->size > 0)
		memcpy(*to, from->data, from->size);
	return true;
}

/* Before 6000 the channels hold the rest pose: the models' own (the last clip), else the first take's. */
static void rest_from_take(hob_fbx *f)
{
	static const hob_str names[3] = {{"Lcl Translation", 15}, {"Lcl Rotation", 12}, {"Lcl Scaling", 11}};
	for (uint32_t id = 0; id < f->node_count && f->anim->clip_count > 0; id++) {
		hob_fbx_node *node = &f->nodes[id];
		double *parts[3] = {node->translation, node->rotation, node->scaling};
		for (int p = 0; p < 3; p++) {
			hob_fbx_motions motions = hob_fbx_motions_of(f, f->anim->clip_count - 1, node->object, names[p]);
			if (motions.count == 0)
				motions = hob_fbx_motions_of(f, 0, node->object, names[p]);
			for (int k = 0; k < 3 && motions.count > 0; k++) {
				if (isfinite(motions.first->otherwise[k]))
					parts[p][k] = motions.first->otherwise[k];
				else if (motions.first->curves[k])
					parts[p][k] = motions.first->curves[k]->keys[0].value;
			}
		}
		hob_fbx_place(&node->rig, node->translation, node->rotation, node->scaling, &node->rest);
	}
}

bool hob_fbx_read_stacks(hob_fbx *f, hob_error *err)
{
	gather g = {.f = f};
	void *clips = NULL, *layers = NULL, *motions = NULL;
	hob_fbx_anim *anim = f->anim = HOB_NEW(f->scratch, hob_fbx_anim, 1);
	g.curve_of = HOB_NEW(f->scratch, hob_fbx_curve *, f->object_count);
	g.curve_read = HOB_NEW(f->scratch, bool, f->object_count);
	if (!anim || !g.curve_of || !g.curve_read)
		return hob_fail_memory(err, f->scratch, "animation");
	bool done = gather_all(&g, err);
	if (done && g.left_out > 0)
		hob_fbx_info(
			f, "curves",
			"%u animated properties are left out: only place, turn, size, visibility and shapes move",
			g.left_out);
	done = done && keep(f, &g.clips, &clips, err) && keep(f, &g.layers, &layers, err) &&
		   keep(f, &g.motions, &motions, err);
	anim->clip_count = (uint32_t)(g.clips.size / sizeof *anim->clips);
	anim->layer_count = (uint32_t)(g.layers.size / sizeof *anim->layers);
	anim->motion_count = (uint32_t)(g.motions.size / sizeof *anim->motions);
	hob_buf_release(&g.clips);
	hob_buf_release(&g.layers);
	hob_buf_release(&g.motions);
	if (!done)
		return false;
	anim->clips = clips;
	anim->layers = layers;
	anim->motions = motions;
	if (anim->motion_count > 1)
		qsort(anim->motions, anim->motion_count, sizeof *anim->motions, compare_motions);
	times_of_keys(anim);
	mark_nodes(f);
	if (f->version > 0 && f->version < 6000)
		rest_from_take(f);
	return true;
}
