/* xml.h - XML bytes -> a tree of elements, for the readers of COLLADA, 3MF, AMF and X3D.
 *
 * Names are local names: a prefix before a colon is dropped, but for xmlns attributes, which keep theirs.
 * Comments and processing instructions are dropped. An element's text ends at its first child element, and it
 * points into the file itself where the file says it in one piece, so that large arrays of numbers are not
 * copied.
 *
 * Safe by refusal: an entity that the file declares is an error, nothing outside the file is read, and depth
 * and number of elements have limits (schema/limits.def). UTF-8, UTF-16, ISO-8859-1 and what bears another
 * name but is one byte a character (read as ISO-8859-1) are read; so is a file that says UTF-8 and is not.
 *
 * expat is called here and nowhere else. */
#ifndef HOB_XML_H
#define HOB_XML_H

#include "../base/base.h"

typedef struct hob_xml_attribute {
	hob_str name, value;
} hob_xml_attribute;

typedef struct hob_xml_element {
	hob_str name;
	hob_str text; /* not trimmed; empty when there are only blanks before the first child */
	const struct hob_xml_element *parent, *first, *next;
	const hob_xml_attribute *attributes;
	uint32_t attribute_count;
	uint32_t line;	 /* of its first byte, from 1 */
	uint32_t number; /* among all elements, in the order of the file: an id for tables */
} hob_xml_element;

typedef struct hob_xml {
	const hob_xml_element *root;
	uint32_t element_count; /* numbers are below this */
} hob_xml;

/* Elements that come by the million (the vertices of 3MF) need not become a tree: `take` sees each element as
 * it begins, below `parent`, and returns true when it has taken it; it and what it holds is left out then. A
 * failure sets *failed. */
typedef struct hob_xml_taker {
	void *user;
	bool (*take)(void *user, const hob_xml_element *parent, const hob_xml_element *element, bool *failed,
				 hob_error *err);
} hob_xml_taker;

/* The tree lives in `arena` and in `file`. `taker` may be NULL. Errors: CORRUPT with line and column,
 * UNSUPPORTED for entities and unknown encodings, LIMIT, MEMORY, EMPTY for a file without an element. */
bool hob_xml_parse(hob_arena *arena, hob_bytes file, const hob_xml_taker *taker, hob_xml *out,
				   hob_error *err) HOB_MUST_CHECK;

/* data == NULL when the element has no such attribute. */
hob_str hob_xml_attr(const hob_xml_element *element, hob_str name);
/* The attribute as a number; `otherwise` when it is absent or no number. */
uint32_t hob_xml_attr_u32(const hob_xml_element *element, hob_str name, uint32_t otherwise);
double hob_xml_attr_double(const hob_xml_element *element, hob_str name, double otherwise);
/* First child of this name; NULL when there is none or `element` is NULL. */
const hob_xml_element *hob_xml_child(const hob_xml_element *element, hob_str name);
/* First element of this name behind `element` among its siblings. */
const hob_xml_element *hob_xml_next(const hob_xml_element *element, hob_str name);
/* The element that begins after `element` in the file, within `root`; NULL at the end. */
const hob_xml_element *hob_xml_after(const hob_xml_element *element, const hob_xml_element *root);
/* Children by a path of names: "profile_COMMON/technique". */
const hob_xml_element *hob_xml_find(const hob_xml_element *element, const char *path);
/* Trimmed text; empty when `element` is NULL. */
hob_str hob_xml_text(const hob_xml_element *element);
static inline bool hob_xml_is(const hob_xml_element *element, hob_str name)
{
	return hob_str_equal(element->name, name);
}

/* Version text of the parser, for the cook key. */
const char *hob_xml_version(void);

/* Numbers of a text, blank after blank: reads up to `count` and returns how many there were. */
uint32_t hob_xml_floats(hob_str text, float *out, uint32_t count);
uint32_t hob_xml_doubles(hob_str text, double *out, uint32_t count);

#endif
