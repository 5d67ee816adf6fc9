#include "cook_write.h"
#include "query.h"

#include "../log/log.h"

#include <stdio.h>
#include <unistd.h>

/* hob bundle: downloads a tar file from which the cook can be repeated. */

static int run_bundle(int argc, char **argv)
{
	const char *url = srv_cli_default_url(), *out = NULL;
	cli_option options[] = {{"--out", 'o', CLI_TEXT, &out, "FILE",
							 "the file to write; - is stdout; missing folders are created (NAME.tar)"},
							CLI_URL_OPTION(url)};
	int operands = srv_cli_parse(&srv_cli_bundle, options, HOB_COUNT_OF(options), argc, argv);
	if (operands != 1)
		return srv_cli_usage_error(&srv_cli_bundle, "name one asset, as in 'hob ls', or the number of a job");
	bool is_job = argv[1][0] && strspn(argv[1], "0123456789") == strlen(argv[1]);
	bool to_stdout = out && strcmp(out, "-") == 0;
	if (to_stdout && isatty(1))
		return srv_cli_usage_error(&srv_cli_bundle, "a tar is not for a terminal: use -o FILE, or a pipe");
	char id[32], target[96], name[512], size[32];
	int code = EXIT_GOOD;
	uint64_t total = 0;
	snprintf(id, sizeof id, "%.24s", argv[1]);
	if (!is_job && !srv_cli_find_id("hob bundle", url, argv[1], id, &code))
		return code;
	snprintf(target, sizeof target, "/api/v1/%s/%s/bundle", is_job ? "jobs" : "assets", id);
	snprintf(name, sizeof name, "%s%.255s.tar", is_job ? "job-" : "",
			 hob_path_name(hob_str_of(argv[1])).data);
	cli_response response;
	hob_error error = {0};
	if (!srv_cli_request(url, "GET", target, NULL, (hob_str){0}, &response, &error)) {
		srv_cli_print_error("hob bundle", &error);
		return error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_UNREACHABLE;
	}
	if (response.status != 200) {
		code = srv_cli_print_problem("hob bundle", &response);
	} else if (!srv_cook_write_file(to_stdout ? "/dev/stdout"
									: out	  ? out
											  : name,
									hob_buf_bytes(&response.body), &total, &error)) {
		srv_cli_print_error("hob bundle", &error);
		code = EXIT_USAGE;
	} else if (!to_stdout) {
		printf("%s  %s; 'hob replay %s' repeats the cook\n", out ? out : name,
			   srv_text_bytes(response.body.size, size), out ? out : name);
	}
	srv_cli_response_release(&response);
	return code;
}

const cli_command srv_cli_bundle = {
	"bundle", "ASSET|JOB", "fetch all inputs of a cook as one file",
	"Writes a tar with the source, every file that it refers to, the settings, versions, cook record, error "
	"and log. Use it for a bug report, or repeat the cook elsewhere with 'hob replay'.\n"
	"\n"
	"Examples:\n"
	"  hob bundle art/props/duck.glb -o duck.tar\n"
	"  hob bundle 991\n",
	run_bundle};
