/* Rules for all XML readers: nothing outside the file is read, and nothing in it grows without bound. */
#include "core/import/xml.h"
#include "tests/unit/import/zip_fixture.h"

#define RELATIONS                                                                                            \
	"<Relationships><Relationship Target='/3D/main.model' "                                                  \
	"Type='http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel'/></Relationships>"

/* clang-format off */
static const struct format {
	const hob_importer *importer;
	const char *path, *root, *body; /* body: a small model, whose first number is %s */
	bool zipped;
} formats[] = {
	{&hob_collada_importer, "x.dae", "COLLADA",
	 "<COLLADA><library_geometries><geometry id='g'><mesh><source id='p'><float_array count='9'>"
	 "%s 0 0 1 0 0 1 1 0</float_array><technique_common><accessor count='3' stride='3'/>"
	 "</technique_common></source><vertices id='v'><input semantic='POSITION' source='#p'/></vertices>"
	 "<triangles><input semantic='VERTEX' source='#v' offset='0'/><p>0 1 2</p></triangles></mesh>"
	 "</geometry></library_geometries></COLLADA>", false},
	{&hob_x3d_importer, "x.x3d", "X3D",
	 "<X3D><Scene><Shape><TriangleSet><Coordinate point='0 0 0 1 0 0 1 1 0'/></TriangleSet></Shape>"
	 "<WorldInfo><MetadataString>%s</MetadataString></WorldInfo></Scene></X3D>", false},
	{&hob_amf_importer, "x.amf", "amf",
	 "<amf><object id='1'><mesh><vertices><vertex><coordinates><x>%s</x><y>0</y><z>0</z></coordinates>"
	 "</vertex><vertex><coordinates><x>1</x><y>0</y><z>0</z></coordinates></vertex><vertex><coordinates>"
	 "<x>1</x><y>1</y><z>0</z></coordinates></vertex></vertices><volume><triangle><v1>0</v1><v2>1</v2>"
	 "<v3>2</v3></triangle></volume></mesh></object></amf>", false},
	{&hob_threemf_importer, "x.3mf", "model",
	 "<model><metadata name='Title'>%s</metadata><resources><object id='1'><mesh><vertices>"
	 "<vertex x='0' y='0' z='0'/><vertex x='1' y='0' z='0'/><vertex x='1' y='1' z='0'/></vertices>"
	 "<triangles><triangle v1='0' v2='1' v3='2'/></triangles></mesh></object></resources><build>"
	 "<item objectid='1'/></build></model>", true},
};
/* clang-format on */

static void run(const struct format *f, const char *prologue, const char *number, hob_err_code expected)
{
	char text[4096], body[2048];
	hob_buf zip = {0};
	snprintf(body, sizeof body, f->body, number);
	snprintf(text, sizeof text, "<?xml version='1.0'?>\n%s%s", prologue, body);
	reader *r = reader_new(f->importer);
	if (f->zipped) {
		const member members[] = {{"_rels/.rels", RELATIONS}, {"3D/main.model", text}};
		zip = make_zip(members, 2, true);
		reader_add_bytes(r, f->path, zip.data, zip.size);
	} else {
		reader_add(r, f->path, text);
	}
	reader_run(r);
	if (r->error.code != expected)
		fail_msg("%s, %.40s: %s (%s)", f->path, prologue, hob_err_name(r->error.code), r->error.context);
	assert_int_equal(r->io.logged, 0); /* nothing was read */
	reader_free(r);
	hob_buf_release(&zip);
}

