#include "skin_poses.h"
#include "clip_pose.h"

#include <float.h>
#include <math.h>

enum { SAMPLES = 64, PULLS = 24, FEW_NODES = 1024, LEAST_INSTANTS = 8, SMALL = 64, PER_INSTANT = 16 };
/* A pose must add `least_gain` of the sum so far, and bend `least_bend` of the edges' lengths. */
static const double least_gain = 0.02, least_bend = 1e-4;

/* A sampled triangle, and the joints at its corners. */
typedef struct sample {
	double centre[3], edge; /* its longest edge */
	double weight[PULLS];
	uint16_t joint[PULLS];
	uint32_t pull_count;
} sample_t;

/* ---- instants */

static bool range_of(const hob_clip *clip, float range[2])
{
	range[0] = FLT_MAX, range[1] = -FLT_MAX;
	for (uint32_t t = 0; t < clip->track_count; t++) {
		const hob_track *track = &clip->tracks[t];
		if (track->key_count == 0)
			continue;
		range[0] = track->times[0] < range[0] ? track->times[0] : range[0];
		range[1] =
			track->times[track->key_count - 1] > range[1] ? track->times[track->key_count - 1] : range[1];
	}
	return range[0] <= range[1];
}

static void list_instants(hob_skin_poses *c, uint32_t most)
{
	const hob_model *model = c->model;
	uint32_t clips = model->clip_count < most ? model->clip_count : most;
	c->instants[c->instant_count++] = (hob_skin_instant){0};
	for (uint32_t i = 0; i < clips; i++) {
		const hob_clip *clip = &model->clips[(uint64_t)model->clip_count * i / clips];
		uint32_t count = most / clips;
		float range[2];
		if (!range_of(clip, range))
			continue;
		for (uint32_t k = 0; k < count; k++) {
			double part = count > 1 ? (double)k / (count - 1) : 0.5;
			float time = (float)(range[0] + ((double)range[1] - range[0]) * part);
			c->instants[c->instant_count++] = (hob_skin_instant){.clip = clip, .time = time};
		}
	}
}

static bool has_poses(const hob_mesh *mesh)
{
	return mesh->topology == HOB_TRIANGLES && mesh->index_count / 3 > SMALL;
}

/* The interval at which instants are examined for a mesh: longer for a small mesh. */
static uint32_t step_of(const hob_skin_poses *c, const hob_mesh *mesh)
{
	uint32_t most = mesh->index_count / 3 / PER_INSTANT;
	most = most > LEAST_INSTANTS ? most : LEAST_INSTANTS;
	return (c->instant_count + most - 1) / most;
}

static bool is_asked(const hob_skin_poses *c, uint32_t instant)
{
	bool asked = instant == 0;
	for (uint32_t i = 0; i < c->boxes.mesh_count && !asked; i++)
		asked = has_poses(c->boxes.meshes[i].mesh) && instant % step_of(c, c->boxes.meshes[i].mesh) == 0;
	return asked;
}

static void gather_instants(hob_skin_poses *c, hob_arena *scratch)
{
	uint32_t most = HOB_SKIN_INSTANTS, nodes = c->boxes.node_count;
	if (nodes > FEW_NODES)
		most = most / (nodes / FEW_NODES) > LEAST_INSTANTS ? most / (nodes / FEW_NODES) : LEAST_INSTANTS;
	c->instants = HOB_NEW(scratch, hob_skin_instant, most + 1);
	list_instants(c, most);
	hob_clip_pose pose;
	size_t size = 16 * (size_t)nodes;
	for (uint32_t i = 0; i < c->instant_count; i++) {
		hob_skin_instant *instant = &c->instants[i];
		if (i == 0 || instant->clip != instant[-1].clip)
			pose = hob_clip_pose_of(&c->boxes, instant->clip, scratch);
		if (!is_asked(c, i))
			continue;
		instant->global = HOB_NEW(scratch, float, size);
		hob_clip_pose_at(&pose, instant->time);
		memcpy(instant->global, pose.global, size * sizeof *instant->global);
	}
}

/* ---- sampled triangles */

