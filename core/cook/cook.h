/* cook.h - one cook: request -> outputs, notes and a report. Runs in hob-worker and in tests.
 *
 * A cook is a pure function of the source's bytes, the answers of request->io, the settings and the versions
 * of the importer and of core: the same inputs give the same bytes on every machine, with any number of
 * threads. The asset's place does not affect any output, and its name only if uses_name is set. */
#ifndef HOB_COOK_H
#define HOB_COOK_H

#include "../base/parts.h"
#include "../settings/settings.h"

typedef enum hob_cook_stage {
	HOB_COOK_IMPORT,
	HOB_COOK_SCENE,
	HOB_COOK_MESHES,
	HOB_COOK_ANIMATIONS,
	HOB_COOK_TEXTURES,
	HOB_COOK_WRITE,
	HOB_COOK_DONE,
	HOB_COOK_STAGES
} hob_cook_stage;

typedef struct hob_cook_step {
	const char *name;
	float done; /* of the whole cook, when the stage begins */
} hob_cook_step;

static inline hob_cook_step hob_cook_step_at(hob_cook_stage stage)
{
	static const hob_cook_step steps[HOB_COOK_STAGES] = {
		{"import", 0},	  {"scene", 0.2f}, {"meshes", 0.25f}, {"animations", 0.5f}, {"textures", 0.55f},
		{"write", 0.95f}, {"", 1}};
	return steps[stage < HOB_COOK_STAGES ? stage : HOB_COOK_DONE];
}

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
	void (*progress)(void *user, hob_cook_stage stage); /* called when a stage begins; may be NULL */
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

/* On failure *out is empty but for uses_name, and err says what failed, where, and what to do. */
bool hob_cook(const hob_cook_request *request, hob_cook_result *out, hob_error *err) HOB_MUST_CHECK;
void hob_cook_result_release(hob_cook_result *result);

#endif
