/* See clusters.sh. */
#include "core/mesh/clusters.h"
#include "core/runtime/hob_runtime.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *why)
{
	fprintf(stderr, "clusters: %s\n", why);
	exit(1);
}

static void *claim(size_t count, size_t size)
{
	void *memory = malloc(count * size + 1);
	if (!memory)
		fail("no memory");
	return memory;
}

static void make_ring(uint32_t rings, uint32_t sides, float *positions, uint32_t *indices)
{
	for (uint32_t r = 0; r < rings; r++)
		for (uint32_t s = 0; s < sides; s++) {
			double u = 6.283185307 * r / rings, v = 6.283185307 * s / sides;
			double thick = 0.4 + 0.04 * sin(7 * u) * cos(5 * v) + 0.003 * cos(131 * u + 57 * v);
			float *p = positions + 3 * ((size_t)r * sides + s);
			p[0] = (float)((1 + thick * cos(v)) * cos(u));
			p[1] = (float)(thick * sin(v));
			p[2] = (float)((1 + thick * cos(v)) * sin(u));
			uint32_t a = r * sides + s, b = r * sides + (s + 1) % sides;
			uint32_t c = (r + 1) % rings * sides + s, d = (r + 1) % rings * sides + (s + 1) % sides;
			const uint32_t corners[6] = {a, b, c, b, d, c};
			memcpy(indices + 6 * ((size_t)r * sides + s), corners, sizeof corners);
		}
}

static hob_rt_clusters to_runtime(const hob_clusters *c)
{
	hob_pk_cluster_group *groups = claim(c->group_count, sizeof *groups);
	hob_pk_meshlet *meshlets = claim(c->meshlets.count, sizeof *meshlets);
	for (uint32_t g = 0; g < c->group_count; g++) {
		groups[g] = (hob_pk_cluster_group){.error = c->groups[g].error,
										   .cluster_first = c->groups[g].cluster_first,
										   .cluster_count = c->groups[g].cluster_count};
		memcpy(groups[g].sphere, c->groups[g].sphere, sizeof groups[g].sphere);
	}
	for (uint32_t i = 0; i < c->meshlets.count; i++)
		meshlets[i] = (hob_pk_meshlet){.triangle_count = c->meshlets.items[i].triangle_count};
	return (hob_rt_clusters){groups, c->sources, meshlets, c->group_count, c->meshlets.count};
}

/* Returns the time of the fastest of 20 cuts; sets the number of triangles of a cut. */
static double time_cut(const hob_rt_clusters *c, const float eye[3], float pixels, uint64_t *triangles)
{
	static const float identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	uint8_t *good = claim(c->group_count, 1);
	uint32_t *out = claim(c->cluster_count, 4), count = 0;
	double least = 1e9;
	for (int i = 0; i < 20; i++) {
		double start = cpu();
		count = hob_rt_choose_clusters(c, identity, eye, 1000, pixels, good, out);
		double took = cpu() - start;
		least = took < least ? took : least;
	}
	*triangles = 0;
	for (uint32_t i = 0; i < count; i++)
		*triangles += c->meshlets[out[i]].triangle_count;
	free(good);
	free(out);
	return least;
}

static void run(double millions)
{
	uint32_t sides = (uint32_t)sqrt(millions * 1e6 / 4), rings = 2 * sides;
	size_t triangles = 2 * (size_t)rings * sides;
	float *positions = claim(3 * (size_t)rings * sides, sizeof *positions);
	uint32_t *indices = claim(3 * triangles, sizeof *indices);
	make_ring(rings, sides, positions, indices);
	hob_arena result, scratch;
	hob_clusters c = {0};
	hob_arena_init(&result, (size_t)8 << 30);
	hob_arena_init(&scratch, (size_t)8 << 30);
	hob_mesh mesh = {.vertex_count = rings * sides, .position = positions};
	double start = cpu();
	hob_clusters_build(&mesh, indices, (uint32_t)(3 * triangles), &result, &scratch, &c);
	double took = cpu() - start;
	uint64_t all = 0;
	for (uint32_t i = 0; i < c.meshlets.count; i++)
		all += c.meshlets.items[i].triangle_count;
	double bytes = 36.0 * c.meshlets.count + 4.0 * c.meshlets.vertex_count + c.meshlets.triangle_bytes +
				   32.0 * c.group_count;
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%zu triangles: %.2f us each, %.0f MB at the peak; %u clusters in %u groups, %.2f times the "
		   "triangles, %.1f B a "
		   "triangle\n",
		   triangles, took * 1e6 / (double)triangles, (double)usage.ru_maxrss / 1e3, c.meshlets.count,
		   c.group_count, (double)all / (double)triangles, bytes / (double)triangles);
	hob_rt_clusters runtime = to_runtime(&c);
	static const float eyes[][3] = {{1, 0.5f, 0}, {0, 3, 0}, {0, 30, 0}};
	for (size_t e = 0; e < sizeof eyes / sizeof eyes[0]; e++)
		for (float pixels = 0; pixels <= 4; pixels = pixels > 0 ? pixels * 4 : 1) {
			uint64_t drawn;
			double frame = time_cut(&runtime, eyes[e], pixels, &drawn);
			printf("  from (%g %g %g), %g pixels: %.3f ms, %llu triangles\n", (double)eyes[e][0],
				   (double)eyes[e][1], (double)eyes[e][2], (double)pixels, frame * 1e3,
				   (unsigned long long)drawn);
		}
	free((void *)(uintptr_t)runtime.groups);
	free((void *)(uintptr_t)runtime.meshlets);
	hob_arena_release(&result);
	hob_arena_release(&scratch);
	free(positions);
	free(indices);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run(strtod(argv[i], NULL));
	return 0;
}
