#include "cook.h"

#include "cook_memory.h"
#include "cook_world.h"
#include "report.h"

#include "../animation/animation.h"
#include "../animation/skin_poses.h"
#include "../base/array.h"
#include "../check/model_check.h"
#include "../formats/pack_write.h"
#include "../import/importer.h"
#include "../material/material_bake.h"
#include "../mesh/bake.h"
#include "../mesh/lods.h"
#include "../mesh/mesh_bounds.h"
#include "../mesh/mesh_twins.h"
#include "../model/model_scale.h"
#include "../scene/flatten.h"
#include "../scene/model_edit.h"
#include "../settings/cook_key.h"
#include "../settings/rules.h"
#include "../texture/texture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct cook {
	const hob_cook_request *request;
	hob_cook_memory *memory;
	hob_notes *notes;
	hob_cook_world world;			 /* the request's functions */
	hob_io io;						 /* wraps world.io to record the paths that are asked for */
	hob_str stem, dir;				 /* of the source's path */
	bool asked_by_name, asks_itself; /* asks_itself: its own path is also a reference in it */
	bool source_read;
	hob_str *asked; /* paths asked of the io; recorded only if `dir` is not empty */
	uint32_t asked_count, asked_room;
	hob_model model;
	uint64_t source_triangles; /* of the model before any edit */
	hob_baked_mesh *meshes;
	hob_baked_scene scene;
	hob_baked_animations animations;
	hob_baked_materials materials;
	hob_baked_texture *textures;
	uint32_t texture_count;
	hob_report report;
	hob_findings findings;
	uint32_t lod_max;		/* of the settings, or 1 where memory does not suffice */
	hob_notes **mesh_notes; /* by mesh, of the last bake; NULL: none */
} cook;

static void begin(cook *c, hob_cook_stage stage)
{
	hob_cook_world_begins(&c->world, stage);
	hob_report_stage(&c->report, hob_cook_step_at(stage).name, c->request->clock ? c->request->clock() : 0);
}

/* ---- files that are asked for */

/* Whether the file is a Git LFS pointer: three lines of text in place of a large file. */
static bool is_lfs_pointer(hob_bytes file)
{
	enum { POINTER_MAX = 1024 };
	hob_str text = {(const char *)file.data, file.size};
	return text.len < POINTER_MAX &&
		   (hob_str_starts(text, HOB_STR("version https://git-lfs.github.com/spec/")) ||
			hob_str_starts(text, HOB_STR("version https://hawser.github.com/spec/")));
}

static bool looks_for_more(const cook *c)
{
	return hob_rules_level(&c->request->settings, HOB_RULE_file_portability) == HOB_LEVEL_ERROR;
}

static bool is_asked(const cook *c, hob_str path)
{
	for (uint32_t i = 0; i < c->asked_count; i++)
		if (hob_str_equal(c->asked[i], path))
			return true;
	return false;
}

static void remember(cook *c, hob_str path)
{
	if (c->dir.len > 0 && !is_asked(c, path) && HOB_ROOM(c->asked, c->asked_room, c->asked_count))
		c->asked[c->asked_count++] = hob_arena_str(&c->memory->result, path);
}

static bool is_asked_from_here(cook *c, hob_str reference)
{
	hob_str meant;
	return hob_path_join(&c->memory->result, c->dir, reference, &meant, NULL) && is_asked(c, meant);
}

/* Whether `name`, at `at` of a message, is a reference as the model's file spells it, not an equal path below
 * the root: a model in tex/ may refer to tex/a.png and mean tex/tex/a.png. A message quotes a reference
 * before the path found for it; `last` is the text quoted before. */
static bool is_reference(cook *c, hob_str text, size_t at, hob_str name, hob_str last)
{
	bool named = last.len > 0 &&
				 (is_asked_from_here(c, last) || hob_str_equal(hob_path_name(last), hob_path_name(name)));
	return !named && hob_str_find(text, name, 0) == at && is_asked_from_here(c, name);
}

/* Appends a message, with paths that were asked of the io relative to the model's folder, and without the
 * model's own name: models with the same bytes share their messages, wherever they lie. */
static void put_relative(cook *c, hob_str text, hob_buf *out)
{
	hob_str last = {0};
	for (size_t at = 0, end; at < text.len; at = end) {
		bool opens = text.data[at] == '\'';
		end = hob_str_find(text, HOB_STR("'"), at + opens);
		end = end == SIZE_MAX ? text.len : end;
		hob_str quoted = hob_str_sub(text, at + 1, end), own = c->request->path;
		bool whole = hob_str_starts(quoted, own) && (quoted.len == own.len || quoted.data[own.len] == '[');
		bool written = opens && (whole || is_asked(c, quoted)) && is_reference(c, text, at + 1, quoted, last);
		if (opens && whole && !written) {
			hob_buf_put_str(out, HOB_STR("'this file"));
			hob_buf_put_str(out, hob_str_sub(quoted, own.len, quoted.len)); /* '[': a member of a package */
		} else if (opens && !written && is_asked(c, quoted)) {
			hob_buf_put(out, "'", 1);
			hob_buf_put_str(out, hob_path_relative(&c->memory->result, c->dir, quoted));
		} else {
			hob_buf_put_str(out, hob_str_sub(text, at, end));
		}
		bool between = quoted.len == 0 || strchr(" ,;:)", quoted.data[0]);
		last = opens && !between ? quoted : last;
	}
}

