#include "owner.h"
#include "query.h"

#include "../fs/fd.h"
#include "../worker/spawn.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

/* hob stop, hob open, hob sync, hob recook: requests to a running daemon. */

/* Prints {"url": ...}; process: 0, or that of the daemon. */
static void tell_address(const char *url, long process)
{
	hob_own_json *facts = cJSON_CreateObject();
	cJSON_AddStringToObject(facts, "url", url);
	if (process)
		cJSON_AddNumberToObject(facts, "process", (double)process);
	srv_cli_print_json(facts);
}

/* ---- stop */

static int wait_for_end(const cli_owner *owner, int process, bool json)
{
	enum { WAIT_MS = 60000 };
	struct pollfd end = {.fd = process, .events = POLLIN};
	if (poll(&end, 1, WAIT_MS) != 1) {
		fprintf(stderr, "hob stop: process %ld still ends its cooks; 'kill -9 %ld' ends it at once\n",
				owner->pid, owner->pid);
		return EXIT_INTERNAL;
	}
	if (json)
		tell_address(owner->url, owner->pid);
	else
		printf("stopped  %s (process %ld)\n", owner->url, owner->pid);
	return EXIT_GOOD;
}

static int stop_owner(const cli_owner *owner, bool json)
{
	if (owner->unit[0]) {
		fprintf(stderr, "hob stop: the daemon at %s is a service: 'systemctl stop %s' stops it\n", owner->url,
				owner->unit);
		return EXIT_USAGE;
	}
	srv_own_fd process = (int)syscall(SYS_pidfd_open, (pid_t)owner->pid, 0);
	int code = EXIT_USAGE;
	if (process >= 0 && syscall(SYS_pidfd_send_signal, process, SIGTERM, NULL, 0) == 0)
		code = wait_for_end(owner, process, json);
	else if (errno == EPERM)
		fprintf(stderr, "hob stop: process %ld at %s is another user's; only they can stop it\n", owner->pid,
				owner->url);
	else
		fprintf(stderr, "hob stop: process %ld cannot be stopped: %s\n", owner->pid, strerror(errno));
	return code;
}

static int run_stop(int argc, char **argv)
{
	cli_owner owner;
	bool json = false;
	cli_option options[] = {{"--json", 0, CLI_FLAG, &json, NULL, "what was stopped as JSON"}};
	int operands = srv_cli_parse(&srv_cli_stop, options, HOB_COUNT_OF(options), argc, argv);
	const char *folder = operands == 1 ? argv[1] : ".";
	if (srv_owner_of_folder(folder, &owner) || srv_owner_of_cache(folder, &owner))
		return stop_owner(&owner, json);
	fprintf(
		stderr,
		"hob stop: no daemon of '%s' runs; name the folder in which 'hob serve' was started, or its cache\n",
		folder);
	return EXIT_UNREACHABLE;
}

const cli_command srv_cli_stop = {
	"stop", "[DIR]", "stop the daemon of this folder",
	"Stops the daemon that was started in DIR (default: the current folder) or in a folder above it, or that "
	"uses DIR as its cache, and waits for its end. What was published is kept.\n"
	"\n"
	"Examples:\n"
	"  hob stop\n"
	"  hob stop ~/project\n",
	run_stop};

/* ---- open, docs */

static int show(const char *who, char *page, bool json)
{
	if (json)
		tell_address(page, 0);
	else
		printf("%s\n", page);
	char program[] = "xdg-open", *args[] = {program, page, NULL};
	bool display = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
	pid_t child;
	if (display && posix_spawnp(&child, program, NULL, NULL, args, environ) != 0)
		fprintf(stderr, "%s: xdg-open cannot be started; open the address above\n", who);
	return EXIT_GOOD;
}

static const char as_json[] = "the address as JSON";

static int run_open(int argc, char **argv)
{
	const char *url = srv_cli_default_url();
	bool json = false;
	cli_option options[] = {{"--json", 0, CLI_FLAG, &json, NULL, as_json}, CLI_URL_OPTION(url)};
	srv_cli_parse(&srv_cli_open, options, HOB_COUNT_OF(options), argc, argv);
	int code = EXIT_GOOD;
	if (strncmp(url, "unix:", 5) == 0)
		return srv_cli_usage_error(&srv_cli_open,
								   "browsers do not know Unix sockets; the daemon needs a port");
	cJSON *roots = srv_cli_ask_json("hob open", url, "/api/v1/roots", false, &code);
	cJSON_Delete(roots);
	if (!roots)
		return code;
	char page[340];
	snprintf(page, sizeof page, "%s%.300s/", strstr(url, "://") ? "" : "http://", url);
	return show("hob open", page, json);
}

const cli_command srv_cli_open = {"open", "", "show the daemon's page in the browser",
								  "Opens the page of the daemon, and prints its address.\n"
								  "\n"
								  "Examples:\n"
								  "  hob open\n"
								  "  hob open --url build-server:7780\n",
								  run_open};

