#include "../base/guard.h"
#include "importer.h"
#include "ply_data.h"
#include "../base/limits.h"
#include "../base/number.h"
#include "shape.h"
#include "text.h"

typedef enum hob_ply_type {
	HOB_PLY_I8,
	HOB_PLY_U8,
	HOB_PLY_I16,
	HOB_PLY_U16,
	HOB_PLY_I32,
	HOB_PLY_U32,
	HOB_PLY_F32,
	HOB_PLY_F64
} hob_ply_type;

typedef struct hob_ply_unread {
	hob_buf names; /* text */
	bool matters;  /* some unread property would change the look of a surface */
	bool splats;   /* 3D Gaussian splats, which have their own note */
} hob_ply_unread;

static const uint8_t hob_ply_sizes[] = {1, 1, 2, 2, 4, 4, 4, 8}; /* bytes, by hob_ply_type */

/* "float", "FLOAT32" ...; false for a word that is no type. */
static bool ply_type_parse(hob_str word, hob_ply_type *out)
{
	static const struct {
		const char *name;
		hob_ply_type type;
	} names[] = {
		{"char", HOB_PLY_I8},	{"int8", HOB_PLY_I8},	  {"uchar", HOB_PLY_U8},   {"uint8", HOB_PLY_U8},
		{"short", HOB_PLY_I16}, {"int16", HOB_PLY_I16},	  {"ushort", HOB_PLY_U16}, {"uint16", HOB_PLY_U16},
		{"int", HOB_PLY_I32},	{"int32", HOB_PLY_I32},	  {"uint", HOB_PLY_U32},   {"uint32", HOB_PLY_U32},
		{"float", HOB_PLY_F32}, {"float32", HOB_PLY_F32}, {"double", HOB_PLY_F64}, {"float64", HOB_PLY_F64},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		if (hob_str_equal_nocase(word, hob_str_of(names[i].name))) {
			*out = names[i].type;
			return true;
		}
	return false;
}

/* The value at `at`, which has hob_ply_sizes[type] bytes; `big` = big endian. */
static double ply_load(const char *at, hob_ply_type type, bool big)
{
	uint8_t bytes[8];
	size_t size = hob_ply_sizes[type];
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)at[big ? size - 1 - i : i];
	switch (type) {
	case HOB_PLY_I8:
		return (int8_t)bytes[0];
	case HOB_PLY_U8:
		return bytes[0];
	case HOB_PLY_I16:
		return (int16_t)hob_load_u16(bytes);
	case HOB_PLY_U16:
		return hob_load_u16(bytes);
	case HOB_PLY_I32:
		return (int32_t)hob_load_u32(bytes);
	case HOB_PLY_U32:
		return hob_load_u32(bytes);
	case HOB_PLY_F32:
		return (double)hob_load_f32(bytes);
	case HOB_PLY_F64:
	default: {
		uint64_t bits = hob_load_u64(bytes);
		double value;
		memcpy(&value, &bits, sizeof value);
		return value;
	}
	}
}

enum { TEXT_MOST = 200, NAME_MOST = 40 };

static bool is_look(hob_str name)
{
	static const char *const parts[] = {"red", "green", "blue", "gray", "grey", "color", "material", "tex"};
	for (size_t k = 0; k < HOB_COUNT_OF(parts); k++)
		for (size_t i = 0, len = strlen(parts[k]); i + len <= name.len; i++)
			if (hob_str_equal_nocase(hob_str_sub(name, i, i + len), (hob_str){parts[k], len}))
				return true;
	return false;
}

/* `element`: name of the element that the property belongs to. */
static void ply_unread_add(hob_ply_unread *unread, const char *element, hob_str name)
{
	hob_buf *names = &unread->names;
	unread->matters = unread->matters || is_look(name);
	if (names->size < TEXT_MOST)
		hob_buf_printf(names, "%s%s '%.*s'", names->size > 0 ? ", " : "", element,
					   HOB_FMT(hob_str_sub(name, 0, NAME_MOST)));
	else if (names->data[names->size - 1] != '.')
		hob_buf_printf(names, " ...");
}

