/* view.h - the immutable picture of all assets that other threads read.
 *
 * The loop thread owns a srv_view_builder and publishes a new srv_view after each batch of changes; readers
 * take a reference, read without locks, and drop it. Asset records are shared between views and never change.
 */
#ifndef SRV_VIEW_H
#define SRV_VIEW_H

#include "../../core/base/base.h"
#include "../../core/hash/hash.h"
#include "../../core/settings/rules.h"

enum { SRV_ASSET_ID = 12 };

typedef enum srv_state {
#define JOB_STATE(name, text, meaning) SRV_##name,
#include "../../schema/job_states.def"
#undef JOB_STATE
	SRV_STATE_COUNT
} srv_state;

const char *srv_state_name(srv_state state);
bool srv_state_parse(hob_str text, srv_state *out);

typedef enum srv_standing {
#define STANDING(name, text, tone, old, meaning) SRV_STANDING_##name,
#include "../../schema/standings.def"
#undef STANDING
	SRV_STANDINGS,
	SRV_STANDINGS_LISTED = SRV_STANDING_SKIPPED /* those that an asset of a view can have */
} srv_standing;

typedef struct srv_standing_facts {
	bool alive, away; /* it has a source; its root is missing */
	bool skipped;
	bool busy; /* a cook waits or runs, and no preview of the same files is shown */
	bool has_good;
	srv_standing newest; /* by its newest finished job: FRESH, BROKEN, BLOCKED, INTERRUPTED */
} srv_standing_facts;

/* The one place that decides how an asset stands: every surface prints and counts this. */
srv_standing srv_standing_of(const srv_standing_facts *facts);
/* Counted by sync, stats, exit codes and badges. An asset that is being cooked again keeps its error. */
bool srv_standing_is_problem(srv_standing standing, bool has_error);
const char *srv_standing_name(srv_standing standing);

typedef struct srv_view_output {
	hob_str name;
	hob_sha256 digest;
	uint64_t size;
} srv_view_output;

typedef struct srv_view_dep {
	hob_str path; /* below the same root; never the source itself */
	bool missing;
	hob_sha256 digest;
	uint64_t size; /* 0 while it is missing */
} srv_view_dep;

typedef struct srv_view_asset {
	char id[SRV_ASSET_ID + 1]; /* stable: from its first name; kept when the source is moved */
	hob_str root, path, full;  /* "art", "props/duck.glb", "art/props/duck.glb" */
	hob_str kind;			   /* importer: "gltf", "obj", "assimp" ... */
	srv_state state;		   /* as 0.2 said it; goes with the next release */
	srv_standing standing;
	uint64_t rev;
	int64_t cooked_at_ms; /* 0 = never */
	uint64_t cook_ns;
	uint64_t source_bytes, cooked_bytes;
	hob_sha256 source, record; /* zero when unknown */
	hob_sha256 last;		   /* record of the newest cook, good or bad; zero: none, or it is not kept */
	uint64_t expected_ns;	   /* of its next cook; 0 when nothing is known */
	/* JSON object: meshes, triangles, vertices, lods, materials, textures, animations, nodes */
	hob_str stats;
	hob_str error;	/* JSON object or empty */
	hob_str reason; /* JSON array: why it was cooked last (or is being cooked) */
	uint32_t warnings, output_count, dep_count;
	uint64_t triangles, lods;		/* of `stats`; srv_views_put reads them there */
	const hob_rule_count *findings; /* of the newest version that was cooked, be it refused */
	uint32_t finding_count;
	const srv_view_output *outputs;
	const srv_view_dep *deps;
	hob_str settings;	 /* JSON: effective settings */
	const char *quality; /* "final", "preview" or "" */
	hob_str moved_from;	 /* the name that it had before, "art/old.glb"; empty: none */
} srv_view_asset;

/* The asset that had the name `full` is `id`, under another name. */
typedef struct srv_view_former {
	hob_str full;
	char id[SRV_ASSET_ID + 1];
} srv_view_former;

