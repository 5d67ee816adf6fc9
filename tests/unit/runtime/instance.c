#include "maker.h"

/* ---- a naive scene in double */

typedef struct plain {
	uint32_t count;
	uint32_t *parents;
	hob_pk_trs *trs;
	double *global;
} plain_t;

static void plain_globals(const plain_t *p, const double base[16])
{
	for (uint32_t i = 0; i < p->count; i++) {
		double local[16];
		exact_local(p->trs[i].t, p->trs[i].r, p->trs[i].s, local);
		exact_multiply(p->parents[i] == HOB_RT_NONE ? base : p->global + (size_t)p->parents[i] * 16, local,
					   p->global + (size_t)i * 16);
	}
}

static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

/* Depth-first random trees; `depth_bias` in 0..100: how often a node is a child of the previous one. */
static plain_t random_tree(uint32_t count, uint32_t depth_bias, uint32_t *seed)
{
	plain_t p = {count, calloc(count, sizeof(uint32_t)), calloc(count, sizeof(hob_pk_trs)),
				 calloc(count, 16 * sizeof(double))};
	for (uint32_t i = 0; i < count; i++) {
		uint32_t parent = i == 0 ? HOB_RT_NONE : i - 1;
		while (parent != HOB_RT_NONE && next_random(seed) % 100 >= depth_bias)
			parent = p.parents[parent];
		p.parents[i] = parent;
		p.trs[i] = rest_trs();
		for (int k = 0; k < 3; k++) {
			p.trs[i].t[k] = random_float(seed, -1, 1);
			p.trs[i].s[k] = random_float(seed, 0.9f, 1.1f);
		}
		random_quat(seed, p.trs[i].r);
	}
	return p;
}

static void free_tree(plain_t *p)
{
	free(p->parents);
	free(p->trs);
	free(p->global);
}

static void check_globals(const plain_t *p, const hob_rt_instance *instance, double tolerance)
{
	for (uint32_t i = 0; i < p->count; i++)
		assert_matrix(hob_rt_global(instance, i), p->global + (size_t)i * 16, tolerance);
}

static bool is_below(const plain_t *p, uint32_t node, const uint8_t *set)
{
	for (; node != HOB_RT_NONE; node = p->parents[node])
		if (set[node])
			return true;
	return false;
}

static void update_matches_recomputation_and_touches_changed_subtrees_only(void **state)
{
	(void)state;
	uint32_t seed = 7;
	const struct {
		uint32_t count, bias;
	} shapes[] = {{1, 50}, {64, 0}, {65, 50}, {300, 60}, {500, 90}, {4097, 40}, {9000, 20}};
	for (size_t shape = 0; shape < sizeof shapes / sizeof shapes[0]; shape++) {
		plain_t p = random_tree(shapes[shape].count, shapes[shape].bias, &seed);
		hob_rt_files files = {.scene = make_scene(p.parents, p.count, p.trs, NULL)};
		hob_rt_asset *asset = open_good(&files);
		hob_rt_instance *instance;
		assert_true(hob_rt_instance_open(asset, &instance, NULL));
		plain_globals(&p, identity);
		check_globals(&p, instance, 1e-4);
		for (int round = 0; round < 20; round++) {
			uint8_t *set = calloc(p.count, 1);
			uint32_t changes = next_random(&seed) % 5;
			for (uint32_t k = 0; k < changes; k++) {
				uint32_t node = next_random(&seed) % p.count;
				set[node] = 1;
				p.trs[node].t[1] = random_float(&seed, -2, 2);
				random_quat(&seed, p.trs[node].r);
				hob_rt_set_trs(instance, node, p.trs[node].t, p.trs[node].r, NULL);
			}
			uint32_t expected = 0, got = hob_rt_update(instance), range_count, in_ranges = 0, end = 0;
			const hob_rt_range *ranges = hob_rt_changed(instance, &range_count);
			for (uint32_t i = 0; i < p.count; i++)
				expected += is_below(&p, i, set);
			assert_int_equal(got, expected);
			for (uint32_t r = 0; r < range_count; r++) {
				assert_true(r == 0 || ranges[r].first > end);
				for (uint32_t i = 0; i < ranges[r].count; i++)
					assert_true(is_below(&p, ranges[r].first + i, set));
				end = ranges[r].first + ranges[r].count;
				in_ranges += ranges[r].count;
			}
			assert_int_equal(in_ranges, expected);
			plain_globals(&p, identity);
			check_globals(&p, instance, 1e-4);
			free(set);
		}
		hob_rt_instance_close(instance);
		hob_rt_close(asset);
		free_files(&files);
		free_tree(&p);
	}
}

