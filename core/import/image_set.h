/* image_set.h - the pictures of a model during import: each file once, however often it is referenced. */
#ifndef HOB_IMAGE_SET_H
#define HOB_IMAGE_SET_H

#include "importer.h"
#include "name_map.h"

typedef struct hob_image_set {
	const hob_import_request *request;
	hob_str dir; /* base of relative references: initially the model's folder; the caller may change it */
	hob_name_map by_path;
	hob_buf images; /* hob_image */
} hob_image_set;

void hob_image_set_init(hob_image_set *set, const hob_import_request *request);
/* The id of the picture that `reference` names (see texture_path.h). Leaves with LIMIT (base/guard.h). */
uint32_t hob_image_set_file(hob_image_set *set, hob_str reference);
/* Adds a picture that no reference shares; leaves with LIMIT. The caller fills it before the next call. */
hob_image *hob_image_set_add(hob_image_set *set, uint32_t *id);
/* Adds a picture that nothing uses, unless one of its name is there or the list is full. Its file is not
 * looked for. */
void hob_image_set_unused(hob_image_set *set, hob_str reference);
/* Moves the list into the model. */
void hob_image_set_take(hob_image_set *set, hob_model *model);

#endif
