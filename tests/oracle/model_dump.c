/* model_dump.c - prints an importer's output for a file, before cooking, as JSON for fbx_agreement.py,
 * usd_agreement.py and usd_facts.py.
 *
 *   model_dump [--draws] FILE [CLIP T,T,T ...]...
 *
 * FILE is read with its folder as the root, or the part before "//": "corpus//usd/a.usda". Each CLIP is the
 * name of a clip, or * for the last, followed by times in seconds; a clip that the model lacks is the rest
 * pose.
 * --draws adds each mesh that is drawn at rest (world positions, texture coordinates and colours, per corner)
 * and which nodes are hidden at rest; boxes then exclude hidden nodes. Without it they include them, as in
 * ufbx and Hydra. */
#include "core/animation/curve.h"
#include "core/base/limits.h"
#include "core/import/importers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *folder;
static bool with_draws;

static bool read_file(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	char name[4096];
	(void)user;
	snprintf(name, sizeof name, "%s/%.*s", folder, HOB_FMT(path));
	FILE *file = fopen(name, "rb");
	if (!file || fseek(file, 0, SEEK_END) != 0 || ftell(file) < 0) {
		if (file)
			fclose(file);
		return hob_fail(err, MISSING_FILE, "'%.*s' does not exist", HOB_FMT(path));
	}
	size_t size = (size_t)ftell(file);
	uint8_t *data = malloc(size + 1);
	rewind(file);
	out->size = data ? fread(data, 1, size, file) : 0;
	out->data = data;
	fclose(file);
	return data && out->size == size;
}

typedef struct pose {
	float (*t)[3], (*r)[4], (*s)[3];
	float **weights; /* per node: a weight per target of its meshes, or NULL */
	double (*world)[16];
} pose;

static void multiply(const double a[16], const double b[16], double out[16])
{
	double m[16];
	for (int c = 0; c < 4; c++)
		for (int r = 0; r < 4; r++)
			m[c * 4 + r] = a[r] * b[c * 4] + a[4 + r] * b[c * 4 + 1] + a[8 + r] * b[c * 4 + 2] +
						   a[12 + r] * b[c * 4 + 3];
	memcpy(out, m, sizeof m);
}

static void compose(const float *t, const float *q, const float *s, double m[16])
{
	double x = (double)q[0], y = (double)q[1], z = (double)q[2], w = (double)q[3];
	const double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y + z * w),	   2 * (x * z - y * w),
						 2 * (x * y - z * w),	  1 - 2 * (x * x + z * z), 2 * (y * z + x * w),
						 2 * (x * z + y * w),	  2 * (y * z - x * w),	   1 - 2 * (x * x + y * y)};
	for (int c = 0; c < 3; c++) {
		for (int k = 0; k < 3; k++)
			m[c * 4 + k] = r[c * 3 + k] * (double)s[c];
		m[c * 4 + 3] = 0;
		m[12 + c] = (double)t[c];
	}
	m[15] = 1;
}

static uint32_t targets_of(const hob_model *model, const hob_node *node)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < node->mesh_count; i++) {
		uint32_t count = model->meshes[model->mesh_refs[node->mesh_first + i]].target_count;
		most = count > most ? count : most;
	}
	return most;
}

static void rest(const hob_model *model, pose *p)
{
	for (uint32_t n = 0; n < model->node_count; n++) {
		const hob_node *node = &model->nodes[n];
		memcpy(p->t[n], node->translation, sizeof p->t[n]);
		memcpy(p->r[n], node->rotation, sizeof p->r[n]);
		memcpy(p->s[n], node->scale, sizeof p->s[n]);
		uint32_t count = targets_of(model, node);
		for (uint32_t k = 0; k < count; k++)
			p->weights[n][k] = k < node->weight_count
								   ? model->weights[node->weight_first + k]
								   : model->meshes[model->mesh_refs[node->mesh_first]].targets[k].weight;
	}
}

