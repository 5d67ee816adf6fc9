#include "importers.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "lists.h"
#include "shape.h"
#include "text.h"

/* Quake II models: one mesh with vertex positions per frame. The first frame becomes the mesh, each other
 * frame a morph target, and each run of frames with one name a clip of ten frames a second. Z is up,
 * triangles run clockwise. Normals are indices into a table that the format does not contain, so they are
 * computed.
 *
 * Source: the description of the format by D. Henry, "MD2 file format". */

enum {
	HEADER_SIZE = 68,
	SKIN_SIZE = 64,
	UV_SIZE = 4,
	TRIANGLE_SIZE = 12,
	FRAME_HEAD = 40,
	FRAMES_A_SECOND = 10,
};

typedef struct md2 {
	const hob_import_request *request;
	hob_lists lists;
	uint32_t width, height, frame_size, skin_count, point_count, uv_count, triangle_count, frame_count;
	const uint8_t *skins, *uvs, *triangles, *frames;
	hob_mesh mesh;
	uint32_t *point; /* [mesh.vertex_count] point of each vertex */
} md2;

static const uint8_t *section(const md2 *d, size_t offset_at, uint64_t size, const char *what)
{
	hob_bytes file = d->request->file;
	uint32_t offset = hob_load_u32(file.data + offset_at);
	if (offset > file.size || file.size - offset < size)
		hob_leave(TRUNCATED,
				  "the %s at byte %u take %llu bytes, more than the file of %zu has; copy it again", what,
				  offset, (unsigned long long)size, file.size);
	return file.data + offset;
}

static void read_header(md2 *d)
{
	hob_bytes file = d->request->file;
	uint32_t n[17];
	if (file.size < HEADER_SIZE || memcmp(file.data, "IDP2", 4) != 0)
		hob_leave(CORRUPT,
				  "the file does not begin as a Quake II model; it is damaged or bears the wrong extension");
	for (size_t i = 0; i < HOB_COUNT_OF(n); i++)
		n[i] = hob_load_u32(file.data + i * 4);
	if (n[1] != 8)
		hob_leave(UNSUPPORTED, "version %u of the format; Hob reads 8", n[1]);
	d->width = n[2], d->height = n[3], d->frame_size = n[4];
	d->skin_count = n[5], d->point_count = n[6], d->uv_count = n[7], d->triangle_count = n[8];
	d->frame_count = n[10];
	if (d->frame_count == 0 || d->triangle_count == 0 || d->point_count == 0)
		hob_leave(EMPTY, "the model has %u frames, %u triangles and %u vertices", d->frame_count,
				  d->triangle_count, d->point_count);
	if (d->frame_size < FRAME_HEAD || (d->frame_size - FRAME_HEAD) / 4 < d->point_count)
		hob_leave(CORRUPT, "frames of %u bytes are too small for %u vertices", d->frame_size, d->point_count);
	d->skins = section(d, 44, (uint64_t)d->skin_count * SKIN_SIZE, "skins");
	d->uvs = section(d, 48, (uint64_t)d->uv_count * UV_SIZE, "texture coordinates");
	d->triangles = section(d, 52, (uint64_t)d->triangle_count * TRIANGLE_SIZE, "triangles");
	d->frames = section(d, 56, (uint64_t)d->frame_count * d->frame_size, "frames");
}

/* ---- vertices: a point with a texture coordinate */

