/* cook_bench.c - whole cooks compared with gltfpack and Assimp, each in a separate process. See cook.sh.
 *
 * cook_bench MODEL...               the table
 * cook_bench --run WHAT MODEL OUT   one contender, once: run by the table's processes */
#include "core/cook/cook.h"
#include "core/import/importer.h"
#include "core/mesh/bake.h"
#include "server/worker/protocol.h"

#include <assimp/cimport.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <meshoptimizer.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void give_up(const char *what, const char *why)
{
	fprintf(stderr, "cook_bench: %s: %s\n", what, why);
	exit(1);
}

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

/* ---- ours ---- */

static bool read_file(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	char name[PATH_MAX];
	snprintf(name, sizeof name, "%s/%.*s", (const char *)user, HOB_FMT(path));
	*out = map(name);
	return out->size > 0 || hob_fail(err, MISSING_FILE, "'%s' cannot be read", name);
}

typedef struct crew {
	hob_task task;
	void *context;
	uint32_t count;
	atomic_uint next;
} crew;

static void drain(crew *c, uint32_t thread)
{
	for (uint32_t i; (i = atomic_fetch_add(&c->next, 1)) < c->count;)
		c->task(c->context, i, thread);
}

static void *help(void *c)
{
	drain(c, 1);
	return NULL;
}

static void run_on_two(void *user, uint32_t count, hob_task task, void *context)
{
	(void)user;
	crew c = {.task = task, .context = context, .count = count};
	pthread_t helper;
	if (count < 2 || pthread_create(&helper, NULL, help, &c) != 0) {
		drain(&c, 0);
		return;
	}
	drain(&c, 0);
	pthread_join(helper, NULL);
}

static const struct {
	const char *settings;
	hob_profile profile;
	bool two;
} cooks[] = {
	{"{\"lods\":{\"max\":1},\"meshlets\":false}", HOB_PROFILE_FINAL, false},
	{"{\"meshlets\":false}", HOB_PROFILE_FINAL, false},
	{"{\"meshlets\":true}", HOB_PROFILE_FINAL, false},
	{"{\"meshlets\":true}", HOB_PROFILE_FINAL, true},
	{"{\"meshlets\":false}", HOB_PROFILE_PREVIEW, false},
	{"{\"lods\":{\"max\":1},\"meshlets\":false,\"vertices\":\"quantized16\",\"encode\":\"meshopt\",\"drop_"
	 "unused_uvs\":true}",
	 HOB_PROFILE_FINAL, false},
};

static void cook(size_t kind, const char *model, const char *out)
{
	char folder[PATH_MAX], name[PATH_MAX];
	snprintf(folder, sizeof folder, "%s", model);
	snprintf(name, sizeof name, "%s", model);
	hob_io io = {.user = dirname(folder), .read = read_file};
	hob_parallel two = {.run = run_on_two, .threads = 2};
	hob_cook_request request = {.io = &io,
								.path = hob_str_of(basename(name)),
								.profile = cooks[kind].profile,
								.memory_limit = (size_t)12 << 30};
	request.parallel = cooks[kind].two ? &two : NULL;
	hob_settings_init(&request.settings);
	hob_cook_result result;
	hob_error err = {0};
	if (!hob_settings_overlay(&request.settings, hob_str_of(cooks[kind].settings), HOB_STR("bench"), &err) ||
		!hob_settings_overlay(&request.settings, HOB_STR("{\"texture\":{\"encoding\":\"source\"}}"),
							  HOB_STR("bench"), &err) ||
		!hob_cook(&request, &result, &err))
		give_up(model, err.context);
	FILE *file = fopen(out, "wb");
	for (uint32_t i = 0; file && i < result.output_count; i++)
		if (!hob_str_starts(result.outputs[i].name, HOB_STR("textures/")) &&
			!hob_str_equal(result.outputs[i].name, HOB_STR("report")))
			fwrite(result.outputs[i].bytes.data, 1, result.outputs[i].bytes.size, file);
	if (!file || fclose(file) != 0)
		give_up(out, "cannot be written");
}

/* The steps of a cook that Assimp has, too: imports the file, welds vertices, orders triangles. */
static void import_weld_order(const char *model)
{
	char folder[PATH_MAX], name[PATH_MAX];
	snprintf(folder, sizeof folder, "%s", model);
	snprintf(name, sizeof name, "%s", model);
	hob_io io = {.user = dirname(folder), .read = read_file};
	hob_arena result, scratch;
	hob_arena_init(&result, (size_t)12 << 30);
	hob_arena_init(&scratch, (size_t)12 << 30);
	hob_import_request request = {
		.io = &io, .path = hob_str_of(basename(name)), .result = &result, .scratch = &scratch};
	hob_model read;
	hob_error err = {0};
	if (!read_file(io.user, request.path, &request.file, &err) ||
		!hob_import_by(hob_importer_for(request.path), &request, &read, &err))
		give_up(model, err.context);
	for (uint32_t i = 0; i < read.mesh_count; i++) {
		hob_mesh_options options = {.lod_max = 1};
		hob_mesh_bake(&read.meshes[i], &options, &result, &scratch, NULL);
	}
}

