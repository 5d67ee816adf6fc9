#include "importers.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "lists.h"
#include "shape.h"
#include "text.h"

#include <math.h>

/* Inter-Quake Model, version 2: meshes over shared vertex arrays, joints, clips of packed frames. Z is up,
 * triangles run clockwise, texture coordinates count from the top.
 *
 * Source: iqm.txt of the Inter-Quake Model development kit. */

enum {
	HEADER_SIZE = 124,
	MESH_SIZE = 24,
	ARRAY_SIZE = 20,
	TRIANGLE_SIZE = 12,
	JOINT_SIZE = 48,
	POSE_SIZE = 88,
	ANIM_SIZE = 20,
	CHANNELS = 10, /* translation, rotation, scale of a pose */
};

typedef struct list {
	const uint8_t *at;
	uint32_t count;
} list_t;

typedef struct iqm {
	const hob_import_request *request;
	hob_lists lists;
	hob_model *model;
	list_t text, meshes, arrays, triangles, joints, poses, anims;
	uint32_t vertex_count, frame_count, channel_count;
	const uint8_t *frames;
	hob_mesh vertices;	  /* vertex arrays that all meshes share */
	uint32_t first_joint; /* node */
} iqm;

/* ---- the file */

static list_t take_list(iqm *q, size_t at, uint32_t size, const char *what)
{
	hob_bytes file = q->request->file;
	uint32_t count = hob_load_u32(file.data + at), offset = hob_load_u32(file.data + at + 4);
	if (count > 0 && (offset > file.size || (file.size - offset) / size < count))
		hob_leave(CORRUPT, "%u %s at byte %u do not fit into the file of %zu bytes; copy it again", count,
				  what, offset, file.size);
	return (list_t){file.data + (count > 0 ? offset : 0), count};
}

static hob_str text_at(const iqm *q, uint32_t offset)
{
	if (offset >= q->text.count)
		return (hob_str){0};
	const char *from = (const char *)q->text.at + offset;
	const char *end = memchr(from, 0, q->text.count - offset);
	return (hob_str){from, end ? (size_t)(end - from) : q->text.count - offset};
}

static void read_header(iqm *q)
{
	hob_bytes file = q->request->file;
	if (file.size < HEADER_SIZE || memcmp(file.data, "INTERQUAKEMODEL", 16) != 0)
		hob_leave(CORRUPT, "the file does not begin as an Inter-Quake Model; it is damaged or bears the "
						   "wrong extension");
	uint32_t version = hob_load_u32(file.data + 16);
	if (version != 2)
		hob_leave(UNSUPPORTED, "version %u of the format; Hob reads 2, so export it again", version);
	q->text = take_list(q, 28, 1, "bytes of text");
	q->meshes = take_list(q, 36, MESH_SIZE, "meshes");
	q->triangles = take_list(q, 56, TRIANGLE_SIZE, "triangles");
	q->joints = take_list(q, 68, JOINT_SIZE, "joints");
	q->poses = take_list(q, 76, POSE_SIZE, "poses");
	q->anims = take_list(q, 84, ANIM_SIZE, "clips");
	/* The field between the array count and the array offset is the vertex count. */
	uint32_t offset = hob_load_u32(file.data + 52);
	q->arrays.count = hob_load_u32(file.data + 44);
	q->vertex_count = hob_load_u32(file.data + 48);
	if (q->arrays.count > 0 && (offset > file.size || (file.size - offset) / ARRAY_SIZE < q->arrays.count))
		hob_leave(CORRUPT, "%u vertex arrays do not fit into the file; copy it again", q->arrays.count);
	q->arrays.at = file.data + (q->arrays.count > 0 ? offset : 0);
	q->frame_count = hob_load_u32(file.data + 92);
	q->channel_count = hob_load_u32(file.data + 96);
	offset = hob_load_u32(file.data + 100);
	uint64_t values = (uint64_t)q->frame_count * q->channel_count;
	if (values > 0 && (offset > file.size || (file.size - offset) / 2 < values))
		hob_leave(CORRUPT, "%u frames do not fit into the file; copy it again", q->frame_count);
	q->frames = file.data + (values > 0 ? offset : 0);
	if (q->joints.count > HOB_LIMIT_JOINTS)
		hob_leave(LIMIT, "%u joints, at most %llu are allowed", q->joints.count, HOB_LIMIT_JOINTS);
}

