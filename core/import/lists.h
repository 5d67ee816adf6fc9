/* lists.h - growing lists of a model's parts, for small readers; hob_lists_take turns them into the model's
 * arrays.
 *
 * Nodes are added in depth-first order; a mesh is attached to the node added last. Functions that add
 * return ids, which are indices into the lists, or leave with LIMIT (base/guard.h, schema/limits.def). */
#ifndef HOB_LISTS_H
#define HOB_LISTS_H

#include "image_set.h"
#include "importer.h"

typedef struct hob_lists {
	const hob_import_request *request;
	hob_buf meshes, materials, samplers, nodes, mesh_refs, cameras, lights, skins;
	hob_image_set images;
} hob_lists;

#define HOB_LISTS_COUNT(buf, type) ((uint32_t)((buf).size / sizeof(type)))
/* Requires a non-empty list. */
#define HOB_LISTS_AT(buf, type, index) (&((type *)(void *)(buf).data)[index])

/* Releases lists, whose addresses are given. */
#define HOB_LISTS_FREE(...) hob_lists_free((hob_buf *const[]){__VA_ARGS__, NULL})
void hob_lists_free(hob_buf *const *lists);

void hob_lists_init(hob_lists *lists, const hob_import_request *request);

/* Adds a node with an identity transform and no content; `name` as the file spells it. */
uint32_t hob_lists_node(hob_lists *lists, hob_str name, uint32_t parent);
/* Adds the root of a Z-up model, its first node, which rotates to Y up, as recorded in model->space; returns
 * its id. */
uint32_t hob_lists_z_up(hob_lists *lists, hob_model *model);
/* Sets a node's transform from a column-major matrix; ignores a matrix that is not finite. */
void hob_lists_place(hob_lists *lists, uint32_t node, const float matrix[16]);
uint32_t hob_lists_mesh(hob_lists *lists, const hob_mesh *mesh);
/* Attaches a mesh to the last node. */
void hob_lists_show(hob_lists *lists, uint32_t mesh);
uint32_t hob_lists_material(hob_lists *lists, const hob_material *material);
/* Equal samplers are shared. */
uint32_t hob_lists_sampler(hob_lists *lists, hob_sampler sampler);
/* A list as an array in `arena`; `size`: of an item. */
void *hob_lists_array(hob_arena *arena, const hob_buf *list, size_t size, uint32_t *count);
/* Copies all lists into the model, with one scene of all roots. */
void hob_lists_take(hob_lists *lists, hob_model *model);

#endif