typedef struct srv_view_root {
	hob_str name, path;
	const char *mode; /* "inotify", "polling", "scanning", "missing": static text */
	const char *file_system,
		*probe;		  /* srv_watch_facts; probe: "off", "passed", "failed", "not-possible": static text */
	uint32_t poll_ms; /* 0: not polling */
	hob_str note;	  /* why, for people */
	hob_str skipped_files;	  /* JSON array of model files without a reader; may be empty */
	hob_str skipped;		  /* what lies there and becomes no asset, for people; may be empty */
	uint64_t files;			  /* of those that were seen last */
	int64_t missing_since_ms; /* Unix time; 0: it is there */
	int folder;				  /* open; keeps its number, and is closed after the last reader has ended */
	hob_settings settings;	  /* its own, beneath those of its folders */
} srv_view_root;

typedef struct srv_view {
	uint64_t rev;
	uint32_t count;
	const srv_view_asset *const *assets;						 /* sorted by full, bytewise */
	uint32_t states[SRV_STATE_COUNT], problems[SRV_STATE_COUNT]; /* problems: srv_view_is_problem */
	uint32_t standings[SRV_STANDINGS_LISTED];
	uint32_t findings[HOB_RULE_COUNT][HOB_LEVEL_ERROR + 1];
	uint64_t source_bytes, cooked_bytes, warnings, outputs; /* sums over all assets */
	uint32_t root_count;
	const srv_view_root *roots;
	bool ready; /* the first scan of every root is done and everything found is in the list */
	/* that some importer reads, lower case, a line feed before and behind each; empty: not known yet */
	hob_str extensions;
} srv_view;

typedef struct srv_views srv_views; /* the published place */

srv_views *srv_views_new(void);
void srv_views_free(srv_views *views);
/* Any thread: newest view with a reference; never NULL (an empty view before the first publish). A reader
 * keeps it for one answer only: an old view keeps every newer one alive. All are dropped before
 * srv_views_free. */
const srv_view *srv_views_take(srv_views *views);
void srv_view_drop(const srv_view *view);

/* Loop thread: changes are collected and become visible together at publish; of several changes to one asset
 * the last counts. put copies *asset deeply; removing what is not there does nothing. publish costs one copy
 * of two pointer arrays and O(changes * log(assets)). */
void srv_views_put(srv_views *views, const srv_view_asset *asset);
void srv_views_remove(srv_views *views, hob_str full);
/* Sorts the changes since the last call, so that publishing many that came over several turns takes less
 * time. */
void srv_views_sort(srv_views *views);
void srv_views_set_roots(srv_views *views, const srv_view_root *roots, uint32_t count);
/* Once; copies. */
void srv_views_set_extensions(srv_views *views, hob_str extensions);
/* Adds to the former names of assets that were moved, from the next publish on; copies. Each name once;
 * without an id, it is taken out. */
void srv_views_add_former(srv_views *views, const srv_view_former *names, uint32_t count);
bool srv_views_is_former(const srv_views *views, hob_str full); /* with what was added */
void srv_views_publish(srv_views *views, uint64_t rev, bool ready);

/* Binary searches; NULL when there is none. */
const srv_view_asset *srv_view_find(const srv_view *view, hob_str full);
const srv_view_asset *srv_view_find_id(const srv_view *view, hob_str id);
/* The same; where nothing has that name, what had it and was moved. */
const srv_view_asset *srv_view_find_moved(const srv_view *view, hob_str full);
/* Index of the first asset with full > `after` (keyset paging). */
uint32_t srv_view_after(const srv_view *view, hob_str after);

/* Whether some importer reads files of this name. */
bool srv_view_is_model(const srv_view *view, hob_str path);
/* Bytes of the source and of everything else that it was cooked from. */
uint64_t srv_view_input_bytes(const srv_view_asset *asset);
/* Cooked again, the same inputs gave other outputs. */
bool srv_view_is_problem(const srv_view_asset *asset);

/* Writes the id of "root/path" for an asset that was not moved. */
void srv_asset_id(hob_str full, char out[SRV_ASSET_ID + 1]);

#endif
