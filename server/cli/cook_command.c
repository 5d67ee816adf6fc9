#include "serve_config.h"
#include "cook_parts.h"
#include "cook_run.h"
#include "preflight.h"

#include "../fs/model_format.h"
#include "../log/log.h"
#include "../worker/check.h"
#include "../worker/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* One run of `hob cook`: a plan (what to cook), a pool of workers, and what became of each entry. */
typedef struct run {
	uv_loop_t loop;
	srv_pool *pool;
	cook_plan plan;
	cook_parts parts;
	uint32_t next, finished, failed, over_budget; /* failed: for other reasons than a budget, too */
	uint32_t failed_budget;
	uint64_t cook_ns, bytes, began_ns;
	uv_work_t *writing;
	uint32_t writes_pending;
	uv_signal_t interrupt;
	bool interrupted, closing, live, quiet, started, fail_fast;
	const char *who;
	cook_write_options write;
	hob_error trouble;
	hob_buf report, report_skipped;
	uint32_t skipped;
} run;

typedef struct write_job {
	run *r;
	uv_work_t work;
	cook_entry *entry;
	srv_outcome *outcome;
	hob_error error;
	hob_notes notes; /* what the classic layout or glTF could not hold */
	cook_bytes bytes;
} write_job;

/* ---- what people see */

static void clear_line(run *r)
{
	if (r->live)
		fputs("\r\x1b[K", stderr);
}

static void show_progress(run *r)
{
	if (!r->live || r->finished == r->plan.count || r->closing)
		return;
	uint64_t spent = uv_hrtime() - r->began_ns;
	uint64_t left = r->finished > 0 ? spent / r->finished * (r->plan.count - r->finished) : 0;
	char eta[32] = "";
	if (r->finished > 0)
		srv_text_duration(left, eta);
	const char *name = r->next > 0 ? r->plan.entries[r->next - 1].path : "";
	size_t length = strlen(name);
	fprintf(stderr, "\r\x1b[K[%u/%u] %s  eta %s", r->finished, r->plan.count,
			length > 48 ? name + length - 48 : name, eta);
	fflush(stderr);
}

typedef struct shown {
	char text[1024];
} shown;

static const char *show(hob_str text, shown *out)
{
	snprintf(out->text, sizeof out->text, "%.*s", (int)(text.len < 1000 ? text.len : 1000), text.data);
	srv_plain(out->text);
	return out->text;
}

/* What Hob knows but cannot read here: told of and counted, no failure. */
static void report_skipped(run *r, const char *file, const char *why)
{
	enum { SHOWN = 20 };
	shown path, text;
	clear_line(r);
	if (r->skipped++ < SHOWN && !r->quiet)
		fprintf(stderr, "skipped  %s: %s\n", show(hob_str_of(file), &path), show(hob_str_of(why), &text));
	hob_buf_put_str(&r->report_skipped, r->skipped > 1 ? HOB_STR(",\n{\"path\":") : HOB_STR("\n{\"path\":"));
	hob_buf_put_json(&r->report_skipped, hob_str_of(file));
	hob_buf_put_str(&r->report_skipped, HOB_STR(",\"why\":"));
	hob_buf_put_json(&r->report_skipped, hob_str_of(why));
	hob_buf_put(&r->report_skipped, "}", 1);
}

static void report_entry(run *r, const cook_entry *entry, const srv_outcome *outcome, const hob_error *error,
						 const cook_bytes *bytes)
{
	bool color = srv_color_wanted(2);
	char time[32], size[32];
	shown path, text;
	show(hob_str_of(entry->path), &path);
	r->finished++;
	clear_line(r);
	if (error && error->code == HOB_ERR_SKIPPED) {
		report_skipped(r, entry->path, error->context);
		show_progress(r);
		return;
	}
	if (error) {
		r->failed++;
		r->failed_budget += error->code == HOB_ERR_BUDGET;
		fprintf(stderr, "%sfailed%s  %s: %s\n", color ? "\x1b[31m" : "", color ? "\x1b[0m" : "", path.text,
				show(hob_str_of(error->context), &text));
	} else if (!r->quiet) {
		fprintf(stderr, "%scooked%s  %s  %s  %s", color ? "\x1b[32m" : "", color ? "\x1b[0m" : "", path.text,
				srv_text_duration(outcome->cook_ns, time),
				srv_text_bytes(bytes->written + bytes->reused, size));
		if (bytes->reused > 0)
			fprintf(stderr, ", %s of it there already", srv_text_bytes(bytes->reused, size));
		fputc('\n', stderr);
	}
	if (outcome && outcome->has_result)
		for (uint32_t i = 0; i < outcome->result.note_count; i++) {
			const hob_note *note = &outcome->result.notes[i];
			bool budget = hob_str_starts(note->code, HOB_STR("budget."));
			if (budget)
				r->over_budget++;
			if (note->level == HOB_NOTE_WARNING && (budget || !r->quiet))
				fprintf(stderr, "        %s: %s\n", path.text, show(note->text, &text));
		}
	cook_report_entry(&r->report, entry, outcome, error, bytes);
	show_progress(r);
}

