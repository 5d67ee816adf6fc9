#include "obj_data.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "../base/number.h"
#include "text.h"

typedef struct names {
	hob_name_map map;
	hob_buf *list;
} names;

/* Kinds of errors in lines. Each is reported once, at the end, with the first line that has it. */
typedef enum complaint {
	BAD_NUMBER,
	BAD_INDEX,
	SMALL_FACE,
	DECIMAL_COMMA,
	FREE_FORM,
	COLOR_ALPHA,
	UNKNOWN_LINE,
	COMPLAINTS
} complaint;

typedef struct parser {
	const hob_import_request *request;
	hob_obj_data *data;
	const char *at, *end;
	uint64_t line;
	uint32_t position_count, uv_count, normal_count;
	names objects, groups, materials;
	hob_obj_run run; /* the current run; its object, group and material are set before its first element */
	bool run_open;
	uint32_t v_end, vt_end, vn_end; /* one past the largest index of all corners */
	hob_buf painted;				/* f32[3]: ZBrush's vertex colours */
	hob_buf early; /* early_index: elements that used vertices not read yet, by rising index */
	uint64_t complaints[COMPLAINTS], first_line[COMPLAINTS];
} parser;

typedef struct early_index {
	uint32_t v_end;
	uint64_t line;
} early_index;

/* hob_buf_grow, with the case of enough room inlined. */
static inline void *grow(hob_buf *buf, size_t size)
{
	if (buf->capacity - buf->size < size)
		return hob_buf_grow(buf, size);
	buf->size += size;
	return buf->data + (buf->size - size);
}

static inline void put_floats(hob_buf *buf, const float *values, size_t count)
{
	memcpy(grow(buf, count * sizeof *values), values, count * sizeof *values);
}

static void complain(parser *p, complaint what)
{
	if (p->complaints[what]++ == 0)
		p->first_line[what] = p->line;
}

/* ---- within a line */

static bool at_line_end(const parser *p)
{
	return p->at == p->end || *p->at == '\n' || *p->at == '\r';
}

/* Skips blanks and line continuations. */
static void skip_blanks(parser *p)
{
	while (p->at < p->end) {
		if (hob_is_blank(*p->at)) {
			p->at++;
		} else if (*p->at == '\\' && p->at + 1 < p->end && (p->at[1] == '\n' || p->at[1] == '\r')) {
			p->at += p->at[1] == '\r' && p->at + 2 < p->end && p->at[2] == '\n' ? 3 : 2;
			p->line++;
		} else {
			return;
		}
	}
}

/* Advances to the next word; false at the end of the line or at a comment. */
static inline bool next_word(parser *p)
{
	if (p->at < p->end && *p->at == ' ' && p->at + 1 < p->end && (uint8_t)p->at[1] > '#' &&
		p->at[1] != '\\') {
		p->at++;
		return true;
	}
	skip_blanks(p);
	return !at_line_end(p) && *p->at != '#';
}

static void skip_line(parser *p)
{
	while (!at_line_end(p)) {
		if (*p->at == '\\')
			skip_blanks(p);
		if (!at_line_end(p))
			p->at++;
	}
}

static void next_line(parser *p)
{
	if (p->at < p->end && *p->at++ == '\r' && p->at < p->end && *p->at == '\n')
		p->at++;
	p->line++;
}

/* The rest of the line, trimmed; a comment after a blank is cut off. */
static hob_str rest_of_line(parser *p)
{
	const char *from = p->at;
	skip_line(p);
	hob_str rest = {from, (size_t)(p->at - from)};
	for (size_t i = 1; i < rest.len; i++)
		if (rest.data[i] == '#' && hob_is_blank(rest.data[i - 1]))
			rest.len = i;
	return hob_text_trim(rest);
}

/* Exporters with a comma locale write 1,5. */
static const char *read_decimal_comma(parser *p, float *out)
{
	char text[64];
	size_t len = 0;
	for (; len < sizeof text && p->at + len < p->end && (uint8_t)p->at[len] > ' '; len++)
		text[len] = p->at[len] == ',' ? '.' : p->at[len];
	const char *behind = hob_number_float(text, text + len, out);
	if (!behind)
		return NULL;
	complain(p, DECIMAL_COMMA);
	return p->at + (behind - text);
}

static bool read_float(parser *p, float *out)
{
	const char *behind = hob_number_float(p->at, p->end, out);
	if (behind && behind + 1 < p->end && *behind == ',' && hob_is_digit(behind[1]))
		behind = read_decimal_comma(p, out);
	if (!behind)
		return false;
	p->at = behind;
	return p->at == p->end || (uint8_t)*p->at <= ' ' || *p->at == '\\' || *p->at == '#';
}

