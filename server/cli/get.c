#include "cook_write.h"
#include "owner.h"
#include "query.h"

#include "../../core/hash/hash.h"
#include "../fs/tar.h"
#include "../log/log.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* hob get: downloads one output, or all outputs of all assets. */

enum { STEP_MS = 50, START_MS = 2000 };

/* Waits for a daemon that is just starting. If another folder's daemon answers, waits for this folder's: up
 * to wait_ms if `name` is a file here, without a name only as long as a start takes. */
static void wait_until_ready(const char **url, const char *name, uint64_t wait_ms)
{
	bool chosen = *url != srv_cli_fallback_url, ours = name && access(name, F_OK) == 0;
	for (uint64_t spent = 0; spent < wait_ms; spent += STEP_MS) {
		srv_own_response response = {0};
		hob_error error = {0};
		*url = chosen ? *url : srv_cli_default_url();
		bool waits = (ours || (!name && spent < START_MS)) && !srv_owner_is_here(NULL, *url);
		bool answered =
			!waits && srv_cli_request(*url, "GET", "/readyz", NULL, (hob_str){0}, &response, &error);
		bool done = answered ? response.status != 503 : error.code == HOB_ERR_USAGE;
		if (done)
			return;
		usleep(STEP_MS * 1000);
	}
}

/* ---- all outputs */

typedef struct getting {
	const char *url, *out;
	uint32_t files, there, lacking;
	uint64_t bytes;
} getting;

static bool is_one_part(const char *name)
{
	return srv_tar_name_is_safe(hob_str_of(name)) && !strchr(name, '/');
}

/* Path of an output below the folder: as `hob cook` names it, relative to the asset's root. A name from the
 * daemon never leads outside that folder. */
static bool place_of(const getting *g, const cJSON *asset, const cJSON *output, char path[PATH_MAX],
					 hob_error *err)
{
	const char *name = srv_cli_text(output, "name"), *root = srv_cli_text(asset, "root");
	const char *below = srv_cli_text(asset, "path");
	int length;
	if (strncmp(name, "textures/", 9) == 0)
		length = snprintf(path, PATH_MAX, "%s/textures/%s.ktx2", g->out, srv_cli_text(output, "hash"));
	else if (is_one_part(root) && srv_tar_name_is_safe(hob_str_of(below)) && is_one_part(name))
		length = snprintf(path, PATH_MAX, "%s/%s/%s.%s%s", g->out, root, below, name,
						  strcmp(name, "report") == 0 ? ".json" : "");
	else
		return hob_fail(err, CORRUPT,
						"the daemon names an asset '%s/%s' with an output '%s', which is no place for a file",
						root, below, name);
	return length < PATH_MAX || hob_fail(err, USAGE, "the path of '%s' would be too long", below);
}

/* Downloads an output, unless it is a texture that exists: texture files are named by their content. */
static bool get_output(getting *g, const cJSON *asset, const cJSON *output, int *code)
{
	char path[PATH_MAX];
	struct stat info;
	hob_error error = {0};
	hob_sha256 digest, found;
	bool named = hob_sha256_parse(hob_str_of(srv_cli_text(output, "hash")), &digest) ||
				 hob_fail(&error, CORRUPT, "the daemon names an output of '%s' by '%s', which is no SHA-256",
						  srv_cli_text(asset, "path"), srv_cli_text(output, "hash"));
	if (!named || !place_of(g, asset, output, path, &error)) {
		*code = srv_cli_fail("hob get", &error, error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_INTERNAL);
		return false;
	}
	bool texture = strncmp(srv_cli_text(output, "name"), "textures/", 9) == 0;
	if (texture && stat(path, &info) == 0 && info.st_size == (off_t)srv_cli_number(output, "size")) {
		g->there++;
		return true;
	}
	cli_response response;
	char target[16 + HOB_SHA256_TEXT] = "/blobs/";
	hob_sha256_text(&digest, target + strlen(target));
	*code = srv_cli_fetch("hob get", g->url, target, &response);
	if (*code != EXIT_GOOD)
		return false;
	found = hob_sha256_of(hob_buf_bytes(&response.body));
	bool good = hob_sha256_equal(&found, &digest);
	if (!good) {
		fprintf(stderr, "hob get: other bytes came than those of '%s'; something on the way changes them\n",
				srv_cli_text(asset, "path"));
		*code = EXIT_INTERNAL;
	} else if (!(good = srv_cook_write_file(path, hob_buf_bytes(&response.body), &g->bytes, &error)))
		*code = srv_cli_fail("hob get", &error, error.code == HOB_ERR_DISK_FULL ? EXIT_INTERNAL : EXIT_USAGE);
	g->files += good;
	srv_cli_response_release(&response);
	return good;
}

