#include "query.h"

#include "../../core/base/array.h"
#include "../fs/fd.h"
#include "../fs/tar.h"
#include "../fs/transfer.h"
#include "../log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* hob snapshot: what was cooked of a commit, as a file for a machine that this one cannot reach.
 *
 *   records/KEY, blobs/SHA256   what the other side lacks
 *   snapshot.json               last: the commit, its manifest, and the names that were left out */

enum { FILE_MAX_GIB = 4 };
static const char who[] = "hob snapshot";

/* Names of files, "blobs/..." and "records/...". */
typedef struct names {
	char **items;
	uint32_t count, room;
} names;

typedef struct snapshot {
	const char *url, *file, *other; /* other: --have URL, or NULL */
	int fd, code;
	names had; /* by --have FILE; in order */
	uint32_t written;
	uint64_t bytes;
	hob_error error;
} snapshot;

static bool fail(snapshot *s, int code)
{
	if (s->code == EXIT_GOOD)
		s->code = srv_cli_fail(who, &s->error, code);
	return false;
}

static bool fail_file(snapshot *s, const char *file)
{
	(void)!hob_fail(&s->error, IO, "'%s': %s", file, strerror(errno));
	return fail(s, EXIT_USAGE);
}

static void add(names *list, const char *name)
{
	if (!HOB_ROOM(list->items, list->room, list->count))
		abort();
	list->items[list->count++] = hob_must(strdup(name));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_once(names *list)
{
	uint32_t kept = 0;
	if (list->count > 0)
		qsort(list->items, list->count, sizeof *list->items, by_text);
	for (uint32_t i = 0; i < list->count; i++) {
		if (kept > 0 && strcmp(list->items[kept - 1], list->items[i]) == 0)
			free(list->items[i]);
		else
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

static void release(names *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
}

/* ---- reading an archive */

typedef bool take_file(snapshot *s, const char *name, const hob_buf *bytes, void *user);

/* Hands over the files whose names begin with `kind`, in turn. */
static bool each_file(snapshot *s, const char *file, const char *kind, take_file *take, void *user)
{
	srv_tar_reader reader = {.fd = open(file, O_RDONLY | O_CLOEXEC)};
	uint64_t size;
	srv_tar_step step = SRV_TAR_FILE;
	bool ok = reader.fd >= 0 || fail_file(s, file);
	while (ok && (step = srv_tar_next(&reader, &size, &s->error)) == SRV_TAR_FILE) {
		hob_own_buf bytes = {0};
		if (strncmp(reader.name, kind, strlen(kind)) != 0)
			continue;
		uint8_t *room = size < (uint64_t)FILE_MAX_GIB << 30 ? hob_buf_grow(&bytes, (size_t)size) : NULL;
		ok = room ||
			 hob_fail(&s->error, LIMIT, "'%.100s' has %llu bytes", reader.name, (unsigned long long)size);
		for (size_t at = 0, got = 1; ok && at < size && got > 0; at += got)
			ok = srv_tar_read(&reader, room + at, (size_t)size - at, &got, &s->error);
		ok = ok ? take(s, reader.name, &bytes, user) : fail(s, EXIT_USAGE);
	}
	srv_close(reader.fd);
	return ok && (step == SRV_TAR_END || fail(s, EXIT_USAGE));
}

/* ---- what the other side has */

static bool note_had(snapshot *s, const char *name, const hob_buf *bytes, void *user)
{
	(void)user;
	if (strcmp(name, "snapshot.json") != 0) {
		add(&s->had, name);
		return true;
	}
	hob_own_json *json = cJSON_ParseWithLength((const char *)bytes->data, bytes->size);
	const cJSON *item;
	cJSON_ArrayForEach(item, srv_cli_member(json, "left_out")) if (cJSON_IsString(item))
		add(&s->had, item->valuestring);
	return true;
}

static bool is_had(snapshot *s, const char *name)
{
	char target[96];
	cli_response response;
	if (!s->other)
		return s->had.count > 0 && bsearch(&name, s->had.items, s->had.count, sizeof(char *), by_text);
	snprintf(target, sizeof target, "/%s", name);
	if (!srv_cli_request(s->other, "HEAD", target, NULL, (hob_str){0}, &response, &s->error))
		return fail(s, EXIT_UNREACHABLE);
	bool there = response.status == 200;
	if (!there && response.status != 404)
		s->code = srv_cli_print_problem(who, &response);
	srv_cli_response_release(&response);
	return there;
}

/* ---- export */

static bool put_file(snapshot *s, const char *name, hob_str bytes)
{
	hob_own_buf head = {0}, end = {0};
	srv_tar_put_head(&head, hob_str_of(name), bytes.len);
	srv_tar_put_padding(&end, bytes.len);
	if (strcmp(name, "snapshot.json") == 0)
		srv_tar_put_end(&end);
	bool ok = srv_write_all(s->fd, head.data, head.size) && srv_write_all(s->fd, bytes.data, bytes.len) &&
			  srv_write_all(s->fd, end.data, end.size);
	return ok || fail_file(s, s->file);
}

/* Lists the blobs of a record. */
static void note_blobs(const hob_buf *record, names *blobs)
{
	hob_own_json *json = cJSON_ParseWithLength((const char *)record->data, record->size);
	const cJSON *lists[] = {srv_cli_member(json, "outputs"),
							srv_cli_member(srv_cli_member(json, "run"), "outputs")},
				*output;
	for (size_t i = 0; i < HOB_COUNT_OF(lists); i++)
		cJSON_ArrayForEach(output, lists[i])
		{
			char name[80];
			snprintf(name, sizeof name, "blobs/%.64s", srv_cli_text(output, "sha256"));
			add(blobs, name);
		}
}

/* Writes the files that the other side lacks. blobs: NULL: they are blobs. */
static bool put_files(snapshot *s, names *list, names *blobs, cJSON *left_out)
{
	sort_once(list);
	for (uint32_t i = 0; i < list->count; i++) {
		char target[96];
		cli_response file;
		if (is_had(s, list->items[i])) {
			cJSON_AddItemToArray(left_out, cJSON_CreateString(list->items[i]));
			continue;
		}
		snprintf(target, sizeof target, "/%s", list->items[i]);
		s->code = s->code == EXIT_GOOD ? srv_cli_fetch(who, s->url, target, &file) : s->code;
		if (s->code != EXIT_GOOD)
			return false;
		bool ok = put_file(s, list->items[i], hob_buf_str(&file.body));
		s->bytes += file.body.size;
		s->written++;
		if (ok && blobs)
			note_blobs(&file.body, blobs);
		srv_cli_response_release(&file);
		if (!ok)
			return false;
	}
	return true;
}

static bool put_all(snapshot *s, cJSON *json)
{
	names records = {0}, blobs = {0};
	const cJSON *asset;
	cJSON *left_out = cJSON_AddArrayToObject(json, "left_out");
	cJSON_ArrayForEach(asset, srv_cli_member(json, "assets"))
	{
		char name[80];
		snprintf(name, sizeof name, "records/%.64s", srv_cli_text(asset, "record"));
		if (srv_cli_text(asset, "record")[0])
			add(&records, name);
	}
	bool ok = put_files(s, &records, &blobs, left_out) && put_files(s, &blobs, NULL, left_out);
	hob_own char *text = ok ? cJSON_PrintUnformatted(json) : NULL;
	ok = text && put_file(s, "snapshot.json", hob_str_of(text));
	release(&records);
	release(&blobs);
	return ok;
}

/* Writes beside the file, which is replaced once it is whole. */
static void export(snapshot *s, const char *root, const char *rev)
{
	hob_own_buf part = {0};
	cJSON *commit;
	hob_own_json *json = srv_cli_commit_manifest(who, s->url, root, rev, "", &commit, &s->code);
	hob_buf_printf(&part, "%s.part", s->file);
	s->fd = json ? open(srv_cli_ended(&part), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
	bool ok = json && (s->fd >= 0 || fail_file(s, srv_cli_ended(&part)));
	if (ok) {
		char size[32];
		cJSON_AddNumberToObject(json, "hob_snapshot", 1);
		cJSON_AddItemReferenceToObject(json, "commit", commit);
		ok = put_all(s, json) && (fsync(s->fd) == 0 || fail_file(s, s->file)) &&
			 (rename(srv_cli_ended(&part), s->file) == 0 || fail_file(s, s->file));
		if (ok)
			printf("%s  %s up to %.7s: %s in %u files, %d were there\n", s->file,
				   srv_cli_text(commit, "root"), srv_cli_text(commit, "id"), srv_text_bytes(s->bytes, size),
				   s->written, cJSON_GetArraySize(srv_cli_member(json, "left_out")));
		else
			unlink(srv_cli_ended(&part));
	}
	srv_close(s->fd);
	cJSON_Delete(commit);
}

/* ---- import */

static bool give(snapshot *s, const char *name, const hob_buf *bytes, void *user)
{
	char target[96];
	cli_response response;
	uint32_t *count = user;
	snprintf(target, sizeof target, "/%.90s", name);
	if (!srv_cli_request(s->url, "PUT", target, NULL, hob_buf_str(bytes), &response, &s->error))
		return fail(s, EXIT_UNREACHABLE);
	bool taken = response.status / 100 == 2;
	if (!taken)
		s->code = srv_cli_print_problem(who, &response);
	srv_cli_response_release(&response);
	s->bytes += bytes->size;
	++*count;
	return taken;
}

static void import(snapshot *s)
{
	uint32_t blobs = 0, records = 0;
	char size[32];
	/* A record is taken once its blobs are there. */
	if (each_file(s, s->file, "blobs/", give, &blobs) && each_file(s, s->file, "records/", give, &records))
		printf("%u records and %u files, %s; what was cooked there is not cooked here\n", records, blobs,
			   srv_text_bytes(s->bytes, size));
}

static int run_snapshot(int argc, char **argv)
{
	const char *root = NULL, *have = NULL;
	snapshot s = {.url = srv_cli_default_url(), .fd = -1};
	cli_option options[] = {
		{"--out", 'o', CLI_TEXT, &s.file, "FILE", "export: the file to write"},
		{"--have", 0, CLI_TEXT, &have, "URL|FILE",
		 "export: what the other side has is left out: ask its daemon, or take it from an earlier snapshot"},
		{"--root", 0, CLI_TEXT, &root, "NAME", "the source, where several are repositories"},
		CLI_URL_OPTION(s.url)};
	int operands = srv_cli_parse(&srv_cli_snapshot, options, HOB_COUNT_OF(options), argc, argv);
	bool out = operands > 0 && strcmp(argv[1], "export") == 0;
	if (operands != 2 || (!out && strcmp(argv[1], "import") != 0) || (out && !s.file))
		return srv_cli_usage_error(&srv_cli_snapshot,
								   "it is 'export REV -o FILE', or 'import FILE', with a commit and a file");
	bool asks = have && (strstr(have, "://") || strncmp(have, "unix:", 5) == 0 || access(have, F_OK) != 0);
	s.other = asks ? have : NULL;
	if (!out) {
		s.file = argv[2];
		import(&s);
	} else if (!have || asks || each_file(&s, have, "", note_had, NULL)) {
		sort_once(&s.had);
		export(&s, root, argv[2]);
	}
	release(&s.had);
	return s.code;
}

const cli_command srv_cli_snapshot = {
	"snapshot", "export|import REV|FILE", "carry what was cooked to a machine out of reach",
	"'export' writes everything that was cooked of a commit of a git repository into one file, without what "
	"the other side has. 'import' gives it to a daemon, which then cooks nothing that is in "
	"the file. For a second studio, a plane, a kit without a network. The file is a tar.\n"
	"\n"
	"Examples:\n"
	"  hob snapshot export main -o monday.tar\n"
	"  hob snapshot export main -o tuesday.tar --have monday.tar\n"
	"  hob snapshot import tuesday.tar --url 127.0.0.1:7780\n",
	run_snapshot};
