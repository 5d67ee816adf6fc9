/* scene_list.h - the reference converter's list of scenes: a JSON array of {input_scene, output_mesh, output_scene,
 * output_materials, scale, calculate_LODs, merge_instances}. Keys that begin with "//" are comments. */
#ifndef CLI_SCENE_LIST_H
#define CLI_SCENE_LIST_H

#include "../../core/cook/settings.h"

typedef struct scene_entry {
	char *input, *output_mesh, *output_scene, *output_materials; /* as written; never NULL */
	float scale;
	bool lods, merge_instances;
} scene_entry;

typedef struct scene_list {
	scene_entry *entries;
	uint32_t count;
} scene_list;

/* Errors: USAGE (it cannot be read), CONFIG (it is no such list: names the entry and the key), MEMORY. On failure *list is
 * empty. */
bool scene_list_read(const char *path, scene_list *list, hob_error *err) HOB_MUST_CHECK;
/* What the reference converter does for such an entry, over *settings. */
void scene_list_settings(const scene_entry *entry, hob_settings *settings);
void scene_list_release(scene_list *list);

/* The whole text of a small file with a NUL behind it, for free(); NULL with errno when it cannot be read. */
char *scene_list_text(const char *path, size_t *size);

#endif