static int run_docs(int argc, char **argv)
{
	char folder[4096], page[4200] = "file://";
	bool json = false;
	cli_option options[] = {{"--json", 0, CLI_FLAG, &json, NULL, as_json}};
	int operands = srv_cli_parse(&srv_cli_docs, options, HOB_COUNT_OF(options), argc, argv);
	if (!srv_find_program("../share/doc/hob/html", folder) && !srv_find_program("../docs/site", folder)) {
		fputs("hob docs: the pages are not installed; './dev docs' in Hob's sources builds them\n", stderr);
		return EXIT_USAGE;
	}
	size_t length = strlen(folder);
	snprintf(folder + length, sizeof folder - length, "/%s.html", operands == 1 ? argv[1] : "index");
	if (access(folder, R_OK) != 0 || !realpath(folder, page + strlen(page)))
		return srv_cli_usage_error(&srv_cli_docs, "there is no page '%s'; 'hob docs' shows them all",
								   argv[1]);
	return show("hob docs", page, json);
}

const cli_command srv_cli_docs = {
	"docs", "[PAGE]", "show these pages: how to start, settings, rules, HTTP",
	"Opens the documentation in the browser, and prints where it is. PAGE is the name of one of its pages, "
	"such as settings or troubleshooting. Needs no daemon and no network.\n"
	"\n"
	"Examples:\n"
	"  hob docs\n"
	"  hob docs troubleshooting\n",
	run_docs};

/* ---- sync */

/* Waits, then prints the assets that failed; `only`: limited to these assets, NULL: all. */
static int wait_for_all(const char *who, const char *url, uint32_t seconds, bool json, char **only, int count)
{
	char body[64];
	int code = EXIT_GOOD;
	uint32_t failed = 0;
	const cJSON *name;
	snprintf(body, sizeof body, "{\"timeout_ms\":%llu}", seconds * 1000ull);
	hob_own_json *answer = srv_cli_post_json(who, url, "/api/v1/sync", body, &code);
	if (!answer)
		return code;
	cJSON_ArrayForEach(name, srv_cli_member(answer, "failed"))
	{
		bool wanted = !only;
		for (int i = 0; i < count && !wanted; i++) {
			const char *full = cJSON_GetStringValue(name), *slash = strchr(full, '/');
			wanted = strcmp(full, only[i]) == 0 || (slash && strcmp(slash + 1, only[i]) == 0);
		}
		if (wanted && !json)
			printf("failed   %s\n", cJSON_GetStringValue(name));
		failed += wanted;
	}
	if (json)
		srv_cli_print_json(answer);
	else
		printf("rev %.0f, %u failed%s\n", srv_cli_number(answer, "rev"), failed,
			   failed > 0 ? "; 'hob why ASSET' tells why" : "");
	return failed > 0 ? EXIT_ASSETS_FAILED : EXIT_GOOD;
}

enum { WAIT_S = 600 };

static int run_sync(int argc, char **argv)
{
	const char *url = srv_cli_default_url();
	uint32_t wait = WAIT_S;
	bool json = false;
	cli_option options[] = {{"--wait", 0, CLI_NUMBER, &wait, "SECONDS", "at most this long, up to 600 (600)"},
							{"--json", 0, CLI_FLAG, &json, NULL, "the answer as JSON"},
							CLI_URL_OPTION(url)};
	srv_cli_parse(&srv_cli_sync, options, HOB_COUNT_OF(options), argc, argv);
	if (wait > WAIT_S)
		return srv_cli_usage_error(&srv_cli_sync, "--wait takes 0 to %d seconds", WAIT_S);
	return wait_for_all("hob sync", url, wait, json, NULL, 0);
}

const cli_command srv_cli_sync = {
	"sync", "", "wait until everything saved so far is cooked",
	"Returns when every change made on disk before is cooked or has failed. Exit code 1 if an asset "
	"failed.\n"
	"\n"
	"Examples:\n"
	"  hob sync && ./game\n"
	"  hob sync --wait 60 --json\n",
	run_sync};

/* ---- recook */

static int run_recook(int argc, char **argv)
{
	const char *url = srv_cli_default_url();
	bool json = false;
	cli_option options[] = {{"--json", 0, CLI_FLAG, &json, NULL, "the answer as JSON"}, CLI_URL_OPTION(url)};
	int operands = srv_cli_parse(&srv_cli_recook, options, HOB_COUNT_OF(options), argc, argv),
		code = EXIT_GOOD;
	if (operands == 0)
		return srv_cli_usage_error(&srv_cli_recook, "name at least one asset, as in 'hob ls'");
	for (int i = 1; i <= operands && code == EXIT_GOOD; i++) {
		char id[32], target[96];
		if (!srv_cli_find_id("hob recook", url, argv[i], id, &code))
			break;
		snprintf(target, sizeof target, "/api/v1/assets/%s/cook", id);
		cJSON_Delete(srv_cli_post_json("hob recook", url, target, "{\"force\":true}", &code));
	}
	return code == EXIT_GOOD ? wait_for_all("hob recook", url, WAIT_S, json, argv + 1, operands) : code;
}

const cli_command srv_cli_recook = {
	"recook", "ASSET...", "cook assets again, whatever the cache has",
	"Cooks each ASSET again without looking into the cache, and waits for the end. Exit code 1 if one "
	"fails.\n"
	"\n"
	"Examples:\n"
	"  hob recook art/duck.glb\n"
	"  hob recook art/duck.glb art/boat.fbx\n",
	run_recook};
