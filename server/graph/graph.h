/* graph.h - which asset depends on which file. In memory only: no files, no database, no clock.
 *
 * Files are numbered once and keep their number (u32 ids, as everywhere in Hob). A file that was looked for
 * but does not exist is an entry, too, so that its appearance finds its dependents. An asset is a file with
 * an importer. */
#ifndef SRV_GRAPH_H
#define SRV_GRAPH_H

#include "../../core/base/base.h"
#include "../../core/hash/hash.h"
#include "../fs/beneath.h"

typedef struct srv_graph srv_graph;

typedef struct srv_file {
	uint32_t root;
	hob_str path; /* below the root; valid as long as the graph */
	bool exists;
	bool listed;	 /* caller's: found by scans */
	bool has_digest; /* `digest` belongs to the version in `stat` */
	srv_stat stat;
	hob_sha256 digest;
	uint32_t asset;	  /* caller's number for the asset whose source this is, or HOB_NONE */
	bool told;		  /* caller's: it has been reported */
	bool outside;	  /* caller's: a symbolic link out of the root */
	uint32_t mark;	  /* caller's: scan generation */
	uint64_t changed; /* caller's: tick of the last change seen */
} srv_file;

srv_graph *srv_graph_new(void); /* NULL without memory */
void srv_graph_free(srv_graph *graph);

/* The file's id; if it is unknown, adds an entry for a file that does not exist. HOB_NONE without memory.
 * O(1) expected. */
uint32_t srv_graph_file(srv_graph *graph, uint32_t root, hob_str path);
uint32_t srv_graph_find(srv_graph *graph, uint32_t root, hob_str path); /* HOB_NONE if unknown */
/* Valid until the next srv_graph_file. */
srv_file *srv_graph_at(srv_graph *graph, uint32_t file);
uint32_t srv_graph_count(const srv_graph *graph);
/* Number of entries, existing or not, that are named like settings ("cook.json", "duck.glb.cook.json"). If it
 * is 0, settings need not be looked for. */
uint32_t srv_graph_settings(const srv_graph *graph);
uint32_t srv_graph_spellings(const srv_graph *graph); /* number of dependencies of fs/spelling.h */

/* Sorts numbers of files or assets. Returns how many are left when each stands once. */
uint32_t srv_graph_sort(uint32_t *numbers, uint32_t count);
/* Replaces the dependencies of `asset` (a caller's number, dense from 0); duplicates are allowed. */
bool srv_graph_set_deps(srv_graph *graph, uint32_t asset, const uint32_t *files, uint32_t count);
/* Assets that depend on `file`; valid until the next set_deps. */
const uint32_t *srv_graph_dependents(const srv_graph *graph, uint32_t file, uint32_t *count);

/* A clock for observations: each call returns a later tick. */
uint64_t srv_graph_tick(srv_graph *graph);
uint64_t srv_graph_now(const srv_graph *graph); /* the last tick; 0: none */

#endif
