/* Part of gen.c: what each macro of a table prints as Markdown. Included again before each table, which ends
 * by undefining all of them. */
#define KIND(name, a, b, c, d, extension, doc) md_kind(#name, extension, doc);
#define ENUM(group, name, value, doc)		   md_enum(#group, #name, #value, doc);
#define VERTEX_FORMAT(number, name, bytes, components, component_bytes, kind)                                \
	md_format(number, #name, bytes, components);
#define RECORD(record, size, doc)						  md_record(#record, size, doc);
#define FIELD(record, type, name, offset, doc)			  md_field(#type, 0, #name, offset, doc);
#define ARRAY(record, type, name, count, offset, doc)	  md_field(#type, count, #name, offset, doc);
#define SECTION(kind, name, a, b, c, d, record, gpu, doc) md_section(#name, #record, gpu, doc);
