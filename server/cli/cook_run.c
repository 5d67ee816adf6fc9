#include "cook_run_private.h"
#include "cook_depfile.h"
#include "cook_prune.h"
#include "preflight.h"

#include "../../core/settings/rules.h"
#include "../fs/model_format.h"
#include "../fs/remove_tree.h"
#include "../log/log.h"
#include "../worker/check.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Most look-ups in progress. LOOKS_SHARED_MAX: with an upstream, so that it gets many questions at once.
 * LOOKS_REPORT_MAX: if only reports are read, so that no thread runs out of work. */
enum { LOOKS_MAX = 4, LOOKS_SHARED_MAX = 16, LOOKS_REPORT_MAX = 256 };

typedef struct write_job {
	run *r;
	uv_work_t work;
	cook_entry *entry;
	srv_outcome *outcome;
	bool changed;			 /* an input is no longer what the cook read */
	srv_record_output *kept; /* the stored outputs, for srv_cook_cache_keep; NULL: none */
	hob_error error, keep_error;
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
	hob_str name = hob_str_of(r->next > 0 ? r->queue[r->next - 1]->path : "");
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
	if (r->skipped++ < SHOWN && !r->options->quiet)
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
	bool color = srv_color_wanted(2);
	char time[32], size[32];
	shown path, text;
	show(hob_str_of(entry->path), &path);
	r->finished++;
	if (r->options->see) {
		r->options->see(r->options->user, r->pool, entry, outcome, error);
		return;
	}
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
		r->failed++;
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
	r->assets_over += r->over_budget > over_before || (error && error->code == HOB_ERR_BUDGET);
	r->triangles += outcome && outcome->has_result && !error ? outcome->result.stats.triangles : 0;
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
	uv_close((uv_handle_t *)&r->interrupt, NULL);
	uv_close((uv_handle_t *)&r->look, NULL);
}

static void on_upstream_closed(void *user)
{
	run *r = user;
	srv_pool_close(r->pool, on_closed, r);
}

static bool enough(const run *r)
{
	return r->options->fail_fast && r->failed > 0;
}

void srv_cook_run_finish_if_over(run *r)
{
	bool over = r->finished == r->plan.count || r->interrupted || enough(r) || r->error.code != HOB_ERR_OK;
	if (over && !r->closing && r->looks_pending > 0 && r->finished < r->plan.count)
		srv_cook_look_give_up(r);
	if (r->closing || !over || r->writes_pending > 0 || r->looks_pending > 0)
		return;
	if (!srv_cook_run_end_offer(r) || (!r->interrupted && srv_cook_look_is_giving(r)))
		return;
	r->closing = true;
	clear_line(r);
	if (r->upstream)
		srv_upstream_close(r->upstream, on_upstream_closed, r);
	else
		on_upstream_closed(r);
}

static void fail(run *r, cook_entry *entry, const srv_outcome *outcome, const hob_error *error)
{
	srv_cook_look_end(entry);
	report_entry(r, entry, outcome, error, &(cook_bytes){0});
}

/* ---- files that are being written */

static void cook_again(run *r, cook_entry *entry);

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
	fail(r, entry, entry->wait.outcome, &error);
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
		cook_again(r, entry);
	else if (spent >= (uint64_t)r->options->wait_s * 1000000000)
		fail_waiting(r, entry);
	else {
		if (!wait->told && !r->options->quiet && spent > 5 * LOOK_MS * 1000000ull)
			tell_waiting(r, entry);
		return false;
	}
	srv_cook_wait_end(wait);
	return true;
}

static void on_look(uv_timer_t *timer)
{
	run *r = timer->data;
	for (uint32_t i = 0; r->waiting > 0 && i < r->plan.count && srv_cook_run_goes_on(r); i++)
		if (r->plan.entries[i].wait.outcome)
			r->waiting -= look_at_waiting(r, &r->plan.entries[i]);
	if (r->waiting == 0)
		uv_timer_stop(timer);
	srv_cook_run_feed(r);
}

