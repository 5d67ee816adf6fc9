/* texture_path.h - resolves a picture's name in a model to a path below the root.
 *
 * Models contain picture paths of the machine that wrote them. Candidates, in order: the path as written,
 * relative to the folder of the referring file; the same ignoring case; the last part of the path in that
 * folder; the last part in "textures/" there. The first that io->read finds is used; any but the first is
 * noted. The io records every attempt as a dependency. */
#ifndef HOB_TEXTURE_PATH_H
#define HOB_TEXTURE_PATH_H

#include "importer.h"

/* `dir`: folder of the model or of its material library, without a trailing slash. `reference`: as written
 * (either slash; absolute, with a drive letter or a file: URL is fine). The path lives in request->result and
 * is normalised; if nothing is found it is the path as written when that stays below the root, else empty. A
 * file that exists but cannot be read (too large, an I/O error) counts as found: its reader reports the
 * error. */
hob_str hob_import_texture_path(const hob_import_request *request, hob_str dir, hob_str reference);

/* Whether the file exists, readable or not. */
bool hob_import_exists(const hob_import_request *request, hob_str path);

#endif
