#include "listing.h"

#include "../../core/base/text_order.h"

/* The index of the first file at or after `path`, followed by the byte `next` unless that is 0. */
static uint32_t lower(const srv_listing *in, hob_str path, int next)
{
	uint32_t low = in->first, high = in->end;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		hob_str other = in->at(in->files, middle).path;
		int order = hob_str_compare(hob_str_sub(other, 0, path.len), path);
		if (order == 0)
			order = (other.len > path.len ? (uint8_t)other.data[path.len] : 0) - next;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t srv_listing_lower(const srv_listing *in, hob_str path)
{
	return lower(in, path, 0);
}

srv_listing srv_listing_below(const srv_listing *in, hob_str folder)
{
	srv_listing below = *in;
	if (folder.len == 0)
		return below;
	below.first = lower(in, folder, '/');
	below.end = lower(in, folder, '/' + 1);
	below.skip = folder.len + 1;
	return below;
}

hob_sha256 srv_listing_digest(const srv_listing *folder, srv_listing_item *item, void *user)
{
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	for (uint32_t at = folder->first, next; at < folder->end; at = next) {
		srv_listed file = folder->at(folder->files, at);
		hob_str rest = hob_str_sub(file.path, folder->skip, SIZE_MAX);
		hob_str name = hob_str_sub(rest, 0, hob_str_find(rest, HOB_STR("/"), 0));
		bool is_file = name.len == rest.len;
		hob_sha256 digest = *file.digest;
		next = at + 1;
		if (!is_file) {
			srv_listing inner = srv_listing_below(folder, hob_str_sub(file.path, 0, folder->skip + name.len));
			digest = srv_listing_digest(&inner, NULL, NULL);
			next = inner.end;
		}
		hob_hasher_put(&hasher, is_file ? "f" : "d", 1);
		hob_hasher_put(&hasher, name.data, name.len);
		hob_hasher_put(&hasher, "", 1);
		hob_hasher_put(&hasher, digest.bytes, sizeof digest.bytes);
		if (item)
			item(user, name, is_file ? at : HOB_NONE, &digest);
	}
	return hob_hasher_finish(&hasher);
}
