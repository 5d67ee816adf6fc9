/* Included at the top of every table of this folder: macros that the includer did not define do nothing. */
#ifndef KIND
#define KIND(name, a, b, c, d, extension, doc)
#endif
#ifndef ENUM
#define ENUM(group, name, value, doc)
#endif
#ifndef PROPERTY
#define PROPERTY(name, number, record, field, components, length, pointer, doc)                              \
	ENUM(property, PROPERTY_##name, number, doc)
#endif
#ifndef RECORD
#define RECORD(record, size, doc)
#endif
#ifndef FIELD
#define FIELD(record, type, name, offset, doc)
#endif
#ifndef ARRAY
#define ARRAY(record, type, name, count, offset, doc)
#endif
#ifndef RECORD_END
#define RECORD_END(record, size)
#endif
#ifndef VERTEX_FORMAT
#define VERTEX_FORMAT(number, name, bytes, components, component_bytes, kind)
#endif
#ifndef SECTION
#define SECTION(kind, name, a, b, c, d, record, gpu, doc)
#endif