static void make_vertices(md2 *d)
{
	hob_arena *arena = d->request->result, *scratch = d->request->scratch;
	uint32_t *last = HOB_NEW(scratch, uint32_t, d->point_count), corners = d->triangle_count * 3, bad = 0;
	uint32_t *before = HOB_NEW(scratch, uint32_t, corners), *uv_of = HOB_NEW(scratch, uint32_t, corners);
	d->point = HOB_NEW(scratch, uint32_t, corners);
	d->mesh.indices = HOB_NEW(arena, uint32_t, corners);
	memset(last, 0xFF, d->point_count * sizeof *last);
	for (uint32_t t = 0; t < d->triangle_count; t++) {
		const uint8_t *at = d->triangles + (size_t)t * TRIANGLE_SIZE;
		uint32_t point[3], uv[3], good = 0;
		for (size_t k = 0; k < 3; k++) {
			point[k] = hob_load_u16(at + (2 - k) * 2);
			uv[k] = d->uv_count > 0 ? hob_load_u16(at + 6 + (2 - k) * 2) : 0;
			good += point[k] < d->point_count && (uv[k] < d->uv_count || d->uv_count == 0);
		}
		bad += good < 3;
		for (size_t k = 0; good == 3 && k < 3; k++) {
			uint32_t v = last[point[k]];
			while (v != HOB_NONE && uv_of[v] != uv[k])
				v = before[v];
			if (v == HOB_NONE) {
				v = d->mesh.vertex_count++;
				d->point[v] = point[k];
				uv_of[v] = uv[k];
				before[v] = last[point[k]];
				last[point[k]] = v;
			}
			d->mesh.indices[d->mesh.index_count++] = v;
		}
	}
	if (bad > 0)
		hob_warn(d->request->notes, "mesh.bad-faces",
				 "%u faces use a vertex that does not exist; they are left out", bad);
	d->mesh.uv[0] = d->uv_count > 0 ? HOB_NEW(arena, float, (size_t)d->mesh.vertex_count * 2) : NULL;
	for (size_t v = 0; d->mesh.uv[0] && v < d->mesh.vertex_count; v++) {
		const uint8_t *at = d->uvs + (size_t)uv_of[v] * UV_SIZE;
		d->mesh.uv[0][v * 2] = (float)(int16_t)hob_load_u16(at) / (float)(d->width > 0 ? d->width : 1);
		d->mesh.uv[0][v * 2 + 1] =
			(float)(int16_t)hob_load_u16(at + 2) / (float)(d->height > 0 ? d->height : 1);
	}
	if (d->mesh.index_count <= 0)
		hob_leave(EMPTY, "no face of the model can be used");
}

static void point_of(const md2 *d, uint32_t frame, uint32_t point, float out[3])
{
	const uint8_t *at = d->frames + (size_t)frame * d->frame_size,
				  *packed = at + FRAME_HEAD + (size_t)point * 4;
	for (int k = 0; k < 3; k++) {
		out[k] = (float)packed[k] * hob_load_f32(at + k * 4) + hob_load_f32(at + 12 + k * 4);
		out[k] = out[k] > -1e15f && out[k] < 1e15f ? out[k] : 0;
	}
}

/* A frame name is 16 bytes, padded with zeros. */
static hob_str frame_name(const md2 *d, uint32_t frame)
{
	const char *at = (const char *)d->frames + (size_t)frame * d->frame_size + 24;
	return (hob_str){at, strnlen(at, 16)};
}

static void make_frames(md2 *d)
{
	hob_arena *arena = d->request->result;
	hob_mesh *m = &d->mesh;
	uint32_t targets = d->frame_count - 1;
	if (targets > HOB_LIMIT_TARGETS)
		hob_leave(LIMIT, "%u frames, at most %llu are read", d->frame_count, HOB_LIMIT_TARGETS + 1);
	m->position = HOB_NEW(arena, float, (size_t)m->vertex_count * 3);
	m->targets = HOB_NEW(arena, hob_morph_target, targets);
	m->target_count = targets;
	for (size_t v = 0; v < m->vertex_count; v++)
		point_of(d, 0, d->point[v], m->position + v * 3);
	for (uint32_t t = 0; t < targets; t++) {
		hob_morph_target *to = &m->targets[t];
		to->name = hob_text_name(arena, frame_name(d, t + 1));
		to->position = HOB_NEW(arena, float, (size_t)m->vertex_count * 3);
		for (size_t v = 0; v < m->vertex_count; v++) {
			float at[3];
			point_of(d, t + 1, d->point[v], at);
			for (size_t k = 0; k < 3; k++)
				to->position[v * 3 + k] = at[k] - m->position[v * 3 + k];
		}
	}
}

/* ---- clips */