/* Downloads every output of every asset from the daemon; counts and reports assets that were never cooked. */
static int get_all(const char *url, const char *out, uint32_t wait)
{
	getting g = {.url = url, .out = out};
	int code = EXIT_GOOD;
	char body[64], size[32];
	cli_pages pages = {.who = "hob get", .url = url, .target = "/api/v1/assets?limit=100&expand=outputs"};
	if (wait > 0) {
		snprintf(body, sizeof body, "{\"timeout_ms\":%llu}", (unsigned long long)wait * 1000);
		cJSON_Delete(srv_cli_post_json("hob get", url, "/api/v1/sync", body, &code));
	}
	for (const cJSON *asset; code == EXIT_GOOD && (asset = srv_cli_next_item(&pages));) {
		const cJSON *outputs = srv_cli_member(asset, "outputs"), *output;
		bool fresh = srv_cli_is_fresh(srv_cli_standing(asset));
		if (!fresh)
			fprintf(stderr, "%-11s %s%s\n", srv_cli_standing(asset), srv_cli_text(asset, "name"),
					cJSON_GetArraySize(outputs) > 0 ? " (its last good version is taken)" : "");
		g.lacking += !fresh;
		cJSON_ArrayForEach(output, outputs)
		{
			if (code == EXIT_GOOD)
				get_output(&g, asset, output, &code);
		}
	}
	srv_cli_end_pages(&pages);
	if (code != EXIT_GOOD || pages.code != EXIT_GOOD)
		return code != EXIT_GOOD ? code : pages.code;
	fprintf(stderr, "%u files, %s, in %s", g.files, srv_text_bytes(g.bytes, size), out);
	fprintf(stderr, g.there > 0 ? "; %u textures were there\n" : "\n", g.there);
	return g.lacking > 0 ? EXIT_ASSETS_FAILED : EXIT_GOOD;
}

/* ---- one output */

static bool ask_output(const char *url, hob_str name, const char *output, uint32_t wait,
					   cli_response *response, hob_error *err)
{
	hob_own_buf target = {0};
	char prefer[48];
	hob_buf_put_str(&target, HOB_STR("/a/"));
	hob_buf_put_percent(&target, name);
	srv_cli_put_parameter(&target, "?output=", output);
	hob_buf_put_str(&target, HOB_STR("&final=1"));
	snprintf(prefer, sizeof prefer, "Prefer: wait=%u", wait);
	return srv_cli_request(url, "GET", srv_cli_ended(&target), wait ? prefer : NULL, (hob_str){0}, response,
						   err);
}

