#include "client_private.h"

#include <string.h>

#include "../formats/pack_layout.h"

/* A gap of known bytes up to here is fetched again rather than asked around: a request costs more. */
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

static void take_from_older(hobc_request *r, const hob_pk_section *section, uint32_t index)
{
	hob_pk_header header;
	hob_pk_section old;
	uint32_t i;
	if (!read_header(r->older, r->older_size, &header) || table_end(&header) > r->older_size)
		return;
	for (i = 0; i < header.section_count; i++) {
		entry_of(r->older, &header, i, &old);
		if (old.stored_bytes != section->stored_bytes || memcmp(old.digest, section->digest, 16) != 0 ||
			!inside(&old, r->older_size))
			continue;
		memcpy(r->whole + section->offset, r->older + old.offset, (size_t)old.stored_bytes);
		r->held[index] = 1;
		return;
	}
}

static int start(hobc_client *client, hobc_request *r, const hob_pk_header *header)
{
	hob_pk_section section;
	uint64_t end = table_end(header), before = end;
	uint32_t i;
	r->whole = (uint8_t *)hobc_alloc(client, (size_t)header->file_bytes);
	r->held = (uint8_t *)hobc_alloc(client, header->section_count + 1u);
	if (!r->whole || !r->held)
		return 0;
	memset(r->whole, 0, (size_t)header->file_bytes);
	memset(r->held, 0, header->section_count + 1u);
	memcpy(r->whole, r->data, (size_t)end);
	r->whole_size = header->file_bytes;
	r->sections = header->section_count;
	for (i = 0; i < r->sections; i++) {
		entry_of(r->whole, header, i, &section);
		if (!inside(&section, r->whole_size) || section.offset < before)
			return 0;
		before = section.offset + section.stored_bytes;
		/* What came along with the table is there already. */
		if (before <= r->used) {
			memcpy(r->whole + section.offset, r->data + section.offset, (size_t)section.stored_bytes);
			r->held[i] = 1;
		} else {
			take_from_older(r, &section, i);
		}
	}
	r->position = end;
	return 1;
}

static int next_run(hobc_request *r)
{
	hob_pk_header header;
	hob_pk_section section;
	int found = 0;
	uint32_t i;
	memcpy(&header, r->whole, sizeof header);
	for (i = 0; i < r->sections; i++) {
		entry_of(r->whole, &header, i, &section);
		if (r->held[i] || section.stored_bytes == 0 || section.offset < r->position)
			continue;
		if (!found)
			r->first = section.offset;
		else if (section.offset > r->last + 1 + GAP_BYTES)
			break;
		r->last = section.offset + section.stored_bytes - 1;
		found = 1;
	}
	return found;
}

int hobc_delta_step(hobc_client *client, hobc_request *r, uint64_t total)
{
	hob_pk_header header;
	if (r->phase == DELTA_TABLE) {
		if (!read_header(r->data, r->used, &header) || header.file_bytes != total ||
			header.file_bytes > client->options.max_blob_bytes || table_end(&header) > total)
			return -1;
		if (table_end(&header) > r->used) {
			if (r->position > 0)
				return -1;
			r->position = 1;
			r->last = table_end(&header) - 1;
			return 1;
		}
		if (!start(client, r, &header))
			return -1;
		r->phase = DELTA_PARTS;
	} else {
		if (total != r->whole_size || r->used != r->last - r->first + 1)
			return -1;
		memcpy(r->whole + r->first, r->data, r->used);
		r->position = r->last + 1;
	}
	return next_run(r);
}
