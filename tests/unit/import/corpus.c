/* Imports every model of the corpus, each in a child process, and prints a table by format. The corpus is not
 * part of the project: HOB_CORPUS names its folder; default "../shared/corpus" beside the checkout; without
 * one the test is skipped. Every loss must have a note with the reason (core/import/census.h).
 * HOB_CORPUS_ONLY=fbx,obj restricts the formats, HOB_CORPUS_VERBOSE=1 prints every file. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support.h"

#include "core/import/importer.h"

/* ---- io over a folder */

typedef struct disk_io {
	hob_io io;
	const char *root;
	hob_arena arena;
} disk_io;

static bool disk_read(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	disk_io *disk = user;
	char name[4096];
	snprintf(name, sizeof name, "%s/%.*s", disk->root, HOB_FMT(path));
	struct stat info;
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
		if (fd >= 0)
			close(fd);
		return hob_fail(err, MISSING_FILE, "'%.*s' does not exist", HOB_FMT(path));
	}
	uint8_t *data = hob_arena_alloc(&disk->arena, (size_t)info.st_size, 1);
	size_t got = 0;
	for (ssize_t n; data && (n = read(fd, data + got, (size_t)info.st_size - got)) > 0;)
		got += (size_t)n;
	close(fd);
	if (!data || got != (size_t)info.st_size)
		return hob_fail(err, IO, "'%.*s' cannot be read", HOB_FMT(path));
	*out = (hob_bytes){data, got};
	return true;
}

/* ---- one file */

typedef struct outcome {
	bool imported;
	hob_err_code code;
	uint64_t triangles, faces, vertices; /* faces: triangles, lines and points */
	uint32_t nodes, meshes, materials, clips, skins, images, notes, lost;
	char text[400];
} outcome;

static uint64_t elements(const hob_mesh *mesh)
{
	return mesh->index_count / (mesh->topology == HOB_TRIANGLES ? 3 : mesh->topology == HOB_LINES ? 2 : 1);
}

static outcome import_file(const char *root, hob_str path)
{
	outcome result = {0};
	disk_io disk = {.root = root};
	disk.io = (hob_io){.user = &disk, .read = disk_read};
	hob_arena_init(&disk.arena, (size_t)4 << 30);
	hob_arena model_arena, scratch;
	hob_arena_init(&model_arena, (size_t)3 << 30);
	hob_arena_init(&scratch, (size_t)3 << 30);
	static hob_notes notes;
	notes = (hob_notes){.arena = &model_arena};
	hob_error err = {0};
	hob_model model = {0};
	hob_import_request request = {
		.io = &disk.io, .path = path, .result = &model_arena, .scratch = &scratch, .notes = &notes};
	const hob_importer *importer = hob_importer_for(path);
	if (!importer)
		hob_fail(&err, UNSUPPORTED, "no importer claims it");
	else if (disk.io.read(disk.io.user, path, &request.file, &err))
		result.imported = hob_import(&request, &importer, &model, &err);
	result.code = err.code;
	snprintf(result.text, sizeof result.text, "%s", err.context);
	if (result.imported) {
		for (uint32_t i = 0; i < model.mesh_count; i++) {
			result.triangles += model.meshes[i].topology == HOB_TRIANGLES ? elements(&model.meshes[i]) : 0;
			result.faces += elements(&model.meshes[i]);
			result.vertices += model.meshes[i].vertex_count;
		}
		result.nodes = model.node_count;
		result.meshes = model.mesh_count;
		result.materials = model.material_count;
		result.clips = model.clip_count;
		result.skins = model.skin_count;
		result.images = model.image_count;
		result.notes = notes.count;
		for (uint32_t i = 0; i < notes.count; i++)
			result.lost += hob_str_equal(notes.items[i].code, HOB_STR("import.lost"));
		if (notes.count > 0) /* import.lost is the last note */
			snprintf(result.text, sizeof result.text, "%.*s",
					 HOB_FMT(notes.items[result.lost ? notes.count - 1 : 0].text));
		if (getenv("HOB_CORPUS_NOTES"))
			for (uint32_t i = 0; i < notes.count; i++)
				fprintf(stderr, "  note %.*s x%u: %.*s\n", HOB_FMT(notes.items[i].code), notes.items[i].count,
						HOB_FMT(notes.items[i].text));
	}
	hob_arena_release(&model_arena);
	hob_arena_release(&scratch);
	hob_arena_release(&disk.arena);
	return result;
}

/* True when the child reported a result; else *signal_number is the cause of its end. */
static bool import_in_child(const char *root, hob_str path, outcome *result, int *signal_number)
{
	int pipes[2];
	assert_int_equal(pipe(pipes), 0);
	fflush(NULL);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(pipes[0]);
		/* cmocka would turn a fault into a test result of the child's; it must die instead. */
		static const int faults[] = {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS};
		for (size_t i = 0; i < HOB_COUNT_OF(faults); i++)
			signal(faults[i], SIG_DFL);
		setrlimit(RLIMIT_CPU, &(struct rlimit){60, 60});
		outcome made = import_file(root, path);
		bool sent = write(pipes[1], &made, sizeof made) == (ssize_t)sizeof made;
		_exit(sent ? 0 : 1);
	}
	close(pipes[1]);
	bool whole = read(pipes[0], result, sizeof *result) == (ssize_t)sizeof *result;
	close(pipes[0]);
	int status = 0;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	*signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : whole ? 0 : SIGABRT;
	return whole;
}

