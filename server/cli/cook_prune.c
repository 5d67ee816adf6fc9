#include "cook_run_private.h"
#include "cook_write.h"

#include "../../core/formats/pack_read.h"
#include "../../core/hash/hash.h"
#include "../fs/fd.h"
#include "../log/log.h"
#include "../store/digest_map.h"

#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static const char report_ending[] = ".report.json", materials_ending[] = ".materials";

typedef struct pruning {
	const char *out;
	const cook_plan *plan;
	bool quiet, unsure; /* `unsure`: a materials file could not be read */
	digest_map used;	/* textures that materials files name */
} pruning;

static bool ends(const char *path, const char *ending)
{
	size_t length = strlen(path), tail = strlen(ending);
	return length > tail && strcmp(path + length - tail, ending) == 0;
}

/* ---- sources that no longer exist */

static bool begins_as_report(const char *path)
{
	char begin[12] = "";
	srv_own_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t got = fd >= 0 ? read(fd, begin, sizeof begin - 1) : -1;
	return got > 0 && strcmp(begin, "{\"report\":1") == 0;
}

static bool exists_below(const cook_plan *plan, const char *folder, size_t length, const char *name)
{
	char path[PATH_MAX];
	struct stat info;
	if (snprintf(path, sizeof path, "%.*s%s", (int)length, folder, name) >= (int)sizeof path)
		return true;
	return fstatat(plan->root_fd, path, &info, AT_SYMLINK_NOFOLLOW) == 0 ||
		   (errno != ENOENT && errno != ENOTDIR);
}

/* Whether the source `name` is in none of the folders that output names are relative to, which are the
 * leading parts of the entries' paths. */
static bool is_gone(const cook_plan *plan, const char *name)
{
	const char *last = NULL;
	size_t last_length = 0;
	for (uint32_t i = 0; i < plan->count; i++) {
		const cook_entry *entry = &plan->entries[i];
		size_t length = (size_t)(entry->name - entry->path);
		if (last && length == last_length && memcmp(last, entry->path, length) == 0)
			continue;
		last = entry->path;
		last_length = length;
		if (exists_below(plan, entry->path, length, name))
			return false;
	}
	return true;
}

static bool is_written_now(const pruning *p, const char *report)
{
	char path[PATH_MAX];
	hob_error ignored;
	for (uint32_t i = 0; i < p->plan->count; i++)
		if (srv_cook_name_output(p->out, p->plan->entries[i].name, report_ending, path, &ignored) &&
			strcmp(path, report) == 0)
			return true;
	return false;
}

/* Removes the file, then its folders as they become empty. */
static void remove_file(pruning *p, const char *file)
{
	char path[PATH_MAX];
	struct stat info;
	bool there = snprintf(path, sizeof path, "%s", file) < (int)sizeof path && lstat(path, &info) == 0 &&
				 S_ISREG(info.st_mode);
	if (!there || unlink(path) != 0)
		return;
	for (char *slash = strrchr(path, '/'); slash && slash > path + strlen(p->out);
		 slash = strrchr(path, '/')) {
		*slash = 0;
		if (rmdir(path) != 0)
			break;
	}
}

static void remove_outputs(pruning *p, const char *report)
{
	char path[PATH_MAX + 32];
	int stem = (int)(strlen(report) - strlen(report_ending));
	for (size_t i = 0; i < SRV_COOK_ENDINGS; i++) {
		snprintf(path, sizeof path, "%.*s%s", stem, report, srv_cook_endings[i]);
		remove_file(p, path);
	}
	snprintf(path, sizeof path, "%.*s", stem - (int)strlen(p->out) - 1, report + strlen(p->out) + 1);
	srv_plain(path);
	if (!p->quiet)
		fprintf(stderr, "removed  %s\n", path);
}

static void look_at_report(pruning *p, const char *path)
{
	char name[PATH_MAX];
	snprintf(name, sizeof name, "%s", path + strlen(p->out) + 1);
	name[strlen(name) - strlen(report_ending)] = 0;
	if (is_gone(p->plan, name) && !is_written_now(p, path) && begins_as_report(path))
		remove_outputs(p, path);
}

