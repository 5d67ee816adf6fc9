/* runtime_bench.c - world transforms of a large scene and playing a skeleton, compared with a naive
 * implementation: nodes on the heap with vectors of children and a dirty flag, keys searched from the start,
 * libm's acos and sin. */
#include "tests/unit/runtime/maker.h"

#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- the naive implementation */

typedef struct plain_node {
	float t[3], r[4], s[3], local[16], global[16];
	struct plain_node *parent, **children;
	uint32_t child_count;
	bool dirty;
} plain_node;

static void plain_multiply(const float *a, const float *b, float *out)
{
	for (int c = 0; c < 4; c++)
		for (int r = 0; r < 4; r++) {
			out[c * 4 + r] = 0;
			for (int k = 0; k < 4; k++)
				out[c * 4 + r] += a[k * 4 + r] * b[c * 4 + k];
		}
}

static void plain_local(plain_node *n)
{
	double exact[16];
	exact_local(n->t, n->r, n->s, exact);
	for (int i = 0; i < 16; i++)
		n->local[i] = (float)exact[i];
}

static void plain_update(plain_node *n, bool moved)
{
	moved = moved || n->dirty;
	if (n->dirty)
		plain_local(n);
	n->dirty = false;
	if (moved) {
		if (n->parent)
			plain_multiply(n->parent->global, n->local, n->global);
		else
			memcpy(n->global, n->local, sizeof n->global);
	}
	for (uint32_t i = 0; i < n->child_count; i++)
		plain_update(n->children[i], moved);
}

static plain_node **plain_scene(const uint32_t *parents, const hob_pk_trs *trs, uint32_t count)
{
	plain_node **nodes = calloc(count, sizeof *nodes);
	for (uint32_t i = 0; i < count; i++) {
		plain_node *n = nodes[i] = calloc(1, sizeof *n);
		memcpy(n->t, trs[i].t, sizeof n->t);
		memcpy(n->r, trs[i].r, sizeof n->r);
		memcpy(n->s, trs[i].s, sizeof n->s);
		n->dirty = true;
		if (parents[i] != HOB_RT_NONE) {
			plain_node *p = n->parent = nodes[parents[i]];
			if ((p->child_count & (p->child_count - 1)) == 0)
				p->children =
					realloc(p->children, (p->child_count ? p->child_count * 2 : 1) * sizeof *p->children);
			p->children[p->child_count++] = n;
		}
	}
	return nodes;
}

static void plain_slerp(const float *a, const float *b, float t, float *out)
{
	float d = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], sign = d < 0 ? -1.0f : 1.0f,
		  from = 1 - t, to = t;
	d *= sign;
	if (d < 0.9995f) {
		float angle = acosf(d), whole = sinf(angle);
		from = sinf((1 - t) * angle) / whole;
		to = sinf(t * angle) / whole;
	}
	for (int i = 0; i < 4; i++)
		out[i] = from * a[i] + sign * to * b[i];
}

static void plain_sample(const test_track *track, float time, plain_node *n)
{
	uint32_t k = 0;
	while (k + 2 < track->key_count && track->times[k + 1] <= time)
		k++;
	float t = (time - track->times[k]) / (track->times[k + 1] - track->times[k]);
	const float *a = track->values + k * track->components, *b = a + track->components;
	if (track->path == HOB_PK_PATH_ROTATION)
		plain_slerp(a, b, t, n->r);
	else
		for (int i = 0; i < 3; i++)
			n->t[i] = a[i] + t * (b[i] - a[i]);
	n->dirty = true;
}

/* ---- a scene of 100,000 nodes */

enum { NODES = 100000, ROUNDS = 200 };

static void make_tree(uint32_t *parents, hob_pk_trs *trs, uint32_t count, uint32_t bias, uint32_t *seed)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t parent = i == 0 ? HOB_RT_NONE : i - 1;
		while (parent != HOB_RT_NONE && parents[parent] != HOB_RT_NONE && next_random(seed) % 100 >= bias)
			parent = parents[parent];
		parents[i] = i % 1000 == 0 ? (i == 0 ? HOB_RT_NONE : 0) : parent;
		trs[i] = rest_trs();
		for (int k = 0; k < 3; k++)
			trs[i].t[k] = random_float(seed, -1, 1);
		random_quat(seed, trs[i].r);
	}
}

