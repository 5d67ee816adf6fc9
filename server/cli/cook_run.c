#include "cook_run_private.h"
#include "preflight.h"

#include "../../core/base/array.h"
#include "../../core/settings/rules.h"
#include "../fs/model_format.h"
#include "../fs/remove_tree.h"
#include "../log/log.h"
#include "../store/guest.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct write_job {
	run *r;
	srv_piece piece;
	cook_entry *entry;
	srv_batch_end end;
	const srv_outcome *outcome;
	srv_outcome *read; /* a kept record, as an outcome */
	bool changed;	   /* an input is no longer what the cook read */
	hob_error error;
	hob_arena read_arena;
	hob_notes notes; /* about content that the classic layout or glTF cannot express */
	cook_bytes bytes;
} write_job;

/* ---- output for people */

typedef struct shown {
	char text[1024];
} shown;

static const char *show(hob_str text, shown *out)
{
	snprintf(out->text, sizeof out->text, "%.*s", (int)(text.len < 1000 ? text.len : 1000), text.data);
	srv_plain(out->text);
	return out->text;
}

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
	hob_str name = hob_str_of(r->newest ? r->newest->path : "");
	shown text;
	fprintf(stderr, "\r\x1b[K[%u/%u] %s  eta %s", r->finished, r->plan.count,
			show(hob_str_sub(name, name.len > 48 ? name.len - 48 : 0, name.len), &text), eta);
	fflush(stderr);
}

/* Lists and counts a file in a format that Hob knows but cannot read here. It is not a failure. */
static void report_skipped(run *r, const char *file, const char *why)
{
	enum { SHOWN = 20 };
	shown path, text;
	clear_line(r);
	if (r->totals.skipped++ < SHOWN && !r->options->quiet)
		fprintf(stderr, "skipped  %s: %s\n", show(hob_str_of(file), &path), show(hob_str_of(why), &text));
	srv_cook_report_skipped(&r->report_skipped, file, why);
}

/* Writes why Hob does not read the file; false if its format is unknown. */
static bool say_unread(hob_str path, char why[160])
{
	const srv_model_format *format = srv_model_format_of(path);
	if (format)
		snprintf(why, 160, "Hob does not read a %s; %s", format->what, format->remedy);
	return format != NULL;
}

static void report_entry(run *r, const cook_entry *entry, const srv_outcome *outcome, const hob_error *error,
						 const cook_bytes *bytes)
{
	char time[32], size[32];
	shown path, text;
	r->finished++;
	if (r->options->see) {
		r->options->see(r->options->user, r->pool, entry, outcome, error);
		return;
	}
	bool color = srv_color_wanted(2);
	show(hob_str_of(entry->path), &path);
	clear_line(r);
	if (error && error->code == HOB_ERR_SKIPPED && !entry->named) {
		report_skipped(r, entry->path, error->context);
		show_progress(r);
		return;
	}
	char why[160];
	bool refused = error && (error->code == HOB_ERR_BUDGET || error->code == HOB_ERR_RULE);
	bool unread = error && error->code == HOB_ERR_UNSUPPORTED &&
				  !srv_pool_importer_for(r->pool, hob_str_of(entry->path)) &&
				  say_unread(hob_str_of(entry->path), why);
	if (error) {
		r->totals.failed++;
		r->failed_rule += refused;
		/* A stage that lacks a layer outside the root says so in a failure of its own. */
		bool names_root =
			hob_str_find(hob_str_of(error->context), HOB_STR("below the watched root"), 0) != SIZE_MAX;
		bool outside = (error->code == HOB_ERR_OUTSIDE || names_root) && r->options->if_outside;
		fprintf(stderr, "%sfailed%s  %s: %s%s\n", color ? "\x1b[31m" : "", color ? "\x1b[0m" : "", path.text,
				show(hob_str_of(unread ? why : error->context), &text),
				outside ? r->options->if_outside : "");
	} else if (!r->options->quiet) {
		fprintf(stderr, "%s%s%s  %s  %s  %s", color ? "\x1b[32m" : "",
				entry->fetched	? "fetched"
				: entry->cached ? "cached"
								: "cooked",
				color ? "\x1b[0m" : "", path.text, srv_text_duration(outcome->cook_ns, time),
				srv_text_bytes(bytes->written + bytes->reused, size));
		if (bytes->reused > 0)
			fprintf(stderr, ", %s of it there already", srv_text_bytes(bytes->reused, size));
		fputc('\n', stderr);
	}
	uint32_t over_before = r->over_budget;
	if (outcome && outcome->has_result && !refused)
		for (uint32_t i = 0; i < outcome->result.note_count; i++) {
			const hob_note *note = &outcome->result.notes[i];
			bool budget = hob_str_starts(note->code, HOB_STR("budget."));
			if (budget)
				r->over_budget++;
			if (note->level == HOB_NOTE_WARNING && (budget || !r->options->quiet))
				srv_causes_log(&r->warnings, SRV_LOG_WARNING, "", note->text, "%s: %s", path.text,
							   show(note->text, &text));
		}
	r->totals.over_budget += r->over_budget > over_before || (error && error->code == HOB_ERR_BUDGET);
	r->totals.triangles += outcome && outcome->has_result && !error ? outcome->result.stats.triangles : 0;
	srv_cook_report_entry(&r->report, entry, outcome, error, bytes);
	show_progress(r);
}

