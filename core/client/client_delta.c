#include "client_private.h"

#include <string.h>

#include "../formats/pack_layout.h"

/* A gap of known bytes up to this size is fetched again: another request costs more. */
enum { GAP_BYTES = 4096, SECTIONS_MAX = 4096 };

static int read_header(const uint8_t *data, uint64_t size, hob_pk_header *header)
{
	if (size < sizeof *header)
		return 0;
	memcpy(header, data, sizeof *header);
	return memcmp(header->magic, HOB_PK_MAGIC, 8) == 0 && header->endian == HOB_PK_ENDIAN &&
		   header->ver_major == HOB_PK_VERSION_MAJOR && header->section_count <= SECTIONS_MAX &&
		   header->header_bytes >= sizeof *header && header->entry_bytes >= sizeof(hob_pk_section);
}

static uint64_t table_end(const hob_pk_header *header)
{
	return header->header_bytes + (uint64_t)header->section_count * header->entry_bytes;
}

static void entry_of(const uint8_t *data, const hob_pk_header *header, uint32_t index, hob_pk_section *out)
{
	memcpy(out, data + header->header_bytes + (size_t)index * header->entry_bytes, sizeof *out);
}

static int inside(const hob_pk_section *section, uint64_t size)
{
	return section->offset <= size && section->stored_bytes <= size - section->offset;
}

/* ---- finding bytes in the older files */

typedef struct range_index {
	const hobc_older *older;
	const uint8_t *ranges; /* its hob_pk_range records */
	uint32_t count, slot_mask;
	uint32_t *slots; /* number of a range + 1 */
} range_index;

static int find_section(const uint8_t *data, const hob_pk_header *header, uint32_t type, hob_pk_section *out)
{
	uint32_t i;
	for (i = 0; i < header->section_count; i++) {
		entry_of(data, header, i, out);
		if (out->type == type)
			return 1;
	}
	return 0;
}

static hob_pk_range range_at(const uint8_t *ranges, uint32_t index)
{
	hob_pk_range range;
	memcpy(&range, ranges + (size_t)index * sizeof range, sizeof range);
	return range;
}

static uint32_t slot_of(const hob_pk_range *range)
{
	uint32_t hash;
	memcpy(&hash, range->digest, sizeof hash);
	return hash;
}

/* The ranges of a file that is complete; 0 if it has none or they are invalid. */
static const uint8_t *ranges_of(const uint8_t *data, uint64_t size, uint32_t *count)
{
	hob_pk_header header;
	hob_pk_section section;
	*count = 0;
	if (!read_header(data, size, &header) || table_end(&header) > size ||
		!find_section(data, &header, HOB_PK_RNGS, &section) || !inside(&section, size) ||
		section.codec != HOB_PK_CODEC_RAW || section.stride != sizeof(hob_pk_range) ||
		section.stored_bytes / sizeof(hob_pk_range) < section.count)
		return NULL;
	*count = section.count;
	return data + section.offset;
}

static void index_open(hobc_client *client, const hobc_older *older, range_index *index)
{
	uint32_t i;
	memset(index, 0, sizeof *index);
	index->older = older;
	index->ranges = ranges_of(older->data, older->size, &index->count);
	if (!index->count || index->count > UINT32_MAX / 4)
		return;
	for (index->slot_mask = 15; index->slot_mask < index->count * 2;
		 index->slot_mask = index->slot_mask * 2 + 1)
		;
	index->slots = (uint32_t *)hobc_alloc(client, ((size_t)index->slot_mask + 1) * sizeof *index->slots);
	if (!index->slots)
		return;
	memset(index->slots, 0, ((size_t)index->slot_mask + 1) * sizeof *index->slots);
	for (i = 0; i < index->count; i++) {
		hob_pk_range range = range_at(index->ranges, i);
		uint32_t at = slot_of(&range) & index->slot_mask;
		if (range.offset > older->size || range.size > older->size - range.offset)
			continue;
		while (index->slots[at])
			at = (at + 1) & index->slot_mask;
		index->slots[at] = i + 1;
	}
}

static int take_range_of(hobc_request *r, const range_index *index, const hob_pk_range *range)
{
	uint32_t at = slot_of(range) & index->slot_mask;
	if (!index->slots)
		return 0;
	for (; index->slots[at]; at = (at + 1) & index->slot_mask) {
		hob_pk_range old = range_at(index->ranges, index->slots[at] - 1);
		if (old.size != range->size || memcmp(old.digest, range->digest, sizeof old.digest) != 0)
			continue;
		memcpy(r->whole + range->offset, index->older->data + old.offset, old.size);
		return 1;
	}
	return 0;
}

static int take_range(hobc_request *r, const range_index *indices, const hob_pk_range *range)
{
	size_t i;
	for (i = 0; i < r->older_count; i++)
		if (take_range_of(r, &indices[i], range))
			return 1;
	return 0;
}

static int take_section_of(hobc_request *r, const hobc_older *older, const hob_pk_section *section)
{
	hob_pk_header header;
	hob_pk_section old;
	uint32_t i;
	if (!read_header(older->data, older->size, &header) || table_end(&header) > older->size)
		return 0;
	for (i = 0; i < header.section_count; i++) {
		entry_of(older->data, &header, i, &old);
		if (old.stored_bytes != section->stored_bytes || memcmp(old.digest, section->digest, 16) != 0 ||
			!inside(&old, older->size))
			continue;
		memcpy(r->whole + section->offset, older->data + old.offset, (size_t)old.stored_bytes);
		return 1;
	}
	return 0;
}

