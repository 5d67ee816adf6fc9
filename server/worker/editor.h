/* editor.h - the worker's side of a program of somebody else's: asks the daemon for an export, and reads what comes.
 *
 * What that program read becomes a dependency: each file is read through the io too, and the export holds only if it is the
 * same version that the program saw. */
#ifndef SRV_EDITOR_H
#define SRV_EDITOR_H

#include "exporter.h"
#include "root_io.h"

#include "../../core/import/importer.h"

/* One cook's. ask() sends EXPORT and waits for EXPORTED; on success the bytes of the result file stay mapped until the cook
 * ends. False: `why` says it in words. */
typedef struct srv_editor {
	void *user;
	bool (*ask)(void *user, const srv_exporter_ask *ask, hob_bytes *result, hob_error *err);
	srv_root_io *io;
} srv_editor;

/* The table that the importer is given; `editor` outlives it. */
hob_editor srv_editor_table(srv_editor *editor);

#endif