static void name_relative(cook *c, hob_error *err)
{
	hob_own_buf text = {0};
	for (uint32_t i = 0; i < c->notes->count; i++) {
		hob_buf_clear(&text);
		put_relative(c, c->notes->items[i].text, &text);
		if (!text.failed)
			c->notes->items[i].text = hob_arena_str(&c->memory->result, hob_buf_str(&text));
	}
	if (err && err->code != HOB_ERR_OK) {
		hob_buf_clear(&text);
		put_relative(c, hob_str_of(err->context), &text);
		snprintf(err->context, sizeof err->context, "%.*s", HOB_FMT(hob_buf_str(&text)));
	}
}

/* Notes a file whose name differs from `path` only in case: where case is ignored, only one of them can
 * exist. Reading it makes it a dependency, so that the model is cooked again when it disappears. */
static void note_twin(cook *c, hob_str path)
{
	const hob_io *io = &c->world.io;
	hob_str twin;
	hob_bytes bytes;
	if (looks_for_more(c) && io->find_nocase(io->user, path, &twin) && io->read(io->user, twin, &bytes, NULL))
		hob_info(c->notes, "file.twin", "'%.*s' is beside '%.*s', which differs only in case", HOB_FMT(path),
				 HOB_FMT(twin));
}

/* Notes that a path is the source's, or has its stem ("wood.fbm/a.png" for "wood.fbx"): the cook depends on
 * the name. */
static void note_own_name(cook *c, hob_str path)
{
	bool own = hob_str_equal(path, c->request->path);
	c->asks_itself = c->asks_itself || (own && c->source_read);
	hob_str below = hob_str_starts(path, c->dir) ? hob_str_sub(path, c->dir.len, path.len) : path;
	if (!own && hob_str_find(below, c->stem, 0) != SIZE_MAX)
		c->asked_by_name = true;
}

static bool listening_read(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	cook *c = user;
	note_own_name(c, path);
	remember(c, path);
	if (!c->world.io.read(c->world.io.user, path, out, err))
		return false;
	note_twin(c, path);
	return !is_lfs_pointer(*out) ||
		   hob_fail(err, LFS_POINTER, "'%.*s' is a Git LFS pointer, not the file itself; run 'git lfs pull'",
					HOB_FMT(path));
}

static bool listening_find(void *user, hob_str path, hob_str *found)
{
	cook *c = user;
	note_own_name(c, path);
	remember(c, path);
	if (!c->world.io.find_nocase(c->world.io.user, path, found))
		return false;
	remember(c, *found);
	return true;
}

static void listening_refused(void *user, hob_str reference, bool absolute)
{
	cook *c = user;
	const hob_io *io = &c->world.io;
	io->refused(io->user, reference, absolute);
	if (looks_for_more(c))
		hob_info(c->notes, absolute ? "file.absolute" : "file.outside",
				 absolute ? "'%.*s' is not relative to the model" : "'%.*s' is outside the watched folder",
				 HOB_FMT(reference));
}

static bool names_hold_stem(const cook *c)
{
	const hob_model *m = &c->model;
	bool found = false;
	for (uint32_t i = 0; i < m->node_count && !found; i++)
		found = hob_str_find(m->nodes[i].name, c->stem, 0) != SIZE_MAX;
	for (uint32_t i = 0; i < m->mesh_count && !found; i++)
		found = hob_str_find(m->meshes[i].name, c->stem, 0) != SIZE_MAX;
	for (uint32_t i = 0; i < m->material_count && !found; i++)
		found = hob_str_find(m->materials[i].name, c->stem, 0) != SIZE_MAX;
	return found;
}

/* ---- import */

static hob_space_override space_of(const hob_settings *settings)
{
	static const float metres[] = {[HOB_UNIT_FILE] = 0,		[HOB_UNIT_MM] = 0.001f,	 [HOB_UNIT_CM] = 0.01f,
								   [HOB_UNIT_DM] = 0.1f,	[HOB_UNIT_M] = 1,		 [HOB_UNIT_KM] = 1000,
								   [HOB_UNIT_IN] = 0.0254f, [HOB_UNIT_FT] = 0.3048f, [HOB_UNIT_YD] = 0.9144f};
	return (hob_space_override){
		.up_axis = (hob_up_axis)settings->up_axis,
		/* With the setting "source" the file's own numbers are kept, so a unit's length is irrelevant. */
		.unit = settings->units == HOB_UNITS_SOURCE ? 0 : metres[settings->unit],
		.colors = (hob_color_space)settings->colors};
}

static bool is_needed(const cook *c, hob_bytes file)
{
	for (uint32_t i = 0; i < c->model.image_count; i++) {
		const hob_image *image = &c->model.images[i];
		uintptr_t at = (uintptr_t)image->bytes.data, first = (uintptr_t)file.data;
		if (hob_str_equal(image->path, c->request->path) || (at >= first && at - first < file.size))
			return true;
	}
	return false;
}