/* Reads up to `most` numbers; returns how many were read. */
static uint32_t read_floats(parser *p, float *out, uint32_t most)
{
	uint32_t count = 0;
	while (count < most && next_word(p) && read_float(p, &out[count]))
		count++;
	return count;
}

/* ---- statements */

static void read_position(parser *p)
{
	float v[7] = {0};
	uint32_t count = read_floats(p, v, 7);
	if (count < 3) {
		/* The vertex keeps its index: later faces count on it. */
		complain(p, BAD_NUMBER);
	}
	hob_obj_data *d = p->data;
	if (count >= 6) {
		const float white[3] = {1, 1, 1};
		/* Positions before the first coloured one are white. */
		while (d->colors.size < d->positions.size)
			hob_buf_put(&d->colors, white, sizeof white);
		hob_buf_put(&d->colors, v + 3, 3 * sizeof(float));
		if (count == 7 && v[6] < 1)
			complain(p, COLOR_ALPHA);
	} else if (d->colors.size > 0) {
		const float white[3] = {1, 1, 1};
		hob_buf_put(&d->colors, white, sizeof white);
	}
	put_floats(&d->positions, v, 3);
	p->position_count++;
}

static void read_uv(parser *p)
{
	float uv[2] = {0, 0};
	if (read_floats(p, uv, 2) < 1)
		complain(p, BAD_NUMBER);
	put_floats(&p->data->uvs, uv, 2);
	p->uv_count++;
}

static void read_normal(parser *p)
{
	float n[3] = {0, 0, 0};
	if (read_floats(p, n, 3) < 3)
		complain(p, BAD_NUMBER);
	put_floats(&p->data->normals, n, 3);
	p->normal_count++;
}

/* Resolves an index, which counts from 1 or, if negative, from the end. HOB_NONE when it cannot exist. */
static uint32_t resolve(int64_t index, uint32_t count)
{
	if (index > 0 && index <= (int64_t)HOB_LIMIT_VERTICES * 8)
		return (uint32_t)(index - 1);
	if (index < 0 && -index <= (int64_t)count)
		return count - (uint32_t)-index;
	return HOB_NONE;
}

/* Reads and resolves an index; NULL when there is none. */
static inline const char *read_index(const char *at, const char *end, uint32_t have, uint32_t *out)
{
	/* Fast path for short positive numbers, the vast majority; 0 becomes HOB_NONE. */
	uint32_t count = 0, value = end - at >= 8 ? hob_number_digits(at, &count) : 0;
	if (count > 0 && count < 8) {
		*out = value - 1;
		return at + count;
	}
	int64_t index;
	at = hob_number_int(at, end, &index);
	if (at)
		*out = resolve(index, have);
	return at;
}

