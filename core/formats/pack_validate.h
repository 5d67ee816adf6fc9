/* pack_validate.h - checks foreign packed files against every rule of the format.
 *
 * Written from FORMATS.md, without code of the reader or the writers, so that it finds their mistakes. Safe
 * on hostile bytes: bounded memory (encoded sections are decoded, at most 64 times their size) and time
 * linear in the file and its decoded size.
 *
 * Checked per file: sizes, order, alignment, overlap, zero padding and reserved fields, digests; strings;
 * every index and range in its bounds; ranges of records in order and without gaps; indices below the vertex
 * prefix; levels of detail get coarser; the tree is well-formed; links sorted; numbers finite where they must
 * be; known enumerators and flags. Checked across files: material, mesh, skin, node and joint ids. */
#ifndef HOB_PACK_VALIDATE_H
#define HOB_PACK_VALIDATE_H

#include "../base/base.h"

/* Checks one file of any kind. `file.data` needs no alignment. Errors: TRUNCATED, CORRUPT (the text gives the
 * fault and its place), NEWER, MEMORY. */
bool hob_pack_validate(hob_bytes file, hob_error *err) HOB_MUST_CHECK;

/* The files of one asset; those with size 0 are absent, and ids that point into them are not checked. */
typedef struct hob_pack_set {
	hob_bytes meshes, materials, scene, animations;
} hob_pack_set;

/* Checks each file, and whether they agree with each other. */
bool hob_pack_validate_set(const hob_pack_set *set, hob_error *err) HOB_MUST_CHECK;

#endif