/* ---- Assimp, and levels of detail as in the articles: each from the one before, half as many indices until
 * 1,024 or eight levels; the sloppy simplifier where less than a tenth was saved. ---- */

static const unsigned seed_flags = aiProcess_JoinIdenticalVertices | aiProcess_Triangulate |
								   aiProcess_GenSmoothNormals | aiProcess_LimitBoneWeights |
								   aiProcess_SplitLargeMeshes | aiProcess_ImproveCacheLocality |
								   aiProcess_RemoveRedundantMaterials | aiProcess_FindDegenerates |
								   aiProcess_FindInvalidData | aiProcess_GenUVCoords;

static void seed_levels(const struct aiMesh *mesh)
{
	size_t count = 0;
	uint32_t *indices = malloc((size_t)mesh->mNumFaces * 3 * sizeof *indices);
	for (unsigned i = 0; i < mesh->mNumFaces; i++)
		for (unsigned k = 0; mesh->mFaces[i].mNumIndices == 3 && k < 3; k++)
			indices[count++] = mesh->mFaces[i].mIndices[k];
	const float *positions = &mesh->mVertices[0].x;
	size_t target = count;
	for (int level = 1; level < 8 && target > 1024; level++) {
		target = count / 2;
		size_t got = meshopt_simplify(indices, indices, count, positions, mesh->mNumVertices, 12, target,
									  0.02f, 0, NULL);
		if (got * 11 / 10 > count) {
			if (level < 2)
				break;
			got = meshopt_simplifySloppy(indices, indices, count, positions, mesh->mNumVertices, 12, target,
										 0.02f, NULL);
			if (got == count || got == 0)
				break;
		}
		count = got;
		meshopt_optimizeVertexCache(indices, indices, count, mesh->mNumVertices);
	}
	free(indices);
}

static void assimp(const char *model, bool levels)
{
	const struct aiScene *scene = aiImportFile(model, seed_flags);
	if (!scene)
		give_up(model, aiGetErrorString());
	for (unsigned i = 0; levels && i < scene->mNumMeshes; i++)
		if (scene->mMeshes[i]->mNumVertices > 0)
			seed_levels(scene->mMeshes[i]);
}

/* ---- the table ---- */

typedef struct cost {
	double cpu, wall; /* seconds; cpu < 0: it failed */
	double bytes;
} cost;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Bytes of a file, without the pictures in a GLB. */
static double bytes_of(const char *path)
{
	hob_bytes file = map(path);
	double bytes = (double)file.size;
	if (file.size < 20 || memcmp(file.data, "glTF", 4) != 0)
		return bytes;
	cJSON *root = cJSON_ParseWithLength((const char *)file.data + 20, hob_load_u32(file.data + 12));
	const cJSON *views = cJSON_GetObjectItem(root, "bufferViews"), *image;
	cJSON_ArrayForEach(image, cJSON_GetObjectItem(root, "images"))
	{
		const cJSON *view = cJSON_GetObjectItem(image, "bufferView");
		const cJSON *size =
			view ? cJSON_GetObjectItem(cJSON_GetArrayItem(views, view->valueint), "byteLength") : NULL;
		bytes -= size ? size->valuedouble : 0;
	}
	cJSON_Delete(root);
	return bytes;
}

