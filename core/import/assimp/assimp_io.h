/* assimp_io.h - Assimp's file callbacks over hob_io.
 *
 * For Assimp, "/" is the folder of the source, and the source has an internal name (hob_assimp_name), so that
 * the asset's name and place cannot affect the result. Every open and every probe goes to request->io and is
 * recorded there; paths that leave the root are refused with a note; all opens of a file share the io's one
 * copy. Read only; seek, tell and read behave as fseek, ftell and fread on a regular file. */
#ifndef HOB_ASSIMP_IO_H
#define HOB_ASSIMP_IO_H

#include "../importer.h"

#include <assimp/cfileio.h>

/* Replaces the source's stem; no real source has this name. */
#define HOB_ASSIMP_STEM "hob source"

typedef struct hob_assimp_io {
	struct aiFileIO vtable; /* first member: Assimp returns its address */
	const hob_import_request *request;
	hob_str name;					  /* name of the source for Assimp, without the leading slash */
	struct hob_assimp_file *released; /* closed files, for reuse */
	hob_error failure;				  /* first failure other than a missing file; code OK: none */
} hob_assimp_io;

/* `by_name`: Assimp derives companion names from the source's name ("walk.md5mesh" -> "walk.md5anim"), so it
 * gets the real one. */
bool hob_assimp_io_init(hob_assimp_io *io, const hob_import_request *request, bool by_name,
						hob_error *err) HOB_MUST_CHECK;

#endif