static bool import_model(cook *c, const hob_importer **used, hob_error *err)
{
	const hob_cook_request *request = c->request;
	hob_space_override space = space_of(&request->settings);
	hob_bytes file;
	if (!c->io.read(c->io.user, request->path, &file, err))
		return false;
	c->source_read = true;
	hob_import_request ask = {.io = &c->io,
							  .path = request->path,
							  .file = file,
							  .result = &c->memory->result,
							  .scratch = &c->memory->scratch,
							  .notes = c->notes,
							  .parallel = request->parallel,
							  .keep_units = request->settings.units == HOB_UNITS_SOURCE,
							  .editor = request->editor ? &c->world.editor : NULL,
							  .environments = request->settings.environment_cook,
							  .subdivision = request->settings.subdivision,
							  .usd_variants = hob_str_of(request->settings.usd_variants),
							  .blend = {.apply_modifiers = request->settings.blend_modifiers,
										.beside_export = request->settings.blend_beside == HOB_BESIDE_BLEND,
										.actions = (hob_editor_actions)request->settings.blend_actions,
										.collection = hob_str_of(request->settings.blend_collection)},
							  .space = &space};
	hob_arena_mark mark = hob_arena_save(&c->memory->scratch);
	bool ok = hob_import(&ask, used, &c->model, err);
	hob_arena_restore(&c->memory->scratch, mark);
	for (uint32_t i = 0; ok && i < c->model.mesh_count; i++) {
		const hob_mesh *mesh = &c->model.meshes[i];
		bool triangles = mesh->topology == HOB_TRIANGLES;
		c->source_triangles += triangles ? mesh->index_count / 3 : 0;
		c->report.no_uv = c->report.no_uv || (triangles && mesh->index_count > 0 && !mesh->uv[0]);
		c->report.morphs = c->report.morphs || mesh->target_count > 0;
	}
	if (ok && (*used)->copies && !is_needed(c, file))
		c->world.io.done(c->world.io.user, request->path);
	return ok;
}

/* ---- lengths: the setting `scale`, and the source's own numbers if asked for */

static bool scale_model(cook *c, hob_error *err)
{
	const hob_settings *s = &c->request->settings;
	float unit = c->model.unit > 0 ? c->model.unit : 1;
	bool keep = s->units == HOB_UNITS_SOURCE, other = unit < 1 || unit > 1;
	if (other && !keep)
		hob_info(
			c->notes, "import.units",
			"lengths are in metres: those of the file times %g; the setting units: source keeps its numbers",
			(double)unit);
	float factor = keep ? s->scale / unit : s->scale;
	return factor == 1.0f || hob_model_scale(&c->model, factor, &c->memory->result, err);
}

static bool edit_model(void *context, hob_error *err)
{
	cook *c = context;
	const hob_settings *s = &c->request->settings;
	hob_arena *result = &c->memory->result, *scratch = &c->memory->scratch;
	if (!scale_model(c, err))
		return false;
	if (s->short_clip_names)
		hob_model_short_clip_names(&c->model, result);
	if (s->merge_instances)
		hob_model_merge_instances(&c->model, result, scratch, c->notes);
	hob_material_options options = {.name_rules = s->name_rules != 0};
	hob_material_bake(&c->model, &options, result, scratch, c->notes);
	for (uint32_t i = 0; s->merge_materials && i < c->model.material_count; i++)
		hob_model_merge_material(&c->model, i, result, scratch);
	if (s->drop_unused_uvs)
		hob_model_drop_unused_uvs(&c->model);
	return true;
}

/* ---- meshes: baked one by one, largest first */

enum { ALONE = 3 << 16 }; /* indices: a smaller mesh is not worth several threads */

typedef struct mesh_job {
	cook *c;
	hob_mesh_options options;
	hob_skin_poses poses;
	uint32_t *order, *twin;
	uint32_t done;		/* meshes of `order` that are baked */
	hob_ranges *ranges; /* by material, the last without one */
} mesh_job;

static bool has_picture(const hob_material *material, hob_slot slot)
{
	return material->slots[slot].image != HOB_NONE;
}

/* The texture that the mesh's tangents follow; NULL if it needs no tangents. */
static const hob_texture_ref *tangent_texture(const hob_model *model, const hob_mesh *mesh)
{
	static const hob_slot slots[] = {HOB_SLOT_NORMAL, HOB_SLOT_BUMP, HOB_SLOT_CLEARCOAT_NORMAL,
									 HOB_SLOT_ANISOTROPY};
	if (mesh->material == HOB_NONE || !mesh->uv[0])
		return NULL;
	const hob_material *material = &model->materials[mesh->material];
	for (size_t i = 0; i < HOB_COUNT_OF(slots); i++)
		if (has_picture(material, slots[i]))
			return &material->slots[slots[i]];
	return NULL;
}

/* Whether the texture's coordinates are those of the mesh, apart from an offset. */
static bool is_unmapped(const hob_texture_ref *ref)
{
	return ref->rotation == 0 && ref->scale[0] == 1 && ref->scale[1] == 1;
}

static void set_tangent_options(const hob_texture_ref *ref, hob_mesh_options *options)
{
	options->need_tangents = ref != NULL;
	options->tangent_uv_set = ref ? ref->uv_set : 0;
	memset(options->tangent_mapping, 0, sizeof options->tangent_mapping);
	if (!ref || is_unmapped(ref))
		return;
	double c = cos((double)ref->rotation), s = sin((double)ref->rotation), u = (double)ref->scale[0],
		   v = (double)ref->scale[1];
	memcpy(options->tangent_mapping,
		   (float[4]){(float)(c * u), (float)(s * v), (float)(-s * u), (float)(c * v)},
		   sizeof options->tangent_mapping);
}

static bool same_tangents(const hob_texture_ref *a, const hob_texture_ref *b)
{
	return a->uv_set == b->uv_set && a->rotation == b->rotation &&
		   a->scale[0] * b->scale[1] == a->scale[1] * b->scale[0] && a->scale[0] * b->scale[0] > 0;
}