/* ---- the run */

static void feed(run *r);

static void on_closed(void *user)
{
	run *r = user;
	uv_close((uv_handle_t *)&r->interrupt, NULL);
}

static bool enough(const run *r)
{
	return r->fail_fast && r->failed > 0;
}

static void finish_if_over(run *r)
{
	bool over = r->finished == r->plan.count || r->interrupted || enough(r) || r->trouble.code != HOB_ERR_OK;
	if (r->closing || !over || r->writes_pending > 0)
		return;
	r->closing = true;
	clear_line(r);
	srv_pool_close(r->pool, on_closed, r);
}

static void write_run(uv_work_t *work)
{
	write_job *job = work->data;
	const srv_result *result = &job->outcome->result;
	if (!srv_check_outputs(result, &job->error))
		return;
	for (uint32_t i = 0; i < result->output_count && job->r->write.nothing; i++)
		job->bytes.written += result->outputs[i].bytes.size;
	if (job->r->write.nothing)
		return;
	job->notes.arena = &job->outcome->arena;
	cook_write_entry(&job->r->write, job->entry, &job->outcome->result, &job->notes, &job->bytes,
					 &job->error);
}

static void write_done(uv_work_t *work, int status)
{
	(void)status;
	write_job *job = work->data;
	run *r = job->r;
	shown text;
	r->writes_pending--;
	r->bytes += job->bytes.written;
	r->cook_ns += job->outcome->cook_ns;
	report_entry(r, job->entry, job->outcome, job->error.code != HOB_ERR_OK ? &job->error : NULL,
				 &job->bytes);
	for (uint32_t i = 0; !r->quiet && i < job->notes.count; i++)
		fprintf(stderr, "        %s: %s\n", job->entry->path, show(job->notes.items[i].text, &text));
	srv_outcome_free(job->outcome);
	free(job);
	finish_if_over(r);
}

static void on_done(void *user, void *entry_, srv_outcome *outcome)
{
	run *r = user;
	cook_entry *entry = entry_;
	if (outcome->cancelled || r->interrupted || enough(r)) {
		srv_outcome_free(outcome);
	} else if (!outcome->ok) {
		bool unlucky = outcome->died && (outcome->stalled || outcome->error.code != HOB_ERR_TIMEOUT);
		if (unlucky && entry->tries++ == 0) {
			entry->again = true;
			entry->stalled = outcome->stalled;
			r->plan.again = true;
		} else {
			if (outcome->stalled && entry->stalled)
				srv_outcome_stalled_again(outcome);
			report_entry(r, entry, outcome, &outcome->error, &(cook_bytes){0});
		}
		srv_outcome_free(outcome);
	} else {
		write_job *job = calloc(1, sizeof *job);
		if (!job)
			abort();
		*job = (write_job){.r = r, .entry = entry, .outcome = outcome};
		job->work.data = job;
		r->writes_pending++;
		uv_queue_work(&r->loop, &job->work, write_run, write_done);
	}
	feed(r);
	finish_if_over(r);
}

static cook_entry *next_entry(run *r)
{
	if (r->next < r->plan.count)
		return &r->plan.entries[r->next++];
	/* What killed its worker gets a second chance at the end. */
	for (uint32_t i = 0; r->plan.again && i < r->plan.count; i++)
		if (r->plan.entries[i].again) {
			r->plan.entries[i].again = false;
			return &r->plan.entries[i];
		}
	r->plan.again = false;
	return NULL;
}