static void a_chain_of_ten_thousand_nodes_is_no_deeper_than_any(void **state)
{
	(void)state;
	enum { DEPTH = 10000 };
	uint32_t *parents = calloc(DEPTH, sizeof *parents);
	for (uint32_t i = 0; i < DEPTH; i++)
		parents[i] = i - 1; /* 0 - 1 is HOB_RT_NONE */
	hob_rt_files files = {.scene = make_scene(parents, DEPTH, NULL, NULL)};
	hob_rt_asset *asset = open_good(&files);
	hob_rt_instance *instance;
	assert_true(hob_rt_instance_open(asset, &instance, NULL));
	for (uint32_t depth = 1; depth <= DEPTH; depth = depth < 10 ? depth + 1 : depth * 10) {
		float up[3] = {0, 1, 0};
		hob_rt_set_trs(instance, depth - 1, up, NULL, NULL);
		assert_int_equal(hob_rt_update(instance), DEPTH - depth + 1);
	}
	/* Ten at depths 1..10, then 100, 1000, 10000. */
	assert_true(hob_rt_global(instance, DEPTH - 1)[13] == 13);
	assert_true(hob_rt_global(instance, 0)[13] == 1);
	hob_rt_instance_close(instance);
	hob_rt_close(asset);
	free_files(&files);
	free(parents);
}

/* The reference stopped at the first level without changes, and at the first root. */
static void a_change_of_a_deep_node_alone_and_of_a_second_root_arrives(void **state)
{
	(void)state;
	const uint32_t parents[] = {HOB_RT_NONE, 0, 1, HOB_RT_NONE, 3, HOB_RT_NONE};
	hob_rt_files files = {.scene = make_scene(parents, 6, NULL, NULL)};
	hob_rt_asset *asset = open_good(&files);
	hob_rt_instance *instance;
	assert_true(hob_rt_instance_open(asset, &instance, NULL));
	const float ten[3] = {10, 0, 0}, three[3] = {3, 0, 0};
	hob_rt_set_trs(instance, 0, ten, NULL, NULL);
	hob_rt_update(instance);
	hob_rt_set_trs(instance, 2, three, NULL, NULL);
	hob_rt_set_trs(instance, 3, ten, NULL, NULL);
	hob_rt_set_trs(instance, 5, three, NULL, NULL);
	assert_int_equal(hob_rt_update(instance), 4);
	assert_true(hob_rt_global(instance, 2)[12] == 13);
	assert_true(hob_rt_global(instance, 4)[12] == 10);
	assert_true(hob_rt_global(instance, 5)[12] == 3);
	assert_int_equal(hob_rt_update(instance), 0);
	uint32_t count;
	hob_rt_changed(instance, &count);
	assert_int_equal(count, 0);
	hob_rt_instance_close(instance);
	hob_rt_close(asset);
	free_files(&files);
}

