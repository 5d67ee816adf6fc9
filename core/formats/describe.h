/* describe.h - describes any Hob file for people and for tools: packed files of every kind and the three
 * classic ones, recognised by their bytes.
 *
 * An invalid file is described as far as is safe: header, section table, and the validator's error. The
 * output depends only on the bytes and the options. */
#ifndef HOB_DESCRIBE_H
#define HOB_DESCRIBE_H

#include "../base/base.h"

typedef struct hob_describe_options {
	uint32_t max_rows; /* of one table; text: 0 = 20; JSON: 0 = all */
	bool color;		   /* ANSI escapes; text only */
} hob_describe_options;

/* Describes a file as text: tables, sizes, levels of detail, attributes and their formats, materials with
 * values that differ from the default, the tree of nodes, clips. Errors: CORRUPT if the bytes are not a Hob
 * file at all; MEMORY. Cost: a validation. */
bool hob_describe_text(hob_bytes file, const hob_describe_options *options, hob_buf *out,
					   hob_error *err) HOB_MUST_CHECK;

/* Describes a file as one JSON object:
 *   { "format": "packed", "kind": "MESH", "version": "1.0", "bytes": n, "prefix_bytes": n, "digest": "hex",
 *     "flags": n, "valid": true, "sections": [{"type", "count", "stride", "offset", "stored", "raw", "codec",
 *     "part", "owner", "digest"}...], "records": {"MDSC": [{field: value...}...], ...} }
 * records has every section that the CPU reads, except STRS; fields are named as in the tables, names are
 * resolved to text, arrays are arrays, inf is the string "inf". "valid": false comes with "error" and without
 * records. Classic: "format": "classic", "kind": "meshes" | "materials" | "scene", "bytes", "valid", and
 * tables as arrays. */
bool hob_describe_json(hob_bytes file, const hob_describe_options *options, hob_buf *out,
					   hob_error *err) HOB_MUST_CHECK;

/* The differences between two packed files of one kind, by section and then by record and field, as text;
 * empty if they are equal. max_rows limits the reported records per section. *equal may be NULL. Errors:
 * those of opening, CORRUPT if a file is not valid or the kinds differ. */
bool hob_diff_text(hob_bytes a, hob_bytes b, const hob_describe_options *options, bool *equal, hob_buf *out,
				   hob_error *err) HOB_MUST_CHECK;

#endif