static void entities_are_refused(void **state)
{
	(void)state;
	static const char *const declarations[] = {
		"<!ENTITY e '0'>",
		"<!ENTITY a '0 0 0'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;'><!ENTITY e '&c;&c;&c;'>",
		"<!ENTITY e SYSTEM 'secret.txt'>",
		"<!ENTITY e SYSTEM 'file:///etc/passwd'>",
		"<!ENTITY e PUBLIC '-//x' 'http://127.0.0.1/e'>",
		"<!ENTITY % p SYSTEM 'evil.dtd'>%p;",
		"<!ENTITY e SYSTEM 'picture.png' NDATA png>",
	};
	for (size_t i = 0; i < HOB_COUNT_OF(formats); i++)
		for (size_t k = 0; k < HOB_COUNT_OF(declarations); k++) {
			char prologue[512];
			snprintf(prologue, sizeof prologue, "<!DOCTYPE %s [%s]>\n", formats[i].root, declarations[k]);
			run(&formats[i], prologue, "&e;", HOB_ERR_UNSUPPORTED);
			run(&formats[i], prologue, "0", HOB_ERR_UNSUPPORTED);
		}
}

/* X3D files name their DTD, which no reader needs. */
static void definitions_elsewhere_are_not_fetched(void **state)
{
	(void)state;
	for (size_t i = 0; i < HOB_COUNT_OF(formats); i++) {
		char prologue[256];
		snprintf(prologue, sizeof prologue, "<!DOCTYPE %s PUBLIC '-//x//DTD//EN' 'http://127.0.0.1/x.dtd'>\n",
				 formats[i].root);
		run(&formats[i], prologue, "0", HOB_ERR_OK);
		run(&formats[i], "", "&undeclared;", HOB_ERR_CORRUPT);
	}
}

static void depth_has_a_limit(void **state)
{
	(void)state;
	enum { DEPTH = 100000 };
	static const char open[] = "<node>";
	for (size_t i = 0; i < HOB_COUNT_OF(formats); i++) {
		char head[64];
		size_t used = (size_t)snprintf(head, sizeof head, "<%s>", formats[i].root);
		if (formats[i].zipped)
			continue; /* unpacked documents use the same parser; tested below */
		char *text = malloc(used + DEPTH * (sizeof open - 1) + 1);
		memcpy(text, head, used);
		for (size_t k = 0; k < DEPTH; k++)
			memcpy(text + used + k * (sizeof open - 1), open, sizeof open);
		reader *r = reader_new(formats[i].importer);
		reader_add(r, formats[i].path, text);
		assert_false(reader_run(r));
		assert_int_equal(r->error.code, HOB_ERR_LIMIT);
		reader_free(r);
		free(text);
	}
	char deep[4096] = "<model>";
	for (size_t at = strlen(deep); at + 4 < sizeof deep; at += 3)
		memcpy(deep + at, "<a>", 4);
	const member members[] = {{"_rels/.rels", RELATIONS}, {"3D/main.model", deep}};
	hob_buf zip = make_zip(members, 2, true);
	reader *r = reader_new(&hob_threemf_importer);
	reader_add_bytes(r, "x.3mf", zip.data, zip.size);
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_LIMIT);
	reader_free(r);
	hob_buf_release(&zip);
}

static bool take(void *user, const hob_xml_element *parent, const hob_xml_element *element)
{
	(void)user, (void)parent;
	return hob_xml_is(element, HOB_STR("taken"));
}

