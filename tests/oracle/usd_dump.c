/* Imports models and prints facts of each as one line of JSON: `usd_dump ROOT < LIST`, with paths below ROOT in LIST, one a line.
 * For comparisons with what other programs make of the same files. */
#include "core/import/importer.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct disk {
	const char *root;
	hob_arena arena;
} disk_t;

static bool disk_read(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	disk_t *disk = user;
	char name[4096];
	snprintf(name, sizeof name, "%s/%.*s", disk->root, HOB_FMT(path));
	struct stat info;
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
		if (fd >= 0)
			close(fd);
		return hob_fail(err, MISSING_FILE, "'%.*s' does not exist", HOB_FMT(path));
	}
	uint8_t *data = hob_arena_alloc(&disk->arena, (size_t)info.st_size, 1);
	size_t got = 0;
	for (ssize_t n; data && (n = read(fd, data + got, (size_t)info.st_size - got)) > 0;)
		got += (size_t)n;
	close(fd);
	*out = (hob_bytes){data, got};
	return data != NULL || hob_fail(err, MEMORY, "'%.*s' is too large", HOB_FMT(path));
}

/* ---- facts */

static void multiply_point(const float m[16], const float p[3], float out[3])
{
	for (int r = 0; r < 3; r++)
		out[r] = m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r];
}

typedef struct facts {
	uint64_t meshes, triangles, lines, points;
	float box[6];
} facts_t;

static void add_mesh(facts_t *f, const hob_mesh *mesh, const float world[16])
{
	f->meshes++;
	f->triangles += mesh->topology == HOB_TRIANGLES ? mesh->index_count / 3 : 0;
	f->lines += mesh->topology == HOB_LINES ? mesh->index_count / 2 : 0;
	f->points += mesh->topology == HOB_POINTS ? mesh->index_count : 0;
	for (uint32_t i = 0; i < mesh->index_count; i++) {
		float at[3];
		multiply_point(world, mesh->position + (size_t)mesh->indices[i] * 3, at);
		for (int k = 0; k < 3; k++) {
			f->box[k] = fminf(f->box[k], at[k]);
			f->box[k + 3] = fmaxf(f->box[k + 3], at[k]);
		}
	}
}

static float (*world_matrices(const hob_model *model))[16]
{
	float(*world)[16] = calloc(model->node_count + 1, sizeof *world);
	for (uint32_t i = 0; i < model->node_count; i++) {
		hob_node_local_matrix(&model->nodes[i], world[i]);
		if (model->nodes[i].parent != HOB_NONE)
			hob_matrix_multiply(world[model->nodes[i].parent], world[i], world[i]);
	}
	return world;
}

static void put_text(hob_buf *out, const char *key, hob_str text)
{
	hob_buf_printf(out, "\"%s\":", key);
	hob_buf_put_json(out, text);
}

static void put_materials(hob_buf *out, const hob_model *model)
{
	hob_buf_printf(out, ",\"materials\":[");
	for (uint32_t i = 0; i < model->material_count; i++) {
		const hob_material *m = &model->materials[i];
		hob_buf_printf(out, "%s{", i > 0 ? "," : "");
		put_text(out, "name", m->name);
		hob_buf_printf(out,
					   ",\"base\":[%g,%g,%g,%g],\"metallic\":%g,\"roughness\":%g,\"emissive\":[%g,%g,%g],"
					   "\"alpha\":%d,\"textures\":[",
					   (double)m->base_color[0], (double)m->base_color[1], (double)m->base_color[2],
					   (double)m->base_color[3], (double)m->metallic, (double)m->roughness,
					   (double)m->emissive[0], (double)m->emissive[1], (double)m->emissive[2],
					   (int)m->alpha_mode);
		for (uint32_t s = 0, count = 0; s < HOB_SLOT_COUNT; s++) {
			if (m->slots[s].image == HOB_NONE)
				continue;
			const hob_image *image = &model->images[m->slots[s].image];
			hob_buf_printf(out, "%s{\"slot\":%u,\"bytes\":%zu,", count++ > 0 ? "," : "", s,
						   image->bytes.size);
			put_text(out, "uri", image->uri);
			hob_buf_put(out, ",", 1);
			put_text(out, "path", image->path);
			hob_buf_put(out, "}", 1);
		}
		hob_buf_printf(out, "]}");
	}
	hob_buf_printf(out, "]");
}