static void matrices_stay_as_given_until_a_part_is_set(void **state)
{
	(void)state;
	const uint32_t parents[] = {HOB_RT_NONE, 0};
	hob_pk_trs trs[2] = {rest_trs(), rest_trs()};
	trs[1].t[0] = 4;
	hob_rt_files files = {.scene = make_scene(parents, 2, trs, NULL)};
	hob_rt_asset *asset = open_good(&files);
	hob_rt_instance *instance;
	assert_true(hob_rt_instance_open(asset, &instance, NULL));
	const float shear[16] = {1, 0, 0, 0, 0.5f, 1, 0, 0, 0, 0, 1, 0, 7, 8, 9, 1};
	hob_rt_set_matrix(instance, 0, shear);
	hob_rt_update(instance);
	assert_memory_equal(hob_rt_global(instance, 0), shear, sizeof shear);
	assert_true(hob_rt_global(instance, 1)[12] == 11);
	const float up[3] = {0, 1, 0}, nothing[4] = {0, 0, 0, 0};
	float t[3], r[4], s[3];
	hob_rt_set_trs(instance, 0, up, nothing, NULL);
	hob_rt_update(instance);
	assert_true(hob_rt_global(instance, 0)[4] == 0 && hob_rt_global(instance, 0)[13] == 1);
	hob_rt_get_trs(instance, 0, t, r, s);
	assert_true(t[1] == 1 && r[3] == 1 && s[2] == 1);
	hob_rt_reset_node(instance, 0);
	hob_rt_update(instance);
	assert_true(hob_rt_global(instance, 1)[12] == 4 && hob_rt_global(instance, 1)[13] == 0);
	hob_rt_instance_close(instance);
	hob_rt_close(asset);
	free_files(&files);
}

static void attached_instances_follow_and_cost_only_when_their_host_moves(void **state)
{
	(void)state;
	uint32_t seed = 3;
	plain_t body = random_tree(50, 60, &seed), sword = random_tree(20, 50, &seed),
			gem = random_tree(5, 50, &seed);
	plain_t *trees[3] = {&body, &sword, &gem};
	hob_rt_files files[3];
	hob_rt_asset *assets[3];
	hob_rt_instance *in[3];
	for (int i = 0; i < 3; i++) {
		files[i] =
			(hob_rt_files){.scene = make_scene(trees[i]->parents, trees[i]->count, trees[i]->trs, NULL)};
		assets[i] = open_good(&files[i]);
		assert_true(hob_rt_instance_open(assets[i], &in[i], NULL));
	}
	assert_true(hob_rt_attach(in[1], in[0], 30));
	assert_true(hob_rt_attach(in[2], in[1], 10));
	assert_false(hob_rt_attach(in[0], in[2], 1));
	assert_false(hob_rt_attach(in[0], in[0], 1));
	hob_rt_update(in[0]);
	for (int round = 0; round < 5; round++) {
		body.trs[30].t[0] += 1;
		hob_rt_set_trs(in[0], 30, body.trs[30].t, NULL, NULL);
		hob_rt_update(in[0]);
		plain_globals(&body, identity);
		plain_globals(&sword, body.global + 30 * 16);
		plain_globals(&gem, sword.global + 10 * 16);
		for (int i = 0; i < 3; i++)
			check_globals(trees[i], in[i], 1e-4);
	}
	uint32_t count;
	hob_rt_update(in[0]);
	hob_rt_changed(in[2], &count);
	assert_int_equal(count, 0);
	/* A detached instance keeps its place, and can be placed elsewhere. */
	hob_rt_detach(in[1]);
	hob_rt_update(in[1]);
	check_globals(&sword, in[1], 1e-4);
	const float away[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 100, 0, 0, 1};
	double away_exact[16];
	for (int i = 0; i < 16; i++)
		away_exact[i] = away[i];
	hob_rt_place(in[1], away);
	hob_rt_update(in[1]);
	plain_globals(&sword, away_exact);
	plain_globals(&gem, sword.global + 10 * 16);
	check_globals(&sword, in[1], 1e-4);
	check_globals(&gem, in[2], 1e-4);
	hob_rt_instance_close(in[1]);
	hob_rt_update(in[2]);
	check_globals(&gem, in[2], 1e-4);
	hob_rt_instance_close(in[2]);
	hob_rt_instance_close(in[0]);
	hob_rt_instance_close(NULL);
	for (int i = 0; i < 3; i++) {
		hob_rt_close(assets[i]);
		free_files(&files[i]);
		free_tree(trees[i]);
	}
}

