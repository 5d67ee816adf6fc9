#include "view.h"

#include "../../core/base/array.h"
#include "../../core/base/number.h"
#include "../../core/base/text_order.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- former names */

/* Former names of assets whose sources were renamed or moved, sorted. A list never changes; views share
 * it. */
typedef struct former_list {
	atomic_uint references;
	uint32_t count;
	srv_view_former names[]; /* the texts of the names follow the array */
} former_list;

static int by_former_name(const void *a, const void *b)
{
	const srv_view_former *x = *(const srv_view_former *const *)a, *y = *(const srv_view_former *const *)b;
	return hob_str_compare(x->full, y->full);
}

/* Merges two sorted lists of names into `out`; a new name without an id removes the old one. Returns the
 * number of names. */
static uint32_t former_merge(const former_list *list, const srv_view_former *const *more, uint32_t count,
							 const srv_view_former **out)
{
	uint32_t kept = 0, old = 0, all = list ? list->count : 0;
	for (uint32_t i = 0; i < count; i++) {
		while (old < all && hob_str_compare(list->names[old].full, more[i]->full) < 0)
			out[kept++] = &list->names[old++];
		old += old < all && hob_str_compare(list->names[old].full, more[i]->full) == 0;
		if (more[i]->id[0])
			out[kept++] = more[i];
	}
	while (old < all)
		out[kept++] = &list->names[old++];
	return kept;
}

static former_list *former_copy(const srv_view_former *const *names, uint32_t count)
{
	size_t texts = 0;
	for (uint32_t i = 0; i < count; i++)
		texts += names[i]->full.len;
	former_list *list = malloc(sizeof *list + count * sizeof **names + texts + 1);
	if (!list)
		return NULL;
	atomic_init(&list->references, 1);
	list->count = count;
	char *at = (char *)(list->names + count);
	for (uint32_t i = 0; i < count; i++) {
		list->names[i] = *names[i];
		list->names[i].full.data = memcpy(at, names[i]->full.data, names[i]->full.len);
		at += names[i]->full.len;
	}
	return list;
}

/* A copy of `list` (NULL: empty) plus `names`, each name once; one without an id is removed instead. The
 * caller gets one reference; NULL without memory. */
static former_list *former_add(const former_list *list, const srv_view_former *names, uint32_t count)
{
	const srv_view_former **more = malloc((count + 1) * sizeof *more);
	const srv_view_former **all = malloc(((list ? list->count : 0) + count + 1) * sizeof *all);
	former_list *made = NULL;
	if (more && all) {
		for (uint32_t i = 0; i < count; i++)
			more[i] = &names[i];
		qsort(more, count, sizeof *more, by_former_name);
		made = former_copy(all, former_merge(list, more, count, all));
	}
	free(more);
	free(all);
	return made;
}

static former_list *former_share(former_list *list)
{
	if (list)
		atomic_fetch_add_explicit(&list->references, 1, memory_order_relaxed);
	return list;
}

static void former_drop(former_list *list)
{
	if (list && atomic_fetch_sub_explicit(&list->references, 1, memory_order_acq_rel) == 1)
		free(list);
}

