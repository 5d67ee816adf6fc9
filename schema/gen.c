/* gen.c - prints documents from the tables of this folder: `gen TEMPLATE` copies the template to standard
 * output and replaces lines that begin with '@'.
 *
 *   @markdown TABLE    a table of formats/ as Markdown: container, mesh, material, scene, animation, classic
 *   @javascript        all packed tables as JavaScript constants
 *
 *   gen FORMATS.md.in > FORMATS.md        gen hob-format.js.in > ../web/client/hob-format.js */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- Markdown: one function per macro; `open` is the table that is being printed ---- */

static char open_table[64];

static void begin_table(const char *id, const char *heading, const char *columns)
{
	if (strcmp(open_table, id) == 0)
		return;
	snprintf(open_table, sizeof open_table, "%s", id);
	printf("\n%s\n\n%s\n|", heading, columns);
	for (const char *c = columns + 1; *c; c++)
		if (*c == '|')
			printf("---|");
	printf("\n");
}

static void md_kind(const char *name, const char *extension, const char *doc)
{
	begin_table("kinds", "Kinds of files:", "| kind | extension | holds |");
	printf("| `%s` | .%s | %s |\n", name, extension, doc);
}

static void md_enum(const char *group, const char *name, const char *value, const char *doc)
{
	char heading[80];
	snprintf(heading, sizeof heading, "`%s`:", group);
	begin_table(group, heading, "| value | name | meaning |");
	printf("| %s | %s | %s |\n", value, name, doc);
}

static void md_format(unsigned number, const char *name, unsigned bytes, unsigned components)
{
	begin_table("vertex formats", "Vertex formats:", "| number | VkFormat | bytes | components |");
	printf("| %u | %s | %u | %u |\n", number, name, bytes, components);
}

static void md_record(const char *record, unsigned size, const char *doc)
{
	char heading[256];
	snprintf(heading, sizeof heading, "### %s, %u bytes\n%s.", record, size, doc);
	begin_table(record, heading, "| offset | type | field | meaning |");
}

static void md_field(const char *type, unsigned count, const char *name, unsigned offset, const char *doc)
{
	printf("| %u | %s", offset, type);
	if (count)
		printf("[%u]", count);
	printf(" | %s | %s |\n", name, doc);
}

static void md_section(const char *name, const char *record, int gpu, const char *doc)
{
	begin_table("sections", "Sections, in file order:", "| type | element | read by | holds |");
	printf("| `%s` | %s | %s | %s |\n", name, record, gpu ? "GPU" : "CPU", doc);
}

static void markdown(const char *table)
{
	snprintf(open_table, sizeof open_table, "-");
	if (strcmp(table, "container") == 0) {
#include "gen_markdown.h"
#include "formats/container.def"
	} else if (strcmp(table, "mesh") == 0) {
#include "gen_markdown.h"
#include "formats/mesh.def"
	} else if (strcmp(table, "material") == 0) {
#include "gen_markdown.h"
#include "formats/material.def"
	} else if (strcmp(table, "scene") == 0) {
#include "gen_markdown.h"
#include "formats/scene.def"
	} else if (strcmp(table, "animation") == 0) {
#include "gen_markdown.h"
#include "formats/animation.def"
	} else if (strcmp(table, "classic") == 0) {
#include "gen_markdown.h"
#include "formats/classic.def"
	}
}

/* ---- JavaScript ---- */

static void js_field(const char *type, unsigned count, const char *name, unsigned offset, const char *doc)
{
	int is_name = !count && strcmp(type, "u32") == 0 && strncmp(doc, "string", 6) == 0;
	printf("\t\t['%s', '%s', %u, %u%s],\n", name, type, offset, count, is_name ? ", true" : "");
}

/* A group's constants side by side, in lines of 120 columns at most. */
static void js_constant(const char *group, const char *name, unsigned long long value)
{
	static char last[64];
	static int column;
	char text[96];
	int width = snprintf(text, sizeof text, "%s: %llu,", name, value);
	bool fits = strcmp(last, group) == 0 && column + 1 + width <= 116;
	printf("%s%s", fits ? " " : *last ? "\n\t" : "\t", text);
	column = fits ? column + 1 + width : width;
	snprintf(last, sizeof last, "%s", group);
}

static void javascript(void)
{
	printf("/** Numbers with a name: enumerators and bits. */\nexport const constants = {\n");
#define ENUM(group, name, value, doc) js_constant(#group, #name, (unsigned long long)(value));
#include "formats/packed.def"
	printf("\n};\n\n/** Vertex formats by VkFormat number. */\nexport const vertexFormats = {\n");
#define VERTEX_FORMAT(number, name, bytes, components, component_bytes, kind)                                \
	printf("\t%u: { name: '%s', bytes: %u, components: %u, componentBytes: %u, kind: '%s' },\n", number,     \
		   #name, bytes, components, component_bytes, #kind);
#include "formats/packed.def"
	printf(
		"};\n\n/** Records: size, and fields as [name, type, offset, count (0 = one value), is a name]. */\n"
		"export const records = {\n");
#define RECORD(record, size, doc)					  printf("\t%s: { bytes: %u, fields: [\n", #record, size);
#define FIELD(record, type, name, offset, doc)		  js_field(#type, 0, #name, offset, doc);
#define ARRAY(record, type, name, count, offset, doc) js_field(#type, count, #name, offset, doc);
#define RECORD_END(record, size)					  printf("\t] },\n");
#include "formats/packed.def"
	printf(
		"};\n\n/** Section types: what an element is, and whether the section stands behind the prefix. */\n"
		"export const sectionTypes = {\n");
#define SECTION(kind, name, a, b, c, d, record, gpu, doc)                                                    \
	printf("\t%s: { kind: '%s', element: '%s', gpu: %s },\n", #name, #kind, #record, gpu ? "true" : "false");
#include "formats/packed.def"
	printf("};\n");
}

/* ---- templates ---- */

int main(int argc, char **argv)
{
	FILE *in = argc == 2 ? fopen(argv[1], "r") : NULL;
	char line[4096], table[64];
	if (!in) {
		fprintf(stderr, "usage: gen TEMPLATE\n");
		return 2;
	}
	while (fgets(line, sizeof line, in)) {
		if (sscanf(line, "@markdown %63s", table) == 1)
			markdown(table);
		else if (strncmp(line, "@javascript", 11) == 0)
			javascript();
		else
			fputs(line, stdout);
	}
	fclose(in);
	return ferror(stdout) ? 1 : 0;
}
