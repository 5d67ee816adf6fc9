/* engine_sources.h - turns changed files into changed assets: reports of the watch, the sweep, and files that
 * are no assets.
 *
 * A delivery of the watch, a scan or a list of changes, may take several turns: `intake` has the progress. */
#ifndef ENGINE_SOURCES_H
#define ENGINE_SOURCES_H

#include "engine_assets.h"

#include "../watch/watch.h"

/* A digest that is not in the index yet, because the file was written just before it was read. */
typedef struct young_file {
	uint32_t file;
	uint64_t changed, since; /* `changed`: the file's tick in the graph then; `since`: uv_now */
} young_file;

/* The list of the newest scan. Only assets, settings and requested files are in the graph as well, and the
 * graph is newer. */
typedef struct listed_files {
	srv_file_list *list; /* NULL before the first scan */
	uint64_t tick;		 /* srv_graph_now at its arrival */
	uint32_t mark;
} listed_files;

/* How far earlier turns of the loop got with the watch's report that is being applied. */
typedef struct engine_intake {
	bool open, compared, back; /* back: the root was away */
	bool gathers;			   /* changes join the changeset of the root */
	uint32_t mark;			   /* marks the files that the scan lists */
	size_t next;			   /* index in the list, or in the paths */
	uint32_t file, files;	   /* progress and number of the graph's files at the start */
	uint32_t checked;		   /* number of checked assets, after the first scans */
} engine_intake;

struct engine_sources {
	srv_watch *watch; /* NULL: it is closed */
	bool ready;		  /* each root was scanned once */
	uint32_t root_count;
	engine_intake intake;
	uint32_t scan_mark;
	bool *scanned;					/* by root */
	uint64_t *scan_rounds;			/* finished scans, by root; the last entry: the newest look at maps */
	listed_files *listed;			/* by root */
	struct engine_skipped *skipped; /* by root */
	struct engine_maps *maps;
	uint32_t swept; /* last file checked by srv_engine_sweep */
	young_file *young;
	uint32_t young_count, young_capacity;
};

struct engine_sources *srv_engine_sources_new(uint32_t roots); /* NULL without memory */
void srv_engine_sources_free(struct engine_sources *sources);
bool srv_engine_start_watching(srv_engine *engine, hob_error *err);
void srv_engine_close_watch(srv_engine *engine);
/* The file exists with this stat data, after an event; counts a file that scans list. If that is new, the
 * assets that depend on it become dirty. */
void srv_engine_file_there(srv_engine *engine, uint32_t file, const srv_stat *stat);
void srv_engine_sweep(srv_engine *engine); /* once a second: checks a few files that no event reported */

/* engine_files.c */
void srv_engine_take_list(srv_engine *engine, uint32_t root, uint32_t mark); /* within `scanned` */
/* The file's number in the graph; a listed file is added. HOB_NONE: unknown file. */
uint32_t srv_engine_find_file(srv_engine *engine, uint32_t root, hob_str path);
/* Like srv_engine_find_file, but adds unknown files, too. HOB_NONE without memory. */
uint32_t srv_engine_file(srv_engine *engine, uint32_t root, hob_str path);
void srv_engine_find_below(srv_engine *engine, uint32_t root, hob_str folder); /* `folder` ends in '/' */
/* Stores the digest in the index, where it is valid while the stat data is the same. If the file was just
 * written, it is stored later, once the file has not changed for a while. */
void srv_engine_store_file(srv_engine *engine, uint32_t file, int64_t read_at_ms);
/* Whether another write within the same tick of the file system's clock may leave the stat data unchanged. */
bool srv_engine_is_too_new(const srv_stat *stat, int64_t read_at_ms);
void srv_engine_keep_young(srv_engine *engine); /* once a second: stores those of unchanged files */
/* Reads files of polled roots again that were read within the tick of their last change. False: none was. */
bool srv_engine_doubt_young(srv_engine *engine);

/* engine_maps.c */
struct engine_maps *srv_engine_maps_new(void); /* NULL without memory */
void srv_engine_start_maps(srv_engine *engine);
void srv_engine_maps_free(struct engine_maps *maps);
/* Looks for changes that were made through memory maps. It begins soon, and is over when the last entry of
 * scan_rounds reaches the number returned. */
uint64_t srv_engine_look_at_maps(srv_engine *engine);
void srv_engine_keep_looking(srv_engine *engine);	/* once a second: looks again while inputs are mapped */
bool srv_engine_has_maps(const srv_engine *engine); /* whether the newest look found mapped inputs */
/* Whether it found the file mapped and at rest, perhaps by another name: nothing waits until it is closed. */
bool srv_engine_is_rested(const srv_engine *engine, const srv_file *f);

/* engine_skipped.c */
struct engine_skipped *srv_engine_skipped_new(uint32_t roots); /* NULL without memory */
void srv_engine_skipped_free(struct engine_skipped *skipped, uint32_t roots);
void srv_engine_skip_none(srv_engine *engine, uint32_t root); /* restarts counting */
void srv_engine_skip_file(srv_engine *engine, uint32_t root, hob_str path, bool there);
/* A path whose file cannot be read. `outside`: a link that leaves the root. */
void srv_engine_skip_link(srv_engine *engine, uint32_t root, hob_str path, bool outside);
void srv_engine_skip_links(srv_engine *engine, uint32_t root);	 /* within `scanned` */
void srv_engine_show_skipped(srv_engine *engine, uint32_t root); /* shown in the next view */
void srv_engine_describe_skipped(srv_engine *engine);			 /* describes those that are due */

#endif
