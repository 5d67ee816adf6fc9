/* animation.h - prepares a model's skins and clips for the writers.
 *
 * Joints and channel targets become node ids of the baked scene. Removed are: a channel that repeats the rest
 * pose, keys between equal keys, a track that equals another track of the clip. A clip keeps the time range
 * of its source channels, even if some were removed. Samplers keep their interpolation and, unless key
 * reduction is requested, every key that matters, bit for bit. */
#ifndef HOB_ANIMATION_H
#define HOB_ANIMATION_H

#include "../model/baked.h"

/* error   bound of the key reduction of LINEAR tracks; 0 keeps every key that changes anything. At every
 *         instant a reduced rotation is at most `error` radians from the source, a scale or a morph weight at
 *         most `error`, a translation at most `error` times the diagonal of the scene's bounds (of the rest
 *         translations' bounds when the scene has no mesh). STEP and CUBICSPLINE tracks are not
 *         approximated. */
typedef struct hob_animation_options {
	float error;
} hob_animation_options;

/* Bakes all skins and clips.
 *
 * model     checked by hob_model_check and already scaled (hob_model_scale scales clips and inverse binds
 *           with it)
 * scene     baked from the same model: node_of_model, aabb, scenes and roots are read
 * options   NULL for the defaults
 * result    owns everything that *out points to: names are copied
 * scratch   restored on return
 * notes     reports channels whose target repeats or whose weights do not fit the mesh, renamed clips
 * Returns   clips and skins keep the model's order and count; clip names are unique (later duplicates get a
 *           number); a clip's channels are sorted by node, then path, one per target: the last duplicate
 *           counts. ranges[2*i], [2*i+1] are first and last key of clip i in seconds, 0 and 0 without
 *           channels. skin_bounds per clip as in clip_bounds.h
 * Cost      O(keys) without reduction, O(keys * REDUCE_SPAN) with it, plus hob_clip_bounds per clip */
hob_baked_animations hob_animations_bake(const hob_model *model, const hob_baked_scene *scene,
										 const hob_animation_options *options, hob_arena *result,
										 hob_arena *scratch, hob_notes *notes);

#endif