static void wait_for_writer(run *r, cook_entry *entry, srv_outcome *outcome)
{
	if (!srv_cook_wait_begin(&entry->wait, outcome)) {
		fail(r, entry, outcome, &outcome->error);
		srv_outcome_free(outcome);
	} else if (r->waiting++ == 0) {
		uv_timer_start(&r->look, on_look, LOOK_MS, LOOK_MS);
	}
	srv_cook_run_finish_if_over(r);
}

static void write_run(uv_work_t *work)
{
	write_job *job = work->data;
	const srv_result *result = &job->outcome->result;
	const char *source = job->entry->text ? job->entry->path : NULL;
	job->changed = !job->entry->cached && !job->r->offered &&
				   srv_cook_wait_changed(job->r->plan.root_fd, source, job->outcome);
	if (job->changed || (!job->entry->cached && !srv_check_outputs(result, &job->error)))
		return;
	if (!job->entry->cached && job->entry->look)
		job->kept = srv_cook_cache_store(job->r->cache, result, &job->outcome->arena, &job->keep_error);
	if (!job->r->offered && !job->r->options->only_report &&
		!hob_rules_check(&job->entry->settings, result->notes, result->note_count, &job->error))
		return;
	for (uint32_t i = 0; i < result->output_count && job->r->options->write.nothing; i++)
		job->bytes.written += result->outputs[i].bytes.size;
	if (job->r->options->write.nothing)
		return;
	job->notes.arena = &job->outcome->arena;
	srv_cook_write_entry(&job->r->options->write, job->entry, &job->outcome->result, &job->notes, &job->bytes,
						 &job->error);
}

/* Keeps a result in the cache; a failure costs time but does not fail the run. */
static void keep(write_job *job)
{
	run *r = job->r;
	shown text;
	hob_sha256 key;
	bool kept;
	if (job->kept && srv_cook_cache_keep(r->cache, &job->entry->look->look, job->outcome, job->kept, &key,
										 &kept, &job->keep_error)) {
		if (kept)
			srv_cook_look_give(job->entry->look, &key);
		return;
	}
	if (job->keep_error.code == HOB_ERR_OK || r->keep_failed)
		return;
	r->keep_failed = true;
	clear_line(r);
	fprintf(stderr, "%s: results are not kept: %s\n", r->options->who,
			show(hob_str_of(job->keep_error.context), &text));
}

static void write_done(uv_work_t *work, int status)
{
	(void)status;
	write_job *job = work->data;
	run *r = job->r;
	shown text;
	r->writes_pending--;
	if (job->changed) {
		wait_for_writer(r, job->entry, job->outcome);
		free(job);
		return;
	}
	r->bytes += job->bytes.written;
	r->reused += job->bytes.reused;
	r->cook_ns += job->entry->cached ? 0 : job->outcome->cook_ns;
	keep(job);
	r->cached += job->entry->cached && job->error.code == HOB_ERR_OK;
	r->fetched += job->entry->fetched && job->error.code == HOB_ERR_OK;
	report_entry(r, job->entry, job->outcome, job->error.code != HOB_ERR_OK ? &job->error : NULL,
				 &job->bytes);
	if (r->options->depfile && job->error.code == HOB_ERR_OK)
		srv_cook_depfile_add(&r->depfile, r->options->depfile_json, &r->options->write, &r->plan, job->entry,
							 &job->outcome->result);
	for (uint32_t i = 0; !r->options->quiet && i < job->notes.count; i++)
		fprintf(stderr, "        %s: %s\n", job->entry->path, show(job->notes.items[i].text, &text));
	srv_outcome_free(job->outcome);
	srv_cook_look_end(job->entry);
	free(job);
	srv_cook_run_finish_if_over(r);
}

static void write_outcome(run *r, cook_entry *entry, srv_outcome *outcome)
{
	write_job *job = calloc(1, sizeof *job);
	if (!job)
		abort();
	*job = (write_job){.r = r, .entry = entry, .outcome = outcome};
	job->work.data = job;
	r->writes_pending++;
	if (entry->cached && r->options->only_report)
		write_done(&job->work, 0);
	else
		uv_queue_work(&r->loop, &job->work, write_run, write_done);
}

