#include "graph.h"

#include "../../core/base/array.h"
#include "../fs/spelling.h"

#include <stdlib.h>

typedef struct list {
	uint32_t *items;
	uint32_t count, capacity;
} list;

/* The tag is a hash: files with different tags are different. */
typedef struct slot {
	uint32_t tag, file; /* `file`: id + 1; 0: the slot is free */
} slot;

struct srv_graph {
	hob_arena names;
	srv_file *files;
	list *dependents; /* [file] */
	uint32_t count, capacity, settings, spellings;
	uint32_t next; /* the file after that of the last lookup */
	slot *table;   /* open addressing; the size is a power of two, at least half of it free */
	uint32_t table_size;
	list *deps; /* [asset] */
	uint32_t asset_capacity;
	uint64_t tick;
};

srv_graph *srv_graph_new(void)
{
	srv_graph *graph = calloc(1, sizeof *graph);
	if (graph)
		hob_arena_init(&graph->names, SIZE_MAX);
	return graph;
}

void srv_graph_free(srv_graph *graph)
{
	if (!graph)
		return;
	for (uint32_t i = 0; i < graph->count; i++)
		free(graph->dependents[i].items);
	for (uint32_t i = 0; i < graph->asset_capacity; i++)
		free(graph->deps[i].items);
	free(graph->files);
	free(graph->dependents);
	free(graph->deps);
	free(graph->table);
	hob_arena_release(&graph->names);
	free(graph);
}

static bool list_add(list *l, uint32_t item)
{
	if (!HOB_ROOM(l->items, l->capacity, l->count))
		return false;
	l->items[l->count++] = item;
	return true;
}

static void list_remove(list *l, uint32_t item)
{
	for (uint32_t i = 0; i < l->count; i++)
		if (l->items[i] == item) {
			l->items[i] = l->items[--l->count];
			return;
		}
}

static uint32_t tag_of(uint32_t root, hob_str path)
{
	uint64_t hash[2];
	hob_fast_hash((hob_bytes){(const uint8_t *)path.data, path.len}, hash);
	return (uint32_t)hash[0] + root * 0x9E3779B9u;
}

/* The file's slot, or the free one where it would be inserted. */
static slot *slot_of(const srv_graph *graph, uint32_t tag, uint32_t root, hob_str path)
{
	uint32_t mask = graph->table_size - 1, at = tag & mask;
	for (; graph->table[at].file != 0; at = (at + 1) & mask) {
		const srv_file *file = &graph->files[graph->table[at].file - 1];
		if (graph->table[at].tag == tag && file->root == root && hob_str_equal(file->path, path))
			break;
	}
	return &graph->table[at];
}

static bool grow_table(srv_graph *graph)
{
	uint32_t size = graph->table_size ? graph->table_size * 2 : 1024;
	slot *table = calloc(size, sizeof *table);
	if (!table)
		return false;
	for (uint32_t i = 0; i < graph->table_size; i++) {
		uint32_t at = graph->table[i].tag & (size - 1);
		while (graph->table[i].file != 0 && table[at].file != 0)
			at = (at + 1) & (size - 1);
		if (graph->table[i].file != 0)
			table[at] = graph->table[i];
	}
	free(graph->table);
	graph->table = table;
	graph->table_size = size;
	return true;
}

static bool grow_files(srv_graph *graph)
{
	uint32_t capacity = graph->capacity ? graph->capacity * 2 : 256;
	srv_file *files = realloc(graph->files, capacity * sizeof *files);
	if (files)
		graph->files = files;
	list *dependents = realloc(graph->dependents, capacity * sizeof *dependents);
	if (dependents)
		graph->dependents = dependents;
	if (!files || !dependents)
		return false;
	graph->capacity = capacity;
	return true;
}

/* Lookups mostly follow the order in which files were added: tries the entry after the last one before the
 * table. */
static uint32_t find_next(const srv_graph *graph, uint32_t root, hob_str path)
{
	enum { AHEAD = 4 };
	uint32_t end = graph->count - graph->next < AHEAD ? graph->count : graph->next + AHEAD;
	for (uint32_t i = graph->next; i < end; i++)
		if (graph->files[i].root == root && hob_str_equal(graph->files[i].path, path))
			return i;
	return HOB_NONE;
}

