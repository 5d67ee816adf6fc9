/* Rows and notifications of a farm's database with any contents.
 *
 * Links: srv_farm
 * Run:   fuzz_farm tests/fuzz/corpus/farm
 *
 * Input: a byte that selects the question, then the rows of its statements as NUL-terminated values. "\1" is
 * null; "\2" ends the rows of a statement. */
#include "server/farm/farm.c"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COLUMNS = 9, ITEMS = 8 };

static const uint8_t *rest;
static size_t rest_size;

/* The next value; false at the end of the rows. */
static bool take_value(const char **value, size_t *length)
{
	const uint8_t *end = rest_size > 0 ? memchr(rest, 0, rest_size) : NULL;
	if (!end)
		return false;
	*value = (const char *)rest;
	*length = (size_t)(end - rest);
	rest += *length + 1;
	rest_size -= *length + 1;
	if (strcmp(*value, "\2") == 0)
		return false;
	if (strcmp(*value, "\1") == 0)
		*value = NULL;
	return true;
}

static srv_farm_end fake_run(void *handle, const char *sql, const char *const *params, int count,
							 int deadline_ms, srv_farm_row *each, void *user, srv_farm_why *why)
{
	(void)handle, (void)deadline_ms;
	assert(sql && why);
	for (int i = 0; i < count; i++)
		assert(!params[i] || strlen(params[i]) < 1 << 20);
	for (int row = 0; each && row < 64; row++) {
		const char *values[COLUMNS] = {NULL};
		size_t sizes[COLUMNS] = {0};
		int column = 0;
		while (column < COLUMNS && take_value(&values[column], &sizes[column]))
			column++;
		if (column < COLUMNS)
			break;
		each(user, values, sizes);
	}
	return SRV_FARM_OK;
}

static srv_farm_end fake_wait(void *handle, int ms, void (*heard)(void *user, const char *text), void *user,
							  srv_farm_why *why)
{
	const char *text;
	size_t length;
	(void)handle, (void)ms, (void)why;
	while (take_value(&text, &length))
		if (text)
			heard(user, text);
	return SRV_FARM_OK;
}

static uint64_t fake_sessions(const void *handle)
{
	(void)handle;
	return 1;
}

static const srv_farm_sql sql = {.run = fake_run, .wait = fake_wait, .sessions = fake_sessions};
static const srv_farm_module module = {.library = "", .sql = &sql};

static void on_lost_lease(void *user, const hob_sha256 *lookup)
{
	(void)user;
	assert(lookup);
}

static void on_share(void *user, uint32_t nodes, uint32_t place)
{
	(void)user, (void)nodes, (void)place;
}

static void ask_one(srv_farm *f, unsigned which)
{
	srv_farm_why why = {""};
	srv_farm_claim asked[ITEMS] = {{.what = "art/\"duck\".glb"}};
	hob_sha256 digests[ITEMS] = {{{1}}};
	hob_buf out = {0};
	bool named[ITEMS], made;
	char author[SRV_FARM_NAME];
	srv_farm_taken taken;
	srv_farm_told told = {on_lost_lease, on_share, NULL};
	uint64_t number = 0;
	for (int i = 1; i < ITEMS; i++)
		asked[i].what = "x";
	switch (which % 10) {
	case 0:
		(void)srv_farm_find(f, digests, ITEMS, &out, &why);
		break;
	case 1:
		(void)srv_farm_ask_claims(f, asked, ITEMS, &why);
		for (int i = 0; i < ITEMS; i++)
			assert(asked[i].verdict <= SRV_FARM_HELD);
		break;
	case 2:
		(void)srv_farm_heartbeat(f, digests, ITEMS, "cook", "{}", 0, &told, &why);
		break;
	case 3:
		(void)srv_farm_machines(f, &out, &why);
		assert(out.failed || (out.size > 1 && out.data[out.size - 1] == ']'));
		break;
	case 4:
		(void)srv_farm_give(f, &(srv_farm_result){.record = HOB_STR("{}")}, &taken, &why);
		assert(taken <= SRV_FARM_LATE);
		break;
	case 5:
		(void)srv_farm_used(f, digests, true, author, &why);
		assert(memchr(author, 0, sizeof author));
		break;
	case 6:
		if (srv_farm_next_offer(f, &number, digests, &why) == SRV_FARM_NONE)
			break;
		break;
	case 7:
		(void)srv_farm_listen(f, 1, (void (*)(void *, const hob_sha256 *))on_lost_lease, NULL, &why);
		break;
	case 8:
		(void)srv_farm_names_have(f, digests, ITEMS, named, &why);
		(void)srv_farm_names_make(f, &number, &why);
		break;
	default:
		(void)srv_farm_init(f, &made, &why);
	}
	assert(memchr(why.text, 0, sizeof why.text));
	hob_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char owner[] = "owner";
	srv_farm f = {.node = owner, .lease_s = 30, .sql_module = &module, .lock = PTHREAD_MUTEX_INITIALIZER};
	if (size < 1)
		return 0;
	snprintf(f.owner, sizeof f.owner, "owner");
	/* The schema counts as checked, unless the input's top bit asks for that check to be fuzzed. */
	f.checked = data[0] & 128 ? 0 : 1;
	rest = data + 1;
	rest_size = size - 1;
	ask_one(&f, data[0] & 127);
	return 0;
}