static void take_outcome(run *r, cook_entry *entry, srv_outcome *outcome)
{
	srv_cook_facts facts = {.ok = outcome->ok,
							.has_result = outcome->has_result,
							.stalled = outcome->stalled,
							.writer = outcome->error.code == HOB_ERR_CHANGED,
							.touched = outcome->touched_count > 0,
							.code = outcome->error.code};
	if (outcome->stalled && entry->tries.stalled && outcome->error.code == HOB_ERR_TIMEOUT)
		srv_outcome_stalled_again(outcome);
	switch (srv_judge(&facts, &entry->tries)) {
	case SRV_VERDICT_GOOD:
		write_outcome(r, entry, outcome);
		return;
	case SRV_VERDICT_WRITER:
		wait_for_writer(r, entry, outcome);
		return;
	case SRV_VERDICT_TRY_AGAIN:
		entry->again = r->plan.again = true;
		break;
	case SRV_VERDICT_KEEP_FAILURE:
	case SRV_VERDICT_KEEP_CRASH:
	case SRV_VERDICT_PASSING:
		fail(r, entry, outcome, &outcome->error);
		break;
	}
	srv_outcome_free(outcome);
}

static void on_done(void *user, void *entry_, srv_outcome *outcome)
{
	run *r = user;
	cook_entry *entry = entry_;
	if (outcome->cancelled || r->interrupted || enough(r)) {
		srv_outcome_free(outcome);
	} else if (r->offered && srv_cook_look_lacks(r, entry, outcome)) {
		return;
	} else {
		take_outcome(r, entry, outcome);
	}
	srv_cook_run_feed(r);
	srv_cook_run_finish_if_over(r);
}

/* ---- the queue */

bool srv_cook_run_goes_on(const run *r)
{
	return r->started && !r->closing && !r->interrupted && !enough(r);
}

/* Queues a new entry at the end; one that was queued before takes the slot of one that has left. */
static void enqueue(run *r, cook_entry *entry)
{
	assert(!entry->queued || r->next > 0);
	if (entry->queued)
		r->queue[--r->next] = entry;
	else
		r->queue[r->queued++] = entry;
	entry->queued = true;
}

void srv_cook_run_leave(run *r, cook_entry *entry)
{
	srv_cook_look_end(entry);
	r->looks_pending--;
	r->finished++;
	r->left++;
	srv_cook_run_feed(r);
}

void srv_cook_run_looked(run *r, cook_entry *entry, srv_outcome *hit)
{
	r->looks_pending--;
	if (hit && srv_cook_run_goes_on(r)) {
		entry->cached = true;
		write_outcome(r, entry, hit);
	} else {
		srv_outcome_free(hit);
		enqueue(r, entry);
		srv_pool_fill(r->pool);
	}
	srv_cook_run_feed(r);
}

/* Starts the look-up of an entry, or queues it. Files that no importer reads, and those with invalid
 * settings, are queued and fail later with their reason. The merge of a scene list, which is a text and no
 * file, is queued too. */
static void look_first(run *r, cook_entry *entry)
{
	bool looks = r->cache && !entry->text && entry->settings_error.code == HOB_ERR_OK &&
				 srv_pool_importer_for(r->pool, hob_str_of(entry->path));
	if (!looks || !srv_cook_look_begin(r, entry))
		enqueue(r, entry);
}

static void look_ahead(run *r)
{
	/* On a farm, claim only models that this machine will cook soon; each run starts at another position of
	 * the plan. Models that others are cooking do not count against the limit. */
	uint32_t most = r->upstream				  ? LOOKS_SHARED_MAX
					: r->options->only_report ? LOOKS_REPORT_MAX
											  : LOOKS_MAX,
			 ahead = r->farm ? 2 * srv_pool_size(r->pool) : UINT32_MAX,
			 offset = r->farm ? (uint32_t)getpid() * 2654435761u : 0;
	while (srv_cook_run_goes_on(r) && r->looked < r->plan.count) {
		uint32_t waits = srv_cook_look_waits(r),
				 asking = r->looks_pending > waits ? r->looks_pending - waits : 0;
		if (asking >= most || (r->farm ? asking : 0) + r->queued - r->next >= ahead)
			break;
		cook_entry *entry = r->plan.order[(r->looked++ + offset % r->plan.count) % r->plan.count];
		look_first(r, entry);
	}
}

