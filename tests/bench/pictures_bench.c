/* pictures_bench.c - pictures of levels of detail beside gltfpack's. See pictures.sh. */
#include "core/import/importer.h"
#include "core/mesh/bake.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>

enum { SIDE = 192, FINE = 2 * SIDE, VIEWS = 6, LEAST = 500, MARGIN = 4, MOST_ROWS = 200 };

static const char *folder, *gltfpack;

/* ---- models */

static bool read_file(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	char name[PATH_MAX];
	snprintf(name, sizeof name, "%s/%.*s", (const char *)user, HOB_FMT(path));
	FILE *file = fopen(name, "rb");
	if (!file)
		return hob_fail(err, MISSING_FILE, "'%s' cannot be read", name);
	fseek(file, 0, SEEK_END);
	size_t size = (size_t)ftell(file);
	rewind(file);
	void *data = aligned_alloc(16, (size + 31) & ~(size_t)15);
	*out = (hob_bytes){data, fread(data, 1, size, file)};
	fclose(file);
	return true;
}

static bool import(const char *path, hob_arena *arena, hob_model *model)
{
	char *root = strdup(path), *name = strrchr(root, '/');
	*name++ = 0;
	hob_notes notes = {.arena = arena};
	hob_io io = {.user = root, .read = read_file};
	hob_error err = {0};
	const hob_importer *importer;
	hob_space_override space = {0};
	hob_import_request request = {.io = &io,
								  .path = hob_str_of(name),
								  .result = arena,
								  .scratch = arena,
								  .notes = &notes,
								  .space = &space};
	return read_file(root, request.path, &request.file, &err) && hob_import(&request, &importer, model, &err);
}

/* Triangles to draw. */
typedef struct shape {
	const float *position, *normal, *uv;
	const uint32_t *indices;
	uint32_t index_count;
} shape;

/* Surface of a shape: RGB texels (NULL: white), and whether back faces are culled. */
typedef struct look {
	uint8_t *texels;
	int width, height;
	bool cull;
} look;

static look look_of(const char *path, const hob_model *model, const hob_mesh *mesh)
{
	look out = {.cull = true};
	if (mesh->material >= model->material_count)
		return out;
	const hob_material *m = &model->materials[mesh->material];
	out.cull = !m->double_sided;
	const hob_texture_ref *ref = &m->slots[HOB_SLOT_BASE_COLOR];
	if (ref->image >= model->image_count || ref->uv_set != 0)
		return out;
	const hob_image *image = &model->images[ref->image];
	hob_bytes bytes = image->bytes;
	hob_error err = {0};
	char root[PATH_MAX];
	snprintf(root, sizeof root, "%.*s", (int)(strrchr(path, '/') - path), path);
	if (bytes.size == 0 && (image->path.len == 0 || !read_file(root, image->path, &bytes, &err)))
		return out;
	out.texels = stbi_load_from_memory(bytes.data, (int)bytes.size, &out.width, &out.height, NULL, 3);
	while (out.texels && out.width > 512 && out.height > 512) {
		int w = out.width / 2, h = out.height / 2;
		for (int y = 0; y < h; y++)
			for (int x = 0; x < w; x++)
				for (int k = 0; k < 3; k++) {
					const uint8_t *at = out.texels + 3 * (2 * y * out.width + 2 * x) + k;
					out.texels[3 * (y * w + x) + k] =
						(uint8_t)((at[0] + at[3] + at[3 * out.width] + at[3 * out.width + 3]) / 4);
				}
		out.width = w, out.height = h;
	}
	return out;
}

/* ---- drawing */

typedef struct camera {
	double axis[3][3], centre[3], scale;
} camera;

static camera camera_of(const hob_baked_mesh *mesh, int view)
{
	static const double angles[VIEWS][2] = {{30, 20}, {120, 20}, {210, 20}, {300, 20}, {45, 75}, {45, -60}};
	double a = angles[view][0] * M_PI / 180, b = angles[view][1] * M_PI / 180, square = 0;
	camera c = {.axis = {{cos(a), 0, -sin(a)},
						 {-sin(a) * sin(b), -cos(b), -cos(a) * sin(b)},
						 {-sin(a) * cos(b), sin(b), -cos(a) * cos(b)}}};
	for (int k = 0; k < 3; k++) {
		c.centre[k] = ((double)mesh->aabb_min[k] + (double)mesh->aabb_max[k]) / 2;
		square += pow((double)mesh->aabb_max[k] - (double)mesh->aabb_min[k], 2);
	}
	c.scale = FINE * 0.95 / sqrt(square);
	return c;
}