static cost once(char *const argv[], const char *out, bool ours)
{
	double began = now();
	pid_t child = fork();
	if (child == 0) {
		int nowhere = open("/dev/null", O_WRONLY);
		dup2(nowhere, 1);
		dup2(nowhere, 2);
		if (ours)
			setenv("GLIBC_TUNABLES", SRV_WORKER_TUNABLES, 1); /* as hob-worker runs */
		execvp(argv[0], argv);
		_exit(127);
	}
	int status = 1;
	struct rusage use;
	if (child < 0 || wait4(child, &status, 0, &use) != child || status != 0)
		return (cost){-1, -1, -1};
	return (cost){(double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
					  (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6,
				  now() - began, bytes_of(out)};
}

/* The minimum of a few runs: disturbances only add. */
static cost best(char *const argv[], const char *out, int runs, bool ours)
{
	cost least = once(argv, out, ours);
	for (int i = 1; i < runs && least.cpu >= 0; i++) {
		cost c = once(argv, out, ours);
		least.cpu = c.cpu < least.cpu ? c.cpu : least.cpu;
		least.wall = c.wall < least.wall ? c.wall : least.wall;
	}
	return least;
}

/* The peers make no meshlets; OURS_FULL and OURS_TWO do. */
enum {
	OURS_ONE,
	OURS_ALL,
	OURS_FULL,
	OURS_TWO,
	OURS_PREVIEW,
	OURS_PACKED,
	OURS_BAKE,
	START, /* nothing: measures the loader of shared libraries */
	ASSIMP,
	ASSIMP_LEVELS,
	PACK,
	PACK_HALF,
	PACK_CC,
	KINDS
};

static const char *const pack_options[KINDS][7] = {
	[PACK_HALF] = {"-si", "0.5"},
	[PACK_CC] = {"-cc", "-vp", "16", "-vt", "16", "-vn", "16"},
};

static cost measure(const char *self, int kind, const char *model, const char *out, int runs)
{
	char number[8], name[PATH_MAX + 8];
	snprintf(number, sizeof number, "%d", kind);
	snprintf(name, sizeof name, "%s%s", out, kind >= PACK ? ".glb" : "");
	const char *argv[16] = {self, "--run", number, model, name};
	if (kind >= PACK) {
		const char *gltfpack[] = {"gltfpack", "-i", model, "-o", name};
		memcpy(argv, gltfpack, sizeof gltfpack);
		for (int n = 5, i = 0; i < 7 && pack_options[kind][i]; i++)
			argv[n++] = pack_options[kind][i];
	}
	cost c = best((char *const *)(uintptr_t)argv, name, runs, kind < ASSIMP);
	unlink(name);
	return c;
}

static int compare(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void print_ratio(double theirs, double ours)
{
	if (theirs < 0 || ours < 0)
		printf(" %8s", "-");
	else
		printf(" %8.2f", theirs / ours);
}

enum { RATIOS = 7 };
static const struct {
	const char *name;
	int theirs, ours;
} ratios[RATIOS] = {{"assimp", ASSIMP, OURS_ONE},	   {"a.+lods", ASSIMP_LEVELS, OURS_ALL},
					{"gltfpack", PACK, OURS_ONE},	   {"g./prev.", PACK, OURS_PREVIEW},
					{"g.-si .5", PACK_HALF, OURS_ALL}, {"i.+w.+o.", ASSIMP, OURS_BAKE},
					{"2 cores", OURS_FULL, OURS_TWO}};

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "--run") == 0) {
		int kind = atoi(argv[2]);
		if (kind == OURS_BAKE)
			import_weld_order(argv[3]);
		else if (kind < START)
			cook((size_t)kind, argv[3], argv[4]);
		else if (kind > START)
			assimp(argv[3], kind == ASSIMP_LEVELS);
		return 0;
	}
	const char *temp = getenv("TMPDIR");
	char out[PATH_MAX], self[] = "/proc/self/exe";
	snprintf(out, sizeof out, "%s/hob-bench-%d", temp ? temp : "/tmp", (int)getpid());
	static double all[RATIOS + 1][256];
	size_t counts[RATIOS + 1] = {0};
	printf("CPU seconds (user + system) of whole processes, least of a few runs\n%-28s %8s %8s %8s %8s "
		   "%8s %8s %8s %8s",
		   "model", "one lod", "lods", "+meshl.", "preview", "assimp", "a.+lods", "gltfpack", "g.-si .5");
	printf(" | theirs / ours:");
	for (int r = 0; r < RATIOS; r++)
		printf(" %8s", ratios[r].name);
	printf(" | MB: %7s %7s %7s\n", "ours", "g. -cc", "/");
	for (int m = 1; m < argc && m <= 256; m++) {
		struct stat info;
		int runs = stat(argv[m], &info) == 0 && info.st_size > 20000000 ? 1 : 3;
		cost c[KINDS];
		for (int kind = 0; kind < KINDS; kind++)
			c[kind] = measure(self, kind, argv[m], out, runs);
		static const int shown[] = {OURS_ONE, OURS_ALL,		 OURS_FULL, OURS_PREVIEW,
									ASSIMP,	  ASSIMP_LEVELS, PACK,		PACK_HALF};
		printf("%-28.28s", strrchr(argv[m], '/') ? strrchr(argv[m], '/') + 1 : argv[m]);
		for (size_t i = 0; i < HOB_COUNT_OF(shown); i++)
			printf(" %8.3f", c[shown[i]].cpu);
		printf(" |               ");
		for (int r = 0; r < RATIOS; r++) {
			bool wall = ratios[r].ours == OURS_TWO;
			double theirs = wall ? c[ratios[r].theirs].wall : c[ratios[r].theirs].cpu;
			double ours = wall ? c[ratios[r].ours].wall : c[ratios[r].ours].cpu;
			if (ratios[r].ours == OURS_BAKE && theirs >= 0 && ours >= 0)
				theirs -= c[START].cpu, ours -= c[START].cpu;
			print_ratio(theirs, ours);
			if (theirs >= 0 && ours >= 0)
				all[r][counts[r]++] = theirs / ours;
		}
		printf(" |     %7.2f %7.2f", c[OURS_PACKED].bytes / 1e6, c[PACK_CC].bytes / 1e6);
		print_ratio(c[PACK_CC].bytes, c[OURS_PACKED].bytes);
		if (c[PACK_CC].bytes > 0)
			all[RATIOS][counts[RATIOS]++] = c[PACK_CC].bytes / c[OURS_PACKED].bytes;
		printf("\n");
		fflush(stdout);
	}
	printf("%-100s |               ", "median");
	for (int r = 0; r <= RATIOS; r++) {
		qsort(all[r], counts[r], sizeof(double), compare);
		if (r == RATIOS)
			printf(" |     %15s", "");
		print_ratio(counts[r] ? all[r][counts[r] / 2] : -1, 1);
	}
	printf("\n");
	return 0;
}
