/* Overhead of a job around its cook, and of storing its bytes compared with a bare write. See jobs.sh. */
#include "server/store/store.h"
#include "server/worker/pool.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { JOBS = 2000, WARM = 100, WRITES = 200, BLOB = 1 << 20 };

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double quantile(double *values, size_t count, double q)
{
	qsort(values, count, sizeof *values, by_value);
	return values[(size_t)((double)(count - 1) * q)];
}

static void must(bool ok, const hob_error *err, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "jobs: %s: %s\n", what, err ? err->context : "failed");
	exit(2);
}

/* ---- a job's round trip to a worker */

typedef struct run {
	uv_loop_t loop;
	srv_pool *pool;
	int root;
	uint32_t done;
	double began, over[JOBS], cook[JOBS];
} run;

static void start(run *r)
{
	srv_pool_job job = {.path = HOB_STR("one.obj"), .profile = HOB_PROFILE_FINAL, .threads = 1};
	hob_settings_init(&job.settings);
	r->began = now_ms();
	must(srv_pool_start(r->pool, 1, (void *[]){r}, &job), NULL, "no idle worker");
}

static void on_ready(void *user)
{
	(void)user;
}

static void on_closed(void *user)
{
	(void)user;
}

static void on_idle(void *user)
{
	run *r = user;
	if (r->done < JOBS)
		start(r);
	else
		srv_pool_close(r->pool, on_closed, r);
}

static void on_done(void *user, void *job, srv_outcome *outcome)
{
	(void)job;
	run *r = user;
	must(outcome->ok, &outcome->error, "the cook");
	r->cook[r->done] = (double)outcome->cook_ns / 1e6;
	r->over[r->done] = now_ms() - r->began - r->cook[r->done];
	r->done++;
	srv_outcome_free(outcome);
}

static void on_progress(void *user, void *job, hob_str stage, float fraction)
{
	(void)user, (void)job, (void)stage, (void)fraction;
}

static int on_part_get(void *user, const uint8_t key[32])
{
	(void)user, (void)key;
	return -1;
}

static void on_part_put(void *user, const uint8_t key[32], hob_bytes bytes)
{
	(void)user, (void)key, (void)bytes;
}

static void on_degraded(void *user, const hob_error *why)
{
	(void)user;
	must(false, why, "workers");
}

static void measure_jobs(const char *worker, const char *folder)
{
	static run r;
	char path[512];
	hob_error err;
	snprintf(path, sizeof path, "%s/one.obj", folder);
	FILE *model = fopen(path, "w");
	must(model, NULL, path);
	fputs("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", model);
	fclose(model);
	r.root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uv_loop_init(&r.loop);
	srv_pool_options options = {.worker_path = worker, .workers = 1, .root_fds = &r.root, .root_count = 1};
	srv_pool_callbacks callbacks = {&r,			 on_ready,	  on_idle,	   on_done,
									on_progress, on_part_get, on_part_put, on_degraded};
	must(srv_pool_new(&r.loop, &options, &callbacks, &r.pool, &err), &err, "the pool");
	uv_run(&r.loop, UV_RUN_DEFAULT);
	size_t count = JOBS - WARM;
	double p90 = quantile(r.over + WARM, count, 0.9), median = quantile(r.over + WARM, count, 0.5);
	printf("a job beside its cook, one triangle, %zu jobs: median %.3f ms, p90 %.3f ms (the cook by the "
		   "worker's clock %.3f ms)\n",
		   count, median, p90, quantile(r.cook + WARM, count, 0.5));
}

/* ---- storing bytes */

static void write_bare(int folder, const uint8_t *bytes, uint32_t number, bool sync)
{
	char self[64], name[32];
	int fd = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0444);
	must(fd >= 0 && write(fd, bytes, BLOB) == BLOB, NULL, "a bare write");
	if (sync)
		fdatasync(fd);
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	snprintf(name, sizeof name, "%s%u", sync ? "s" : "b", number);
	must(linkat(AT_FDCWD, self, folder, name, AT_SYMLINK_FOLLOW) == 0, NULL, "a name");
	close(fd);
}

static void measure_writes(const char *folder)
{
	static double bare[WRITES], synced[WRITES], hashed[WRITES], stored[WRITES];
	char path[512];
	hob_error err;
	srv_store *store;
	uint8_t *bytes = malloc(BLOB);
	must(bytes, NULL, "memory");
	for (size_t i = 0; i < BLOB; i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 24);
	snprintf(path, sizeof path, "%s/cache", folder);
	must(srv_store_open(path, NULL, &store, NULL, &err), &err, "the cache");
	snprintf(path, sizeof path, "%s/bare", folder);
	mkdir(path, 0777);
	int bare_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* A used cache has its 256 folders. */
	for (uint32_t i = 0; i < 3000; i++) {
		hob_sha256 digest;
		must(srv_blob_put(store, (hob_bytes){(const uint8_t *)&i, sizeof i}, &digest, &err), &err, "a blob");
	}
	for (uint32_t i = 0; i < WRITES; i++) {
		hob_sha256 digest;
		hob_store_u32(bytes, i);
		double t0 = now_ms();
		write_bare(bare_fd, bytes, i, false);
		double t1 = now_ms();
		digest = hob_sha256_of((hob_bytes){bytes, BLOB});
		double t2 = now_ms();
		must(srv_blob_put(store, (hob_bytes){bytes, BLOB}, &digest, &err), &err, "a blob");
		double t3 = now_ms();
		write_bare(bare_fd, bytes, i, true);
		bare[i] = t1 - t0;
		hashed[i] = t2 - t1;
		stored[i] = t3 - t2;
		synced[i] = now_ms() - t3;
	}
	srv_store_close(store);
	double b = quantile(bare, WRITES, 0.5), s = quantile(synced, WRITES, 0.5),
		   h = quantile(hashed, WRITES, 0.5), p = quantile(stored, WRITES, 0.5);
	printf("a blob of 1 MiB, medians of %d: stored %.3f ms; bare write %.3f, bare write with fdatasync %.3f, "
		   "its SHA-256 %.3f\n",
		   WRITES, p, b, s, h);
	printf("  stored is %.2f of a bare write, %.2f of one with fdatasync; without its digest %.2f of a bare "
		   "write\n",
		   p / b, p / s, (p - h) / b);
}

int main(int argc, char **argv)
{
	must(argc == 3, NULL, "jobs_bench WORKER FOLDER");
	measure_jobs(argv[1], argv[2]);
	measure_writes(argv[2]);
	return 0;
}
