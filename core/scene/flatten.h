/* flatten.h - the hierarchy of a model as parallel arrays, as the scene writers put it into files. */
#ifndef HOB_SCENE_FLATTEN_H
#define HOB_SCENE_FLATTEN_H

#include "../model/baked.h"

/* Bakes the scene.
 *
 * Order and records are those of the reference converter's traverse() and addNode(): every source node
 * becomes a node; each of its meshes becomes a child named "<name>_Mesh_<i>", one level deeper, with identity
 * transform, before the node's own children. In the hierarchy records the first child of a parent holds in
 * last_sibling the id of the last one; every other node has -1 there, roots always; roots are not linked to
 * each other by next_sibling (scene_roots lists them). Depth is not limited.
 *
 * model     checked by hob_model_check
 * meshes    [model->mesh_count] for their boxes, and for skinned ones for joints and weights; NULL leaves all
 *           boxes empty
 * arena     owns what *out refers to; it has the names of mesh children, other text is borrowed from the
 *           model
 * scratch   restored before returning
 * out       local and global   matrices; global = global of the parent * local, in float
 *           trs flags          FROM_MATRIX: the source gave a matrix; SHEAR: translation, rotation and scale
 *                              do not reproduce it; MIRRORED: the determinant of *global* is negative, so
 *                              triangles show their back sides. Mesh children have the flags of their source
 *                              node, except HIDDEN, which only source nodes have
 *           aabb               of each node's subtree in the rest pose: the axis-aligned box around a mesh's
 *                              box under `global`; for skinned meshes around the boxes of each joint's
 *                              vertices under the joint's `global`. Without morph targets and nodes that
 *                              hob_model_unseen_nodes marks. FLT_MAX..-FLT_MAX if empty
 *           links              sorted by node. mesh and material on mesh children (no material link for the
 *                              default material); camera, light, skin and weights on the source's node
 *           extras             those of the model that are not empty, sorted by kind and index
 * Errors    LIMIT (more nodes than HOB_LIMIT_NODES or than an i32 holds)
 * Cost      O(nodes + meshes + skinned vertices) */
bool hob_scene_bake(const hob_model *model, const hob_baked_mesh *meshes, hob_arena *arena,
					hob_arena *scratch, hob_baked_scene *out, hob_error *err) HOB_MUST_CHECK;

/* The first skin, in node order, that a node pairs with each mesh; HOB_NONE without one. skins [mesh_count]
 * out. */
void hob_scene_mesh_skins(const hob_model *model, uint32_t *skins);

/* ---- scene_bounds.c: world bounds of the meshes of a flattened scene ---- */

/* Fills scene->aabb [node_count][6], already allocated, from hierarchy, global and mesh links; flatten.h
 * defines the boxes. `meshes` may be NULL. */
void hob_scene_bounds(const hob_model *model, const hob_baked_mesh *meshes, hob_baked_scene *scene,
					  hob_arena *scratch);

/* The axis-aligned box around a box under a matrix, computed in double and rounded outwards by an ulp or so.
 * Source: Arvo 1990, Transforming axis-aligned bounding boxes. An empty box (min > max) stays empty. */
void hob_box_transform(const float box[6], const float matrix[16], float out[6]);

#endif
