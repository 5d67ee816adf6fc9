#include "cook_run.h"
#include "serve_config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_of_folders(const cook_plan *plan)
{
	for (uint32_t i = 0; i < plan->count; i++)
		if (plan->entries[i].named || plan->entries[i].output_mesh)
			return false;
	return true;
}

static int refuse(srv_config *config, const char *why)
{
	int code = srv_cli_usage_error(&srv_cli_cook, "%s", why);
	srv_config_release(config);
	return code;
}

static int run_cook(int argc, char **argv)
{
	const char *out = "cooked", *report = NULL, *format = NULL, *root = NULL, *settings = NULL,
			   *budget = NULL, *depfile = NULL, *depform = "make";
	serve_options chosen = {0};
	static const srv_config_key keys[] = {
		SRV_CONFIG_jobs,  SRV_CONFIG_timeout,		SRV_CONFIG_memory,	   SRV_CONFIG_sandbox,
		SRV_CONFIG_cache, SRV_CONFIG_blender,		SRV_CONFIG_upstream,   SRV_CONFIG_upstream_token_file,
		SRV_CONFIG_push,  SRV_CONFIG_farm_metadata, SRV_CONFIG_farm_blobs, SRV_CONFIG_farm_credentials_file};
	bool classic = false, quiet = false, check = false, fail_fast = false, keep_going = false, force = false,
		 prune = false, offer = false, strict = false;
	uint32_t wait_s = COOK_WAIT_WRITER_S;
	enum { OWN = 19 };
	cli_option options[OWN + HOB_COUNT_OF(keys)] = {
		{"--out", 'o', CLI_TEXT, &out, "DIR", "the folder for the results (cooked)"},
		{"--root", 0, CLI_TEXT, &root, "DIR",
		 "models may refer to files below DIR (default: current folder, or the model's)"},
		{"--classic", 0, CLI_FLAG, &classic, NULL, "write the classic layout too"},
		{"--settings", 0, CLI_TEXT, &settings, "JSON|FILE",
		 "settings for all models, overriding cook.json: '{\"lods\":{\"max\":1}}'"},
		{"--config", 0, CLI_TEXT, &chosen.file, "FILE",
		 "the configuration file (hob.json here or in a parent)"},
		{"--report", 0, CLI_TEXT, &report, "FILE", "write a report with totals and every asset; - is stdout"},
		{"--format", 0, CLI_TEXT, &format, "FORM",
		 "format of the report: json or junit (to stdout without --report); github prints annotations"},
		{"--budget", 0, CLI_TEXT, &budget, "JSON|FILE",
		 "budgets for all models, overriding cook.json: '{\"triangles\": 20000, \"bytes\": 4000000}'; exit "
		 "code 4 if one is exceeded"},
		{"--strict", 0, CLI_FLAG, &strict, NULL, "a model with a warning fails; exit code 4"},
		{"--depfile", 0, CLI_TEXT, &depfile, "FILE",
		 "write which files the outputs are made of, for make and ninja"},
		{"--depfile-format", 0, CLI_TEXT, &depform, "FORM",
		 "make (default), or json, which has missing files too"},
		{"--check", 0, CLI_FLAG, &check, NULL, "cook everything and write nothing"},
		{"--keep-going", 'k', CLI_FLAG, &keep_going, NULL, "continue after a failure; this is the default"},
		{"--fail-fast", 0, CLI_FLAG, &fail_fast, NULL, "stop at the first failure"},
		{"--force", 0, CLI_FLAG, &force, NULL, "cook again, even if the cache has the result"},
		{"--prune", 0, CLI_FLAG, &prune, NULL, "remove outputs in --out of models that no longer exist"},
		{"--farm", 0, CLI_FLAG, &offer, NULL, "let the workers of the farm cook, too: 'hob farm work'"},
		{"--wait-writer", 0, CLI_NUMBER, &wait_s, "SECONDS",
		 "time for a program that is writing a file of a model (30)"},
		{"--quiet", 'q', CLI_FLAG, &quiet, NULL, "print failures only"},
	};
	assert(options[OWN - 1].name && !options[OWN].name);
	for (size_t i = 0; i < HOB_COUNT_OF(keys); i++)
		options[OWN + i] = srv_serve_option(&chosen, keys[i]);
	int operands = srv_cli_parse(&srv_cli_cook, options, HOB_COUNT_OF(options), argc, argv);
	if (operands == 0)
		return srv_cli_usage_error(&srv_cli_cook, "name at least one model, folder or scene list");
	if (keep_going && fail_fast)
		return srv_cli_usage_error(&srv_cli_cook, "--keep-going and --fail-fast contradict each other");
	if (strcmp(depform, "make") != 0 && strcmp(depform, "json") != 0)
		return srv_cli_usage_error(&srv_cli_cook, "--depfile-format is make or json, not '%s'", depform);
	if (prune && check)
		return srv_cli_usage_error(&srv_cli_cook, "--check writes nothing, so --prune has nothing to remove");
	static const char *const formats[] = {"json", "junit", "github"};
	uint32_t wanted = 0;
	while (format && wanted < HOB_COUNT_OF(formats) && strcmp(formats[wanted], format) != 0)
		wanted++;
	if (wanted == HOB_COUNT_OF(formats))
		return srv_cli_usage_error(&srv_cli_cook, "--format is json, junit or github, not '%s'", format);
	if (format && wanted != COOK_FORMAT_GITHUB && !report)
		report = "-";
	hob_error error = {0};
	srv_config config;
	serve_upstream upstream;
	if (!srv_serve_options_load(&chosen, &config, &error) ||
		!srv_serve_upstream_options(&config, &upstream, &error))
		return refuse(&config, error.context);
	if (offer && !upstream.has_farm)
		return refuse(&config, "--farm needs a farm: name it with farm.metadata and farm.blobs in hob.json");
	cook_plan_options plan = {.root = root, .config = &config, .strict = strict};
	cook_plan made;
	bool read = srv_cook_plan_read(settings, "--settings", &plan.over, &error) &&
				srv_cook_plan_read(budget, "--budget", &plan.budget, &error);
	bool planned = read && srv_cook_plan_make(&made, &plan, argv + 1, (uint32_t)operands, &error);
	free(plan.over.text);
	free(plan.budget.text);
	if (!read)
		return refuse(&config, error.context);
	if (!planned) {
		srv_config_release(&config);
		return srv_cli_fail("hob cook", &error, EXIT_USAGE);
	}
	if (report && strcmp(report, "-") == 0)
		report = "/dev/stdout";
	cook_write_options write = {.out = out, .classic = classic, .nothing = check};
	if (report && !srv_cook_report_place(report, &made, &write, &error)) {
		srv_cook_plan_release(&made);
		return refuse(&config, error.context);
	}
	if (prune && !is_of_folders(&made)) {
		srv_cook_plan_release(&made);
		return refuse(&config, "--prune takes folders: the outputs of all other files would be removed");
	}
	cook_run_options how = {.who = "hob cook",
							.write = write,
							.config = &config,
							.report = report,
							.format = (cook_format)wanted,
							.cache = srv_serve_cache(&config),
							.upstream = &upstream,
							.offer = offer,
							.depfile = depfile,
							.depfile_json = strcmp(depform, "json") == 0,
							.if_outside = root ? NULL : "; or name a folder above that holds it: --root DIR",
							.force = force,
							.quiet = quiet,
							.fail_fast = fail_fast,
							.wait_s = wait_s,
							.prune = prune};
	int code = srv_cook_run(&made, &how);
	srv_config_release(&config);
	return code;
}