static inline uint32_t largest(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Reads a corner: v, v/vt, v//vn or v/vt/vn; NULL for anything else. */
static inline const char *read_corner(parser *p, const char *at, hob_obj_corner *out)
{
	const char *end = p->end, *behind;
	*out = (hob_obj_corner){HOB_NONE, HOB_NONE, HOB_NONE};
	if (!(at = read_index(at, end, p->position_count, &out->v)))
		return NULL;
	if (at < end && *at == '/') {
		behind = read_index(++at, end, p->uv_count, &out->vt);
		at = behind ? behind : at;
		if (at < end && *at == '/') {
			behind = read_index(++at, end, p->normal_count, &out->vn);
			at = behind ? behind : at;
		}
	}
	/* HOB_NONE + 1 is 0. */
	p->v_end = largest(p->v_end, out->v + 1);
	p->vt_end = largest(p->vt_end, out->vt + 1);
	p->vn_end = largest(p->vn_end, out->vn + 1);
	return at == end || (uint8_t)*at <= ' ' || *at == '\\' || *at == '#' ? at : NULL;
}

/* Continues the run of this kind of element, or starts one if a statement or another kind came between. */
static void enter_run(parser *p, hob_obj_kind kind, uint32_t corner_first)
{
	hob_obj_data *d = p->data;
	if (p->run_open && p->run.kind == kind)
		return;
	p->run.kind = kind;
	p->run.first = HOB_LISTS_COUNT(d->sizes, uint32_t);
	p->run.corner_first = corner_first;
	p->run.count = 0;
	hob_buf_put(&d->runs, &p->run, sizeof p->run);
	p->run_open = true;
}

static void put_element(parser *p, hob_obj_kind kind, uint32_t corner_first, uint32_t count)
{
	hob_obj_data *d = p->data;
	enter_run(p, kind, corner_first);
	*(uint32_t *)grow(&d->sizes, sizeof count) = count;
	HOB_OBJ_ARRAY(d->runs, hob_obj_run)[HOB_LISTS_COUNT(d->runs, hob_obj_run) - 1].count++;
}

static void read_element(parser *p, hob_obj_kind kind)
{
	hob_obj_data *d = p->data;
	uint32_t first = HOB_LISTS_COUNT(d->corners, hob_obj_corner), count = 0;
	uint32_t v_end = p->v_end;
	bool good = true;
	d->has_elements = true;
	while (next_word(p)) {
		hob_obj_corner *corner = grow(&d->corners, sizeof *corner);
		const char *behind = read_corner(p, p->at, corner);
		if (!behind) {
			complain(p, BAD_NUMBER);
			good = false;
			break;
		}
		p->at = behind;
		good = good && corner->v != HOB_NONE;
		count++;
	}
	if (p->v_end > v_end && p->v_end > p->position_count) {
		early_index early = {p->v_end, p->line};
		hob_buf_put(&p->early, &early, sizeof early);
	}
	uint32_t least = kind == HOB_OBJ_FACES ? 3 : kind == HOB_OBJ_LINES ? 2 : 1;
	if (!good || count < least) {
		d->corners.size = (size_t)first * sizeof(hob_obj_corner);
		complain(p, good ? SMALL_FACE : BAD_INDEX);
		return;
	}
	put_element(p, kind, first, count);
}

static void use_name(parser *p, names *in, uint32_t *id)
{
	hob_str name = rest_of_line(p);
	uint32_t next = HOB_LISTS_COUNT(*in->list, hob_str), held = hob_name_map_add(&in->map, name, next);
	if (held == next)
		hob_buf_put(in->list, &name, sizeof name);
	if (*id != held)
		p->run_open = false;
	*id = held;
}

static void read_smoothing(parser *p)
{
	hob_str word = rest_of_line(p);
	int64_t number = 0;
	hob_number_int(word.data, word.data + word.len, &number);
	uint32_t smoothing = number > 0 && number < HOB_NONE ? (uint32_t)number : 0;
	if (hob_str_equal_nocase(word, HOB_STR("on")))
		smoothing = 1;
	if (smoothing != p->run.smoothing)
		p->run_open = false;
	p->run.smoothing = smoothing;
}

/* ---- lines */

static bool takes_keyword(parser *p, const char *keyword)
{
	size_t len = strlen(keyword);
	if ((size_t)(p->end - p->at) < len || memcmp(p->at, keyword, len) != 0)
		return false;
	if (p->at + len < p->end && (uint8_t)p->at[len] > ' ' && p->at[len] != '\\')
		return false;
	p->at += len;
	return true;
}

static bool takes_one(parser *p, const char *const *keywords, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (takes_keyword(p, keywords[i]))
			return true;
	return false;
}

static void read_other(parser *p)
{
	static const char *const free_form[] = {"vp",	"cstype", "deg",  "bmat", "step", "curv", "curv2", "surf",
											"parm", "trim",	  "hole", "scrv", "sp",	  "end",  "con"};
	static const char *const harmless[] = {"mg",	 "bevel",	   "c_interp",	"d_interp", "lod",	"maplib",
										   "usemap", "shadow_obj", "trace_obj", "ctech",	"stech"};
	if (takes_keyword(p, "usemtl")) {
		use_name(p, &p->materials, &p->run.material);
	} else if (takes_keyword(p, "mtllib")) {
		hob_str library = rest_of_line(p);
		hob_buf_put(&p->data->libraries, &library, sizeof library);
	} else if (takes_keyword(p, "fo")) {
		/* The older spelling of f. */
		read_element(p, HOB_OBJ_FACES);
	} else if (takes_one(p, free_form, HOB_COUNT_OF(free_form))) {
		complain(p, FREE_FORM);
	} else if (!takes_one(p, harmless, HOB_COUNT_OF(harmless))) {
		complain(p, UNKNOWN_LINE);
	}
}

/* ZBrush writes colours as comments: eight digits MMRRGGBB for each vertex in order; MM is a mask. */
static void read_polypaint(parser *p)
{
	uint8_t digits[8];
	uint32_t count = 0;
	for (skip_blanks(p); !at_line_end(p); p->at++) {
		int digit = hob_text_hex(*p->at);
		if (digit < 0)
			break;
		digits[count++] = (uint8_t)digit;
		if (count == 8) {
			float rgb[3];
			for (int i = 0; i < 3; i++)
				rgb[i] = (float)(digits[2 + i * 2] * 16 + digits[3 + i * 2]) / 255;
			put_floats(&p->painted, rgb, 3);
			count = 0;
		}
	}
}

/* Uses ZBrush's colours, unless colours are given beside the positions. */
static void take_polypaint(parser *p)
{
	hob_obj_data *d = p->data;
	if (p->painted.size == 0 || d->colors.size > 0)
		return;
	const float white[3] = {1, 1, 1};
	size_t wanted = (size_t)p->position_count * 3 * sizeof(float);
	if (p->painted.size != wanted)
		hob_warn(p->request->notes, "obj.polypaint",
				 "ZBrush's colours (#MRGB) are for %zu vertices, but there are %u; export it again",
				 p->painted.size / sizeof white, p->position_count);
	hob_buf_put(&d->colors, p->painted.data, p->painted.size < wanted ? p->painted.size : wanted);
	while (d->colors.size < wanted)
		hob_buf_put(&d->colors, white, sizeof white);
}

static void read_line(parser *p)
{
	skip_blanks(p);
	if (!at_line_end(p) && *p->at == '#' && takes_keyword(p, "#MRGB"))
		read_polypaint(p);
	if (at_line_end(p) || *p->at == '#')
		return;
	char first = *p->at, second = p->at + 1 < p->end ? p->at[1] : '\n';
	bool alone = (uint8_t)second <= ' ' || second == '\\';
	if (first == 'v' && alone) {
		p->at++;
		read_position(p);
	} else if (first == 'f' && alone) {
		p->at++;
		read_element(p, HOB_OBJ_FACES);
	} else if (first == 'v' && takes_keyword(p, "vt")) {
		read_uv(p);
	} else if (first == 'v' && takes_keyword(p, "vn")) {
		read_normal(p);
	} else if (first == 'l' && alone) {
		p->at++;
		read_element(p, HOB_OBJ_LINES);
	} else if (first == 'p' && alone) {
		p->at++;
		read_element(p, HOB_OBJ_POINTS);
	} else if (first == 'o' && alone) {
		p->at++;
		use_name(p, &p->objects, &p->run.object);
	} else if (first == 'g' && alone) {
		p->at++;
		use_name(p, &p->groups, &p->run.group);
	} else if (first == 's' && alone) {
		p->at++;
		read_smoothing(p);
	} else {
		read_other(p);
	}
}

static void check_limits(const parser *p)
{
	const hob_obj_data *d = p->data;
	if (p->position_count > HOB_LIMIT_VERTICES || p->uv_count > HOB_LIMIT_VERTICES ||
		p->normal_count > HOB_LIMIT_VERTICES)
		hob_leave(LIMIT, "line %llu: more than %llu vertices; split the file", (unsigned long long)p->line,
				  HOB_LIMIT_VERTICES);
	if (d->corners.size / sizeof(hob_obj_corner) > HOB_LIMIT_INDICES)
		hob_leave(LIMIT, "line %llu: more than %llu corners; split the file", (unsigned long long)p->line,
				  HOB_LIMIT_INDICES);
}

/* ---- after the last line */

static bool is_good(const parser *p, const hob_obj_corner *corners, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (corners[i].v >= p->position_count)
			return false;
	return true;
}

/* Positive indices may refer forward, so they are checked after the last line. */
static void drop_bad_elements(parser *p)
{
	hob_obj_data *d = p->data;
	if (p->v_end <= p->position_count && p->vt_end <= p->uv_count && p->vn_end <= p->normal_count)
		return;
	hob_obj_run *runs = HOB_OBJ_ARRAY(d->runs, hob_obj_run);
	hob_obj_corner *corners = HOB_OBJ_ARRAY(d->corners, hob_obj_corner);
	uint32_t *sizes = HOB_OBJ_ARRAY(d->sizes, uint32_t);
	for (uint32_t r = 0; r < HOB_LISTS_COUNT(d->runs, hob_obj_run); r++) {
		uint32_t from = runs[r].corner_first, to = from, kept = 0;
		for (uint32_t e = 0; e < runs[r].count; e++) {
			uint32_t size = sizes[runs[r].first + e];
			bool good = is_good(p, corners + from, size);
			if (good && to != from)
				memmove(corners + to, corners + from, size * sizeof *corners);
			for (uint32_t i = 0; good && i < size; i++) {
				hob_obj_corner *c = &corners[to + i];
				c->vt = c->vt < p->uv_count ? c->vt : HOB_NONE;
				c->vn = c->vn < p->normal_count ? c->vn : HOB_NONE;
			}
			if (good) {
				sizes[runs[r].first + kept++] = size;
				to += size;
			} else {
				complain(p, BAD_INDEX);
			}
			from += size;
		}
		runs[r].count = kept;
	}
}

/* The first element with an index out of range had the largest index until then, so `early` has it. */
static void find_first_bad_index(parser *p)
{
	const early_index *early = HOB_OBJ_ARRAY(p->early, early_index);
	uint64_t *first = &p->first_line[BAD_INDEX];
	for (uint32_t i = 0; i < HOB_LISTS_COUNT(p->early, early_index); i++)
		if (early[i].v_end > p->position_count) {
			*first = early[i].line < *first ? early[i].line : *first;
			return;
		}
}

static void say_complaints(const parser *p)
{
	static const struct {
		const char *code, *text;
	} says[COMPLAINTS] = {
		[BAD_NUMBER] = {"obj.bad-line", "lines whose numbers cannot be read"},
		[BAD_INDEX] = {"obj.bad-index",
					   "faces, lines or points that use a vertex that does not exist; they are left out"},
		[SMALL_FACE] = {"obj.small-face",
						"faces of fewer than three corners, or lines of fewer than two; they "
						"are left out"},
		[DECIMAL_COMMA] = {"obj.decimal-comma",
						   "numbers with a decimal comma; they are read as decimals, but "
						   "the exporter's locale should be fixed"},
		[FREE_FORM] = {"obj.free-form", "statements of free-form curves and surfaces, which are left out; "
										"convert them to polygons before export"},
		[COLOR_ALPHA] = {"obj.color-alpha", "vertex colours with an alpha below 1, which is left out"},
		[UNKNOWN_LINE] = {"obj.unknown-line", "lines that are no OBJ statement; they are skipped"},
	};
	for (int i = 0; i < COMPLAINTS; i++)
		if (p->complaints[i] > 0)
			hob_warn(p->request->notes, says[i].code, "%llu %s (first at line %llu)",
					 (unsigned long long)p->complaints[i], says[i].text,
					 (unsigned long long)p->first_line[i]);
}

/* A file that is truncated, or still being copied, ends in the middle of a statement. */
static void check_last_line(const parser *p, const char *line, uint64_t bad_before)
{
	hob_str last = hob_text_trim((hob_str){line, (size_t)(p->end - line)});
	uint64_t bad = p->complaints[BAD_NUMBER] + p->complaints[SMALL_FACE] + p->complaints[UNKNOWN_LINE];
	bool cut =
		last.len > 0 && (bad > bad_before || (*last.data != '#' && strchr("/-", last.data[last.len - 1])));
	if (cut)
		hob_leave(TRUNCATED, "the last line, %llu, ends early: '%.*s'; save or copy the file again",
				  (unsigned long long)p->line, HOB_FMT(hob_str_sub(last, 0, 60)));
}

static void read_all(parser *p)
{
	while (p->at < p->end) {
		const char *line = p->at;
		uint64_t bad = p->complaints[BAD_NUMBER] + p->complaints[SMALL_FACE] + p->complaints[UNKNOWN_LINE];
		read_line(p);
		skip_line(p);
		if (p->at == p->end)
			check_last_line(p, line, bad);
		next_line(p);
		if (p->line % 65536 == 0)
			check_limits(p);
	}
	take_polypaint(p);
	check_limits(p);
	drop_bad_elements(p);
	find_first_bad_index(p);
	p->data->bad_index_line = p->complaints[BAD_INDEX] > 0 ? p->first_line[BAD_INDEX] : 0;
	p->data->free_form_line = p->complaints[FREE_FORM] > 0 ? p->first_line[FREE_FORM] : 0;
	say_complaints(p);
}

void hob_obj_data_read(const hob_import_request *request, hob_str text, hob_obj_data *out)
{
	parser p = {.request = request, .data = out, .at = text.data, .end = text.data + text.len, .line = 1};
	p.run = (hob_obj_run){.object = HOB_NONE, .group = HOB_NONE, .material = HOB_NONE};
	p.objects.list = &out->objects;
	p.groups.list = &out->groups;
	p.materials.list = &out->materials;
	hob_name_map_init(&p.objects.map, request->scratch);
	hob_name_map_init(&p.groups.map, request->scratch);
	hob_name_map_init(&p.materials.map, request->scratch);
	read_all(&p);
}
