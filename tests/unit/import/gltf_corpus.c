/* The glTF importer against real models and an independent oracle.
 *
 * HOB_CORPUS names a folder with ORACLE-gltf.tsv (facts computed by glTF-Transform) and bad/INDEX.tsv
 * (hostile files with their expected results); default ../shared/corpus beside the source. Without it the
 * tests are skipped, with a message. HOB_CORPUS_LIST=1 prints the result of every file. */
#include "tests/unit/support.h"

#include "core/import/importers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- files */

typedef struct disk {
	hob_io io;
	const char *root;
	uint8_t *kept[4096];
	size_t kept_count;
} disk_t;

static bool disk_read(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	disk_t *disk = user;
	char name[4096];
	snprintf(name, sizeof name, "%s/%.*s", disk->root, HOB_FMT(path));
	FILE *file = fopen(name, "rb");
	if (!file)
		return hob_fail(err, MISSING_FILE, "'%.*s' does not exist", HOB_FMT(path));
	struct stat info;
	bool ok = fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode);
	off_t size = ok ? info.st_size : 0;
	uint8_t *data = malloc((size_t)size + 1);
	ok = ok && data && fread(data, 1, (size_t)size, file) == (size_t)size &&
		 disk->kept_count < HOB_COUNT_OF(disk->kept);
	fclose(file);
	if (!ok) {
		free(data);
		return hob_fail(err, IO, "cannot read '%.*s'", HOB_FMT(path));
	}
	disk->kept[disk->kept_count++] = data;
	*out = (hob_bytes){data, (size_t)size};
	return true;
}

typedef struct session {
	disk_t disk;
	hob_arena result, scratch;
	hob_notes *notes;
	hob_model model;
	hob_error error;
} session_t;

static bool session_import(session_t *s, const char *root, const char *path)
{
	memset(s, 0, sizeof *s);
	s->disk.root = root;
	s->disk.io = (hob_io){.user = &s->disk, .read = disk_read};
	hob_arena_init(&s->result, (size_t)1 << 31);
	hob_arena_init(&s->scratch, (size_t)1 << 31);
	s->notes = calloc(1, sizeof *s->notes);
	s->notes->arena = &s->result;
	hob_import_request request = {.io = &s->disk.io,
								  .path = hob_str_of(path),
								  .result = &s->result,
								  .scratch = &s->scratch,
								  .notes = s->notes};
	return disk_read(&s->disk, request.path, &request.file, &s->error) &&
		   hob_import_by(&hob_gltf_importer, &request, &s->model, &s->error);
}

static void session_close(session_t *s)
{
	hob_arena_release(&s->result);
	hob_arena_release(&s->scratch);
	free(s->notes);
	for (size_t i = 0; i < s->disk.kept_count; i++)
		free(s->disk.kept[i]);
}

/* ---- facts of a model, computed naively */

typedef struct facts {
	double scenes, triangles, instances, draws, min[3], max[3], clips, channels, time, joints, targets;
} facts_t;

static void add_mesh(const hob_mesh *mesh, const float world[16], facts_t *f)
{
	f->draws += 1;
	f->triangles += mesh->topology == HOB_TRIANGLES ? mesh->index_count / 3 : 0;
	for (uint32_t v = 0; v < mesh->vertex_count; v++)
		for (int row = 0; row < 3; row++) {
			const float *p = mesh->position + (size_t)v * 3;
			double x = (double)world[row] * p[0] + (double)world[4 + row] * p[1] +
					   (double)world[8 + row] * p[2] + world[12 + row];
			f->min[row] = fmin(f->min[row], x);
			f->max[row] = fmax(f->max[row], x);
		}
}

static void add_scene(const hob_model *m, facts_t *f)
{
	float(*world)[16] = calloc(m->node_count + 1, sizeof *world);
	bool *shown = calloc(m->node_count + 1, sizeof *shown);
	const hob_scene *scene = &m->scenes[m->default_scene];
	for (uint32_t i = 0; i < scene->root_count; i++)
		shown[m->scene_roots[scene->root_first + i]] = true;
	for (uint32_t i = 0; i < m->node_count; i++) {
		const hob_node *node = &m->nodes[i];
		hob_node_local_matrix(node, world[i]);
		if (node->parent != HOB_NONE) {
			shown[i] = shown[i] || shown[node->parent];
			hob_matrix_multiply(world[node->parent], world[i], world[i]);
		}
		if (!shown[i])
			continue;
		f->instances += node->mesh_count > 0;
		for (uint32_t k = 0; k < node->mesh_count; k++)
			add_mesh(&m->meshes[m->mesh_refs[node->mesh_first + k]], world[i], f);
	}
	free(world);
	free(shown);
}

