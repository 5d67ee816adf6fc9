#include "../../core/base/json_write.h"
#include "../control/answer.h"
#include "../fs/spelling.h"
#include "../fs/tar.h"
#include "../query/past_job.h"
#include "../store/record.h"
#include "derive_inside.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes everything needed to repeat a cook as a tar in the store: bundle.json, log.txt, files/<path below
 * the root>. The archive is produced twice, for its digest and for its bytes, so that its size costs no
 * memory. If a file has changed since the cook, the bundle is refused: it would repeat another cook. */

typedef struct bundle_file {
	const char *path; /* below the root */
	hob_sha256 digest;
	uint64_t size;
} bundle_file;

typedef struct bundle_work {
	uv_work_t work;
	srv_derive *derive;
	srv_control *control;
	hob_arena arena;
	int root_fd;
	hob_buf json;
	hob_str log;
	bundle_file *files;
	uint32_t file_count;
	hob_sha256 digest;
	hob_error error;
	bool changed; /* an input has changed */
} bundle_work;

/* ---- in libuv's pool */

typedef struct sink {
	hob_hasher *hasher; /* instead of the file */
	srv_blob_writer *writer;
} sink;

static bool put_bytes(const sink *s, hob_bytes bytes, hob_error *err)
{
	if (s->writer)
		return srv_blob_write(s->writer, bytes, err);
	hob_hasher_put(s->hasher, bytes.data, bytes.size);
	return true;
}

static bool put_buf(const sink *s, hob_buf *buf, hob_error *err)
{
	bool ok = buf->failed ? hob_fail(err, MEMORY, "no memory left for a bundle")
						  : put_bytes(s, hob_buf_bytes(buf), err);
	hob_buf_clear(buf);
	return ok;
}

static bool put_text(const sink *s, const char *name, hob_str text, hob_error *err)
{
	hob_own_buf head = {0};
	srv_tar_put_head(&head, hob_str_of(name), text.len);
	hob_buf_put_str(&head, text);
	srv_tar_put_padding(&head, text.len);
	return put_buf(s, &head, err);
}

static bool fail_changed(bundle_work *b, const bundle_file *file)
{
	b->changed = true;
	return hob_fail(&b->error, CHANGED,
					"'%s' was changed or deleted since that cook; cook the asset again, then ask",
					file->path);
}

static bool put_content(bundle_work *b, const sink *s, bundle_file *file, int fd)
{
	enum { CHUNK = 256 << 10 };
	hob_own uint8_t *bytes = hob_must(malloc(CHUNK));
	hob_hasher hasher;
	uint64_t done = 0;
	ssize_t got = 1;
	bool ok = true;
	hob_hasher_init(&hasher);
	while (ok && (got = read(fd, bytes, CHUNK)) > 0) {
		hob_hasher_put(&hasher, bytes, (size_t)got);
		done += (uint64_t)got;
		ok = done <= file->size ? put_bytes(s, (hob_bytes){bytes, (size_t)got}, &b->error)
								: fail_changed(b, file);
	}
	hob_sha256 digest = hob_hasher_finish(&hasher);
	if (ok && (got < 0 || done != file->size || !hob_sha256_equal(&digest, &file->digest)))
		ok = fail_changed(b, file);
	return ok;
}

static bool put_file(bundle_work *b, const sink *s, bundle_file *file)
{
	struct stat info;
	srv_own_fd fd = srv_open_beneath(b->root_fd, file->path, O_RDONLY, true);
	if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
		return fail_changed(b, file);
	file->size = (uint64_t)info.st_size;
	hob_own_buf head = {0}, name = {0};
	hob_buf_printf(&name, "files/%s", file->path);
	srv_tar_put_head(&head, hob_buf_str(&name), file->size);
	bool ok = put_buf(s, &head, &b->error) && put_content(b, s, file, fd);
	srv_tar_put_padding(&head, file->size);
	return ok && put_buf(s, &head, &b->error);
}

static bool put_archive(bundle_work *b, const sink *s)
{
	hob_own_buf end = {0};
	bool ok = put_text(s, "bundle.json", hob_buf_str(&b->json), &b->error) &&
			  put_text(s, "log.txt", b->log, &b->error);
	for (uint32_t i = 0; ok && i < b->file_count; i++)
		ok = put_file(b, s, &b->files[i]);
	srv_tar_put_end(&end);
	return ok && put_buf(s, &end, &b->error);
}

static void bundle_run(uv_work_t *work)
{
	bundle_work *b = work->data;
	srv_store *store = b->derive->host.store;
	hob_hasher hasher;
	sink s = {.hasher = &hasher};
	hob_hasher_init(&hasher);
	bool ok = put_archive(b, &s);
	b->digest = hob_hasher_finish(&hasher);
	if (!ok || srv_blob_exists(store, &b->digest) || !srv_blob_begin(store, &b->digest, &s.writer, &b->error))
		return;
	if (put_archive(b, &s))
		(void)!srv_blob_finish(s.writer, &b->error);
	else
		srv_blob_abort(s.writer);
}