/* ---- vertices */

typedef enum array_kind {
	POSITION,
	TEXCOORD,
	NORMAL,
	TANGENT,
	BLEND_INDEXES,
	BLEND_WEIGHTS,
	COLOR
} array_kind;
enum { BYTE, UBYTE, SHORT, USHORT, INT, UINT, HALF, FLOAT, DOUBLE };

/* Component k of vertex v; integers are divided by the type's maximum when `normalized`. */
static float component(const uint8_t *at, uint32_t format, bool normalized)
{
	double value;
	switch (format) {
	case UBYTE:
		return normalized ? (float)*at / 255 : (float)*at;
	case BYTE:
		return normalized ? fmaxf((float)(int8_t)*at / 127, -1) : (float)(int8_t)*at;
	case USHORT:
		return normalized ? (float)hob_load_u16(at) / 65535 : (float)hob_load_u16(at);
	case INT:
	case UINT:
		return (float)hob_load_u32(at);
	case FLOAT:
		return hob_load_f32(at);
	case DOUBLE:
		memcpy(&value, at, sizeof value);
		return (float)value;
	default:
		return 0;
	}
}

static void read_array(iqm *q, array_kind kind, uint32_t width, float **out)
{
	static const uint32_t sizes[] = {1, 1, 2, 2, 4, 4, 2, 4, 8};
	hob_bytes file = q->request->file;
	for (uint32_t i = 0; i < q->arrays.count; i++) {
		const uint8_t *at = q->arrays.at + (size_t)i * ARRAY_SIZE;
		uint32_t format = hob_load_u32(at + 8), have = hob_load_u32(at + 12), offset = hob_load_u32(at + 16);
		if (hob_load_u32(at) != (uint32_t)kind)
			continue;
		if (format > DOUBLE || format == SHORT || format == HALF || have == 0 || have > 16) {
			hob_warn(q->request->notes, "iqm.array",
					 "vertex array %u has a format of numbers that is not read; it is left out", i);
			return;
		}
		size_t stride = (size_t)sizes[format] * have;
		if (offset > file.size || (file.size - offset) / stride < q->vertex_count)
			hob_leave(CORRUPT, "vertex array %u does not fit into the file; copy it again", i);
		*out = HOB_NEW(q->request->result, float, (size_t)q->vertex_count *width);
		bool normalized = kind == BLEND_WEIGHTS || kind == COLOR || kind == NORMAL;
		for (size_t v = 0; v < q->vertex_count; v++)
			for (uint32_t k = 0; k < width; k++)
				(*out)[v * width + k] =
					k < have
						? component(file.data + offset + v * stride + k * sizes[format], format, normalized)
					: kind == COLOR ? 1
									: 0;
		return;
	}
}

static void read_influences(iqm *q)
{
	float *joints = NULL, *weights = NULL;
	hob_mesh *m = &q->vertices;
	if (q->joints.count == 0)
		return;
	read_array(q, BLEND_INDEXES, 4, &joints);
	read_array(q, BLEND_WEIGHTS, 4, &weights);
	if (!joints || !weights)
		return;
	m->joints = HOB_NEW(q->request->result, uint16_t, (size_t)q->vertex_count * 4);
	for (size_t i = 0; i < (size_t)q->vertex_count * 4; i++) {
		bool good =
			joints[i] >= 0 && joints[i] < (float)q->joints.count && weights[i] > 0 && weights[i] < 1e9f;
		m->joints[i] = good ? (uint16_t)joints[i] : 0;
		weights[i] = good ? weights[i] : 0;
	}
	m->weights = weights;
	m->influence_count = 4;
}

static void read_vertices(iqm *q)
{
	hob_mesh *m = &q->vertices;
	if (q->meshes.count == 0)
		return;
	read_array(q, POSITION, 3, &m->position);
	read_array(q, NORMAL, 3, &m->normal);
	read_array(q, TEXCOORD, 2, &m->uv[0]);
	read_array(q, COLOR, 4, &m->color[0]);
	read_influences(q);
	hob_shape_fix_floats(m->uv[0], (size_t)q->vertex_count * 2, 0);
	for (size_t i = 0; m->color[0] && i < (size_t)q->vertex_count * 4; i++) {
		float value = m->color[0][i];
		value = value > 0 ? value < 1 ? value : 1 : 0;
		m->color[0][i] = i % 4 < 3 ? hob_shape_linear(value) : value;
	}
	if (m->position == NULL)
		hob_leave(CORRUPT, "the file has meshes but no positions; export it again");
}

