#include "report.h"

#include "../base/json_write.h"
#include "../base/pieces.h"
#include "../settings/content.h"
#include "../settings/cook_key.h"

void hob_report_stage(hob_report *report, const char *name, uint64_t now_ns)
{
	if (report->stage_count == HOB_REPORT_STAGES)
		return;
	report->stages[report->stage_count].name = name;
	report->stages[report->stage_count++].began_ns = now_ns;
}

void hob_report_importer(hob_report *report, const char *name, uint32_t version, hob_str generator)
{
	report->importer = name;
	report->importer_version = version;
	report->generator = generator;
}

static void put_counts(const hob_cook_stats *s, hob_buf *out)
{
#define COUNT(name) HOB_JSON(#name, s->name),
	hob_json_put(out, HOB_JSON_OPEN("counts", '{'), HOB_COOK_COUNTS(COUNT) HOB_JSON("warnings", s->warnings),
				 HOB_JSON_CLOSE('}'));
#undef COUNT
}

/* The name of the mesh, skin or clip; empty if the scene does not have it. */
static hob_str name_of(const hob_baked_scene *scene, const hob_baked_extra *extra)
{
	hob_str name = HOB_STR("");
	switch (extra->kind) {
	case HOB_EXTRA_SCENE:
		name = scene->scenes[extra->index].name;
		break;
	case HOB_EXTRA_NODE:
		name = scene->names[extra->index];
		break;
	case HOB_EXTRA_MATERIAL:
		name = scene->material_names[extra->index];
		break;
	case HOB_EXTRA_CAMERA:
		name = scene->cameras[extra->index].name;
		break;
	case HOB_EXTRA_LIGHT:
		name = scene->lights[extra->index].name;
		break;
	default:
		return (hob_str){0};
	}
	return name.data ? name : HOB_STR("");
}

/* ,"extras":[{"of":"node","index":3,"name":"body","values":{...},"extensions":{...}}] */
static void put_extras(const hob_baked_scene *scene, hob_buf *out)
{
	static const char *const kinds[] = {"file",	  "scene", "node", "material", "mesh",
										"camera", "light", "skin", "clip"};
	size_t start = out->size;
	uint32_t i = 0;
	hob_json_put(out, HOB_JSON_OPEN("extras", '['));
	for (; i < scene->extra_count; i++) {
		const hob_baked_extra *extra = &scene->extras[i];
		if (out->size - start + extra->extras.values.len + extra->extras.extensions.len > HOB_REPORT_EXTRAS)
			break;
		hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("of", kinds[extra->kind]),
					 HOB_JSON("index", extra->index));
		hob_str name = name_of(scene, extra);
		if (name.data)
			hob_json_put_str(out, "name", name);
		if (extra->extras.values.len > 0)
			hob_json_put(out, HOB_JSON_RAW("values", extra->extras.values));
		if (extra->extras.extensions.len > 0)
			hob_json_put(out, HOB_JSON_RAW("extensions", extra->extras.extensions));
		hob_json_close(out, '}');
	}
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON("extras_left_out", scene->extra_count - i));
}

static void put_texture(const hob_report *report, const hob_baked_source *source, hob_arena *arena,
						hob_buf *out)
{
	const hob_baked_image *image = &report->materials->images[source->image];
	bool file = source->path.len > 0;
	hob_json_put(
		out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("kind", "texture"),
		HOB_JSON("name", file ? hob_path_relative(arena, report->folder, source->path) : source->name));
	if (!file) {
		hob_json_key(out, "hash");
		hob_buf_put(out, "\"", 1);
		for (int i = 0; i < 8; i++)
			hob_buf_printf(out, "%02x", source->sha256[i]);
		hob_buf_put(out, "\"", 1);
	}
	hob_json_put(out, HOB_JSON_OPEN("source", '['), HOB_JSON(NULL, source->width),
				 HOB_JSON(NULL, source->height), HOB_JSON_CLOSE(']'), HOB_JSON_OPEN("size", '['),
				 HOB_JSON(NULL, image->width), HOB_JSON(NULL, image->height), HOB_JSON_CLOSE(']'));
	if (source->cut_by)
		hob_json_put_str(out, "by", hob_str_of(source->cut_by));
	hob_json_close(out, '}');
}

