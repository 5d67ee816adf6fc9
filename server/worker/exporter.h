/* exporter.h - the interface between hob and hob-exporter.
 *
 * A cook that needs an external editor asks the daemon (protocol.h: EXPORT). The daemon makes a private
 * folder and starts hob-exporter with the program's path as its only argument and these descriptors: 1 and 2
 * a log, 3 the watched folder, 4 the private folder, 5 a socket with one srv_exporter_ask. hob-exporter
 * mounts a file system over the private folder and sends it back (own_mounts.h; only with ask.mounts), enters
 * its sandbox (sandbox.h) and executes that program, which runs blend_export.py and leaves the file "result"
 * in the private folder:
 *
 *   "HOBX", u32 size of the JSON, the JSON, then the model as binary glTF
 *
 *   {"blender": version, "files": [[path, [size, inode, mtime_ns, ctime_ns] or null], ...],
 *    "notes": [[code, text], ...], warnings; with "info" as third, not
 *    "error": text when there is no model}
 *
 * The worker that asked parses it in its own sandbox, as untrusted input. */
#ifndef SRV_EXPORTER_H
#define SRV_EXPORTER_H

#include "sandbox.h"

#include <stdint.h>

enum { SRV_EXPORTER_ROOT = 3, SRV_EXPORTER_FOLDER, SRV_EXPORTER_ASK, SRV_EXPORTER_PATH = 4096 };

typedef struct srv_exporter_ask {
	uint64_t memory_limit;
	uint32_t sandbox, cpu_seconds, nice, mounts; /* the daemon sets these five */
	uint32_t apply_modifiers;
	char actions[8], collection[132];
	char path[SRV_EXPORTER_PATH]; /* of the .blend below the watched folder */
} srv_exporter_ask;

#endif