/* "stand40" -> "stand", "death308" -> "death3", "run001" -> "run": at most two trailing digits are the frame
 * number. */
static hob_str clip_name(hob_str frame)
{
	size_t digits = 0;
	while (digits < frame.len && frame.data[frame.len - 1 - digits] >= '0' &&
		   frame.data[frame.len - 1 - digits] <= '9')
		digits++;
	hob_str name = hob_str_sub(frame, 0, frame.len - (digits > 2 ? 2 : digits));
	while (digits > 2 && name.len > 0 && name.data[name.len - 1] == '0')
		name.len--;
	return name;
}

static void make_clip(md2 *d, hob_model *model, uint32_t first, uint32_t count)
{
	hob_arena *arena = d->request->result;
	hob_clip *clip = &model->clips[model->clip_count];
	uint32_t targets = d->mesh.target_count;
	clip->channels = HOB_NEW(arena, hob_channel, 1);
	clip->tracks = HOB_NEW(arena, hob_track, 1);
	float *times = HOB_NEW(arena, float, count), *values = HOB_NEW(arena, float, (size_t)count *targets);
	hob_str name = hob_text_name(arena, clip_name(frame_name(d, first)));
	clip->channel_count = clip->track_count = 1;
	clip->channels[0] = (hob_channel){1, HOB_PATH_WEIGHTS, 0};
	clip->tracks[0] = (hob_track){HOB_LINEAR, targets, count, times, values};
	for (uint32_t i = 0; i < count; i++) {
		times[i] = (float)i / FRAMES_A_SECOND;
		if (first + i > 0)
			values[(size_t)i * targets + first + i - 1] = 1;
	}
	model->clip_count++;
	hob_model_name_clip(model, model->clip_count - 1, name, arena);
}

static void make_clips(md2 *d, hob_model *model)
{
	if (d->frame_count < 2)
		return;
	model->clips = HOB_NEW(d->request->result, hob_clip, d->frame_count);
	for (uint32_t first = 0, i = 1; i <= d->frame_count; i++) {
		if (i < d->frame_count && hob_str_equal(clip_name(frame_name(d, i)), clip_name(frame_name(d, first))))
			continue;
		make_clip(d, model, first, i - first);
		first = i;
	}
}

/* ---- the importer */

static void build(md2 *d, hob_model *model)
{
	hob_material material;
	hob_shape_plain_material(&material, HOB_STR(""));
	if (d->skin_count > 0) {
		hob_str skin = {(const char *)d->skins, strnlen((const char *)d->skins, SKIN_SIZE)};
		if (skin.len > 0)
			material.slots[HOB_SLOT_BASE_COLOR].image = hob_image_set_file(&d->lists.images, skin);
	}
	if (d->skin_count > 1)
		hob_info(d->request->notes, "md2.skins", "of %u skins the first is read", d->skin_count);
	d->mesh.name = HOB_STR("");
	hob_lists_node(&d->lists, HOB_STR(""), hob_lists_z_up(&d->lists, model));
	make_vertices(d);
	make_frames(d);
	d->mesh.material = hob_lists_material(&d->lists, &material);
	hob_lists_show(&d->lists, hob_lists_mesh(&d->lists, &d->mesh));
	hob_lists_take(&d->lists, model);
	make_clips(d, model);
}

static bool md2_import(const hob_import_request *request, hob_model *out, hob_error *err)
{
	(void)err;
	md2 *d = HOB_NEW(request->scratch, md2, 1);
	d->request = request;
	read_header(d);
	hob_census_add(request->seen, HOB_CENSUS_SURFACES, 1);
	hob_census_add(request->seen, HOB_CENSUS_MORPHED, d->frame_count > 1);
	hob_census_add(request->seen, HOB_CENSUS_CLIPS, d->frame_count > 1);
	hob_lists_init(&d->lists, request);
	build(d, out);
	return true;
}

static const char *const extensions[] = {"md2", NULL};

const hob_importer hob_md2_importer = {
	.name = "md2",
	.version = 1,
	.extensions = extensions,
	.import = md2_import,
};
