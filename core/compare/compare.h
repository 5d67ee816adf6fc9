/* compare.h - compares two cooks of a model, in numbers and in words.
 *
 * One JSON object:
 *   { "equal": bool,                          the four files have the same contents
 *     "tones": {"bad": n, "warn": n, "note": n, "good": n},         of the changes
 *     "numbers": [{"name": "triangles", "unit": "count", "from": n, "to": n, "tone": "warn"}...], "changes":
 *     [{"tone": "bad", "part": "clip", "change": "gone", "name": "Walk", "was": "Run", "text": "..."}...],
 *     "left_out": n }                         changes beyond the limit of a tone
 *
 * numbers: all that either side has, also those that are the same, whose tone is "same". unit: count, bytes,
 * metres, seconds, degrees. The last ones tell how far the two are apart and begin at 0: renamed_parts;
 * differing_clips, _skins, _textures, _materials, _meshes, _nodes, _cameras, _lights, found again with other
 * content; largest_move and largest_turn of a node. So each change changes a number. changes: the worst
 * first, and of one tone in the order clips and skins, textures, materials, meshes, nodes, the rest. `text`
 * is a sentence without a full stop. change: added, gone, renamed, changed; `was` is the earlier name of what
 * was renamed. part: clip, skin, texture, material, variant, mesh, node, camera, light.
 *
 * Tones are a judgement that people can share: bad = content that is lost or broken (a clip, a skin, a
 * picture that could not be read), warn = costs more or content is gone, good = costs less with the same
 * content, note = other. A smaller number of clips, nodes or materials is never good.
 *
 * Parts are found again by their names and, where several have one name, by their order; what is left over
 * and has the same content is renamed. Nodes are found from the roots down. */
#ifndef HOB_COMPARE_H
#define HOB_COMPARE_H

#include "../base/base.h"

enum { HOB_COMPARE_CHANGES_MAX = 400 }; /* limit of changes per tone */

/* Packed files of one cook; no animations: empty. */
typedef struct hob_compare_side {
	hob_bytes meshes, materials, scene, animations;
} hob_compare_side;

/* Errors: those of opening and validating a file; MEMORY. Cost: the validation of the files, then O(n log n)
 * in parts. */
bool hob_compare(const hob_compare_side *before, const hob_compare_side *after, hob_buf *out,
				 hob_error *err) HOB_MUST_CHECK;

#endif