static double side_of(const double a[3], const double b[3], double x, double y)
{
	return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
}

static void texel(const look *l, double u, double v, double out[3])
{
	out[0] = out[1] = out[2] = 220;
	if (!l->texels)
		return;
	int x = (int)((u - floor(u)) * l->width), y = (int)((v - floor(v)) * l->height);
	x = x >= l->width ? l->width - 1 : x, y = y >= l->height ? l->height - 1 : y;
	for (int k = 0; k < 3; k++)
		out[k] = l->texels[3 * (y * l->width + x) + k];
}

static void fill(const shape *s, const look *l, const camera *c, const uint32_t corner[3], float *depth,
				 uint8_t *pixels)
{
	double p[3][3], n[3][3], low[2], high[2];
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++) {
			p[i][k] = n[i][k] = 0;
			for (int x = 0; x < 3; x++) {
				p[i][k] +=
					c->axis[k][x] * ((double)s->position[3 * (size_t)corner[i] + (size_t)x] - c->centre[x]);
				if (s->normal)
					n[i][k] += c->axis[k][x] * (double)s->normal[3 * (size_t)corner[i] + (size_t)x];
			}
			p[i][k] = p[i][k] * c->scale + (k < 2 ? FINE / 2.0 : 0);
		}
	double whole = side_of(p[0], p[1], p[2][0], p[2][1]);
	if (!(fabs(whole) > 0) || (l->cull && whole > 0))
		return;
	for (int k = 0; k < 3 && !s->normal; k++) {
		int x = (k + 1) % 3, y = (k + 2) % 3;
		n[0][k] = (p[1][x] - p[0][x]) * (p[2][y] - p[0][y]) - (p[1][y] - p[0][y]) * (p[2][x] - p[0][x]);
		n[0][k] = n[1][k] = n[2][k] = whole < 0 ? n[0][k] : -n[0][k];
	}
	for (int k = 0; k < 2; k++) {
		low[k] = fmax(0, fmin(p[0][k], fmin(p[1][k], p[2][k])) - 0.5);
		high[k] = fmin(FINE - 1, fmax(p[0][k], fmax(p[1][k], p[2][k])) + 0.5);
	}
	for (int y = (int)low[1]; y <= (int)high[1]; y++)
		for (int x = (int)low[0]; x <= (int)high[0]; x++) {
			double w[3] = {side_of(p[1], p[2], x + 0.5, y + 0.5) / whole,
						   side_of(p[2], p[0], x + 0.5, y + 0.5) / whole, 0};
			w[2] = 1 - w[0] - w[1];
			double z = w[0] * p[0][2] + w[1] * p[1][2] + w[2] * p[2][2], m[3] = {0, 0, 0}, uv[2] = {0, 0},
				   rgb[3];
			size_t at = (size_t)y * FINE + (size_t)x;
			if (w[0] < 0 || w[1] < 0 || w[2] < 0 || z >= (double)depth[at])
				continue;
			for (int i = 0; i < 3; i++) {
				for (int k = 0; k < 3; k++)
					m[k] += w[i] * n[i][k];
				for (int k = 0; k < 2 && s->uv; k++)
					uv[k] += w[i] * (double)s->uv[2 * (size_t)corner[i] + (size_t)k];
			}
			double length = sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]);
			double light = length > 0 ? (-0.8 * m[2] - 0.45 * m[1] + 0.4 * m[0]) / length : 0;
			texel(l, uv[0], uv[1], rgb);
			depth[at] = (float)z;
			for (int k = 0; k < 3; k++)
				pixels[3 * at + (size_t)k] = (uint8_t)fmin(255, rgb[k] * (0.25 + 0.75 * fmax(0, light)));
		}
}

