/* xml.h - XML bytes -> a tree of elements, for the readers of COLLADA, 3MF, AMF and X3D.
 *
 * Names are local: a prefix before a colon is dropped, except in xmlns attributes. Comments and processing
 * instructions are dropped. An element's text ends at its first child element, and points into the file where
 * it is contiguous there, so that large arrays of numbers are not copied.
 *
 * An entity declared by the file is an error, nothing outside the file is read, and depth and number of
 * elements have limits (schema/limits.def). Encodings: UTF-8, UTF-16, ISO-8859-1; other one-byte encodings,
 * and invalid UTF-8, are read as ISO-8859-1.
 *
 * Only this file calls expat. */
#ifndef HOB_XML_H
#define HOB_XML_H

#include "../base/base.h"

typedef struct hob_xml_attribute {
	hob_str name, value;
} hob_xml_attribute;

typedef struct hob_xml_element {
	hob_str name;
	hob_str text; /* untrimmed; empty when only blanks precede the first child */
	const struct hob_xml_element *parent, *first, *next;
	const hob_xml_attribute *attributes;
	uint32_t attribute_count;
	uint32_t line;	 /* line of its first byte, from 1 */
	uint32_t number; /* index among all elements, in file order: an id for tables */
} hob_xml_element;

typedef struct hob_xml {
	const hob_xml_element *root;
	uint32_t element_count; /* all numbers are below this */
} hob_xml;

/* Keeps elements that come by the million (the vertices of 3MF) out of the tree: `take` is called at the
 * start of each element below `parent` and returns true if it has consumed it; the element and its content
 * are then left out. It may leave (base/guard.h). */
typedef struct hob_xml_taker {
	void *user;
	bool (*take)(void *user, const hob_xml_element *parent, const hob_xml_element *element);
} hob_xml_taker;

/* The tree lives in `arena` and in `file`. `taker` may be NULL. Errors: CORRUPT with line and column,
 * UNSUPPORTED for entities and unknown encodings, LIMIT, EMPTY for a file without an element. */
bool hob_xml_parse(hob_arena *arena, hob_bytes file, const hob_xml_taker *taker, hob_xml *out,
				   hob_error *err) HOB_MUST_CHECK;

/* hob_xml_parse that leaves with the error (base/guard.h). */
void hob_xml_read(hob_arena *arena, hob_bytes file, const hob_xml_taker *taker, hob_xml *out);

/* data == NULL when the element has no such attribute. */
hob_str hob_xml_attr(const hob_xml_element *element, hob_str name);
/* The attribute as a number; `otherwise` when it is absent or not a number. */
uint32_t hob_xml_attr_u32(const hob_xml_element *element, hob_str name, uint32_t otherwise);
double hob_xml_attr_double(const hob_xml_element *element, hob_str name, double otherwise);
/* First child of this name; NULL when there is none or `element` is NULL. */
const hob_xml_element *hob_xml_child(const hob_xml_element *element, hob_str name);
/* Next sibling of this name after `element`. */
const hob_xml_element *hob_xml_next(const hob_xml_element *element, hob_str name);
/* The first child of the first of these names (HOB_WORDS of text.h) that there is; NULL likewise. */
const hob_xml_element *hob_xml_child_of(const hob_xml_element *element, const char *const *names);
/* Each child of this name. */
#define HOB_XML_EACH(e, above, name)                                                                         \
	for (const hob_xml_element *e = hob_xml_child((above), HOB_STR(name)); e;                                \
		 e = hob_xml_next(e, HOB_STR(name)))
/* The element that starts after `element` in the file, within `root`; NULL at the end. */
const hob_xml_element *hob_xml_after(const hob_xml_element *element, const hob_xml_element *root);
/* Descendant by a path of names: "profile_COMMON/technique". */
const hob_xml_element *hob_xml_find(const hob_xml_element *element, const char *path);
/* Trimmed text; empty when `element` is NULL. */
hob_str hob_xml_text(const hob_xml_element *element);
static inline bool hob_xml_is(const hob_xml_element *element, hob_str name)
{
	return hob_str_equal(element->name, name);
}

/* Version text of the parser, for the cook key. */
const char *hob_xml_version(void);

/* Parses blank-separated numbers: up to `count`; returns how many there were. */
uint32_t hob_xml_floats(hob_str text, float *out, uint32_t count);
uint32_t hob_xml_doubles(hob_str text, double *out, uint32_t count);

#endif