/* The id of the asset that once had this name; NULL: none. */
static const char *former_find(const former_list *list, hob_str full)
{
	uint32_t low = 0, high = list ? list->count : 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = hob_str_compare(list->names[middle].full, full);
		if (order == 0)
			return list->names[middle].id;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* put/remove                     publish                      last reader drops
 *   (caller) ------------------> changes[] ------------------> newest view ------------------------> freed
 *
 * A view holds a reference to the next newer one, so views die oldest first. A record that a publish removes
 * is attached to the view that was the newest until then: when that view dies, no view with the record is
 * left. So publishing costs one copy of the pointer arrays and touches no unchanged record. */

/* A text that assets share: most have the same settings, and many the same counts. */
typedef struct shared_text {
	atomic_uint references;
	uint64_t triangles, lods; /* parsed, if it is a text of counts */
	size_t len;
	char data[];
} shared_text;

typedef struct record {
	srv_view_asset asset;
	struct record *next_garbage;
	shared_text *settings, *stats;
} record;

typedef struct view {
	srv_view open;
	const srv_view_asset **by_id; /* sorted by id, then by full */
	atomic_uint references;
	_Atomic(srv_view_kept *) kept;
	struct view *newer;
	former_list *former;
	record *garbage;
} view;

typedef struct change {
	hob_str full;
	record *put; /* NULL: remove; `full` is then a copy of its own */
	uint32_t order;
} change;

enum { RUNS_MAX = 40 }; /* each run is at least twice as long as the next one */

struct srv_views {
	pthread_mutex_t lock; /* guards `newest` between taking the pointer and taking the reference */
	view *newest;
	change *changes;
	uint32_t change_count, change_capacity;
	/* ends of the runs in `changes`; entries after the last run are unsorted */
	uint32_t run_ends[RUNS_MAX], run_count;
	srv_view_root *roots;
	uint32_t root_count;
	char *extensions;
	former_list *former;
	shared_text *texts[64]; /* by hash: the last text with that hash */
	shared_text *last_settings, *last_stats;
};

enum { ID_LETTERS = 3, ID_BUCKETS = 36 * 36 * 36 };

/* ---- records */

static hob_str copy_text(char **at, hob_str s)
{
	char *copy = *at;
	if (s.len > 0)
		memcpy(copy, s.data, s.len);
	copy[s.len] = 0;
	*at = copy + s.len + 1;
	return (hob_str){copy, s.len};
}

static void text_drop(shared_text *text)
{
	if (text && atomic_fetch_sub_explicit(&text->references, 1, memory_order_acq_rel) == 1)
		free(text);
}

/* Returns a shared copy of `s`. Consecutive assets mostly have the same text: `last` avoids the hash. */
static shared_text *text_share(srv_views *views, hob_str s, shared_text **last)
{
	uint64_t hash[2];
	if (*last && hob_str_equal((hob_str){(*last)->data, (*last)->len}, s)) {
		atomic_fetch_add_explicit(&(*last)->references, 1, memory_order_relaxed);
		return *last;
	}
	hob_fast_hash((hob_bytes){(const uint8_t *)s.data, s.len}, hash);
	shared_text **known = &views->texts[hash[0] % HOB_COUNT_OF(views->texts)];
	if (!*known || !hob_str_equal((hob_str){(*known)->data, (*known)->len}, s)) {
		text_drop(*known);
		*known = hob_must(malloc(sizeof **known + s.len + 1));
		atomic_init(&(*known)->references, 1);
		(*known)->len = s.len;
		(*known)->triangles = hob_number_behind(s, HOB_STR("\"triangles\":"));
		(*known)->lods = hob_number_behind(s, HOB_STR("\"lods\":"));
		char *at = (*known)->data;
		copy_text(&at, s);
	}
	/* one reference for the caller, one for `last` */
	atomic_fetch_add_explicit(&(*known)->references, 2, memory_order_relaxed);
	text_drop(*last);
	*last = *known;
	return *known;
}

static record *record_new(srv_views *views, const srv_view_asset *asset)
{
	size_t outputs_size = sizeof *asset->outputs * asset->output_count;
	size_t deps_size = sizeof *asset->deps * asset->dep_count;
	size_t findings_size = sizeof *asset->findings * asset->finding_count;
	hob_str quality = hob_str_of(asset->quality), settings_of = hob_str_of(asset->settings_of);
	const hob_str texts[] = {asset->root,	asset->path,	   asset->full, asset->kind, asset->error,
							 asset->reason, asset->moved_from, quality,		settings_of, asset->content};
	size_t text_size = 0;
	for (size_t i = 0; i < HOB_COUNT_OF(texts); i++)
		text_size += texts[i].len + 1;
	for (uint32_t i = 0; i < asset->output_count; i++)
		text_size += asset->outputs[i].name.len + 1;
	for (uint32_t i = 0; i < asset->dep_count; i++)
		text_size += asset->deps[i].path.len + 1;

	record *r = hob_must(malloc(sizeof *r + outputs_size + deps_size + findings_size + text_size));
	r->asset = *asset;
	r->next_garbage = NULL;
	r->settings = text_share(views, asset->settings, &views->last_settings);
	r->stats = text_share(views, asset->stats, &views->last_stats);
	srv_view_output *outputs = (srv_view_output *)(r + 1);
	srv_view_dep *deps = (srv_view_dep *)(outputs + asset->output_count);
	hob_rule_count *findings = (hob_rule_count *)(deps + asset->dep_count);
	char *at = (char *)(findings + asset->finding_count);

	srv_view_asset *copy = &r->asset;
	copy->root = copy_text(&at, asset->root);
	copy->path = copy_text(&at, asset->path);
	copy->full = copy_text(&at, asset->full);
	copy->kind = copy_text(&at, asset->kind);
	copy->stats = (hob_str){r->stats->data, r->stats->len};
	copy->content = copy_text(&at, asset->content);
	copy->error = copy_text(&at, asset->error);
	copy->reason = copy_text(&at, asset->reason);
	copy->settings = (hob_str){r->settings->data, r->settings->len};
	copy->moved_from = copy_text(&at, asset->moved_from);
	copy->quality = copy_text(&at, quality).data;
	copy->settings_of = asset->settings_of ? copy_text(&at, settings_of).data : NULL;
	copy->triangles = r->stats->triangles;
	copy->lods = r->stats->lods;
	for (uint32_t i = 0; i < asset->output_count; i++) {
		outputs[i] = asset->outputs[i];
		outputs[i].name = copy_text(&at, asset->outputs[i].name);
	}
	for (uint32_t i = 0; i < asset->dep_count; i++) {
		deps[i] = asset->deps[i];
		deps[i].path = copy_text(&at, asset->deps[i].path);
	}
	copy->outputs = outputs;
	copy->deps = deps;
	if (findings_size > 0)
		memcpy(findings, asset->findings, findings_size);
	copy->findings = findings;
	return r;
}

static void record_free(record *r)
{
	if (!r)
		return;
	text_drop(r->settings);
	text_drop(r->stats);
	free(r);
}

/* ---- order */

static int compare_id(const srv_view_asset *a, const srv_view_asset *b)
{
	int order = memcmp(a->id, b->id, SRV_ASSET_ID);
	return order != 0 ? order : hob_str_compare(a->full, b->full);
}

static int by_full_then_order(const void *a, const void *b)
{
	const change *x = a, *y = b;
	int order = hob_str_compare(x->full, y->full);
	return order != 0 ? order : x->order < y->order ? -1 : x->order > y->order;
}

/* The first eight letters of an id with its asset: sorting rarely has to look at the assets themselves. */
typedef struct id_order {
	uint64_t letters;
	const srv_view_asset *asset;
} id_order;

static int by_id(const void *a, const void *b)
{
	const id_order *x = a, *y = b;
	return x->letters != y->letters ? (x->letters < y->letters ? -1 : 1) : compare_id(x->asset, y->asset);
}

static id_order order_of(const srv_view_asset *asset)
{
	uint64_t letters = 0;
	for (int i = 0; i < 8; i++)
		letters = letters << 8 | (uint8_t)asset->id[i];
	return (id_order){letters, asset};
}

/* The bucket of an id, by its first letters: ids are digests, so buckets get about the same size. */
static uint32_t bucket_of(const srv_view_asset *asset)
{
	uint32_t bucket = 0;
	for (int i = 0; i < ID_LETTERS; i++)
		bucket = bucket * 36 + (uint32_t)(asset->id[i] <= '9' ? asset->id[i] - '0' : asset->id[i] - 'a' + 10);
	return bucket;
}

static void sort_ids(id_order *list, uint32_t count)
{
	if (count < ID_BUCKETS / 8) {
		qsort(list, count, sizeof *list, by_id);
		return;
	}
	hob_own uint32_t *places = hob_must(calloc(ID_BUCKETS + 1, sizeof *places));
	hob_own id_order *sorted = hob_must(malloc(count * sizeof *sorted));
	for (uint32_t i = 0; i < count; i++)
		places[bucket_of(list[i].asset) + 1]++;
	for (uint32_t i = 0; i < ID_BUCKETS; i++)
		places[i + 1] += places[i];
	for (uint32_t i = 0; i < count; i++)
		sorted[places[bucket_of(list[i].asset)]++] = list[i];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i;
		for (; at > 0 && by_id(&list[at - 1], &sorted[i]) > 0; at--)
			list[at] = list[at - 1];
		list[at] = sorted[i];
	}
}