/* A warning if they matter. */
static void ply_unread_say(const hob_ply_unread *unread, hob_notes *notes)
{
	if (unread->names.size > 0)
		hob_note_add(notes, unread->matters ? HOB_NOTE_WARNING : HOB_NOTE_INFO, "ply.properties",
					 "properties that are not read: %.*s", (int)unread->names.size,
					 (const char *)unread->names.data);
	if (unread->splats)
		hob_warn(notes, "ply.splats",
				 "3D Gaussian splats are shown as coloured points; their shape, opacity and change of "
				 "colour with direction are left out");
}

/* ---- header */

typedef enum ply_coding { TEXT, LITTLE, BIG } ply_coding;

/* Meaning of a property. Vertex columns come first, grouped by the width of their array. */
typedef enum meaning {
	POSITION_X,
	POSITION_Y,
	POSITION_Z,
	NORMAL_X,
	NORMAL_Y,
	NORMAL_Z,
	RED,
	GREEN,
	BLUE,
	ALPHA,
	TEX_U,
	TEX_V,
	CORNERS,
	CORNER_UVS,
	TEXTURE_NUMBER,
	EDGE_A,
	EDGE_B,
	UNKNOWN
} meaning;

static const struct {
	const char *name;
	meaning meaning;
} property_names[] = {
	{"x", POSITION_X},
	{"y", POSITION_Y},
	{"z", POSITION_Z},
	{"nx", NORMAL_X},
	{"ny", NORMAL_Y},
	{"nz", NORMAL_Z},
	{"normal_x", NORMAL_X},
	{"normal_y", NORMAL_Y},
	{"normal_z", NORMAL_Z},
	{"red", RED},
	{"green", GREEN},
	{"blue", BLUE},
	{"alpha", ALPHA},
	{"r", RED},
	{"g", GREEN},
	{"b", BLUE},
	{"a", ALPHA},
	{"diffuse_red", RED},
	{"diffuse_green", GREEN},
	{"diffuse_blue", BLUE},
	{"diffuse_alpha", ALPHA},
	{"u", TEX_U},
	{"v", TEX_V},
	{"s", TEX_U},
	{"t", TEX_V},
	{"texture_u", TEX_U},
	{"texture_v", TEX_V},
	{"texture_s", TEX_U},
	{"texture_t", TEX_V},
	{"u0", TEX_U},
	{"v0", TEX_V},
	{"s0", TEX_U},
	{"t0", TEX_V},
	{"vertex_indices", CORNERS},
	{"vertex_index", CORNERS},
	{"texcoord", CORNER_UVS},
	{"texnumber", TEXTURE_NUMBER},
	{"vertex1", EDGE_A},
	{"vertex2", EDGE_B},
};

typedef struct property {
	meaning meaning;
	hob_ply_type type, count_type;
	bool is_list, is_harmonic; /* `is_harmonic`: of Gaussian splats, see parse_property */
	uint32_t offset;		   /* offset in a row without lists */
} property;

typedef enum element_kind { VERTEX, FACE, STRIPS, EDGE, OTHER } element_kind;

typedef struct element {
	element_kind kind;
	uint64_t count;
	uint32_t first, property_count; /* range in reader.properties */
	uint32_t row_size;				/* bytes; 0 if the element has lists */
	uint64_t row_least;				/* minimum bytes of a row */
} element;

enum { PROPERTIES_MAX = 16384, ELEMENTS_MAX = 64 };

typedef struct reader {
	const hob_import_request *request;
	hob_ply_data *data;
	ply_coding coding;
	const char *at, *end;
	element elements[ELEMENTS_MAX];
	property properties[PROPERTIES_MAX];
	uint32_t element_count, property_count;
	hob_buf strip; /* corners of the current list */
	hob_ply_unread unread;
} reader;

