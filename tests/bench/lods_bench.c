/* lods_bench.c - stated and measured errors of levels of detail. See lods.sh. */
#include "core/import/importer.h"
#include "core/mesh/bake.h"
#include "lods_draw.h"
#include "tests/surface_oracle.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- models */

static hob_bytes map(const char *path)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) != 0 || info.st_size == 0)
		return (hob_bytes){0};
	void *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return at == MAP_FAILED ? (hob_bytes){0} : (hob_bytes){at, (size_t)info.st_size};
}

static bool read_file(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	char name[PATH_MAX];
	snprintf(name, sizeof name, "%s/%.*s", (const char *)user, HOB_FMT(path));
	*out = map(name);
	return out->size > 0 || hob_fail(err, MISSING_FILE, "'%s' cannot be read", name);
}

static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct totals {
	double *ratios;
	uint32_t count, room, above;
	double points, most;
	bool each;
	const char *sheet;	   /* NULL: no pictures */
	uint64_t pixels[3];	   /* covered, different, stray */
	uint32_t levels_drawn; /* all drawn levels; how many of them at an error of one pixel */
	uint32_t at_one_pixel;
} totals;

static void add_ratio(totals *t, double ratio)
{
	if (t->count == t->room)
		t->ratios = realloc(t->ratios, (t->room = t->room * 2 + 64) * sizeof *t->ratios);
	t->ratios[t->count++] = ratio;
	t->above += ratio > 1;
}

static void measure_mesh(totals *t, const char *model, const hob_baked_mesh *b)
{
	if (b->lod_count < 2)
		return;
	soup *full = soup_new(b->mesh.position, b->indices, b->lods[0].index_count);
	double size = 0;
	for (int k = 0; k < 3; k++)
		size += pow((double)b->aabb_max[k] - (double)b->aabb_min[k], 2);
	for (uint32_t l = 1; l < b->lod_count; l++) {
		soup *level = soup_new(b->mesh.position, b->indices + b->lods[l].index_first, b->lods[l].index_count);
		double d = surface_distance(full, level, t->points, t->most);
		double said = (double)b->lods[l].error, ratio = said > 0 ? d / said : d > 1e-6 * sqrt(size) ? 1e9 : 0;
		add_ratio(t, ratio);
		if (t->each || ratio > 1)
			printf("  %-40.40s %-16.*s level %u: %8u triangles, stated %.6f of the diagonal, true %.6f, "
				   "ratio %.3f\n",
				   model, (int)(b->mesh.name.len < 16 ? b->mesh.name.len : 16), b->mesh.name.data, l,
				   b->lods[l].index_count / 3, said / sqrt(size), d / sqrt(size), ratio);
		soup_free(level);
	}
	soup_free(full);
}

