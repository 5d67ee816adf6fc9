#include "cook_run.h"
#include "farm_tools.h"
#include "offer.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

enum { POLL_MS = 1000 };

static volatile sig_atomic_t ended;

/* Passes SIGTERM on as SIGINT to a cook in progress, which then gives up its leases. Between cooks SIGINT
 * would end the process. */
static void on_signal(int number)
{
	struct sigaction now;
	ended = 1;
	if (number == SIGTERM && sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler != SIG_DFL)
		raise(SIGINT);
}

static void hear_signals(void)
{
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
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

static int work_on(farm_tools *t, const hob_sha256 *list)
{
	offer *offered = NULL;
	cook_plan plan;
	hob_error error = {0};
	if (!srv_offer_open(t->farm, list, &offered, &error) || !srv_offer_plan(offered, &plan, &error)) {
		fprintf(stderr, "hob farm work: an offer is left to others: %s\n", error.context);
		srv_offer_close(offered);
		return EXIT_GOOD;
	}
	cook_run_options how = {.who = "hob farm work",
							.write = {.out = "", .nothing = true},
							.config = &t->config,
							.cache = t->config.origin[SRV_CONFIG_cache] == SRV_CONFIG_DEFAULT
										 ? NULL
										 : srv_config_text(&t->config, SRV_CONFIG_cache),
							.upstream = &t->upstream,
							.offered = offered,
							.wait_s = COOK_WAIT_WRITER_S};
	int code = srv_cook_run(&plan, &how);
	hear_signals();
	srv_offer_close(offered);
	return code;
}

int srv_farm_tools_work(farm_tools *t)
{
	uint64_t last = 0;
	bool down = false;
	t->upstream.push = true;
	hear_signals();
	fprintf(stderr, "hob farm work: waits for 'hob cook --farm' on other machines\n");
	while (!ended) {
		srv_farm_why why = {""};
		hob_sha256 list;
		srv_farm_told told = {on_lost, on_share, NULL};
		srv_farm_end end = srv_farm_next_offer(t->farm, &last, &list, &why);
		if (end == SRV_FARM_OK || end == SRV_FARM_NONE)
			(void)srv_farm_heartbeat(t->farm, NULL, 0, "worker", "{}", 0, &told, &why);
		if (end == SRV_FARM_OK && work_on(t, &list) == EXIT_INTERRUPTED)
			break;
		if (end != SRV_FARM_OK && end != SRV_FARM_NONE && !down)
			fprintf(stderr, "hob farm work: %s; tried again\n", why.text);
		down = end != SRV_FARM_OK && end != SRV_FARM_NONE;
		if (end != SRV_FARM_OK)
			nanosleep(&(struct timespec){.tv_sec = POLL_MS / 1000}, NULL);
	}
	return EXIT_GOOD;
}