/* ---- joints: nodes and the skin */

static void unit_rotation(float q[4])
{
	float length = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
	bool good = length > 1e-6f && length < 1e6f;
	for (int k = 0; k < 4; k++)
		q[k] = good ? q[k] / length : k == 3;
}

static void set_place(hob_node *node, const uint8_t *at)
{
	float n[10];
	for (int k = 0; k < 10; k++) {
		n[k] = hob_load_f32(at + k * 4);
		n[k] = n[k] > -1e15f && n[k] < 1e15f ? n[k] : k >= 7;
	}
	memcpy(node->translation, n, sizeof node->translation);
	memcpy(node->rotation, n + 3, sizeof node->rotation);
	unit_rotation(node->rotation);
	memcpy(node->scale, n + 7, sizeof node->scale);
}

/* Adds a joint with all joints below it: the file has parents first, but not depth first. */
static void add_joint(iqm *q, uint32_t joint, uint32_t parent, uint32_t *node_of, const uint32_t *child,
					  const uint32_t *next)
{
	hob_own_buf stack = {0};
	struct todo {
		uint32_t joint, parent;
	} item = {joint, parent};
	hob_buf_put(&stack, &item, sizeof item);
	while (stack.size > 0) {
		stack.size -= sizeof item;
		memcpy(&item, stack.data + stack.size, sizeof item);
		const uint8_t *at = q->joints.at + (size_t)item.joint * JOINT_SIZE;
		uint32_t node = hob_lists_node(&q->lists, text_at(q, hob_load_u32(at)), item.parent);
		set_place(HOB_LISTS_AT(q->lists.nodes, hob_node, node), at + 8);
		node_of[item.joint] = node;
		for (uint32_t c = child[item.joint]; c != HOB_NONE; c = next[c]) {
			struct todo more = {c, node};
			hob_buf_put(&stack, &more, sizeof more);
		}
	}
}

static void read_joints(iqm *q, uint32_t root, uint32_t *node_of)
{
	uint32_t count = q->joints.count;
	uint32_t *child = HOB_NEW(q->request->scratch, uint32_t, count),
			 *next = HOB_NEW(q->request->scratch, uint32_t, count);
	memset(child, 0xFF, count * sizeof *child);
	memset(next, 0xFF, count * sizeof *next);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t parent = hob_load_u32(q->joints.at + (size_t)i * JOINT_SIZE + 4);
		if (parent == HOB_NONE)
			continue;
		if (parent >= i)
			hob_leave(CORRUPT, "joint %u comes before its parent %u; export it again", i, parent);
		next[i] = child[parent];
		child[parent] = i;
	}
	for (uint32_t i = 0; i < count; i++)
		if (hob_load_u32(q->joints.at + (size_t)i * JOINT_SIZE + 4) == HOB_NONE)
			add_joint(q, i, root, node_of, child, next);
}

/* World transforms of the joints at rest, below the up-axis rotation; their inverses are the bind
 * matrices. */
static void make_skin(iqm *q, const uint32_t *node_of)
{
	hob_arena *arena = q->request->result;
	uint32_t count = q->joints.count;
	hob_skin skin = {.name = HOB_STR(""), .root = HOB_NONE, .joint_count = count};
	float(*inverse)[16] = (float(*)[16])hob_arena_array(q->request->scratch, count, sizeof *inverse, 8);
	skin.joints = HOB_NEW(arena, uint32_t, count);
	skin.inverse_bind = HOB_NEW(arena, float, (size_t)count * 16);
	for (uint32_t i = 0; i < count; i++) {
		hob_node *node = HOB_LISTS_AT(q->lists.nodes, hob_node, node_of[i]);
		uint32_t parent = hob_load_u32(q->joints.at + (size_t)i * JOINT_SIZE + 4);
		hob_node back = hob_shape_plain_node((hob_str){0});
		float m[16], part[16];
		/* S^-1 * R^-1 * T^-1 */
		for (int k = 0; k < 3; k++) {
			back.translation[k] = -node->translation[k];
			back.rotation[k] = 0;
		}
		hob_node_local_matrix(&back, m);
		memset(back.translation, 0, sizeof back.translation);
		for (int k = 0; k < 3; k++)
			back.rotation[k] = -node->rotation[k];
		back.rotation[3] = node->rotation[3];
		hob_node_local_matrix(&back, part);
		hob_matrix_multiply(part, m, m);
		for (int column = 0; column < 4; column++)
			for (int row = 0; row < 3; row++)
				m[column * 4 + row] /= fabsf(node->scale[row]) > 1e-9f ? node->scale[row] : 1;
		if (parent != HOB_NONE)
			hob_matrix_multiply(m, inverse[parent], m);
		memcpy(inverse[i], m, sizeof m);
		skin.joints[i] = node_of[i];
		for (int k = 0; k < 16; k++)
			skin.inverse_bind[(size_t)i * 16 + (size_t)k] = m[k] - m[k] == 0 ? m[k] : k % 5 == 0;
	}
	hob_buf_put(&q->lists.skins, &skin, sizeof skin);
}