static void place(const hob_model *model, pose *p, bool still)
{
	for (uint32_t n = 0; n < model->node_count; n++) {
		const hob_node *node = &model->nodes[n];
		if (node->has_matrix && still)
			for (int k = 0; k < 16; k++)
				p->world[n][k] = (double)node->matrix[k];
		else
			compose(p->t[n], p->r[n], p->s[n], p->world[n]);
		if (node->parent != HOB_NONE)
			multiply(p->world[node->parent], p->world[n], p->world[n]);
	}
}

static void sample(const hob_model *model, const hob_clip *clip, double time, pose *p)
{
	static float values[4096];
	rest(model, p);
	for (uint32_t c = 0; clip && c < clip->channel_count; c++) {
		const hob_channel *channel = &clip->channels[c];
		const hob_track *track = &clip->tracks[channel->track];
		if (track->components > HOB_COUNT_OF(values))
			continue;
		hob_track_sample(track, channel->path == HOB_PATH_ROTATION, (float)time, values);
		uint32_t n = channel->node;
		if (channel->path == HOB_PATH_TRANSLATION)
			memcpy(p->t[n], values, sizeof p->t[n]);
		else if (channel->path == HOB_PATH_ROTATION)
			memcpy(p->r[n], values, sizeof p->r[n]);
		else if (channel->path == HOB_PATH_SCALE)
			memcpy(p->s[n], values, sizeof p->s[n]);
		else if (targets_of(model, &model->nodes[n]) >= track->components)
			memcpy(p->weights[n], values, track->components * sizeof *values);
	}
	place(model, p, clip == NULL);
}

static void grow(double box[6], const double v[3])
{
	for (int k = 0; k < 3; k++) {
		box[k] = v[k] < box[k] ? v[k] : box[k];
		box[3 + k] = v[k] > box[3 + k] ? v[k] : box[3 + k];
	}
}

static void add_mesh(const hob_model *model, const pose *p, uint32_t n, const hob_mesh *mesh, bool deformed,
					 double box[6])
{
	const hob_node *node = &model->nodes[n];
	const hob_skin *skin =
		deformed && node->skin != HOB_NONE && mesh->influence_count ? &model->skins[node->skin] : NULL;
	double(*joints)[16] = skin ? malloc(skin->joint_count * sizeof *joints) : NULL;
	for (uint32_t j = 0; skin && j < skin->joint_count; j++) {
		double bind[16];
		for (int k = 0; k < 16; k++)
			bind[k] = (double)skin->inverse_bind[j * 16 + (uint32_t)k];
		multiply(p->world[skin->joints[j]], bind, joints[j]);
	}
	for (uint32_t i = 0; i < mesh->index_count; i++) {
		uint32_t v = mesh->indices[i];
		double at[3], out[3] = {0, 0, 0};
		for (int k = 0; k < 3; k++)
			at[k] = (double)mesh->position[v * 3 + (uint32_t)k];
		for (uint32_t t = 0; deformed && t < mesh->target_count; t++)
			for (int k = 0; k < 3 && mesh->targets[t].position; k++)
				at[k] += (double)p->weights[n][t] * (double)mesh->targets[t].position[v * 3 + (uint32_t)k];
		uint32_t count = skin ? mesh->influence_count : 1;
		for (uint32_t j = 0; j < count; j++) {
			const double *m = skin ? joints[mesh->joints[v * count + j]] : p->world[n];
			double weight = skin ? (double)mesh->weights[v * count + j] : 1;
			for (int k = 0; k < 3 && weight > 0; k++)
				out[k] += weight * (m[k] * at[0] + m[4 + k] * at[1] + m[8 + k] * at[2] + m[12 + k]);
		}
		grow(box, out);
	}
	free(joints);
}

static bool is_hidden(const hob_model *model, uint32_t node)
{
	while (node != HOB_NONE && !model->nodes[node].hidden)
		node = model->nodes[node].parent;
	return node != HOB_NONE;
}

