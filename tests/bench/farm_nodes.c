/* Nodes of a farm without daemons: the requests of server/upstream to a database and a blob store, by the
 * same code (server/farm), with simulated cooks. See farm.sh.
 *
 *   farm_nodes METADATA BLOBS NODES SECONDS LOOKUPS COOK_MS
 *
 * Connects NODES, lets them send heartbeats for SECONDS, then changes a texture that LOOKUPS models use: each
 * node asks for all of them, claims uncooked ones, cooks, gives, is notified of the rest and fetches it.
 * Prints a line per phase; `begin` and `end` lines mark when to inspect the database. */
#include "server/farm/farm.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 4, LOOKUPS_MAX = 64, BLOB = 256 << 10, LOOK_MS = 5000, BEAT_MS = 10000, LISTEN_MS = 500 };

typedef struct node {
	srv_farm *farm;
	void *blobs;
	pthread_t thread;
	unsigned chance, backoff_ms;
	bool done[LOOKUPS_MAX];
	double parked[LOOKUPS_MAX]; /* time of the next request */
	double beat_at, finished_at;
} node;

static struct {
	uint32_t nodes, lookups, cook_ms;
	atomic_uint connected, finished, stop;
	atomic_ulong statements, failures, cooks, fetched;
	atomic_bool changed;
	double changed_at;
	hob_sha256 lookup[LOOKUPS_MAX], blob;
	int blob_fd;
} all;

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void rest(double ms)
{
	struct timespec time = {(time_t)(ms / 1e3), (long)((long)(ms * 1e3) % 1000000 * 1000)};
	nanosleep(&time, NULL);
}

/* A node whose call fails retries as server/upstream does: after a second, later up to a minute, plus a
 * random quarter. */
static bool said(node *n, srv_farm_end end)
{
	all.statements++;
	if (end == SRV_FARM_OK || end == SRV_FARM_NONE) {
		n->backoff_ms = 0;
		return true;
	}
	all.failures++;
	n->backoff_ms = n->backoff_ms == 0 ? 1000 : n->backoff_ms < 30000 ? n->backoff_ms * 2 : 60000;
	n->chance = n->chance * 1103515245u + 12345u;
	rest(n->backoff_ms + (n->chance >> 16) % (n->backoff_ms / 4));
	return false;
}

static void on_lost(void *user, const hob_sha256 *lookup)
{
	(void)user;
	(void)lookup;
}

static void on_share(void *user, uint32_t nodes, uint32_t place)
{
	(void)user;
	(void)nodes;
	(void)place;
}

static void beat(node *n)
{
	srv_farm_why why;
	srv_farm_told told = {on_lost, on_share, NULL};
	if (now_ms() < n->beat_at)
		return;
	if (said(n, srv_farm_heartbeat(n->farm, NULL, 0, "cook", "{\"leases\":0,\"outbox\":0}", 0, &told, &why)))
		n->beat_at = now_ms() + BEAT_MS;
}

static void on_heard(void *user, const hob_sha256 *lookup)
{
	node *n = user;
	for (uint32_t i = 0; i < all.lookups; i++)
		if (hob_sha256_equal(lookup, &all.lookup[i]))
			n->parked[i] = 0;
}

static bool drop_bytes(void *user, const void *data, size_t size)
{
	(void)user;
	(void)data;
	(void)size;
	return true;
}

static void fetch(node *n, uint32_t which)
{
	hob_buf record = {0};
	hob_sha256 key = all.lookup[which];
	char name[SRV_FARM_BLOB_NAME];
	srv_farm_why why;
	key.bytes[0] ^= 1;
	bool found = said(n, srv_farm_find(n->farm, &all.lookup[which], 1, &record, &why)) && record.size > 0;
	hob_buf_release(&record);
	srv_farm_blob_name(&all.blob, name);
	if (!found || srv_farm_blobs_of(n->farm)->get(n->blobs, name, drop_bytes, NULL, &why) != SRV_FARM_OK)
		return;
	char author[SRV_FARM_NAME];
	n->done[which] = said(n, srv_farm_used(n->farm, &key, true, author, &why));
	all.fetched += n->done[which];
}