static void parse_format(reader *r, hob_str line)
{
	hob_str word = hob_text_word(&line);
	if (hob_str_equal(word, HOB_STR("ascii")))
		r->coding = TEXT;
	else if (hob_str_equal(word, HOB_STR("binary_little_endian")))
		r->coding = LITTLE;
	else if (hob_str_equal(word, HOB_STR("binary_big_endian")))
		r->coding = BIG;
	else
		hob_leave(UNSUPPORTED, "PLY format '%.*s' is not ascii, binary_little_endian or binary_big_endian",
				  HOB_FMT(hob_str_sub(word, 0, 40)));
}

static void parse_element(reader *r, hob_str line)
{
	hob_str name = hob_text_word(&line), count_word = hob_text_word(&line);
	int64_t count;
	if (!hob_number_int(count_word.data, count_word.data + count_word.len, &count) || count < 0)
		hob_leave(CORRUPT, "element '%.*s' has no count", HOB_FMT(hob_str_sub(name, 0, 40)));
	if (r->element_count == ELEMENTS_MAX)
		hob_leave(LIMIT, "more than %d elements", ELEMENTS_MAX);
	element *e = &r->elements[r->element_count++];
	*e = (element){.kind = OTHER, .count = (uint64_t)count, .first = r->property_count};
	static const struct {
		const char *name;
		element_kind kind;
	} kinds[] = {{"vertex", VERTEX}, {"face", FACE}, {"tristrips", STRIPS}, {"edge", EDGE}};
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		if (hob_str_equal_nocase(name, hob_str_of(kinds[i].name)))
			e->kind = kinds[i].kind;
}

static bool is_read(element_kind kind, meaning m)
{
	switch (kind) {
	case VERTEX:
		return m < CORNERS;
	case FACE:
	case STRIPS:
		return (m >= RED && m <= ALPHA) || (m >= CORNERS && m <= TEXTURE_NUMBER);
	case EDGE:
		return m == EDGE_A || m == EDGE_B;
	default:
		return false;
	}
}

static void keep_unread(reader *r, const element *e, const property *p, hob_str name)
{
	static const char *const owners[] = {"vertex", "face", "strip", "edge", "other"};
	static const char *const splat[] = {"f_rest_", "scale_", "rot_", "opacity"};
	bool of_splat = false;
	for (size_t i = 0; i < HOB_COUNT_OF(splat); i++)
		of_splat = of_splat || hob_str_starts(name, hob_str_of(splat[i]));
	if (is_read(e->kind, p->meaning) || (r->unread.splats && of_splat))
		return;
	ply_unread_add(&r->unread, owners[e->kind], name);
}

static void parse_property(reader *r, hob_str line)
{
	if (r->element_count == 0)
		hob_leave(CORRUPT, "a property comes before the first element");
	if (r->property_count == PROPERTIES_MAX)
		hob_leave(LIMIT, "more than %d properties", PROPERTIES_MAX);
	element *e = &r->elements[r->element_count - 1];
	property *p = &r->properties[r->property_count];
	*p = (property){.meaning = UNKNOWN};
	hob_str word = hob_text_word(&line);
	bool known = true;
	if (hob_str_equal(word, HOB_STR("list"))) {
		p->is_list = true;
		known = ply_type_parse(hob_text_word(&line), &p->count_type);
		word = hob_text_word(&line);
	}
	if (!known || !ply_type_parse(word, &p->type))
		hob_leave(CORRUPT, "property type '%.*s' does not exist", HOB_FMT(hob_str_sub(word, 0, 40)));
	hob_str name = hob_text_word(&line);
	for (size_t i = 0; i < HOB_COUNT_OF(property_names); i++)
		if (hob_str_equal_nocase(name, hob_str_of(property_names[i].name)))
			p->meaning = property_names[i].meaning;
	/* Colours of Gaussian splats are the constant terms of spherical harmonics. */
	if (e->kind == VERTEX && name.len == 6 && hob_str_starts(name, HOB_STR("f_dc_")) && name.data[5] >= '0' &&
		name.data[5] <= '2') {
		p->meaning = (meaning)(RED + (name.data[5] - '0'));
		p->is_harmonic = r->unread.splats = true;
	}
	if (p->is_list != (p->meaning == CORNERS || p->meaning == CORNER_UVS))
		p->meaning = UNKNOWN;
	keep_unread(r, e, p, name);
	p->offset = (uint32_t)e->row_least;
	e->row_least += r->coding == TEXT ? 2
					: p->is_list	  ? hob_ply_sizes[p->count_type]
									  : hob_ply_sizes[p->type];
	e->property_count++;
	r->property_count++;
}