/* ---- the run */

static void say_warning(const char *verb, const char *text)
{
	(void)verb;
	shown plain;
	fprintf(stderr, "        %s\n", show(hob_str_of(text), &plain));
}

static void on_closed(void *user)
{
	run *r = user;
	for (size_t i = 0; i < HOB_COUNT_OF(r->interrupts); i++)
		uv_close((uv_handle_t *)&r->interrupts[i], NULL);
	uv_close((uv_handle_t *)&r->look, NULL);
}

static bool is_giving(const run *r)
{
	srv_upstream_facts facts;
	srv_upstream *upstream = srv_batch_upstream(r->engine);
	if (!upstream)
		return false;
	srv_upstream_look(upstream, &facts);
	return facts.outbox > 0 && facts.state == SRV_UPSTREAM_UP && facts.gives && !facts.read_only &&
		   !facts.full;
}

static bool enough(const run *r)
{
	return r->options->fail_fast && r->totals.failed > 0;
}

void srv_cook_run_finish_if_over(run *r)
{
	bool over = r->finished == r->plan.count || r->interrupted || enough(r) || r->error.code != HOB_ERR_OK;
	if (r->closing || !over || r->writes_pending > 0)
		return;
	if (!srv_cook_run_end_offer(r) || (!r->interrupted && is_giving(r)))
		return;
	r->closing = true;
	clear_line(r);
	srv_engine_close(r->engine, on_closed, r);
}

static void on_given(void *user)
{
	srv_cook_run_finish_if_over(user);
}

static bool goes_on(const run *r)
{
	return r->started && !r->closing && !r->interrupted && !enough(r);
}

/* ---- files that are being written */

enum { LOOK_MS = 100 };

static void fail_waiting(run *r, cook_entry *entry)
{
	hob_error error;
	char by[100] = "";
	if (entry->wait.writer[0])
		snprintf(by, sizeof by, " by %s", entry->wait.writer);
	hob_str file = entry->wait.file.len > 0 ? entry->wait.file : hob_str_of(entry->path);
	hob_fail(&error, CHANGED, "'%.*s' is still being written%s after %u s (--wait-writer)", HOB_FMT(file), by,
			 r->options->wait_s);
	report_entry(r, entry, entry->wait.outcome, &error, &(cook_bytes){0});
}

static void tell_waiting(run *r, cook_entry *entry)
{
	shown path, file, writer;
	entry->wait.told = true;
	clear_line(r);
	fprintf(stderr, "waiting  %s: %s writes '%s'\n", show(hob_str_of(entry->path), &path),
			show(hob_str_of(entry->wait.writer[0] ? entry->wait.writer : "a program"), &writer),
			show(entry->wait.file, &file));
}

/* Cooks a waiting model again, or fails it. False: it keeps waiting. */
static bool look_at_waiting(run *r, cook_entry *entry)
{
	cook_wait *wait = &entry->wait;
	uint64_t spent = uv_hrtime() - wait->began_ns;
	if (srv_cook_wait_rests(wait, r->plan.root_fd))
		srv_batch_again(r->engine, (uint32_t)(entry - r->plan.entries));
	else if (spent >= (uint64_t)r->options->wait_s * 1000000000)
		fail_waiting(r, entry);
	else {
		if (!wait->told && !r->options->quiet && spent > 5 * LOOK_MS * 1000000ull)
			tell_waiting(r, entry);
		return false;
	}
	srv_outcome_free(wait->outcome);
	wait->outcome = NULL;
	wait->file = (hob_str){0};
	return true;
}