/* ---- meshes */

static bool is_picture(hob_str name)
{
	static const char *const endings[] = {".png", ".jpg", ".jpeg", ".tga", ".webp", ".bmp", ".dds", ".ktx2"};
	for (size_t i = 0; i < HOB_COUNT_OF(endings); i++)
		if (hob_str_ends_nocase(name, hob_str_of(endings[i])))
			return true;
	return false;
}

/* A material is only a name; if the name is a picture's, the picture is the base colour. */
static uint32_t material_of(iqm *q, hob_str name, hob_name_map *known)
{
	hob_material material;
	uint32_t id = hob_name_map_get(known, name);
	if (id != HOB_NONE)
		return id;
	hob_shape_plain_material(&material, hob_text_name(q->request->result, name));
	if (is_picture(name))
		material.slots[HOB_SLOT_BASE_COLOR].image = hob_image_set_file(&q->lists.images, name);
	return hob_name_map_add(known, name, hob_lists_material(&q->lists, &material));
}

static void copy_rows(float **array, uint32_t first, uint32_t width)
{
	if (*array)
		*array += (size_t)first * width;
}

static void read_mesh(iqm *q, uint32_t index, hob_name_map *known)
{
	const uint8_t *at = q->meshes.at + (size_t)index * MESH_SIZE;
	uint32_t first = hob_load_u32(at + 8), count = hob_load_u32(at + 12);
	uint32_t triangle = hob_load_u32(at + 16), triangles = hob_load_u32(at + 20), bad = 0;
	if (first > q->vertex_count || count > q->vertex_count - first || triangle > q->triangles.count ||
		triangles > q->triangles.count - triangle)
		hob_leave(CORRUPT, "mesh %u uses vertices or triangles that the file does not have", index);
	hob_mesh mesh = q->vertices;
	mesh.name = hob_text_name(q->request->result, text_at(q, hob_load_u32(at)));
	mesh.source_mesh = index;
	mesh.vertex_count = count;
	copy_rows(&mesh.position, first, 3);
	copy_rows(&mesh.normal, first, 3);
	copy_rows(&mesh.uv[0], first, 2);
	copy_rows(&mesh.color[0], first, 4);
	copy_rows(&mesh.weights, first, 4);
	mesh.joints = mesh.joints ? mesh.joints + (size_t)first * 4 : NULL;
	mesh.indices = HOB_NEW(q->request->result, uint32_t, (size_t)triangles * 3);
	for (size_t t = 0; t < triangles; t++) {
		const uint8_t *corners = q->triangles.at + ((size_t)triangle + t) * TRIANGLE_SIZE;
		uint32_t v[3], good = 0;
		for (size_t k = 0; k < 3; k++) {
			v[k] = hob_load_u32(corners + (2 - k) * 4) - first;
			good += v[k] < count;
		}
		bad += good < 3;
		for (size_t k = 0; good == 3 && k < 3; k++)
			mesh.indices[mesh.index_count++] = v[k];
	}
	if (bad > 0)
		hob_warn(q->request->notes, "mesh.bad-faces",
				 "mesh '%.*s': %u faces use vertices of another mesh; they are left out", HOB_FMT(mesh.name),
				 bad);
	hob_shape_fix_positions(&mesh, q->request->notes);
	hob_mesh_repair_directions(&mesh);
	if (mesh.index_count == 0)
		return;
	mesh.material = material_of(q, text_at(q, hob_load_u32(at + 4)), known);
	hob_lists_show(&q->lists, hob_lists_mesh(&q->lists, &mesh));
}

