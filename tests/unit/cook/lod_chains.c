/* Chains of levels of detail are whole: each level has the share of triangles that `lods.ratio` asks for, or
 * a note says why not. Prints a table of chains that are missing, too short, off the ratio or that drop too
 * far in one level. The part that reads a corpus is skipped without one (corpus_model.h). */
#include "corpus_model.h"

#include "../families.h"

#include "core/mesh/bake.h"
#include "core/mesh/lods.h"

enum { MANY = 20000 };

static int begin(void **state)
{
	(void)state;
	hob_arena_init(&arena, (size_t)2 << 30);
	return 0;
}

static int end(void **state)
{
	(void)state;
	hob_arena_release(&arena);
	return 0;
}

typedef struct table {
	uint32_t meshes, noted, missing, shortened, off, jumps, wrong;
} table_t;

/* Whether a level has neither more nor fewer triangles than the ratio asks for, to 10 % and two triangles. */
static bool keeps_ratio(uint32_t before, uint32_t triangles, double ratio)
{
	double target = fmax(HOB_LOD_SMALL, floor(before * ratio));
	return fabs(triangles - target) <= 0.1 * target + 2;
}

/* Adds a chain to the table; prints it where it is irregular. */
static void add_chain(table_t *table, const char *model, const hob_baked_mesh *mesh,
					  const hob_mesh_options *options, const hob_notes *notes)
{
	const char *note = "";
	uint32_t full = mesh->lods[0].index_count / 3, last = mesh->lods[mesh->lod_count - 1].index_count / 3;
	double ratio = options->lod_ratio > 0 ? (double)options->lod_ratio : 0.5;
	bool off = false, jumps = false, missing = full >= HOB_LOD_WORTH && mesh->lod_count == 1;
	for (uint32_t i = 0; i < notes->count; i++)
		if (notes->items[i].code.len > 10 && memcmp(notes->items[i].code.data, "mesh.lods-", 10) == 0)
			note = notes->items[i].code.data;
	for (uint32_t l = 1; l < mesh->lod_count; l++) {
		uint32_t before = mesh->lods[l - 1].index_count / 3, triangles = mesh->lods[l].index_count / 3;
		off = off || !keeps_ratio(before, triangles, ratio);
		jumps = jumps || triangles < 0.6 * ratio * before;
	}
	bool is_short = full >= HOB_LOD_WORTH && last * 4 > full && mesh->lod_count < options->lod_max;
	bool wrong = jumps || ((missing || off || is_short) && !*note);
	table->meshes += full >= HOB_LOD_WORTH, table->noted += full >= HOB_LOD_WORTH && *note;
	table->missing += missing, table->off += off, table->shortened += is_short, table->jumps += jumps;
	table->wrong += wrong;
	if (!missing && !off && !is_short && !jumps)
		return;
	print_message("%s%s%s%s%s, %s:", wrong ? "WRONG " : "",
				  missing	 ? "missing "
				  : is_short ? "short "
							 : "",
				  off ? "off " : "", jumps ? "jumps " : "", model, *note ? note : "no note");
	for (uint32_t l = 0; l < mesh->lod_count; l++)
		print_message(" %u", mesh->lods[l].index_count / 3);
	print_message("\n");
}

static void bake_chain(table_t *table, const char *name, const hob_mesh *mesh,
					   const hob_mesh_options *options)
{
	hob_arena result, scratch;
	hob_arena_init(&result, (size_t)1 << 30);
	hob_arena_init(&scratch, (size_t)1 << 30);
	hob_notes notes = {.arena = &result};
	hob_baked_mesh baked = hob_mesh_bake(mesh, options, &result, &scratch, &notes);
	add_chain(table, name, &baked, options, &notes);
	hob_arena_release(&result);
	hob_arena_release(&scratch);
}

static void print_table(const table_t *t)
{
	print_message(
		"%u meshes of %u triangles or more: %u noted, %u missing, %u short, %u off the ratio, %u jump\n",
		t->meshes, HOB_LOD_WORTH, t->noted, t->missing, t->shortened, t->off, t->jumps);
}

static void generated_chains_are_whole(void **state)
{
	(void)state;
	static const float ratios[] = {0.5f, 0.25f, 0.7f, 0.9f};
	table_t table = {0};
	for (uint32_t i = 0; i < FAMILIES; i++) {
		hob_mesh mesh = family(i);
		for (size_t r = 0; r < HOB_COUNT_OF(ratios); r++) {
			char name[64];
			snprintf(name, sizeof name, "family %u at %g", i, (double)ratios[r]);
			const hob_mesh_options options = {.lod_max = 7, .lod_error = 0.1f, .lod_ratio = ratios[r]};
			bake_chain(&table, name, &mesh, &options);
		}
	}
	print_table(&table);
	assert_int_equal(table.wrong, 0);
}

/* Imports a model; false where it cannot be, as some of the corpus cannot. */
static bool import(const char *path, hob_arena *result, hob_arena *scratch, hob_model *model)
{
	hob_notes notes = {.arena = result};
	hob_io io = {.user = result, .read = corpus_read};
	hob_error err = {0};
	const hob_importer *importer;
	hob_space_override space = {0};
	hob_import_request request = {.io = &io,
								  .path = hob_str_of(path),
								  .result = result,
								  .scratch = scratch,
								  .notes = &notes,
								  .space = &space};
	return corpus_read(result, request.path, &request.file, &err) &&
		   hob_import(&request, &importer, model, &err);
}

static void bake_model(table_t *table, const char *path)
{
	hob_arena result, scratch;
	hob_model model;
	const hob_mesh_options options = {.lod_max = 7, .lod_error = 0.1f};
	hob_arena_init(&result, (size_t)2 << 30);
	hob_arena_init(&scratch, (size_t)2 << 30);
	bool ok = import(path, &result, &scratch, &model);
	for (uint32_t i = 0; ok && i < model.mesh_count; i++)
		if (model.meshes[i].topology == HOB_TRIANGLES)
			bake_chain(table, path, &model.meshes[i], &options);
	hob_arena_release(&result);
	hob_arena_release(&scratch);
}

/* Models of the corpus with HOB_LOD_WORTH to MANY triangles (HOB_CHAINS replaces MANY), by INDEX.tsv. */
static void corpus_chains_are_whole(void **state)
{
	(void)state;
	char name[PATH_MAX], line[8192];
	const char *most = getenv("HOB_CHAINS");
	table_t table = {0};
	skip_without_corpus();
	snprintf(name, sizeof name, "%s/INDEX.tsv", corpus());
	FILE *index = fopen(name, "r");
	assert_non_null(index);
	while (fgets(line, sizeof line, index)) {
		char *field[5] = {line};
		for (int i = 1; i < 5; i++) {
			field[i] = strchr(field[i - 1], '\t');
			assert_non_null(field[i]);
			*field[i]++ = 0;
		}
		long triangles = strtol(field[4], NULL, 10);
		if (triangles >= HOB_LOD_WORTH && triangles <= (most ? strtol(most, NULL, 10) : MANY))
			bake_model(&table, line);
	}
	fclose(index);
	print_table(&table);
	assert_int_equal(table.wrong, 0);
	assert_true(table.meshes > 100);
	assert_true(table.noted * 5 <= table.meshes || most);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(generated_chains_are_whole, begin, end),
		cmocka_unit_test(corpus_chains_are_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