static void put_model(hob_buf *out, const hob_model *model)
{
	facts_t f = {.box = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY}};
	float(*world)[16] = world_matrices(model), still[16] = {[0] = 1, [5] = 1, [10] = 1, [15] = 1};
	uint32_t joints = 0, keys = 0;
	float end = 0;
	for (uint32_t n = 0; n < model->node_count; n++)
		for (uint32_t r = 0; r < model->nodes[n].mesh_count; r++)
			add_mesh(&f, &model->meshes[model->mesh_refs[model->nodes[n].mesh_first + r]],
					 model->nodes[n].skin == HOB_NONE ? world[n] : still);
	for (uint32_t i = 0; i < model->skin_count; i++)
		joints += model->skins[i].joint_count;
	for (uint32_t i = 0; i < model->clip_count; i++)
		for (uint32_t t = 0; t < model->clips[i].track_count; t++) {
			keys += model->clips[i].tracks[t].key_count;
			end = fmaxf(end, model->clips[i].tracks[t].times[model->clips[i].tracks[t].key_count - 1]);
		}
	hob_buf_printf(
		out,
		",\"draws\":%llu,\"triangles\":%llu,\"lines\":%llu,\"points\":%llu,\"meshes\":%u,\"nodes\":%u,"
		"\"skins\":%u,"
		"\"joints\":%u,\"clips\":%u,\"keys\":%u,\"seconds\":%g,\"cameras\":%u,\"lights\":%u,\"images\":%u",
		(unsigned long long)f.meshes, (unsigned long long)f.triangles, (unsigned long long)f.lines,
		(unsigned long long)f.points, model->mesh_count, model->node_count, model->skin_count, joints,
		model->clip_count, keys, (double)end, model->camera_count, model->light_count, model->image_count);
	if (f.box[0] <= f.box[3])
		hob_buf_printf(out, ",\"box\":[%.9g,%.9g,%.9g,%.9g,%.9g,%.9g]", (double)f.box[0], (double)f.box[1],
					   (double)f.box[2], (double)f.box[3], (double)f.box[4], (double)f.box[5]);
	put_materials(out, model);
	free(world);
}

static void dump(const char *root, hob_str path)
{
	static hob_notes notes;
	disk_t disk = {.root = root};
	hob_io io = {.user = &disk, .read = disk_read};
	hob_arena result, scratch;
	hob_error err = {0};
	hob_model model;
	hob_buf out = {0};
	hob_arena_init(&disk.arena, (size_t)4 << 30);
	hob_arena_init(&result, (size_t)2 << 30);
	hob_arena_init(&scratch, (size_t)2 << 30);
	memset(&notes, 0, sizeof notes);
	notes.arena = &result;
	const hob_importer *importer = hob_importer_for(path);
	hob_import_request request = {
		.io = &io, .path = path, .result = &result, .scratch = &scratch, .notes = &notes};
	bool ok = importer ? disk_read(&disk, path, &request.file, &err) &&
							 importer->import(&request, &model, &err) && hob_model_check(&model, &err)
					   : hob_fail(&err, UNSUPPORTED, "no reader");
	hob_buf_put(&out, "{", 1);
	put_text(&out, "path", path);
	hob_buf_printf(&out, ",\"ok\":%s", ok ? "true" : "false");
	if (ok) {
		put_model(&out, &model);
	} else {
		hob_buf_printf(&out, ",\"code\":\"%s\",", hob_err_name(err.code));
		put_text(&out, "error", hob_str_of(err.context));
	}
	hob_buf_printf(&out, ",\"notes\":[");
	for (uint32_t i = 0; i < notes.count; i++) {
		hob_str text = hob_arena_printf(&scratch, "%.*s: %.*s", HOB_FMT(notes.items[i].code),
										HOB_FMT(notes.items[i].text));
		hob_buf_put(&out, ",", i > 0);
		hob_buf_put_json(&out, text);
	}
	hob_buf_printf(&out, "]}\n");
	fwrite(out.data, 1, out.size, stdout);
	hob_buf_release(&out);
	hob_arena_release(&disk.arena);
	hob_arena_release(&result);
	hob_arena_release(&scratch);
}

int main(int argc, char **argv)
{
	char line[4096];
	if (argc != 2) {
		fprintf(stderr, "usage: usd_dump ROOT < LIST\n");
		return 2;
	}
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		dump(argv[1], hob_str_of(line));
	}
	return 0;
}