static void feed(run *r)
{
	while (r->started && !r->closing && !r->interrupted && !enough(r) && srv_pool_idle(r->pool) > 0) {
		cook_entry *entry = next_entry(r);
		if (!entry)
			break;
		if (entry->settings_error.code != HOB_ERR_OK) {
			report_entry(r, entry, NULL, &entry->settings_error, &(cook_bytes){0});
			continue;
		}
		uint32_t left = r->plan.count - r->next;
		srv_pool_job job = {.path = hob_str_of(entry->path),
							.text = hob_str_of(entry->text),
							.settings = entry->settings,
							.profile = HOB_PROFILE_FINAL,
							.threads = left >= srv_pool_size(r->pool) ? 1 : 0};
		if (!srv_pool_start(r->pool, entry, &job)) {
			hob_error error;
			hob_fail(&error, INTERNAL, "the cook process does not take this job");
			report_entry(r, entry, NULL, &error, &(cook_bytes){0});
		}
		show_progress(r);
	}
	finish_if_over(r);
}

static void on_idle(void *user)
{
	feed(user);
}

/* Two readers may take the same ending, one after the other. */
static void put_once(hob_buf *names, hob_str extension)
{
	char word[48];
	snprintf(word, sizeof word, " .%.*s ", HOB_FMT(extension));
	if (hob_str_find(hob_buf_str(names), hob_str_of(word), 0) != SIZE_MAX)
		return;
	if (names->size > 0)
		names->size--;
	hob_buf_put_str(names, hob_str_of(word));
}

static void say_what_is_read(run *r)
{
	hob_buf names = {0};
	uint32_t count;
	const srv_pool_importer *importers = srv_pool_importers(r->pool, &count);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < importers[i].extension_count; n++)
			put_once(&names, importers[i].extensions[n]);
	hob_fail(&r->trouble, USAGE, "no model was found in '%.40s'; their names end in%.*s", r->plan.root,
			 HOB_FMT(hob_buf_str(&names)));
	hob_buf_release(&names);
}

static void on_ready(void *user)
{
	run *r = user;
	cook_plan_keep_known(&r->plan, r->pool);
	r->started = true;
	r->began_ns = uv_hrtime();
	for (uint32_t i = 0; i < r->plan.skipped_count; i++) {
		const srv_model_format *format = srv_model_format_of(hob_str_of(r->plan.skipped[i]));
		char why[160];
		snprintf(why, sizeof why, "Hob does not read a %s; %s", format->what, format->remedy);
		report_skipped(r, r->plan.skipped[i], why);
	}
	if (r->plan.count + r->skipped == 0)
		say_what_is_read(r);
	finish_if_over(r);
}

static void on_trouble(void *user, const hob_error *why)
{
	run *r = user;
	if (why)
		r->trouble = *why;
	finish_if_over(r);
}

static void on_interrupt(uv_signal_t *handle, int number)
{
	(void)number;
	run *r = handle->data;
	r->interrupted = true;
	finish_if_over(r);
}

static int on_part_get(void *user, const uint8_t key[32])
{
	run *r = user;
	return cook_parts_get(&r->parts, key);
}

static void on_part_put(void *user, const uint8_t key[32], hob_bytes bytes, int fd)
{
	run *r = user;
	cook_parts_put(&r->parts, key, bytes.size, fd);
}

static bool begin(run *r, const srv_pool_options *pool, hob_error *err)
{
	srv_pool_callbacks callbacks = {.user = r,
									.ready = on_ready,
									.idle = on_idle,
									.done = on_done,
									.part_get = on_part_get,
									.part_put = on_part_put,
									.trouble = on_trouble};
	if (!srv_pool_new(&r->loop, pool, &callbacks, &r->pool, err))
		return false;
	uv_signal_init(&r->loop, &r->interrupt);
	r->interrupt.data = r;
	uv_signal_start(&r->interrupt, on_interrupt, SIGINT);
	return true;
}

static uint32_t cooked_count(const run *r)
{
	return r->finished - r->failed - (r->skipped - r->plan.skipped_count);
}