static void parse_comment(reader *r, hob_str line)
{
	hob_str word = hob_text_word(&line);
	if (hob_str_equal_nocase(word, HOB_STR("TextureFile")) && r->data->texture_count < HOB_PLY_TEXTURES)
		r->data->textures[r->data->texture_count++] = hob_text_trim(line);
}

static void parse_header(reader *r)
{
	hob_str rest = {r->at, (size_t)(r->end - r->at)}, line;
	if (!hob_text_line(&rest, &line) || !hob_str_equal(hob_text_trim(line), HOB_STR("ply")))
		hob_leave(CORRUPT, "the file does not begin with 'ply'");
	/* In a header with CR line ends, an LF after the last CR belongs to the data. */
	const char *first_end = line.data + line.len;
	bool cr_alone = first_end + 1 < r->end && first_end[0] == '\r' && first_end[1] != '\n';
	bool has_format = false;
	while (hob_text_line(&rest, &line)) {
		const char *line_end = line.data + line.len;
		hob_str word = hob_text_word(&line);
		if (hob_str_equal(word, HOB_STR("end_header"))) {
			if (!has_format)
				hob_leave(CORRUPT, "the header has no format line");
			r->at = cr_alone && line_end < r->end ? line_end + 1 : rest.data;
			return;
		}
		if (hob_str_equal(word, HOB_STR("format"))) {
			if (has_format)
				hob_leave(CORRUPT, "the header has two format lines");
			parse_format(r, line);
			has_format = true;
		} else if (hob_str_equal(word, HOB_STR("element"))) {
			parse_element(r, line);
		} else if (hob_str_equal(word, HOB_STR("property"))) {
			if (!has_format)
				hob_leave(CORRUPT, "a property comes before the format line");
			parse_property(r, line);
		} else if (hob_str_equal(word, HOB_STR("comment"))) {
			parse_comment(r, line);
		}
	}
	hob_leave(TRUNCATED, "the PLY header has no 'end_header'");
}

/* ---- scalars */

static void skip_space(reader *r)
{
	while (r->at < r->end && (uint8_t)*r->at <= ' ')
		r->at++;
}

static void skip_line(reader *r)
{
	while (r->at < r->end && *r->at != '\n' && *r->at != '\r')
		r->at++;
}

/* The format allows comments in the header only, but some writers put them between rows. */
static bool is_comment(const reader *r)
{
	return r->at < r->end && *r->at == 'c' &&
		   hob_str_starts((hob_str){r->at, (size_t)(r->end - r->at)}, HOB_STR("comment "));
}

static void skip_comments(reader *r)
{
	skip_space(r);
	while (is_comment(r)) {
		skip_line(r);
		skip_space(r);
	}
}

/* The next number of a text, if there is one. */
static bool next_number(reader *r, double *out)
{
	skip_comments(r);
	const char *behind = hob_number_double(r->at, r->end, out);
	if (!behind || (behind < r->end && (uint8_t)*behind > ' '))
		return false;
	r->at = behind;
	return true;
}

static double read_scalar(reader *r, hob_ply_type type)
{
	double value;
	if (r->coding == TEXT && next_number(r, &value))
		return value;
	if ((size_t)(r->end - r->at) < (r->coding == TEXT ? 1 : hob_ply_sizes[type]))
		hob_leave(TRUNCATED, "the file ends inside of a row; copy it again");
	if (r->coding == TEXT) {
		hob_str rest = {r->at, (size_t)(r->end - r->at)}, word = hob_str_sub(hob_text_word(&rest), 0, 40);
		hob_leave(CORRUPT, "'%.*s' is not a number", HOB_FMT(word));
	}
	value = ply_load(r->at, type, r->coding == BIG);
	r->at += hob_ply_sizes[type];
	return value;
}

