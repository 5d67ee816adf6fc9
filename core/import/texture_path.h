/* texture_path.h - from a picture's name as written in a model to a path below the root.
 *
 * Models name pictures by paths of the machine that wrote them. Looked for, in this order: the path as
 * written, relative to the folder of the file that says it; the same in another case; the last part of the
 * path in that folder; the last part in "textures/" there. The first that io->read finds wins, and a choice
 * other than the first is noted. Everything tried is recorded by the io as a dependency. */
#ifndef HOB_TEXTURE_PATH_H
#define HOB_TEXTURE_PATH_H

#include "importer.h"

/* `dir`: folder of the model or of its material library, without the trailing slash. `reference` as written
 * (either slash; absolute, with a drive letter or a file: URL is fine). *path lives in request->result and is
 * normalised; when nothing is found it is the path as written if that stays below the root, else empty. A
 * file that exists but cannot be read (too large, an I/O error) counts as found: whoever reads the picture
 * reports it. Fails only with MEMORY. */
bool hob_import_texture_path(const hob_import_request *request, hob_str dir, hob_str reference, hob_str *path,
							 hob_error *err) HOB_MUST_CHECK;

/* Whether there is a file, even one that cannot be read. */
bool hob_import_exists(const hob_import_request *request, hob_str path);

#endif
