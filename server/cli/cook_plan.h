/* cook_plan.h - what one run of `hob cook` is to cook: paths, settings, and where scene lists want their outputs. */
#ifndef CLI_COOK_PLAN_H
#define CLI_COOK_PLAN_H

#include "../../core/recipe/settings.h"
#include "../config/config.h"
#include "../worker/pool.h"

typedef struct cook_entry {
	char *path;		  /* below the root */
	const char *name; /* what its outputs are called: the end of `path` */
	char *text; /* what a .merge file at `path` would hold: "merge" of a scene list; NULL: the file itself */
	hob_settings settings;
	char *origins;										 /* setting_origins_text; NULL: not told */
	char *output_mesh, *output_scene, *output_materials; /* of a scene list, else NULL */
	hob_error
		settings_error; /* a cook.json or sidecar is wrong, or a list's input is not there: this entry fails alone */
	uint32_t tries;
	bool stalled;			/* the try before did */
	bool named, again;		/* named: on the command line; again: killed its worker once */
	bool cached;			/* answered by the cache */
	bool fetched;			/* the same, after the upstream had answered */
	struct cook_look *look; /* of the run, while it lasts; NULL without a cache */
} cook_entry;

/* A folder of the configuration's `sources` that exists. */
typedef struct cook_plan_source {
	const srv_config_source *of;
	char *root; /* absolute, without links */
	int root_fd;
	const char *const *exclude; /* with the patterns of its .hobignore */
} cook_plan_source;

typedef struct cook_plan {
	char *root; /* absolute */
	int root_fd;
	cook_plan_source *sources;
	uint32_t source_count;
	cook_entry *entries; /* folders' models sorted by path */
	uint32_t count, capacity;
	bool again;		/* some entry has its flag set */
	char **skipped; /* models that Hob knows by name and has no reader for, below the root */
	uint32_t skipped_count;
	const char *const
		*ignored; /* while it is made: the .hobignore of the folder that was named, whose paths begin here */
	size_t ignored_from;
	hob_arena memory;
} cook_plan;

typedef struct cook_plan_options {
	const char *
		root; /* NULL: the source that holds every path, else the current folder if every path is below it, else the
					   * folder of the only path */
	hob_settings settings; /* for all, before cook.json and sidecars */
	/* Its sources: a model below one has the source's settings for `settings`, its cook.json files count from the source's
	 * folder down, and a folder's models that the source leaves out are not cooked. The plan refers to it. May be NULL. */
	const srv_config *config;
	/* A settings object that wins over all of them, checked by the caller, and what it is called; may be NULL. */
	const char *over, *over_origin;
	const char *budget, *budget_origin; /* the same, which wins over `over`, too */
} cook_plan_options;

/* Outputs are named from the given root or the source's, else from the folder that was named, whatever else was named beside it.
 * Errors: USAGE (a path that is not there, or not below the root; two models with one name), CONFIG (a scene list or cook.json that is wrong). */
bool srv_cook_plan_make(cook_plan *plan, const cook_plan_options *options, char **paths, uint32_t count,
						hob_error *err) HOB_MUST_CHECK;
/* What --settings says: an object, or the name of a file that holds one; *out is for free(), *origin what messages call it
 * (`given`, or static). Errors: USAGE (it cannot be read), CONFIG, MEMORY. */
bool srv_cook_plan_read_settings(const char *given, char **out, const char **origin,
								 hob_error *err) HOB_MUST_CHECK;
/* What --budget says, as a settings object for free(): {"triangles": 20000, "bytes": 4000000} itself, or in a file, bare or as
 * the "budget" of a cook.json, of which nothing else is taken. *origin as above. Errors: USAGE (it cannot be read), CONFIG,
 * MEMORY. */
bool srv_cook_plan_read_budget(const char *given, char **out, const char **origin,
							   hob_error *err) HOB_MUST_CHECK;
/* Drops what no importer reads: models that are known by name (server/fs/model_format.h) become `skipped`, other files of
 * folders are forgotten, and other files that were named stay, to fail with a reason. */
void srv_cook_plan_keep_known(cook_plan *plan, const srv_pool *pool);
void srv_cook_plan_release(cook_plan *plan);

/* No model was found below root: names the endings that the pool's workers read. */
void srv_cook_plan_say_nothing(srv_pool *pool, const char *root, hob_error *err);

#endif
