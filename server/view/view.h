/* view.h - an immutable snapshot of all assets, for other threads.
 *
 * The loop thread collects changes in srv_views and publishes a new srv_view after each batch; readers take a
 * reference, read without locks, and drop it. Asset records are shared between views and never change. */
#ifndef SRV_VIEW_H
#define SRV_VIEW_H

#include "../../core/base/base.h"
#include "../../core/hash/hash.h"
#include "../../core/settings/content.h"
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
	SRV_STANDINGS_LISTED = SRV_STANDING_SKIPPED /* standings below this one are those of assets in a view */
} srv_standing;

typedef struct srv_standing_facts {
	bool alive, away; /* its source exists; its root is missing */
	bool skipped;
	bool busy; /* a cook waits or runs, and no preview of the current files is served */
	bool has_good;
	srv_standing newest; /* result of the newest finished job: FRESH, BROKEN, BLOCKED, INTERRUPTED */
} srv_standing_facts;

/* Determines an asset's standing. Everything that shows or counts standings uses this function. */
srv_standing srv_standing_of(const srv_standing_facts *facts);
/* Whether sync, stats, exit codes and badges count it. An asset that is being cooked again keeps its
 * error. */
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
	char id[SRV_ASSET_ID + 1]; /* stable: derived from its first name, kept when the source is moved */
	hob_str root, path, full;  /* "art", "props/duck.glb", "art/props/duck.glb" */
	hob_str kind;			   /* importer: "gltf", "obj", "assimp" ... */
	srv_state state;		   /* state in the terms of 0.2; to be removed in the next release */
	srv_standing standing;
	uint64_t rev;
	int64_t cooked_at_ms; /* 0: never */
	uint64_t cook_ns;
	uint64_t source_bytes, cooked_bytes;
	hob_sha256 source, record; /* zero if unknown */
	hob_sha256 last;		   /* record of the newest cook, good or bad; zero: none, or not kept */
	hob_sha256 report;		   /* of the newest cooked version, even if it was refused; zero: none */
	uint64_t expected_ns;	   /* estimate for its next cook; 0: unknown */
	/* JSON object: meshes, triangles, vertices, lods, materials, textures, animations, nodes */
	hob_str stats;
	hob_str content; /* JSON array (core/settings/content.h), or empty */
	hob_str error;	 /* JSON object or empty */
	hob_str reason;	 /* JSON array: why it was last cooked (or is being cooked) */
	uint32_t warnings, output_count, dep_count;
	uint64_t triangles, lods;		/* parsed from `stats` by srv_views_put */
	const hob_rule_count *findings; /* of the newest cooked version, even if it was refused */
	uint32_t finding_count;
	const srv_view_output *outputs;
	const srv_view_dep *deps;
	hob_str settings;	 /* JSON: effective settings */
	const char *quality; /* "final", "preview" or "" */
	hob_str moved_from;	 /* its former name, "art/old.glb"; empty: none */
	/* former name at which its settings file still is; NULL: beside the model, if there is one */
	const char *settings_of;
} srv_view_asset;

/* The asset `id` had the name `full` before it was renamed or moved. */
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
	hob_str note;	  /* reason for the mode, as a sentence */
	hob_str skipped_files;	  /* JSON array: model files that no importer accepts; may be empty */
	hob_str skipped;		  /* text about other skipped files; may be empty */
	uint64_t files;			  /* number of files at the last scan */
	int64_t missing_since_ms; /* Unix time; 0: not missing */
	/* descriptor; keeps its number, and is closed after the last reader has ended */
	int folder;
	hob_settings settings; /* the root's settings, which cook.json files override */
} srv_view_root;

typedef struct srv_view {
	uint64_t rev;
	uint32_t count;
	const srv_view_asset *const *assets; /* sorted by full, bytewise */
	/* problems: counted by srv_view_is_problem */
	uint32_t states[SRV_STATE_COUNT], problems[SRV_STATE_COUNT];
	uint32_t standings[SRV_STANDINGS_LISTED];
	uint32_t findings[HOB_RULE_COUNT][HOB_LEVEL_ERROR + 1];
	uint64_t source_bytes, cooked_bytes, warnings, outputs; /* sums over all assets */
	uint64_t warned;										/* assets with warnings */
	uint32_t root_count;
	const srv_view_root *roots;
	bool ready; /* all roots have been scanned, and every asset found is listed */
	/* Extensions that importers read: lower case, a line feed before and after each; empty: not known yet. */
	hob_str extensions;
} srv_view;

typedef struct srv_views srv_views; /* the newest view and the collected changes */

srv_views *srv_views_new(void);
void srv_views_free(srv_views *views);
/* Any thread: returns the newest view with a reference; never NULL (an empty view before the first publish).
 * Keep it for one answer only: an old view keeps every newer one alive. Drop all views before
 * srv_views_free. */
const srv_view *srv_views_take(srv_views *views);
void srv_view_drop(const srv_view *view);

/* Kept with a view by a reader that made it: the first member of its struct. */
typedef struct srv_view_kept {
	void (*drop)(struct srv_view_kept *kept);
} srv_view_kept;
/* Any thread: what `make` made of this view (several may call it at once); dropped with the view. */
const srv_view_kept *srv_view_keep(const srv_view *view, srv_view_kept *(*make)(const srv_view *view));

/* Loop thread: changes are collected and become visible together at publish; of several changes to one asset
 * the last wins. put copies *asset deeply; remove ignores unknown assets. publish costs one copy of two
 * pointer arrays and O(changes * log(assets)). */
void srv_views_put(srv_views *views, const srv_view_asset *asset);
void srv_views_remove(srv_views *views, hob_str full);
/* Sorts the changes since the last call. Publishing many changes collected over several turns of the loop
 * then takes less time. */
void srv_views_sort(srv_views *views);
void srv_views_set_roots(srv_views *views, const srv_view_root *roots, uint32_t count);
/* Call it once; copies the text. */
void srv_views_set_extensions(srv_views *views, hob_str extensions);
/* Adds copies of former names of moved assets, visible from the next publish on. No name may be in `names`
 * twice. An entry without an id removes its name. */
void srv_views_add_former(srv_views *views, const srv_view_former *names, uint32_t count);
/* Whether a moved asset had this name, including names added since the last publish. */
bool srv_views_is_former(const srv_views *views, hob_str full);
void srv_views_publish(srv_views *views, uint64_t rev, bool ready);

/* Binary searches; NULL when there is none. */
const srv_view_asset *srv_view_find(const srv_view *view, hob_str full);
const srv_view_asset *srv_view_find_id(const srv_view *view, hob_str id);
/* Like srv_view_find; if no asset has the name now, finds the asset that formerly had it. */
const srv_view_asset *srv_view_find_moved(const srv_view *view, hob_str full);
/* Index of the first asset with full > `after` (keyset paging). */
uint32_t srv_view_after(const srv_view *view, hob_str after);

/* Whether some importer reads files of this name. */
bool srv_view_is_model(const srv_view *view, hob_str path);
/* Bytes of the source and of all its dependencies. */
uint64_t srv_view_input_bytes(const srv_view_asset *asset);
bool srv_view_is_problem(const srv_view_asset *asset);

/* Writes the id of "root/path" for an asset that was not moved. */
void srv_asset_id(hob_str full, char out[SRV_ASSET_ID + 1]);

#endif
