#include "cook_run.h"
#include "cook_write.h"
#include "query.h"

#include "../fs/beneath.h"
#include "../fs/fd.h"
#include "../fs/remove_tree.h"
#include "../fs/tar.h"
#include "../fs/transfer.h"
#include "../log/log.h"
#include "../worker/check.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- downloading a tar file from which the cook can be repeated */

/* Fetches the bundle of an asset or a job; `out`: NULL means NAME.tar. */
static int fetch_bundle(const char *url, const char *what, const char *out)
{
	bool is_job = what[0] && strspn(what, "0123456789") == strlen(what);
	bool to_stdout = out && strcmp(out, "-") == 0;
	if (to_stdout && isatty(1))
		return srv_cli_usage_error(&srv_cli_bundle, "a tar is not for a terminal: use -o FILE, or a pipe");
	char id[32], target[96], name[512], size[32];
	int code = EXIT_GOOD;
	uint64_t total = 0;
	snprintf(id, sizeof id, "%.24s", what);
	if (!is_job && !srv_cli_find_id("hob bundle", url, what, id, &code))
		return code;
	snprintf(target, sizeof target, "/api/v1/%s/%s/bundle", is_job ? "jobs" : "assets", id);
	snprintf(name, sizeof name, "%s%.255s.tar", is_job ? "job-" : "", hob_path_name(hob_str_of(what)).data);
	cli_response response;
	hob_error error = {0};
	code = srv_cli_fetch("hob bundle", url, target, &response);
	if (code != EXIT_GOOD)
		return code;
	const char *file = to_stdout ? "/dev/stdout" : out ? out : name;
	if (!srv_cook_write_file(file, hob_buf_bytes(&response.body), &total, &error)) {
		code = srv_cli_fail("hob bundle", &error, EXIT_USAGE);
	} else if (!to_stdout) {
		printf("%s  %s; 'hob bundle replay %s' repeats the cook\n", file,
			   srv_text_bytes(response.body.size, size), file);
	}
	srv_cli_response_release(&response);
	return code;
}

/* hob bundle replay and hob verify --cook: unpack a bundle into a temporary folder, cook it there in the
 * sandbox, and compare the result with its record. A bundle is not trusted: names that leave the folder are
 * refused, and only regular files are made. */

enum { JSON_MAX = 64 << 20, FILES_MAX = 8192 };
static const uint64_t bytes_max = 8ull << 30;

typedef struct bundle {
	char folder[300];
	int fd; /* the folder, opened */
	hob_buf json;
	uint64_t bytes;
	uint32_t files;
} bundle;

/* ---- unpacking */

static bool unpack_file(bundle *b, srv_tar_reader *reader, const char *path, hob_error *err)
{
	enum { CHUNK = 256 << 10 };
	/* Only a path that fits PATH_MAX can be removed again. */
	if (strlen(b->folder) + strlen(path) + 2 > PATH_MAX)
		return hob_fail(err, LIMIT, "'%.100s...' of the bundle lies too deep", path);
	srv_own_fd file = srv_create_beneath(b->fd, path);
	if (file < 0)
		return hob_fail(err, IO, "cannot create '%.200s' of the bundle: %s", path, strerror(errno));
	hob_own uint8_t *bytes = malloc(CHUNK);
	bool ok = bytes || hob_fail(err, MEMORY, "no memory left to unpack");
	for (size_t got = 1; ok && got > 0;)
		ok = srv_tar_read(reader, bytes, CHUNK, &got, err) &&
			 (srv_write_all(file, bytes, got) ||
			  hob_fail(err, IO, "'%.200s' cannot be written: %s", path, strerror(errno)));
	return ok;
}

static bool unpack_json(bundle *b, srv_tar_reader *reader, uint64_t size, hob_error *err)
{
	if (size > JSON_MAX || b->json.size > 0)
		return hob_fail(err, CORRUPT, "bundle.json is there twice or has %llu bytes",
						(unsigned long long)size);
	uint8_t *room = hob_buf_grow(&b->json, (size_t)size + 1);
	if (!room)
		return hob_fail(err, MEMORY, "no memory left for bundle.json");
	size_t at = 0;
	for (size_t got = 1; got > 0; at += got)
		if (!srv_tar_read(reader, room + at, (size_t)size - at, &got, err))
			return false;
	room[at] = 0;
	return true;
}

