/* assimp_format.h - formats read by Assimp: how to recognise them, and what Assimp leaves undone.
 *
 * Assimp tries every importer on a file that its own importer declines, so each file is checked before Assimp
 * gets it. Not listed, though Assimp claims them: formats with readers of our own (fbx obj stl ply, and glTF
 * except version 1.0, which our reader delegates); extensions that mostly belong to other things (xml raw ter
 * prj scn mot uc vta bsp step stp x3db); Ogre's mesh.xml; CharacterStudio's csm, whose importer returns
 * counts larger than its arrays. The facts about axes, units and texture coordinates are from the source of
 * Assimp 5.2.5's importers: Assimp promises Y up and V up, but not every importer complies. */
#ifndef HOB_ASSIMP_FORMAT_H
#define HOB_ASSIMP_FORMAT_H

#include "../../base/base.h"

typedef enum hob_assimp_unit {
	HOB_ASSIMP_UNIT_NONE, /* one unit is a metre: the format has no unit, or Assimp converts it */
	HOB_ASSIMP_UNIT_ROOT, /* Assimp scales the root node */
	/* unit="..." on the first element of the zipped 3dmodel.model; default millimetres */
	HOB_ASSIMP_UNIT_3MF,
} hob_assimp_unit;

enum {
	HOB_ASSIMP_BY_NAME = 1,			/* companions are found by the source's own name */
	HOB_ASSIMP_Z_UP = 2,			/* Assimp leaves Z up */
	HOB_ASSIMP_V_DOWN = 4,			/* Assimp leaves V counting from the top */
	HOB_ASSIMP_CENTRED_UV = 8,		/* texture transforms scale and rotate around (0.5, 0.5) */
	HOB_ASSIMP_FREED_TEXTURES = 64, /* Assimp frees embedded pictures before it returns them */
	HOB_ASSIMP_NODE_PLACES = 128,	/* cameras and lights repeat their node's transform */
	HOB_ASSIMP_TALL_FOV = 256,		/* the field of view is the vertical one times the aspect */
	HOB_ASSIMP_MAP_REPLACES = 32,	/* a colour map replaces the colour instead of multiplying it */
};

typedef struct hob_assimp_format {
	const char *extension; /* lower case */
	const char *name;	   /* for messages */
	unsigned flags;
	hob_assimp_unit unit;
	/* The file must contain one of these texts: "=x" at its start, "~x" in the first 64 KiB (ASCII case
	 * ignored). None: not checked. */
	const char *marks[6];
} hob_assimp_format;

extern const char *const hob_assimp_extensions[]; /* of all formats, NULL-terminated */

/* NULL when the extension is not one of Assimp's. */
const hob_assimp_format *hob_assimp_format_of(hob_str extension);
/* CORRUPT when the content does not match the extension, UNSUPPORTED for a variant that Assimp is known to
 * reject; the message gives the remedy. */
bool hob_assimp_format_check(const hob_assimp_format *format, hob_bytes file, hob_error *err) HOB_MUST_CHECK;

#endif