/* ---- clips */

/* Channel k of a pose in a frame. *data advances over the animated channels of the frame. */
static float channel(const uint8_t *pose, int k, const uint8_t **data)
{
	float value = hob_load_f32(pose + 8 + k * 4);
	if (hob_load_u32(pose + 4) & 1u << k) {
		value += (float)hob_load_u16(*data) * hob_load_f32(pose + 48 + k * 4);
		*data += 2;
	}
	return value > -1e15f && value < 1e15f ? value : 0;
}

static const struct {
	int first, width;
	hob_path path;
} paths[] = {{0, 3, HOB_PATH_TRANSLATION}, {3, 4, HOB_PATH_ROTATION}, {7, 3, HOB_PATH_SCALE}};

static void check_poses(const iqm *q)
{
	uint32_t moving = 0;
	for (uint32_t p = 0; p < q->poses.count; p++)
		for (int k = 0; k < CHANNELS; k++)
			moving += hob_load_u32(q->poses.at + (size_t)p * POSE_SIZE + 4) >> k & 1;
	if (moving != q->channel_count)
		hob_leave(CORRUPT, "the poses move %u numbers and the frames hold %u; export it again", moving,
				  q->channel_count);
}

/* Whether track i is animated; each joint has three tracks, in the order of `paths`. */
static bool moves(const iqm *q, uint32_t i)
{
	uint32_t mask = hob_load_u32(q->poses.at + (size_t)(i / 3) * POSE_SIZE + 4);
	return (mask >> paths[i % 3].first & ((1u << paths[i % 3].width) - 1)) != 0;
}

static void put_key(const iqm *q, uint32_t i, hob_track *track, uint32_t key, const uint8_t **data)
{
	float *to = track->values + (size_t)key * track->components;
	for (int k = 0; k < paths[i % 3].width; k++)
		to[k] = channel(q->poses.at + (size_t)(i / 3) * POSE_SIZE, paths[i % 3].first + k, data);
	if (paths[i % 3].path == HOB_PATH_ROTATION)
		unit_rotation(to);
}

/* Frames store only animated joints. Constant joints must cost nothing per frame: a small file may claim any
 * number of frames. */
static void fill_tracks(const iqm *q, uint32_t first, uint32_t frames, const hob_clip *clip)
{
	uint32_t *moving = HOB_NEW(q->request->scratch, uint32_t, q->channel_count), count = 0;
	for (uint32_t i = 0; i < clip->track_count; i++) {
		const uint8_t *none = NULL;
		if (moves(q, i))
			moving[count++] = i;
		else
			for (uint32_t key = 0; key < clip->tracks[i].key_count; key++)
				put_key(q, i, &clip->tracks[i], key, &none);
	}
	for (uint32_t f = 0; count > 0 && f < frames; f++) {
		const uint8_t *data = q->frames + ((size_t)first + f) * q->channel_count * 2;
		for (uint32_t i = 0; i < count; i++)
			put_key(q, moving[i], &clip->tracks[moving[i]], f, &data);
	}
}

static void make_track(const iqm *q, uint32_t i, uint32_t frames, float *times, float ends[2], hob_track *out)
{
	uint32_t keys = moves(q, i) ? frames : frames > 1 ? 2 : 1;
	*out = (hob_track){.interpolation = HOB_LINEAR,
					   .components = (uint32_t)paths[i % 3].width,
					   .key_count = keys,
					   .times = moves(q, i) ? times : ends};
	out->values = HOB_NEW(q->request->result, float, (size_t)keys * out->components);
}

