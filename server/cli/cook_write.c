#include "cook_write.h"
#include "cook_format.h"

#include "../../core/base/json_write.h"
#include "../../core/formats/classic.h"
#include "../../core/hash/hash.h"
#include "../fs/fd.h"
#include "../fs/transfer.h"
#include "../fs/whole_path.h"
#include "../worker/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGEST_KEPT = 16 };

const char *const srv_cook_endings[SRV_COOK_ENDINGS] = {
	".meshes",		   ".materials",		 ".scene",		  ".animations", ".report.json",
	".classic.meshes", ".classic.materials", ".classic.scene"};

/* ---- one file */

static bool make_folders(char *path, hob_error *err)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		bool ok = mkdir(path, 0777) == 0 || errno == EEXIST;
		if (!ok)
			hob_fail(err, IO, "cannot create the folder '%s': %s", path, strerror(errno));
		*p = '/';
		if (!ok)
			return false;
	}
	return true;
}

bool srv_cook_make_out(const char *out, hob_error *err)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof path, "%s/", out) >= (int)sizeof path)
		return hob_fail(err, USAGE, "the path '%.80s...' is too long", out);
	hob_error why;
	if (make_folders(path, &why) && access(path, W_OK | X_OK) == 0)
		return true;
	return hob_fail(err, USAGE, "the folder '%s' cannot be written: %s", out, strerror(errno));
}

static bool fail_write(const char *path, hob_error *err)
{
	if (errno == ENOSPC || errno == EDQUOT)
		return hob_fail(err, DISK_FULL, "'%s' cannot be written: the disk is full", path);
	return hob_fail(err, IO, "'%s' cannot be written: %s", path, strerror(errno));
}

/* Whether the path stands for a descriptor of the process, such as /dev/stdout, which can be a file. */
static bool is_of_process(const char *path)
{
	return strncmp(path, "/dev/std", 8) == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
		   strncmp(path, "/proc/self/fd/", 14) == 0;
}