static int finish(run *r, const char *report_path)
{
	char time[32], size[32];
	bool over_budget = r->over_budget > 0 || r->failed_budget > 0;
	int code = r->failed > r->failed_budget ? EXIT_ASSETS_FAILED : over_budget ? EXIT_OVER_BUDGET : EXIT_GOOD;
	if (r->interrupted) {
		fprintf(stderr, "interrupted: %u of %u cooked; nothing half-written is left\n", cooked_count(r),
				r->plan.count);
		return EXIT_INTERRUPTED;
	}
	if (r->trouble.code != HOB_ERR_OK) {
		cli_print_error(r->who, &r->trouble);
		return r->trouble.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_INTERNAL;
	}
	char budget[48] = "", skipped[48] = "";
	if (r->skipped > 0)
		snprintf(skipped, sizeof skipped, ", %u skipped", r->skipped);
	if (r->over_budget > 0)
		snprintf(budget, sizeof budget, ", %u over budget", r->over_budget);
	if (!r->quiet || code != EXIT_GOOD)
		fprintf(stderr, "%u cooked, %u failed%s%s in %s  (%s written)\n", cooked_count(r), r->failed, skipped,
				budget, srv_text_duration(uv_hrtime() - r->began_ns, time),
				r->write.nothing ? "nothing" : srv_text_bytes(r->bytes, size));
	if (r->finished < r->plan.count)
		fprintf(stderr, "stopped at the first failure; %u were not cooked\n", r->plan.count - r->finished);
	hob_error error = {0};
	if (report_path &&
		!cook_report_write(report_path, &r->report, &r->report_skipped, cooked_count(r), r->failed, &error)) {
		cli_print_error(r->who, &error);
		return error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_INTERNAL;
	}
	return code;
}

int cook_run(cook_plan *plan, const cook_run_options *options)
{
	static run r;
	r = (run){.who = options->who,
			  .plan = *plan,
			  .write = options->write,
			  .quiet = options->quiet,
			  .fail_fast = options->fail_fast,
			  .live = !options->quiet && srv_color_wanted(2) && isatty(2)};
	*plan = (cook_plan){.root_fd = -1};
	srv_engine_options limits;
	serve_engine_options(options->config, &limits);
	srv_pool_options pool = {.workers = limits.workers,
							 .timeout_ms = limits.timeout_ms,
							 .memory_limit = limits.memory_limit,
							 .sandbox = limits.sandbox,
							 .root_fds = &r.plan.root_fd,
							 .root_count = 1};
	hob_error error = {0};
	signal(SIGPIPE, SIG_IGN);
	int code;
	bool looping = cli_loop_init(&r.loop, &error);
	if (looping && begin(&r, &pool, &error)) {
		uv_run(&r.loop, UV_RUN_DEFAULT);
		code = finish(&r, options->report);
	} else {
		cli_print_error(r.who, &error);
		code = EXIT_INTERNAL;
	}
	if (looping)
		uv_loop_close(&r.loop);
	hob_buf_release(&r.report);
	hob_buf_release(&r.report_skipped);
	cook_plan_release(&r.plan);
	cook_parts_release(&r.parts);
	return code;
}

