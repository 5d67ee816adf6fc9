/* importer_table.h - finds the importer of a file by its extension; used for every file of every scan. All
 * memory is from the arena. {0} is an empty table. */
#ifndef SRV_IMPORTER_TABLE_H
#define SRV_IMPORTER_TABLE_H

#include "pool.h"

#include <cjson/cJSON.h>

/* key: the first eight letters of the extension, lower case; 0: free. */
typedef struct importer_extension {
	uint64_t key;
	hob_str extension;
	const srv_pool_importer *importer;
} importer_extension;

typedef struct importer_table {
	srv_pool_importer *items;
	uint32_t count;
	importer_extension *extensions; /* [mask + 1] slots with open addressing */
	uint32_t mask;
} importer_table;

/* Reads the worker's [{"name", "library", "version", "extensions"}]. If two importers name an extension, the
 * first one gets it. Aborts without memory. */
void srv_importer_table_read(importer_table *table, hob_arena *arena, const cJSON *list);
const srv_pool_importer *srv_importer_table_find(const importer_table *table, hob_str path); /* NULL: none */

#endif
