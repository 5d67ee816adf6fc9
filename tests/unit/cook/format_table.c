/* Checks schema/read_formats.def: rows agree with the readers, each picture format has a test file. */
#include "tests/unit/support.h"

#include "core/import/importer.h"
#include "core/texture/picture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
	const char *kind, *endings, *reader, *name, *kept, *lost, *tested;
} rows[] = {
#define READ_FORMAT(kind, endings, reader, name, kept, lost, tested)                                         \
	{kind, endings, reader, name, kept, lost, tested},
#include "schema/read_formats.def"
};

static bool is_model(size_t i)
{
	return strcmp(rows[i].kind, "model") == 0;
}

static bool has_ending(size_t i, hob_str ending)
{
	for (const char *at = rows[i].endings; *at; at += strspn(at, " ")) {
		size_t size = strcspn(at, " ");
		if (hob_str_equal((hob_str){at, size}, ending))
			return true;
		at += size;
	}
	return false;
}

static void each_row_says_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++) {
		assert_true(is_model(i) || strcmp(rows[i].kind, "picture") == 0);
		assert_true(rows[i].endings[0] && rows[i].kept[0] && rows[i].tested[0]);
	}
}

static void the_importers_claim_what_the_table_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++)
		for (const char *at = rows[i].endings; is_model(i) && *at; at += strspn(at, " ")) {
			char path[64];
			int size = (int)strcspn(at, " ");
			snprintf(path, sizeof path, "a.%.*s", size, at);
			const hob_importer *importer = hob_importer_for(hob_str_of(path));
			if (!importer || strcmp(importer->name, rows[i].reader) != 0)
				fail_msg("%s is read by %s, not by %s", path, importer ? importer->name : "nobody",
						 rows[i].reader);
			at += size;
		}
}

static void every_ending_of_every_importer_is_in_the_table(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < hob_importer_count; k++)
		for (const char *const *ending = hob_importers[k]->extensions; *ending; ending++) {
			bool found = false;
			for (size_t i = 0; i < HOB_COUNT_OF(rows); i++)
				found = found || (is_model(i) && has_ending(i, hob_str_of(*ending)));
			if (!found)
				fail_msg("'%s' of %s has no row in schema/read_formats.def", *ending, hob_importers[k]->name);
		}
}

/* Number of files in tests/data/pictures and among the fuzzers' seeds that a reader recognises as the format
 * of row i. */
static uint32_t count_files(size_t i, const char *folder)
{
	DIR *d = opendir(folder);
	uint32_t count = 0;
	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		char path[1024];
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		FILE *f = e->d_name[0] != '.' && has_ending(i, hob_path_extension(hob_str_of(path)))
					  ? fopen(path, "rb")
					  : NULL;
		uint8_t *data = malloc(1 << 16);
		size_t size = f ? fread(data, 1, 1 << 16, f) : 0;
		hob_picture_info info;
		hob_error err = {0};
		bool read = f && hob_picture_probe((hob_bytes){data, size}, &info, &err);
		count += (read && strcmp(hob_picture_format_name(info.format), rows[i].name) == 0) ||
				 (f && strstr(err.context, "was built without"));
		if (f)
			fclose(f);
		free(data);
	}
	if (d)
		closedir(d);
	return count;
}

static void every_picture_format_has_a_row_and_a_file(void **state)
{
	(void)state;
	static const char *const folders[] = {"/pictures/others", "/pictures/pngsuite", "/pictures/gif",
										  "/pictures/ktx2", "/../fuzz/corpus/image"};
	for (int format = HOB_PICTURE_RAW + 1; format <= HOB_PICTURE_AVIF; format++) {
		size_t i = 0;
		while (
			i < HOB_COUNT_OF(rows) &&
			(is_model(i) || strcmp(rows[i].name, hob_picture_format_name((hob_picture_format)format)) != 0))
			i++;
		if (i == HOB_COUNT_OF(rows))
			fail_msg("%s has no row", hob_picture_format_name((hob_picture_format)format));
		uint32_t files = 0;
		for (size_t k = 0; k < HOB_COUNT_OF(folders); k++) {
			char folder[512];
			snprintf(folder, sizeof folder, "%s%s", HOB_TEST_DATA, folders[k]);
			files += count_files(i, folder);
		}
		if (files == 0)
			fail_msg("no test file is a %s", rows[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_says_all),
		cmocka_unit_test(the_importers_claim_what_the_table_says),
		cmocka_unit_test(every_ending_of_every_importer_is_in_the_table),
		cmocka_unit_test(every_picture_format_has_a_row_and_a_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