static bool unpack(bundle *b, const char *path, hob_error *err)
{
	static const char below[] = "files/";
	srv_tar_reader reader = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	if (reader.fd < 0)
		return hob_fail(err, USAGE, "'%s' cannot be opened: %s", path, strerror(errno));
	uint64_t size;
	bool ok = true;
	srv_tar_step step = SRV_TAR_FILE;
	while (ok && (step = srv_tar_next(&reader, &size, err)) == SRV_TAR_FILE) {
		const char *name = reader.name;
		bool is_file = strncmp(name, below, sizeof below - 1) == 0;
		b->bytes += size;
		if (!srv_tar_name_is_safe(hob_str_of(name)))
			ok = hob_fail(err, OUTSIDE,
						  "the bundle names '%.200s', which leaves its folder: nothing was cooked", name);
		else if (b->bytes > bytes_max || b->files > FILES_MAX)
			ok = hob_fail(err, LIMIT, "the bundle holds more than %d files or %llu bytes", FILES_MAX,
						  (unsigned long long)bytes_max);
		else if (is_file && ++b->files)
			ok = unpack_file(b, &reader, name + sizeof below - 1, err);
		else if (strcmp(name, "bundle.json") == 0)
			ok = unpack_json(b, &reader, size, err);
	}
	close(reader.fd);
	return ok && step == SRV_TAR_END;
}

