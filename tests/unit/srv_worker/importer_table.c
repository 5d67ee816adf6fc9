#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/worker/importer_table.h"

static const char list_text[] =
	"[{\"name\":\"gltf\",\"library\":\"a 1\",\"version\":3,\"extensions\":[\"gltf\",\"glb\"]},"
	"{\"name\":\"assimp\",\"library\":\"b 2\",\"version\":4,\"extensions\":[\"glb\",\"x\",\"longextension1\","
	"\"longextension2\",\"3ds\"]}]";

static void assert_reader(const importer_table *table, const char *path, const char *name)
{
	const srv_pool_importer *found = srv_importer_table_find(table, hob_str_of(path));
	if (!name) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_true(hob_str_equal(found->name, hob_str_of(name)));
}

static void first_importer_that_names_an_extension_has_it(void **state)
{
	(void)state;
	hob_arena arena;
	importer_table table = {0};
	assert_reader(&table, "a.gltf", NULL);
	hob_arena_init(&arena, 1 << 20);
	cJSON *list = cJSON_Parse(list_text);
	srv_importer_table_read(&table, &arena, list);
	cJSON_Delete(list);
	assert_int_equal(table.count, 2);
	assert_reader(&table, "a.gltf", "gltf");
	assert_reader(&table, "dir.x/A.GLB", "gltf");
	assert_reader(&table, "b.X", "assimp");
	assert_reader(&table, "b.3DS", "assimp");
	assert_reader(&table, "b.LongExtension2", "assimp");
	assert_reader(&table, "b.longextension3", NULL);
	assert_reader(&table, "b.longexte", NULL);
	assert_reader(&table, "b.png", NULL);
	assert_reader(&table, "dir.x/b", NULL);
	assert_reader(&table, "b.", NULL);
	assert_reader(&table, "", NULL);
	hob_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(first_importer_that_names_an_extension_has_it)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