static void cook(node *n, uint32_t which)
{
	srv_farm_result result = {
		.key = all.lookup[which], .lookup = all.lookup[which], .bytes = BLOB, .cook_ms = all.cook_ms};
	srv_farm_taken taken;
	srv_farm_why why;
	hob_buf record = {0};
	char key[HOB_SHA256_TEXT + 1], lookup[HOB_SHA256_TEXT + 1], name[SRV_FARM_BLOB_NAME],
		blob[HOB_SHA256_TEXT + 1];
	result.key.bytes[0] ^= 1;
	rest(all.cook_ms);
	hob_sha256_text(&result.key, key);
	hob_sha256_text(&result.lookup, lookup);
	hob_sha256_text(&all.blob, blob);
	srv_farm_blob_name(&all.blob, name);
	hob_buf_printf(&record, "{\"hob_result\":1,\"key\":\"%s\",\"lookup\":\"%s\",\"rest\":\"%1200s\"}\n", key,
				   lookup, "");
	result.record = hob_buf_str(&record);
	if (srv_farm_blobs_of(n->farm)->put(n->blobs, name, all.blob_fd, BLOB, blob, &why) == SRV_FARM_OK)
		n->done[which] = said(n, srv_farm_give(n->farm, &result, &taken, &why));
	all.cooks += n->done[which];
	hob_buf_release(&record);
}

/* Chooses cooks for two workers, at random among those that no other node is known to cook. */
static uint32_t choose(node *n, srv_farm_claim claims[AT_ONCE], uint32_t which[AT_ONCE])
{
	uint32_t count = 0;
	n->chance = n->chance * 1103515245u + 12345u;
	for (uint32_t i = 0; i < all.lookups && count < AT_ONCE; i++) {
		uint32_t at = (i + (n->chance >> 16)) % all.lookups;
		if (n->done[at] || n->parked[at] > now_ms())
			continue;
		claims[count] = (srv_farm_claim){.lookup = all.lookup[at], .what = "art/props/barrel.glb"};
		which[count++] = at;
	}
	return count;
}

static void work(node *n)
{
	srv_farm_claim claims[AT_ONCE];
	uint32_t which[AT_ONCE];
	srv_farm_why why;
	uint32_t count = choose(n, claims, which);
	if (count == 0) {
		(void)srv_farm_listen(n->farm, LISTEN_MS, on_heard, n, &why);
		return;
	}
	if (!said(n, srv_farm_ask_claims(n->farm, claims, count, &why)))
		return;
	for (uint32_t i = 0; i < count; i++)
		if (claims[i].verdict == SRV_FARM_MINE)
			cook(n, which[i]);
		else if (claims[i].verdict == SRV_FARM_AGAIN)
			fetch(n, which[i]);
		else
			n->parked[which[i]] = now_ms() + LOOK_MS;
}

static bool is_over(const node *n)
{
	for (uint32_t i = 0; i < all.lookups; i++)
		if (!n->done[i])
			return false;
	return true;
}

/* Sends every statement once, as a machine in use has: a PostgreSQL session's first of each kind costs ten
 * times as much. */
static bool has_worked(node *n)
{
	hob_sha256 own = hob_sha256_of((hob_bytes){(const uint8_t *)&n, sizeof n});
	srv_farm_claim claim = {.lookup = own, .what = "art/props/own.glb"};
	hob_buf records = {0};
	char author[SRV_FARM_NAME];
	srv_farm_why why;
	bool done = said(n, srv_farm_find(n->farm, &own, 1, &records, &why)) &&
				said(n, srv_farm_ask_claims(n->farm, &claim, 1, &why)) &&
				said(n, srv_farm_leave(n->farm, &own, 1, &why)) &&
				said(n, srv_farm_used(n->farm, &own, true, author, &why));
	hob_buf_release(&records);
	return done;
}