/* out: [SIDE][SIDE][3] */
static void draw(const shape *s, const look *l, const camera *c, uint8_t *out)
{
	static float depth[FINE * FINE];
	static uint8_t fine[FINE * FINE * 3];
	memset(fine, 128, sizeof fine);
	for (size_t i = 0; i < FINE * FINE; i++)
		depth[i] = HUGE_VALF;
	for (uint32_t i = 0; i < s->index_count; i += 3)
		fill(s, l, c, s->indices + i, depth, fine);
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++)
			for (int k = 0; k < 3; k++) {
				const uint8_t *at = fine + 3 * (2 * y * FINE + 2 * x) + k;
				out[3 * (y * SIDE + x) + k] =
					(uint8_t)((at[0] + at[3] + at[3 * FINE] + at[3 * FINE + 3] + 2) / 4);
			}
}

/* ---- comparing */

static uint8_t sheet[MOST_ROWS * (SIDE + MARGIN) * 6 * (SIDE + MARGIN) * 3];
static uint32_t rows, pairs, nearer, worse, unequal;

static void put_picture(uint32_t column, const uint8_t *picture)
{
	for (int y = 0; y < SIDE && rows < MOST_ROWS; y++)
		memcpy(sheet + 3 * ((size_t)(rows * (SIDE + MARGIN) + (uint32_t)y) * 6 * (SIDE + MARGIN) +
							column * (SIDE + MARGIN)),
			   picture + 3 * y * SIDE, 3 * SIDE);
}

/* Root of the mean square of differences from the full mesh, over six views, for Hob and for gltfpack. */
static void compare(const char *name, const hob_baked_mesh *mesh, const look *l, const shape shapes[3])
{
	static uint8_t picture[3][SIDE * SIDE * 3];
	double sums[2] = {0, 0};
	for (int view = 0; view < VIEWS; view++) {
		camera c = camera_of(mesh, view);
		for (uint32_t i = 0; i < 3; i++) {
			draw(&shapes[i], l, &c, picture[i]);
			if (view == 0 || view == 4)
				put_picture(i + (view ? 3 : 0), picture[i]);
		}
		for (int i = 0; i < 2; i++)
			for (size_t k = 0; k < sizeof picture[0]; k++)
				sums[i] += pow((double)picture[0][k] - (double)picture[i + 1][k], 2);
	}
	double ours = sqrt(sums[0] / (VIEWS * sizeof picture[0])),
		   theirs = sqrt(sums[1] / (VIEWS * sizeof picture[0]));
	bool equal = fabs((double)shapes[2].index_count / shapes[1].index_count - 1) <= 0.05;
	bool lost = equal && ours > 1.1 * theirs && ours > theirs + 0.2;
	unequal += !equal, pairs += equal, nearer += equal && ours <= theirs, worse += lost;
	printf("%-34.34s row %3u  %7u of %7u  gltfpack %7u   RMSE %6.2f : %6.2f  %5.2f%s\n", name, rows++,
		   shapes[1].index_count / 3, shapes[0].index_count / 3, shapes[2].index_count / 3, ours, theirs,
		   theirs > 0 ? ours / theirs : 1,
		   !equal ? "  unequal"
		   : lost ? "  WORSE"
				  : "");
	fflush(stdout);
}

/* ---- gltfpack */

static void write_obj(const char *path, const shape *s, uint32_t vertex_count)
{
	FILE *file = fopen(path, "w");
	for (uint32_t v = 0; v < vertex_count; v++) {
		static const float none[3] = {0, 0, 1};
		const float *p = s->position + 3 * (size_t)v, *n = s->normal ? s->normal + 3 * (size_t)v : none;
		fprintf(file, "v %.9g %.9g %.9g\nvn %.9g %.9g %.9g\n", (double)p[0], (double)p[1], (double)p[2],
				(double)n[0], (double)n[1], (double)n[2]);
		fprintf(file, "vt %.9g %.9g\n", s->uv ? (double)s->uv[2 * (size_t)v] : 0,
				s->uv ? 1 - (double)s->uv[2 * (size_t)v + 1] : 0);
	}
	for (uint32_t i = 0; i < s->index_count; i++)
		fprintf(file, "%s%u/%u/%u%s", i % 3 ? " " : "f ", s->indices[i] + 1, s->indices[i] + 1,
				s->indices[i] + 1, i % 3 == 2 ? "\n" : "");
	fclose(file);
}

