/* hob_fetch.c - fetches one output of an asset and prints what arrived; with --watch, again after every
 * change.
 *
 *     hob_fetch URL ASSET OUTPUT [--cache DIR] [--watch] [--delta HASH HASH...]
 *
 * One line per answer, "blob HASH SIZE fetched BYTES fresh|stale network|cache", or "error CODE MESSAGE".
 * With --watch also "event KIND ASSET STATE", and changes come as deltas; ends with its input. --delta
 * fetches the first blob, then the others as deltas to it and the previous one. It sends HOB_TOKEN; for
 * https:// (if built with libcurl) it trusts HOB_CA_FILE. */
#include "../hob_client.h"
#ifdef HOB_CURL
#include "curl_transport.h"
#endif

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct app {
	hobc_client *client;
	const char *asset, *output;
	hobc_blob *shown; /* the blob that a renderer would be showing */
	hobc_blob *base;  /* the last final one: it has more in common with the next than a preview has */
	int preview;	  /* the wanted blob is a preview or was named by --delta: it must not become `base` */
	char **next;	  /* of --delta: hashes still to be fetched */
	char wanted[65];  /* hash of the last announced blob */
	char asked[65];	  /* hash of the blob that is being fetched or arrived last */
	int fetching;
	hobc_result last;
} app;

static void on_blob(void *user, uint64_t id, hobc_result result, const char *message, hobc_blob *blob);

/* Fetches one blob at a time: a delta reads the shown blob until it has arrived. */
static void fetch_wanted(app *a)
{
	if (a->fetching || strcmp(a->asked, a->wanted) == 0 ||
		(a->shown && strcmp(a->shown->hash, a->wanted) == 0))
		return;
	memcpy(a->asked, a->wanted, sizeof a->asked);
	const hobc_blob *older[] = {a->shown, a->base};
	if (a->shown)
		a->fetching = hobc_get_delta_of(a->client, a->wanted, older, 2, on_blob, a, NULL) == HOBC_OK;
	else
		a->fetching = hobc_get_blob(a->client, a->wanted, 0, 0, on_blob, a, NULL) == HOBC_OK;
}

static void release_shown(app *a)
{
	if (a->shown != a->base)
		hobc_blob_release(a->client, a->shown);
	a->shown = NULL;
}

static void on_blob(void *user, uint64_t id, hobc_result result, const char *message, hobc_blob *blob)
{
	app *a = (app *)user;
	(void)id;
	if (result == HOBC_CANCELLED)
		return;
	a->last = result;
	if (result != HOBC_OK) {
		printf("error %d %s\n", (int)result, message);
	} else {
		printf("blob %s %lu fetched %lu %s %s\n", blob->hash, (unsigned long)blob->size,
			   (unsigned long)blob->fetched, blob->stale ? "stale" : "fresh",
			   blob->from_cache ? "cache" : "network");
		release_shown(a);
		a->shown = blob;
		if (!a->preview || strcmp(blob->hash, a->asked) != 0) {
			hobc_blob_release(a->client, a->base);
			a->base = blob;
		}
		if (a->next && *a->next)
			snprintf(a->wanted, sizeof a->wanted, "%s", *a->next++);
	}
	a->fetching = 0;
	fetch_wanted(a);
}

static void on_event(void *user, const hobc_event *event)
{
	static const char *const kinds[] = {"hello", "asset", "reset"};
	app *a = (app *)user;
	char hash[65];
	printf("event %s %s %s\n", kinds[event->kind], event->asset, event->state);
	if (event->kind == HOBC_EVENT_RESET && !a->fetching)
		a->fetching = hobc_get(a->client, a->asset, a->output, on_blob, a, NULL) == HOBC_OK;
	if (event->kind != HOBC_EVENT_ASSET || !hobc_event_output(event, a->output, hash, NULL))
		return;
	memcpy(a->wanted, hash, sizeof hash);
	a->preview = strstr(event->json, "\"quality\":\"preview\"") != NULL;
	fetch_wanted(a);
}

static int input_ended(void)
{
	struct pollfd entry = {STDIN_FILENO, POLLIN, 0};
	char byte;
	return poll(&entry, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

int main(int argc, char **argv)
{
	hobc_options options = {0};
	app a = {0};
	int watch = 0, i;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 4) {
		fputs("usage: hob_fetch URL ASSET OUTPUT [--cache DIR] [--watch] [--delta HASH HASH...]\n", stderr);
		return 2;
	}
	options.url = argv[1];
	a.asset = argv[2];
	a.output = argv[3];
	a.last = HOBC_ARGUMENT;
	for (i = 4; i < argc && !a.next; i++) {
		if (strcmp(argv[i], "--watch") == 0)
			watch = 1;
		else if (strcmp(argv[i], "--cache") == 0 && i + 1 < argc)
			options.cache_dir = argv[++i];
		else if (strcmp(argv[i], "--delta") == 0 && i + 1 < argc)
			a.next = &argv[i + 1];
	}
	options.token = getenv("HOB_TOKEN");
#ifdef HOB_CURL
	curl_transport *tls = curl_transport_new(getenv("HOB_CA_FILE"));
	if (tls && strncmp(argv[1], "https:", 6) == 0)
		options.net = curl_transport_net(tls);
#endif
	if (hobc_open(&options, &a.client) != HOBC_OK) {
		fprintf(stderr, "hob_fetch: '%s' is no URL that can be used here\n", options.url);
		return 2;
	}
	if (watch)
		hobc_watch(a.client, a.asset, on_event, &a);
	a.preview = a.next != NULL;
	a.fetching = (a.next ? hobc_get_blob(a.client, *a.next++, 0, 0, on_blob, &a, NULL)
						 : hobc_get(a.client, a.asset, a.output, on_blob, &a, NULL)) == HOBC_OK;
	while (watch ? !input_ended() : a.fetching)
		hobc_update(a.client, 20);
	release_shown(&a);
	hobc_blob_release(a.client, a.base);
	hobc_close(a.client);
#ifdef HOB_CURL
	curl_transport_free(tls);
#endif
	return a.last == HOBC_OK ? 0 : 1;
}