static int take_section(hobc_request *r, const hob_pk_section *section)
{
	size_t i;
	for (i = 0; i < r->older_count; i++)
		if (take_section_of(r, &r->older[i], section))
			return 1;
	return 0;
}

/* ---- the plan */

static void add_need(hobc_request *r, uint64_t first, uint64_t end)
{
	if (first == end)
		return;
	if (r->need_count && r->needs[r->need_count - 1].end == first) {
		r->needs[r->need_count - 1].end = end;
		return;
	}
	r->needs[r->need_count].first = first;
	r->needs[r->need_count++].end = end;
}

/* Bytes that arrived with the table are present; the rest of the section comes range by range. */
static void plan_section(hobc_request *r, const range_index *indices, const uint8_t *ranges,
						 uint32_t range_count, uint32_t *next, const hob_pk_section *section)
{
	uint64_t at = section->offset, end = section->offset + section->stored_bytes;
	if (end <= r->came || take_section(r, section))
		return;
	for (; *next < range_count; ++*next) {
		hob_pk_range range = range_at(ranges, *next);
		if (range.offset >= end)
			break;
		if (range.offset < at || range.size > end - range.offset)
			continue;
		add_need(r, at, range.offset);
		if (!take_range(r, indices, &range))
			add_need(r, range.offset, range.offset + range.size);
		at = range.offset + range.size;
	}
	add_need(r, at, end);
}

static int plan(hobc_client *client, hobc_request *r)
{
	hob_pk_header header;
	hob_pk_section section;
	range_index indices[HOBC_OLDER_MAX];
	uint32_t i, next = 0, count;
	const uint8_t *ranges = ranges_of(r->whole, r->whole_size, &count);
	memcpy(&header, r->whole, sizeof header);
	r->needs =
		(hobc_need *)hobc_alloc(client, (header.section_count + 2 * (size_t)count + 1) * sizeof *r->needs);
	if (!r->needs)
		return 0;
	for (i = 0; i < r->older_count; i++)
		index_open(client, &r->older[i], &indices[i]);
	for (i = 0; i < header.section_count; i++) {
		entry_of(r->whole, &header, i, &section);
		if (section.type != HOB_PK_RNGS)
			plan_section(r, indices, ranges, count, &next, &section);
	}
	for (i = 0; i < r->older_count; i++)
		hobc_free(client, indices[i].slots);
	return 1;
}

/* ---- the steps */

/* Makes room for the whole file and takes the table. The ranges are fetched first if they did not arrive with
 * it. */
static int start(hobc_client *client, hobc_request *r, const hob_pk_header *header)
{
	hob_pk_section section;
	uint64_t end = table_end(header), before = end;
	uint32_t i;
	r->whole = (uint8_t *)hobc_alloc(client, (size_t)header->file_bytes);
	if (!r->whole)
		return -1;
	memset(r->whole, 0, (size_t)header->file_bytes);
	r->whole_size = header->file_bytes;
	r->came = r->used < r->whole_size ? r->used : (size_t)r->whole_size;
	memcpy(r->whole, r->data, r->came);
	for (i = 0; i < header->section_count; i++) {
		entry_of(r->whole, header, i, &section);
		if (!inside(&section, r->whole_size) || section.offset < before)
			return -1;
		before = section.offset + section.stored_bytes;
	}
	if (!find_section(r->whole, header, HOB_PK_RNGS, &section) || section.stored_bytes == 0)
		return 0;
	if (section.offset + section.stored_bytes <= r->came || take_section(r, &section))
		return 0;
	r->first = section.offset;
	r->last = section.offset + section.stored_bytes - 1;
	return 1;
}

/* Sets the next range to request: needed bytes, merged over small gaps. 0 if none is left. */
static int next_run(hobc_request *r)
{
	size_t at = r->need_at;
	if (at == r->need_count)
		return 0;
	r->first = r->needs[at].first;
	while (at + 1 < r->need_count && r->needs[at + 1].first <= r->needs[at].end + GAP_BYTES)
		at++;
	r->last = r->needs[at].end - 1;
	r->need_at = at + 1;
	return 1;
}

int hobc_delta_step(hobc_client *client, hobc_request *r, uint64_t total)
{
	hob_pk_header header;
	int step;
	if (r->phase == DELTA_TABLE) {
		if (!read_header(r->data, r->used, &header) || header.file_bytes != total ||
			header.file_bytes > client->options.max_blob_bytes || table_end(&header) > total)
			return -1;
		if (table_end(&header) > r->used) {
			if (r->table_asked)
				return -1;
			r->table_asked = 1;
			r->last = table_end(&header) - 1;
			return 1;
		}
		step = start(client, r, &header);
		if (step > 0)
			r->phase = DELTA_RANGES;
		if (step != 0)
			return step;
		if (!plan(client, r))
			return -1;
	} else {
		if (total != r->whole_size || r->used != r->last - r->first + 1)
			return -1;
		memcpy(r->whole + r->first, r->data, r->used);
		if (r->phase == DELTA_RANGES && !plan(client, r))
			return -1;
	}
	r->phase = DELTA_PARTS;
	return next_run(r);
}
