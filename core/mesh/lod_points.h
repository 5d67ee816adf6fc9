/* lod_points.h - how far a level of detail is from the full mesh in poses, and how far its texture
 * coordinates, colours and joint weights are from the full mesh's.
 *
 * lod_error.h measures the distance of the surfaces in the bind pose. Here points of both surfaces are
 * matched with the nearest point of the other. Where several triangles are as near - at seams, and where two
 * surfaces touch - the one that fits best counts, for each attribute separately. A bending joint moves lost
 * vertices differently from the triangles that replace them: a point's distance in a pose is that to its
 * match, or to a nearer triangle that a walk from neighbour to neighbour finds.
 *
 * The points are the vertices that the level is the first to lose (one in four of meshes of 2,000 vertices
 * and more, with poses 20,000), some of those that finer levels lost, and the centres of some of its
 * triangles. From the largest differences the search climbs from neighbour to neighbour. Points in between
 * can differ more. */
#ifndef HOB_LOD_POINTS_H
#define HOB_LOD_POINTS_H

#include "lod_poses.h"

/* Factors on what is found in a pose, and on differences of attributes, to cover what is not measured. */
#define HOB_LOD_POSE_MARGIN		 1.25
#define HOB_LOD_ATTRIBUTE_MARGIN 1.2

/* Whether a mesh has attributes to compare; one with joints does. */
bool hob_lod_has_attributes(const hob_mesh *mesh);

/* Measures a level. Finer ones come first.
 *
 * full         prepared with its corners kept
 * mesh         the mesh that it was prepared from
 * posed        as prepared from both; may have no poses
 * mirror       [vertex_count] the vertices of the other sides of sheets (sheets.h), of which `full` and the
 *              level have one side; may be NULL. Both sides are compared
 * lost         [full->seen_count] in and out: not 0 where a finer level has lost the place; zeros to begin
 *              with
 * distance     in: the largest measured in the bind pose and for finer levels; raised to HOB_LOD_POSE_MARGIN
 *              times the largest in a pose. The stated error is HOB_LOD_ERROR_MARGIN times that
 * most         in and out: errors stated for a finer level, or zeros; raised where this level's are larger.
 *              uv: the largest distance in any set; color: the largest difference of a component in any set;
 *              weight: the share of the weights on other joints, 0..1
 * Cost         about 0.1 us for each triangle of the full mesh, for six levels together, each half the one
 *              before; 40 ns a point in each pose. */
void hob_lod_points_measure(const hob_lod_full *full, const hob_lod_surface *level, const hob_mesh *mesh,
							const hob_lod_posed *posed, const uint32_t *mirror, uint8_t *lost,
							double *distance, hob_attribute_error *most);

#endif
