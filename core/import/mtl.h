/* mtl.h - Wavefront material libraries.
 *
 * A library is split into materials first; only those that a model uses are parsed, so that a large shared
 * library costs little. Statements: Kd Ks Ke Ns Ni d Tr illum, the PBR extension Pr Pm Ps Pc Pcr aniso
 * anisor, and map_Kd map_Ks map_Ke map_d map_bump (bump) norm map_Pr map_Pm map_Ps map_Pc map_Pcr map_ao,
 * longer names of these, map_ORM and map_RMA (three channels of one picture) with the options -s -o -clamp
 * -bm -imfchan, before or after the name. Options that change a picture (-mm, -t), other maps, spectra and Tf
 * are noted.
 *
 * Phong to metallic-roughness: base colour = Kd, metallic = 0, roughness from Ns by the width of the lobe ((2
 * / (Ns + 2)) ^ 1/4) or, in Blender's files, by the inverse of Blender's own formula. Opacity is d, else 1 -
 * Tr; below 1 the material blends, and a map_d alone makes it a mask. */
#ifndef HOB_MTL_H
#define HOB_MTL_H

#include "image_set.h"

typedef struct hob_mtl_entry {
	hob_str name, body; /* borrowed from the text: the lines between this newmtl and the next */
	hob_str dir;		/* the library's folder: textures are relative to it */
	float ns_range;		/* Blender's largest Ns, 0 for other exporters */
} hob_mtl_entry;

typedef struct hob_mtl_library {
	hob_buf entries; /* hob_mtl_entry */
	hob_name_map by_name;
} hob_mtl_library;

/* Adds the materials of a file in folder `dir`; the first definition of a name counts. `text` and `dir` must
 * outlive the library. */
void hob_mtl_index(hob_mtl_library *library, hob_str dir, hob_str text);
/* NULL when there is no such material. */
const hob_mtl_entry *hob_mtl_find(const hob_mtl_library *library, hob_str name);
/* Reads one material. `clamp_sampler` is the sampler of `-clamp on`; *clamped is set when it is used. */
void hob_mtl_read(const hob_mtl_entry *entry, hob_image_set *images, uint32_t clamp_sampler, bool *clamped,
				  hob_material *out);

#endif