static facts_t facts_of(const hob_model *m)
{
	facts_t f = {.scenes = m->scene_count, .clips = m->clip_count};
	for (int i = 0; i < 3; i++)
		f.min[i] = INFINITY, f.max[i] = -INFINITY;
	add_scene(m, &f);
	for (uint32_t i = 0; i < m->clip_count; i++) {
		f.channels += m->clips[i].channel_count;
		for (uint32_t k = 0; k < m->clips[i].track_count; k++) {
			const hob_track *track = &m->clips[i].tracks[k];
			f.time = fmax(f.time, track->times[track->key_count - 1]);
		}
	}
	for (uint32_t i = 0; i < m->skin_count; i++)
		f.joints = fmax(f.joints, m->skins[i].joint_count);
	for (uint32_t i = 0; i < m->mesh_count; i++)
		f.targets = fmax(f.targets, m->meshes[i].target_count);
	return f;
}

/* ---- the oracle */

enum { COLUMNS = 24 };

static size_t split(char *line, char *columns[COLUMNS])
{
	size_t count = 0;
	line[strcspn(line, "\r\n")] = 0;
	for (char *at = line; at && count < COLUMNS;)
		columns[count++] = strsep(&at, "\t");
	return count;
}

static size_t compare(const char *name, double ours, const char *text, double tolerance, char *out,
					  size_t room)
{
	double theirs = strtod(text, NULL);
	if (text[0] == 0 || fabs(ours - theirs) <= tolerance)
		return 0;
	int size = snprintf(out, room, " %s %g, oracle %g;", name, ours, theirs);
	return size > 0 && (size_t)size < room ? (size_t)size : 0;
}

static void compare_all(const facts_t *f, char *const *c, char *out, size_t room)
{
	size_t at = 0;
	out[0] = 0;
	at += compare("scenes", f->scenes, c[1], 0, out + at, room - at);
	at += compare("triangles", f->triangles, c[2], 0, out + at, room - at);
	at += compare("mesh instances", f->instances, c[4], 0, out + at, room - at);
	at += compare("draws", f->draws, c[5], 0, out + at, room - at);
	at += compare("clips", f->clips, c[8], 0, out + at, room - at);
	at += compare("channels", f->channels, c[9], 0, out + at, room - at);
	at += compare("time", f->time, c[10], 1e-4 * (1 + f->time), out + at, room - at);
	at += compare("joints", f->joints, c[11], 0, out + at, room - at);
	at += compare("targets", f->targets, c[12], 0, out + at, room - at);
	double size = 0;
	for (int i = 0; i < 3 && f->draws > 0; i++)
		size = fmax(size, f->max[i] - f->min[i]);
	char *lists[2] = {c[6], c[7]};
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < 3 && lists[side] && lists[side][0]; i++) {
			char *number = strsep(&lists[side], ",");
			double ours = side ? f->max[i] : f->min[i];
			at += compare(side ? "max" : "min", ours, number, 1e-4 * size + 1e-6, out + at, room - at);
		}
}

/* Results that differ intentionally; any other difference fails the test. */
static const struct {
	const char *path, *why;
} explained[] = {
	{"gltf/draco/CubeScaledInstances/", "a node with several parents is no tree: refused"},
	{"gltf/khronos/SimpleInstancing/", "EXT_mesh_gpu_instancing is drawn, the oracle counts one instance"},
	{"restricted/", "may be missing from the folder"},
	{"assimp/glTF/IncorrectVertexArrays/Cube_v1.gltf", "glTF 1.0 is not read"},
	{"assimp/glTF2/BoxWithInfinites-glTF-Binary/", "not one position is finite"},
	{"assimp/glTF2/wrongTypes/badUint.gltf", "a reference to no texture costs that texture, with a note"},
	{"gen/gltf/anim-", "a channel that cannot be read costs that channel, with a note"},
	{"gen/gltf/cam-", "a camera out of range is left out, with a note"},
	{"gen/gltf/mat-tex-oob.gltf", "a reference to no texture costs that texture, with a note"},
	{"wild/babylon-morphLoader/", "one primitive of two has targets: the other keeps still, with a note"},
	{"gen/gltf/node-root-has-parent.gltf", "real exporters do this: the root above is shown, with a note"},
	{"gltf-validator/", "strictness of a validator, not of a reader"},
};

static const char *explanation(const char *path)
{
	for (size_t i = 0; i < HOB_COUNT_OF(explained); i++)
		if (strncmp(path, explained[i].path, strlen(explained[i].path)) == 0)
			return explained[i].why;
	return NULL;
}

/* ---- tests */

