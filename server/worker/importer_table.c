#include "importer_table.h"

#include <stdlib.h>

static uint64_t key_of(hob_str extension)
{
	uint64_t key = 0;
	for (size_t i = 0; i < extension.len && i < sizeof key; i++)
		key = key << 8 | (uint8_t)(extension.data[i] | 32);
	return key;
}

/* The slot of the extension, or the free slot where it would go. */
static importer_extension *place_of(const importer_table *table, hob_str extension)
{
	uint64_t key = key_of(extension);
	uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15u >> 32) & table->mask;
	importer_extension *place = &table->extensions[at];
	while (place->key != 0 && (place->key != key || !hob_str_equal_nocase(place->extension, extension))) {
		at = (at + 1) & table->mask;
		place = &table->extensions[at];
	}
	return place;
}

static void index_extensions(importer_table *table, hob_arena *arena)
{
	uint32_t count = 0, size = 64;
	for (uint32_t i = 0; i < table->count; i++)
		count += table->items[i].extension_count;
	while (size < count * 2)
		size *= 2;
	table->mask = size - 1;
	table->extensions = HOB_NEW(arena, importer_extension, size);
	if (!table->extensions)
		abort();
	for (uint32_t i = 0; i < table->count; i++)
		for (uint32_t k = 0; k < table->items[i].extension_count; k++) {
			hob_str extension = table->items[i].extensions[k];
			importer_extension *place = place_of(table, extension);
			if (place->key == 0 && extension.len > 0)
				*place = (importer_extension){key_of(extension), extension, &table->items[i]};
		}
}

void srv_importer_table_read(importer_table *table, hob_arena *arena, const cJSON *list)
{
	const cJSON *item;
	table->items = HOB_NEW(arena, srv_pool_importer, (size_t)cJSON_GetArraySize(list) + 1);
	cJSON_ArrayForEach(item, list)
	{
		srv_pool_importer *importer = &table->items[table->count++];
		const cJSON *extensions = cJSON_GetObjectItemCaseSensitive(item, "extensions");
		const cJSON *extension;
		importer->name =
			hob_arena_str(arena, hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItem(item, "name"))));
		importer->library =
			hob_arena_str(arena, hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItem(item, "library"))));
		const cJSON *version = cJSON_GetObjectItem(item, "version");
		importer->version =
			cJSON_IsNumber(version) && version->valueint > 0 ? (uint32_t)version->valueint : 0;
		importer->extensions = HOB_NEW(arena, hob_str, (size_t)cJSON_GetArraySize(extensions) + 1);
		cJSON_ArrayForEach(extension, extensions) importer->extensions[importer->extension_count++] =
			hob_arena_str(arena, hob_str_of(cJSON_GetStringValue(extension)));
	}
	index_extensions(table, arena);
}

const srv_pool_importer *srv_importer_table_find(const importer_table *table, hob_str path)
{
	hob_str extension = hob_path_extension(path);
	return extension.len > 0 && table->extensions ? place_of(table, extension)->importer : NULL;
}