/* A vertex has one tangent: two normal maps of a material with different mappings cannot both be right. */
static void note_two_mappings(cook *c)
{
	for (uint32_t i = 0; i < c->model.material_count; i++) {
		const hob_material *m = &c->model.materials[i];
		const hob_texture_ref *base =
			&m->slots[has_picture(m, HOB_SLOT_NORMAL) ? HOB_SLOT_NORMAL : HOB_SLOT_BUMP];
		const hob_texture_ref *coat = &m->slots[HOB_SLOT_CLEARCOAT_NORMAL];
		if (base->image != HOB_NONE && coat->image != HOB_NONE && !same_tangents(base, coat))
			hob_warn(c->notes, "material.two-tangents",
					 "material '%.*s': the normal map of its clear coat has other texture coordinates or "
					 "another transform than its normal map, whose tangents both use; map both alike",
					 HOB_FMT(m->name));
	}
}

static bool is_blended(const hob_model *model, const hob_mesh *mesh)
{
	return mesh->material != HOB_NONE && model->materials[mesh->material].alpha_mode == HOB_ALPHA_BLEND;
}

static uint32_t material_slot(const hob_model *model, const hob_mesh *mesh)
{
	return mesh->material == HOB_NONE ? model->material_count : mesh->material;
}

static void measure_ranges(mesh_job *job)
{
	const hob_model *model = &job->c->model;
	float low[3], high[3], min[3] = {0}, max[3] = {0}, side = 0;
	job->ranges = HOB_NEW(&job->c->memory->scratch, hob_ranges, (size_t)model->material_count + 1);
	for (uint32_t i = 0; i < model->mesh_count; i++) {
		const hob_mesh *mesh = &model->meshes[i];
		hob_ranges *ranges = &job->ranges[material_slot(model, mesh)];
		hob_bounds_box(mesh->position, mesh->vertex_count, low, high);
		bool part = i > 0 && mesh->source_mesh != HOB_NONE && mesh->source_mesh == mesh[-1].source_mesh;
		for (int k = 0; k < 3; k++) {
			min[k] = part ? fminf(min[k], low[k]) : low[k];
			max[k] = part ? fmaxf(max[k], high[k]) : high[k];
			side = fmaxf(side, max[k] - min[k]);
		}
		if (mesh->uv[0])
			hob_bounds_ranges(mesh->uv[0], 2, mesh->vertex_count, low, high);
		for (int k = 0; k < 2 && mesh->uv[0]; k++)
			ranges->uv[k] = fminf(1, fmaxf(ranges->uv[k], high[k] - low[k]));
	}
	for (uint32_t i = 0; i <= model->material_count; i++)
		job->ranges[i].side = side;
}

static void bake_mesh(void *context, uint32_t index, uint32_t thread)
{
	mesh_job *job = context;
	cook *c = job->c;
	uint32_t id = job->order[job->done + index];
	if (job->twin[id] != id)
		return;
	hob_arena *result = &c->memory->mesh_result[thread], *scratch = &c->memory->mesh_scratch[thread];
	hob_arena_mark mark = hob_arena_save(scratch);
	hob_mesh_options options = job->options;
	hob_mesh_poses poses = hob_skin_poses_choose(&job->poses, id, scratch);
	set_tangent_options(tangent_texture(&c->model, &c->model.meshes[id]), &options);
	options.keep_order = is_blended(&c->model, &c->model.meshes[id]);
	options.ranges = job->ranges[material_slot(&c->model, &c->model.meshes[id])];
	hob_notes notes = {.arena = result};
	options.poses = &poses;
	c->meshes[id] = hob_mesh_bake(&c->model.meshes[id], &options, result, scratch, &notes);
	hob_arena_restore(scratch, mark);
	if (notes.count > 0 || notes.dropped > 0) {
		c->mesh_notes[id] = HOB_NEW(result, hob_notes, 1);
		*c->mesh_notes[id] = notes;
	}
}

/* qsort passes no context, so the keys hold the compared sizes. */
typedef struct size_key {
	uint32_t size, id;
} size_key;