/* Counts the tokens of the next non-empty line and moves `at` past it. */
static uint32_t count_tokens(const reader *r, const char **at)
{
	hob_str rest = {*at, (size_t)(r->end - *at)}, line;
	while (hob_text_line(&rest, &line) && hob_text_trim(line).len == 0)
		;
	*at = rest.data;
	return hob_text_count_words(line);
}

/* Fails if the rows of a text element hold more values than the header declares, one row a line. Checks the
 * first two rows. */
static void check_rows(reader *r, const element *e)
{
	const char *start = r->at, *line = r->at;
	bool wide = r->coding == TEXT && e->count > 0;
	uint32_t wanted = 0, found = 0;
	for (uint32_t row = 0; row < 2 && row < e->count && wide; row++) {
		const char *begin = line;
		wanted = 0;
		r->at = line;
		for (uint32_t i = 0; i < e->property_count && wide; i++) {
			const property *p = &r->properties[e->first + i];
			double count = 1;
			wide = next_number(r, &count);
			wanted++;
			for (uint32_t k = 0; p->is_list && k < count && wanted < 1000 && wide; k++, wanted++)
				wide = next_number(r, &(double){0});
		}
		found = count_tokens(r, &line);
		wide = wide && r->at <= line && begin < line && found > wanted && found < 2 * wanted;
	}
	r->at = start;
	if (wide)
		hob_leave(CORRUPT, "a row holds %u values, the header declares %u; export it again", found, wanted);
}

static uint64_t read_count(reader *r, const property *p)
{
	double value = read_scalar(r, p->count_type);
	uint64_t left = (uint64_t)(r->end - r->at);
	uint64_t room = r->coding == TEXT ? left / 2 + 1 : left / hob_ply_sizes[p->type];
	if (!(value >= 0) || value > (double)room)
		hob_leave(TRUNCATED, "a list of %.0f values, but only %llu bytes are left", value,
				  (unsigned long long)left);
	return (uint64_t)value;
}