static void read_clip(iqm *q, uint32_t index, const uint32_t *node_of, hob_clip *clip)
{
	const uint8_t *at = q->anims.at + (size_t)index * ANIM_SIZE;
	hob_arena *arena = q->request->result;
	uint32_t first = hob_load_u32(at + 4), frames = hob_load_u32(at + 8);
	float rate = hob_load_f32(at + 12);
	rate = rate > 0.001f && rate < 1e6f ? rate : 25;
	if (frames == 0 || first > q->frame_count || frames > q->frame_count - first)
		hob_leave(CORRUPT, "clip %u uses frames that the file does not have", index);
	uint32_t count = q->poses.count * (uint32_t)HOB_COUNT_OF(paths);
	uint32_t timed = q->channel_count > 0 ? frames : 0;
	float *times = HOB_NEW(arena, float, timed), *ends = HOB_NEW(arena, float, 2);
	clip->channels = HOB_NEW(arena, hob_channel, count);
	clip->tracks = HOB_NEW(arena, hob_track, count);
	for (uint32_t f = 0; f < timed; f++)
		times[f] = (float)f / rate;
	ends[0] = 0;
	ends[1] = (float)(frames - 1) / rate;
	clip->channel_count = clip->track_count = count;
	for (uint32_t i = 0; i < count; i++) {
		clip->channels[i] = (hob_channel){node_of[i / 3], paths[i % 3].path, i};
		make_track(q, i, frames, times, ends, &clip->tracks[i]);
	}
	fill_tracks(q, first, frames, clip);
}

static void read_clips(iqm *q, const uint32_t *node_of)
{
	hob_model *m = q->model;
	uint32_t count = q->anims.count;
	if (count == 0 || q->poses.count == 0)
		return;
	if (q->poses.count != q->joints.count)
		hob_leave(CORRUPT, "%u poses for %u joints; export it again", q->poses.count, q->joints.count);
	if (count > HOB_LIMIT_CLIPS)
		hob_leave(LIMIT, "more than %llu clips", HOB_LIMIT_CLIPS);
	m->clips = HOB_NEW(q->request->result, hob_clip, count);
	check_poses(q);
	for (uint32_t i = 0; i < count; i++) {
		hob_str name =
			hob_text_name(q->request->result, text_at(q, hob_load_u32(q->anims.at + (size_t)i * ANIM_SIZE)));
		read_clip(q, i, node_of, &m->clips[i]);
		m->clip_count = i + 1;
		hob_model_name_clip(m, i, name, q->request->result);
	}
}

/* ---- the importer */

static void build(iqm *q)
{
	hob_arena *scratch = q->request->scratch;
	uint32_t *node_of = HOB_NEW(scratch, uint32_t, q->joints.count);
	hob_name_map materials;
	hob_name_map_init(&materials, scratch);
	uint32_t root = hob_lists_z_up(&q->lists, q->model);
	uint32_t body = hob_lists_node(&q->lists, HOB_STR(""), root);
	read_vertices(q);
	for (uint32_t i = 0; i < q->meshes.count; i++)
		read_mesh(q, i, &materials);
	if (q->joints.count > 0) {
		read_joints(q, root, node_of);
		make_skin(q, node_of);
		if (q->vertices.influence_count > 0)
			HOB_LISTS_AT(q->lists.nodes, hob_node, body)->skin = 0;
	}
	hob_lists_take(&q->lists, q->model);
	read_clips(q, node_of);
}

static void count(const iqm *q)
{
	hob_census *seen = q->request->seen;
	for (uint32_t i = 0; i < q->meshes.count; i++)
		hob_census_add(seen, HOB_CENSUS_SURFACES,
					   hob_load_u32(q->meshes.at + (size_t)i * MESH_SIZE + 20) > 0);
	hob_census_add(seen, HOB_CENSUS_JOINTS, q->joints.count);
	hob_census_add(seen, HOB_CENSUS_CLIPS, q->anims.count);
}

static bool iqm_import(const hob_import_request *request, hob_model *out, hob_error *err)
{
	(void)err;
	iqm *q = HOB_NEW(request->scratch, iqm, 1);
	q->request = request;
	q->model = out;
	read_header(q);
	count(q);
	if (q->meshes.count == 0 && q->joints.count == 0)
		hob_leave(
			SKIPPED,
			"the file holds %u clips for a skeleton that is in another file, and nothing to draw; export "
			"them together",
			q->anims.count);
	hob_lists_init(&q->lists, request);
	build(q);
	out->space.vertex_colors = HOB_COLORS_SRGB;
	return true;
}

static const char *const extensions[] = {"iqm", NULL};

const hob_importer hob_iqm_importer = {
	.name = "iqm",
	.version = 2,
	.extensions = extensions,
	.import = iqm_import,
};