static int run_cook(int argc, char **argv)
{
	const char *out = "cooked", *report = NULL, *root = NULL, *settings = NULL, *file = NULL, *budget = NULL;
	static const srv_config_key keys[] = {SRV_CONFIG_jobs, SRV_CONFIG_timeout, SRV_CONFIG_memory,
										  SRV_CONFIG_sandbox};
	const char *given[HOB_COUNT_OF(keys)] = {0};
	bool classic = false, quiet = false, check = false, fail_fast = false, keep_going = false;
	cli_option options[] = {
		{"--out", 'o', CLI_TEXT, &out, "DIR", "where the results go (cooked)"},
		{"--root", 0, CLI_TEXT, &root, "DIR",
		 "models may refer to files below DIR (default: current folder, or the model's)"},
		{"--classic", 0, CLI_FLAG, &classic, NULL, "write the classic layout too"},
		{"--settings", 0, CLI_TEXT, &settings, "JSON|FILE",
		 "settings for all, over those of cook.json: '{\"lods\":{\"max\":1}}'"},
		{"--config", 0, CLI_TEXT, &file, "FILE", "the configuration (hob.json here or above)"},
		{"--report", 0, CLI_TEXT, &report, "FILE", "write a JSON report; - is stdout"},
		{"--budget", 0, CLI_TEXT, &budget, "FILE",
		 "budgets for all, over those of cook.json: {\"triangles\": 20000, \"bytes\": 4000000}; exit code 4 "
		 "above"},
		{"--check", 0, CLI_FLAG, &check, NULL, "cook everything and write nothing"},
		{"--keep-going", 'k', CLI_FLAG, &keep_going, NULL,
		 "cook the rest after a failure; so it does without it"},
		{"--fail-fast", 0, CLI_FLAG, &fail_fast, NULL, "stop at the first failure"},
		{"--quiet", 'q', CLI_FLAG, &quiet, NULL, "say only what failed"},
		{0},
		{0},
		{0},
		{0},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(keys); i++) {
		const srv_config_row *row = &srv_config_table[keys[i]];
		options[HOB_COUNT_OF(options) - HOB_COUNT_OF(keys) + i] =
			(cli_option){row->option, row->letter, CLI_TEXT, &given[i], row->placeholder, row->doc};
	}
	int operands = cli_parse(&cli_cook, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return cli_parse_exit(operands);
	if (operands == 0)
		return cli_usage_error(&cli_cook, "name at least one model, folder or scene list");
	if (keep_going && fail_fast)
		return cli_usage_error(&cli_cook, "--keep-going and --fail-fast say opposite things");
	hob_error error = {0};
	srv_config config;
	bool configured = srv_config_load(&config, file, &error);
	for (size_t i = 0; configured && i < HOB_COUNT_OF(keys); i++)
		configured = !given[i] || srv_config_set(&config, keys[i], given[i], SRV_CONFIG_OPTION,
												 srv_config_table[keys[i]].option, &error);
	if (!configured) {
		srv_config_release(&config);
		return cli_usage_error(&cli_cook, "%s", error.context);
	}
	cook_plan_options plan = {.root = root, .config = &config, .settings = config.defaults};
	cook_plan made;
	char *budget_text = NULL, *over = NULL;
	if ((settings && !cook_plan_read_settings(settings, &over, &plan.over_origin, &error)) ||
		(budget && !cook_plan_read_budget(budget, &budget_text, &error))) {
		free(over);
		srv_config_release(&config);
		return cli_usage_error(&cli_cook, "%s", error.context);
	}
	plan.over = over;
	plan.budget = budget_text;
	plan.budget_origin = budget;
	bool planned = cook_plan_make(&made, &plan, argv + 1, (uint32_t)operands, &error);
	free(budget_text);
	free(over);
	if (!planned) {
		cli_print_error("hob cook", &error);
		srv_config_release(&config);
		return EXIT_USAGE;
	}
	if (report && strcmp(report, "-") == 0)
		report = "/dev/stdout";
	cook_write_options write = {.out = out, .classic = classic, .nothing = check};
	if (report && !cook_report_place(report, &made, &write, &error)) {
		cook_plan_release(&made);
		srv_config_release(&config);
		return cli_usage_error(&cli_cook, "%s", error.context);
	}
	cook_run_options how = {.who = "hob cook",
							.write = write,
							.config = &config,
							.report = report,
							.quiet = quiet,
							.fail_fast = fail_fast};
	int code = cook_run(&made, &how);
	srv_config_release(&config);
	return code;
}

const cli_command cli_cook = {
	"cook", "PATH...", "cook models once and exit, without a daemon",
	"PATH is a model, a folder (every model below it), or a scene list (a JSON "
	"array of {input_scene, output_mesh,\n"
	"output_scene, output_materials, scale, calculate_LODs, merge_instances}), "
	"whose outputs go where it says, in the\n"
	"classic layout. Results are written beside each other as OUT/<path>.meshes, "
	".materials, .scene, .animations and\n"
	".report.json, textures as OUT/textures/<hash>.ktx2. A folder's cook.json and "
	"a model's MODEL.cook.json count; what --settings says wins over them.\n"
	"In a folder that is a source of hob.json, the source's options, include and exclude "
	"count; a model that PATH names is cooked all the same.\n"
	"\n"
	"Examples:\n"
	"  hob cook art/ -o build/ --report build/report.json\n"
	"  hob cook art/ --check --budget budget.json\n"
	"  hob cook duck.glb -o out/ --classic\n"
	"  hob cook data/sceneconverter.json\n",
	run_cook};
