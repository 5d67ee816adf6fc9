/* inspect_model.h - a model as its cook shows it: cooked behind the sandbox into a folder that is gone afterwards. */
#ifndef CLI_INSPECT_MODEL_H
#define CLI_INSPECT_MODEL_H

#include "cli.h"

/* Calls `look` with each cooked file and the name to show for it ("duck.glb: meshes"). Its settings are those of hob.json,
 * cook.json and its sidecar, printed on stdout unless `json`. Returns the exit code; errors go to stderr. */
int srv_inspect_model(const char *path, bool json,
					  void (*look)(void *user, const char *file, const char *name), void *user);

#endif