static void skip_list(reader *r, const property *p)
{
	uint64_t count = read_count(r, p);
	if (r->coding != TEXT) {
		r->at += count * hob_ply_sizes[p->type];
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		read_scalar(r, p->type);
}

/* A property's number; a list is skipped and counts as 0. */
static double read_value(reader *r, const property *p)
{
	if (!p->is_list)
		return read_scalar(r, p->type);
	skip_list(r, p);
	return 0;
}

/* ---- vertices */

/* The linear value of a colour. Integers are sRGB display values up to the type's maximum, floats up to 1;
 * larger ones are clamped. */
static float color_value(double value, hob_ply_type type, bool alpha)
{
	/* Some writers declare bytes as "char". */
	if (type == HOB_PLY_I8 && value < 0)
		value += 256;
	double scale = type == HOB_PLY_U8 || type == HOB_PLY_I8		? 255
				   : type == HOB_PLY_U16 || type == HOB_PLY_I16 ? 65535
																: 1;
	float display = hob_number_to_float(value / scale);
	display = display >= 0 && display <= 1 ? display : display > 1 ? 1 : 0;
	return alpha ? display : hob_shape_linear(display);
}

typedef struct column {
	float *to;
	uint32_t stride;
} column;

static void vertex_columns(reader *r, const element *e, column columns[CORNERS])
{
	hob_ply_data *d = r->data;
	bool has[CORNERS] = {false};
	for (uint32_t i = 0; i < e->property_count; i++) {
		meaning m = r->properties[e->first + i].meaning;
		if (m < CORNERS)
			has[m] = true;
	}
	if (!has[POSITION_X] || !has[POSITION_Y] || !has[POSITION_Z])
		hob_leave(CORRUPT, "the vertices have no x, y and z");
	hob_arena *arena = r->request->result;
	size_t count = d->vertex_count = (uint32_t)e->count;
	bool normals = has[NORMAL_X] && has[NORMAL_Y] && has[NORMAL_Z];
	bool colors = has[RED] && has[GREEN] && has[BLUE], uvs = has[TEX_U] && has[TEX_V];
	d->position = HOB_NEW(arena, float, count * 3);
	d->normal = normals ? HOB_NEW(arena, float, count * 3) : NULL;
	d->color = colors ? HOB_NEW(arena, float, count * 4) : NULL;
	d->uv = uvs ? HOB_NEW(arena, float, count * 2) : NULL;
	for (size_t i = 0; d->color && !has[ALPHA] && i < count; i++)
		d->color[i * 4 + 3] = 1;
	float *const arrays[] = {d->position, d->normal, d->color, d->uv};
	static const struct {
		uint8_t array, first, stride;
	} places[CORNERS] = {{0, 0, 3}, {0, 1, 3}, {0, 2, 3}, {1, 0, 3}, {1, 1, 3}, {1, 2, 3},
						 {2, 0, 4}, {2, 1, 4}, {2, 2, 4}, {2, 3, 4}, {3, 0, 2}, {3, 1, 2}};
	for (int m = 0; m < CORNERS; m++) {
		float *array = arrays[places[m].array];
		columns[m] = (column){array ? array + places[m].first : NULL, places[m].stride};
	}
}

static void put_value(const property *p, const column *to, size_t row, double value)
{
	bool is_color = p->meaning >= RED && p->meaning <= ALPHA;
	if (p->is_harmonic)
		value = 0.5 + 0.28209479 * value;
	to->to[row * to->stride] =
		is_color ? color_value(value, p->type, p->meaning == ALPHA) : hob_number_to_float(value);
}

/* Most scans have byte colours; a table saves the power function. */
static void byte_column(const char *at, uint32_t row_size, size_t count, bool alpha, const column *to)
{
	float table[256];
	for (int i = 0; i < 256; i++)
		table[i] = color_value(i, HOB_PLY_U8, alpha);
	for (size_t i = 0; i < count; i++, at += row_size)
		to->to[i * to->stride] = table[(uint8_t)*at];
}

static void read_column(const reader *r, const element *e, const property *p, const column *to)
{
	const char *at = r->at + p->offset;
	size_t count = (size_t)e->count;
	bool big = r->coding == BIG;
	if (p->type == HOB_PLY_F32 && !big && !(p->meaning >= RED && p->meaning <= ALPHA)) {
		for (size_t i = 0; i < count; i++, at += e->row_size)
			to->to[i * to->stride] = hob_load_f32(at);
	} else if (p->type == HOB_PLY_U8 && p->meaning >= RED && p->meaning <= ALPHA) {
		byte_column(at, e->row_size, count, p->meaning == ALPHA, to);
	} else {
		for (size_t i = 0; i < count; i++, at += e->row_size)
			put_value(p, to, i, ply_load(at, p->type, big));
	}
}

static void read_vertices(reader *r, const element *e)
{
	column columns[CORNERS];
	if (r->data->position)
		hob_leave(CORRUPT, "two vertex elements");
	if (e->count > HOB_LIMIT_VERTICES)
		hob_leave(LIMIT, "%llu vertices, at most %llu are allowed", (unsigned long long)e->count,
				  HOB_LIMIT_VERTICES);
	vertex_columns(r, e, columns);
	const property *properties = r->properties + e->first;
	if (e->row_size > 0) {
		for (uint32_t i = 0; i < e->property_count; i++)
			if (properties[i].meaning < CORNERS && columns[properties[i].meaning].to)
				read_column(r, e, &properties[i], &columns[properties[i].meaning]);
		r->at += e->row_size * e->count;
		return;
	}
	check_rows(r, e);
	for (uint64_t row = 0; row < e->count; row++) {
		HOB_PLACE("vertex #", (uint32_t)row, {0});
		for (uint32_t i = 0; i < e->property_count; i++) {
			const property *p = &properties[i];
			double value = read_value(r, p);
			if (!p->is_list && p->meaning < CORNERS && columns[p->meaning].to)
				put_value(p, &columns[p->meaning], row, value);
		}
	}
}

/* ---- faces */

static uint32_t to_index(double value)
{
	return value >= 0 && value < 4294967295.0 ? (uint32_t)value : HOB_NONE;
}

/* Reads the list of a face's corners or texture coordinates, or skips another. */
static void read_list(reader *r, const property *p)
{
	bool corners = p->meaning == CORNERS;
	if (!corners && p->meaning != CORNER_UVS) {
		skip_list(r, p);
		return;
	}
	uint64_t count = read_count(r, p);
	uint8_t *to = hob_buf_grow(corners ? &r->strip : &r->data->corner_uvs, count * 4);
	if (corners && r->coding == LITTLE && (p->type == HOB_PLY_I32 || p->type == HOB_PLY_U32)) {
		for (uint64_t i = 0; i < count; i++)
			((uint32_t *)(void *)to)[i] = hob_load_u32(r->at + i * 4);
		r->at += count * 4;
		return;
	}
	for (uint64_t i = 0; i < count; i++) {
		double value = read_scalar(r, p->type);
		if (corners)
			((uint32_t *)(void *)to)[i] = to_index(value);
		else
			((float *)(void *)to)[i] = hob_number_to_float(value);
	}
}

typedef struct face_row {
	float color[4];
	uint32_t texture;
	size_t uv_start; /* bytes of corner_uvs before the current face */
} face_row;

/* `what`: "face #" or "strip #". */
static face_row read_face_row(reader *r, const element *e, const char *what, uint64_t number)
{
	HOB_PLACE(what, (uint32_t)number, {0});
	face_row row = {{1, 1, 1, 1}, 0, r->data->corner_uvs.size};
	hob_buf_clear(&r->strip);
	for (uint32_t i = 0; i < e->property_count; i++) {
		const property *p = &r->properties[e->first + i];
		double value = 0;
		if (p->is_list)
			read_list(r, p);
		else
			value = read_scalar(r, p->type);
		if (p->meaning >= RED && p->meaning <= ALPHA)
			row.color[p->meaning - RED] = color_value(value, p->type, p->meaning == ALPHA);
		else if (p->meaning == TEXTURE_NUMBER)
			row.texture = to_index(value);
	}
	return row;
}

static bool element_has(const reader *r, const element *e, meaning m)
{
	for (uint32_t i = 0; i < e->property_count; i++)
		if (r->properties[e->first + i].meaning == m)
			return true;
	return false;
}

static void read_faces(reader *r, const element *e)
{
	hob_ply_data *d = r->data;
	bool colors = element_has(r, e, RED), textures = element_has(r, e, TEXTURE_NUMBER);
	bool uvs = element_has(r, e, CORNER_UVS);
	if (d->sizes.size > 0)
		hob_leave(CORRUPT, "two face elements");
	check_rows(r, e);
	for (uint64_t f = 0; f < e->count; f++) {
		face_row row = read_face_row(r, e, "face #", f);
		uint32_t count = (uint32_t)(r->strip.size / sizeof(uint32_t));
		if (uvs && d->corner_uvs.size - row.uv_start != (size_t)count * 2 * sizeof(float)) {
			/* A face whose texture coordinates are missing or incomplete gets zeros. */
			d->corner_uvs.size = row.uv_start;
			size_t size = (size_t)count * 2 * sizeof(float);
			memset(hob_buf_grow(&d->corner_uvs, size), 0, size);
		}
		if (count < 3) {
			d->small_faces++;
			d->corner_uvs.size = row.uv_start;
			continue;
		}
		hob_buf_put(&d->corners, r->strip.data, r->strip.size);
		hob_buf_put(&d->sizes, &count, sizeof count);
		if (colors)
			hob_buf_put(&d->face_colors, row.color, sizeof row.color);
		if (textures)
			hob_buf_put(&d->face_texture, &row.texture, sizeof row.texture);
		if (d->corners.size / sizeof(uint32_t) > HOB_LIMIT_INDICES)
			hob_leave(LIMIT, "faces with more than %llu corners", HOB_LIMIT_INDICES);
	}
}

/* In a strip every other triangle is reversed; -1 starts a new strip. */
static void put_strip(hob_ply_data *d, const uint32_t *strip, uint32_t count)
{
	const uint32_t three = 3;
	uint32_t start = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (strip[i] == HOB_NONE) {
			start = i + 1;
			continue;
		}
		if (i < start + 2)
			continue;
		bool odd = (i - start) & 1;
		const uint32_t face[3] = {strip[i - 2 + odd], strip[i - 1 - odd], strip[i]};
		if (face[0] == face[1] || face[1] == face[2] || face[0] == face[2])
			continue;
		hob_buf_put(&d->corners, face, sizeof face);
		hob_buf_put(&d->sizes, &three, sizeof three);
	}
}

