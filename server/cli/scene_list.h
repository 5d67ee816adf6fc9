/* scene_list.h - the reference converter's list of scenes: a JSON array of {input_scene, output_mesh,
 * output_scene, output_materials, scale, calculate_LODs, merge_instances}. Keys that begin with "//" are
 * comments.
 *
 * Beyond the reference's keys: "merge": [...] instead of "input_scene" makes one asset of several; each item
 * is the name of a model, {"file": NAME, "scale": NUMBER}, or the output_scene of an earlier entry, which
 * stands for that entry's input and scale (as in the reference's mergeBistro); "merge_materials": true joins
 * the meshes of each material; "name_rules": false turns off guesses from names. */
#ifndef CLI_SCENE_LIST_H
#define CLI_SCENE_LIST_H

#include "../../core/settings/settings.h"

typedef struct scene_part {
	const char *file;
	float scale;
} scene_part;

typedef struct scene_entry {
	const char *input; /* as written; NULL: `parts` replace it */
	scene_part *parts;
	uint32_t part_count;
	const char *output_mesh, *output_scene, *output_materials; /* as written; never NULL */
	float scale;
	bool lods, merge_instances, merge_materials, name_rules;
} scene_entry;

typedef struct scene_list {
	scene_entry *entries;
	uint32_t count;
} scene_list;

/* The list is in the arena. Errors: USAGE (it cannot be read), CONFIG (not a valid list: names the entry and
 * the key), MEMORY. */
bool srv_scene_list_read(hob_arena *arena, const char *path, scene_list *list, hob_error *err) HOB_MUST_CHECK;
/* Changes *settings to what the reference converter does for such an entry. */
void srv_scene_list_settings(const scene_entry *entry, hob_settings *settings);

#endif