static void on_look(uv_timer_t *timer)
{
	run *r = timer->data;
	for (uint32_t i = 0; r->waiting > 0 && i < r->plan.count && goes_on(r); i++)
		if (r->plan.entries[i].wait.outcome)
			r->waiting -= look_at_waiting(r, &r->plan.entries[i]);
	if (r->waiting == 0)
		uv_timer_stop(timer);
	srv_cook_run_finish_if_over(r);
}

static void wait_for_writer(run *r, cook_entry *entry, srv_outcome *outcome)
{
	assert(!entry->wait.outcome);
	entry->wait.outcome = outcome;
	entry->wait.began_ns = entry->wait.began_ns ? entry->wait.began_ns : uv_hrtime();
	if (r->waiting++ == 0)
		uv_timer_start(&r->look, on_look, LOOK_MS, LOOK_MS);
	srv_cook_run_finish_if_over(r);
}

/* ---- the end of a model */

static void write_run(srv_piece *piece)
{
	write_job *job = piece->user;
	const run *r = job->r;
	bool kept = job->end.kept != NULL;
	const char *source = job->entry->text ? job->entry->path : NULL;
	if (kept && !(job->outcome = job->read = srv_cook_cache_read(r->store, job->entry->path, job->end.kept,
																 r->options->only_report)))
		return;
	job->changed = !kept && !r->offered && srv_cook_wait_changed(r->plan.root_fd, source, job->outcome);
	const srv_result *result = &job->outcome->result;
	if (job->changed ||
		(!r->offered && !r->options->only_report &&
		 !hob_rules_check(&job->entry->settings, result->notes, result->note_count, &job->error)))
		return;
	for (uint32_t i = 0; i < result->output_count && r->options->write.nothing; i++)
		job->bytes.written += result->outputs[i].bytes.size;
	if (r->options->write.nothing)
		return;
	job->notes.arena = &job->read_arena;
	srv_cook_write_entry(&r->options->write, job->entry, result, &job->notes, &job->bytes, &job->error);
}

static void write_done(srv_piece *piece)
{
	hob_own write_job *job = piece->user;
	run *r = job->r;
	cook_entry *entry = job->entry;
	bool good = job->error.code == HOB_ERR_OK;
	shown text;
	r->writes_pending--;
	if (!job->outcome) { /* a kept output is damaged */
		srv_batch_remake(job->end.job);
	} else if (job->changed) {
		wait_for_writer(r, entry, srv_batch_wait(job->end.job));
	}
	if (!job->outcome || job->changed) {
		hob_arena_release(&job->read_arena);
		return;
	}
	entry->cached = job->end.kept;
	entry->fetched = job->end.fetched;
	r->totals.written_bytes += job->bytes.written;
	r->totals.reused_bytes += job->bytes.reused;
	r->totals.cook_ns += job->end.kept ? 0 : job->outcome->cook_ns;
	r->totals.cached += job->end.kept && good;
	r->fetched += job->end.fetched && good;
	report_entry(r, entry, job->outcome, good ? NULL : &job->error, &job->bytes);
	if (r->options->depfile && good)
		srv_cook_depfile_add(&r->depfile, r->options->depfile_json, &r->options->write, &r->plan, entry,
							 &job->outcome->result);
	for (uint32_t i = 0; !r->options->quiet && i < job->notes.count; i++)
		fprintf(stderr, "        %s: %s\n", entry->path, show(job->notes.items[i].text, &text));
	srv_outcome_free(job->read);
	hob_arena_release(&job->read_arena);
	srv_batch_let_go(job->end.job);
	srv_cook_run_finish_if_over(r);
}

/* ---- files of an offered model */

typedef struct bringing {
	srv_piece piece;
	run *r;
	void *job;
	const char *path;
	const srv_outcome *outcome;
	bool ok;
} bringing;

static void bring_run(srv_piece *piece)
{
	bringing *b = piece->user;
	b->ok = srv_offer_bring(b->r->offered, b->path, b->outcome);
}

static void bring_done(srv_piece *piece)
{
	hob_own bringing *b = piece->user;
	srv_batch_brought(b->job, b->ok);
}

static bool on_bring(void *user, void *job, uint32_t source, const srv_outcome *outcome)
{
	enum { ROUNDS_MAX = 12 };
	run *r = user;
	cook_entry *entry = &r->plan.entries[source];
	if (outcome ? !srv_offer_lacks(r->offered, outcome) : entry->rounds > 0)
		return false;
	bringing *b = hob_must(calloc(1, sizeof *b));
	*b = (bringing){{bring_run, bring_done, .user = b}, r, job, entry->path, outcome, false};
	if (entry->rounds++ < ROUNDS_MAX)
		srv_engine_piece(r->engine, &b->piece, false);
	else
		bring_done(&b->piece);
	return true;
}

