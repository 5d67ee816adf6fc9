#include "query.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* hob get: the bytes of one output. */

/* After a 404: true when there is the asset, and only the output is not; else it has said what there is. */
static bool has_asset(const char *url, const char *name, int *code)
{
	cJSON *asset = cli_ask_asset("hob get", url, name, code);
	hob_buf full = {0};
	hob_buf_printf(&full, "%s/%s", cli_text(asset, "root"), cli_text(asset, "path"));
	bool same = asset && hob_str_equal(hob_buf_str(&full), hob_str_of(name));
	if (asset && !same) {
		fprintf(stderr, "hob get: there is no asset '%s'; did you mean\n  %.*s\n", name,
				HOB_FMT(hob_buf_str(&full)));
		*code = EXIT_USAGE;
	}
	hob_buf_release(&full);
	cJSON_Delete(asset);
	return same;
}

static int run_get(int argc, char **argv)
{
	const char *url = cli_default_url(), *out = NULL;
	uint32_t wait = 0;
	bool hash = false;
	cli_option options[] = {{"--out", 'o', CLI_TEXT, &out, "FILE", "write there instead of to stdout"},
							{"--wait", 0, CLI_NUMBER, &wait, "SECONDS", "wait for a cook that is under way"},
							{"--hash", 0, CLI_FLAG, &hash, NULL, "print the SHA-256 instead of the bytes"},
							CLI_URL_OPTION(url)};
	int operands = cli_parse(&cli_get, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return cli_parse_exit(operands);
	if (operands < 1)
		return cli_usage_error(&cli_get, "name an asset, as in 'hob ls', and, if you like, an output");
	if (!out && !hash && isatty(1))
		return cli_usage_error(&cli_get, "the bytes are not for a terminal: use -o FILE");
	hob_buf target = {0};
	hob_buf_put_str(&target, HOB_STR("/a/"));
	cli_encode(&target, hob_str_of(argv[1]));
	hob_buf_put_str(&target, HOB_STR("?output="));
	cli_encode(&target, hob_str_of(operands == 2 ? argv[2] : "meshes"));
	hob_buf_put_str(&target, HOB_STR("&final=1"));
	hob_buf_put(&target, "", 1);
	char prefer[48];
	snprintf(prefer, sizeof prefer, "Prefer: wait=%u", wait);
	cli_response response;
	hob_error error = {0};
	bool ok = cli_request(url, "GET", (const char *)target.data, wait ? prefer : NULL, (hob_str){0},
						  &response, &error);
	hob_buf_release(&target);
	if (!ok) {
		cli_print_error("hob get", &error);
		return EXIT_UNREACHABLE;
	}
	int code = EXIT_GOOD;
	if (response.status == 202) {
		fprintf(stderr, "hob get: it is not cooked yet; --wait SECONDS waits for it\n");
		code = EXIT_ASSETS_FAILED;
	} else if (response.status == 404 && !has_asset(url, argv[1], &code)) {
		/* It has said so. */
	} else if (response.status >= 300) {
		code = cli_print_problem("hob get", &response);
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
	if (code == EXIT_GOOD && strcmp(response.state, "stale") == 0)
		fprintf(stderr, "hob get: this is the last good version; a newer one failed or is under way\n");
	cli_response_release(&response);
	return code;
}

const cli_command cli_get = {
	"get", "ASSET [OUTPUT]", "fetch a cooked blob",
	"OUTPUT is meshes (default), materials, scene, animations, report, textures/N or classic.meshes,\n"
	"classic.materials, classic.scene.\n\n"
	"Examples:\n  hob get art/duck.glb -o duck.meshes\n  hob get art/duck.glb scene --wait 10 -o "
	"duck.scene\n",
	run_get};
