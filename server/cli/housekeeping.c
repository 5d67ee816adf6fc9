#include "query.h"

#include "../config/config.h"
#include "../log/log.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* hob gc, hob verify: start a housekeeping job in a running daemon and wait for it. */

static cJSON *wait_for_job(const char *who, const char *url, double id, bool progress, int *code)
{
	static const struct timespec pause = {0, 100000000};
	char target[64];
	snprintf(target, sizeof target, "/api/v1/jobs/%.0f", id);
	for (;;) {
		cJSON *job = srv_cli_ask_json(who, url, target, false, code);
		if (!job || strcmp(srv_cli_text(job, "state"), "done") == 0) {
			if (progress)
				fputs("\r\x1b[K", stderr);
			return job;
		}
		if (progress)
			fprintf(stderr, "\r%.0f of %.0f files", srv_cli_number(job, "checked"),
					srv_cli_number(job, "total"));
		cJSON_Delete(job);
		nanosleep(&pause, NULL);
	}
}

static cJSON *run_task(const char *who, const char *url, const char *target, const char *body, int *code)
{
	hob_own_json *started = srv_cli_post_json(who, url, target, body, code);
	return started ? wait_for_job(who, url, srv_cli_number(started, "job"), isatty(2), code) : NULL;
}

static int finish(cJSON *job, bool json, int code)
{
	srv_cli_print_json(json ? job : NULL);
	cJSON_Delete(job);
	return code;
}

static void print_freed(const cJSON *job, bool dry)
{
	char freed[32], over[32];
	double bytes = srv_cli_number(job, "freed_bytes"), too_many = srv_cli_number(job, "over_bytes");
	srv_text_bytes((uint64_t)bytes, freed);
	srv_text_bytes((uint64_t)too_many, over);
	if (bytes > 0)
		printf(dry ? "%s would go, which no asset uses\n" : "freed %s\n", freed);
	else if (too_many > 0)
		printf("%s: the cache is %s over its limit, but assets use all of it, or did a minute ago\n",
			   dry ? "nothing would go" : "freed nothing", over);
	else
		printf("the cache is within its limit; nothing %s\n", dry ? "would go" : "had to go");
}

static int run_gc(int argc, char **argv)
{
	const char *url = srv_cli_default_url(), *size = NULL;
	bool dry = false, json = false;
	cli_option options[] = {{"--dry-run", 'n', CLI_FLAG, &dry, NULL, "only report how much would be deleted"},
							{"--max-size", 0, CLI_TEXT, &size, "SIZE",
							 "trim to this size, such as 20GiB, instead of the daemon's limit"},
							{"--json", 0, CLI_FLAG, &json, NULL, "the job as JSON"},
							CLI_URL_OPTION(url)};
	srv_cli_parse(&srv_cli_gc, options, HOB_COUNT_OF(options), argc, argv);
	uint64_t most = 0;
	if (size && !srv_config_parse_size(size, &most))
		return srv_cli_usage_error(&srv_cli_gc, "'%s' is not a size: 20GiB, '500 MB' or bytes", size);
	if (size && most == 0)
		return srv_cli_usage_error(&srv_cli_gc,
								   "--max-size begins at 1 byte; what assets use stays in any case");
	char body[96];
	snprintf(body, sizeof body, "{\"dry_run\":%s%s", dry ? "true" : "false", size ? ",\"max_bytes\":" : "}");
	if (size)
		snprintf(body + strlen(body), sizeof body - strlen(body), "%llu}", (unsigned long long)most);
	int code = EXIT_GOOD;
	cJSON *job = run_task("hob gc", url, "/api/v1/gc", body, &code);
	if (job && !json)
		print_freed(job, dry);
	return finish(job, json, code);
}

const cli_command srv_cli_gc = {"gc", "", "trim the daemon's cache",
								"Deletes the least recently used results until the cache is below its limit, "
								"and blobs that no record refers to. Results in use are never deleted. The "
								"daemon also does this by itself; use the command to free disk space now.\n"
								"\n"
								"Examples:\n"
								"  hob gc\n"
								"  hob gc --max-size 20GiB --dry-run\n",
								run_gc};

static int run_verify(int argc, char **argv)
{
	const char *url = srv_cli_default_url();
	bool dry = false, json = false, cook = false;
	cli_option options[] = {{"--dry-run", 'n', CLI_FLAG, &dry, NULL, "only count what is damaged"},
							{"--cook", 0, CLI_FLAG, &cook, NULL,
							 "instead, cook every fresh asset once more, and compare the outputs"},
							{"--json", 0, CLI_FLAG, &json, NULL, "the job as JSON"},
							CLI_URL_OPTION(url)};
	srv_cli_parse(&srv_cli_verify, options, HOB_COUNT_OF(options), argc, argv);
	if (cook && dry)
		return srv_cli_usage_error(&srv_cli_verify, "--cook changes nothing, with or without --dry-run");
	if (cook)
		return srv_cli_verify_cooks(url, json);
	int code = EXIT_GOOD;
	cJSON *job = run_task("hob verify", url, "/api/v1/verify", dry ? "{\"dry_run\":true}" : "{}", &code);
	double damaged = srv_cli_number(job, "damaged");
	char checked[48];
	srv_cli_count(srv_cli_number(job, "checked"), "file", checked);
	if (job && !json && damaged == 0)
		printf("%s checked, none damaged\n", checked);
	else if (job && !json)
		printf("%s checked, %.0f damaged%s\n", checked, damaged,
			   dry ? "; without --dry-run they are dropped and cooked again" : ": dropped, and cooked again");
	if (job && damaged > 0 && dry)
		code = EXIT_ASSETS_FAILED;
	return finish(job, json, code);
}

const cli_command srv_cli_verify = {
	"verify", "", "check the daemon's cache against its hashes",
	"Reads every cooked file in the cache and compares it with its name, which is its SHA-256. Damaged files "
	"are dropped and cooked again. With --dry-run they are only counted, and the exit code is 1 if there are "
	"any.\n"
	"\n"
	"With --cook, each fresh asset is fetched as a bundle, cooked here in a new process, and its outputs are "
	"compared with the daemon's: the same inputs must give the same bytes. Exit code 1: some differ. Run it "
	"from a timer at night.\n"
	"\n"
	"Examples:\n"
	"  hob verify\n"
	"  hob verify --cook\n"
	"  hob verify --dry-run --json\n",
	run_verify};