uint32_t srv_graph_find(srv_graph *graph, uint32_t root, hob_str path)
{
	if (graph->table_size == 0)
		return HOB_NONE;
	uint32_t found = find_next(graph, root, path);
	if (found == HOB_NONE)
		/* a free slot's 0 becomes HOB_NONE */
		found = slot_of(graph, tag_of(root, path), root, path)->file - 1;
	if (found != HOB_NONE)
		graph->next = found + 1;
	return found;
}

uint32_t srv_graph_file(srv_graph *graph, uint32_t root, hob_str path)
{
	if ((graph->count + 1) * 2 > graph->table_size && !grow_table(graph))
		return srv_graph_find(graph, root, path);
	uint32_t next = find_next(graph, root, path), tag = 0;
	slot *found = NULL;
	if (next == HOB_NONE) {
		tag = tag_of(root, path);
		found = slot_of(graph, tag, root, path);
		next = found->file ? found->file - 1 : HOB_NONE;
	}
	if (next != HOB_NONE) {
		graph->next = next + 1;
		return next;
	}
	if (graph->count == graph->capacity && !grow_files(graph))
		return HOB_NONE;
	hob_str name = hob_arena_str(&graph->names, path);
	if (!name.data)
		return HOB_NONE;
	uint32_t id = graph->count++;
	graph->files[id] = (srv_file){.root = root, .path = name, .asset = HOB_NONE};
	graph->dependents[id] = (list){0};
	graph->settings += hob_str_ends_nocase(name, HOB_STR("cook.json"));
	graph->spellings += srv_spelling_is(name);
	*found = (slot){tag, id + 1};
	return id;
}

srv_file *srv_graph_at(srv_graph *graph, uint32_t file)
{
	return &graph->files[file];
}

uint32_t srv_graph_count(const srv_graph *graph)
{
	return graph->count;
}

uint32_t srv_graph_settings(const srv_graph *graph)
{
	return graph->settings;
}

static bool grow_assets(srv_graph *graph, uint32_t asset)
{
	uint32_t capacity = graph->asset_capacity ? graph->asset_capacity : 64;
	while (capacity <= asset)
		capacity *= 2;
	if (capacity == graph->asset_capacity)
		return true;
	list *deps = realloc(graph->deps, capacity * sizeof *deps);
	if (!deps)
		return false;
	memset(deps + graph->asset_capacity, 0, (capacity - graph->asset_capacity) * sizeof *deps);
	graph->deps = deps;
	graph->asset_capacity = capacity;
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

uint32_t srv_graph_sort(uint32_t *numbers, uint32_t count)
{
	uint32_t kept = 0;
	if (count > 1)
		qsort(numbers, count, sizeof *numbers, by_number);
	for (uint32_t i = 0; i < count; i++)
		if (kept == 0 || numbers[kept - 1] != numbers[i])
			numbers[kept++] = numbers[i];
	return kept;
}

uint32_t srv_graph_spellings(const srv_graph *graph)
{
	return graph->spellings;
}

bool srv_graph_set_deps(srv_graph *graph, uint32_t asset, const uint32_t *files, uint32_t count)
{
	if (!grow_assets(graph, asset))
		return false;
	list *deps = &graph->deps[asset];
	for (uint32_t i = 0; i < deps->count; i++)
		list_remove(&graph->dependents[deps->items[i]], asset);
	deps->count = 0;
	for (uint32_t i = 0; i < count; i++)
		if (!list_add(deps, files[i]))
			return false;
	uint32_t once = srv_graph_sort(deps->items, count);
	for (deps->count = 0; deps->count < once; deps->count++)
		if (!list_add(&graph->dependents[deps->items[deps->count]], asset))
			return false;
	return true;
}

const uint32_t *srv_graph_dependents(const srv_graph *graph, uint32_t file, uint32_t *count)
{
	*count = graph->dependents[file].count;
	return graph->dependents[file].items;
}

uint64_t srv_graph_tick(srv_graph *graph)
{
	return ++graph->tick;
}

uint64_t srv_graph_now(const srv_graph *graph)
{
	return graph->tick;
}
