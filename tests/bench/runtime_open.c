/* runtime_open.c - opening a large cooked scene in place, compared with reading the same glTF with Assimp and
 * copying its bytes.
 *
 *   runtime_open HOB FOLDER [MEGABYTES]
 *
 * Writes FOLDER/scene.gltf, a few hundred tessellated waves under a tree of nodes, cooks it with HOB and
 * takes the median processor time of several rounds. Files are in the page cache; every round maps them
 * again. */
#include "core/runtime/hob_runtime.h"

#include <assimp/cimport.h>
#include <assimp/scene.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SIDE = 100, VERTICES = SIDE * SIDE, INDICES = (SIDE - 1) * (SIDE - 1) * 6, ROUNDS = 9 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double median(double *times, int count)
{
	qsort(times, (size_t)count, sizeof *times, ascending);
	return times[count / 2];
}

static void check(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

/* ---- the source */

static void put_wave(FILE *bin, uint32_t mesh)
{
	static float vertices[VERTICES][8];
	static uint32_t indices[INDICES];
	uint32_t *at = indices;
	for (uint32_t v = 0; v < VERTICES; v++) {
		float x = (float)(v % SIDE) / (SIDE - 1), z = (float)(v / SIDE) / (SIDE - 1);
		float phase = (float)mesh * 0.37f, slope = 0.6f * cosf(6 * x + phase) * cosf(5 * z);
		float length = sqrtf(slope * slope + 1);
		const float values[8] = {
			x, 0.1f * sinf(6 * x + phase) * cosf(5 * z), z, -slope / length, 1 / length, 0, x, z};
		memcpy(vertices[v], values, sizeof values);
	}
	for (uint32_t row = 0; row + 1 < SIDE; row++)
		for (uint32_t column = 0; column + 1 < SIDE; column++) {
			uint32_t v = row * SIDE + column;
			const uint32_t quad[6] = {v, v + SIDE, v + 1, v + 1, v + SIDE, v + SIDE + 1};
			memcpy(at, quad, sizeof quad);
			at += 6;
		}
	fwrite(vertices, sizeof vertices, 1, bin);
	fwrite(indices, sizeof indices, 1, bin);
}

static void write_source(const char *folder, uint32_t meshes)
{
	char path[4096];
	const size_t part = VERTICES * 32 + INDICES * 4;
	snprintf(path, sizeof path, "%s/scene.bin", folder);
	FILE *bin = fopen(path, "wb");
	check(bin != NULL, path);
	for (uint32_t m = 0; m < meshes; m++)
		put_wave(bin, m);
	check(fclose(bin) == 0, path);
	snprintf(path, sizeof path, "%s/scene.gltf", folder);
	FILE *json = fopen(path, "w");
	check(json != NULL, path);
	fprintf(json,
			"{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"buffers\":[{\"uri\":"
			"\"scene.bin\",\"byteLength\":%zu}],\"bufferViews\":[",
			part * meshes);
	for (uint32_t m = 0; m < meshes; m++)
		fprintf(json,
				"%s{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%d,\"byteStride\":32},{\"buffer\":0,"
				"\"byteOffset\":%zu,\"byteLength\":%d}",
				m ? "," : "", part * m, VERTICES * 32, part * m + VERTICES * 32, INDICES * 4);
	fputs("],\"accessors\":[", json);
	for (uint32_t m = 0; m < meshes; m++)
		fprintf(
			json,
			"%s{\"bufferView\":%u,\"componentType\":5126,\"count\":%d,\"type\":\"VEC3\",\"min\":[0,-0.1,0],"
			"\"max\":[1,0.1,1]},{\"bufferView\":%u,\"byteOffset\":12,\"componentType\":5126,\"count\":%d,"
			"\"type\":\"VEC3\"},{\"bufferView\":%u,\"byteOffset\":24,\"componentType\":5126,\"count\":%d,"
			"\"type\":\"VEC2\"},{\"bufferView\":%u,\"componentType\":5125,\"count\":%d,\"type\":\"SCALAR\"}",
			m ? "," : "", m * 2, VERTICES, m * 2, VERTICES, m * 2, VERTICES, m * 2 + 1, INDICES);
	fputs("],\"meshes\":[", json);
	for (uint32_t m = 0; m < meshes; m++)
		fprintf(json,
				"%s{\"name\":\"wave %u\",\"primitives\":[{\"attributes\":{\"POSITION\":%u,\"NORMAL\":%u,"
				"\"TEXCOORD_0\":%u},\"indices\":%u}]}",
				m ? "," : "", m, m * 4, m * 4 + 1, m * 4 + 2, m * 4 + 3);
	fputs("],\"nodes\":[{\"children\":[", json);
	for (uint32_t m = 0; m < meshes; m++)
		fprintf(json, "%s%u", m ? "," : "", m + 1);
	fputs("]}", json);
	for (uint32_t m = 0; m < meshes; m++)
		fprintf(json, ",{\"name\":\"node %u\",\"mesh\":%u,\"translation\":[%u,0,%u]}", m, m, m % 20, m / 20);
	fputs("]}", json);
	check(fclose(json) == 0, path);
}

/* ---- the rounds */

static hob_rt_blob map(const char *folder, const char *extension)
{
	char path[4096];
	struct stat facts;
	snprintf(path, sizeof path, "%s/out/scene.gltf.%s", folder, extension);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return (hob_rt_blob){NULL, 0};
	check(fstat(file, &facts) == 0, path);
	void *data = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	check(data != MAP_FAILED, path);
	close(file);
	return (hob_rt_blob){data, (size_t)facts.st_size};
}

static void unmap(hob_rt_blob blob)
{
	if (blob.data)
		munmap((void *)(uintptr_t)blob.data, blob.size);
}

static double open_in_place(const char *folder, bool trust, uint32_t *draws)
{
	hob_rt_asset *asset;
	hob_rt_instance *instance;
	hob_rt_error error;
	const hob_rt_options options = {.trust_indices = trust};
	double begin = now();
	hob_rt_files files = {map(folder, "meshes"), map(folder, "materials"), map(folder, "scene"), {NULL, 0}};
	if (!hob_rt_open(&files, &options, &asset, &error) || !hob_rt_instance_open(asset, &instance, &error)) {
		fprintf(stderr, "runtime_open: %s\n", error.text);
		exit(1);
	}
	double time = now() - begin;
	*draws = asset->draw_count;
	hob_rt_instance_close(instance);
	hob_rt_close(asset);
	unmap(files.meshes);
	unmap(files.materials);
	unmap(files.scene);
	return time;
}

static volatile uint32_t kept; /* keeps the reads from being optimised away */

static double copy_bytes(const char *folder, size_t *size)
{
	hob_rt_blob blob = map(folder, "meshes");
	uint8_t *copy = malloc(blob.size);
	check(copy != NULL, "malloc");
	memset(copy, 1, blob.size);
	for (size_t i = 0; i < blob.size; i += 4096)
		kept ^= ((const uint8_t *)blob.data)[i];
	double begin = now();
	memcpy(copy, blob.data, blob.size);
	double time = now() - begin;
	kept ^= copy[blob.size / 2];
	*size = blob.size;
	free(copy);
	unmap(blob);
	return time;
}

static double read_with_assimp(const char *folder, uint32_t *meshes)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/scene.gltf", folder);
	double begin = now();
	const struct aiScene *scene = aiImportFile(path, 0);
	double time = now() - begin;
	if (!scene) {
		fprintf(stderr, "runtime_open: %s\n", aiGetErrorString());
		exit(1);
	}
	*meshes = scene->mNumMeshes;
	aiReleaseImport(scene);
	return time;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("usage: runtime_open HOB FOLDER [MEGABYTES]\n", stderr);
		return 2;
	}
	const char *folder = argv[2];
	const double wanted = (argc > 3 ? atof(argv[3]) : 100) * 1e6;
	/* Vertices stay exact, indices become 16-bit. */
	const uint32_t meshes = (uint32_t)(wanted / (VERTICES * 32 + INDICES * 2)) + 1;
	char command[9000];
	write_source(folder, meshes);
	snprintf(
		command, sizeof command,
		"'%s' cook '%s/scene.gltf' -o '%s/out' -q --settings '{\"lods\":{\"max\":1},\"meshlets\":false}'",
		argv[1], folder, folder);
	if (system(command) != 0)
		return 1;
	double tested[ROUNDS], trusted[ROUNDS], copied[ROUNDS], read[3];
	uint32_t draws = 0, imported = 0;
	size_t size = 0;
	for (int i = 0; i < 3; i++)
		read[i] = read_with_assimp(folder, &imported);
	for (int i = 0; i < ROUNDS; i++) {
		copied[i] = copy_bytes(folder, &size);
		tested[i] = open_in_place(folder, false, &draws);
		trusted[i] = open_in_place(folder, true, &draws);
	}
	double assimp = median(read, 3), copy = median(copied, ROUNDS), open_tested = median(tested, ROUNDS),
		   open_trusted = median(trusted, ROUNDS);
	printf("%u meshes, %.1f MB of .meshes; milliseconds of processor time, median\n", meshes,
		   (double)size / 1e6);
	printf("  mapped and opened, every index tested   %9.3f  (%u draws)\n", open_tested, draws);
	printf("  mapped and opened, indices trusted      %9.3f\n", open_trusted);
	printf("  memcpy of the bytes, both sides warm    %9.3f  %8.1fx, %.1fx\n", copy, copy / open_tested,
		   copy / open_trusted);
	printf("  Assimp reads the glTF, no post-process  %9.3f  %8.1fx, %.1fx  (%u meshes)\n", assimp,
		   assimp / open_tested, assimp / open_trusted, imported);
	return 0;
}
