#include "tests/unit/support.h"
#include "tests/unit/temp_folder.h"

#include "server/derive/derive.h"

/* A host without a loop: work waits in a list and runs on the test's command. */

enum { WORK_MAX = 64, CLIENTS = 8 };

typedef struct work_item {
	uv_work_t *work;
	uv_work_cb run;
	uv_after_work_cb done;
} work_item;

typedef struct fake {
	temp_folder folder;
	srv_store *store;
	srv_events *events;
	srv_publish publish;
	atomic_bool closing;
	work_item items[WORK_MAX];
	uint32_t count, over;
	srv_derive *derive;
} fake;

typedef struct asked {
	srv_control control;
	int status;
	uint32_t answers;
	uint32_t turn; /* position of this answer among all */
} asked;
static uint32_t answered;

static void work(void *user, uv_work_t *item, uv_work_cb run, uv_after_work_cb done)
{
	fake *f = user;
	assert_true(f->count < WORK_MAX);
	f->items[f->count++] = (work_item){item, run, done};
}

static void over(void *user)
{
	((fake *)user)->over++;
}

static bool find(void *user, hob_str full, bool wanted, srv_derive_asset *out)
{
	(void)user, (void)full, (void)wanted, (void)out;
	return false;
}

static bool is_busy(void *user)
{
	(void)user;
	return false;
}

static int begin(void **state)
{
	hob_error err;
	fake *f = calloc(1, sizeof *f);
	folder_make(&f->folder);
	assert_true(srv_store_open(folder_at(&f->folder, "cache"), NULL, &f->store, NULL, &err));
	f->events = srv_events_new("epoch", 1, 128);
	f->publish.store = f->store;
	f->publish.events = f->events;
	f->derive = srv_derive_new(&(srv_derive_host){.user = f,
												  .store = f->store,
												  .publish = &f->publish,
												  .closing = &f->closing,
												  .most_bytes = 1 << 20,
												  .find = find,
												  .is_busy = is_busy,
												  .work = work,
												  .over = over});
	answered = 0;
	*state = f;
	return f->derive ? 0 : -1;
}

static int end(void **state)
{
	fake *f = *state;
	srv_derive_free(f->derive);
	srv_publish_release(&f->publish);
	srv_events_free(f->events);
	srv_store_close(f->store);
	folder_remove(&f->folder);
	free(f);
	return 0;
}

/* Runs the oldest work. */
static void run_one(fake *f)
{
	assert_true(f->count > 0);
	work_item item = f->items[0];
	memmove(f->items, f->items + 1, --f->count * sizeof *f->items);
	item.run(item.work);
	item.done(item.work, 0);
}

static void answer(srv_control *control, int status, hob_str body)
{
	(void)body;
	asked *a = control->user;
	a->status = status;
	a->answers++;
	a->turn = ++answered;
}

static hob_sha256 put_blob(fake *f, char letter)
{
	char bytes[4096];
	hob_sha256 digest;
	hob_error err;
	memset(bytes, letter, sizeof bytes);
	assert_true(srv_blob_put(f->store, (hob_bytes){(const uint8_t *)bytes, sizeof bytes}, &digest, &err));
	return digest;
}

static void ask(fake *f, asked *a, char letter, uint64_t client)
{
	*a = (asked){.control = {.kind = SRV_CONTROL_DERIVE, .number = SRV_DERIVED_ZSTD, .client = client}};
	a->control.digest = put_blob(f, letter);
	a->control.user = a;
	a->control.answer = answer;
	assert_true(srv_derive_take(f->derive, &a->control));
}

static void is_made_once_for_all_who_ask(void **state)
{
	fake *f = *state;
	asked first, second, later;
	ask(f, &first, 'x', 1);
	ask(f, &second, 'x', 2);
	assert_int_equal(f->count, 1);
	assert_int_equal(first.answers, 0);
	run_one(f);
	assert_int_equal(first.status, 200);
	assert_int_equal(second.status, 200);
	ask(f, &later, 'x', 3); /* already in the store: answered at once */
	assert_int_equal(later.status, 200);
	assert_int_equal(f->count, 0);
	assert_int_equal(f->over, 1);
	assert_int_equal(srv_derive_count(f->derive)->derived[SRV_DERIVED_ZSTD][SRV_DERIVE_MADE], 1);
}

static void clients_take_turns(void **state)
{
	fake *f = *state;
	asked greedy[5], modest, nobody;
	for (int i = 0; i < 5; i++)
		ask(f, &greedy[i], (char)('a' + i), 1);
	ask(f, &nobody, 'n', 0);
	ask(f, &modest, 'm', 2);
	assert_int_equal(f->count, 2); /* limit of concurrent work */
	while (f->count > 0)
		run_one(f);
	assert_true(modest.turn <= 4); /* after the two that ran, and at most one more */
	assert_int_equal(nobody.turn, 7);
	for (int i = 0; i < 5; i++)
		assert_int_equal(greedy[i].answers, 1);
}

static void what_nobody_waits_for_is_dropped(void **state)
{
	fake *f = *state;
	asked a[4];
	srv_control left = {.kind = SRV_CONTROL_ABANDONED, .answer = answer, .user = &(asked){.status = 0}};
	for (int i = 0; i < 4; i++)
		ask(f, &a[i], (char)('a' + i), (uint64_t)i + 1);
	a[1].control.abandoned = a[3].control.abandoned = true; /* one runs, one waits */
	assert_true(srv_derive_take(f->derive, &left));
	assert_int_equal(a[3].status, 503);
	while (f->count > 0)
		run_one(f);
	assert_int_equal(a[0].status, 200);
	assert_int_equal(a[1].status, 503);
	assert_int_equal(a[2].status, 200);
	assert_int_equal(srv_derive_count(f->derive)->derived[SRV_DERIVED_ZSTD][SRV_DERIVE_CANCELLED], 2);
	for (int i = 0; i < 4; i++)
		assert_int_equal(a[i].answers, 1);
}

static void closing_answers_everybody_once(void **state)
{
	fake *f = *state;
	asked a[4];
	for (int i = 0; i < 4; i++)
		ask(f, &a[i], (char)('a' + i), 1);
	f->closing = true;
	while (f->count > 0)
		run_one(f);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(a[i].status, 503);
		assert_int_equal(a[i].answers, 1);
	}
	assert_int_equal(f->over, 2);
}

static void unknown_assets_and_other_kinds(void **state)
{
	fake *f = *state;
	asked a = {.control = {.kind = SRV_CONTROL_CLASSIC, .answer = answer}};
	a.control.user = &a;
	assert_true(srv_derive_take(f->derive, &a.control));
	assert_int_equal(a.status, 404);
	a.control.kind = SRV_CONTROL_SYNC;
	assert_false(srv_derive_take(f->derive, &a.control));
	assert_int_equal(a.answers, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(is_made_once_for_all_who_ask, begin, end),
		cmocka_unit_test_setup_teardown(clients_take_turns, begin, end),
		cmocka_unit_test_setup_teardown(what_nobody_waits_for_is_dropped, begin, end),
		cmocka_unit_test_setup_teardown(closing_answers_everybody_once, begin, end),
		cmocka_unit_test_setup_teardown(unknown_assets_and_other_kinds, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
