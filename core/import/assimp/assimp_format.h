/* assimp_format.h - the formats that are given to Assimp: how to recognise them and what Assimp leaves
 * undone.
 *
 * Assimp tries every importer it has on a file whose own importer declines, so a file is looked at before
 * Assimp sees it. Not listed, though Assimp claims them: formats with own readers (fbx obj stl ply, and glTF
 * but for its version 1.0, which our reader hands on); extensions that mostly belong to other things (xml raw
 * ter prj scn mot uc vta bsp step stp x3db); Ogre's mesh.xml; CharacterStudio's csm, whose importer returns
 * counts that are larger than its arrays. What this table states about axes, units and texture coordinates
 * was read from Assimp 5.2.5's importers: it promises Y up and V up, but not every importer keeps the
 * promise. */
#ifndef HOB_ASSIMP_FORMAT_H
#define HOB_ASSIMP_FORMAT_H

#include "../../base/base.h"

typedef enum hob_assimp_unit {
	HOB_ASSIMP_UNIT_NONE, /* the format names no unit, or Assimp converts it: one unit is a metre */
	HOB_ASSIMP_UNIT_ROOT, /* Assimp scales the root node */
	/* unit="..." on the first element of the zipped 3dmodel.model, millimetres when absent */
	HOB_ASSIMP_UNIT_3MF,
} hob_assimp_unit;

enum {
	HOB_ASSIMP_BY_NAME = 1,			/* companions are found by the source's own name */
	HOB_ASSIMP_Z_UP = 2,			/* Assimp leaves Z up */
	HOB_ASSIMP_V_DOWN = 4,			/* Assimp leaves V as in the file, which counts from the top */
	HOB_ASSIMP_CENTRED_UV = 8,		/* texture transforms scale and rotate around (0.5, 0.5) */
	HOB_ASSIMP_FREED_TEXTURES = 64, /* Assimp frees embedded pictures before it returns them */
	HOB_ASSIMP_NODE_PLACES = 128,	/* cameras and lights repeat the place of their node */
	HOB_ASSIMP_TALL_FOV = 256,		/* the field of view is the vertical one times the aspect */
	HOB_ASSIMP_MAP_REPLACES = 32,	/* a colour map takes the place of the colour instead of tinting it */
};

typedef struct hob_assimp_format {
	const char *extension; /* lower case */
	const char *name;	   /* for messages */
	unsigned flags;
	hob_assimp_unit unit;
	/* The file must contain one of these texts: "=x" at the very start, "~x" anywhere in the first 64 KiB
	 * (ASCII case ignored). No texts = cannot be told. */
	const char *marks[6];
} hob_assimp_format;

extern const char *const hob_assimp_extensions[]; /* of all formats, NULL-terminated */

/* NULL when the extension is not one of Assimp's. */
const hob_assimp_format *hob_assimp_format_of(hob_str extension);
/* CORRUPT when the file does not look like its extension says, UNSUPPORTED when it is a kind of the format
 * that Assimp is known to refuse; the message says what to do. */
bool hob_assimp_format_check(const hob_assimp_format *format, hob_bytes file, hob_error *err) HOB_MUST_CHECK;

#endif
