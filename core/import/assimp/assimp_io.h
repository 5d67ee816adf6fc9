/* assimp_io.h - Assimp's file callbacks over hob_io.
 *
 * Assimp sees a small world: "/" is the folder of the source, and the source itself bears a name of ours
 * (hob_assimp_name), so that nothing of the asset's name or place can end up in what it returns. Every open
 * and every probe goes through request->io and is recorded there; paths that leave the root are refused with
 * a note; all opens of one file are served from the one copy that the io holds. Reading only; seek, tell and
 * read behave as fseek, ftell and fread on a regular file. */
#ifndef HOB_ASSIMP_IO_H
#define HOB_ASSIMP_IO_H

#include "../importer.h"

#include <assimp/cfileio.h>

/* Stands for the source's stem; no source of the wild is called so. */
#define HOB_ASSIMP_STEM "hob source"

typedef struct hob_assimp_io {
	struct aiFileIO vtable; /* first: Assimp hands back its address */
	const hob_import_request *request;
	hob_str name;					  /* of the source as Assimp knows it, without the leading slash */
	struct hob_assimp_file *released; /* closed files, for reuse */
	hob_error failure;				  /* first failure other than a missing file; code OK when none */
} hob_assimp_io;

/* `by_name`: Assimp derives companion names from the source's name ("walk.md5mesh" -> "walk.md5anim"), so it
 * gets the real one. */
bool hob_assimp_io_init(hob_assimp_io *io, const hob_import_request *request, bool by_name,
						hob_error *err) HOB_MUST_CHECK;

#endif