static void bench_scene(void)
{
	static uint32_t parents[NODES];
	static hob_pk_trs trs[NODES];
	uint32_t seed = 1;
	make_tree(parents, trs, NODES, 55, &seed);
	hob_rt_files files = {{NULL, 0}, {NULL, 0}, make_scene(parents, NODES, trs, NULL), {NULL, 0}};
	double begin = now();
	hob_rt_asset *asset = open_good(&files);
	double opened = now();
	hob_rt_instance *instance;
	hob_rt_instance_open(asset, &instance, NULL);
	printf("100,000 nodes: opened in %.1f ms, an instance in %.1f ms\n", (opened - begin) / 1e3,
		   (now() - opened) / 1e3);
	plain_node **plain = plain_scene(parents, trs, NODES);
	plain_update(plain[0], false);
	static uint32_t leaves[NODES];
	uint32_t leaf_count = 0;
	for (uint32_t i = 0; i < NODES; i++)
		if (plain[i]->child_count == 0)
			leaves[leaf_count++] = i;
	const struct {
		uint32_t count;
		bool leaves;
	} dirty[] = {{0, false},	{1, false},		{100, false},	{1000, true},
				 {1000, false}, {10000, false}, {100000, false}};
	for (size_t d = 0; d < sizeof dirty / sizeof dirty[0]; d++) {
		double ours = 0, tree = 0, all = 0;
		uint64_t changed = 0;
		for (int round = 0; round < ROUNDS; round++) {
			static uint32_t chosen[NODES];
			float t[3] = {(float)round, 0, 0};
			for (uint32_t i = 0; i < dirty[d].count; i++)
				chosen[i] = dirty[d].leaves ? leaves[next_random(&seed) % leaf_count]
											: 1 + next_random(&seed) % (NODES - 1);
			double start = now();
			for (uint32_t i = 0; i < dirty[d].count; i++)
				hob_rt_set_trs(instance, chosen[i], t, NULL, NULL);
			changed += hob_rt_update(instance);
			ours += now() - start;
			start = now();
			for (uint32_t i = 0; i < dirty[d].count; i++) {
				memcpy(plain[chosen[i]]->t, t, sizeof t);
				plain[chosen[i]]->dirty = true;
			}
			plain_update(plain[0], false);
			tree += now() - start;
			start = now();
			float *globals = (float *)(uintptr_t)plain[0]->global;
			(void)globals;
			for (uint32_t i = 1; i < NODES; i++)
				plain_multiply(plain[parents[i]]->global, plain[i]->local, plain[i]->global);
			all += now() - start;
		}
		printf("  %6u %s set: %8.1f us for %6llu nodes; node tree with dirty flags %8.1f us (%5.1fx); all "
			   "products %7.1f us\n",
			   dirty[d].count, dirty[d].leaves ? "leaves" : "nodes ", ours / ROUNDS,
			   (unsigned long long)(changed / ROUNDS), tree / ROUNDS, tree / ours, all / ROUNDS);
	}
	for (uint32_t i = 0; i < NODES; i++) {
		double expected[16];
		for (int k = 0; k < 16; k++)
			expected[k] = plain[i]->global[k];
		assert_matrix(hob_rt_global(instance, i), expected, 1e-3);
	}
	hob_rt_instance_close(instance);
	hob_rt_close(asset);
	free_files(&files);
}

/* ---- a skeleton of 200 joints */

enum { JOINTS = 200, KEYS = 60, FRAMES = 20000 };