/* Creates a new file: in a folder that others can write to, an existing name could be a link of theirs. */
static int make_new(const char *path)
{
	unlink(path);
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* Whether a file begins with these bytes, and ends after them unless `more` may follow. */
static bool has_bytes(const char *path, hob_bytes bytes, bool more)
{
	uint8_t piece[16384];
	struct stat info;
	size_t at = 0;
	srv_own_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool same = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
				(more ? (size_t)info.st_size >= bytes.size : (size_t)info.st_size == bytes.size);
	while (same && at < bytes.size) {
		size_t want = bytes.size - at < sizeof piece ? bytes.size - at : sizeof piece;
		ssize_t got = read(fd, piece, want);
		same = got > 0 && memcmp(piece, bytes.data + at, (size_t)got) == 0;
		at += same ? (size_t)got : 0;
	}
	return same;
}

/* Writes a file, unless it already has these bytes: then build systems and copies see no change. */
static bool put_file(const char *path, hob_bytes bytes, cook_bytes *total, hob_error *err)
{
	if (!has_bytes(path, bytes, false))
		return srv_cook_write_file(path, bytes, &total->written, err);
	total->reused += bytes.size;
	return true;
}

/* Writes the report, unless only the times of stages at its end would change. */
static bool put_report(const char *path, hob_bytes report, cook_bytes *total, hob_error *err)
{
	size_t end =
		hob_str_find((hob_str){(const char *)report.data, report.size}, HOB_STR(",\"timings_us\":{"), 0);
	bool same =
		total->written == 0 && end != SIZE_MAX && has_bytes(path, (hob_bytes){report.data, end + 1}, true);
	total->reused += same ? report.size : 0;
	return same || put_file(path, report, total, err);
}

bool srv_cook_write_file(const char *path, hob_bytes bytes, uint64_t *total, hob_error *err)
{
	char name[PATH_MAX], temp[PATH_MAX];
	int length = snprintf(name, sizeof name, "%s", path);
	/* Two entries can write the same texture at once: each has its own temp file, and the last rename wins
	 * with the same bytes. */
	static atomic_uint serial;
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0;
	int temp_length = snprintf(temp, sizeof temp, "%.*s.hob-part-%d-%u", folder, path, (int)getpid(),
							   atomic_fetch_add(&serial, 1));
	if (length >= (int)sizeof name || temp_length >= (int)sizeof temp)
		return hob_fail(err, IO, "the path '%.80s...' is too long", path);
	if (!make_folders(name, err))
		return false;
	/* Do not rename over a device or a pipe. */
	struct stat info;
	bool of_process = is_of_process(path);
	bool direct = of_process || (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
	/* A separately opened file would have its own offset, and the next writer to standard output would
	 * overwrite it. */
	int fd = strcmp(path, "/dev/stdout") == 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
			 : of_process					  ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
			 : direct						  ? open(path, O_WRONLY | O_CLOEXEC)
											  : make_new(temp);
	if (fd < 0)
		return fail_write(path, err);
	bool ok =
		srv_write_all(fd, bytes.data, bytes.size) && close(fd) == 0 && (direct || rename(temp, path) == 0);
	if (!ok) {
		fail_write(path, err);
		if (!direct)
			unlink(temp);
		return false;
	}
	*total += bytes.size;
	return true;
}

/* ---- one entry */

bool srv_cook_name_output(const char *out, const char *entry, const char *ending, char *path, hob_error *err)
{
	const char *slash = strrchr(entry, '/'), *name = slash ? slash + 1 : entry;
	size_t len = strlen(name), room = NAME_MAX - strlen(ending), kept = len;
	char digest[HOB_SHA256_TEXT + 1] = "";
	if (len > room) {
		hob_sha256 hash = hob_sha256_of((hob_bytes){(const uint8_t *)name, len});
		hob_sha256_text(&hash, digest);
		digest[DIGEST_KEPT] = 0;
		kept = room - DIGEST_KEPT - 1;
		while (kept > 0 && ((unsigned char)name[kept] & 0xC0) == 0x80)
			kept--; /* not inside a UTF-8 character */
	}
	int size = snprintf(path, PATH_MAX, "%s/%.*s%.*s%s%s%s", out, (int)(name - entry), entry, (int)kept, name,
						len > kept ? "~" : "", digest, ending);
	return size < PATH_MAX || hob_fail(err, IO, "the path of what '%.80s...' becomes is too long", entry);
}

static const char *texture_extension(hob_bytes bytes)
{
	static const struct {
		uint8_t magic[4];
		const char *extension;
	} kinds[] = {{{0xAB, 'K', 'T', 'X'}, "ktx2"},	{{0x89, 'P', 'N', 'G'}, "png"},
				 {{0xFF, 0xD8, 0xFF, 0xE0}, "jpg"}, {{0xFF, 0xD8, 0xFF, 0xE1}, "jpg"},
				 {{'D', 'D', 'S', ' '}, "dds"},		{{'R', 'I', 'F', 'F'}, "webp"}};
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		if (bytes.size >= 4 && memcmp(bytes.data, kinds[i].magic, 4) == 0)
			return kinds[i].extension;
	return "bin";
}

/* Textures are named by content, so models that share one write it once. */
static bool write_textures(const char *folder, const srv_result *result, cook_bytes *bytes, hob_error *err)
{
	for (uint32_t i = 0; i < result->output_count; i++) {
		const hob_cook_output *output = &result->outputs[i];
		if (!hob_str_starts(output->name, HOB_STR("textures/")))
			continue;
		char path[PATH_MAX], digest[HOB_SHA256_TEXT + 1];
		hob_sha256 hash = hob_sha256_of(output->bytes);
		hob_sha256_text(&hash, digest);
		const char *ending = texture_extension(output->bytes);
		if (snprintf(path, sizeof path, "%s/%s.%s", folder, digest, ending) >= (int)sizeof path)
			return hob_fail(err, IO, "the path '%.80s...' is too long", folder);
		if (access(path, F_OK) == 0)
			bytes->reused += output->bytes.size;
		else if (!srv_cook_write_file(path, output->bytes, &bytes->written, err))
			return false;
	}
	return true;
}

static hob_pack_set packed_of(const srv_result *result)
{
	return (hob_pack_set){srv_find_output(result, "meshes"), srv_find_output(result, "materials"),
						  srv_find_output(result, "scene"), srv_find_output(result, "animations")};
}

static bool make_classic(const srv_result *result, hob_notes *notes, hob_classic_files *classic,
						 hob_error *err)
{
	hob_pack_set set = packed_of(result);
	return hob_classic_from_packed(&set, notes, classic, err);
}

/* ---- pictures that a classic .materials file names, in out_textures beside it */

static hob_bytes find_texture(const srv_result *result, const hob_sha256 *digest)
{
	for (uint32_t i = 0; i < result->output_count; i++) {
		if (!hob_str_starts(result->outputs[i].name, HOB_STR("textures/")))
			continue;
		hob_sha256 hash = hob_sha256_of(result->outputs[i].bytes);
		if (hob_sha256_equal(&hash, digest))
			return result->outputs[i].bytes;
	}
	return (hob_bytes){0};
}

/* Gives the same picture a second name: a hard link if the disk supports it, else a copy. */
static bool write_again(const char *first, const char *path, hob_bytes picture, cook_bytes *bytes,
						hob_error *err)
{
	char folders[PATH_MAX];
	if (snprintf(folders, sizeof folders, "%s", path) >= (int)sizeof folders)
		return hob_fail(err, IO, "the path '%.80s...' is too long", path);
	if (access(path, F_OK) == 0)
		return true;
	return make_folders(folders, err) && ((first[0] && link(first, path) == 0) || errno == EEXIST ||
										  srv_cook_write_file(path, picture, &bytes->written, err));
}

/* Writes the pictures that a .materials file names. `folder` is that file's, "" or ending in a slash;
 * `others` is a folder that may already hold them. */
static bool write_named_textures(const char *folder, const char *others, const hob_buf *materials,
								 const srv_result *result, cook_bytes *bytes, hob_error *err)
{
	hob_classic_materials view;
	hob_str name;
	if (!hob_classic_open_materials(hob_buf_bytes(materials), &view, err))
		return false;
	while (hob_classic_strings_next(&view.files, &name)) {
		hob_str file = hob_path_name(name);
		hob_sha256 digest;
		char path[PATH_MAX], first[PATH_MAX];
		hob_bytes picture = {0};
		if (file.len > HOB_SHA256_TEXT && hob_sha256_parse(hob_str_sub(file, 0, HOB_SHA256_TEXT), &digest))
			picture = find_texture(result, &digest);
		if (!picture.data)
			return hob_fail(err, INTERNAL, "the picture '%.*s' was not cooked", HOB_FMT(name));
		snprintf(first, sizeof first, "%s%.*s", others, HOB_FMT(file));
		if (snprintf(path, sizeof path, "%s%.*s", folder, HOB_FMT(name)) >= (int)sizeof path)
			return hob_fail(err, IO, "the path of the picture '%.*s' is too long", HOB_FMT(name));
		if (!write_again(first, path, picture, bytes, err))
			return false;
	}
	return true;
}

static void folder_of(const char *path, char folder[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - path) + 1 : 0, path);
}

/* Writes the three files that a scene list names. Pictures are written twice, also for programs that resolve
 * the names in the .materials file relative to the current folder. */
static bool write_scene(const cook_entry *entry, const srv_result *result, hob_notes *notes,
						cook_bytes *bytes, hob_error *err)
{
	hob_classic_files classic = {0};
	char folder[PATH_MAX], textures[PATH_MAX + 16];
	folder_of(entry->output_materials, folder);
	snprintf(textures, sizeof textures, "%sout_textures/", folder);
	bool ok = make_classic(result, notes, &classic, err) &&
			  put_file(entry->output_mesh, hob_buf_bytes(&classic.meshes), bytes, err) &&
			  put_file(entry->output_materials, hob_buf_bytes(&classic.materials), bytes, err) &&
			  put_file(entry->output_scene, hob_buf_bytes(&classic.scene), bytes, err) &&
			  write_named_textures(folder, "", &classic.materials, result, bytes, err) &&
			  write_named_textures("", textures, &classic.materials, result, bytes, err);
	hob_classic_files_release(&classic);
	return ok;
}

static bool find_blob(void *user, const uint8_t sha256[32], hob_bytes *out, hob_error *err)
{
	hob_sha256 digest;
	(void)err;
	memcpy(digest.bytes, sha256, sizeof digest.bytes);
	hob_bytes found = find_texture(user, &digest);
	if (found.data)
		*out = found;
	return true;
}

static bool write_glb(const cook_write_options *options, const cook_entry *entry, const srv_result *result,
					  hob_notes *notes, cook_bytes *bytes, hob_error *err)
{
	char path[PATH_MAX];
	srv_glb_source source = {.set = packed_of(result), .user = (void *)(uintptr_t)result, .blob = find_blob};
	return srv_export_name(options->out, entry->name, path, err) &&
		   srv_export_write(&source, path, notes, &bytes->written, err);
}

bool srv_cook_write_entry(const cook_write_options *options, const cook_entry *entry,
						  const srv_result *result, hob_notes *notes, cook_bytes *bytes, hob_error *err)
{
	const char *const *ending = srv_cook_endings;
	char path[PATH_MAX];
	if (options->glb)
		return write_glb(options, entry, result, notes, bytes, err);
	if (entry->output_mesh)
		return write_scene(entry, result, notes, bytes, err);
	bool ok = true;
	for (; ok && ending < srv_cook_endings + COOK_PARTS; ending++) {
		hob_bytes output = srv_find_output(result, *ending + 1);
		ok = output.size == 0 || (srv_cook_name_output(options->out, entry->name, *ending, path, err) &&
								  put_file(path, output, bytes, err));
	}
	snprintf(path, sizeof path, "%s/textures", options->out);
	ok = ok && write_textures(path, result, bytes, err) &&
		 srv_cook_name_output(options->out, entry->name, *ending++, path, err) &&
		 put_report(path, srv_find_output(result, "report"), bytes, err);
	if (!ok || !options->classic)
		return ok;
	hob_classic_files classic = {0};
	const hob_buf *made[3] = {&classic.meshes, &classic.materials, &classic.scene};
	ok = make_classic(result, notes, &classic, err);
	for (size_t i = 0; ok && i < HOB_COUNT_OF(made); i++)
		ok = srv_cook_name_output(options->out, entry->name, ending[i], path, err) &&
			 put_file(path, hob_buf_bytes(made[i]), bytes, err);
	char folder[PATH_MAX], textures[PATH_MAX];
	if (ok) {
		folder_of(path, folder);
		snprintf(textures, sizeof textures, "%s/textures/", options->out);
		ok = write_named_textures(folder, textures, &classic.materials, result, bytes, err);
	}
	hob_classic_files_release(&classic);
	return ok;
}

/* ---- the report */

void srv_cook_report_skipped(hob_buf *skipped, const char *file, const char *why)
{
	hob_buf_put_str(skipped, skipped->size > 0 ? HOB_STR(",\n") : HOB_STR("\n"));
	hob_json_object(skipped, HOB_JSON("path", file), HOB_JSON("why", why));
}

static void put_cooked(hob_buf *report, const srv_result *result)
{
	const hob_cook_stats *s = &result->stats;
	hob_json_put(report, HOB_JSON("triangles", s->triangles), HOB_JSON("meshes", s->meshes),
				 HOB_JSON("materials", s->materials), HOB_JSON("textures", s->textures),
				 HOB_JSON_OPEN("notes", '['));
	for (uint32_t i = 0; i < result->note_count; i++) {
		const hob_note *note = &result->notes[i];
		hob_json_object(report, HOB_JSON("level", note->level == HOB_NOTE_WARNING ? "warning" : "info"),
						HOB_JSON("code", note->code), HOB_JSON("text", note->text));
	}
	hob_json_close(report, ']');
}

void srv_cook_report_entry(hob_buf *report, const cook_entry *entry, const srv_outcome *outcome,
						   const hob_error *error, const cook_bytes *bytes)
{
	const char *state = error ? "failed" : entry->cached ? "cached" : "cooked";
	hob_buf_put_str(report, report->size > 0 ? HOB_STR(",\n  ") : HOB_STR("\n  "));
	hob_json_put(report, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("path", entry->path), HOB_JSON("state", state),
				 HOB_JSON("bytes", bytes->written + bytes->reused), HOB_JSON("reused_bytes", bytes->reused));
	if (outcome)
		hob_json_put(report, HOB_JSON_MS("cook_ms", outcome->cook_ns),
					 HOB_JSON("peak_bytes", outcome->peak_bytes));
	if (error)
		hob_json_put(report, HOB_JSON_OPEN("error", '{'), HOB_JSON("code", hob_err_name(error->code)),
					 HOB_JSON("message", error->context), HOB_JSON_CLOSE('}'));
	if (outcome && outcome->has_result)
		put_cooked(report, &outcome->result);
	if (entry->origins)
		hob_json_put(report, HOB_JSON_RAW("settings", hob_str_of(entry->origins)));
	hob_json_close(report, '}');
}

static const char report_begin[] = "{\"hob\":\"";

/* Whether the file may be overwritten: an earlier report, an empty file, and anything but a regular file (a
 * pipe, /dev/stdout). */
static bool is_ours(const char *path)
{
	struct stat info;
	char begin[sizeof COOK_JUNIT_BEGIN] = "";
	if (is_of_process(path) || stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
		return true;
	srv_own_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, begin, sizeof begin - 1) : -1;
	return got > 0 && (strncmp(begin, report_begin, sizeof report_begin - 1) == 0 ||
					   strcmp(begin, COOK_JUNIT_BEGIN) == 0);
}

/* The path with its folder resolved, so that "out/../out/a" equals "out/a". */
static bool plain_path(const char *path, char out[PATH_MAX])
{
	char folder[PATH_MAX], real[PATH_MAX];
	const char *slash = strrchr(path, '/');
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	if (!realpath(folder, real))
		return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX;
	return snprintf(out, PATH_MAX, "%s/%s", real, slash ? slash + 1 : path) < PATH_MAX;
}

static bool same_place(const char *path, const char *output)
{
	char one[PATH_MAX], other[PATH_MAX];
	return output && hob_str_equal(hob_path_name(hob_str_of(path)), hob_path_name(hob_str_of(output))) &&
		   plain_path(path, one) && plain_path(output, other) && strcmp(one, other) == 0;
}

bool srv_cook_report_place(const char *path, const cook_plan *plan, const cook_write_options *options,
						   hob_error *err)
{
	if (!is_ours(path))
		return hob_fail(err, USAGE,
						"--report '%.120s': this file is not a report of hob cook and would be overwritten; "
						"choose another name",
						path);
	bool taken = false;
	for (uint32_t i = 0; i < plan->count && !taken && !options->nothing; i++) {
		const cook_entry *entry = &plan->entries[i];
		char output[PATH_MAX];
		hob_error ignored;
		taken = same_place(path, entry->output_mesh) || same_place(path, entry->output_scene) ||
				same_place(path, entry->output_materials);
		for (size_t e = 0; e < SRV_COOK_ENDINGS && !taken && !entry->output_mesh; e++)
			taken = srv_cook_name_output(options->out, entry->name, srv_cook_endings[e], output, &ignored) &&
					same_place(path, output);
	}
	return !taken || hob_fail(err, USAGE,
							  "--report '%.120s': an output of this run goes there; name another file", path);
}

static void print_report(const hob_buf *entries, const hob_buf *skipped, const cook_totals *t, hob_buf *out)
{
	hob_buf_printf(out, "%s%s\"", report_begin, HOB_VERSION);
	hob_json_put(out, HOB_JSON("cooked", t->cooked), HOB_JSON("cached", t->cached),
				 HOB_JSON("failed", t->failed), HOB_JSON_OPEN("totals", '{'),
				 HOB_JSON("assets", t->cooked + t->cached + t->failed), HOB_JSON("skipped", t->skipped),
				 HOB_JSON("over_budget", t->over_budget), HOB_JSON("triangles", t->triangles),
				 HOB_JSON("bytes", t->bytes), HOB_JSON("written_bytes", t->written_bytes),
				 HOB_JSON("reused_bytes", t->reused_bytes), HOB_JSON_MS("cook_ms", t->cook_ns),
				 HOB_JSON_MS("wall_ms", t->wall_ns), HOB_JSON_CLOSE('}'), HOB_JSON_OPEN("assets", '['));
	hob_buf_put_str(out, hob_buf_str(entries));
	hob_buf_put_str(out, HOB_STR("\n],\"skipped\":["));
	hob_buf_put_str(out, hob_buf_str(skipped));
	hob_buf_put_str(out, HOB_STR("\n]}\n"));
}

void srv_cook_folder_from_here(const char *root, char *out)
{
	char here[PATH_MAX];
	const char *rest = getcwd(here, sizeof here) ? srv_path_below(here, root) : NULL;
	root = rest ? rest : root;
	snprintf(out, PATH_MAX, "%.4000s%s", root, root[0] ? "/" : "");
}

/* Converts the report: *text becomes the JUnit file, or annotations are printed. */
static void apply_format(cook_format format, const char *root, hob_buf *text)
{
	char folder[PATH_MAX];
	hob_buf out = {0};
	hob_own_json *report = cJSON_ParseWithLength((const char *)text->data, text->size);
	if (format == COOK_FORMAT_JUNIT) {
		srv_cook_format_junit(report, &out);
		hob_buf_release(text);
		*text = out;
	} else {
		srv_cook_folder_from_here(root, folder);
		srv_cook_format_github(report, folder, &out);
		if (out.size > 0)
			fwrite(out.data, 1, out.size, stdout);
		hob_buf_release(&out);
	}
}

bool srv_cook_report_write(const char *path, cook_format format, const char *root, const hob_buf *entries,
						   const hob_buf *skipped, const cook_totals *totals, hob_error *err)
{
	hob_own_buf text = {0};
	uint64_t ignored = 0;
	/* A path such as "new/x/../a" depends on which folders exist. */
	char name[PATH_MAX];
	if (path && snprintf(name, sizeof name, "%s", path) < (int)sizeof name && !make_folders(name, err))
		return false;
	if (path && !is_ours(path))
		return hob_fail(err, USAGE, "--report '%.120s': an output of this run went there; name another file",
						path);
	print_report(entries, skipped, totals, &text);
	if (format != COOK_FORMAT_JSON && !text.failed)
		apply_format(format, root ? root : "", &text);
	return text.failed ? hob_fail(err, MEMORY, "no memory left for the report")
					   : !path || srv_cook_write_file(path, hob_buf_bytes(&text), &ignored, err);
}

/* ---- GLB files */

bool srv_export_is_one(const char *out)
{
	return strcmp(out, "-") == 0 || hob_str_ends_nocase(hob_str_of(out), HOB_STR(".glb"));
}

bool srv_export_name(const char *out, const char *source, char path[PATH_MAX], hob_error *err)
{
	if (!srv_export_is_one(out))
		return srv_cook_name_output(
			out, source, hob_str_ends_nocase(hob_str_of(source), HOB_STR(".glb")) ? "" : ".glb", path, err);
	return snprintf(path, PATH_MAX, "%s", strcmp(out, "-") == 0 ? "/dev/stdout" : out) < PATH_MAX ||
		   hob_fail(err, USAGE, "the path '%.80s...' is too long", path);
}

bool srv_export_write(const srv_glb_source *source, const char *path, hob_notes *notes, uint64_t *bytes,
					  hob_error *err)
{
	hob_own_buf out = {0};
	return srv_glb_make(source, notes, &out, err) &&
		   srv_cook_write_file(path, hob_buf_bytes(&out), bytes, err);
}
