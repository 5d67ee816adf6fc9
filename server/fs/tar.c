#include "tar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct tar_head {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6],
		version[2], user[32], group[32], major[8], minor[8], prefix[155], unused[12];
} tar_head;
_Static_assert(sizeof(tar_head) == SRV_TAR_BLOCK, "a header is one block");

static unsigned sum_of(const tar_head *head)
{
	tar_head copy = *head;
	const unsigned char *bytes = (const unsigned char *)&copy;
	unsigned sum = 0;
	memset(copy.checksum, ' ', sizeof copy.checksum);
	for (size_t i = 0; i < sizeof copy; i++)
		sum += bytes[i];
	return sum;
}

/* ---- writing */

static void put_head(hob_buf *out, hob_str name, uint64_t size, char type)
{
	tar_head head = {.type = type, .magic = "ustar", .version = {'0', '0'}};
	memcpy(head.name, name.data, name.len < sizeof head.name ? name.len : sizeof head.name);
	memcpy(head.mode, "0000644", 8);
	memcpy(head.uid, "0000000", 8);
	memcpy(head.gid, "0000000", 8);
	memcpy(head.mtime, "00000000000", 12);
	snprintf(head.size, sizeof head.size, "%011llo", (unsigned long long)size & 077777777777);
	char sum[16];
	snprintf(sum, sizeof sum, "%06o", sum_of(&head) & 0777777);
	memcpy(head.checksum, sum, 7);
	head.checksum[7] = ' ';
	hob_buf_put(out, &head, sizeof head);
}

void srv_tar_put_head(hob_buf *out, hob_str name, uint64_t size)
{
	if (name.len > sizeof((tar_head *)0)->name) {
		/* Puts "NNN path=NAME\n", where NNN is the length of the whole record. */
		size_t length = name.len + sizeof " path=\n" - 1, digits = 1;
		while (snprintf(NULL, 0, "%zu", length + digits) > (int)digits)
			digits++;
		put_head(out, HOB_STR("pax"), length + digits, 'x');
		hob_buf_printf(out, "%zu path=", length + digits);
		hob_buf_put_str(out, name);
		hob_buf_put(out, "\n", 1);
		srv_tar_put_padding(out, length + digits);
	}
	put_head(out, name, size, '0');
}

static void put_zeros(hob_buf *out, size_t count)
{
	static const char zeros[SRV_TAR_BLOCK];
	hob_buf_put(out, zeros, count);
}

void srv_tar_put_padding(hob_buf *out, uint64_t size)
{
	put_zeros(out, (size_t)(-size % SRV_TAR_BLOCK));
}

void srv_tar_put_end(hob_buf *out)
{
	put_zeros(out, SRV_TAR_BLOCK);
	put_zeros(out, SRV_TAR_BLOCK);
}

/* ---- reading */