/* Long texts bypass expat: they enter the tree only where they are element text. */
static void long_texts_are_text_where_they_stand_in_an_element(void **state)
{
	(void)state;
	enum { LONG = 3000, LINES = LONG / 10 };
	char text[LONG + 1], spaced[LONG + 1];
	for (size_t i = 0; i < LONG; i++) {
		text[i] = "1.5 -0.25\n"[i % 10];
		spaced[i] = text[i] == '\n' ? ' ' : text[i];
	}
	text[LONG] = spaced[LONG] = 0;
	/* @ is replaced by the text, with `lines` lines in total before the last element. */
	static const struct {
		const char *document, *text_of_last, *attribute;
		hob_err_code code;
		unsigned times; /* the text precedes the last element */
	} cases[] = {
		{"<a><b>@</b><c>@</c></a>", "@", NULL, HOB_ERR_OK, 1},
		{"<a>@<b/><c>@<d/>@</c>@</a>", "", NULL, HOB_ERR_OK, 2},
		{"<a>@<taken>@<x/>@</taken>@</a>", "@@", NULL, HOB_ERR_OK, 0},
		{"<a><!-- <x>@<y> --><b>@</b></a>", "@", NULL, HOB_ERR_OK, 1},
		{"<a><b>1<!-- <x>@<y> -->2</b></a>", "12", NULL, HOB_ERR_OK, 0},
		{"<a><b><?p <x>@<y> ?>@</b></a>", "@", NULL, HOB_ERR_OK, 0},
		{"<a><b><![CDATA[<x>@<y>]]></b></a>", "<x>@<y>", NULL, HOB_ERR_OK, 0},
		{"<a><b>&lt;@</b></a>", "<@", NULL, HOB_ERR_OK, 0},
		{"<a><b>@&lt;</b></a>", "@<", NULL, HOB_ERR_OK, 0},
		{"<a><b k='1>@'>@</b></a>", "@", "1>@", HOB_ERR_OK, 0},
		{"<a>@</a>\n<!-- <x>@<y> -->", "@", NULL, HOB_ERR_OK, 0},
		{"<!-- <x>@<y> --><!-- <x>@<y> --><!-- <x>@<y> --><!-- <x>@<y> --><!-- <x>@<y> --><!-- <x>@<y> -->"
		 "<!-- <x>@<y> --><!-- <x>@<y> --><!-- <x>@<y> --><!-- <x>@<y> --><a>@</a>",
		 "@", NULL, HOB_ERR_OK, 10},
		{"<a>@</a>@", NULL, NULL, HOB_ERR_CORRUPT, 1},
		{"<a>@</a>@<b/>", NULL, NULL, HOB_ERR_CORRUPT, 1},
		{"<a>@@</b></a>", NULL, NULL, HOB_ERR_CORRUPT, 2},
		{"<a><b>@</b>", NULL, NULL, HOB_ERR_TRUNCATED, 0},
		{"<a>@\x01@</a>", NULL, NULL, HOB_ERR_CORRUPT, 1},
		{"@<a/>", NULL, NULL, HOB_ERR_CORRUPT, 0},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_buf parts[3] = {0};
		const char *const from[] = {cases[i].document, cases[i].text_of_last, cases[i].attribute};
		for (size_t k = 0; k < 3; k++)
			for (const char *c = from[k] ? from[k] : ""; *c; c++)
				hob_buf_put_str(&parts[k], *c != '@' ? (hob_str){c, 1} : hob_str_of(k == 2 ? spaced : text));
		hob_arena arena;
		hob_xml xml;
		hob_error error = {0};
		hob_arena_init(&arena, 1 << 20);
		bool done =
			hob_xml_parse(&arena, hob_buf_bytes(&parts[0]), &(hob_xml_taker){NULL, take}, &xml, &error);
		if (error.code != cases[i].code || done != (error.code == HOB_ERR_OK))
			fail_msg("%s: %s (%s)", cases[i].document, hob_err_name(error.code), error.context);
		const hob_xml_element *last = done ? xml.root : NULL;
		for (const hob_xml_element *e = last; e; e = hob_xml_after(e, xml.root))
			last = e;
		unsigned line = cases[i].times * LINES + 1;
		if (done) {
			assert_true(hob_str_equal(last->text, hob_buf_str(&parts[1])));
			assert_int_equal(last->line, line);
			assert_true(hob_str_equal(hob_xml_attr(last, HOB_STR("k")), hob_buf_str(&parts[2])));
		} else if (error.code == HOB_ERR_CORRUPT) {
			char place[32];
			snprintf(place, sizeof place, "line %u, column ", line);
			if (!strstr(error.context, place))
				fail_msg("%s: %s, not in %s", cases[i].document, error.context, place);
		}
		hob_arena_release(&arena);
		for (size_t k = 0; k < 3; k++)
			hob_buf_release(&parts[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entities_are_refused),
		cmocka_unit_test(definitions_elsewhere_are_not_fetched),
		cmocka_unit_test(depth_has_a_limit),
		cmocka_unit_test(long_texts_are_text_where_they_stand_in_an_element),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