static void bench_skeleton(void)
{
	static uint32_t parents[JOINTS], joints[JOINTS];
	static hob_pk_trs trs[JOINTS];
	static float times[KEYS], turns[JOINTS][KEYS * 4], moves[JOINTS][KEYS * 3], palette[JOINTS * 16],
		normals[JOINTS * 12];
	static test_track tracks[JOINTS * 2];
	static hob_pk_mat4 binds[JOINTS];
	uint32_t seed = 5;
	make_tree(parents, trs, JOINTS, 70, &seed);
	for (int k = 0; k < KEYS; k++)
		times[k] = (float)k / 30;
	for (uint32_t j = 0; j < JOINTS; j++) {
		float axis[4];
		random_quat(&seed, axis);
		joints[j] = j;
		for (int k = 0; k < KEYS; k++) {
			float q[4], length = 0;
			for (int i = 0; i < 4; i++) {
				q[i] = (i == 3) + 0.5f * axis[i] * sinf((float)k * 0.2f);
				length += q[i] * q[i];
			}
			for (int i = 0; i < 4; i++)
				turns[j][k * 4 + i] = q[i] / sqrtf(length);
			for (int i = 0; i < 3; i++)
				moves[j][k * 3 + i] = trs[j].t[i] + 0.1f * cosf((float)k * 0.3f);
		}
		tracks[j * 2] = (test_track){j, HOB_PK_PATH_TRANSLATION, HOB_PK_LINEAR, 3, KEYS, times, moves[j]};
		tracks[j * 2 + 1] = (test_track){j, HOB_PK_PATH_ROTATION, HOB_PK_LINEAR, 4, KEYS, times, turns[j]};
		for (int i = 0; i < 4; i++)
			binds[j].m[i * 5] = 1;
	}
	const uint32_t track_count = JOINTS * 2;
	test_clip clip = {"run", 0, times[KEYS - 1], tracks, track_count};
	maker *m = maker_new();
	add_clips(m, &clip, 1);
	const hob_pk_skin skin = {0, 0, 0, JOINTS};
	maker_add(m, HOB_PK_SKIN, &skin, 1, sizeof skin);
	maker_add(m, HOB_PK_JNTS, joints, JOINTS, 4);
	maker_add(m, HOB_PK_IBMS, binds, JOINTS, sizeof binds[0]);
	hob_rt_files files = {
		{NULL, 0}, {NULL, 0}, make_scene(parents, JOINTS, trs, NULL), maker_finish(m, HOB_PK_KIND_ANIM)};
	hob_rt_asset *asset = open_good(&files);
	hob_rt_instance *instance;
	hob_rt_pose *pose, *other, *mixed;
	hob_rt_instance_open(asset, &instance, NULL);
	hob_rt_pose_open(asset, &pose, NULL);
	hob_rt_pose_open(asset, &other, NULL);
	hob_rt_pose_open(asset, &mixed, NULL);
	plain_node **plain = plain_scene(parents, trs, JOINTS);
	static uint32_t cursors[JOINTS * 2];
	double sample = 0, jump = 0, apply = 0, matrices = 0, blend = 0, naive = 0;
	for (int frame = 0; frame < FRAMES; frame++) {
		float time = (float)fmod(frame / 60.0, times[KEYS - 1]);
		double a = now();
		hob_rt_sample(asset, 0, time, cursors, pose);
		double b = now();
		hob_rt_apply(pose, instance);
		hob_rt_update(instance);
		double c = now();
		hob_rt_palette(instance, 0, palette, normals);
		double d = now();
		hob_rt_sample(asset, 0, time, NULL, other);
		double e = now();
		hob_rt_blend_begin(mixed);
		hob_rt_blend_add(mixed, pose, 0.5f);
		hob_rt_blend_add(mixed, other, 0.5f);
		hob_rt_blend_end(mixed);
		double f = now();
		for (uint32_t t = 0; t < track_count; t++)
			plain_sample(&tracks[t], time, plain[tracks[t].node]);
		plain_update(plain[0], false);
		for (uint32_t j = 0; j < JOINTS; j++)
			plain_multiply(plain[j]->global, binds[j].m, palette + j * 16);
		double g = now();
		sample += b - a, apply += c - b, matrices += d - c, jump += e - d, blend += f - e, naive += g - f;
	}
	for (uint32_t j = 0; j < JOINTS; j++) {
		double expected[16];
		for (int k = 0; k < 16; k++)
			expected[k] = plain[j]->global[k];
		assert_matrix(hob_rt_global(instance, j), expected, 1e-4);
	}
	printf("200 joints, each with two tracks of 60 keys:\n"
		   "  sample %.1f us (without cursors %.1f), apply and update %.1f us, palette with normals %.1f us: "
		   "%.1f us\n"
		   "  the plain way, without normals: %.1f us; blending two poses: %.1f us\n",
		   sample / FRAMES, jump / FRAMES, apply / FRAMES, matrices / FRAMES,
		   (sample + apply + matrices) / FRAMES, naive / FRAMES, blend / FRAMES);
	hob_rt_pose_close(pose);
	hob_rt_pose_close(other);
	hob_rt_pose_close(mixed);
	hob_rt_instance_close(instance);
	hob_rt_close(asset);
	free_files(&files);
}

int main(void)
{
	bench_scene();
	bench_skeleton();
	return 0;
}