static int larger_first(const void *a, const void *b)
{
	const size_key *x = a, *y = b;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static uint32_t *order_by_size(cook *c)
{
	uint32_t count = c->model.mesh_count;
	size_key *keys = HOB_NEW(&c->memory->scratch, size_key, count);
	uint32_t *order = HOB_NEW(&c->memory->scratch, uint32_t, count);
	for (uint32_t i = 0; i < count; i++)
		keys[i] = (size_key){c->model.meshes[i].index_count, i};
	if (count > 1)
		qsort(keys, count, sizeof *keys, larger_first);
	for (uint32_t i = 0; i < count; i++)
		order[i] = keys[i].id;
	return order;
}

/* Bakes a mesh with all threads as long as it is larger than all remaining meshes together; the rest are
 * baked with one thread each. */
static void bake_in_order(mesh_job *job)
{
	const hob_model *model = &job->c->model;
	const hob_parallel *parallel = job->c->request->parallel;
	uint64_t rest = 0;
	for (uint32_t i = 0; i < model->mesh_count; i++)
		rest += model->meshes[i].index_count;
	job->options.parallel = parallel;
	for (; job->done < model->mesh_count; job->done++) {
		uint32_t size = model->meshes[job->order[job->done]].index_count;
		rest -= size;
		if (size < ALONE || size <= rest)
			break;
		bake_mesh(job, 0, 0);
	}
	job->options.parallel = NULL;
	hob_parallel_for(parallel, model->mesh_count - job->done, bake_mesh, job);
}

static uint32_t *find_twins(cook *c)
{
	uint32_t count = c->model.mesh_count;
	uint32_t *keys = HOB_NEW(&c->memory->scratch, uint32_t, count);
	uint32_t *twins = HOB_NEW(&c->memory->scratch, uint32_t, count);
	for (uint32_t i = 0; i < count; i++) {
		const hob_mesh *mesh = &c->model.meshes[i];
		const hob_texture_ref *ref = tangent_texture(&c->model, mesh);
		/* Texture transforms are compared by material id, not by value: few meshes have any. */
		keys[i] = (ref ? 1u : 0u) | (is_blended(&c->model, mesh) ? 2u : 0u) | (ref ? ref->uv_set << 2 : 0) |
				  (ref && !is_unmapped(ref) ? (mesh->material + 1) << 5 : 0);
	}
	hob_mesh_twins(c->model.meshes, keys, count, twins, &c->memory->scratch);
	return twins;
}

/* Shares the baked geometry of `twin` with a mesh. */
static void copy_twin(cook *c, uint32_t id, uint32_t twin)
{
	const hob_mesh *own = &c->model.meshes[id];
	hob_baked_mesh *to = &c->meshes[id];
	*to = c->meshes[twin];
	to->is_copy = true;
	to->copy_of = twin;
	to->mesh.name = own->name;
	to->mesh.material = own->material;
	to->mesh.source_mesh = own->source_mesh;
	to->mesh.source_primitive = own->source_primitive;
	to->mesh.mappings = own->mappings;
	to->mesh.mapping_count = own->mapping_count;
	if (own->target_count == 0)
		return;
	hob_morph_target *targets = HOB_NEW(&c->memory->result, hob_morph_target, own->target_count);
	for (uint32_t t = 0; t < own->target_count; t++) {
		targets[t] = to->mesh.targets[t];
		targets[t].name = own->targets[t].name;
		targets[t].weight = own->targets[t].weight;
	}
	to->mesh.targets = targets;
}

static bool can_have_levels(const cook *c)
{
	bool can = false;
	for (uint32_t i = 0; i < c->model.mesh_count; i++)
		can = can || (c->model.meshes[i].topology == HOB_TRIANGLES &&
					  c->model.meshes[i].index_count > HOB_LOD_SMALL * 3);
	return can && c->lod_max > 1 && c->request->profile != HOB_PROFILE_PREVIEW;
}

static bool bake_meshes(void *context, hob_error *err)
{
	(void)err;
	cook *c = context;
	const hob_settings *s = &c->request->settings;
	hob_cook_memory *memory = c->memory;
	uint32_t count = c->model.mesh_count;
	hob_arena_mark mark = hob_arena_save(&memory->scratch);
	_Static_assert((int)HOB_VERTICES_QUANTIZED16 == (int)HOB_VERTICES_FINE, "one order");
	mesh_job job = {.c = c,
					.options = {.preview = c->request->profile == HOB_PROFILE_PREVIEW,
								.lod_max = c->lod_max,
								.lod_ratio = s->lod_ratio,
								.lod_error = s->lod_error,
								.lod_lock_border = s->lod_lock_border != 0,
								.encoded = s->encode == HOB_ENCODE_MESHOPT,
								.vertices = (hob_vertices)s->vertex_format,
								.meshlets = s->meshlets != 0,
								.clusters = s->clusters != 0,
								.bake_flat_normals = s->normals == HOB_NORMALS_KEEP,
								.smooth_angle = s->normals == HOB_NORMALS_SMOOTH ? s->normals_angle : 0,
								.smooth_by_angle = s->normals == HOB_NORMALS_SMOOTH,
								.influences = s->influences,
								.only_streams = true}};
	c->meshes = HOB_NEW(&memory->result, hob_baked_mesh, count);
	c->mesh_notes = HOB_NEW(&memory->result, hob_notes *, count);
	job.order = order_by_size(c);
	job.twin = find_twins(c);
	measure_ranges(&job);
	if (can_have_levels(c))
		job.poses = hob_skin_poses_of(&c->model, &memory->scratch);
	bake_in_order(&job);
	for (uint32_t i = 0; i < count; i++)
		if (job.twin[i] != i)
			copy_twin(c, i, job.twin[i]);
	hob_arena_restore(&memory->scratch, mark);
	uint32_t *skins = HOB_NEW(&memory->result, uint32_t, count);
	hob_scene_mesh_skins(&c->model, skins);
	for (uint32_t i = 0; i < count; i++)
		c->meshes[i].skin = skins[i];
	return true;
}

static void note_short(cook *c)
{
	c->lod_max = 1;
	hob_warn(c->notes, "cook.no-levels",
			 "levels of detail are left out: with them the cook needs more memory than its limit of %zu MiB; "
			 "raise cook.memory_limit (--memory), or set lods.max to 1",
			 hob_cook_memory_limit(c->request) >> 20);
}

/* Adds the notes of the last bake. Called when no other bake can follow, so that no note is added twice. */
static void say_mesh_notes(cook *c)
{
	note_two_mappings(c);
	for (uint32_t i = 0; i < c->model.mesh_count; i++)
		for (uint32_t n = 0; c->mesh_notes[i] && n < c->mesh_notes[i]->count; n++) {
			const hob_note *note = &c->mesh_notes[i]->items[n];
			hob_note_add(c->notes, note->level, note->code.data, "%.*s", HOB_FMT(note->text));
		}
}

/* After running out of memory, bakes the full meshes without levels, unless that would change nothing. */
static bool bake_without_levels(cook *c, hob_error *err)
{
	hob_cook_memory *memory = c->memory;
	if (err->code != HOB_ERR_MEMORY || !can_have_levels(c))
		return false;
	for (uint32_t i = 0; i < memory->thread_count; i++) {
		hob_arena_release(&memory->mesh_result[i]);
		hob_arena_release(&memory->mesh_scratch[i]);
	}
	for (size_t i = 0; i < HOB_COUNT_OF(memory->packed); i++)
		hob_buf_release(&memory->packed[i]);
	note_short(c);
	return hob_guarded(bake_meshes, c, err);
}

/* Skips levels that cannot fit: a large model would be baked for minutes before it fails. */
static bool bake_levels(cook *c, hob_error *err)
{
	uint64_t need = hob_cook_memory_of_levels(&c->model, c->lod_max, c->request->settings.lod_ratio);
	if (can_have_levels(c) && !hob_cook_memory_has(hob_cook_memory_limit(c->request), need))
		note_short(c);
	return hob_guarded(bake_meshes, c, err) || bake_without_levels(c, err);
}

static bool bake_scene(void *context, hob_error *err)
{
	cook *c = context;
	return hob_scene_bake(&c->model, c->meshes, &c->memory->result, &c->memory->scratch, &c->scene, err);
}

static bool bake_animations(void *context, hob_error *err)
{
	(void)err;
	cook *c = context;
	hob_animation_options options = {.error = c->request->settings.animation_error};
	c->animations = hob_animations_bake(&c->model, &c->scene, &options, &c->memory->result,
										&c->memory->scratch, c->notes);
	return true;
}

static hob_pack_options pack_options(const cook *c)
{
	return (hob_pack_options){.encode = c->request->settings.encode == HOB_ENCODE_MESHOPT ? HOB_PACK_MESHOPT
																						  : HOB_PACK_RAW,
							  .parallel = c->request->parallel,
							  .scratch = &c->memory->scratch};
}

/* Frees the imported geometry of a large model before its packed file is written. Afterwards levels could no
 * longer be left out, so if the file would not fit they are left out first. */
static bool make_room(cook *c, hob_error *err)
{
	/* A worker's allocator returns blocks from RETURNED on to the system at once (SRV_WORKER_TUNABLES);
	 * smaller arrays may leave holes that the file does not fit into. */
	enum { LARGE = 32 << 20, RETURNED = 64 << 20 };
	uint64_t held = 0;
	for (uint32_t i = 0; i < c->model.mesh_count; i++)
		held += 12ull * c->model.meshes[i].vertex_count + 4ull * c->model.meshes[i].index_count;
	if (held < LARGE)
		return true;
	uint64_t need = hob_pack_meshes_memory(c->meshes, c->model.mesh_count, pack_options(c).encode);
	uint64_t returned = hob_model_geometry_size(&c->model, RETURNED);
	bool fits = hob_cook_memory_has(hob_cook_memory_limit(c->request), need > returned ? need - returned : 0);
	if (!fits && can_have_levels(c) && !hob_fail_memory(err, &c->memory->result, "the packed file") &&
		!bake_without_levels(c, err))
		return false;
	hob_model_drop_geometry(&c->model, &c->memory->result);
	return true;
}

/* ---- the other parts */

static hob_texture_request texture_request(cook *c)
{
	const hob_model *m = &c->model;
	return (hob_texture_request){.io = &c->io,
								 .folder = hob_path_dir(c->request->path),
								 .material_count = m->material_count,
								 .image_count = m->image_count,
								 .sampler_count = m->sampler_count,
								 .variant_count = m->variant_count,
								 .materials = m->materials,
								 .images = m->images,
								 .samplers = m->samplers,
								 .variants = m->variants,
								 .settings = c->request->settings,
								 .png = c->request->settings.texture_encoding == HOB_TEXTURE_PNG,
								 .soonest = c->request->profile == HOB_PROFILE_PREVIEW,
								 .parts = c->request->parts ? &c->world.parts : NULL,
								 .parallel = c->request->parallel};
}

static bool settle_alpha(cook *c, hob_error *err)
{
	hob_texture_request ask = texture_request(c);
	return hob_texture_settle_alpha(&ask, c->model.materials, &c->memory->scratch, err);
}

static bool bake_textures(cook *c, hob_error *err)
{
	hob_texture_request ask = texture_request(c);
	if (c->model.environment.size > 0)
		return hob_environment_bake(&ask, c->model.environment, &c->memory->result, &c->memory->scratch,
									c->notes, &c->textures, &c->texture_count, &c->materials, err);
	return hob_textures_bake(&ask, &c->memory->result, &c->memory->scratch, c->notes, &c->textures,
							 &c->texture_count, &c->materials, err);
}

enum { OUT_MESHES, OUT_MATERIALS, OUT_SCENE, OUT_ANIMATIONS };

static bool pack_outputs(cook *c, hob_error *err)
{
	hob_buf *packed = c->memory->packed;
	hob_pack_options options = pack_options(c);
	bool animated = c->animations.clip_count > 0 || c->animations.skin_count > 0;
	return hob_pack_meshes(c->meshes, c->model.mesh_count, &options, &packed[OUT_MESHES], err) &&
		   hob_pack_materials(&c->materials, &options, &packed[OUT_MATERIALS], err) &&
		   hob_pack_scene(&c->scene, &options, &packed[OUT_SCENE], err) &&
		   (!animated || hob_pack_animations(&c->animations, &options, &packed[OUT_ANIMATIONS], err));
}

static void count_stats(const cook *c, hob_cook_stats *stats)
{
	stats->meshes = c->model.mesh_count;
	for (uint32_t i = 0; i < c->model.mesh_count; i++) {
		const hob_baked_mesh *mesh = &c->meshes[i];
		if (mesh->mesh.topology == HOB_TRIANGLES && mesh->lod_count > 0)
			stats->triangles += mesh->lods[0].index_count / 3;
		stats->vertices += mesh->mesh.vertex_count;
		if (mesh->lod_count > stats->lods)
			stats->lods = mesh->lod_count;
	}
	stats->materials = c->materials.material_count;
	stats->textures = c->texture_count;
	stats->nodes = c->scene.node_count;
	stats->skins = c->animations.skin_count;
	stats->animations = c->animations.clip_count;
	stats->cameras = c->scene.camera_count;
	stats->lights = c->scene.light_count;
	stats->extras = c->scene.extra_count;
}

/* A source with faces must not become a model without geometry: clients would draw nothing. */
static bool keeps_faces(const cook *c, const hob_cook_stats *stats, hob_error *err)
{
	bool other = stats->cameras > 0 || stats->lights > 0 || stats->animations > 0;
	if (stats->triangles == 0 && c->source_triangles > 0 && other)
		hob_warn(c->notes, "mesh.none-left",
				 "the source has %llu triangle%s, and none is left: each has corners in one place",
				 (unsigned long long)c->source_triangles, HOB_PLURAL(c->source_triangles));
	return stats->triangles > 0 || c->source_triangles == 0 || other ||
		   hob_fail(
			   err, EMPTY,
			   "the source has %llu triangle%s, and none is left: each has corners in one place, so nothing "
			   "would be seen; export the model again",
			   (unsigned long long)c->source_triangles, HOB_PLURAL(c->source_triangles));
}

static hob_check_subject check_subject(const cook *c)
{
	return (hob_check_subject){&c->request->settings,
							   hob_path_extension(c->request->path),
							   &c->model,
							   c->meshes,
							   &c->scene,
							   &c->animations,
							   &c->materials,
							   NULL,
							   false};
}

/* Whether a licence lies beside the model or in a folder above it: a file for all, or, as REUSE names it, one
 * for the model. */
static bool has_licence(cook *c)
{
	static const char *const names[] = {"LICENSE",	 "LICENSE.txt",	  "LICENSE.md",
										"LICENCE",	 "LICENCE.txt",	  "LICENCE.md",
										"COPYRIGHT", "COPYRIGHT.txt", "COPYING"};
	const hob_io *io = &c->world.io;
	hob_bytes bytes;
	hob_str found, own = hob_arena_printf(&c->memory->result, "%.*s.license", HOB_FMT(c->request->path));
	if (own.data && io->read(io->user, own, &bytes, NULL))
		return true;
	for (hob_str dir = c->dir;; dir = hob_path_dir(dir)) {
		for (size_t i = 0; i < HOB_COUNT_OF(names); i++) {
			hob_str path = hob_arena_printf(&c->memory->result, "%.*s%s%s", HOB_FMT(dir),
											dir.len > 0 ? "/" : "", names[i]);
			if (path.data &&
				(io->read(io->user, path, &bytes, NULL) || io->find_nocase(io->user, path, &found)))
				return true;
		}
		if (dir.len == 0)
			return false;
	}
}

static void check_model(cook *c)
{
	const hob_settings *settings = &c->request->settings;
	const uint32_t *levels = settings->rules.level;
	hob_check_subject subject = check_subject(c);
	bool alpha = levels[HOB_RULE_texture_alpha_unused] != HOB_LEVEL_OFF,
		 normals = levels[HOB_RULE_normal_map_flipped] != HOB_LEVEL_OFF;
	c->findings.arena = &c->memory->result;
	if (!hob_check_wanted(settings))
		return;
	hob_arena *scratch = &c->memory->scratch;
	hob_arena_mark mark = hob_arena_save(scratch);
	hob_texture_request ask = texture_request(c);
	uint8_t *pictures = alpha || normals ? HOB_NEW(scratch, uint8_t, ask.image_count) : NULL;
	if (pictures && hob_textures_look_at(&ask, alpha, normals, scratch, pictures))
		subject.pictures = pictures;
	subject.licensed = levels[HOB_RULE_licence_missing] != HOB_LEVEL_OFF && has_licence(c);
	hob_check_model(&subject, scratch, &c->findings);
	hob_arena_restore(scratch, mark);
}

/* Checks the settings `budget`, which are older than rules, then the rules on limits. The size of a preview
 * is not checked: it differs from the final one. */
static void check_cost(cook *c, const hob_cook_stats *stats)
{
	const hob_settings *s = &c->request->settings;
	uint64_t bytes = c->request->profile == HOB_PROFILE_FINAL ? stats->bytes : 0;
	uint32_t side = 0;
	for (uint32_t i = 0; i < c->materials.image_count; i++) {
		const hob_baked_image *image = &c->materials.images[i];
		side = image->width > side ? image->width : side;
		side = image->height > side ? image->height : side;
	}
	const struct {
		const char *code, *what;
		uint64_t used, budget;
	} budgets[] = {
		{"budget.triangles", "triangles are", stats->triangles, s->budget_triangles},
		{"budget.draws", "draws are", stats->meshes, s->budget_draws},
		{"budget.texture_size", "pixels of a texture's side are", side, s->budget_texture_size},
		{"budget.bytes", "cooked bytes are", bytes, s->budget_bytes},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(budgets); i++)
		if (budgets[i].budget > 0 && budgets[i].used > budgets[i].budget)
			hob_warn(c->notes, budgets[i].code, "%llu %s over the budget of %llu",
					 (unsigned long long)budgets[i].used, budgets[i].what,
					 (unsigned long long)budgets[i].budget);
	if (hob_check_wanted(s)) {
		hob_check_subject subject = check_subject(c);
		hob_check_limits(&subject, stats->triangles, stats->meshes, bytes, &c->findings);
		hob_check_notes(s, &c->findings, c->notes);
		c->report.findings = &c->findings;
	}
	hob_rules_apply(s, c->notes);
}

static bool list_outputs(cook *c, hob_cook_result *out, hob_error *err)
{
	static const char *const names[4] = {"meshes", "materials", "scene", "animations"};
	hob_arena *arena = &c->memory->result;
	hob_cook_output *outputs = HOB_NEW(arena, hob_cook_output, 5 + (size_t)c->texture_count);
	if (!outputs)
		return hob_fail_memory(err, arena, "the list of outputs");
	uint32_t count = 0;
	for (int i = 0; i < 4; i++)
		if (c->memory->packed[i].size > 0)
			outputs[count++] = (hob_cook_output){hob_str_of(names[i]), hob_buf_bytes(&c->memory->packed[i])};
	for (uint32_t i = 0; i < c->texture_count; i++) {
		hob_str name = hob_arena_printf(arena, "textures/%u", i);
		if (!name.data)
			return hob_fail_memory(err, arena, "the list of outputs");
		outputs[count++] = (hob_cook_output){name, c->textures[i].bytes};
	}
	for (uint32_t i = 0; i < count; i++)
		out->stats.bytes += outputs[i].bytes.size;
	count_stats(c, &out->stats);
	if (!keeps_faces(c, &out->stats, err))
		return false;
	check_cost(c, &out->stats);
	for (uint32_t i = 0; i < c->notes->count; i++)
		out->stats.warnings += c->notes->items[i].level == HOB_NOTE_WARNING;
	out->outputs = outputs;
	out->output_count = count;
	c->report.scene = &c->scene;
	c->report.folder = c->dir;
	c->report.model = &c->model;
	c->report.materials = &c->materials;
	c->report.animations = &c->animations;
	if (!hob_report_print(&c->report, out, &c->memory->report))
		return hob_fail(err, MEMORY, "no memory left for the report");
	outputs[count] = (hob_cook_output){HOB_STR("report"), hob_buf_bytes(&c->memory->report)};
	out->output_count = count + 1;
	return true;
}

/* ---- the whole */

static bool run(cook *c, hob_cook_result *out, hob_error *err)
{
	const hob_settings *s = &c->request->settings;
	const hob_importer *importer;

	begin(c, HOB_COOK_IMPORT);
	if (!import_model(c, &importer, err))
		return false;
	if (importer->reads_name)
		out->uses_name = c->stem.len > 0 && (c->asked_by_name || names_hold_stem(c));
	hob_report_importer(&c->report, importer->name, importer->version, c->model.generator);

	begin(c, HOB_COOK_SCENE);
	if (!hob_guarded(edit_model, c, err) || !settle_alpha(c, err))
		return false;
	begin(c, HOB_COOK_MESHES);
	if (!bake_levels(c, err) || !hob_guarded(bake_scene, c, err))
		return false;
	begin(c, HOB_COOK_ANIMATIONS);
	if (!hob_guarded(bake_animations, c, err))
		return false;

	begin(c, HOB_COOK_TEXTURES);
	if (!bake_textures(c, err))
		return false;

	check_model(c);
	if (!make_room(c, err))
		return false;
	begin(c, HOB_COOK_WRITE);
	if (!pack_outputs(c, err) && !(bake_without_levels(c, err) && pack_outputs(c, err)))
		return false;
	out->stats.short_mib = c->lod_max < s->lod_max ? (uint32_t)(hob_cook_memory_limit(c->request) >> 20) : 0;
	say_mesh_notes(c);
	name_relative(c, NULL);
	begin(c, HOB_COOK_DONE);
	return list_outputs(c, out, err);
}

bool hob_cook(const hob_cook_request *request, hob_cook_result *out, hob_error *err)
{
	hob_cook_memory *memory = hob_cook_memory_new(request);
	if (!memory)
		return hob_fail(err, MEMORY, "no memory left to begin a cook");
	hob_cook_result result = {.arena = &memory->result};
	result.notes.arena = &memory->result;
	hob_str name = hob_path_name(request->path), extension = hob_path_extension(request->path);
	cook c = {
		.request = request, .memory = memory, .notes = &result.notes, .lod_max = request->settings.lod_max};
	c.stem = hob_str_sub(name, 0, extension.len > 0 ? name.len - extension.len - 1 : name.len);
	c.dir = hob_path_dir(request->path);
	hob_cook_world_init(&c.world, request);
	c.io = (hob_io){&c, listening_read, listening_find, listening_refused, NULL};
	bool ok = run(&c, &result, err);
	if (!ok)
		name_relative(&c, err);
	free(c.asked);
	if (!ok)
		hob_cook_memory_free(memory);
	*out = ok ? result : (hob_cook_result){0};
	out->uses_name = result.uses_name || c.asks_itself;
	return ok;
}

void hob_cook_result_release(hob_cook_result *result)
{
	if (!result || !result->arena)
		return;
	hob_cook_memory_free((hob_cook_memory *)result->arena);
	*result = (hob_cook_result){0};
}