static bool is_bent(const hob_mesh *m, const uint32_t *corner)
{
	uint32_t only = HOB_NONE;
	for (int i = 0; i < 3; i++)
		for (uint32_t k = 0; k < m->influence_count; k++) {
			size_t at = (size_t)m->influence_count * corner[i] + k;
			if (!(m->weights[at] > 0))
				continue;
			if (only != HOB_NONE && only != m->joints[at])
				return true;
			only = m->joints[at];
		}
	return false;
}

static void set_sample(const hob_mesh *m, const uint32_t *corner, sample_t *out)
{
	*out = (sample_t){0};
	for (int i = 0; i < 3; i++) {
		for (uint32_t k = 0; k < m->influence_count && out->pull_count < PULLS; k++) {
			size_t at = (size_t)m->influence_count * corner[i] + k;
			if (!(m->weights[at] > 0))
				continue;
			out->joint[out->pull_count] = m->joints[at];
			out->weight[out->pull_count++] = (double)m->weights[at];
		}
		const float *p = m->position + 3 * (size_t)corner[i],
					*q = m->position + 3 * (size_t)corner[(i + 1) % 3];
		double square = 0;
		for (int k = 0; k < 3; k++) {
			out->centre[k] += (double)p[k] / 3;
			square += ((double)p[k] - (double)q[k]) * ((double)p[k] - (double)q[k]);
		}
		out->edge = sqrt(square) > out->edge ? sqrt(square) : out->edge;
	}
}

static uint32_t choose_samples(const hob_mesh *m, sample_t samples[SAMPLES])
{
	uint32_t triangles = m->index_count / 3, bent = 0, met = 0, count = 0;
	for (uint32_t t = 0; t < triangles; t++)
		bent += is_bent(m, m->indices + 3 * (size_t)t);
	uint32_t of = bent > 0 ? bent : triangles, wanted = of < SAMPLES ? of : SAMPLES;
	for (uint32_t t = 0; t < triangles && count < wanted; t++) {
		const uint32_t *corner = m->indices + 3 * (size_t)t;
		if (bent > 0 && !is_bent(m, corner))
			continue;
		if (met++ == (uint64_t)of * count / wanted)
			set_sample(m, corner, &samples[count++]);
	}
	return count;
}

/* ---- deformation of a mesh at an instant */

static double size_of(const float matrix[16])
{
	double sum = 0;
	for (int column = 0; column < 3; column++)
		for (int row = 0; row < 3; row++)
			sum += (double)matrix[4 * column + row] * (double)matrix[4 * column + row];
	return sqrt(sum / 3);
}

/* The joints of a skin at an instant; zeros for joints that move no vertex. */
typedef struct joints {
	float *matrices; /* [joint_count][16] */
	double *sizes;	 /* [joint_count] */
} joints_t;

static void joints_at(const hob_skin_poses *c, const hob_skin_mesh *part, const hob_skin_instant *instant,
					  float *matrices)
{
	for (uint32_t j = 0; j < part->joint_count; j++) {
		uint32_t joint = part->joints[j].joint;
		hob_matrix_multiply(instant->global + 16 * (size_t)c->boxes.place[part->skin->joints[joint]],
							part->skin->inverse_bind + 16 * (size_t)joint, matrices + 16 * (size_t)joint);
	}
}

static void sizes_of(const hob_skin_mesh *part, joints_t *joints)
{
	for (uint32_t j = 0; j < part->joint_count; j++) {
		uint32_t joint = part->joints[j].joint;
		joints->sizes[joint] = size_of(joints->matrices + 16 * (size_t)joint);
	}
}

/* Scale of the mesh under its skin. */
static double size_at(const hob_skin_mesh *part, const joints_t *joints)
{
	double sum = 0;
	for (uint32_t j = 0; j < part->joint_count; j++)
		sum += joints->sizes[part->joints[j].joint];
	return part->joint_count > 0 ? sum / part->joint_count : 0;
}

