#include "compare_parts.h"

#include "../base/json_write.h"

#include <float.h>
#include <math.h>

/* The kinds of schema/numbers.def, which explains them. */
typedef enum meaning { COST, ERROR, LOSS, CONTENT, PLAIN } meaning;

typedef struct totals {
	double bytes, texture_bytes, geometry_bytes, triangles, drawn, vertices, draws, meshes, materials,
		textures, missing, nodes, levels, error, clips, seconds, skins, joints, morphs, cameras, lights,
		size[3];
} totals;

static void count_meshes(const compare_files *f, totals *t)
{
	for (uint32_t i = 0; i < f->mesh.count; i++) {
		const hob_pk_mesh *mesh = HOB_PACK_AT(hob_pk_mesh, f->mesh, i);
		const hob_pk_lod *full =
			mesh->lod_count > 0 ? HOB_PACK_AT(hob_pk_lod, f->lod, mesh->lod_first) : NULL;
		if (full && mesh->topology == HOB_PK_TOPOLOGY_TRIANGLES)
			t->triangles += full->index_count / 3;
		if (full)
			t->error = fmax(t->error, (double)full[mesh->lod_count - 1].error);
		t->vertices += mesh->vertex_count;
		t->levels = fmax(t->levels, mesh->lod_count);
		t->morphs += mesh->morph_count;
	}
	for (uint32_t i = 0; i < f->mesh_links.count; i++) {
		uint32_t at = HOB_PACK_AT(hob_pk_link, f->mesh_links, i)->value;
		const hob_pk_mesh *mesh = at < f->mesh.count ? HOB_PACK_AT(hob_pk_mesh, f->mesh, at) : NULL;
		if (mesh && mesh->lod_count > 0 && mesh->topology == HOB_PK_TOPOLOGY_TRIANGLES)
			t->drawn += HOB_PACK_AT(hob_pk_lod, f->lod, mesh->lod_first)->index_count / 3;
	}
}

static void count_size(const compare_files *f, totals *t)
{
	float min[3] = {FLT_MAX, FLT_MAX, FLT_MAX}, max[3] = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
	for (uint32_t i = 0; i < f->hier.count && i < f->aabb.count; i++) {
		const hob_pk_box *box = HOB_PACK_AT(hob_pk_box, f->aabb, i);
		if (HOB_PACK_AT(hob_pk_hierarchy, f->hier, i)->parent >= 0 || box->min[0] > box->max[0])
			continue;
		for (int k = 0; k < 3; k++) {
			min[k] = fminf(min[k], box->min[k]);
			max[k] = fmaxf(max[k], box->max[k]);
		}
	}
	for (int k = 0; k < 3 && min[0] <= max[0]; k++)
		t->size[k] = (double)max[k] - (double)min[k];
}

static totals count(const compare_files *f)
{
	totals t = {.geometry_bytes = (double)f->meshes.file.size,
				.draws = f->mesh_links.count,
				.meshes = f->mesh.count,
				.materials = f->material.count,
				.textures = f->image.count,
				.nodes = f->hier.count,
				.clips = f->clip.count,
				.skins = f->skin.count,
				.joints = f->joints.count,
				.cameras = f->cameras.count,
				.lights = f->lights.count};
	for (uint32_t i = 0; i < f->image.count; i++) {
		const hob_pk_image *image = HOB_PACK_AT(hob_pk_image, f->image, i);
		t.texture_bytes += (double)image->bytes;
		t.missing += image->flags & HOB_PK_IMAGE_PLACEHOLDER ? 1 : 0;
	}
	t.bytes = t.texture_bytes + (double)(f->meshes.file.size + f->materials.file.size + f->scene.file.size +
										 f->animations.file.size);
	for (uint32_t i = 0; i < f->clip.count; i++) {
		const hob_pk_clip *clip = HOB_PACK_AT(hob_pk_clip, f->clip, i);
		t.seconds += (double)clip->end - (double)clip->start;
	}
	count_meshes(f, &t);
	count_size(f, &t);
	return t;
}

/* Relative to the larger: values that differ only by rounding are equal. */
static bool same(double a, double b)
{
	return fabs(a - b) <= 1e-5 * fmax(fabs(a), fabs(b));
}

/* `saving`: the tone of a smaller number: "good", or "note" if content was lost with it. */
static const char *tone_of(meaning what, double from, double to, const char *saving)
{
	if (same(from, to))
		return "same";
	if (what == COST || what == ERROR)
		return to > from ? "warn" : to > 0 || what == ERROR ? saving : "bad";
	if (what == LOSS)
		return to > from ? "bad" : saving;
	if (what == CONTENT)
		return to > from ? "note" : to > 0 ? "warn" : "bad";
	return "note";
}

static void put(hob_buf *out, const char *name, const char *unit, double from, double to, const char *tone)
{
	if (from == 0 && to == 0)
		return;
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("name", name), HOB_JSON("unit", unit),
				 HOB_JSON_KEY("from"));
	hob_buf_put_double(out, from);
	hob_json_key(out, "to");
	hob_buf_put_double(out, to);
	hob_json_put(out, HOB_JSON("tone", tone), HOB_JSON_CLOSE('}'));
}

void hob_compare_numbers(comparison *c, hob_buf *out)
{
	totals a = count(&c->a), b = count(&c->b);
	const compare_tally *tally = &c->tally;
	const char *saving = c->counts[TONE_BAD] + c->counts[TONE_WARN] > tally->broken ? "note" : "good";
	const struct {
		const char *name, *unit;
		meaning what;
		double from, to;
	} rows[] = {
#define NUMBER(name, unit, meaning, from, to) {name, unit, meaning, from, to},
#include "../../schema/numbers.def"
#undef NUMBER
	};
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++)
		put(out, rows[i].name, rows[i].unit, rows[i].from, rows[i].to,
			tone_of(rows[i].what, rows[i].from, rows[i].to, saving));
}