static void *live(void *user)
{
	node *n = user;
	srv_farm_why why;
	hob_buf records = {0};
	while (!said(n, srv_farm_probe(n->farm, &why)) || !has_worked(n) ||
		   !said(n, srv_farm_listen(n->farm, 0, on_heard, n, &why)))
		if (all.stop)
			return NULL;
	n->beat_at = now_ms() + (double)(n->chance % BEAT_MS);
	all.connected++;
	for (; !all.stop && !all.changed; beat(n))
		(void)srv_farm_listen(n->farm, 100, on_heard, n, &why);
	while (!all.stop && !said(n, srv_farm_find(n->farm, all.lookup, all.lookups, &records, &why)))
		;
	hob_buf_release(&records);
	while (!all.stop && !is_over(n)) {
		work(n);
		beat(n);
	}
	n->finished_at = now_ms();
	all.finished++;
	for (; !all.stop; beat(n))
		(void)srv_farm_listen(n->farm, LISTEN_MS, on_heard, n, &why);
	return NULL;
}

static void phase(const char *name, bool begins)
{
	printf("%s %s %lu %lu\n", begins ? "begin" : "end", name, (unsigned long)all.statements,
		   (unsigned long)all.failures);
	fflush(stdout);
	getchar(); /* the database has been inspected */
}

static int by_time(const void *a, const void *b)
{
	double x = ((const node *)a)->finished_at, y = ((const node *)b)->finished_at;
	return (x > y) - (x < y);
}

static void open_nodes(node *nodes, const char *metadata, const char *blobs)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 512 << 10);
	for (uint32_t i = 0; i < all.nodes; i++) {
		char name[32];
		hob_error error;
		srv_farm_why why = {""};
		snprintf(name, sizeof name, "node-%u", i);
		srv_farm_options options = {.metadata = metadata, .blobs = blobs, .node = name};
		nodes[i].chance = i * 2654435761u;
		if (!srv_farm_open(&options, name, &nodes[i].farm, &error) ||
			!(nodes[i].blobs = srv_farm_blobs_open(nodes[i].farm, &why)) ||
			pthread_create(&nodes[i].thread, &small, live, &nodes[i]) != 0) {
			fprintf(stderr, "farm_nodes: node %u: %s%s\n", i, error.context, why.text);
			exit(2);
		}
	}
}

static void make_blob(void)
{
	static char bytes[BLOB];
	char path[] = "/tmp/hob-farm-blob-XXXXXX";
	all.blob_fd = mkstemp(path);
	unlink(path);
	if (all.blob_fd < 0 || write(all.blob_fd, bytes, BLOB) != BLOB)
		exit(2);
	all.blob = hob_sha256_of((hob_bytes){(const uint8_t *)bytes, BLOB});
	for (uint32_t i = 0; i < all.lookups; i++)
		all.lookup[i] = hob_sha256_of((hob_bytes){(const uint8_t *)&i, sizeof i});
}

int main(int argc, char **argv)
{
	if (argc != 7)
		return 2;
	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	all.nodes = (uint32_t)atoi(argv[3]);
	all.lookups = (uint32_t)atoi(argv[5]);
	all.cook_ms = (uint32_t)atoi(argv[6]);
	node *nodes = calloc(all.nodes, sizeof *nodes);
	if (!nodes || all.lookups > LOOKUPS_MAX)
		return 2;
	make_blob();
	phase("connect", true);
	double began = now_ms();
	open_nodes(nodes, argv[1], argv[2]);
	while (all.connected < all.nodes)
		rest(10);
	printf("connected %.0f\n", now_ms() - began);
	phase("connect", false);
	phase("idle", true);
	rest(atof(argv[4]) * 1e3);
	phase("idle", false);
	phase("change", true);
	all.changed_at = now_ms();
	all.changed = true;
	while (all.finished < all.nodes && now_ms() - all.changed_at < 120e3)
		rest(10);
	printf("finished %u\n", all.finished);
	phase("change", false);
	all.stop = 1;
	for (uint32_t i = 0; i < all.nodes; i++)
		pthread_join(nodes[i].thread, NULL);
	qsort(nodes, all.nodes, sizeof *nodes, by_time);
	printf("median %.0f last %.0f cooks %lu fetched %lu\n", nodes[all.nodes / 2].finished_at - all.changed_at,
		   nodes[all.nodes - 1].finished_at - all.changed_at, (unsigned long)all.cooks,
		   (unsigned long)all.fetched);
	for (uint32_t i = 0; i < all.nodes; i++) {
		srv_farm_blobs_of(nodes[i].farm)->close(nodes[i].blobs);
		srv_farm_close(nodes[i].farm);
	}
	return 0;
}
