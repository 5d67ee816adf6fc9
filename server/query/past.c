#include "question.h"

#include "../../core/base/json_write.h"
#include "../control/answer.h"
#include "../fs/beneath.h"
#include "past_job.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Finished jobs: lists, one job, outputs, logs. */

enum { SCANNED_MAX = 20000, CHANGES_SCANNED_MAX = 2000 };
enum { STEP = 200, PAGE_DEFAULT = 100, PAGE_MAX = 1000, ROWS_ARENA = 256 << 20 };

typedef bool put_fn(question *q, const srv_job_row *row, hob_buf *out); /* false: no item */

/* A page of items: rows with ids below `before`, newest first, up to `limit`. */
typedef struct page {
	put_fn *put;
	hob_str live;		 /* items already returned as queued or running */
	hob_buf items, tail; /* `tail`: more members of the answer */
	uint64_t before;
	uint32_t given, limit, scan; /* scan: maximum number of rows read */
	bool more;
} page;

static uint32_t page_limit(const srv_control *control)
{
	return control->number2 > 0 && control->number2 <= PAGE_MAX ? (uint32_t)control->number2 : PAGE_DEFAULT;
}

/* Whether `live` has the job: every item begins with its id, and texts contain no bare quotes. */
static bool is_live(hob_str live, uint64_t id)
{
	char head[40];
	snprintf(head, sizeof head, "{\"id\":%llu,", (unsigned long long)id);
	return hob_str_find(live, hob_str_of(head), 0) != SIZE_MAX;
}

static uint32_t count_live(hob_str live)
{
	uint32_t count = 0;
	for (size_t at = 0; (at = hob_str_find(live, HOB_STR("{\"id\":"), at)) != SIZE_MAX; at++)
		count++;
	return count;
}

static bool is_wanted(const srv_control *control, const page *p, const srv_job_row *row)
{
	return (srv_control_lists(control->text, HOB_STR(","), row->result) ||
			srv_control_lists(control->text, HOB_STR(","), HOB_STR("done"))) &&
		   !is_live(p->live, row->id);
}

static void take_rows(question *q, page *p, const srv_job_row *rows, uint32_t count)
{
	for (uint32_t i = 0; i < count && p->given < p->limit; i++) {
		p->before = rows[i].id;
		if (rows[i].finished_at_ms < q->control->since_ms) {
			p->more = false;
			return;
		}
		if (q->uncompared.size > 0)
			return;
		if (!is_wanted(q->control, p, &rows[i]) || !p->put(q, &rows[i], &p->items))
			continue;
		p->given++;
		p->more = p->more || i + 1 < count;
	}
}

static bool read_page(question *q, page *p, hob_error *err)
{
	bool ok = true;
	p->more = true;
	for (uint32_t scanned = 0;
		 ok && p->more && p->given < p->limit && scanned < p->scan && q->uncompared.size == 0;
		 scanned += STEP) {
		hob_own_arena arena;
		srv_job_row *rows = NULL;
		uint32_t count = 0;
		hob_arena_init(&arena, ROWS_ARENA);
		ok = srv_store_jobs(q->reader, q->control->asset, p->before, STEP, &arena, &rows, &count, err);
		p->more = count == STEP;
		if (ok)
			take_rows(q, p, rows, count);
	}
	return ok;
}

static int answer_page(question *q, page *p)
{
	hob_error error;
	bool ok = p->given >= p->limit || read_page(q, p, &error);
	if (ok) {
		hob_buf_printf(&q->body, "{\"items\":[%.*s]", HOB_FMT(hob_buf_str(&p->items)));
		hob_json_key(&q->body, "next");
		if (p->more && p->before > 0)
			hob_buf_printf(&q->body, "\"%llu\"", (unsigned long long)p->before);
		else
			hob_json_null(&q->body);
		if (p->tail.size > 0)
			hob_buf_printf(&q->body, ",%.*s", HOB_FMT(hob_buf_str(&p->tail)));
		hob_json_close(&q->body, '}');
	}
	hob_buf_release(&p->items);
	hob_buf_release(&p->tail);
	return ok ? 200 : srv_query_cannot_read(q, &error);
}

static bool put_row(question *q, const srv_job_row *row, hob_buf *out)
{
	(void)q;
	srv_past_put_job(row, out);
	return true;
}

int srv_query_jobs(question *q)
{
	page p = {.put = put_row,
			  .live = q->control->tag,
			  .before = q->control->number,
			  .given = count_live(q->control->tag),
			  .scan = SCANNED_MAX,
			  .limit = page_limit(q->control)};
	hob_buf_put_str(&p.items, p.live);
	return answer_page(q, &p);
}