/* A measure of a triangle's bend: how far apart its joints move its centre, plus its growth. */
static double bend_of(const sample_t *sample, const joints_t *joints, uint32_t joint_count, double size)
{
	double at[PULLS][3], weights[PULLS], mean[3] = {0, 0, 0}, all = 0, grown = 0, apart = 0;
	uint32_t count = 0;
	for (uint32_t k = 0; k < sample->pull_count; k++) {
		if (sample->joint[k] >= joint_count)
			continue;
		const float *matrix = joints->matrices + 16 * (size_t)sample->joint[k];
		double weight = sample->weight[k];
		for (int row = 0; row < 3; row++) {
			at[count][row] = (double)matrix[12 + row];
			for (int column = 0; column < 3; column++)
				at[count][row] += (double)matrix[4 * column + row] * sample->centre[column];
			mean[row] += weight * at[count][row];
		}
		grown += weight * joints->sizes[sample->joint[k]];
		weights[count++] = weight;
		all += weight;
	}
	for (uint32_t i = 0; i < count; i++) {
		double square = 0;
		for (int row = 0; row < 3; row++)
			square += (at[i][row] - mean[row] / all) * (at[i][row] - mean[row] / all);
		apart += weights[i] / all * sqrt(square);
	}
	double growth = count > 0 ? grown / all / size - 1 : 0;
	return apart / size + (growth > 0 ? growth * sample->edge : 0);
}

/* ---- choosing */

/* One use of a mesh at an instant. */
typedef struct candidate {
	const hob_skin_mesh *part;
	const hob_skin_instant *instant;
	double size; /* scale of the use in the rest pose */
	float bend[SAMPLES];
} candidate_t;

/* Adds a use of a mesh at every `step`-th instant. */
static void add_candidates(const hob_skin_poses *c, const hob_skin_mesh *part, uint32_t first, uint32_t step,
						   const sample_t *samples, uint32_t sample_count, hob_arena *arena, candidate_t *out,
						   uint32_t *count)
{
	joints_t joints = {HOB_NEW(arena, float, 16 * (size_t)part->skin->joint_count),
					   HOB_NEW(arena, double, part->skin->joint_count)};
	joints_at(c, part, &c->instants[0], joints.matrices);
	sizes_of(part, &joints);
	double size = size_at(part, &joints);
	if (!(size > 0) || !isfinite(size))
		return;
	for (uint32_t i = first; i < c->instant_count; i += step) {
		candidate_t *candidate = &out[*count];
		*candidate = (candidate_t){part, &c->instants[i], size, {0}};
		joints_at(c, part, &c->instants[i], joints.matrices);
		sizes_of(part, &joints);
		bool finite = true;
		for (uint32_t s = 0; s < sample_count; s++) {
			candidate->bend[s] = (float)bend_of(&samples[s], &joints, part->skin->joint_count, size);
			finite = finite && isfinite(candidate->bend[s]);
		}
		*count += finite;
	}
}

static double gain_of(const candidate_t *candidate, const float *best, uint32_t sample_count)
{
	double gain = 0;
	for (uint32_t s = 0; s < sample_count; s++)
		gain += candidate->bend[s] > best[s] ? (double)candidate->bend[s] - (double)best[s] : 0;
	return gain;
}

/* Drops the candidates that bend nothing. */
static uint32_t keep_bent(candidate_t *candidates, uint32_t count, const sample_t *samples,
						  uint32_t sample_count)
{
	const float none[SAMPLES] = {0};
	double least = 0;
	uint32_t kept = 0;
	for (uint32_t s = 0; s < sample_count; s++)
		least += least_bend * samples[s].edge;
	for (uint32_t i = 0; i < count; i++)
		if (gain_of(&candidates[i], none, sample_count) > least)
			candidates[kept++] = candidates[i];
	return kept;
}

/* Chooses the poses that raise the largest bends most, then others evenly spread, because errors can peak
 * between poses. */
static uint32_t choose_most(const candidate_t *candidates, uint32_t count, uint32_t sample_count,
							const candidate_t *chosen[HOB_SKIN_POSES])
{
	float best[SAMPLES] = {0};
	double reached = 0;
	uint32_t taken = 0;
	for (; taken < HOB_SKIN_POSES; taken++) {
		const candidate_t *most = NULL;
		double gain = 0;
		for (uint32_t i = 0; i < count; i++) {
			double more = gain_of(&candidates[i], best, sample_count);
			if (more > gain)
				most = &candidates[i], gain = more;
		}
		if (!most || gain < least_gain * reached)
			break;
		chosen[taken] = most;
		reached += gain;
		for (uint32_t s = 0; s < sample_count; s++)
			best[s] = most->bend[s] > best[s] ? most->bend[s] : best[s];
	}
	uint32_t bent = taken, rest = count > taken ? HOB_SKIN_POSES - taken : 0;
	for (uint32_t k = 0; k < rest; k++) {
		const candidate_t *spread = &candidates[(2 * k + 1) * count / (2 * rest)];
		bool has = false;
		for (uint32_t i = 0; i < bent; i++)
			has = has || chosen[i] == spread;
		if (!has)
			chosen[taken++] = spread;
	}
	return taken;
}