/* ---- on the loop */

static void bundle_free(bundle_work *b)
{
	hob_buf_release(&b->json);
	hob_arena_release(&b->arena);
	free(b);
}

static void bundle_done(uv_work_t *work, int status)
{
	(void)status;
	bundle_work *b = work->data;
	const srv_derive_host *host = &b->derive->host;
	if (b->changed) {
		srv_control_answer(b->control, 409, "http.conflict", b->error.context);
	} else if (b->error.code != HOB_ERR_OK) {
		srv_control_refuse(b->control, 503, &b->error);
	} else {
		srv_derive_answer(b->control, &b->digest);
	}
	bundle_free(b);
	host->over(host->user);
}

static void put_description(bundle_work *b, const srv_derive_asset *a, const srv_job_row *row,
							const srv_record *record)
{
	const srv_derive_host *host = &b->derive->host;
	hob_buf *out = &b->json;
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("bundle", 1), HOB_JSON("hob", HOB_STR(HOB_VERSION)),
				 HOB_JSON("asset", a->full), HOB_JSON("path", a->path), HOB_JSON_OPEN("limits", '{'),
				 HOB_JSON("timeout_ms", host->timeout_ms), HOB_JSON("memory_bytes", host->memory_limit),
				 HOB_JSON_CLOSE('}'), HOB_JSON("sandbox", host->sandbox_text(host->user)),
				 HOB_JSON_KEY("job"));
	srv_past_put_job(row, out);
	hob_json_key(out, "record");
	srv_record_print(record, out);
	out->size -= out->size > 0 && !out->failed; /* without the line feed */
	hob_json_close(out, '}');
	hob_buf_put(out, "\n", 1);
}

static bool list_files(bundle_work *b, const srv_derive_asset *a, const srv_record *record)
{
	hob_str path = hob_str_of(a->path), dir = hob_path_dir(path);
	b->files = HOB_NEW(&b->arena, bundle_file, record->dep_count + 1);
	hob_str copy = hob_arena_str(&b->arena, path);
	if (!b->files || !copy.data)
		return false;
	b->files[b->file_count++] = (bundle_file){.path = copy.data, .digest = record->source};
	for (uint32_t i = 0; i < record->dep_count; i++) {
		hob_str full;
		if (!record->deps[i].missing && !srv_spelling_is(record->deps[i].path) &&
			hob_path_join(&b->arena, dir, record->deps[i].path, &full, NULL))
			b->files[b->file_count++] = (bundle_file){.path = full.data, .digest = record->deps[i].digest};
	}
	return true;
}

/* The requested job, or the asset's newest job with a record. */
static bool find_job(srv_store *store, const srv_control *control, hob_arena *arena, srv_job_row *row,
					 srv_record *record)
{
	enum { LOOKED_AT = 50 };
	srv_job_row *rows;
	uint32_t count = 0;
	hob_error error;
	if (control->number > 0)
		return srv_past_find_job(store, control->number, (hob_str){0}, arena, row, &error) &&
			   srv_store_record(store, &row->record, arena, record, &error);
	if (!srv_store_jobs(store, control->asset, 0, LOOKED_AT, arena, &rows, &count, &error))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (srv_store_record(store, &rows[i].record, arena, record, &error)) {
			*row = rows[i];
			return true;
		}
	return false;
}

void srv_derive_bundle(srv_derive *derive, srv_control *control)
{
	const srv_derive_host *host = &derive->host;
	bundle_work *b = hob_must(malloc(sizeof *b));
	*b = (bundle_work){.derive = derive, .control = control};
	b->work.data = b;
	hob_arena_init(&b->arena, 64 << 20);
	srv_job_row row;
	srv_record record;
	srv_derive_asset a;
	hob_error error;
	bool found = find_job(host->store, control, &b->arena, &row, &record);
	bool there = found && host->find(host->user, row.asset, false, &a);
	if (there) {
		b->root_fd = a.root_fd;
		b->log = row.log;
		put_description(b, &a, &row, &record);
	}
	if (there && !b->json.failed && list_files(b, &a, &record)) {
		host->work(host->user, &b->work, bundle_run, bundle_done);
		return;
	}
	if (there)
		srv_control_answer(control, 503, "internal", "no memory left for a bundle");
	else if (!found && !srv_store_is_whole(host->store, &error))
		srv_control_refuse(control, 0, &error);
	else
		srv_control_answer(control, 404, "http.not-found",
						   found ? "the asset of this job no longer exists"
								 : "no such job is over, or it left no record of what it read");
	bundle_free(b);
}
