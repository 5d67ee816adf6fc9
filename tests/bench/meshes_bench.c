/* meshes_bench.c - time of the parts of a mesh bake, compared with other libraries. See meshes.sh. */
#include "core/mesh/bake.h"
#include "core/mesh/lods.h"
#include "core/mesh/mesh_bounds.h"
#include "core/mesh/meshlets.h"
#include "core/mesh/normals.h"
#include "core/mesh/tangents.h"
#include "core/mesh/triangle_order.h"
#include "core/mesh/weld.h"

#include <math.h>
#include <meshoptimizer.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double started;

static void start(void)
{
	started = seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static double stop(const char *what)
{
	double ms = seconds(CLOCK_PROCESS_CPUTIME_ID) - started;
	printf("  %-58s %8.1f ms\n", what, ms);
	return ms;
}

/* A bumpy ball with a uv seam: a closed surface of high and low frequencies, triangles in rows. */
static hob_mesh ball(uint32_t triangles)
{
	uint32_t stacks = 2;
	while ((uint64_t)stacks * stacks * 4 < triangles)
		stacks++;
	uint32_t slices = 2 * stacks, side = slices + 1;
	hob_mesh m = {.name = HOB_STR("ball"), .material = HOB_NONE};
	m.vertex_count = side * (stacks + 1);
	m.index_count = 6 * slices * stacks;
	m.indices = malloc(m.index_count * sizeof *m.indices);
	m.position = malloc(m.vertex_count * 3 * sizeof(float));
	m.normal = malloc(m.vertex_count * 3 * sizeof(float));
	m.uv[0] = malloc(m.vertex_count * 2 * sizeof(float));
	for (uint32_t y = 0, v = 0; y <= stacks; y++)
		for (uint32_t x = 0; x < side; x++, v++) {
			float theta = 3.14159265f * (float)y / (float)stacks,
				  phi = 6.2831853f * (float)(x % slices) / (float)slices;
			float r =
				1 + 0.05f * sinf(7 * theta) * cosf(5 * phi) + 0.004f * sinf(90 * theta) * cosf(80 * phi);
			float n[3] = {sinf(theta) * cosf(phi), cosf(theta), -sinf(theta) * sinf(phi)};
			for (uint32_t k = 0; k < 3; k++) {
				m.position[3 * v + k] = r * n[k];
				m.normal[3 * v + k] = n[k];
			}
			m.uv[0][2 * v] = (float)x / (float)slices;
			m.uv[0][2 * v + 1] = (float)y / (float)stacks;
		}
	for (uint32_t y = 0, i = 0; y < stacks; y++)
		for (uint32_t x = 0; x < slices; x++, i += 6) {
			uint32_t a = y * side + x, b = a + 1, c = a + side, d = c + 1;
			uint32_t corners[6] = {a, c, b, b, c, d};
			memcpy(m.indices + i, corners, sizeof corners);
		}
	return m;
}

static void fail(const hob_error *err)
{
	fprintf(stderr, "%s\n", err->context);
	exit(1);
}

static hob_baked_mesh bake(const hob_mesh *m, hob_mesh_options options, hob_arena *result, hob_arena *scratch)
{
	return hob_mesh_bake(m, &options, result, scratch, NULL);
}

static void stages(const hob_mesh *m)
{
	hob_arena arena;
	hob_arena_init(&arena, (size_t)8 << 30);
	uint32_t *remap = malloc(m->vertex_count * 4), *from = malloc(m->vertex_count * 4);
	uint32_t *indices = malloc(m->index_count * 4), *fast = malloc(m->index_count * 4);
	hob_vertex_array arrays[3] = {
		{m->position, 12, true, 0}, {m->normal, 12, true, 0}, {m->uv[0], 8, true, 0}};
	struct meshopt_Stream streams[3] = {{m->position, 12, 12}, {m->normal, 12, 12}, {m->uv[0], 8, 8}};

	puts("stages");
	start();
	hob_weld(arrays, 3, m->vertex_count, m->indices, m->index_count, remap, from, &arena);
	stop("weld");
	start();
	meshopt_generateVertexRemapMulti(remap, m->indices, m->index_count, m->vertex_count, streams, 3);
	stop("  meshopt_generateVertexRemapMulti");
	hob_weld(arrays, 3, m->vertex_count, NULL, 0, remap, from, &arena);
	float *tangent = malloc(m->index_count * 16);
	start();
	hob_tangents(m->position, m->normal, m->uv[0], m->vertex_count, m->indices, m->index_count, remap,
				 tangent, &arena);
	stop("tangents");
	memcpy(fast, m->indices, m->index_count * 4);
	start();
	hob_order_triangles(fast, m->index_count, m->position, m->vertex_count, HOB_ORDER_FAST);
	stop("triangle order, fast");
	memcpy(indices, m->indices, m->index_count * 4);
	start();
	hob_order_triangles(indices, m->index_count, m->position, m->vertex_count, HOB_ORDER_BEST);
	stop("triangle order, best");
	hob_lod_level levels[7] = {{.indices = indices, .index_count = m->index_count}};
	hob_lod_options lod = {.max = 7, .ratio = 0.5f, .error = 0.1f};
	uint32_t level_count = 1;
	start();
	hob_lods_build(m, &lod, levels, &level_count, &arena);
	stop("levels of detail");
	uint32_t *chain = malloc(m->index_count * 4);
	memcpy(chain, indices, m->index_count * 4);
	size_t count = m->index_count;
	start();
	for (int l = 1; l < 7 && count > 192; l++) {
		count = meshopt_simplify(chain, chain, count, m->position, m->vertex_count, 12, count / 6 * 3, 0.1f,
								 0, NULL);
		meshopt_optimizeVertexCache(chain, chain, count, m->vertex_count);
	}
	stop("  the plain chain over all vertices, cache order only");
	hob_baked_lod baked[HOB_MAX_LODS] = {{.index_count = m->index_count}};
	start();
	hob_meshlets_build(indices, m->position, m->vertex_count, baked, 1, &arena, &arena);
	stop("meshlets of level 0");
	float sphere[4];
	start();
	hob_bounds_sphere(m->position, m->vertex_count, sphere);
	stop("sphere");
	hob_arena_release(&arena);
}

typedef struct job {
	const hob_mesh *mesh;
	pthread_t thread;
} job_t;

static void *work(void *argument)
{
	const job_t *job = argument;
	hob_arena result, scratch;
	hob_arena_init(&result, (size_t)8 << 30);
	hob_arena_init(&scratch, (size_t)8 << 30);
	bake(job->mesh, (hob_mesh_options){.lod_max = 7, .lod_error = 0.1f, .meshlets = true}, &result, &scratch);
	hob_arena_release(&result);
	hob_arena_release(&scratch);
	return NULL;
}

static void wholes(const hob_mesh *m)
{
	static const struct {
		const char *name;
		hob_mesh_options options;
	} kinds[] = {
		{"preview", {.preview = true, .meshlets = true}},
		{"preview, tangents", {.preview = true, .meshlets = true, .need_tangents = true}},
		{"final, one level, no meshlets", {.lod_max = 1}},
		{"final, one level", {.lod_max = 1, .meshlets = true}},
		{"final, 7 levels", {.lod_max = 7, .lod_error = 0.1f, .meshlets = true}},
		{"final, 7 levels, quantized, tangents",
		 {.lod_max = 7,
		  .lod_error = 0.1f,
		  .meshlets = true,
		  .vertices = HOB_VERTICES_SMALL,
		  .need_tangents = true}},
	};
	puts("whole bakes");
	for (size_t k = 0; k < HOB_COUNT_OF(kinds); k++) {
		hob_arena result, scratch;
		hob_arena_init(&result, (size_t)8 << 30);
		hob_arena_init(&scratch, (size_t)8 << 30);
		start();
		hob_baked_mesh b = bake(m, kinds[k].options, &result, &scratch);
		stop(kinds[k].name);
		if (k == 4)
			for (uint32_t l = 0; l < b.lod_count; l++)
				printf("    level %u: %8u triangles %8u vertices, error %.6f, %u meshlets\n", l,
					   b.lods[l].index_count / 3, b.lods[l].vertex_prefix, (double)b.lods[l].error,
					   b.lods[l].meshlet_count);
		hob_arena_release(&result);
		hob_arena_release(&scratch);
	}
	puts("two meshes, wall time");
	job_t jobs[2] = {{.mesh = m}, {.mesh = m}};
	double before = seconds(CLOCK_MONOTONIC);
	for (int i = 0; i < 2; i++)
		work(&jobs[i]);
	printf("  %-58s %8.1f ms\n", "one after the other", seconds(CLOCK_MONOTONIC) - before);
	before = seconds(CLOCK_MONOTONIC);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&jobs[i].thread, NULL, work, &jobs[i]))
			exit(1);
	for (int i = 0; i < 2; i++)
		pthread_join(jobs[i].thread, NULL);
	printf("  %-58s %8.1f ms\n", "side by side", seconds(CLOCK_MONOTONIC) - before);
}

int main(int argc, char **argv)
{
	uint32_t triangles = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
	hob_mesh m = ball(triangles);
	printf("%u triangles, %u vertices; CPU time\n", m.index_count / 3, m.vertex_count);
	stages(&m);
	wholes(&m);
	return 0;
}
