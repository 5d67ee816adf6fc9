/* config.h - the daemon's configuration: the values of schema/config.def from hob.json, the environment and
 * the command line, with the origin of each; the watched folders and their cook settings from hob.json.
 *
 * hob.json is the first that exists of --config FILE, HOB_CONFIG, hob.json in the current folder or the
 * nearest one above it, and $XDG_CONFIG_HOME/hob/hob.json (~/.config); there may be none. /etc/hob/hob.json
 * belongs to the machine's service, whose unit names it: nobody else writes to that cache. Keys that begin
 * with "//" are comments. Unknown keys, wrong types and values out of range are CONFIG errors that name file,
 * key and the nearest known key. */
#ifndef SRV_CONFIG_H
#define SRV_CONFIG_H

#include "../../core/base/base.h"
#include "../../core/settings/settings.h"

typedef enum srv_config_key {
#define CONFIG(field, type, path, environment, option, letter, placeholder, value, doc) SRV_CONFIG_##field,
#define CONFIG_CHOICE(field, value)
#include "../../schema/config.def"
#undef CONFIG
#undef CONFIG_CHOICE
	SRV_CONFIG_COUNT
} srv_config_key;

typedef enum srv_config_type {
	SRV_CONFIG_TYPE_text,
	SRV_CONFIG_TYPE_path,
	SRV_CONFIG_TYPE_list,
	SRV_CONFIG_TYPE_number,
	SRV_CONFIG_TYPE_size,
	SRV_CONFIG_TYPE_flag,
	SRV_CONFIG_TYPE_choice
} srv_config_type;

typedef enum srv_config_origin {
	SRV_CONFIG_DEFAULT,
	SRV_CONFIG_FILE,
	SRV_CONFIG_ENVIRONMENT,
	SRV_CONFIG_OPTION
} srv_config_origin;

typedef struct srv_config_row {
	srv_config_type type;
	const char *path, *environment, *option, *placeholder, *initial, *doc;
	char letter;
} srv_config_row;

extern const srv_config_row srv_config_table[SRV_CONFIG_COUNT];

/* A folder to watch. */
typedef struct srv_config_source {
	const char *name; /* "": the folder's name */
	const char *path; /* absolute, or relative to the current folder; of a repository: below its top folder */
	const char *git;  /* path of a git repository (server/git); NULL: a folder */
	const char *lfs, *lfs_token; /* its server of Git LFS, and the file of its token; NULL: none */
	bool mirror;				 /* files come from agents only (server/mirror) */
	/* NULL-terminated; globs below the folder, no include = all; branches and tags, or globs of them */
	const char *const *include, *const *exclude, *const *refs;
	hob_settings settings; /* defaults, overridden by the source's options */
} srv_config_source;

typedef struct srv_config {
	hob_arena arena;  /* owns every text */
	const char *file; /* path of hob.json, NULL: none */
	/* Normalised: sizes in bytes, flags "true"/"false", lists joined by '\n'. */
	const char *value[SRV_CONFIG_COUNT];
	srv_config_origin origin[SRV_CONFIG_COUNT];
	hob_settings defaults;
	const srv_config_source *sources;
	uint32_t source_count;
} srv_config;

/* Reads hob.json and the environment. file: NULL = search for it. On failure *config is released. Errors:
 * CONFIG, IO (a named file that cannot be read), MEMORY. */
bool srv_config_load(srv_config *config, const char *file, hob_error *err) HOB_MUST_CHECK;
void srv_config_release(srv_config *config);
/* Parses "20 GiB", "500 MB" or "4096". False if it is not a size. */
bool srv_config_parse_size(const char *text, uint64_t *out) HOB_MUST_CHECK;
/* Checks, normalises and sets one value. `where`: its origin in messages, "--timeout". Errors: CONFIG. */
bool srv_config_set(srv_config *config, srv_config_key key, const char *text, srv_config_origin origin,
					const char *where, hob_error *err) HOB_MUST_CHECK;

const char *srv_config_text(const srv_config *config, srv_config_key key); /* NULL when empty */
uint64_t srv_config_number(const srv_config *config, srv_config_key key);  /* for numbers and sizes */
bool srv_config_flag(const srv_config *config, srv_config_key key);
/* NULL-terminated; lives in the config's arena. NULL without memory. */
const char *const *srv_config_list(srv_config *config, srv_config_key key);
/* "default", "/art/hob.json", "HOB_LISTEN", "--listen". */
const char *srv_config_origin_name(const srv_config *config, srv_config_key key);

/* Appends the members of a JSON object: file, values (a list of {key, value, origin}), sources, defaults. */
void srv_config_print(const srv_config *config, hob_buf *out);
/* Appends the JSON Schema called `file`: "config.json" (for hob.json) or "settings.json" (for cook.json and
 * MODEL.cook.json). False: there is no such schema. */
bool srv_config_schema(hob_str file, hob_buf *out);

/* The name that `hob serve` gives a source whose whole path is `path`, if no other source has it. */
const char *srv_config_source_name(const srv_config_source *source, const char *path);
/* Whether two sources may have the same folder, as profiles of each other: "art", "art@mobile", "art@vr". */
bool srv_config_are_profiles(const char *name, const char *other);

#endif
