/* importer.h - one importer per source format family: bytes in, hob_model out.
 *
 * An importer reads files only through request->io, rejects before it allocates, bounds every loop over a
 * foreign count by schema/limits.def, and never keeps a pointer into scratch memory. Content that the model
 * cannot hold is reported in request->notes, never dropped silently. An importer does not generate normals
 * that the source lacks: the bake does, or leaves them out; `flat` of hob_mesh selects the shading of such a
 * mesh. Raise `version` whenever the output changes for some input. */
#ifndef HOB_IMPORTER_H
#define HOB_IMPORTER_H

#include "../base/base.h"
#include "../model/model.h"
#include "census.h"
#include "space.h"

/* The .merge files that contain this import, innermost first. */
typedef struct hob_import_chain {
	hob_str path;
	uint32_t *scenes; /* scenes of all lists together, so far */
	const struct hob_import_chain *above;
} hob_import_chain;

/* How a foreign program exports actions. */
typedef enum hob_editor_actions { HOB_ACTIONS_ALL, HOB_ACTIONS_ACTIVE, HOB_ACTIONS_NONE } hob_editor_actions;

typedef struct hob_editor_ask {
	hob_str path; /* path of the source */
	bool apply_modifiers;
	hob_editor_actions actions;
	hob_str collection; /* empty: the whole scene */
	hob_arena *scratch;
	hob_notes *notes;
} hob_editor_ask;

/* A foreign program that opens its own format (Blender). The files that it reads are recorded as if the
 * importer had read them through the io. */
typedef struct hob_editor {
	void *user;
	/* The source as binary glTF, valid until the cook ends. Errors: CHANGED when a file was saved during the
	 * export; otherwise the program's message. */
	bool (*export_glb)(void *user, const hob_editor_ask *ask, hob_bytes *out, hob_error *err);
} hob_editor;

typedef struct hob_import_request {
	const hob_io *io;
	hob_str path;		/* source, relative to the root: "props/duck.gltf" */
	hob_bytes file;		/* its bytes, already read through io */
	hob_arena *result;	/* the model's memory */
	hob_arena *scratch; /* freed by the caller after the import */
	hob_notes *notes;
	const hob_parallel *parallel; /* may be NULL */
	/* Keep the file's units: model->unit stays 0. An importer that cannot sets model->unit, and the caller
	 * divides by it. */
	bool keep_units;
	const hob_import_chain *chain; /* NULL: the source is not part of a .merge file */
	const hob_editor *editor;	   /* NULL: no such program */
	struct {
		/* beside_export: cook the .blend even if an export lies beside it */
		bool apply_modifiers, beside_export;
		hob_editor_actions actions;
		hob_str collection;
	} blend;
	bool environments;	  /* cook environment maps; otherwise SKIPPED */
	uint32_t subdivision; /* refinement levels of subdivision surfaces */
	hob_str usd_variants; /* "set=choice, set=choice": override a USD stage's selections; may be empty */
	hob_census *seen;	  /* out: counts of the source's content; may be NULL */
	/* May be NULL. Importers only pass it on; hob_import applies it. */
	const hob_space_override *space;
} hob_import_request;

typedef struct hob_importer {
	const char *name; /* "gltf": part of the cook key, with version */
	uint32_t version;
	const char *const *extensions; /* lower case, NULL-terminated: a file with one of these is an asset */
	/* Fills *out, which is all zero, and its `space`. Called within hob_guarded, so it need not check for
	 * memory, may leave with hob_leave at any depth (base/guard.h), and what its buffers hold is released at
	 * its end. On failure *out is worthless; the error names the fault, its place (line or index) and the
	 * remedy. */
	bool (*import)(const hob_import_request *request, hob_model *out, hob_error *err);
	/* Version of the underlying library ("assimp 5.2.5"), part of the cook key; NULL without one. */
	const char *(*library_version)(void);
	/* The result depends on the file's name: companions are looked up by it, or the model contains it. */
	bool reads_name;
	/* The model refers to the request's file bytes only through pictures. */
	bool copies;
} hob_importer;

/* All importers in the order in which they claim extensions; core/import/table.c. */
extern const hob_importer *const hob_importers[];
extern const uint32_t hob_importer_count;
const hob_importer *hob_importer_for(hob_str path); /* NULL when no importer reads this extension */
/* Imports request->file with the importer for request->path, or with the one for older versions of the format
 * if the first answers OLD_VERSION; then validates the model and applies request->space. *used is the
 * importer that made the model. Errors: UNSUPPORTED when no importer reads the extension; the importer's;
 * those of hob_model_override_space. */
bool hob_import(const hob_import_request *request, const hob_importer **used, hob_model *out,
				hob_error *err) HOB_MUST_CHECK;
/* Clears *out and calls importer->import within hob_guarded. */
bool hob_import_by(const hob_importer *importer, const hob_import_request *request, hob_model *out,
				   hob_error *err) HOB_MUST_CHECK;
/* The importer to try after OLD_VERSION from this one (Assimp for glTF 1.0); NULL when there is none. */
const hob_importer *hob_importer_for_old(const hob_importer *importer);

#endif