/* ---- views */

static size_t roots_size(const srv_view_root *roots, uint32_t count)
{
	size_t size = sizeof *roots * count;
	for (uint32_t i = 0; i < count; i++)
		size += roots[i].name.len + roots[i].path.len + roots[i].note.len + roots[i].skipped.len +
				roots[i].skipped_files.len + 5;
	return size;
}

static srv_view_root *copy_roots(const srv_view_root *roots, uint32_t count)
{
	srv_view_root *copies = hob_must(malloc(roots_size(roots, count) + 1));
	char *at = (char *)(copies + count);
	for (uint32_t i = 0; i < count; i++) {
		copies[i] = roots[i];
		copies[i].name = copy_text(&at, roots[i].name);
		copies[i].path = copy_text(&at, roots[i].path);
		copies[i].note = copy_text(&at, roots[i].note);
		copies[i].skipped = copy_text(&at, roots[i].skipped);
		copies[i].skipped_files = copy_text(&at, roots[i].skipped_files);
	}
	return copies;
}

static view *view_new(uint32_t capacity)
{
	view *v = hob_must(calloc(1, sizeof *v));
	v->open.assets = hob_must(malloc((capacity + 1) * sizeof(void *)));
	v->by_id = hob_must(malloc((capacity + 1) * sizeof(void *)));
	atomic_init(&v->references, 1);
	return v;
}