static bool read_some(srv_tar_reader *r, void *out, size_t room, size_t *got, hob_error *err)
{
	ssize_t n;
	do
		n = read(r->fd, out, room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return hob_fail(err, IO, "the archive cannot be read: %s", strerror(errno));
	if (n == 0)
		return hob_fail(err, TRUNCATED, "the archive is cut off");
	*got = (size_t)n;
	return true;
}

static bool read_all(srv_tar_reader *r, void *out, size_t size, hob_error *err)
{
	for (size_t at = 0, got = 0; at < size; at += got)
		if (!read_some(r, (char *)out + at, size - at, &got, err))
			return false;
	return true;
}

static bool skip(srv_tar_reader *r, uint64_t count, hob_error *err)
{
	char bytes[16384];
	for (size_t got = 0; count > 0; count -= got)
		if (!read_some(r, bytes, count < sizeof bytes ? (size_t)count : sizeof bytes, &got, err))
			return false;
	return true;
}

static bool parse_octal(const char *text, size_t length, uint64_t *out)
{
	*out = 0;
	size_t i = 0;
	while (i < length && text[i] == ' ')
		i++;
	for (; i < length && text[i] >= '0' && text[i] <= '7'; i++)
		*out = *out * 8 + (uint64_t)(text[i] - '0');
	return i == length || text[i] == ' ' || text[i] == 0;
}

static bool is_end(const tar_head *head)
{
	const char *bytes = (const char *)head;
	for (size_t i = 0; i < sizeof *head; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

static void take_name(srv_tar_reader *r, const tar_head *head)
{
	bool has_prefix = memcmp(head->magic, "ustar", 6) == 0 && head->prefix[0];
	snprintf(r->name, sizeof r->name, "%.*s%s%.*s", has_prefix ? (int)sizeof head->prefix : 0, head->prefix,
			 has_prefix ? "/" : "", (int)sizeof head->name, head->name);
}

/* Reads records "NNN key=value\n"; all but the path are ignored. */
static bool take_pax(srv_tar_reader *r, uint64_t size, bool *named, hob_error *err)
{
	enum { PAX_MAX = 65536 };
	if (size > PAX_MAX)
		return hob_fail(err, CORRUPT, "a pax header of %llu bytes", (unsigned long long)size);
	hob_own char *text = malloc((size_t)size + 1);
	if (!text)
		return hob_fail(err, MEMORY, "no memory left for a pax header");
	bool ok = read_all(r, text, (size_t)size, err) && skip(r, -size % SRV_TAR_BLOCK, err);
	text[ok ? size : 0] = 0;
	for (size_t at = 0; ok && at < size;) {
		char *key;
		size_t length = strtoul(text + at, &key, 10);
		ok = (length >= 5 && length <= size - at && *key == ' ' && text[at + length - 1] == '\n') ||
			 hob_fail(err, CORRUPT, "an invalid pax header");
		size_t end = at + length - 1;
		if (ok && strncmp(key + 1, "path=", 5) == 0 && end - (size_t)(key + 6 - text) <= SRV_TAR_NAME_MAX) {
			snprintf(r->name, sizeof r->name, "%.*s", (int)(end - (size_t)(key + 6 - text)), key + 6);
			*named = true;
		}
		at += length;
	}
	return ok;
}

srv_tar_step srv_tar_next(srv_tar_reader *r, uint64_t *size, hob_error *err)
{
	bool named = false;
	if (!skip(r, r->left + r->padding, err))
		return SRV_TAR_BROKEN;
	r->left = r->padding = 0;
	for (;;) {
		tar_head head;
		uint64_t sum;
		if (!read_all(r, &head, sizeof head, err))
			return SRV_TAR_BROKEN;
		if (is_end(&head))
			return SRV_TAR_END;
		if (!parse_octal(head.checksum, sizeof head.checksum, &sum) || sum != sum_of(&head) ||
			!parse_octal(head.size, sizeof head.size, size)) {
			(void)hob_fail(err, CORRUPT, "this is not a tar archive, or it is damaged");
			return SRV_TAR_BROKEN;
		}
		if (head.type == 'L') {
			(void)hob_fail(err, UNSUPPORTED,
						   "it has long names in the way of GNU tar; pack it with --format=pax");
			return SRV_TAR_BROKEN;
		}
		if (head.type == 'x') {
			if (!take_pax(r, *size, &named, err))
				return SRV_TAR_BROKEN;
			continue;
		}
		if (head.type == '0' || head.type == 0) {
			if (!named)
				take_name(r, &head);
			r->left = *size;
			r->padding = -*size % SRV_TAR_BLOCK;
			return SRV_TAR_FILE;
		}
		named = false;
		if (!skip(r, *size + -*size % SRV_TAR_BLOCK, err))
			return SRV_TAR_BROKEN;
	}
}

bool srv_tar_read(srv_tar_reader *r, void *out, size_t room, size_t *got, hob_error *err)
{
	*got = 0;
	if (r->left == 0)
		return true;
	if (!read_some(r, out, room < r->left ? room : (size_t)r->left, got, err))
		return false;
	r->left -= *got;
	return true;
}

bool srv_tar_name_is_safe(hob_str name)
{
	if (name.len == 0 || name.len > SRV_TAR_NAME_MAX || memchr(name.data, 0, name.len))
		return false;
	for (size_t at = 0; at <= name.len;) {
		size_t end = hob_str_find(name, HOB_STR("/"), at);
		end = end == SIZE_MAX ? name.len : end;
		hob_str part = hob_str_sub(name, at, end);
		if (part.len == 0 || hob_str_equal(part, HOB_STR(".")) || hob_str_equal(part, HOB_STR("..")))
			return false;
		at = end + 1;
	}
	return true;
}