const cli_command srv_cli_cook = {
	"cook", "PATH...", "cook models once and exit, without a daemon",
	"PATH is a model, a folder (every model below it), or a scene list: a JSON array of {input_scene, "
	"output_mesh, output_scene, output_materials, scale, calculate_LODs, merge_instances}. The outputs of a "
	"scene list go where it says, in the classic layout.\n"
	"\n"
	"The outputs of a model are OUT/<path>.meshes, .materials, .scene, .animations and .report.json; its "
	"textures are OUT/textures/<hash>.ktx2. <path> is relative to --root, else to the source's folder, else "
	"to the folder that PATH names.\n"
	"\n"
	"Settings come from the cook.json of a folder and the MODEL.cook.json of a model; --settings overrides "
	"both. If a folder is a source of hob.json, its options, include and exclude apply too. A model named by "
	"PATH is always cooked.\n"
	"\n"
	"With --cache DIR (or the cache of hob.json or HOB_CACHE), results are kept and reused; a cache that a "
	"daemon uses is only read. With --upstream "
	"URL, results come from another Hob and are pushed to it, so build machines need no cache of their own.\n"
	"\n"
	"A model whose file is being written is cooked when the file rests; if that takes longer than "
	"--wait-writer, it fails, and the message names the program that writes.\n"
	"\n"
	"--prune removes the outputs of models that no longer exist, and textures that nothing uses. Use it "
	"only if the folder of -o holds nothing else.\n"
	"\n"
	"Exit codes: 0 everything is cooked; 1 an asset failed; 2 usage, configuration, or a PATH that does not "
	"exist; 4 an asset is over its budget or breaks a rule (strict, portability), and nothing else failed; 5 "
	"the machine ran out of memory, disk or processes; 130 interrupted.\n"
	"\n"
	"Examples:\n"
	"  hob cook art/ -o build/ --report build/report.json\n"
	"  hob cook art/ -o build/ --cache .hob\n"
	"  hob cook art/ -o build/ --upstream http://cache:7780 --push ci\n"
	"  hob cook art/ --check --budget '{\"triangles\": 50000}'\n"
	"  hob cook art/ -o build/ --format junit --report build/hob.xml\n"
	"  hob cook duck.glb -o out/ --classic\n"
	"  hob cook data/sceneconverter.json\n",
	run_cook};