static void several_instances_hang_from_one_and_are_all_updated(void **state)
{
	(void)state;
	const uint32_t parents[] = {HOB_RT_NONE, 0};
	hob_rt_files files = {.scene = make_scene(parents, 2, NULL, NULL)};
	hob_rt_asset *asset = open_good(&files);
	hob_rt_instance *in[5];
	for (int i = 0; i < 5; i++)
		assert_true(hob_rt_instance_open(asset, &in[i], NULL));
	/* 0 carries 1, 2 and 3; 2 carries 4. */
	for (int i = 1; i < 4; i++)
		assert_true(hob_rt_attach(in[i], in[0], 1));
	assert_true(hob_rt_attach(in[4], in[2], 0));
	const float up[3] = {0, 3, 0};
	hob_rt_set_trs(in[0], 0, up, NULL, NULL);
	hob_rt_update(in[0]);
	for (int i = 0; i < 5; i++)
		assert_true(hob_rt_global(in[i], 1)[13] == 3 && hob_rt_local(in[i], 1)[13] == 0);
	hob_rt_detach(in[2]); /* from the middle of the list */
	hob_rt_set_trs(in[0], 1, up, NULL, NULL);
	hob_rt_update(in[0]);
	assert_true(hob_rt_global(in[1], 1)[13] == 6 && hob_rt_global(in[3], 1)[13] == 6);
	assert_true(hob_rt_global(in[2], 1)[13] == 3 && hob_rt_global(in[4], 1)[13] == 3);
	assert_true(hob_rt_attach(in[0], in[4], 1)); /* no longer a cycle */
	assert_ptr_equal(hob_rt_instance_asset(in[0]), asset);
	for (int i = 0; i < 5; i++)
		hob_rt_instance_close(in[i]);
	hob_rt_close(asset);
	free_files(&files);
}

static void names_find_the_first_node_and_then_the_others(void **state)
{
	(void)state;
	const uint32_t parents[] = {HOB_RT_NONE, 0, 0, 2, 0};
	const char *names[] = {"root", "wheel", "", "wheel", "wheel"};
	hob_rt_files files = {.scene = make_scene(parents, 5, NULL, names)};
	hob_rt_asset *asset = open_good(&files);
	assert_int_equal(hob_rt_find_node(asset, "root"), 0);
	assert_int_equal(hob_rt_find_node(asset, "wheel"), 1);
	assert_int_equal(hob_rt_find_next(asset, 1), 3);
	assert_int_equal(hob_rt_find_next(asset, 3), 4);
	assert_int_equal(hob_rt_find_next(asset, 4), HOB_RT_NONE);
	assert_int_equal(hob_rt_find_node(asset, "wheels"), HOB_RT_NONE);
	assert_int_equal(hob_rt_find_node(asset, ""), HOB_RT_NONE);
	assert_int_equal(hob_rt_find_next(asset, 2), HOB_RT_NONE);
	assert_string_equal(hob_rt_node_name(asset, 2), "");
	assert_int_equal(hob_rt_parent(asset, 3), 2);
	assert_int_equal(hob_rt_parent(asset, 0), HOB_RT_NONE);
	uint32_t count;
	const uint32_t *roots = hob_rt_scene_roots(asset, asset->default_scene, &count);
	assert_true(count == 1 && roots[0] == 0);
	hob_rt_close(asset);
	free_files(&files);
}

static void an_empty_scene_is_a_scene(void **state)
{
	(void)state;
	hob_rt_files files = {.scene = make_scene(NULL, 0, NULL, NULL)};
	hob_rt_asset *asset = open_good(&files);
	hob_rt_instance *instance;
	assert_true(hob_rt_instance_open(asset, &instance, NULL));
	assert_int_equal(hob_rt_update(instance), 0);
	assert_int_equal(asset->node_count, 0);
	hob_rt_instance_close(instance);
	hob_rt_close(asset);
	hob_rt_close(NULL);
	free_files(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(update_matches_recomputation_and_touches_changed_subtrees_only),
		cmocka_unit_test(a_chain_of_ten_thousand_nodes_is_no_deeper_than_any),
		cmocka_unit_test(a_change_of_a_deep_node_alone_and_of_a_second_root_arrives),
		cmocka_unit_test(matrices_stay_as_given_until_a_part_is_set),
		cmocka_unit_test(attached_instances_follow_and_cost_only_when_their_host_moves),
		cmocka_unit_test(several_instances_hang_from_one_and_are_all_updated),
		cmocka_unit_test(names_find_the_first_node_and_then_the_others),
		cmocka_unit_test(an_empty_scene_is_a_scene),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
