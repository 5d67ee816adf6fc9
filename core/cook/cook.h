/* cook.h - the trunk: request -> outputs, notes and a report. Runs in hob-worker and in tests.
 *
 * A cook is a pure function of the source's bytes, of what request->io answers, of the settings and of the
 * versions of the importer and of core: the same inputs give the same bytes on every machine, with any number
 * of threads. Nothing of the asset's own name or place goes into an output. */
#ifndef HOB_COOK_H
#define HOB_COOK_H

#include "../base/base.h"
#include "settings.h"

/* Preview: the same outputs in the same formats, soonest: one level of detail, triangles in a quick order, textures at
 * their fastest quality. For whoever looks while the final cook runs. */
typedef enum hob_profile { HOB_PROFILE_FINAL, HOB_PROFILE_PREVIEW } hob_profile;

typedef enum hob_part_state {
	HOB_PART_UNKNOWN,  /* make it and put it */
	HOB_PART_KNOWN,	   /* here it is */
	HOB_PART_ELSEWHERE /* another cook is making it: make and put the others, then ask again and wait */
} hob_part_state;

/* Memoised parts of a cook (a texture, a mesh with its LODs), kept by the caller across cooks. `key` is the
 * SHA-256 of all that the part depends on. Either function may be NULL; both may be called from any thread of
 * the cook. */
typedef struct hob_parts {
	void *user;
	/* The bytes, when the part is known, are valid until the cook ends. With `wait` the answer comes when the other
	 * cook has put the part or ended, and is never ELSEWHERE; whoever waits has put all that he was to make, but
	 * for what failed. */
	hob_part_state (*get)(void *user, const uint8_t key[32], bool wait, hob_bytes *out);
	void (*put)(void *user, const uint8_t key[32], hob_bytes bytes);
} hob_parts;

typedef struct hob_cook_request {
	const hob_io *io;
	hob_str path; /* source below the root */
	hob_settings settings;
	hob_profile profile;
	const hob_parallel *parallel;
	const hob_parts *parts; /* may be NULL */
	size_t memory_limit;	/* of all arenas together; 0 = HOB_LIMIT_COOK_ARENA_BYTES */
	/* Called between stages with a short name and a fraction 0..1; may be NULL. */
	void (*progress)(void *user, const char *stage, float done);
	void *progress_user;
	/* Monotonic nanoseconds for the report's timings; NULL leaves them out (the report stays reproducible
	 * otherwise: no other output holds a time). */
	uint64_t (*clock)(void);
} hob_cook_request;

typedef struct hob_cook_output {
	hob_str
		name; /* "meshes", "materials", "scene", "animations", "textures/3", "report", "classic.meshes" ... */
	hob_bytes bytes;
} hob_cook_output;

typedef struct hob_cook_stats {
	uint64_t triangles, vertices, bytes;
	uint32_t meshes, lods, materials, textures, nodes, skins, animations, cameras, lights, warnings;
	uint32_t extras; /* things with custom properties */
} hob_cook_stats;

typedef struct hob_cook_result {
	hob_arena *arena; /* owns everything below */
	hob_cook_output *outputs;
	uint32_t output_count;
	hob_cook_stats stats;
	hob_notes notes;
	bool uses_name; /* the import depended on the source's own file name (see cook key) */
} hob_cook_result;

/* Cooks. On failure *out holds nothing and err says what, where and what to do. */
bool hob_cook(const hob_cook_request *request, hob_cook_result *out, hob_error *err) HOB_MUST_CHECK;
void hob_cook_result_release(hob_cook_result *result);

#endif