/* ---- answers of the engine */

static bool is_left(const run *r, const srv_batch_end *end)
{
	return r->offered && (end->fetched || (end->error && end->error->code == HOB_ERR_CANCELLED));
}

static void tell_unkept(run *r, const hob_error *why)
{
	shown text;
	if (why && !r->keep_failed) {
		clear_line(r);
		fprintf(stderr, "%s: results are not kept: %s\n", r->options->who,
				show(hob_str_of(why->context), &text));
	}
	r->keep_failed = r->keep_failed || why;
}

static void on_over(void *user, const srv_batch_end *end)
{
	run *r = user;
	cook_entry *entry = &r->plan.entries[end->source];
	if (!goes_on(r)) {
		srv_batch_let_go(end->job);
	} else if (is_left(r, end)) {
		r->finished++;
		r->left++;
		srv_batch_let_go(end->job);
		srv_cook_run_finish_if_over(r);
	} else if (end->error && end->error->code == HOB_ERR_CHANGED && end->outcome) {
		wait_for_writer(r, entry, srv_batch_wait(end->job));
	} else if (end->error) {
		report_entry(r, entry, end->outcome, end->error, &(cook_bytes){0});
		srv_batch_let_go(end->job);
		srv_cook_run_finish_if_over(r);
	} else {
		write_job *job = hob_must(calloc(1, sizeof *job));
		tell_unkept(r, end->unkept);
		*job = (write_job){.piece = {write_run, write_done, .user = job},
						   .r = r,
						   .entry = entry,
						   .end = *end,
						   .outcome = end->outcome};
		hob_arena_init(&job->read_arena, 64 << 20);
		r->writes_pending++;
		srv_engine_piece(r->engine, &job->piece, end->kept && r->options->only_report);
	}
}

/* ---- the run */

static void on_begun(void *user, uint32_t source)
{
	run *r = user;
	r->newest = &r->plan.entries[source];
	show_progress(r);
}

static bool add_sources(run *r)
{
	r->batch.sources = r->sources = calloc(r->plan.count + 1, sizeof *r->sources);
	for (uint32_t i = 0; r->sources && i < r->plan.count; i++) {
		const cook_entry *entry = &r->plan.entries[i];
		bool wrong = entry->settings_error.code != HOB_ERR_OK;
		r->sources[i] = (srv_batch_source){.path = entry->path,
										   .text = hob_str_of(entry->text),
										   .settings = &entry->settings,
										   .lookup = r->offered ? &entry->offered : NULL,
										   .size = entry->size,
										   .force = r->options->force,
										   .wrong = wrong ? &entry->settings_error : NULL};
	}
	return r->sources && (!r->offered || srv_offer_tell(r->offered, r->engine)) &&
		   srv_batch_add(r->engine, r->plan.count);
}

static void on_ready(void *user, srv_pool *pool)
{
	run *r = user;
	r->pool = pool;
	srv_cook_plan_keep_known(&r->plan, pool);
	r->began_ns = uv_hrtime();
	r->started = true;
	if (!add_sources(r))
		hob_fail(&r->error, MEMORY, "no memory left for the list of models");
	srv_cook_run_offer(r);
	for (uint32_t i = 0; i < r->plan.skipped_count; i++) {
		char why[160];
		say_unread(hob_str_of(r->plan.skipped[i]), why);
		report_skipped(r, r->plan.skipped[i], why);
	}
	if (r->plan.count + r->totals.skipped == 0)
		srv_cook_plan_say_nothing(pool, r->plan.root, &r->error);
	srv_cook_run_finish_if_over(r);
}

static void on_degraded(void *user, const hob_error *why)
{
	run *r = user;
	if (why)
		r->error = *why;
	srv_cook_run_finish_if_over(r);
}

static void on_interrupt(uv_signal_t *handle, int number)
{
	(void)number;
	run *r = handle->data;
	r->interrupted = true;
	srv_cook_run_finish_if_over(r);
}

/* A signal that is ignored, as under nohup, or that hob farm work hears itself, stays so. */
static void hear_interrupts(run *r)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	for (size_t i = 0; i < HOB_COUNT_OF(r->interrupts); i++) {
		struct sigaction now;
		uv_signal_init(&r->loop, &r->interrupts[i]);
		r->interrupts[i].data = r;
		if (i == 0 || (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL))
			uv_signal_start(&r->interrupts[i], on_interrupt, numbers[i]);
	}
}

