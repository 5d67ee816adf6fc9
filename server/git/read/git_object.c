#include "git_object.h"

#include "../../../core/base/pieces.h"

enum { MODE_DIGITS = 6, NAME_MAX_BYTES = 255, POINTER_MAX = 1024 };

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool srv_git_id_parse(hob_str text, srv_git_id *out)
{
	bool good = text.len == SRV_GIT_ID_TEXT;
	for (size_t i = 0; good && i < SRV_GIT_ID; i++) {
		int high = digit_of(text.data[2 * i]), low = digit_of(text.data[2 * i + 1]);
		good = high >= 0 && low >= 0;
		out->bytes[i] = (uint8_t)(good ? high << 4 | low : 0);
	}
	return good;
}

srv_git_hex srv_git_id_text(const srv_git_id *id)
{
	static const char digits[] = "0123456789abcdef";
	srv_git_hex hex = {""};
	for (size_t i = 0; i < SRV_GIT_ID; i++) {
		hex.text[2 * i] = digits[id->bytes[i] >> 4];
		hex.text[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	return hex;
}

bool srv_git_id_equal(const srv_git_id *a, const srv_git_id *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* ---- trees */

int srv_git_compare(const srv_git_entry *a, const srv_git_entry *b)
{
	size_t common = a->name.len < b->name.len ? a->name.len : b->name.len;
	int order = memcmp(a->name.data, b->name.data, common);
	if (order != 0)
		return order;
	int after_a = a->name.len > common ? (uint8_t)a->name.data[common] : a->kind == SRV_GIT_FOLDER ? '/' : 0;
	int after_b = b->name.len > common ? (uint8_t)b->name.data[common] : b->kind == SRV_GIT_FOLDER ? '/' : 0;
	return after_a - after_b;
}

static srv_git_kind kind_of(uint32_t mode)
{
	switch (mode >> 12) {
	case 004:
		return SRV_GIT_FOLDER;
	case 010:
		return SRV_GIT_FILE;
	case 012:
		return SRV_GIT_LINK;
	case 016:
		return SRV_GIT_MODULE;
	default:
		return SRV_GIT_ODD;
	}
}

bool srv_git_tree_next(srv_git_tree *tree, hob_error *err)
{
	const uint8_t *data = tree->rest.data;
	size_t size = tree->rest.size, at = 0;
	srv_git_entry next = {.name = {0}};
	uint32_t mode = 0;
	err->code = HOB_ERR_OK;
	if (size == 0)
		return false;
	for (; at < size && at < MODE_DIGITS && data[at] >= '0' && data[at] <= '7'; at++)
		mode = mode << 3 | (uint32_t)(data[at] - '0');
	const uint8_t *end = at > 0 && at < size && data[at] == ' ' ? memchr(data + at, 0, size - at) : NULL;
	if (!end || (size_t)(data + size - end) < 1 + SRV_GIT_ID)
		return hob_fail(err, CORRUPT, "a tree is damaged");
	next.name = (hob_str){(const char *)data + at + 1, (size_t)(end - data) - at - 1};
	next.kind = kind_of(mode);
	memcpy(next.id.bytes, end + 1, SRV_GIT_ID);
	if (tree->any && srv_git_compare(&tree->entry, &next) >= 0)
		return hob_fail(err, CORRUPT, "a tree is not in order at '%.*s'", HOB_FMT(next.name));
	size_t used = (size_t)(end - data) + 1 + SRV_GIT_ID;
	tree->rest = (hob_bytes){data + used, size - used};
	tree->entry = next;
	tree->any = true;
	return true;
}

const char *srv_git_name_fault(hob_str name)
{
	if (name.len == 0 || name.len > NAME_MAX_BYTES)
		return name.len == 0 ? "is empty" : "is longer than 255 bytes";
	if (hob_str_equal(name, HOB_STR(".")) || hob_str_equal(name, HOB_STR("..")))
		return "leads out of its folder";
	if (memchr(name.data, '/', name.len))
		return "holds a '/'";
	return hob_str_equal_nocase(name, HOB_STR(".git")) ? "is reserved for git" : NULL;
}

/* ---- commits and tags */

static hob_str next_line(hob_str *rest)
{
	return hob_str_next(rest, '\n');
}

static bool take(hob_str *line, hob_str word)
{
	bool starts = hob_str_starts(*line, word);
	if (starts)
		*line = hob_str_sub(*line, word.len, line->len);
	return starts;
}

/* "Ann <ann@example.org> 1700000000 +0100": the name and the time. */
static void read_person(hob_str line, hob_str *name, int64_t *time_s)
{
	size_t from = hob_str_find(line, HOB_STR("<"), 0), to = line.len;
	*name = hob_str_sub(line, 0, from);
	while (name->len > 0 && name->data[name->len - 1] == ' ')
		name->len--;
	while (to > 0 && line.data[to - 1] != '>')
		to--;
	int64_t seconds = 0;
	for (to++; to < line.len && line.data[to] >= '0' && line.data[to] <= '9' && seconds < 1000000000000; to++)
		seconds = seconds * 10 + (line.data[to] - '0');
	*time_s = seconds < 253402300800 ? seconds : 0;
}

bool srv_git_commit_parse(hob_bytes data, srv_git_commit *out, hob_error *err)
{
	hob_str rest = {(const char *)data.data, data.size}, line = next_line(&rest), nobody;
	int64_t written;
	*out = (srv_git_commit){.time_s = 0};
	if (!take(&line, HOB_STR("tree ")) || !srv_git_id_parse(line, &out->tree))
		return hob_fail(err, CORRUPT, "a commit is damaged: it names no tree");
	while (rest.len > 0 && (line = next_line(&rest)).len > 0) {
		if (take(&line, HOB_STR("parent "))) {
			if (out->parent_count == SRV_GIT_PARENTS)
				return hob_fail(err, LIMIT, "a commit has more than %d parents", SRV_GIT_PARENTS);
			if (!srv_git_id_parse(line, &out->parents[out->parent_count++]))
				return hob_fail(err, CORRUPT, "a commit is damaged: a parent is no name of an object");
		} else if (take(&line, HOB_STR("author "))) {
			read_person(line, &out->author, &written);
		} else if (take(&line, HOB_STR("committer "))) {
			read_person(line, &nobody, &out->time_s);
		}
	}
	while (rest.len > 0 && out->subject.len == 0)
		out->subject = next_line(&rest);
	return true;
}

bool srv_git_tag_parse(hob_bytes data, srv_git_id *out, hob_error *err)
{
	hob_str rest = {(const char *)data.data, data.size}, line = next_line(&rest);
	return (take(&line, HOB_STR("object ")) && srv_git_id_parse(line, out)) ||
		   hob_fail(err, CORRUPT, "a tag is damaged: it names no object");
}

bool srv_git_lfs_parse(hob_bytes data, hob_str *sha256, uint64_t *size)
{
	hob_str rest = {(const char *)data.data, data.size}, line;
	if (data.size > POINTER_MAX ||
		!hob_str_equal(next_line(&rest), HOB_STR("version https://git-lfs.github.com/spec/v1")))
		return false;
	bool has_size = false;
	*sha256 = (hob_str){0};
	*size = 0;
	while (rest.len > 0) {
		line = next_line(&rest);
		if (take(&line, HOB_STR("oid sha256:"))) {
			*sha256 = line;
		} else if (take(&line, HOB_STR("size "))) {
			has_size = line.len > 0 && line.len < 19;
			for (size_t i = 0; i < line.len && has_size; i++) {
				has_size = line.data[i] >= '0' && line.data[i] <= '9';
				*size = *size * 10 + (uint64_t)(line.data[i] - '0');
			}
		}
	}
	bool good = has_size && sha256->len == 64;
	for (size_t i = 0; i < sha256->len && good; i++)
		good = digit_of(sha256->data[i]) >= 0;
	return good;
}