static hob_mesh_poses write_poses(const hob_skin_poses *c, const hob_mesh *mesh, const candidate_t **chosen,
								  uint32_t count, hob_arena *arena)
{
	hob_mesh_poses poses = {.count = count, .target_count = mesh->target_count};
	for (uint32_t i = 0; i < count; i++)
		if (chosen[i]->part->skin->joint_count > poses.joint_count)
			poses.joint_count = chosen[i]->part->skin->joint_count;
	poses.matrices = HOB_NEW(arena, float, 16 * (size_t)poses.joint_count * count);
	poses.weights = HOB_NEW(arena, float, (size_t)poses.target_count *count);
	for (uint32_t i = 0; i < count; i++) {
		const candidate_t *from = chosen[i];
		float *matrices = poses.matrices + 16 * (size_t)poses.joint_count * i;
		joints_at(c, from->part, from->instant, matrices);
		for (size_t k = 0; k < 16 * (size_t)poses.joint_count; k++)
			matrices[k] = (float)((double)matrices[k] / from->size);
		if (mesh->target_count == 0)
			continue;
		hob_clip_pose pose = hob_clip_pose_of(&c->boxes, from->instant->clip, arena);
		hob_clip_pose_weights(&pose, from->part->node, mesh, from->instant->time);
		memcpy(poses.weights + (size_t)poses.target_count * i, pose.weights,
			   mesh->target_count * sizeof *pose.weights);
	}
	return poses;
}

hob_mesh_poses hob_skin_poses_choose(const hob_skin_poses *c, uint32_t id, hob_arena *arena)
{
	if (c->boxes.mesh_count == 0)
		return (hob_mesh_poses){0};
	const hob_mesh *mesh = &c->model->meshes[id];
	uint32_t uses = 0, use = 0, count = 0, step = step_of(c, mesh);
	for (uint32_t i = c->first_use[id]; i != HOB_NONE; i = c->next_use[i])
		uses++;
	if (!has_poses(mesh) || uses == 0)
		return (hob_mesh_poses){0};
	sample_t samples[SAMPLES];
	const candidate_t *chosen[HOB_SKIN_POSES];
	candidate_t *candidates = HOB_NEW(arena, candidate_t, c->instant_count);
	uint32_t sample_count = choose_samples(mesh, samples);
	for (uint32_t i = c->first_use[id]; i != HOB_NONE && use * step < c->instant_count; i = c->next_use[i])
		add_candidates(c, &c->boxes.meshes[i], use++ * step, uses * step, samples, sample_count, arena,
					   candidates, &count);
	count = keep_bent(candidates, count, samples, sample_count);
	uint32_t taken = choose_most(candidates, count, sample_count, chosen);
	return taken > 0 ? write_poses(c, mesh, chosen, taken, arena) : (hob_mesh_poses){0};
}

static void link_uses(hob_skin_poses *c, hob_arena *scratch)
{
	uint32_t meshes = c->model->mesh_count, uses = c->boxes.mesh_count;
	c->first_use = HOB_NEW(scratch, uint32_t, meshes);
	c->next_use = HOB_NEW(scratch, uint32_t, uses);
	for (uint32_t i = 0; i < meshes; i++)
		c->first_use[i] = HOB_NONE;
	for (uint32_t i = uses; i-- > 0;) {
		size_t mesh = (size_t)(c->boxes.meshes[i].mesh - c->model->meshes);
		c->next_use[i] = c->first_use[mesh];
		c->first_use[mesh] = i;
	}
}

hob_skin_poses hob_skin_poses_of(const hob_model *model, hob_arena *scratch)
{
	hob_skin_poses poses = {.model = model, .boxes = hob_skin_boxes_of(model, scratch)};
	if (poses.boxes.mesh_count > 0) {
		link_uses(&poses, scratch);
		gather_instants(&poses, scratch);
	}
	return poses;
}
