/* cook.h - one cook: request -> outputs, notes and a report. Runs in hob-worker and in tests.
 *
 * A cook is a pure function of the source's bytes, the answers of request->io, the settings and the versions
 * of the importer and of core: the same inputs give the same bytes on every machine, with any number of
 * threads. The asset's place does not affect any output, and its name only if uses_name is set. */
#ifndef HOB_COOK_H
#define HOB_COOK_H

#include "../base/parts.h"
#include "../settings/settings.h"

typedef struct hob_cook_request {
	const hob_io *io;
	hob_str path; /* of the source, below the root */
	hob_settings settings;
	hob_profile profile;
	const hob_parallel *parallel;
	const struct hob_editor *editor; /* core/import/importer.h; may be NULL */
	const hob_parts *parts;			 /* may be NULL */
	/* Limit of each arena; 0: HOB_LIMIT_COOK_ARENA_BYTES. If memory runs out, the meshes are baked again
	 * with the full level alone, with a warning: that result depends on the limit, and on how much memory the
	 * process gets. */
	size_t memory_limit;
	/* Called between stages with a short name and a fraction 0..1; may be NULL. */
	void (*progress)(void *user, const char *stage, float done);
	void *progress_user;
	/* Monotonic nanoseconds for the report's timings; NULL leaves them out, which makes the report
	 * reproducible (no other output contains a time). */
	uint64_t (*clock)(void);
} hob_cook_request;

typedef struct hob_cook_output {
	/* "meshes", "materials", "scene", "animations", "textures/3", "report", "classic.meshes" ... */
	hob_str name;
	hob_bytes bytes;
} hob_cook_output;

typedef struct hob_cook_stats {
	uint64_t triangles, vertices, bytes;
	uint32_t meshes, lods, materials, textures, nodes, skins, animations, cameras, lights, warnings;
	uint32_t extras; /* number of objects with custom properties */
	/* memory_limit in MiB if it left no room for levels of detail; otherwise 0 */
	uint32_t short_mib;
} hob_cook_stats;

/* The counts of reports and records, in their order. */
#define HOB_COOK_COUNTS(COUNT)                                                                               \
	COUNT(meshes)                                                                                            \
	COUNT(triangles)                                                                                         \
	COUNT(vertices)                                                                                          \
	COUNT(lods)                                                                                              \
	COUNT(materials)                                                                                         \
	COUNT(textures) COUNT(nodes) COUNT(skins) COUNT(animations) COUNT(cameras) COUNT(lights) COUNT(extras)

typedef struct hob_cook_result {
	hob_arena *arena; /* owns everything below */
	hob_cook_output *outputs;
	uint32_t output_count;
	hob_cook_stats stats;
	hob_notes notes;
	bool uses_name; /* the result depends on the source's file name, so the cook key contains it */
} hob_cook_result;

/* On failure *out is empty, and err says what failed, where, and what to do. */
bool hob_cook(const hob_cook_request *request, hob_cook_result *out, hob_error *err) HOB_MUST_CHECK;
void hob_cook_result_release(hob_cook_result *result);

#endif