/* Simplifies with gltfpack: tries up to six ratios to get within 1 % of `wanted` triangles. */
static bool simplify(const shape *full, uint32_t wanted, hob_arena *arena, shape *out)
{
	char command[3 * PATH_MAX], path[PATH_MAX];
	double ratio = (double)wanted / (full->index_count / 3), best = HUGE_VAL;
	for (int round = 0; round < 6 && best > 0.01; round++) {
		hob_model model;
		snprintf(path, sizeof path, "%s/out.glb", folder);
		snprintf(command, sizeof command, "%s -i %s/in.obj -o %s -si %.6f -se 1 -kv -noq >/dev/null",
				 gltfpack, folder, path, fmin(ratio, 1));
		if (system(command) != 0 || !import(path, arena, &model) || model.mesh_count != 1)
			return false;
		const hob_mesh *m = &model.meshes[0];
		double got = m->index_count / 3.0, off = fabs(got / wanted - 1);
		if (off < best)
			*out = (shape){m->position, m->normal, m->uv[0], m->indices, m->index_count};
		best = fmin(best, off);
		ratio *= 1 + (wanted / fmax(got, 1) - 1) * 0.9;
	}
	if (!full->normal)
		out->normal = NULL;
	return full->normal == NULL || out->normal != NULL;
}

static shape level_of(const hob_baked_mesh *b, uint32_t l)
{
	return (shape){b->mesh.position, b->mesh.normal, b->mesh.uv[0], b->indices + b->lods[l].index_first,
				   b->lods[l].index_count};
}

/* Compares all levels of a model's largest mesh. */
static void run(const char *path)
{
	hob_arena arena, scratch;
	hob_model model;
	const hob_mesh_options options = {.lod_max = 6, .lod_error = 0.1f};
	hob_arena_init(&arena, (size_t)4 << 30);
	hob_arena_init(&scratch, (size_t)4 << 30);
	const hob_mesh *mesh = NULL;
	bool ok = import(path, &arena, &model);
	for (uint32_t i = 0; ok && i < model.mesh_count; i++)
		if (model.meshes[i].topology == HOB_TRIANGLES &&
			(!mesh || model.meshes[i].index_count > mesh->index_count))
			mesh = &model.meshes[i];
	if (!mesh || mesh->index_count < 3 * LEAST) {
		printf("%s: no mesh of %d triangles\n", path, LEAST);
	} else {
		hob_baked_mesh b = hob_mesh_bake(mesh, &options, &arena, &scratch, NULL);
		look l = look_of(path, &model, mesh);
		char obj[PATH_MAX];
		shape shapes[3] = {level_of(&b, 0)};
		snprintf(obj, sizeof obj, "%s/in.obj", folder);
		write_obj(obj, &shapes[0], b.mesh.vertex_count);
		for (uint32_t level = 1; level < b.lod_count; level++) {
			shapes[1] = level_of(&b, level);
			if (simplify(&shapes[0], shapes[1].index_count / 3, &arena, &shapes[2]))
				compare(strrchr(path, '/') + 1, &b, &l, shapes);
			else
				printf("%s: gltfpack gives no single mesh with normals\n", path);
		}
	}
	hob_arena_release(&arena);
	hob_arena_release(&scratch);
}

int main(int argc, char **argv)
{
	gltfpack = argv[1], folder = argv[2];
	memset(sheet, 255, sizeof sheet);
	for (int i = 4; i < argc; i++)
		run(argv[i]);
	printf("%u pairs: Hob is as near or nearer in %u (%.0f %%), more than 1.1 times and 0.2 farther in %u; "
		   "of %u more gltfpack has 5 %% more or fewer triangles\n",
		   pairs, nearer, pairs ? 100.0 * nearer / pairs : 0, worse, unequal);
	stbi_write_png(argv[3], 6 * (SIDE + MARGIN),
				   (int)((rows < MOST_ROWS ? rows : MOST_ROWS) * (SIDE + MARGIN)), 3, sheet,
				   6 * (SIDE + MARGIN) * 3);
	return 0;
}