static void cook_again(run *r, cook_entry *entry)
{
	srv_cook_look_end(entry);
	if (r->cache)
		srv_cook_cache_forget(r->cache, &entry->wait.outcome->result);
	look_first(r, entry);
}

static cook_entry *next_entry(run *r)
{
	if (r->next < r->queued)
		return r->queue[r->next++];
	/* Models whose worker died get a second chance at the end. */
	for (uint32_t i = 0; r->plan.again && i < r->plan.count; i++)
		if (r->plan.entries[i].again) {
			r->plan.entries[i].again = false;
			return &r->plan.entries[i];
		}
	r->plan.again = false;
	return NULL;
}

void srv_cook_run_feed(run *r)
{
	look_ahead(r);
	while (srv_cook_run_goes_on(r) && srv_pool_idle(r->pool) > 0) {
		cook_entry *entry = next_entry(r);
		if (!entry)
			break;
		if (entry->settings_error.code != HOB_ERR_OK) {
			report_entry(r, entry, NULL, &entry->settings_error, &(cook_bytes){0});
			continue;
		}
		uint32_t left = r->plan.count - r->looked + r->queued - r->next;
		srv_pool_job job = {.path = hob_str_of(entry->path),
							.text = hob_str_of(entry->text),
							.settings = entry->settings,
							.profile = r->options->profile,
							.threads = left >= srv_pool_size(r->pool) ? 1 : 0,
							.waited = true};
		if (!srv_pool_start(r->pool, entry, &job)) {
			hob_error error;
			hob_fail(&error, INTERNAL, "the cook process does not take this job");
			report_entry(r, entry, NULL, &error, &(cook_bytes){0});
		}
		show_progress(r);
	}
	srv_cook_run_finish_if_over(r);
}

static void on_idle(void *user)
{
	srv_cook_run_feed(user);
}

