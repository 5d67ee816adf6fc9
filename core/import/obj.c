#include "importers.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "mtl.h"
#include "obj_data.h"
#include "plain_census.h"
#include "shape.h"
#include "text.h"

typedef struct obj_import_state {
	const hob_import_request *request;
	hob_obj_data data;
	hob_mtl_library library;
	hob_image_set images;
	hob_model *model;
} obj_import_state;

/* ---- material libraries */

static bool is_absent(hob_err_code code)
{
	return code == HOB_ERR_MISSING_FILE || code == HOB_ERR_LFS_POINTER || code == HOB_ERR_OUTSIDE ||
		   code == HOB_ERR_CORRUPT;
}

/* Reads one library; false when no such file exists. */
static bool read_library(obj_import_state *s, hob_str name)
{
	const hob_import_request *request = s->request;
	const hob_io *io = request->io;
	hob_str path, other, used;
	hob_bytes file;
	hob_error why = {0};
	if (!hob_io_join(request->io, request->scratch, hob_path_dir(request->path), name, &path, NULL))
		return false;
	bool read = io->read(io->user, path, &file, &why);
	used = path;
	if (!read && is_absent(why.code) && io->find_nocase && io->find_nocase(io->user, path, &other)) {
		read = io->read(io->user, other, &file, &why);
		used = other;
		if (read)
			hob_warn(request->notes, "obj.mtllib-guessed",
					 "material library '%.*s' does not exist; '%.*s' is used", HOB_FMT(name), HOB_FMT(other));
	}
	if (!read && why.code == HOB_ERR_LFS_POINTER) {
		hob_warn(request->notes, "obj.mtllib-pointer", "material library: %s", why.context);
		return true;
	}
	if (!read && is_absent(why.code))
		return false;
	if (!read) {
		hob_error_append(&why, "material library '%.*s'", HOB_FMT(name));
		hob_leave_with(&why);
	}
	hob_mtl_index(&s->library, hob_path_dir(used), hob_text_decode(request->scratch, file));
	return true;
}

/* Tries the path as written, then its last part beside the model. */
static bool find_library(obj_import_state *s, hob_str name)
{
	bool found = read_library(s, name);
	hob_str last = hob_text_last_part(name), dir = hob_path_dir(s->request->path);
	bool elsewhere = !found && last.len > 0 && last.len != name.len;
	if (elsewhere)
		found = read_library(s, last);
	if (found && elsewhere)
		hob_warn(s->request->notes, "obj.mtllib-guessed",
				 "material library '%.*s' does not exist; '%.*s%s%.*s' beside the model is used",
				 HOB_FMT(name), HOB_FMT(dir), dir.len > 0 ? "/" : "", HOB_FMT(last));
	else if (found && memchr(name.data, '\\', name.len))
		hob_warn(s->request->notes, "obj.mtllib-guessed",
				 "material library '%.*s' is named with backslashes, which only Windows reads; write '/'",
				 HOB_FMT(name));
	return found;
}

/* A statement may name several files, and a file name may contain blanks. */
static void read_statement(obj_import_state *s, hob_str names)
{
	bool any_missing = false;
	hob_str missing = names;
	if (names.len >= 2 && names.data[0] == '"' && names.data[names.len - 1] == '"')
		names = hob_str_sub(names, 1, names.len - 1);
	if (names.len == 0 || find_library(s, names))
		return;
	hob_str rest = names, name = hob_text_word(&rest);
	bool several = name.len < names.len;
	for (; several && name.len > 0; name = hob_text_word(&rest)) {
		bool found = find_library(s, name);
		if (!found && !any_missing)
			missing = name;
		any_missing = any_missing || !found;
	}
	if (!several || any_missing)
		hob_warn(s->request->notes, "obj.mtllib-missing",
				 "material library '%.*s' does not exist; put it beside the model, or "
				 "its materials stay plain",
				 HOB_FMT(missing));
}

/* ---- materials that are used */

/* An undefined material name still separates faces, so it becomes a plain material. */
static uint32_t add_plain(obj_import_state *s, hob_str name)
{
	uint32_t id = s->model->material_count++;
	hob_shape_plain_material(&s->model->materials[id], hob_text_name(s->request->result, name));
	return id;
}

static uint32_t read_material(obj_import_state *s, hob_str name, bool *clamped)
{
	const hob_mtl_entry *entry = hob_mtl_find(&s->library, name);
	if (entry) {
		uint32_t id = s->model->material_count++;
		hob_census_of_mtl(s->request->seen, entry->body);
		hob_mtl_read(entry, &s->images, 0, clamped, &s->model->materials[id]);
		return id;
	}
	if (s->data.libraries.size > 0 && name.len > 0)
		hob_warn(s->request->notes, "obj.material-missing",
				 "material '%.*s' is in no material library; its faces use the default material",
				 HOB_FMT(name));
	return add_plain(s, name);
}

