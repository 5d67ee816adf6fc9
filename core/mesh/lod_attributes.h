/* lod_attributes.h - how far texture coordinates, colours and joint weights of a level of detail are from
 * those of the full mesh.
 *
 * lod_error.h measures the distance of the surfaces; this header the differences of attributes on them. At
 * points of both surfaces, the attributes are compared with those at the nearest point of the other surface.
 * Where several triangles are as near - at seams, and where two surfaces touch - the one that fits best
 * counts, for each attribute separately. The points are the vertices that the level is the first to lose (one
 * in four of meshes of 2,000 vertices and more), some of those that finer levels lost, and the centres of
 * some of its triangles. From the largest differences the search climbs from neighbour to neighbour. Points
 * in between can differ more. */
#ifndef HOB_LOD_ATTRIBUTES_H
#define HOB_LOD_ATTRIBUTES_H

#include "lod_error.h"

#include "../model/baked.h"

/* Factor from measured to stated errors, for points in between. */
#define HOB_LOD_ATTRIBUTE_MARGIN 1.2

/* Whether there is anything to compare. */
bool hob_lod_has_attributes(const hob_mesh *mesh);

/* Measures a level.
 *
 * full         prepared with its corners kept
 * mesh         the mesh that it was prepared from
 * mirror       [vertex_count] the vertices of the other sides of sheets (sheets.h), of which `full` and the
 *              level have one side; may be NULL. Both sides are compared
 * lost         [full->seen_count] in and out: not 0 where a finer level has lost the place; zeros to begin
 *              with
 * most         in and out: errors stated for a finer level, or zeros; raised where this level's are larger.
 *              uv: the largest distance in any set; color: the largest difference of a component in any set;
 *              weight: the share of the weights on other joints, 0..1
 * Cost         about 0.1 us for each triangle of the full mesh, for six levels together, each half the one
 *              before. */
void hob_lod_attributes_measure(const hob_lod_full *full, const hob_lod_surface *level, const hob_mesh *mesh,
								const uint32_t *mirror, uint8_t *lost, hob_attribute_error *most);

#endif
