/* space.h - the settings up_axis, unit and colors, which override the space that the source states or leaves
 * open.
 *
 * Every importer converts its source to Hob's space and records in model->space how. This file undoes that
 * and converts again as the settings say, in one place for all formats. */
#ifndef HOB_SPACE_H
#define HOB_SPACE_H

#include "../model/model.h"

typedef enum hob_up_axis { HOB_UP_FILE, HOB_UP_X, HOB_UP_Y, HOB_UP_Z } hob_up_axis;

/* All zero: no override. */
typedef struct hob_space_override {
	hob_up_axis up_axis;	/* X up: -Y is right, as in COLLADA and FBX; Z up: -Y is front */
	float unit;				/* metres per source unit; 0: as the source states */
	hob_color_space colors; /* HOB_COLORS_STATED: as the importer assumed */
} hob_space_override;

/* Rotates the roots (with their animations), scales all lengths, converts colours that the format leaves
 * open, and sets model->settled; a settled model stays as it is. Arrays are replaced, never written to.
 *
 * arena     for the new arrays
 * Errors    CONFIG when the unit makes a length too large for a float. The model is then partly changed:
 *           discard it.
 * Cost      O(model) when something changes */
bool hob_model_override_space(hob_model *model, const hob_space_override *override, hob_arena *arena,
							  hob_error *err) HOB_MUST_CHECK;

/* The rotation x y z w that brings a source with this axis up to Y up; HOB_UP_FILE counts as Y. */
void hob_up_axis_turn(hob_up_axis up, float turn[4]);

#endif
