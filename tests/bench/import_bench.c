/* Import only, ours compared with Assimp with the flags of the reference converter: seconds of CPU and peak
 * memory. Each measurement is a separate process, the minimum of five. A file below 1 MB is imported once
 * unmeasured and then repeatedly, as a cook process does with successive models, and the minimum of eight
 * series counts; see import.sh. */
#include "core/import/importers.h"

#include <assimp/cimport.h>
#include <assimp/postprocess.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const unsigned seed_flags = aiProcess_JoinIdenticalVertices | aiProcess_Triangulate |
								   aiProcess_GenSmoothNormals | aiProcess_LimitBoneWeights |
								   aiProcess_SplitLargeMeshes | aiProcess_ImproveCacheLocality |
								   aiProcess_RemoveRedundantMaterials | aiProcess_FindDegenerates |
								   aiProcess_FindInvalidData | aiProcess_GenUVCoords;

typedef struct cost {
	double seconds, megabytes;
	bool ok;
} cost;

static bool no_file(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	(void)user;
	(void)out;
	return hob_fail(err, MISSING_FILE, "'%.*s' does not exist", HOB_FMT(path));
}

static double cpu(void)
{
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	return (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec +
		   1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static bool ours(const char *model)
{
	static hob_notes notes;
	FILE *file = fopen(model, "rb");
	if (!file || fseek(file, 0, SEEK_END) != 0)
		return false;
	size_t size = (size_t)ftell(file);
	uint8_t *data = malloc(size + 1);
	rewind(file);
	if (!data || fread(data, 1, size, file) != size)
		return false;
	fclose(file);
	memset(&notes, 0, sizeof notes);
	hob_arena result, scratch;
	hob_arena_init(&result, (size_t)3 << 30);
	hob_arena_init(&scratch, (size_t)3 << 30);
	notes.arena = &scratch;
	hob_io io = {.read = no_file};
	hob_error err = {0};
	hob_model out;
	hob_import_request request = {.io = &io,
								  .path = HOB_STR("model.fbx"),
								  .file = {data, size},
								  .result = &result,
								  .scratch = &scratch,
								  .notes = &notes};
	const hob_importer *importer = hob_importer_for(hob_str_of(model));
	bool done = importer && hob_import_by(importer, &request, &out, &err) && hob_model_check(&out, &err);
	hob_arena_release(&result);
	hob_arena_release(&scratch);
	free(data);
	return done;
}

static bool theirs(const char *model)
{
	const struct aiScene *scene = aiImportFile(model, seed_flags);
	if (scene)
		aiReleaseImport(scene);
	return scene != NULL;
}

static bool import(const char *model, bool assimp)
{
	return assimp ? theirs(model) : ours(model);
}

/* Times repeated imports of a small file: the first one mostly measures page faults of the new process. */
static double again_and_again(const char *model, bool assimp)
{
	double least = 1e9;
	for (int spell = 0; spell < 8; spell++) {
		double begin = cpu(), spent;
		int count = 0;
		do {
			import(model, assimp);
			count++;
			spent = cpu() - begin;
		} while (spent < 0.003);
		least = spent / count < least ? spent / count : least;
	}
	return least;
}

static cost measure(const char *model, bool assimp, bool small)
{
	cost best = {1e9, 1e9, false};
	cost *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int run = 0; run < 5 && shared != MAP_FAILED; run++) {
		pid_t child = fork();
		if (child == 0) {
			double begin = cpu();
			shared->ok = import(model, assimp);
			shared->seconds = cpu() - begin;
			if (small && shared->ok)
				shared->seconds = again_and_again(model, assimp);
			_exit(0);
		}
		struct rusage use;
		int status;
		if (child < 0 || wait4(child, &status, 0, &use) < 0 || status != 0 || !shared->ok)
			return best;
		double megabytes = (double)use.ru_maxrss / 1024;
		best.seconds = shared->seconds < best.seconds ? shared->seconds : best.seconds;
		best.megabytes = megabytes < best.megabytes ? megabytes : best.megabytes;
		best.ok = true;
	}
	return best;
}

int main(int argc, char **argv)
{
	printf(
		"| file | MB | ours s | Assimp s | ratio | ours MB | Assimp MB |\n|---|---|---|---|---|---|---|\n");
	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		if (!file || fseek(file, 0, SEEK_END) != 0)
			continue;
		double size = (double)ftell(file) / 1e6;
		fclose(file);
		cost a = measure(argv[i], false, size < 1), b = measure(argv[i], true, size < 1);
		const char *name = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i];
		if (a.ok && b.ok)
			printf("| %s | %.2f | %.6f | %.6f | %.1f | %.1f | %.1f |\n", name, size, a.seconds, b.seconds,
				   b.seconds / a.seconds, a.megabytes, b.megabytes);
		else
			printf("| %s | %.2f | %s | %s | | | |\n", name, size, a.ok ? "read" : "refused",
				   b.ok ? "read" : "refused");
		fflush(stdout);
	}
	return 0;
}