static void read_strips(reader *r, const element *e)
{
	for (uint64_t s = 0; s < e->count; s++) {
		face_row row = read_face_row(r, e, "strip #", s);
		r->data->corner_uvs.size = row.uv_start;
		put_strip(r->data, (const uint32_t *)(const void *)r->strip.data,
				  (uint32_t)(r->strip.size / sizeof(uint32_t)));
		if (r->data->corners.size / sizeof(uint32_t) > HOB_LIMIT_INDICES)
			hob_leave(LIMIT, "strips with more than %llu corners", HOB_LIMIT_INDICES);
	}
}

static void read_others(reader *r, const element *e)
{
	if (e->row_size > 0 && e->kind != EDGE) {
		r->at += e->row_size * e->count;
		return;
	}
	for (uint64_t row = 0; row < e->count; row++) {
		uint32_t edge[2] = {HOB_NONE, HOB_NONE};
		for (uint32_t i = 0; i < e->property_count; i++) {
			const property *p = &r->properties[e->first + i];
			double value = read_value(r, p);
			if (p->meaning == EDGE_A || p->meaning == EDGE_B)
				edge[p->meaning - EDGE_A] = to_index(value);
		}
		if (e->kind == EDGE)
			hob_buf_put(&r->data->edges, edge, sizeof edge);
	}
}

