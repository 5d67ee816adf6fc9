/* editor.h - the worker's side of an external editor (Blender): asks the daemon for an export and reads it.
 * Every file that the editor read becomes a dependency: the worker reads it through the io, too, and the
 * export is valid only if it is the version that the editor saw. */
#ifndef SRV_EDITOR_H
#define SRV_EDITOR_H

#include "exporter.h"
#include "root_io.h"

#include "../../core/import/importer.h"

/* For one cook. ask() sends EXPORT and waits for EXPORTED. On success the result file stays mapped until the
 * cook ends. False: `why` has the reason. */
typedef struct srv_editor {
	void *user;
	bool (*ask)(void *user, const srv_exporter_ask *ask, hob_bytes *result, hob_error *err);
	srv_root_io *io;
} srv_editor;

/* The table for the importer; `editor` must outlive it. */
hob_editor srv_editor_table(srv_editor *editor);

#endif