static void free_garbage(record *garbage)
{
	while (garbage) {
		record *next = garbage->next_garbage;
		record_free(garbage);
		garbage = next;
	}
}

/* Readers see a view's memory as const; its owner frees it. */
static void free_const(const void *memory)
{
	free((void *)(uintptr_t)memory);
}

static void view_unref(view *v)
{
	while (v && atomic_fetch_sub_explicit(&v->references, 1, memory_order_acq_rel) == 1) {
		view *newer = v->newer;
		srv_view_kept *kept = atomic_load(&v->kept);
		if (kept)
			kept->drop(kept);
		free_garbage(v->garbage);
		free_const(v->open.assets);
		free(v->by_id);
		free_const(v->open.roots);
		former_drop(v->former);
		free(v);
		v = newer;
	}
}

srv_views *srv_views_new(void)
{
	srv_views *views = hob_must(calloc(1, sizeof *views));
	pthread_mutex_init(&views->lock, NULL);
	views->newest = view_new(0);
	views->roots = copy_roots(NULL, 0);
	return views;
}

void srv_views_free(srv_views *views)
{
	if (!views)
		return;
	for (uint32_t i = 0; i < views->change_count; i++) {
		if (!views->changes[i].put)
			free_const(views->changes[i].full.data);
		record_free(views->changes[i].put);
	}
	view *last = views->newest;
	assert(atomic_load(&last->references) == 1 && "a reader still holds a view");
	for (uint32_t i = 0; i < last->open.count; i++)
		record_free((record *)(uintptr_t)last->open.assets[i]);
	view_unref(last);
	for (size_t i = 0; i < HOB_COUNT_OF(views->texts); i++)
		text_drop(views->texts[i]);
	text_drop(views->last_settings);
	text_drop(views->last_stats);
	free(views->changes);
	free(views->roots);
	free(views->extensions);
	former_drop(views->former);
	pthread_mutex_destroy(&views->lock);
	free(views);
}

