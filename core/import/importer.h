/* importer.h - one importer per source format family: bytes in, hob_model out.
 *
 * An importer reads files only through request->io, rejects before it allocates, bounds every loop over a
 * foreign count by schema/limits.def, and never keeps a pointer into scratch memory. Content that the model
 * cannot hold is reported in request->notes, never dropped silently. It makes no normals that the source does
 * not have: the bake does, or leaves them out; `flat` of hob_mesh says how to shade such a mesh. Raise
 * `version` whenever its output changes for some input. */
#ifndef HOB_IMPORTER_H
#define HOB_IMPORTER_H

#include "../base/base.h"
#include "../model/model.h"
#include "census.h"
#include "space.h"

/* The .merge files that contain this import, innermost first. */
typedef struct hob_import_chain {
	hob_str path;
	uint32_t *scenes; /* of all lists together, so far */
	const struct hob_import_chain *above;
} hob_import_chain;

/* How a program of somebody else's exports. */
typedef enum hob_editor_actions { HOB_ACTIONS_ALL, HOB_ACTIONS_ACTIVE, HOB_ACTIONS_NONE } hob_editor_actions;

typedef struct hob_editor_ask {
	hob_str path; /* of the source */
	bool apply_modifiers;
	hob_editor_actions actions;
	hob_str collection; /* empty: the whole scene */
	hob_arena *scratch;
	hob_notes *notes;
} hob_editor_ask;

/* A program that opens files which only it understands (Blender). What it reads of the folder is recorded as
 * if the importer had read it through the io. */
typedef struct hob_editor {
	void *user;
	/* The source as binary glTF, valid until the cook ends. Errors: CHANGED when a file was saved meanwhile;
	 * what the program said. */
	bool (*export_glb)(void *user, const hob_editor_ask *ask, hob_bytes *out, hob_error *err);
} hob_editor;

typedef struct hob_import_request {
	const hob_io *io;
	hob_str path;		/* of the source below the root: "props/duck.gltf" */
	hob_bytes file;		/* its bytes, already read through io */
	hob_arena *result;	/* the model's memory */
	hob_arena *scratch; /* freed by the caller after the import */
	hob_notes *notes;
	const hob_parallel *parallel; /* may be NULL */
	/* Lengths keep the numbers of the file and model->unit stays 0; an importer that cannot do so states its
	 * unit, and the caller divides by it. */
	bool keep_units;
	const hob_import_chain *chain; /* NULL: the source is no part of a .merge file */
	const hob_editor *editor;	   /* NULL: there is none */
	struct {
		bool apply_modifiers, beside_export; /* beside_export: also where an export lies beside it */
		hob_editor_actions actions;
		hob_str collection;
	} blend;
	bool environments;	  /* pictures of surroundings are cooked; else SKIPPED */
	uint32_t subdivision; /* levels by which subdivision surfaces are refined */
	hob_str usd_variants; /* "set=choice, set=choice": over what a USD stage chooses; may be empty */
	hob_census *seen;	  /* the importer counts here what the source holds; may be NULL */
	/* May be NULL. Importers only hand it on: hob_import applies it. */
	const hob_space_override *space;
} hob_import_request;

typedef struct hob_importer {
	const char *name; /* "gltf": part of the cook key, with version */
	uint32_t version;
	const char *const *extensions; /* lower case, NULL-terminated: a file with one of these is an asset */
	/* Fills model.space too. On failure *out is untouched; the error names what, where (line or index), and
	 * what to do. */
	bool (*import)(const hob_import_request *request, hob_model *out, hob_error *err);
	/* Version text of the library behind it ("assimp 5.2.5"), part of the cook key; NULL when there is
	 * none. */
	const char *(*library_version)(void);
	/* May look for companions by the source's own file name, or put that name into the model. */
	bool reads_name;
	/* The model refers to no bytes of the request's file, unless a picture does. */
	bool copies;
} hob_importer;

/* All importers in the order in which they claim extensions; core/import/table.c. */
extern const hob_importer *const hob_importers[];
extern const uint32_t hob_importer_count;
const hob_importer *hob_importer_for(hob_str path); /* NULL when no importer reads this extension */
/* Imports request->file by the importer of request->path, or by the one for older versions of the format when
 * that one says so, checks the model's rules and applies request->space. *used is the importer whose model it
 * is. Errors: UNSUPPORTED when no importer reads the extension; the importer's; those of
 * hob_model_override_space. */
bool hob_import(const hob_import_request *request, const hob_importer **used, hob_model *out,
				hob_error *err) HOB_MUST_CHECK;
/* The importer to ask when this one answers OLD_VERSION (Assimp for glTF 1.0); NULL when there is none. */
const hob_importer *hob_importer_for_old(const hob_importer *importer);

#endif
