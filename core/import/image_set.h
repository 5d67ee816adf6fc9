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
void hob_image_set_release(hob_image_set *set);
/* The picture that `reference` names (see texture_path.h). Fails with LIMIT. */
bool hob_image_set_file(hob_image_set *set, hob_str reference, uint32_t *id, hob_error *err) HOB_MUST_CHECK;
/* Adds a picture that no reference shares. The caller fills `image` before the next call. */
bool hob_image_set_add(hob_image_set *set, hob_image **image, uint32_t *id, hob_error *err) HOB_MUST_CHECK;
/* Adds a picture that nothing uses, unless one of its name is there or the list is full. Its file is not
 * looked for. */
void hob_image_set_unused(hob_image_set *set, hob_str reference);
/* Moves the list into the model. */
void hob_image_set_take(hob_image_set *set, hob_model *model);

#endif
