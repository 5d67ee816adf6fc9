/* cook_key.h - the cook key: a hash of everything that an output depends on, item by item.
 *
 * Known before a cook: the ingredients (importer, versions, settings, profile, extension) and the source's
 * digest; their hash is the `lookup`. Known after it: every dependency, by its name relative to the source's
 * folder, with its digest or the fact that it was missing; the hash of the lookup and these is the `key`. It
 * does not depend on absolute paths, host names or times, so the same inputs have the same key on every
 * machine. */
#ifndef HOB_COOK_KEY_H
#define HOB_COOK_KEY_H

#include "../base/base.h"
#include "../hash/hash.h"
#include "settings.h"

/* Raise it when cooked bytes change for unchanged inputs, unless only one importer's output changes. */
enum { HOB_COOK_VERSION = 30 };

typedef struct hob_ingredients {
	hob_str importer; /* "gltf" */
	uint32_t importer_version;
	hob_str library;   /* "assimp 5.2.5", may be empty */
	hob_str extension; /* of the source; compared in lower case */
	hob_settings settings;
	hob_profile profile;
} hob_ingredients;

typedef struct hob_dependency {
	hob_str path; /* relative to the source's folder */
	bool missing;
	hob_sha256 digest;
} hob_dependency;

hob_sha256 hob_cook_lookup(const hob_sha256 *source, const hob_ingredients *ingredients);
/* file_name: the source's own name if the cook depended on it, else empty. Order of deps does not matter
 * (they are hashed sorted by path: `deps` is sorted in place). */
hob_sha256 hob_cook_key(const hob_sha256 *lookup, hob_str file_name, hob_dependency *deps,
						uint32_t dep_count);
/* JSON object with every ingredient by name, for `why`. */
void hob_ingredients_print(const hob_ingredients *ingredients, hob_buf *out);
/* The profile in an object of hob_ingredients_print. */
hob_profile hob_ingredients_profile(hob_str printed);

/* `target` relative to folder `dir` ("../tex/a.png"); both below the same root. */
hob_str hob_path_relative(hob_arena *arena, hob_str dir, hob_str target);

#endif