static void put_material(const hob_material *material, hob_buf *out)
{
	uint32_t textures = 0;
	for (uint32_t i = 0; i < HOB_SLOT_COUNT; i++)
		textures += material->slots[i].image != HOB_NONE;
	hob_json_object(out, HOB_JSON("kind", "material"), HOB_JSON("name", material->name),
					HOB_JSON("textures", textures));
}

static void put_clip(hob_str name, const float *range, hob_buf *out)
{
	float ms = (range[1] - range[0]) * 1000;
	hob_json_object(out, HOB_JSON("kind", "clip"), HOB_JSON("name", name),
					HOB_JSON("ms", ms > 0 && ms < 1e12f ? (uint64_t)(ms + 0.5f) : 0));
}

/* ,"content":[..]: what a library is searched for. The last member: a record copies its text (content.h). */
static void put_content(const hob_report *report, hob_arena *arena, hob_buf *out)
{
	const hob_baked_materials *materials = report->materials;
	const hob_baked_animations *animations = report->animations;
	hob_str features = hob_arena_printf(
				arena, "%.*s%s%s%s", HOB_FMT(report->model->uses), report->no_uv ? "no-uv " : "",
				report->model->skin_count > 0 ? "skin " : "", report->morphs ? "morph-targets " : ""),
			name;
	size_t end = out->size + HOB_CONTENT_MAX;
	hob_json_put(out, HOB_JSON_OPEN("content", '['));
	while (hob_str_piece(&features, ' ', &name))
		if (name.len > 0)
			hob_json_object(out, HOB_JSON("kind", "feature"), HOB_JSON("name", name));
	for (uint32_t i = 0; i < materials->source_count && out->size < end; i++)
		put_texture(report, &materials->sources[i], arena, out);
	for (uint32_t i = 0; i < materials->material_count && out->size < end; i++)
		put_material(&materials->materials[i], out);
	for (uint32_t i = 0; i < animations->clip_count && out->size < end; i++)
		put_clip(animations->clips[i].name, &animations->ranges[2 * (size_t)i], out);
	hob_json_close(out, ']');
}

bool hob_report_print(const hob_report *report, const hob_cook_result *result, hob_buf *out)
{
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("report", 1), HOB_JSON_OPEN("importer", '{'),
				 HOB_JSON("name", report->importer), HOB_JSON("version", report->importer_version),
				 HOB_JSON_CLOSE('}'), HOB_JSON("generator", report->generator));
	put_counts(&result->stats, out);
	hob_json_put(out, HOB_JSON_OPEN("bytes", '{'));
	for (uint32_t i = 0; i < result->output_count; i++) {
		hob_json_str(out, result->outputs[i].name);
		hob_buf_printf(out, ":%zu", result->outputs[i].bytes.size);
	}
	hob_json_put(out, HOB_JSON_CLOSE('}'), HOB_JSON_OPEN("notes", '['));
	for (uint32_t i = 0; i < result->notes.count; i++) {
		const hob_note *note = &result->notes.items[i];
		hob_json_object(out, HOB_JSON("level", note->level == HOB_NOTE_WARNING ? "warning" : "info"),
						HOB_JSON("code", note->code), HOB_JSON("text", note->text),
						HOB_JSON("count", note->count));
	}
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON("notes_dropped", result->notes.dropped));
	if (report->findings)
		hob_check_print(report->findings, out);
	if (report->scene && report->scene->extra_count > 0)
		put_extras(report->scene, out);
	if (report->stage_count > 1 && report->stages[0].began_ns > 0) {
		hob_json_put(out, HOB_JSON_OPEN("timings_us", '{'));
		for (uint32_t i = 0; i + 1 < report->stage_count; i++)
			hob_json_put_u64(out, report->stages[i].name,
							 (report->stages[i + 1].began_ns - report->stages[i].began_ns) / 1000);
		hob_json_close(out, '}');
	}
	if (report->model)
		put_content(report, result->arena, out);
	hob_buf_put_str(out, HOB_STR("}\n"));
	return !out->failed;
}