static void on_ready(void *user)
{
	run *r = user;
	srv_cook_plan_keep_known(&r->plan, r->pool);
	if (r->offered && !srv_offer_tell(r->offered, r->cache))
		hob_fail(&r->error, MEMORY, "no memory left for the files of an offer");
	r->queue = calloc(r->plan.count + 1, sizeof(cook_entry *));
	if (!srv_cook_plan_order(&r->plan) || !r->queue) {
		hob_fail(&r->error, MEMORY, "no memory left for the list of models");
		srv_cook_run_finish_if_over(r);
		return;
	}
	r->started = true;
	r->began_ns = uv_hrtime();
	srv_cook_run_offer(r);
	for (uint32_t i = 0; i < r->plan.skipped_count; i++) {
		char why[160];
		say_unread(hob_str_of(r->plan.skipped[i]), why);
		report_skipped(r, r->plan.skipped[i], why);
	}
	if (r->plan.count + r->skipped == 0)
		srv_cook_plan_say_nothing(r->pool, r->plan.root, &r->error);
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

static int on_part_get(void *user, const uint8_t key[32])
{
	run *r = user;
	int fd = r->cache ? srv_cook_cache_part_get(r->cache, key) : -1;
	return fd >= 0 ? fd : srv_cook_parts_get(&r->parts, key);
}

static void on_part_put(void *user, const uint8_t key[32], hob_bytes bytes, int fd)
{
	run *r = user;
	if (!r->cache || !srv_cook_cache_part_put(r->cache, key, bytes))
		srv_cook_parts_put(&r->parts, key, bytes.size, fd);
	srv_pool_part_unmap(bytes);
	srv_pool_part_kept(r->pool, key);
}

static bool begin(run *r, const srv_pool_options *pool, hob_error *err)
{
	srv_pool_callbacks callbacks = {r, on_ready, on_idle, on_done, on_part_get, on_part_put, on_degraded};
	if (!srv_pool_new(&r->loop, pool, &callbacks, &r->pool, err))
		return false;
	uv_signal_init(&r->loop, &r->interrupt);
	r->interrupt.data = r;
	uv_signal_start(&r->interrupt, on_interrupt, SIGINT);
	uv_timer_init(&r->loop, &r->look);
	r->look.data = r;
	return true;
}

static uint32_t done_count(const run *r)
{
	return r->finished - r->failed - r->left - (r->skipped - r->plan.skipped_count);
}

static void tell_of_upstream(const run *r)
{
	shown text;
	srv_upstream_facts facts;
	if (!r->upstream)
		return;
	srv_upstream_look(r->upstream, &facts);
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
	cook_totals totals = {.cooked = done_count(r) - r->cached,
						  .cached = r->cached,
						  .failed = r->failed,
						  .skipped = r->skipped,
						  .over_budget = r->assets_over,
						  .triangles = r->triangles,
						  .bytes = r->bytes + r->reused,
						  .written_bytes = r->options->write.nothing ? 0 : r->bytes,
						  .reused_bytes = r->reused,
						  .cook_ns = r->cook_ns,
						  .wall_ns = uv_hrtime() - r->began_ns};
	return (!options->report && options->format != COOK_FORMAT_GITHUB) ||
		   srv_cook_report_write(options->report, options->format, r->plan.root, &r->report,
								 &r->report_skipped, &totals, err);
}

static int finish(run *r)
{
	const cook_run_options *options = r->options;
	char time[32], size[32];
	srv_causes_end(&r->warnings);
	bool over_budget = r->over_budget > 0 || r->failed_rule > 0;
	int code = r->failed > r->failed_rule ? EXIT_ASSETS_FAILED : over_budget ? EXIT_OVER_BUDGET : EXIT_GOOD;
	if (r->interrupted) {
		fprintf(stderr, "interrupted: %u of %u cooked; nothing half-written is left\n", done_count(r),
				r->plan.count);
		return EXIT_INTERRUPTED;
	}
	if (r->error.code != HOB_ERR_OK) {
		srv_cli_print_error(r->options->who, &r->error);
		return r->error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_INTERNAL;
	}
	if (options->see)
		return EXIT_GOOD;
	char budget[48] = "", skipped[48] = "";
	if (r->skipped > 0)
		snprintf(skipped, sizeof skipped, ", %u skipped", r->skipped);
	if (r->over_budget > 0)
		snprintf(budget, sizeof budget, ", %u over budget", r->over_budget);
	char cached[80] = "";
	int used = 0;
	if (r->cached > r->fetched)
		used = snprintf(cached, sizeof cached, "%u from the cache, ", r->cached - r->fetched);
	if (r->fetched > 0)
		snprintf(cached + used, sizeof cached - (size_t)used, "%u from the upstream, ", r->fetched);
	tell_of_upstream(r);
	if (!r->options->quiet || code != EXIT_GOOD)
		fprintf(stderr, "%u cooked, %s%u failed%s%s in %s  (%s written)\n", done_count(r) - r->cached, cached,
				r->failed, skipped, budget, srv_text_duration(uv_hrtime() - r->began_ns, time),
				r->options->write.nothing ? "nothing" : srv_text_bytes(r->bytes, size));
	if (r->finished < r->plan.count)
		fprintf(stderr, "stopped at the first failure; %u were not cooked\n", r->plan.count - r->finished);
	hob_error error = {0};
	if ((options->prune && !srv_cook_prune(r->options->write.out, &r->plan, r->options->quiet, &error)) ||
		(options->depfile &&
		 !srv_cook_depfile_write(options->depfile, options->depfile_json, &r->depfile, &error)) ||
		!write_report(r, options, &error)) {
		srv_cli_print_error(r->options->who, &error);
		return error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_INTERNAL;
	}
	return code;
}

static void on_given(void *user)
{
	srv_cook_run_finish_if_over(user);
}

static bool open_upstream(run *r, const serve_upstream *options, const char *folder, hob_error *err)
{
	srv_upstream_options upstream = {.url = options->url,
									 .token = options->token,
									 .farm = options->has_farm ? &options->farm : NULL,
									 .cache = folder,
									 .give = options->push,
									 .changed = on_given,
									 .user = r};
	r->farm = options->has_farm;
	return srv_upstream_new(&r->loop, &upstream, srv_cook_cache_store_of(r->cache), &r->upstream, err);
}

/* Opens the cache, read-only if a daemon uses it. With an upstream, the run uses a temporary cache if it has
 * none that it can write to. */
static bool open_cache(run *r, const cook_run_options *options, hob_error *err)
{
	shown text;
	bool shares = options->upstream && options->upstream->url;
	if (!options->cache && !shares)
		return true;
	srv_store_options store = {.max_bytes = srv_config_number(options->config, SRV_CONFIG_max_size),
							   .pack_max = srv_config_number(options->config, SRV_CONFIG_pack_below)};
	const char *folder = options->cache;
	bool opened = folder && srv_cook_cache_open(folder, &store, &r->cache, err);
	if (folder && !opened) {
		if (err->code != HOB_ERR_LOCKED)
			return false;
		hob_error why = *err;
		bool read = !shares && srv_cook_cache_open_guest(folder, &r->cache, &why);
		fprintf(stderr, "%s: %s the cache: %s\n", options->who,
				read ? "nothing new is kept in" : "nothing is taken from",
				show(hob_str_of(why.context), &text));
		*err = (hob_error){0};
	}
	if (!shares)
		return true;
	if (!opened) {
		folder = r->folder;
		store.max_bytes = 0;
		if (!srv_make_temporary("hob-cook", r->folder, err) ||
			!srv_cook_cache_open(folder, &store, &r->cache, err))
			return false;
	}
	return open_upstream(r, options->upstream, folder, err);
}

static bool is_held(void *user, const hob_sha256 *key)
{
	const run *r = user;
	return r->upstream && srv_upstream_holds(r->upstream, key);
}

static void nothing_to_do(void *user)
{
	(void)user;
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

int srv_cook_run(cook_plan *plan, const cook_run_options *options)
{
	static run r;
	r = (run){.plan = *plan,
			  .warnings = {.say = say_warning},
			  .options = options,
			  .offered = options->offered,
			  .live = !options->quiet && srv_color_wanted(2) && isatty(2)};
	*plan = (cook_plan){.root_fd = -1};
	srv_engine_options limits = {.pool = options->limits};
	if (options->config)
		srv_serve_engine_options(options->config, &limits);
	srv_pool_options pool = limits.pool;
	pool.root_fds = &r.plan.root_fd;
	pool.root_count = 1;
	pool.one_first = options->cache || (options->upstream && options->upstream->url);
	hob_error error = {0};
	signal(SIGPIPE, SIG_IGN);
	int code;
	bool looping = srv_cli_loop_init(&r.loop, &error);
	if (looping && has_out(&r, &error) && open_cache(&r, options, &error) && begin(&r, &pool, &error)) {
		uv_run(&r.loop, UV_RUN_DEFAULT);
		code = finish(&r);
	} else {
		srv_cli_print_error(options->who, &error);
		code = error.code == HOB_ERR_USAGE ? EXIT_USAGE : EXIT_INTERNAL;
		if (r.upstream) {
			srv_upstream_close(r.upstream, nothing_to_do, NULL);
			uv_run(&r.loop, UV_RUN_DEFAULT);
		}
	}
	if (looping)
		uv_loop_close(&r.loop);
	hob_buf_release(&r.report);
	hob_buf_release(&r.report_skipped);
	hob_buf_release(&r.depfile);
	for (uint32_t i = 0; i < r.plan.count; i++) {
		srv_cook_look_end(&r.plan.entries[i]);
		srv_cook_wait_end(&r.plan.entries[i].wait);
	}
	free(r.queue);
	srv_cook_cache_close(r.cache, is_held, &r);
	srv_upstream_free(r.upstream);
	if (r.folder[0])
		srv_remove_tree(r.folder);
	srv_cook_plan_release(&r.plan);
	srv_cook_parts_release(&r.parts);
	return code;
}