static bool make_folder(bundle *b, hob_error *err)
{
	if (!srv_make_temporary("hob-replay", b->folder, err))
		return false;
	b->fd = open(b->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return b->fd >= 0 || hob_fail(err, IO, "'%s' cannot be opened: %s", b->folder, strerror(errno));
}

/* ---- the two results */

/* Plans the bundle's model, and takes its limits for the run. */
static bool read_task(const cJSON *root, cook_plan *plan, cook_run_options *how, hob_error *err)
{
	const cJSON *record = srv_cli_member(root, "record");
	const cJSON *inputs = srv_cli_member(record, "inputs");
	const cJSON *version = srv_cli_member(root, "bundle");
	const cJSON *limits = srv_cli_member(root, "limits");
	const cJSON *timeout = srv_cli_member(limits, "timeout_ms");
	const cJSON *memory = srv_cli_member(limits, "memory_bytes");
	if (!cJSON_IsObject(record) || !cJSON_IsNumber(version) ||
		!srv_tar_name_is_safe(hob_str_of(srv_cli_text(root, "path"))))
		return hob_fail(err, CORRUPT, "this is not a bundle of a cook: bundle.json is missing or incomplete");
	if (version->valueint != 1)
		return hob_fail(err, NEWER, "the bundle was made by a newer Hob (%.40s)", srv_cli_text(root, "hob"));
	if (strcmp(srv_cli_text(inputs, "profile"), "preview") == 0)
		how->profile = HOB_PROFILE_PREVIEW;
	if (cJSON_IsNumber(timeout) && timeout->valuedouble >= 1 && timeout->valuedouble < 1e9)
		how->limits.timeout_ms = (uint32_t)timeout->valuedouble;
	if (cJSON_IsNumber(memory) && memory->valuedouble >= 1 << 20 && memory->valuedouble < 9e15)
		how->limits.memory_limit = (uint64_t)memory->valuedouble;
	cook_entry *entry = srv_cook_plan_add(plan, srv_cli_text(root, "path"), err);
	if (!entry)
		return false;
	hob_own char *settings = cJSON_PrintUnformatted(srv_cli_member(inputs, "settings"));
	hob_settings_init(&entry->settings);
	entry->named = true;
	return !settings ||
		   hob_settings_overlay(&entry->settings, hob_str_of(settings), HOB_STR("bundle.json"), err);
}

/* False for outputs that depend on the run or are made later on request. */
static bool is_compared(const char *name)
{
	return name[0] && strcmp(name, "report") != 0 && strncmp(name, "classic.", 8) != 0;
}

/* Prints a line for each output that differs; returns their number. */
static uint32_t compare_outputs(const cJSON *recorded, const srv_result *now, uint32_t *same)
{
	uint32_t differ = 0;
	const cJSON *output;
	*same = 0;
	for (uint32_t i = 0; i < now->output_count; i++) {
		char name[64], digest[HOB_SHA256_TEXT + 1];
		snprintf(name, sizeof name, "%.*s", HOB_FMT(now->outputs[i].name));
		if (!is_compared(name))
			continue;
		const cJSON *was = srv_cli_find(recorded, "name", name);
		hob_sha256 made = hob_sha256_of(now->outputs[i].bytes);
		hob_sha256_text(&made, digest);
		if (was && strcmp(srv_cli_text(was, "sha256"), digest) == 0) {
			(*same)++;
			continue;
		}
		printf("  differs   %s  %.12s -> %.12s\n", name, was ? srv_cli_text(was, "sha256") : "(none)",
			   digest);
		differ++;
	}
	cJSON_ArrayForEach(output, recorded)
	{
		const char *name = srv_cli_text(output, "name");
		bool found = !is_compared(name) || srv_find_output(now, name).data;
		if (!found)
			printf("  differs   %s is no longer made\n", name);
		differ += !found;
	}
	return differ;
}

static void print_versions(const cJSON *root, hob_str library, const char *sandbox)
{
	const cJSON *inputs = srv_cli_member(srv_cli_member(root, "record"), "inputs");
	if (strcmp(srv_cli_text(root, "hob"), HOB_VERSION) != 0)
		printf("  version   cooked by hob %s, repeated by hob %s\n", srv_cli_text(root, "hob"), HOB_VERSION);
	if (library.len > 0 && !hob_str_equal(library, hob_str_of(srv_cli_text(inputs, "library"))))
		printf("  library   cooked with %s, repeated with %.*s\n", srv_cli_text(inputs, "library"),
			   HOB_FMT(library));
	printf("  sandbox   %s; it was %s\n", sandbox, srv_cli_text(root, "sandbox"));
}

/* Prints how the result differs from the record. EXIT_GOOD: it does not. */
static int compare(const cJSON *root, const srv_result *now, const hob_error *failed)
{
	const cJSON *record = srv_cli_member(root, "record");
	const cJSON *error = srv_cli_member(record, "error");
	const cJSON *outputs = srv_cli_member(record, "outputs");
	bool had_failed = cJSON_IsObject(error);
	uint32_t same = 0;
	if (failed && had_failed) {
		bool equal = strcmp(srv_cli_text(error, "code"), hob_err_name(failed->code)) == 0 &&
					 strcmp(srv_cli_text(error, "message"), failed->context) == 0;
		printf("  %s   %s (%s)\n", equal ? "failed " : "differs", failed->context,
			   hob_err_name(failed->code));
		if (!equal)
			printf("  before    %s (%s)\n", srv_cli_text(error, "message"), srv_cli_text(error, "code"));
		printf("%s\n", equal ? "the same: it fails with the same error" : "not the same: it fails otherwise");
		return equal ? EXIT_GOOD : EXIT_ASSETS_FAILED;
	}
	if (failed || had_failed) {
		printf("  %s    %s\n", failed ? "failed" : "before",
			   failed ? failed->context : srv_cli_text(error, "message"));
		printf("not the same: %s\n",
			   failed ? "it was cooked well, and fails here" : "it failed, and is cooked well here");
		return EXIT_ASSETS_FAILED;
	}
	uint32_t differ = compare_outputs(outputs, now, &same);
	if (differ == 0)
		printf("the same: all %u outputs have the same bytes\n", same);
	else
		printf("not the same: %u output%s differ%s, %u do%s not\n", differ, HOB_PLURAL(differ),
			   differ == 1 ? "s" : "", same, same == 1 ? "es" : "");
	return differ == 0 ? EXIT_GOOD : EXIT_ASSETS_FAILED;
}

typedef struct replaying {
	const cJSON *root;
	int code;
	hob_error error;
} replaying;

static void see(void *user, srv_pool *pool, const cook_entry *entry, const srv_outcome *outcome,
				const hob_error *error)
{
	(void)entry;
	replaying *r = user;
	char time[32];
	const char *path = srv_cli_text(r->root, "path");
	const srv_pool_importer *importer = srv_pool_importer_for(pool, hob_str_of(path));
	if (!importer) {
		(void)hob_fail(&r->error, UNSUPPORTED, "this hob reads no files named like '%.200s'", path);
	} else if (!outcome) {
		r->error = *error;
	} else {
		printf("%s: cooked again in %s\n", srv_cli_text(r->root, "asset"),
			   srv_text_duration(outcome->cook_ns, time));
		print_versions(r->root, importer->library, srv_pool_sandbox(pool));
		r->code = compare(r->root, &outcome->result, error);
	}
}

static int replay(const bundle *b, srv_sandbox_policy sandbox, hob_error *err)
{
	hob_own_json *root = cJSON_ParseWithLength((const char *)b->json.data,
											   b->json.data ? strlen((const char *)b->json.data) : 0);
	srv_cli_plain_json(root);
	replaying r = {.root = root, .code = EXIT_USAGE};
	cook_plan plan = {.root = b->folder, .root_fd = dup(b->fd)};
	hob_arena_init(&plan.memory, SIZE_MAX);
	cook_run_options how = {.who = "hob bundle",
							.write = {.nothing = true},
							.limits = {.workers = 1, .sandbox = sandbox},
							.quiet = true,
							.wait_s = COOK_WAIT_WRITER_S,
							.see = see,
							.user = &r};
	bool read = read_task(root, &plan, &how, err);
	int code = read ? srv_cook_run(&plan, &how) : EXIT_USAGE;
	srv_cook_plan_release(&plan);
	*err = r.error.code != HOB_ERR_OK ? r.error : *err;
	return code == EXIT_GOOD ? r.code : code;
}

/* A child process does the work that a signal could interrupt, so that the folder is always removed. */
static volatile sig_atomic_t worker, interrupted;

static void pass_on(int number)
{
	interrupted = 1;
	if (worker > 0)
		kill(worker, number);
}

static int unpack_and_replay(bundle *b, const char *file, srv_sandbox_policy sandbox)
{
	hob_error error = {0};
	int code = EXIT_USAGE;
	if (unpack(b, file, &error))
		code = replay(b, sandbox, &error);
	if (error.code != HOB_ERR_OK)
		code = srv_cli_fail("hob bundle", &error,
							error.code == HOB_ERR_NO_WORKER || error.code == HOB_ERR_MEMORY ? EXIT_INTERNAL
																							: EXIT_USAGE);
	return code;
}

/* Cooks the bundle in a child process. `out`: gets its stdout and stderr; -1: it inherits both. */
static int run_child(bundle *b, const char *file, srv_sandbox_policy sandbox, int out)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {0};
	sigset_t held, before;
	sigemptyset(&held);
	for (size_t i = 0; i < HOB_COUNT_OF(signals); i++)
		sigaddset(&held, signals[i]);
	sigprocmask(SIG_BLOCK, &held, &before);
	fflush(stdout);
	worker = fork();
	for (size_t i = 0; i < HOB_COUNT_OF(signals) && worker >= 0; i++) {
		action.sa_handler = worker == 0 ? SIG_DFL : pass_on;
		sigaction(signals[i], &action, NULL);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (worker == 0) {
		if (out >= 0 && (dup2(out, 1) < 0 || dup2(out, 2) < 0))
			_exit(EXIT_INTERNAL);
		int code = unpack_and_replay(b, file, sandbox);
		hob_buf_release(&b->json);
		exit(code);
	}
	int status = 0;
	while (worker > 0 && waitpid(worker, &status, 0) < 0 && errno == EINTR)
		;
	if (worker < 0) {
		fprintf(stderr, "hob bundle: no process could be made: %s\n", strerror(errno));
		return EXIT_INTERNAL;
	}
	worker = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGINT && WTERMSIG(status) != SIGTERM &&
		WTERMSIG(status) != SIGHUP)
		fprintf(stderr, "hob bundle: ended by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_INTERRUPTED;
}

static int replay_file(const char *file, srv_sandbox_policy sandbox, bool keep, int out)
{
	bundle b = {.fd = -1};
	hob_error error = {0};
	int code = make_folder(&b, &error) ? run_child(&b, file, sandbox, out)
									   : srv_cli_fail("hob bundle", &error, EXIT_USAGE);
	fflush(stdout);
	if (keep && b.folder[0])
		dprintf(out < 0 ? 1 : out, "  files     %s\n", b.folder);
	else if (b.folder[0])
		srv_remove_tree(b.folder);
	srv_close(b.fd);
	return code;
}

/* ---- hob verify --cook */

/* Copies what the child wrote to `out`. */
static void print_from(int out, int to)
{
	char bytes[4096];
	fflush(stdout);
	lseek(out, 0, SEEK_SET);
	for (ssize_t got; (got = read(out, bytes, sizeof bytes)) > 0;)
		srv_write_all(to, bytes, (size_t)got);
}

static bool is_the_same_record(const char *url, const cJSON *asset)
{
	int code = EXIT_GOOD;
	char target[64];
	snprintf(target, sizeof target, "/api/v1/assets/%.32s", srv_cli_text(asset, "id"));
	hob_own_json *now = srv_cli_ask_json("hob verify", url, target, false, &code);
	return strcmp(srv_cli_text(now, "record"), srv_cli_text(asset, "record")) == 0;
}

/* Cooks an asset again from its bundle. EXIT_ASSETS_FAILED: other outputs. out: what the child printed. */
static int cook_once_more(const char *url, const cJSON *asset, int out)
{
	char target[64], file[32];
	cli_response response;
	snprintf(target, sizeof target, "/api/v1/assets/%.32s/bundle", srv_cli_text(asset, "id"));
	int code = srv_cli_fetch("hob verify", url, target, &response);
	if (code != EXIT_GOOD)
		return code == EXIT_ASSETS_FAILED ? EXIT_USAGE : code;
	srv_own_fd tar = memfd_create("hob-bundle", MFD_CLOEXEC);
	snprintf(file, sizeof file, "/proc/self/fd/%d", tar);
	if (out < 0 || tar < 0 || ftruncate(out, 0) != 0 || lseek(out, 0, SEEK_SET) != 0 ||
		!srv_write_all(tar, response.body.data, response.body.size)) {
		fprintf(stderr, "hob verify: no memory left for the bundle: %s\n", strerror(errno));
		code = EXIT_INTERNAL;
	} else {
		code = replay_file(file, SRV_SANDBOX_BEST_EFFORT, false, out);
	}
	srv_cli_response_release(&response);
	return code;
}

int srv_cli_verify_cooks(const char *url, bool json)
{
	cli_pages pages = {.who = "hob verify",
					   .url = url,
					   .target = "/api/v1/assets?limit=1000&standing=fresh&fields=id,name,record"};
	int out = memfd_create("hob-replay", MFD_CLOEXEC), code = EXIT_GOOD;
	uint32_t checked = 0, different = 0, unable = 0;
	hob_own_buf names = {0};
	for (const cJSON *asset; code == EXIT_GOOD && !interrupted && (asset = srv_cli_next_item(&pages));) {
		const char *name = srv_cli_text(asset, "name");
		code = cook_once_more(url, asset, out);
		checked += code == EXIT_GOOD;
		if (isatty(2))
			fprintf(stderr, "\r\x1b[K%u cooked once more  %.60s", checked, name);
		if (code == EXIT_ASSETS_FAILED) {
			code = EXIT_GOOD;
			if (!is_the_same_record(url, asset))
				continue; /* the file was saved meanwhile */
			checked++;
			hob_buf_put_str(&names, different++ > 0 ? HOB_STR(",") : (hob_str){0});
			hob_buf_put_json(&names, hob_str_of(name));
			if (!json)
				print_from(out, 1);
		} else if (code == EXIT_USAGE) { /* by this machine: it has no Blender, or the asset is gone */
			code = EXIT_GOOD;
			unable++;
			fprintf(stderr, "%s: not compared\n", name);
			print_from(out, 2);
		} else if (code != EXIT_GOOD && !interrupted) {
			print_from(out, 2);
		}
	}
	if (isatty(2))
		fputs("\r\x1b[K", stderr);
	srv_cli_end_pages(&pages);
	srv_close(out);
	if (json)
		printf("{\"cooked\":%u,\"different\":[%.*s],\"not_compared\":%u}\n", checked,
			   HOB_FMT(hob_buf_str(&names)), unable);
	else
		printf("%u cooked once more, %u with other outputs%s\n", checked, different,
			   different > 0 ? ": do not trust them; 'hob bundle ASSET' makes a report of one" : "");
	code = code != EXIT_GOOD ? code : pages.code;
	return interrupted ? EXIT_INTERRUPTED : code == EXIT_GOOD && different > 0 ? EXIT_ASSETS_FAILED : code;
}

/* ---- the command */

static int replay_as_json(const char *file, srv_sandbox_policy sandbox, bool keep)
{
	int out = memfd_create("hob-replay", MFD_CLOEXEC);
	int code = replay_file(file, sandbox, keep, out);
	off_t size = lseek(out, 0, SEEK_END);
	hob_buf said = {0};
	uint8_t *bytes = size > 0 && lseek(out, 0, SEEK_SET) == 0 ? hob_buf_grow(&said, (size_t)size) : NULL;
	if (code != EXIT_GOOD && code != EXIT_ASSETS_FAILED)
		print_from(out, 2);
	else if (bytes && srv_read_all(out, bytes, (size_t)size))
		srv_cli_print_verdict("same", code == EXIT_GOOD, hob_buf_str(&said));
	hob_buf_release(&said);
	srv_close(out);
	return code;
}

static int run_bundle(int argc, char **argv)
{
	const char *url = srv_cli_default_url(), *out = NULL, *policy = NULL;
	bool keep = false, json = false;
	cli_option options[] = {
		{"--out", 'o', CLI_TEXT, &out, "FILE",
		 "the file to write; - is stdout; missing folders are created (NAME.tar)"},
		{"--keep", 0, CLI_FLAG, &keep, NULL, "replay: keep the folder with the unpacked files"},
		{"--sandbox", 0, CLI_TEXT, &policy, "POLICY", "replay: best-effort, require or off (best-effort)"},
		{"--json", 0, CLI_FLAG, &json, NULL, "replay: the result as JSON"},
		CLI_URL_OPTION(url)};
	int operands = srv_cli_parse(&srv_cli_bundle, options, HOB_COUNT_OF(options), argc, argv);
	bool old = strcmp(argv[0], "replay") == 0;
	bool again = old || (operands > 0 && strcmp(argv[1], "replay") == 0);
	if (old)
		fprintf(stderr, "hob replay: use 'hob bundle replay FILE'\n");
	srv_sandbox_policy sandbox = SRV_SANDBOX_BEST_EFFORT;
	if (policy && !srv_serve_sandbox(policy, &sandbox))
		return srv_cli_usage_error(&srv_cli_bundle, "'%s' is not a policy: best-effort, require or off",
								   policy);
	if (operands != 1 + (again && !old))
		return srv_cli_usage_error(&srv_cli_bundle,
								   again ? "name one bundle, as 'hob bundle' writes it"
										 : "name one asset, as in 'hob ls', or the number of a job");
	return !again ? fetch_bundle(url, argv[1], out)
		   : json ? replay_as_json(argv[operands], sandbox, keep)
				  : replay_file(argv[operands], sandbox, keep, -1);
}

const cli_command srv_cli_bundle = {
	"bundle", "[replay] ASSET|JOB|FILE", "fetch all inputs of a cook as one file, or repeat it",
	"Writes a tar with the source, every file that it refers to, the settings, versions, cook record, error "
	"and log. Use it for a bug report, or to repeat the cook elsewhere.\n"
	"\n"
	"'hob bundle replay FILE' unpacks a bundle into a new folder and cooks it there with the same sandbox "
	"and limits, without a daemon or cache. Exit code 0: the same bytes, or the same error; 1: another "
	"result.\n"
	"\n"
	"Examples:\n"
	"  hob bundle art/props/duck.glb -o duck.tar\n"
	"  hob bundle 991\n"
	"  hob bundle replay duck.tar\n",
	run_bundle};
