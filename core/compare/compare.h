/* compare.h - compares two cooks of a model, in numbers and in words.
 *
 * One JSON object:
 *   { "equal": bool,                          the four files have the same contents
 *     "tones": {"bad": n, "warn": n, "note": n, "good": n},         of the changes
 *     "numbers": [{"name": "triangles", "unit": "count", "from": n, "to": n, "tone": "warn"}...], "changes":
 *     [{"tone": "bad", "part": "clip", "change": "gone", "name": "Walk", "was": "Run", "text": "..."}...],
 *     "left_out": n }                         changes beyond the limit of a tone
 *
 * Rules are compared by the counts of objects in `stats`: {"tone": "warn", "part": "rule", "change":
 * "broken", "name": "mesh.open", "from": 0, "to": 3, "text": "..."}; change: broken, from 0 on; kept, down
 * to 0; changed. texture.missing is left out, because the textures say it.
 *
 * numbers: every number that either side has; the tone of an unchanged one is "same". unit: count, bytes,
 * metres, seconds, degrees. The last numbers measure the difference itself, so `from` is 0: renamed_parts;
 * differing_clips, _skins, _textures, _materials, _meshes, _nodes, _cameras, _lights, matched parts with
 * other content; largest_move and largest_turn of a node. So each change changes a number. changes: the worst
 * first, and within one tone rules, clips and skins, textures, materials, meshes, nodes, then the rest.
 * `text` is a sentence without a full stop. change: added, gone, renamed, changed; `was` is the earlier
 * name of a renamed part. part: rule, clip, skin, texture, material, variant, mesh, node, camera, light.
 *
 * Tones: bad = content is lost or broken (a clip, a skin, a picture that could not be read), warn = costs
 * more, breaks a rule, or content is gone; good = costs less with the same content, or mends; note =
 * other. A smaller number of clips, nodes or materials is never good.
 *
 * Parts are matched by name and, where several have one name, by order; an unmatched part with the content of
 * an unmatched part of the other side is renamed. Nodes are matched from the roots down. */
#ifndef HOB_COMPARE_H
#define HOB_COMPARE_H

#include "../base/base.h"

enum { HOB_COMPARE_CHANGES_MAX = 400 }; /* limit of changes per tone */

/* Packed files of one cook; `animations` is empty if the cook has none. Without any, only rules are
 * compared. */
typedef struct hob_compare_side {
	hob_bytes meshes, materials, scene, animations;
	hob_str stats; /* of the record */
} hob_compare_side;

/* Errors: those of opening and validating a file; MEMORY. Cost: validating the files, then O(n log n) in the
 * number of parts. */
bool hob_compare(const hob_compare_side *before, const hob_compare_side *after, hob_buf *out,
				 hob_error *err) HOB_MUST_CHECK;

#endif