/* The view of a renderer that uses each level at an error of one pixel. */
static void draw_levels(totals *t, const char *model, const hob_baked_mesh *b)
{
	for (uint32_t l = 1; l < b->lod_count; l++) {
		lods_draw_result drawn;
		lods_draw_compare(b, l, &drawn);
		t->pixels[0] += drawn.covered, t->pixels[1] += drawn.differ, t->pixels[2] += drawn.stray;
		t->levels_drawn++;
		t->at_one_pixel += drawn.pixels > 0.999;
		if (t->each || drawn.stray > 0)
			printf("  %-20.20s %-16.*s level %u: error %.2f pixels, %llu covered, %llu differ, %llu of "
				   "them by more than 2 pixels\n",
				   strrchr(model, '/') ? strrchr(model, '/') + 1 : model,
				   (int)(b->mesh.name.len < 16 ? b->mesh.name.len : 16), b->mesh.name.data, l, drawn.pixels,
				   (unsigned long long)drawn.covered, (unsigned long long)drawn.differ,
				   (unsigned long long)drawn.stray);
	}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static void print(const char *name, const totals *t, uint32_t from)
{
	uint32_t count = t->count - from, above = 0, at[5] = {0};
	double *r = malloc((count + 1) * sizeof *r), limits[5] = {0.5, 0.7, 0.9, 1, 1e300};
	if (count > 0)
		memcpy(r, t->ratios + from, count * sizeof *r);
	qsort(r, count, sizeof *r, ascending);
	for (uint32_t i = 0; i < count; i++) {
		above += r[i] > 1;
		for (int k = 0; k < 5; k++)
			if (r[i] <= limits[k]) {
				at[k]++;
				break;
			}
	}
	printf("%-52.52s %5u levels, true/stated: median %.2f, p90 %.2f, most %.3f; up to .5 .7 .9 1: %u %u %u "
		   "%u; above: %u\n",
		   name, count, count ? r[count / 2] : 0, count ? r[count * 9 / 10] : 0, count ? r[count - 1] : 0,
		   at[0], at[1], at[2], at[3], above);
	free(r);
}

static void measure_model(totals *t, const char *model)
{
	static hob_notes notes;
	hob_arena arena, scratch, result;
	hob_arena_init(&arena, (size_t)8 << 30);
	hob_arena_init(&scratch, (size_t)8 << 30);
	hob_arena_init(&result, (size_t)8 << 30);
	notes = (hob_notes){.arena = &arena};
	char folder[PATH_MAX];
	snprintf(folder, sizeof folder, "%s", model);
	char *slash = strrchr(folder, '/');
	if (!slash)
		snprintf(folder, sizeof folder, ".");
	else
		*slash = 0;
	hob_io io = {.user = folder, .read = read_file};
	hob_error err = {0};
	hob_model m;
	hob_space_override space = {0};
	hob_import_request request = {.io = &io,
								  .path = hob_str_of(slash ? slash + 1 : model),
								  .file = map(model),
								  .result = &arena,
								  .scratch = &scratch,
								  .notes = &notes,
								  .space = &space};
	const hob_importer *importer;
	uint32_t from = t->count;
	uint64_t triangles = 0;
	hob_baked_mesh largest = {0};
	double seconds = 0;
	if (!hob_import(&request, &importer, &m, &err)) {
		printf("%s: %s\n", model, err.context);
		return;
	}
	for (uint32_t i = 0; i < m.mesh_count; i++) {
		if (m.meshes[i].topology != HOB_TRIANGLES)
			continue;
		const hob_mesh_options options = {.lod_max = 7, .lod_error = 0.1f};
		hob_baked_mesh b;
		double begin = cpu();
		b = hob_mesh_bake(&m.meshes[i], &options, &result, &scratch, NULL);
		seconds += cpu() - begin;
		triangles += b.lods[0].index_count / 3;
		if (b.lod_count > 1 &&
			(largest.lod_count == 0 || largest.lods[0].index_count < b.lods[0].index_count))
			largest = b;
		if (t->sheet)
			draw_levels(t, model, &b);
		if (t->points > 0)
			measure_mesh(t, model, &b);
		else if (t->each)
			for (uint32_t l = 0; l < b.lod_count; l++)
				printf("  %s mesh %u level %u: %u triangles, error %g\n", model, i, l,
					   b.lods[l].index_count / 3, (double)b.lods[l].error);
	}
	print(model, t, from);
	printf("%-52s %8.3f us a triangle, %.3f s, %llu triangles\n", "",
		   triangles ? seconds * 1e6 / (double)triangles : 0, seconds, (unsigned long long)triangles);
	fflush(stdout);
	if (t->sheet && largest.lod_count > 0)
		lods_draw_row(&largest);
	hob_arena_release(&arena);
	hob_arena_release(&scratch);
	hob_arena_release(&result);
}

int main(int count, char **names)
{
	totals t = {.points = 100, .most = 2e6};
	int first = 1;
	for (; first < count && names[first][0] == '-'; first++) {
		if (strcmp(names[first], "--each") == 0)
			t.each = true;
		else if (strncmp(names[first], "--points=", 9) == 0)
			t.points = atof(names[first] + 9);
		else if (strncmp(names[first], "--most=", 7) == 0)
			t.most = atof(names[first] + 7);
		else if (strncmp(names[first], "--draw=", 7) == 0)
			t.sheet = names[first] + 7;
	}
	for (int i = first; i < count; i++)
		measure_model(&t, names[i]);
	print("all", &t, 0);
	if (t.sheet) {
		printf("drawn: %u levels from 4 sides, %u of them where the error is one pixel; of %llu pixels "
			   "%.3f %% differ, %llu by more than 2 pixels\n",
			   t.levels_drawn, t.at_one_pixel, (unsigned long long)t.pixels[0],
			   100.0 * (double)t.pixels[1] / (double)(t.pixels[0] ? t.pixels[0] : 1),
			   (unsigned long long)t.pixels[2]);
		if (!lods_draw_write(t.sheet))
			return 2;
	}
	return t.above > 0;
}
