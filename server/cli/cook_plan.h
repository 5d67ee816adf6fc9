/* cook_plan.h - the plan of one run of `hob cook`: models, settings, and the output paths of scene lists. */
#ifndef CLI_COOK_PLAN_H
#define CLI_COOK_PLAN_H

#include "../../core/hash/hash.h"
#include "../../core/settings/settings.h"
#include "../config/config.h"
#include "../worker/pool.h"

/* cook_wait.c: models whose files another program is writing. Each waits until its files stop changing, and
 * is then cooked again; if the writer does not stop, the model fails. Loop thread. */
enum { COOK_WAIT_WRITER_S = 30 }; /* unless the command line says otherwise */

/* The wait of one model. {0}: it has not waited yet. */
typedef struct cook_wait {
	/* of the cook that read a changing file, its inputs as at the last look; NULL: not waiting */
	srv_outcome *outcome;
	uint64_t began_ns; /* start of its first wait */
	hob_str file;	   /* the input that changed last */
	char writer[80];   /* "NAME (process PID)"; empty: not found */
	bool told;
} cook_wait;
/* Whether an input has changed since the cook read it. root_fd: root of the inputs; source: the model, if no
 * file has its bytes, else NULL. Any thread. */
bool srv_cook_wait_changed(int root_fd, const char *source, const srv_outcome *outcome);
/* Looks at the inputs; true if none changed since the last look and no process writes to them. */
bool srv_cook_wait_rests(cook_wait *wait, int root_fd);

/* Texts are in the plan's memory. */
typedef struct cook_entry {
	const char *path; /* below the root */
	const char *name; /* name of its outputs: the last part of `path` */
	const char *text; /* content of a .merge file at `path`, from "merge" of a scene list; NULL: a file */
	hob_settings settings;
	const char *origins; /* JSON: value and origin of each changed setting; NULL: not requested */
	const char *output_mesh, *output_scene, *output_materials; /* from a scene list, otherwise NULL */
	/* a cook.json or sidecar is invalid, or an input of a list is missing: only this entry fails */
	hob_error settings_error;
	hob_sha256 offered; /* worker: the lookup that the offer's owner computed */
	uint32_t rounds;	/* worker: number of cooks that lacked files */
	cook_wait wait;		/* while another program writes its files */
	bool named;			/* on the command line */
	bool bare;			/* its folder has no sidecars */
	uint64_t size;		/* of the file, as its folder lists it; else 0 */
	bool cached;		/* found in the cache */
	bool fetched;		/* found in the cache after a download from the upstream */
} cook_entry;

/* A folder of the configuration's `sources` that exists. */
typedef struct cook_plan_source {
	const srv_config_source *of;
	const char *root; /* absolute, without links */
	int root_fd;
	const char *const *exclude; /* including the patterns of its .hobignore */
} cook_plan_source;

typedef struct cook_plan {
	const char *root; /* absolute */
	int root_fd;
	cook_plan_source *sources;
	uint32_t source_count;
	cook_entry *entries; /* models from folders are sorted by path */
	uint32_t count, capacity;
	const char **skipped; /* models below the root in formats that Hob knows but cannot read */
	uint32_t skipped_count;
	const char *const
		*ignored; /* during planning: the .hobignore of the named folder; its paths begin at ignored_from */
	size_t ignored_from;
	/* settings of the folders below folders_of; NULL: not asked for yet */
	struct srv_settings_cache *folders;
	int folders_of;
	hob_arena memory;
} cook_plan;

/* A settings object, which the caller frees, and its name in messages. NULL: none. */
typedef struct cook_layer {
	char *text;
	const char *origin;
} cook_layer;

typedef struct cook_plan_options {
	/* NULL: the source that contains every path, or the current folder, or the folder of the only path */
	const char *root;
	/* Provides the defaults, before cook.json and sidecars, and the sources. A model below a source has the
	 * source's settings instead, its cook.json files are read from the source's folder down, and models in a
	 * folder that the source leaves out are not cooked. The plan refers to it. */
	const srv_config *config;
	cook_layer over, budget; /* of the command line: override all others, and `budget` also `over` */
	bool strict;
	bool plain; /* entries need no origins */
} cook_plan_options;

/* Plans the cooks of `paths`. Outputs are named relative to the given root or the source's; otherwise
 * relative to the named folder, whatever else was named with it. Errors: USAGE (a path that is missing or not
 * below the root; two models with one name), CONFIG (an invalid scene list or cook.json). */
bool srv_cook_plan_make(cook_plan *plan, const cook_plan_options *options, char **paths, uint32_t count,
						hob_error *err) HOB_MUST_CHECK;
/* Reads the value of an option (NULL: it is not given): an object, or the name of a file with one. That of
 * --budget is {"triangles": 20000, "bytes": 4000000}, bare or as the "budget" of a cook.json, whose other
 * settings are ignored. Errors: USAGE (it cannot be read), CONFIG, MEMORY. */
bool srv_cook_plan_read(const char *given, const char *option, cook_layer *out,
						hob_error *err) HOB_MUST_CHECK;
/* Drops files that no importer reads. Models in known formats (server/fs/model_format.h) become `skipped`;
 * other files found in folders are ignored; named ones stay, and fail with a reason. */
void srv_cook_plan_keep_known(cook_plan *plan, const srv_pool *pool);
void srv_cook_plan_release(cook_plan *plan);
/* Adds an entry to a plan that is made without srv_cook_plan_make. NULL without memory. */
cook_entry *srv_cook_plan_add(cook_plan *plan, const char *path, hob_error *err);

/* Fails because no model was found below root: lists the extensions that the pool's workers read. */
void srv_cook_plan_say_nothing(srv_pool *pool, const char *root, hob_error *err);

#endif
