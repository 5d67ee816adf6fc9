/* Expressions in asset paths and selections. tests/oracle/usd_by_hand.mjs has whole stages. */
#include "tests/unit/import/reader_fixture.h"

/* The model of a stage that references `asset` and defines variables. */
static reader *stage(const char *variables, const char *asset)
{
	static char text[4096];
	reader *r = reader_new(&hob_usd_importer);
	snprintf(text, sizeof text,
			 "#usda 1.0\n(expressionVariables = { %s })\ndef \"W\" (references = @`%s`@</W>) {}\n"
			 "def Cube \"Here\" {}",
			 variables, asset);
	reader_add(r, "stage.usda", text);
	reader_add(r, "a.usda", "#usda 1.0\ndef \"W\" { def Cube \"A\" {} }");
	return r;
}

static void expressions_name_layers(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"", "\"a.usda\""},
		{"", " 'a.usda' "},
		{"string V = \"a\"", "\"${V}.usda\""},
		{"string V = \"a.usda\"", "${V}"},
		{"string V = \"`'${U}'`\"\n string U = \"a.usda\"", "${V}"},
		{"int N = 2", "if(eq(${N}, 2), 'a.usda', 'b.usda')"},
		{"int N = 2", "if(or(neq(${N}, 2), geq(${N}, -5)), 'a.usda')"},
		{"bool B = false", "if(not(${B}), 'a.usda', None)"},
		{"string[] L = [\"x\", \"a.usda\"]", "at(${L}, 1)"},
		{"string[] L = [\"x\", \"a.usda\"]", "at(${L}, -1)"},
		{"", "at(['x', 'a.usda'], 1)"},
		{"string V = \"shot\"", "if(contains(${V}, 'ho'), 'a.usda')"},
		{"int[] L = [1, 2]", "if(and(contains(${L}, 2), eq(len(${L}), 2)), 'a.usda')"},
		{"string V = \"\"", "if(and(defined(V), not(defined(V, U))), 'a.usda')"},
		{"string A = \"b\"", "if(and(lt('a', ${A}), leq('b', ${A}), gt('ba', ${A})), 'a.usda')"},
		{"", "'a\\.usda'"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = stage(cases[i][0], cases[i][1]);
		const hob_model *m = reader_model(r);
		if (m->mesh_count == 0 || m->node_count != 3 || r->notes.count != 0)
			fail_msg("%s with %s", cases[i][1], cases[i][0]);
		reader_free(r);
	}
}

static void what_cannot_be_worked_out_is_told(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"", "a.usda"},
		{"", "'a.usda"},
		{"", "'a.usda' 'b'"},
		{"", "${V}"},
		{"", "3"},
		{"", "'${V'"},
		{"", "if('x', 'a.usda')"},
		{"", "eq(1, 'x')"},
		{"", "at(['a.usda'], 1)"},
		{"", "at(['a.usda'], -2)"},
		{"", "len(3)"},
		{"", "frob('a.usda')"},
		{"", "if(True, 'a.usda'"},
		{"", "defined()"},
		{"int V = 3", "'${V}'"},
		{"string V = \"`'${V}'`\"", "'${V}'"},
		{"string V = \"`'${U}${U}'`\"\n string U = \"`'${T}${T}'`\"\n string T = \"`'${V}${V}'`\"", "${V}"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		reader *r = stage(cases[i][0], cases[i][1]);
		const hob_model *m = reader_model(r);
		if (m->node_count != 2 || !reader_noted(r, "usd.expression"))
			fail_msg("%s with %s", cases[i][1], cases[i][0]);
		reader_free(r);
	}
}

static void deep_and_wide_expressions_end(void **state)
{
	(void)state;
	char deep[1024] = "", variables[2048] = "string V0 = \"0123456789\"\n";
	for (int i = 0; i < 100; i++)
		strcat(deep, "not(");
	reader *r = stage("", deep);
	reader_model(r);
	assert_true(reader_noted(r, "usd.expression"));
	reader_free(r);
	for (int i = 1; i < 20; i++)
		snprintf(variables + strlen(variables), sizeof variables - strlen(variables),
				 "string V%d = \"`'${V%d}${V%d}'`\"\n", i, i - 1, i - 1);
	r = stage(variables, "${V19}");
	reader_model(r);
	assert_true(reader_noted(r, "usd.expression"));
	reader_free(r);
}

static void an_expression_of_nothing_brings_nothing(void **state)
{
	(void)state;
	reader *r = stage("", "if(False, 'b.usda')");
	assert_int_equal(reader_model(r)->node_count, 2);
	assert_int_equal(r->notes.count, 0);
	reader_free(r);
}

static void it_fails_cleanly_without_memory(void **state)
{
	(void)state;
	reader *r = stage("string A = \"`'a'`\"\n string[] L = [\"x\"]", "if(contains(${L}, 'x'), '${A}.usda')");
	reader_starve(r);
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_name_layers),
		cmocka_unit_test(what_cannot_be_worked_out_is_told),
		cmocka_unit_test(deep_and_wide_expressions_end),
		cmocka_unit_test(an_expression_of_nothing_brings_nothing),
		cmocka_unit_test(it_fails_cleanly_without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