const srv_view *srv_views_take(srv_views *views)
{
	pthread_mutex_lock(&views->lock);
	view *v = views->newest;
	atomic_fetch_add_explicit(&v->references, 1, memory_order_relaxed);
	pthread_mutex_unlock(&views->lock);
	return &v->open;
}

void srv_view_drop(const srv_view *open)
{
	view_unref((view *)(uintptr_t)open);
}

const srv_view_kept *srv_view_keep(const srv_view *open, srv_view_kept *(*make)(const srv_view *view))
{
	view *v = (view *)(uintptr_t)open;
	srv_view_kept *kept = atomic_load(&v->kept), *made = kept ? NULL : make(open);
	if (made && atomic_compare_exchange_strong(&v->kept, &kept, made))
		return made;
	if (made)
		made->drop(made);
	return kept;
}

/* ---- changes */

static change *change_add(srv_views *views)
{
	if (!HOB_ROOM(views->changes, views->change_capacity, views->change_count))
		abort();
	change *c = &views->changes[views->change_count];
	c->order = views->change_count++;
	return c;
}

void srv_views_put(srv_views *views, const srv_view_asset *asset)
{
	record *r = record_new(views, asset);
	change *c = change_add(views);
	c->put = r;
	c->full = r->asset.full;
}

void srv_views_remove(srv_views *views, hob_str full)
{
	char *copy = hob_must(malloc(full.len + 1));
	change *c = change_add(views);
	c->put = NULL;
	c->full = copy_text(&copy, full);
}

void srv_views_set_roots(srv_views *views, const srv_view_root *roots, uint32_t count)
{
	srv_view_root *copies = copy_roots(roots, count);
	free(views->roots);
	views->roots = copies;
	views->root_count = count;
}

void srv_views_set_extensions(srv_views *views, hob_str extensions)
{
	assert(!views->extensions && "views that readers hold point to them");
	char *at = hob_must(malloc(extensions.len + 1));
	views->extensions = at;
	copy_text(&at, extensions);
}

void srv_views_add_former(srv_views *views, const srv_view_former *names, uint32_t count)
{
	former_list *list = hob_must(former_add(views->former, names, count));
	former_drop(views->former);
	views->former = list;
}

bool srv_views_is_former(const srv_views *views, hob_str full)
{
	return former_find(views->former, full) != NULL;
}

/* ---- order of changes: sorted runs, each at least twice as long as the next one */

static void merge_runs(srv_views *views, uint32_t from, uint32_t middle, uint32_t end)
{
	change *all = views->changes;
	if (by_full_then_order(&all[middle - 1], &all[middle]) < 0)
		return;
	hob_own change *right = hob_must(malloc((end - middle) * sizeof *right));
	memcpy(right, all + middle, (end - middle) * sizeof *right);
	uint32_t left = middle - from, count = end - middle;
	for (uint32_t to = end; count > 0;)
		all[--to] = left > 0 && by_full_then_order(&all[from + left - 1], &right[count - 1]) > 0
						? all[from + --left]
						: right[--count];
}

/* Makes a sorted run of the changes since the last call. */
static void add_run(srv_views *views)
{
	uint32_t from = views->run_count > 0 ? views->run_ends[views->run_count - 1] : 0;
	if (from == views->change_count)
		return;
	bool sorted = true; /* after a scan, changes come sorted */
	for (uint32_t i = from + 1; i < views->change_count && sorted; i++)
		sorted = by_full_then_order(&views->changes[i - 1], &views->changes[i]) < 0;
	if (!sorted)
		qsort(views->changes + from, views->change_count - from, sizeof *views->changes, by_full_then_order);
	views->run_ends[views->run_count++] = views->change_count;
}