/* ---- textures that nothing names */

static void note_textures(pruning *p, const char *path)
{
	hob_bytes file = {0};
	hob_pack pack;
	hob_error ignored;
	bool ok = srv_map_file(path, &file, &ignored) && hob_pack_open(file, &pack, &ignored);
	hob_pack_array images = ok ? hob_pack_find(&pack, HOB_PK_IMGS) : (hob_pack_array){0};
	for (uint32_t i = 0; i < images.count && ok; i++) {
		hob_sha256 digest;
		bool fresh;
		memcpy(digest.bytes, HOB_PACK_AT(hob_pk_image, images, i)->cooked_sha256, sizeof digest.bytes);
		ok = srv_digest_map_put(&p->used, &digest, &fresh) != NULL;
	}
	p->unsure = p->unsure || !ok;
	srv_unmap_file(&file);
}

/* Removes an unused texture: OUT/textures/HASH.ktx2, or one beside a classic file. */
static void look_at_texture(pruning *p, const char *path, const char *name)
{
	hob_sha256 digest;
	bool is_texture =
		strlen(name) > HOB_SHA256_TEXT && hob_sha256_parse((hob_str){name, HOB_SHA256_TEXT}, &digest);
	if (is_texture && !srv_digest_map_find(&p->used, &digest))
		remove_file(p, path);
}

static bool holds_textures(const FTSENT *folder)
{
	return strcmp(folder->fts_name, "out_textures") == 0 ||
		   (folder->fts_level == 1 && strcmp(folder->fts_name, "textures") == 0);
}

/* ---- walks */

static bool walk(pruning *p, void (*each)(pruning *p, const FTSENT *entry), hob_error *err)
{
	char *paths[] = {(char *)(uintptr_t)p->out, NULL};
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!tree)
		return hob_fail(err, IO, "'%s' cannot be read: %s", p->out, strerror(errno));
	errno = 0;
	for (FTSENT *entry = fts_read(tree); entry; entry = fts_read(tree))
		each(p, entry);
	bool ok = errno == 0 || hob_fail(err, IO, "'%s' cannot be read: %s", p->out, strerror(errno));
	fts_close(tree);
	return ok;
}

static void visit_report(pruning *p, const FTSENT *entry)
{
	if (entry->fts_info == FTS_F && entry->fts_level > 0 && ends(entry->fts_path, report_ending))
		look_at_report(p, entry->fts_path);
}

static void visit_materials(pruning *p, const FTSENT *entry)
{
	bool unread = entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS;
	p->unsure = p->unsure || unread;
	if (entry->fts_info == FTS_F && ends(entry->fts_path, materials_ending) &&
		!ends(entry->fts_path, ".classic.materials"))
		note_textures(p, entry->fts_path);
}

static void visit_texture(pruning *p, const FTSENT *entry)
{
	if (entry->fts_info == FTS_F && entry->fts_parent && holds_textures(entry->fts_parent))
		look_at_texture(p, entry->fts_path, entry->fts_name);
}

bool srv_cook_prune(const char *out, const cook_plan *plan, bool quiet, hob_error *err)
{
	char path[PATH_MAX];
	struct stat info;
	size_t length = strlen(out);
	while (length > 1 && out[length - 1] == '/')
		length--;
	if (snprintf(path, sizeof path, "%.*s", (int)length, out) >= (int)sizeof path || stat(path, &info) != 0)
		return true; /* `out` does not exist: nothing was written */
	pruning p = {.out = path, .plan = plan, .quiet = quiet};
	srv_digest_map_init(&p.used, 0);
	bool ok = walk(&p, visit_report, err) && walk(&p, visit_materials, err) &&
			  (p.unsure || walk(&p, visit_texture, err));
	srv_digest_map_release(&p.used);
	return ok;
}