static void mark_materials(const hob_obj_data *data, bool *used, uint32_t count)
{
	const hob_obj_run *runs = HOB_OBJ_ARRAY(data->runs, hob_obj_run);
	for (uint32_t r = 0; r < HOB_LISTS_COUNT(data->runs, hob_obj_run); r++)
		if (runs[r].count > 0)
			used[runs[r].material == HOB_NONE ? count : runs[r].material] = true;
	if (!data->has_elements)
		used[count] = true;
}

/* The material_ids of hob_obj_build. Materials that no face uses are left out. */
static uint32_t *read_materials(obj_import_state *s)
{
	const hob_import_request *request = s->request;
	const hob_str *names = HOB_OBJ_ARRAY(s->data.materials, hob_str);
	uint32_t count = HOB_LISTS_COUNT(s->data.materials, hob_str);
	bool clamped = false, *used = HOB_NEW(request->scratch, bool, (size_t)count + 1);
	if (count > HOB_LIMIT_MATERIALS)
		hob_leave(LIMIT, "%u materials, at most %llu are allowed", count, HOB_LIMIT_MATERIALS);
	uint32_t *ids = HOB_NEW(request->scratch, uint32_t, (size_t)count + 1);
	s->model->materials = HOB_NEW(request->result, hob_material, (size_t)count + 1);
	s->model->samplers = HOB_NEW(request->result, hob_sampler, 1);
	mark_materials(&s->data, used, count);
	for (uint32_t i = 0; i < count; i++)
		if (used[i])
			ids[i] = read_material(s, names[i], &clamped);
	if (used[count])
		ids[count] = add_plain(s, HOB_STR(""));
	s->model->samplers[0] = (hob_sampler){.wrap_u = HOB_WRAP_CLAMP, .wrap_v = HOB_WRAP_CLAMP};
	s->model->sampler_count = clamped;
	hob_image_set_take(&s->images, s->model);
	return ids;
}

/* ---- the import */

static bool has_good_element(const hob_obj_data *data)
{
	const hob_obj_run *runs = HOB_OBJ_ARRAY(data->runs, hob_obj_run);
	for (uint32_t r = 0; r < HOB_LISTS_COUNT(data->runs, hob_obj_run); r++)
		if (runs[r].count > 0)
			return true;
	return false;
}

static void convert(obj_import_state *s)
{
	const hob_import_request *request = s->request;
	const hob_str *libraries = HOB_OBJ_ARRAY(s->data.libraries, hob_str);
	if (s->data.positions.size == 0)
		hob_leave(EMPTY, "the OBJ file holds no vertex");
	if (!s->data.has_elements && s->data.free_form_line > 0)
		hob_leave(UNSUPPORTED,
				  "the OBJ file holds only free-form curves and surfaces (line %llu); convert them to "
				  "polygons before export",
				  (unsigned long long)s->data.free_form_line);
	bool unusable = s->data.has_elements && !has_good_element(&s->data);
	if (unusable && s->data.bad_index_line > 0)
		hob_leave(EMPTY,
				  "the OBJ file holds no usable face, line or point: line %llu uses a vertex that does not "
				  "exist; there are %u",
				  (unsigned long long)s->data.bad_index_line, HOB_LISTS_COUNT(s->data.positions, float) / 3);
	if (unusable)
		hob_leave(EMPTY, "the OBJ file holds no usable face, line or point");
	for (uint32_t i = 0; i < HOB_LISTS_COUNT(s->data.libraries, hob_str); i++)
		read_statement(s, libraries[i]);
	if (!s->data.has_elements)
		hob_warn(
			request->notes, "obj.no-faces",
			"no face, line or point uses the vertices; they are shown as points. If the file should have "
			"faces, it is incomplete: save or copy it again");
	uint32_t *ids = read_materials(s);
	hob_obj_smooth(request->scratch, &s->data);
	hob_obj_build(request, &s->data, ids, s->model);
}

static bool obj_import(const hob_import_request *request, hob_model *out, hob_error *err)
{
	(void)err;
	obj_import_state s = {.request = request, .model = out};
	hob_str text = hob_text_decode(request->scratch, request->file);
	hob_census_of_obj(request->seen, text);
	hob_name_map_init(&s.library.by_name, request->scratch);
	hob_image_set_init(&s.images, request);
	hob_obj_data_read(request, text, &s.data);
	convert(&s);
	return true;
}

static const char *const extensions[] = {"obj", NULL};

const hob_importer hob_obj_importer = {
	.name = "obj",
	.version = 7,
	.extensions = extensions,
	.import = obj_import,
	.copies = true,
};
