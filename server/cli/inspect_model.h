/* inspect_model.h - shows how a model is cooked: cooks it in the sandbox into a temporary folder. */
#ifndef CLI_INSPECT_MODEL_H
#define CLI_INSPECT_MODEL_H

#include "cli.h"

/* Calls `look` for each cooked file, with its display name ("duck.glb: meshes"). The settings are those of
 * hob.json, cook.json and the sidecar; they are printed on stdout unless `json`. Returns the exit code;
 * errors go to stderr. */
int srv_inspect_model(const char *path, bool json,
					  void (*look)(void *user, const char *file, const char *name), void *user);

#endif