/* ---- body */

static void read_element(reader *r, element *e)
{
	static const char *const names[] = {"vertex", "face", "tristrips", "edge", "unknown"};
	bool lists = false;
	for (uint32_t i = 0; i < e->property_count; i++)
		lists = lists || r->properties[e->first + i].is_list;
	e->row_size = lists || r->coding == TEXT ? 0 : (uint32_t)e->row_least;
	if (e->property_count == 0 || e->count == 0)
		return;
	/* In text the last value of the file needs no trailing blank. */
	uint64_t left = (uint64_t)(r->end - r->at) + (r->coding == TEXT);
	if (e->count > left / e->row_least)
		hob_leave(TRUNCATED,
				  "the header announces %llu rows of element '%s', but only %llu bytes are "
				  "left; copy the file again",
				  (unsigned long long)e->count, names[e->kind], (unsigned long long)left);
	HOB_PLACE("element '@'", 0, hob_str_of(names[e->kind]));
	if (e->kind == VERTEX)
		read_vertices(r, e);
	else if (e->kind == FACE)
		read_faces(r, e);
	else if (e->kind == STRIPS)
		read_strips(r, e);
	else
		read_others(r, e);
}

void hob_ply_data_read(const hob_import_request *request, hob_ply_data *out)
{
	reader *r = HOB_NEW(request->scratch, reader, 1);
	r->request = request;
	r->data = out;
	r->at = request->file.data ? (const char *)request->file.data : "";
	r->end = r->at + request->file.size;
	parse_header(r);
	ply_unread_say(&r->unread, request->notes);
	for (uint32_t i = 0; i < r->element_count; i++)
		read_element(r, &r->elements[i]);
	skip_comments(r);
	if (r->coding == TEXT && r->at < r->end && *r->at)
		hob_leave(CORRUPT, "values follow the last row: the rows do not match the header; export it again");
}