static void print_box(const hob_model *model, const pose *p, bool deformed)
{
	double box[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
	for (uint32_t n = 0; n < model->node_count; n++)
		for (uint32_t i = 0; i < model->nodes[n].mesh_count; i++) {
			const hob_mesh *mesh = &model->meshes[model->mesh_refs[model->nodes[n].mesh_first + i]];
			if (mesh->topology == HOB_TRIANGLES && !(with_draws && is_hidden(model, n)))
				add_mesh(model, p, n, mesh, deformed, box);
		}
	if (!(box[0] <= box[3])) {
		printf("null");
		return;
	}
	printf("[%.9g,%.9g,%.9g,%.9g,%.9g,%.9g]", box[0], box[1], box[2], box[3], box[4], box[5]);
}

static void print_text(hob_str s)
{
	hob_buf buf = {0};
	hob_buf_put_json(&buf, s);
	printf("%.*s", (int)buf.size, (const char *)buf.data);
	hob_buf_release(&buf);
}

static void print_worlds(const hob_model *model, const pose *p)
{
	for (uint32_t n = 0; n < model->node_count; n++) {
		printf("%s[", n ? "," : "");
		for (int c = 0; c < 4; c++)
			for (int k = 0; k < 3; k++)
				printf("%s%.9g", c + k ? "," : "", p->world[n][c * 4 + k]);
		printf("]");
	}
}

static void print_weights(const hob_model *model, const pose *p)
{
	bool first = true;
	for (uint32_t n = 0; n < model->node_count; n++)
		for (uint32_t k = 0; k < targets_of(model, &model->nodes[n]); k++, first = false)
			printf("%s%.7g", first ? "" : ",", (double)p->weights[n][k]);
}

static void print_materials(const hob_model *model)
{
	for (uint32_t i = 0; i < model->material_count; i++) {
		const hob_material *m = &model->materials[i];
		printf("%s{\"name\":", i ? "," : "");
		print_text(m->name);
		printf(",\"base\":[%.7g,%.7g,%.7g,%.7g],\"metallic\":%.7g,\"roughness\":%.7g,\"emissive\":[%.7g,%.7g,"
			   "%.7g],\"strength\":%.7g,\"normal\":%.7g,\"maps\":{",
			   (double)m->base_color[0], (double)m->base_color[1], (double)m->base_color[2],
			   (double)m->base_color[3], (double)m->metallic, (double)m->roughness, (double)m->emissive[0],
			   (double)m->emissive[1], (double)m->emissive[2], (double)m->emissive_strength,
			   (double)m->normal_scale);
		bool first = true;
		for (int slot = 0; slot < HOB_SLOT_COUNT; slot++) {
			uint32_t image = m->slots[slot].image;
			if (image == HOB_NONE)
				continue;
			printf("%s\"%d\":{\"file\":", first ? "" : ",", slot);
			print_text(model->images[image].uri.len > 0 ? model->images[image].uri
														: model->images[image].name);
			const hob_texture_ref *ref = &m->slots[slot];
			const hob_sampler *how = ref->sampler != HOB_NONE ? &model->samplers[ref->sampler] : NULL;
			printf(",\"bytes\":%zu,\"uv\":%u,\"place\":[%.7g,%.7g,%.7g,%.7g,%.7g]",
				   model->images[image].bytes.size, ref->uv_set, (double)ref->offset[0],
				   (double)ref->offset[1], (double)ref->scale[0], (double)ref->scale[1],
				   (double)ref->rotation);
			printf(",\"wrap\":[%d,%d],\"channel\":%d}", how ? (int)how->wrap_u : (int)HOB_WRAP_REPEAT,
				   how ? (int)how->wrap_v : (int)HOB_WRAP_REPEAT, (int)ref->channel);
			first = false;
		}
		printf("},\"alpha\":[%d,%.7g],\"ior\":%.7g,\"coat\":[%.7g,%.7g]}", (int)m->alpha_mode,
			   (double)m->alpha_cutoff, (double)m->ior, (double)m->clearcoat, (double)m->clearcoat_roughness);
	}
}

/* Prints for each skinned mesh its index in the file and the greatest number of joints of a vertex. */
static void print_influences(const hob_model *model)
{
	bool first = true;
	for (uint32_t m = 0; m < model->mesh_count; m++) {
		const hob_mesh *mesh = &model->meshes[m];
		uint32_t most = 0;
		for (uint32_t v = 0; v < mesh->vertex_count && mesh->influence_count > 0; v++) {
			uint32_t count = 0;
			for (uint32_t i = 0; i < mesh->influence_count; i++)
				count += mesh->weights[v * mesh->influence_count + i] > 0;
			most = count > most ? count : most;
		}
		if (mesh->influence_count > 0)
			printf("%s[%u,%u]", first ? "" : ",", mesh->source_mesh, most);
		first = first && mesh->influence_count == 0;
	}
}

static void print_corners(const hob_mesh *mesh, const char *name, const float *values, uint32_t width,
						  uint32_t used, const double *world)
{
	printf(",\"%s\":[", name);
	for (uint32_t i = 0; values && i < mesh->index_count; i++) {
		const float *from = values + (size_t)mesh->indices[i] * width;
		for (uint32_t k = 0; k < used; k++) {
			double value = (double)from[k];
			if (world)
				value = world[k] * (double)from[0] + world[4 + k] * (double)from[1] +
						world[8 + k] * (double)from[2] + world[12 + k];
			printf("%s%.9g", i + k ? "," : "", value);
		}
	}
	printf("]");
}

static void print_draws(const hob_model *model, const pose *p)
{
	bool first = true;
	printf(",\"draws\":[");
	for (uint32_t n = 0; n < model->node_count; n++)
		for (uint32_t i = 0; i < model->nodes[n].mesh_count && !is_hidden(model, n); i++, first = false) {
			const hob_mesh *mesh = &model->meshes[model->mesh_refs[model->nodes[n].mesh_first + i]];
			printf("%s{\"node\":%u,\"material\":%d,\"topology\":%d", first ? "" : ",", n,
				   mesh->material == HOB_NONE ? -1 : (int)mesh->material, (int)mesh->topology);
			print_corners(mesh, "at", mesh->position, 3, 3, p->world[n]);
			for (int k = 0; k < HOB_UV_SETS; k++) {
				const char name[] = {'u', 'v', (char)(k > 0 ? '0' + k : 0), 0};
				if (k == 0 || mesh->uv[k])
					print_corners(mesh, name, mesh->uv[k], 2, 2, NULL);
			}
			print_corners(mesh, "color", mesh->color[0], 4, 4, NULL);
			printf("}");
		}
	printf("],\"hidden\":[");
	for (uint32_t n = 0; n < model->node_count; n++)
		printf("%s%s", n ? "," : "", is_hidden(model, n) ? "true" : "false");
	printf("]");
}

static void print_model(const hob_model *model, pose *p, int argc, char **argv)
{
	uint64_t triangles = 0, drawn = 0;
	for (uint32_t m = 0; m < model->mesh_count; m++)
		if (model->meshes[m].topology == HOB_TRIANGLES)
			triangles += model->meshes[m].index_count / 3;
	for (uint32_t r = 0; r < model->mesh_ref_count; r++)
		if (model->meshes[model->mesh_refs[r]].topology == HOB_TRIANGLES)
			drawn += model->meshes[model->mesh_refs[r]].index_count / 3;
	printf("{\"ok\":true,\"triangles\":%llu,\"triangles_drawn\":%llu,\"meshes\":%u,\"skins\":[",
		   (unsigned long long)triangles, (unsigned long long)drawn, model->mesh_count);
	for (uint32_t i = 0; i < model->skin_count; i++)
		printf("%s%u", i ? "," : "", model->skins[i].joint_count);
	printf("],\"influences\":[");
	print_influences(model);
	printf("],\"cameras\":[");
	for (uint32_t i = 0; i < model->camera_count; i++)
		printf("%s[%d,%.7g,%.7g]", i ? "," : "", (int)model->cameras[i].type,
			   (double)model->cameras[i].yfov_or_ymag, (double)model->cameras[i].aspect_or_xmag);
	printf("],\"lights\":[");
	for (uint32_t i = 0; i < model->light_count; i++)
		printf("%s[%d,%.7g]", i ? "," : "", (int)model->lights[i].type, (double)model->lights[i].intensity);
	printf("],\"materials\":[");
	print_materials(model);
	printf("],\"nodes\":[");
	for (uint32_t n = 0; n < model->node_count; n++) {
		printf("%s[", n ? "," : "");
		print_text(model->nodes[n].name);
		printf(",%d]", model->nodes[n].parent == HOB_NONE ? -1 : (int)model->nodes[n].parent);
	}
	rest(model, p);
	place(model, p, true);
	printf("],\"world\":[");
	print_worlds(model, p);
	printf("],\"weights\":[");
	print_weights(model, p);
	printf("]");
	if (with_draws)
		print_draws(model, p);
	printf(",\"bounds\":");
	print_box(model, p, false);
	printf(",\"bounds_deformed\":");
	print_box(model, p, true);
	printf(",\"clips\":[");
	for (uint32_t c = 0; c < model->clip_count; c++) {
		printf("%s", c ? "," : "");
		print_text(model->clips[c].name);
	}
	printf("],\"samples\":[");
	for (int i = 2; i + 1 < argc; i += 2) {
		const hob_clip *clip = NULL;
		for (uint32_t c = 0; c < model->clip_count; c++)
			if (hob_str_equal(model->clips[c].name, hob_str_of(argv[i])) || strcmp(argv[i], "*") == 0)
				clip = &model->clips[c];
		printf("%s{\"found\":%s,\"times\":[", i > 2 ? "," : "", clip ? "true" : "false");
		bool first = true;
		for (char *at = argv[i + 1]; *at; first = false) {
			double time = strtod(at, &at);
			at += *at == ',';
			sample(model, clip, time, p);
			printf("%s{\"world\":[", first ? "" : ",");
			print_worlds(model, p);
			printf("],\"weights\":[");
			print_weights(model, p);
			printf("],\"bounds\":");
			print_box(model, p, true);
			printf("}");
		}
		printf("]}");
	}
	printf("]");
}

int main(int argc, char **argv)
{
	static hob_notes notes;
	hob_arena result, scratch;
	hob_error err = {0};
	hob_model model;
	with_draws = argc > 1 && strcmp(argv[1], "--draws") == 0;
	argc -= with_draws;
	argv += with_draws;
	if (argc < 2)
		return 2;
	char *root = strstr(argv[1], "//"), *slash = root ? root + 1 : strrchr(argv[1], '/');
	folder = slash ? argv[1] : ".";
	if (slash)
		*slash = 0;
	hob_str name = hob_str_of(slash ? slash + 1 : argv[1]);
	hob_arena_init(&result, (size_t)3 << 30);
	hob_arena_init(&scratch, (size_t)3 << 30);
	notes.arena = &result;
	hob_io io = {.read = read_file};
	hob_bytes file;
	const hob_importer *importer = hob_importer_for(name);
	if (!importer || !read_file(NULL, name, &file, &err))
		return 2;
	hob_import_request request = {
		.io = &io, .path = name, .file = file, .result = &result, .scratch = &scratch, .notes = &notes};
	if (!hob_import_by(importer, &request, &model, &err) || !hob_model_check(&model, &err)) {
		printf("{\"ok\":false,\"code\":\"%s\",\"error\":", hob_err_name(err.code));
		print_text(hob_str_of(err.context));
	} else {
		pose p = {calloc(model.node_count + 1, sizeof *p.t), calloc(model.node_count + 1, sizeof *p.r),
				  calloc(model.node_count + 1, sizeof *p.s), calloc(model.node_count + 1, sizeof *p.weights),
				  calloc(model.node_count + 1, sizeof *p.world)};
		for (uint32_t n = 0; n < model.node_count; n++)
			p.weights[n] = calloc(targets_of(&model, &model.nodes[n]) + 1, sizeof(float));
		print_model(&model, &p, argc, argv);
	}
	printf(",\"importer\":\"%s\",\"notes\":[", importer->name);
	for (uint32_t i = 0; i < notes.count; i++) {
		printf("%s", i ? "," : "");
		print_text(notes.items[i].code);
	}
	printf("]}\n");
	return 0;
}