static void join_runs(srv_views *views, bool all)
{
	while (views->run_count > 1) {
		uint32_t *last = &views->run_ends[views->run_count - 1];
		uint32_t from = views->run_count > 2 ? last[-2] : 0;
		if (!all && (last[-1] - from) / 2 >= *last - last[-1])
			return;
		merge_runs(views, from, last[-1], *last);
		last[-1] = *last;
		views->run_count--;
	}
}

void srv_views_sort(srv_views *views)
{
	add_run(views);
	join_runs(views, false);
}

/* Sorts by name, keeping the last change of each asset. */
static void sort_changes(srv_views *views)
{
	add_run(views);
	join_runs(views, true);
	views->run_count = 0;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < views->change_count; i++) {
		change *c = &views->changes[i];
		bool last = i + 1 == views->change_count || !hob_str_equal(c->full, views->changes[i + 1].full);
		if (last)
			views->changes[kept++] = *c;
		else if (c->put)
			record_free(c->put);
		else
			free_const(c->full.data);
	}
	views->change_count = kept;
}

static void count_asset(srv_view *v, const srv_view_asset *asset, bool added)
{
	uint64_t sign = added ? 1 : UINT64_MAX; /* adding UINT64_MAX subtracts one */
	v->states[asset->state] += (uint32_t)sign;
	v->problems[asset->state] += srv_view_is_problem(asset) ? (uint32_t)sign : 0;
	assert(asset->standing < SRV_STANDINGS_LISTED);
	v->standings[asset->standing] += (uint32_t)sign;
	v->source_bytes += sign * asset->source_bytes;
	v->cooked_bytes += sign * asset->cooked_bytes;
	v->warnings += sign * asset->warnings;
	v->warned += asset->warnings > 0 ? sign : 0;
	for (uint32_t i = 0; i < asset->finding_count; i++)
		v->findings[asset->findings[i].rule][asset->findings[i].level] +=
			(uint32_t)sign * asset->findings[i].count;
	v->outputs += sign * asset->output_count;
}

static int compare_name(const srv_view_asset *a, const srv_view_asset *b)
{
	return hob_str_compare(a->full, b->full);
}

/* Index of `asset` in a sorted list, or where it would be inserted. Searches forward in growing steps: with
 * many changes, the next one is near. */