static const char *corpus(void)
{
	static char folder[4096];
	const char *given = getenv("HOB_CORPUS");
	snprintf(folder, sizeof folder, "%s", given ? given : HOB_TEST_DATA "/../../../shared/corpus");
	return folder;
}

static FILE *open_table(const char *name)
{
	char path[4200];
	snprintf(path, sizeof path, "%s/%s", corpus(), name);
	FILE *file = fopen(path, "r");
	if (!file)
		print_message("skipped: there is no %s (set HOB_CORPUS)\n", path);
	return file;
}

static bool listing(void)
{
	return getenv("HOB_CORPUS_LIST") != NULL;
}

static void agrees_with_the_oracle(void **state)
{
	(void)state;
	FILE *table = open_table("ORACLE-gltf.tsv");
	if (!table)
		skip();
	char *line = NULL, *columns[COLUMNS];
	size_t capacity = 0, files = 0, equal = 0, refused = 0, unexplained = 0;
	session_t *s = malloc(sizeof *s);
	assert_true(getline(&line, &capacity, table) > 0);
	while (getline(&line, &capacity, table) > 0) {
		size_t count = split(line, columns);
		char difference[1024] = "";
		bool oracle_failed = count > 13 && columns[13][0];
		files++;
		if (!session_import(s, corpus(), columns[0])) {
			refused++;
			unexplained += !oracle_failed && !explanation(columns[0]);
			if (listing() || !oracle_failed)
				print_message("%s %s: %s: %s\n", oracle_failed ? "refused by both" : "REFUSED", columns[0],
							  hob_err_name(s->error.code), s->error.context);
		} else {
			hob_error why = {0};
			if (!hob_model_check(&s->model, &why))
				fail_msg("%s: the model breaks a rule: %s", columns[0], why.context);
			facts_t facts = facts_of(&s->model);
			if (count > 12 && !oracle_failed)
				compare_all(&facts, columns, difference, sizeof difference);
			equal += difference[0] == 0;
			unexplained += difference[0] && !explanation(columns[0]);
			if (difference[0])
				print_message("DIFFERS %s:%s\n", columns[0], difference);
			for (uint32_t i = 0; listing() && i < s->notes->count; i++)
				print_message("note %s: %.*s: %.*s\n", columns[0], HOB_FMT(s->notes->items[i].code),
							  HOB_FMT(s->notes->items[i].text));
		}
		session_close(s);
	}
	print_message("%zu files: %zu agree, %zu differ, %zu refused, all explained but %zu\n", files, equal,
				  files - equal - refused, refused, unexplained);
	free(s);
	free(line);
	fclose(table);
	assert_int_equal(unexplained, 0);
}

static void survives_hostile_files(void **state)
{
	(void)state;
	FILE *table = open_table("bad/INDEX.tsv");
	if (!table)
		skip();
	char *line = NULL, *columns[COLUMNS], root[4200];
	snprintf(root, sizeof root, "%s/bad", corpus());
	size_t capacity = 0, files = 0, odd = 0, unexplained = 0;
	session_t *s = malloc(sizeof *s);
	while (getline(&line, &capacity, table) > 0) {
		size_t count = split(line, columns);
		const char *dot = strrchr(columns[0], '.');
		if (count < 4 || !dot || (strcasecmp(dot, ".gltf") != 0 && strcasecmp(dot, ".glb") != 0))
			continue;
		bool ok = session_import(s, root, columns[0]);
		hob_error why = {0};
		if (ok && !hob_model_check(&s->model, &why))
			fail_msg("%s: the model breaks a rule: %s", columns[0], why.context);
		bool should_fail = strcmp(columns[3], "reject") == 0,
			 should_pass = strcmp(columns[3], "accept") == 0 || strcmp(columns[3], "degrade") == 0;
		/* Valid files with nothing to cook are refused by design. */
		bool empty = !ok && s->error.code == HOB_ERR_EMPTY;
		bool surprise = (ok && should_fail) || (!ok && should_pass && !empty);
		files++;
		odd += surprise;
		unexplained += surprise && !explanation(columns[0]);
		if ((surprise && !explanation(columns[0])) || listing())
			print_message("%s %s (expected: %s): %s%s%s\n", surprise ? "ODD" : "   ", columns[0], columns[3],
						  ok ? "accepted" : hob_err_name(s->error.code), ok ? "" : ": ",
						  ok ? "" : s->error.context);
		session_close(s);
	}
	print_message("%zu hostile files, %zu other verdicts than the index, all explained but %zu\n", files, odd,
				  unexplained);
	free(s);
	free(line);
	fclose(table);
	assert_int_equal(unexplained, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_oracle),
		cmocka_unit_test(survives_hostile_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