/* ---- the table */

typedef struct format_row {
	char name[16];
	unsigned files, imported, refused, died, other_count, worse, lost;
} format_row;

static format_row *row_of(format_row *rows, unsigned *count, const char *format)
{
	for (unsigned i = 0; i < *count; i++)
		if (strcmp(rows[i].name, format) == 0)
			return &rows[i];
	assert_true(*count < 64);
	format_row *row = &rows[(*count)++];
	snprintf(row->name, sizeof row->name, "%s", format);
	return row;
}

static unsigned split(char *line, char *fields[], unsigned most)
{
	unsigned count = 0;
	for (char *at = line; at && count < most;) {
		fields[count++] = at;
		at = strchr(at, '\t');
		if (at)
			*at++ = 0;
	}
	return count;
}

/* Separate tests check the counts of glTF and USD. */
static bool is_counted(const char *path, const char *format)
{
	if (strncmp(path, "gltf1/", 6) == 0)
		return true;
	if (strcmp(path, "off/assimp/invalid.off") == 0) /* none of its faces has three corners */
		return false;
	static const char *const skipped[] = {"format", "gltf", "glb", "usd", "usda", "usdc", "usdz"};
	for (size_t i = 0; i < HOB_COUNT_OF(skipped); i++)
		if (strcmp(format, skipped[i]) == 0)
			return false;
	return true;
}

static bool is_wanted(const char *format)
{
	const char *only = getenv("HOB_CORPUS_ONLY");
	return !only || hob_str_find(hob_str_of(only), hob_str_of(format), 0) != SIZE_MAX;
}

static void corpus_imports(void **state)
{
	(void)state;
	const char *root = getenv("HOB_CORPUS");
	if (!root)
		root = HOB_TEST_DATA "/../../../shared/corpus";
	char index_path[4096];
	snprintf(index_path, sizeof index_path, "%s/INDEX.tsv", root);
	FILE *index = fopen(index_path, "r");
	if (!index) {
		print_message("skipped: there is no corpus at %s (set HOB_CORPUS)\n", root);
		skip();
	}
	static format_row rows[64];
	unsigned row_count = 0, worse = 0, lost = 0;
	bool verbose = getenv("HOB_CORPUS_VERBOSE") != NULL;
	static char line[65536];
	while (fgets(line, sizeof line, index)) {
		char *fields[24] = {0};
		if (split(line, fields, 24) < 14 || !is_wanted(fields[1]))
			continue;
		hob_str path = hob_str_of(fields[0]);
		outcome made = {0};
		int signal_number = 0;
		bool lived = import_in_child(root, path, &made, &signal_number);
		format_row *row = row_of(rows, &row_count, fields[1]);
		row->files++;
		bool judged = is_counted(fields[0], fields[1]);
		bool assimp_reads = judged && strcmp(fields[13], "ok") == 0;
		uint64_t expected = strtoull(fields[4], NULL, 10);
		bool counted = judged && fields[4][0] && made.triangles != expected && made.faces != expected;
		row->imported += made.imported;
		row->refused += lived && !made.imported;
		row->died += !lived;
		row->other_count += made.imported && counted;
		bool is_worse = assimp_reads && !made.imported && hob_importer_for(path);
		row->worse += is_worse;
		worse += is_worse;
		row->lost += made.lost;
		lost += made.lost;
		if (verbose || is_worse || (judged && !made.imported) || counted || made.lost > 0)
			print_message("%s: %s%s, %llu triangles of %llu faces, index says %s (assimp %s), %u nodes %u "
						  "meshes %u materials %u images %u clips %u skins %u notes; %s\n",
						  fields[0], lived ? hob_err_name(made.code) : "died of signal ",
						  lived ? "" : strsignal(signal_number), (unsigned long long)made.triangles,
						  (unsigned long long)made.faces, fields[4], fields[13], made.nodes, made.meshes,
						  made.materials, made.images, made.clips, made.skins, made.notes, made.text);
	}
	fclose(index);
	print_message("%-10s %6s %9s %8s %6s %12s %6s\n", "format", "files", "imported", "refused", "died",
				  "other count", "lost");
	for (unsigned i = 0; i < row_count; i++)
		print_message("%-10s %6u %9u %8u %6u %12u %6u\n", rows[i].name, rows[i].files, rows[i].imported,
					  rows[i].refused, rows[i].died, rows[i].other_count, rows[i].lost);
	assert_int_equal(worse, 0);
	assert_int_equal(lost, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(corpus_imports)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