static uint32_t place_of(const srv_view_asset *const *list, uint32_t count, const srv_view_asset *asset,
						 int (*compare)(const srv_view_asset *, const srv_view_asset *))
{
	uint32_t low = 0, high = count;
	for (uint32_t step = 1; low + step < high; step *= 2) {
		if (compare(list[low + step - 1], asset) >= 0)
			high = low + step - 1;
		else
			low += step;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (compare(list[middle], asset) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	assert(low == count || compare(list[low], asset) >= 0);
	return low;
}

/* Copies unchanged ranges between the changes; replaced and removed records become garbage of `from`. */
static void merge_assets(const srv_views *views, view *from, view *to)
{
	const srv_view_asset **out = (const srv_view_asset **)(uintptr_t)to->open.assets;
	uint32_t at = 0, count = 0;
	for (uint32_t i = 0; i < views->change_count; i++) {
		const change *c = &views->changes[i];
		srv_view_asset key = {.full = c->full};
		uint32_t place = at + place_of(from->open.assets + at, from->open.count - at, &key, compare_name);
		memcpy(out + count, from->open.assets + at, (place - at) * sizeof *out);
		count += place - at;
		at = place;
		if (at < from->open.count && hob_str_equal(from->open.assets[at]->full, c->full)) {
			record *old = (record *)(uintptr_t)from->open.assets[at++];
			count_asset(&to->open, &old->asset, false);
			old->next_garbage = from->garbage;
			from->garbage = old;
		}
		if (c->put) {
			count_asset(&to->open, &c->put->asset, true);
			out[count++] = &c->put->asset;
		}
	}
	memcpy(out + count, from->open.assets + at, (from->open.count - at) * sizeof *out);
	to->open.count = count + from->open.count - at;
}

static void merge_ids(const srv_views *views, const view *from, view *to)
{
	uint32_t gone = 0, come = 0;
	for (const record *r = from->garbage; r; r = r->next_garbage)
		gone++;
	hob_own id_order *out_list = hob_must(malloc((gone + 1) * sizeof *out_list));
	hob_own id_order *in_list = hob_must(malloc((views->change_count + 1) * sizeof *in_list));
	gone = 0;
	for (const record *r = from->garbage; r; r = r->next_garbage)
		out_list[gone++] = order_of(&r->asset);
	for (uint32_t i = 0; i < views->change_count; i++)
		if (views->changes[i].put)
			in_list[come++] = order_of(&views->changes[i].put->asset);
	sort_ids(out_list, gone);
	sort_ids(in_list, come);

	uint32_t at = 0, count = 0, o = 0, n = 0;
	while (o < gone || n < come) {
		bool removal = o < gone && (n == come || by_id(&out_list[o], &in_list[n]) <= 0);
		const srv_view_asset *next = removal ? out_list[o].asset : in_list[n].asset;
		uint32_t place = at + place_of(from->by_id + at, from->open.count - at, next, compare_id);
		memcpy(to->by_id + count, from->by_id + at, (place - at) * sizeof *to->by_id);
		count += place - at;
		at = place;
		if (removal) {
			at++;
			o++;
		} else {
			to->by_id[count++] = next;
			n++;
		}
	}
	memcpy(to->by_id + count, from->by_id + at, (from->open.count - at) * sizeof *to->by_id);
}

void srv_views_publish(srv_views *views, uint64_t rev, bool ready)
{
	sort_changes(views);
	view *from = views->newest;
	view *to = view_new(from->open.count + views->change_count);
	const srv_view_asset *const *assets = to->open.assets;
	to->open = from->open; /* sums begin with those of before */
	to->open.assets = assets;
	merge_assets(views, from, to);
	merge_ids(views, from, to);
	to->open.rev = rev;
	to->open.ready = ready;
	to->open.roots = copy_roots(views->roots, views->root_count);
	to->open.root_count = views->root_count;
	to->open.extensions = hob_str_of(views->extensions);
	to->former = former_share(views->former);

	for (uint32_t i = 0; i < views->change_count; i++)
		if (!views->changes[i].put)
			free_const(views->changes[i].full.data);
	views->change_count = 0;

	atomic_fetch_add_explicit(&to->references, 1, memory_order_relaxed); /* reference held by `from` */
	pthread_mutex_lock(&views->lock);
	from->newer = to;
	views->newest = to;
	pthread_mutex_unlock(&views->lock);
	view_unref(from);
}

/* ---- look-ups */

uint32_t srv_view_after(const srv_view *v, hob_str after)
{
	uint32_t place = place_of(v->assets, v->count, &(srv_view_asset){.full = after}, compare_name);
	return place + (place < v->count && hob_str_equal(v->assets[place]->full, after));
}

const srv_view_asset *srv_view_find(const srv_view *v, hob_str full)
{
	uint32_t after = srv_view_after(v, full);
	return after > 0 && hob_str_equal(v->assets[after - 1]->full, full) ? v->assets[after - 1] : NULL;
}

const srv_view_asset *srv_view_find_id(const srv_view *open, hob_str id)
{
	const view *v = (const view *)(const void *)open;
	if (id.len != SRV_ASSET_ID)
		return NULL;
	srv_view_asset key = {0};
	memcpy(key.id, id.data, id.len);
	uint32_t place = place_of(v->by_id, open->count, &key, compare_id);
	bool found = place < open->count && memcmp(v->by_id[place]->id, id.data, id.len) == 0;
	return found ? v->by_id[place] : NULL;
}

const srv_view_asset *srv_view_find_moved(const srv_view *open, hob_str full)
{
	const srv_view_asset *found = srv_view_find(open, full);
	const char *id = found ? NULL : former_find(((const view *)(const void *)open)->former, full);
	return id ? srv_view_find_id(open, hob_str_of(id)) : found;
}
