/* query.h - queries to a running daemon. Failures are printed on stderr, with a remedy that one can type. */
#ifndef CLI_QUERY_H
#define CLI_QUERY_H

#include "cli.h"

#include "../../core/base/percent.h"
#include "../client/tls_client.h"

#include <cjson/cJSON.h>

/* ---- one request to the daemon (client/connection.h), with HOB_TOKEN */

#define CLI_CA_OPTION                                                                                        \
	{                                                                                                        \
		"--cacert", 0, CLI_TEXT, srv_tls_ca_file(), "FILE",                                                  \
			"trust the certificates in FILE for https://, not the system's ($HOB_CACERT)"                    \
	}

typedef struct cli_response {
	int status;
	hob_buf body;
	char type[96];	   /* Content-Type */
	char hash[80];	   /* ETag without quotes */
	char standing[16]; /* Cook-Standing */
} cli_response;

/* method "GET" or "POST" (body: JSON or empty); target begins with '/'. header: one more header line without
 * line end, or NULL. Errors: IO with a text that says how to start the daemon. Any status is a success. */
bool srv_cli_request(const char *url, const char *method, const char *target, const char *header,
					 hob_str body, cli_response *out, hob_error *err) HOB_MUST_CHECK;
/* Streams the body line by line (events). Returns when the server ends it, when nothing arrives for longer
 * than the heartbeat, or when `line` returns false. header: one more header line, or NULL. Errors: USAGE if
 * the daemon refuses; IO if it refuses temporarily (429, 5xx) or does not answer. */
bool srv_cli_stream(const char *url, const char *target, const char *header,
					bool (*line)(void *user, hob_str line), void *user, hob_error *err) HOB_MUST_CHECK;
void srv_cli_response_release(cli_response *response);
#define srv_own_response HOB_OWN(srv_cli_response_release) cli_response

/* Appends a parameter of a target: "&q=", then the encoded value. NULL: nothing. */
void srv_cli_put_parameter(hob_buf *out, const char *name, const char *value);

/* ---- answers */

/* The options of every querying command; `url` is a const char * with the initial value
 * srv_cli_default_url(). */
#define CLI_URL_OPTION(url)                                                                                  \
	{"--url", 0,	 CLI_TEXT,                                                                               \
	 &(url),  "URL", "the daemon: HOST:PORT, https://HOST:PORT or unix:/path (this folder's, or $HOB_URL)"}, \
		CLI_CA_OPTION

/* The text of the member `key`, or ""; its number, or 0. */
const char *srv_cli_text(const cJSON *object, const char *key);
double srv_cli_number(const cJSON *object, const char *key);
const cJSON *srv_cli_member(const cJSON *object, const char *key);
/* The first object of a list whose member `key` has this text; NULL: none. */
const cJSON *srv_cli_find(const cJSON *list, const char *key, const char *text);
/* Applies srv_plain to every text of an answer; the output of a cook ("log") keeps its lines. */
void srv_cli_plain_json(cJSON *tree);
/* The asset's standing, converted if the daemon is a 0.2; "" if it has none. */
const char *srv_cli_standing(const cJSON *asset);
/* Appends ",broken": the standing called `word`, or all that 0.2 called so. False: there is none. */
bool srv_cli_put_standings(hob_str word, hob_buf *out);
/* Escape sequence of a standing's colour, "" if stdout has no colours. Unknown: the colour of a good one. */
const char *srv_cli_standing_color(const char *standing);
bool srv_cli_is_fresh(const char *standing);
bool srv_cli_is_busy(const char *standing); /* a cook waits or runs */
const char *srv_cli_color_off(void);
const char *srv_cli_dim(void);
/* "no warnings", "1 warning", "2 warnings" in `out`. */
const char *srv_cli_count(double number, const char *word, char out[48]);

/* Sends a GET, or a POST if body is not NULL. NULL after an error message, with the exit code in *code. With
 * `raw`, prints the body unchanged on stdout and returns NULL with *code unchanged. */
cJSON *srv_cli_ask_json(const char *who, const char *url, const char *target, bool raw, int *code);
cJSON *srv_cli_post_json(const char *who, const char *url, const char *target, const char *body, int *code);
/* GET. EXIT_GOOD: the status is 200, and *out is to be released. Otherwise it has printed why. */
int srv_cli_fetch(const char *who, const char *url, const char *target, cli_response *out);
/* The answer to a GET, without messages: NULL if it is not 200 or no JSON. *status (may be NULL): 0 if
 * nothing answers. */
cJSON *srv_cli_try_json(const char *url, const char *target, int *status);
/* Prints it on one line of stdout; NULL: nothing. */
void srv_cli_print_json(const cJSON *json);
/* srv_cli_ask_json of `target` followed by `name`, which is encoded. */
cJSON *srv_cli_ask_about(const char *who, const char *url, const char *target, const char *name, bool raw,
						 int *code);
/* Iterates over the items of a list that the daemon sends in pages. `target` has a query and is encoded. */
typedef struct cli_pages {
	const char *who, *url;
	const char *target;
	bool exact; /* texts are left as they are, not made fit for a terminal */
	cJSON *page;
	const cJSON *item;
	bool over;
	int code; /* EXIT_GOOD, or the exit code of an error that was printed */
} cli_pages;

/* NULL after the last item and after an error; everything is freed then. */
const cJSON *srv_cli_next_item(cli_pages *pages);
/* Frees the iteration if it ends earlier. */
void srv_cli_end_pages(cli_pages *pages);
/* The files of all roots that are no assets, in one list. Each has its "name", root included, and as "reason"
 * a sentence. */
cJSON *srv_cli_skipped_files(const char *who, const char *url, int *code);
/* The id of the asset "root/path". On false it has printed why the file is skipped, or which assets have
 * similar names. */
bool srv_cli_find_id(const char *who, const char *url, const char *name, char id[32], int *code);
/* The asset's name with its root, which may be missing in `name`; fails as srv_cli_find_id. */
bool srv_cli_full_name(const char *who, const char *url, const char *name, hob_buf *full, int *code);
/* Asks for everything that is known about one asset. */
cJSON *srv_cli_ask_asset(const char *who, const char *url, const char *name, int *code);
/* Prints a problem+json body and a remedy, or the status; returns EXIT_ASSETS_FAILED or EXIT_USAGE. */
int srv_cli_print_problem(const char *who, const cli_response *response);

/* A commit of a git repository (warm_command.c). root: NULL where there is one repository. */
typedef enum cli_commit_work {
	CLI_COMMIT_LOOK,
	CLI_COMMIT_COOK, /* has it cooked */
	CLI_COMMIT_WAIT	 /* and waits until everything is settled */
} cli_commit_work;
cJSON *srv_cli_commit(const char *who, const char *url, const char *root, const char *name,
					  cli_commit_work work, int *code);
/* Waits until it is settled. The manifest of what is `below` ("/props", "": all), with names as they are at
 * the tip, and "is_tip". *commit: NULL without one; for cJSON_Delete. */
cJSON *srv_cli_commit_manifest(const char *who, const char *url, const char *root, const char *name,
							   const char *below, cJSON **commit, int *code);

/* hob verify --cook (bundle.c): cooks each fresh asset again from a bundle of its inputs, each in a process
 * of its own. EXIT_ASSETS_FAILED: some outputs have other bytes. */
int srv_cli_verify_cooks(const char *url, bool json);

#endif