static bool begin(run *r, srv_engine_options *engine, hob_error *err)
{
	static const srv_engine_callbacks none = {0};
	r->batch = (srv_engine_batch){.user = r,
								  .ready = on_ready,
								  .begun = on_begun,
								  .over = on_over,
								  .bring = r->offered ? on_bring : NULL,
								  .degraded = on_degraded,
								  .changed = on_given,
								  .keeps = r->store && !r->guest};
	r->root = (srv_engine_root){.name = "", .path = r->plan.root};
	engine->roots = &r->root;
	engine->root_count = 1;
	engine->batch = &r->batch;
	if (!srv_engine_new(&r->loop, engine, r->store, NULL, NULL, &none, &r->engine, err))
		return false;
	hear_interrupts(r);
	uv_timer_init(&r->loop, &r->look);
	r->look.data = r;
	return true;
}

static uint32_t done_count(const run *r)
{
	return r->finished - r->totals.failed - r->left - (r->totals.skipped - r->plan.skipped_count);
}

static void tell_of_upstream(const run *r)
{
	shown text;
	srv_upstream_facts facts;
	srv_upstream *upstream = srv_batch_upstream(r->engine);
	if (!upstream)
		return;
	srv_upstream_look(upstream, &facts);
	bool gives = facts.outbox > 0 && facts.gives, up = facts.state == SRV_UPSTREAM_UP;
	if (!up || gives)
		fprintf(stderr, "%s: ", r->options->who);
	if (!up)
		fprintf(stderr, "the upstream was of no use: %s", show(hob_str_of(facts.reason), &text));
	if (gives)
		fprintf(stderr, "%s%llu result%s could not be given to it%s", up ? "" : "; ",
				(unsigned long long)facts.outbox, HOB_PLURAL(facts.outbox),
				r->folder[0] ? "" : ", the next run tries again");
	if (!up || gives)
		fputc('\n', stderr);
}

static bool write_report(run *r, const cook_run_options *options, hob_error *err)
{
	cook_totals *t = &r->totals;
	t->cooked = done_count(r) - t->cached;
	t->bytes = t->written_bytes + t->reused_bytes;
	t->written_bytes = r->options->write.nothing ? 0 : t->written_bytes;
	t->wall_ns = uv_hrtime() - r->began_ns;
	return (!options->report && options->format != COOK_FORMAT_GITHUB) ||
		   srv_cook_report_write(options->report, options->format, r->plan.root, &r->report,
								 &r->report_skipped, t, err);
}

static int finish(run *r)
{
	const cook_run_options *options = r->options;
	char time[32], size[32];
	srv_causes_end(&r->warnings);
	bool over_budget = r->over_budget > 0 || r->failed_rule > 0;
	int code = r->totals.failed > r->failed_rule ? EXIT_ASSETS_FAILED
			   : over_budget					 ? EXIT_OVER_BUDGET
												 : EXIT_GOOD;
	if (r->interrupted) {
		fprintf(stderr, "interrupted: %u of %u cooked; nothing half-written is left\n", done_count(r),
				r->plan.count);
		return EXIT_INTERRUPTED;
	}
	if (r->error.code != HOB_ERR_OK)
		return srv_cli_fail(r->options->who, &r->error,
							r->error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_INTERNAL);
	if (options->see)
		return EXIT_GOOD;
	char budget[48] = "", skipped[48] = "";
	if (r->totals.skipped > 0)
		snprintf(skipped, sizeof skipped, ", %u skipped", r->totals.skipped);
	if (r->over_budget > 0)
		snprintf(budget, sizeof budget, ", %u over budget", r->over_budget);
	char cached[80] = "";
	int used = 0;
	if (r->totals.cached > r->fetched)
		used = snprintf(cached, sizeof cached, "%u from the cache, ", r->totals.cached - r->fetched);
	if (r->fetched > 0)
		snprintf(cached + used, sizeof cached - (size_t)used, "%u from the upstream, ", r->fetched);
	tell_of_upstream(r);
	if (!r->options->quiet || code != EXIT_GOOD)
		fprintf(stderr, "%u cooked, %s%u failed%s%s in %s  (%s written)\n", done_count(r) - r->totals.cached,
				cached, r->totals.failed, skipped, budget, srv_text_duration(uv_hrtime() - r->began_ns, time),
				r->options->write.nothing ? "nothing" : srv_text_bytes(r->totals.written_bytes, size));
	if (r->finished < r->plan.count)
		fprintf(stderr, "stopped at the first failure; %u were not cooked\n", r->plan.count - r->finished);
	hob_error error = {0};
	if ((options->prune && !srv_cook_prune(r->options->write.out, &r->plan, r->options->quiet, &error)) ||
		(options->depfile &&
		 !srv_cook_depfile_write(options->depfile, options->depfile_json, &r->depfile, &error)) ||
		!write_report(r, options, &error))
		return srv_cli_fail(r->options->who, &error,
							error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_INTERNAL);
	return code;
}

