/* importers.h - the table of importers, for table.c and for tests. */
#ifndef HOB_IMPORTERS_H
#define HOB_IMPORTERS_H

#include "importer.h"

/* Blender's .blend through request->editor. Without an editor, files older than 3.0 give OLD_VERSION (Assimp
 * reads them) and newer ones SKIPPED; so does a .blend beside its own export. */
extern const hob_importer hob_blend_importer;
extern const hob_importer hob_gltf_importer;	/* glTF 2.0: .gltf .glb */
extern const hob_importer hob_fbx_importer;		/* Autodesk .fbx, binary and ASCII */
extern const hob_importer hob_obj_importer;		/* Wavefront .obj with .mtl */
extern const hob_importer hob_stl_importer;		/* .stl, text and binary */
extern const hob_importer hob_ply_importer;		/* .ply, text and binary */
extern const hob_importer hob_collada_importer; /* COLLADA .dae, zipped .zae */
extern const hob_importer hob_threemf_importer; /* 3MF .3mf */
extern const hob_importer hob_off_importer;		/* Geomview's .off, with colours */
extern const hob_importer hob_amf_importer;		/* .amf, zipped or not */
extern const hob_importer hob_iqm_importer;		/* Inter-Quake Model .iqm */
extern const hob_importer hob_md2_importer;		/* Quake II .md2: frames as morph targets */
extern const hob_importer hob_x3d_importer;		/* X3D .x3d, as VRML text .x3dv; VRML97 .wrl .vrml */
extern const hob_importer hob_usd_importer;		/* .usda .usdc .usd .usdz */
/* .merge, several models in one: {"scenes": ["exterior.obj", "inside/interior.gltf"]}, paths relative to the
 * list. Each is read by its own importer; model_merge.h defines how scenes, names and ids are merged. A list
 * may include other lists but no cycle; HOB_LIMIT_MERGED_SCENES bounds the total. */
extern const hob_importer hob_merge_importer;
/* Equirectangular .hdr and .exr if request->environments is set, else SKIPPED: most such files are textures
 * of a model. */
extern const hob_importer hob_environment_importer;
extern const hob_importer hob_assimp_importer; /* everything else that Assimp reads */
enum { HOB_ASSIMP_READER = 2 };				   /* its version */

#endif