static int run_get(int argc, char **argv)
{
	const char *url = srv_cli_default_url(), *out = NULL;
	uint32_t wait = 0;
	bool hash = false, all = false, json = false;
	cli_option options[] = {
		{"--out", 'o', CLI_TEXT, &out, "FILE|DIR",
		 "write to this file or folder instead of stdout, which - is"},
		{"--all", 0, CLI_FLAG, &all, NULL, "fetch every output of every asset into the folder of -o"},
		{"--wait", 0, CLI_NUMBER, &wait, "SECONDS",
		 "wait for the daemon to be ready, and for a cook in progress"},
		{"--hash", 0, CLI_FLAG, &hash, NULL, "print the SHA-256 instead of the bytes"},
		{"--json", 0, CLI_FLAG, &json, NULL, "print SHA-256, size, type and state instead of the bytes"},
		CLI_URL_OPTION(url)};
	int operands = srv_cli_parse(&srv_cli_get, options, HOB_COUNT_OF(options), argc, argv);
	hash = hash || json;
	if (all && (operands > 0 || hash || !out || strcmp(out, "-") == 0))
		return srv_cli_usage_error(&srv_cli_get,
								   "--all takes a folder (-o DIR) and neither an asset nor --hash");
	if (out && strcmp(out, "-") == 0)
		out = NULL;
	wait_until_ready(&url, operands > 0 ? argv[1] : NULL, (uint64_t)wait * 1000);
	if (all)
		return get_all(url, out, wait);
	if (operands < 1)
		return srv_cli_usage_error(&srv_cli_get,
								   "name an asset, as in 'hob ls', and, if you like, an output");
	if (!out && !hash && isatty(1))
		return srv_cli_usage_error(&srv_cli_get, "the bytes are not for a terminal: use -o FILE");
	const char *output = operands == 2 ? argv[2] : "meshes";
	cli_response response = {0};
	hob_error error = {0};
	int code = EXIT_GOOD;
	if (srv_owner_is_wrong("hob get", url, argv[1], &code))
		return code;
	bool ok = ask_output(url, hob_str_of(argv[1]), output, wait, &response, &error), named = true;
	if (ok && response.status == 404) {
		hob_own_buf full = {0};
		named = srv_cli_full_name("hob get", url, argv[1], &full, &code);
		if (named && !hob_str_equal(hob_buf_str(&full), hob_str_of(argv[1]))) {
			srv_cli_response_release(&response);
			ok = ask_output(url, hob_buf_str(&full), output, wait, &response, &error);
		}
	}
	if (!ok)
		return srv_cli_fail("hob get", &error, EXIT_UNREACHABLE);
	if (response.status == 202) {
		fprintf(stderr, "hob get: it is not cooked yet; --wait SECONDS waits for it\n");
		code = EXIT_ASSETS_FAILED;
	} else if (!named) {
		/* The error has been printed. */
	} else if (response.status >= 300) {
		code = srv_cli_print_problem("hob get", &response);
	} else if (json) {
		hob_own_json *facts = cJSON_CreateObject();
		cJSON_AddStringToObject(facts, "output", output);
		cJSON_AddStringToObject(facts, "sha256", response.hash);
		cJSON_AddNumberToObject(facts, "bytes", (double)response.body.size);
		cJSON_AddStringToObject(facts, "type", response.type);
		cJSON_AddStringToObject(facts, "standing", response.standing);
		srv_cli_print_json(facts);
	} else if (hash) {
		printf("%s\n", response.hash);
	} else {
		FILE *file = out ? fopen(out, "wb") : stdout;
		bool wrote = file && fwrite(response.body.data, 1, response.body.size, file) == response.body.size;
		if (file && fflush(file) != 0)
			wrote = false;
		if (out && file && fclose(file) != 0)
			wrote = false;
		if (!wrote) {
			fprintf(stderr, "hob get: '%s' cannot be written: %s\n", out ? out : "stdout", strerror(errno));
			code = EXIT_USAGE;
		}
	}
	if (code == EXIT_GOOD && response.standing[0] && !srv_cli_is_fresh(response.standing))
		fprintf(stderr, "hob get: this is the last good version; the asset is %s: 'hob why %s' tells more\n",
				response.standing, argv[1]);
	srv_cli_response_release(&response);
	return code;
}

const cli_command srv_cli_get = {
	"get", "ASSET [OUTPUT]", "fetch one cooked blob, or all of them",
	"ASSET is ROOT/PATH as 'hob ls' shows it, or its path below a root. OUTPUT is meshes (default), "
	"materials, scene, animations, report, textures/N, classic.meshes, "
	"classic.materials or classic.scene. --all writes the files that 'hob cook' would write: "
	"DIR/ROOT/PATH.meshes and so on, and textures as DIR/textures/HASH.ktx2. Its exit code is 1 if an asset "
	"is not fresh.\n"
	"\n"
	"Examples:\n"
	"  hob get art/duck.glb -o duck.meshes\n"
	"  hob get art/duck.glb scene --wait 10 -o duck.scene\n"
	"  hob get --all --wait 600 -o build/\n",
	run_get};