static bool put_version(question *q, const srv_job_row *row, hob_buf *out)
{
	hob_own_arena arena;
	hob_arena_init(&arena, 64 << 20);
	srv_record record = {0};
	hob_error error;
	static const hob_sha256 none;
	bool has = !hob_sha256_equal(&row->record, &none) &&
			   srv_store_record(q->reader, &row->record, &arena, &record, &error);
	uint64_t cooked = 0;
	hob_str content, stats = hob_content_cut(&arena, record.stats, &content);
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("job", row->id), HOB_JSON("result", row->result),
				 HOB_JSON_TIME("at", row->finished_at_ms), HOB_JSON_DIGEST("key", &row->record),
				 HOB_JSON_DIGEST("source", &record.source), HOB_JSON_MS("cook_ms", record.cook_ns),
				 HOB_JSON_RAW("stats", stats), HOB_JSON("warnings", record.warnings),
				 HOB_JSON_OPEN("outputs", '['));
	for (uint32_t i = 0; has && i < record.output_count; i++) {
		hob_json_object(out, HOB_JSON("name", record.outputs[i].name),
						HOB_JSON_DIGEST("hash", &record.outputs[i].digest),
						HOB_JSON("size", record.outputs[i].size));
		cooked += record.outputs[i].size;
	}
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON("cooked_bytes", cooked),
				 HOB_JSON_RAW("reason", row->reason.len > 0 ? row->reason : HOB_STR("[]")),
				 HOB_JSON_RAW("error", row->error.len > 0 ? row->error : record.error), HOB_JSON_CLOSE('}'));
	return true;
}

int srv_query_history(question *q)
{
	page p = {.put = put_version,
			  .before = q->control->number,
			  .limit = page_limit(q->control),
			  .scan = SCANNED_MAX};
	return answer_page(q, &p);
}

/* When the HEAD of the root's Git folder last moved: the time in the last line of its log,
 * "OLD NEW NAME <MAIL> SECONDS ZONE\tMESSAGE". */
static int64_t commit_ms(const srv_view_root *root)
{
	char end[8192];
	struct stat info;
	int fd = srv_open_beneath(root->folder, ".git/logs/HEAD", O_RDONLY, false);
	bool found = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
	off_t from = found && info.st_size > (off_t)sizeof end ? info.st_size - (off_t)sizeof end : 0;
	ssize_t size = found ? pread(fd, end, sizeof end, from) : 0;
	srv_close(fd);
	hob_str line = {end, size > 0 ? (size_t)size : 0};
	while (line.len > 0 && line.data[line.len - 1] == '\n')
		line.len--;
	size_t start = line.len;
	while (start > 0 && line.data[start - 1] != '\n')
		start--;
	line = hob_str_sub(line, start, line.len);
	size_t tab = hob_str_find(line, HOB_STR("\t"), 0), zone = tab < line.len ? tab : line.len;
	while (zone > 0 && line.data[zone - 1] != ' ')
		zone--;
	int64_t ms = 0, unit = 1000;
	for (size_t i = zone > 0 ? zone - 1 : 0; i > 0 && unit < INT64_MAX / 100; i--, unit *= 10) {
		if (line.data[i - 1] < '0' || line.data[i - 1] > '9')
			return ms;
		ms += (line.data[i - 1] - '0') * unit;
	}
	return 0;
}

/* Lists the last commit of each root; rows before all of them are not read. */
static void find_commits(question *q, hob_buf *out)
{
	const srv_view *view = q->view;
	bool only = q->control->tag.len > 0;
	int64_t first = INT64_MAX;
	q->commits = hob_must(calloc(view->root_count + 1, sizeof *q->commits));
	hob_json_key(out, "commits");
	hob_json_open(out, '[');
	for (uint32_t i = 0; i < view->root_count; i++) {
		int64_t at = q->commits[i] = commit_ms(&view->roots[i]);
		if (at == 0)
			continue;
		first = at < first ? at : first;
		hob_json_object(out, HOB_JSON("root", view->roots[i].name), HOB_JSON_TIME("at", at));
	}
	hob_json_close(out, ']');
	if (only && first > q->control->since_ms)
		q->control->since_ms = first;
}

static bool put_change(question *q, const srv_job_row *row, hob_buf *out)
{
	if (q->control->tag.len > 0) {
		const srv_view_root *root =
			srv_query_root(q, hob_str_sub(row->asset, 0, hob_str_find(row->asset, HOB_STR("/"), 0)));
		int64_t at = root ? q->commits[root - q->view->roots] : 0;
		if (at == 0 || row->finished_at_ms < at)
			return false;
	}
	return srv_past_put_change(q, row, out);
}

int srv_query_changes(question *q)
{
	page p = {.put = put_change,
			  .before = q->control->number,
			  .limit = page_limit(q->control),
			  .scan = CHANGES_SCANNED_MAX};
	find_commits(q, &p.tail);
	int status = answer_page(q, &p);
	free(q->commits);
	if (status == 200 && q->uncompared.size > 0) {
		hob_buf_release(&q->body);
		q->body = q->uncompared;
		q->uncompared = (hob_buf){0};
		status = 202;
	}
	hob_buf_release(&q->uncompared);
	return status;
}

/* ---- one job */

static int find(question *q, hob_arena *arena, srv_job_row *row)
{
	hob_error error;
	if (srv_past_find_job(q->reader, q->control->number, q->control->asset, arena, row, &error))
		return 200;
	return error.code == HOB_ERR_NOT_FOUND ? srv_query_refuse(q, 404, "http.not-found", error.context)
										   : srv_query_cannot_read(q, &error);
}

int srv_query_job(question *q)
{
	hob_own_arena arena;
	srv_job_row row;
	hob_arena_init(&arena, 16 << 20);
	int status = find(q, &arena, &row);
	if (status == 200 && q->control->kind == SRV_CONTROL_LOG)
		hob_buf_put_str(&q->body, row.log);
	else if (status == 200)
		srv_past_put_job(&row, &q->body);
	return status;
}