/* Opens the cache, read-only if a daemon uses it. With an upstream, the run uses a temporary cache if it has
 * none that it can write to. */
static bool open_cache(run *r, const cook_run_options *options, srv_engine_options *engine, hob_error *err)
{
	shown text;
	const serve_upstream *upstream = options->upstream;
	bool shares = upstream && upstream->url;
	if (!options->cache && !shares)
		return true;
	srv_store_options store = {.max_bytes = srv_config_number(options->config, SRV_CONFIG_max_size),
							   .pack_max = srv_config_number(options->config, SRV_CONFIG_pack_below)};
	const char *folder = options->cache;
	bool opened = folder && srv_store_open(folder, &store, &r->store, NULL, err);
	if (folder && !opened) {
		if (err->code != HOB_ERR_LOCKED)
			return false;
		hob_error why = *err;
		r->guest = !shares && srv_guest_open(folder, &r->store, &why);
		fprintf(stderr, "%s: %s the cache: %s\n", options->who,
				r->guest ? "nothing new is kept in" : "nothing is taken from",
				show(hob_str_of(why.context), &text));
		*err = (hob_error){0};
	}
	if (!shares)
		return true;
	if (!opened) {
		folder = r->folder;
		store.max_bytes = 0;
		if (!srv_make_temporary("hob-cook", r->folder, err) ||
			!srv_store_open(folder, &store, &r->store, NULL, err))
			return false;
	}
	engine->upstream = upstream->url;
	engine->upstream_token = upstream->token;
	engine->farm = upstream->has_farm ? &upstream->farm : NULL;
	engine->push = upstream->push;
	engine->cache = folder;
	return true;
}

/* Makes the folder for the results, unless scene lists and exports name all files themselves. */
static bool has_out(const run *r, hob_error *err)
{
	bool needed = false;
	for (uint32_t i = 0; i < r->plan.count; i++)
		needed = needed || !r->plan.entries[i].output_mesh;
	return !needed || r->options->write.nothing || !r->options->write.out || r->options->write.glb ||
		   srv_cook_make_out(r->options->write.out, err);
}

static void nothing_to_do(void *user)
{
	(void)user;
}

int srv_cook_run(cook_plan *plan, const cook_run_options *options)
{
	static run r;
	r = (run){.plan = *plan,
			  .warnings = {.say = say_warning},
			  .options = options,
			  .offered = options->offered,
			  .live = !options->quiet && srv_color_wanted(2) && isatty(2)};
	*plan = (cook_plan){.root_fd = -1};
	srv_engine_options engine = {.pool = options->limits};
	if (options->config)
		srv_serve_engine_options(options->config, &engine);
	hob_error error = {0};
	signal(SIGPIPE, SIG_IGN);
	int code;
	bool looping = srv_cli_loop_init(&r.loop, &error);
	if (looping && has_out(&r, &error) && open_cache(&r, options, &engine, &error) &&
		begin(&r, &engine, &error)) {
		uv_run(&r.loop, UV_RUN_DEFAULT);
		code = finish(&r);
	} else {
		code = srv_cli_fail(options->who, &error, error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_INTERNAL);
		if (r.engine) {
			srv_engine_close(r.engine, nothing_to_do, NULL);
			uv_run(&r.loop, UV_RUN_DEFAULT);
		}
	}
	if (looping)
		uv_loop_close(&r.loop);
	hob_buf_release(&r.report);
	hob_buf_release(&r.report_skipped);
	hob_buf_release(&r.depfile);
	for (uint32_t i = 0; i < r.plan.count; i++)
		srv_outcome_free(r.plan.entries[i].wait.outcome);
	free(r.sources);
	srv_cook_cache_close(r.store, r.guest, r.engine ? srv_batch_upstream(r.engine) : NULL);
	srv_engine_free(r.engine);
	if (r.folder[0])
		srv_remove_tree(r.folder);
	srv_cook_plan_release(&r.plan);
	return code;
}
