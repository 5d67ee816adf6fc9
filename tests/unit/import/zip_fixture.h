/* zip_fixture.h - builds zip archives for tests. */
#ifndef HOB_TEST_ZIP_FIXTURE_H
#define HOB_TEST_ZIP_FIXTURE_H

#include "tests/unit/import/reader_fixture.h"

#include <libdeflate.h>

typedef struct member {
	const char *name, *text;
} member;

static inline void put_u16(hob_buf *buf, uint32_t value)
{
	hob_buf_put(buf, (const uint8_t[2]){(uint8_t)value, (uint8_t)(value >> 8)}, 2);
}

static inline void put_u32(hob_buf *buf, uint32_t value)
{
	put_u16(buf, value & 0xFFFF);
	put_u16(buf, value >> 16);
}

static inline void put_sizes(hob_buf *buf, bool deflate, uint32_t crc, size_t packed, size_t size,
							 size_t name)
{
	put_u16(buf, 20);
	put_u16(buf, 0);
	put_u16(buf, deflate ? 8 : 0);
	put_u32(buf, 0);
	put_u32(buf, crc);
	put_u32(buf, (uint32_t)packed);
	put_u32(buf, (uint32_t)size);
	put_u16(buf, (uint32_t)name);
	put_u16(buf, 0);
}

static inline hob_buf make_zip(const member *members, uint32_t count, bool deflate)
{
	hob_buf zip = {0}, directory = {0};
	for (uint32_t i = 0; i < count; i++) {
		size_t size = strlen(members[i].text), packed = size, name = strlen(members[i].name);
		uint32_t crc = libdeflate_crc32(0, members[i].text, size);
		uint8_t data[4096];
		memcpy(data, members[i].text, size);
		if (deflate) {
			struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(6);
			packed = libdeflate_deflate_compress(deflater, members[i].text, size, data, sizeof data);
			libdeflate_free_compressor(deflater);
		}
		uint32_t at = (uint32_t)zip.size;
		hob_buf_put(&zip, "PK\003\004", 4);
		put_sizes(&zip, deflate, crc, packed, size, name);
		hob_buf_put(&zip, members[i].name, name);
		hob_buf_put(&zip, data, packed);
		hob_buf_put(&directory, "PK\001\002\024\000", 6);
		put_sizes(&directory, deflate, crc, packed, size, name);
		put_u16(&directory, 0);
		put_u16(&directory, 0);
		put_u16(&directory, 0);
		put_u32(&directory, 0);
		put_u32(&directory, at);
		hob_buf_put(&directory, members[i].name, name);
	}
	uint32_t at = (uint32_t)zip.size;
	hob_buf_put(&zip, directory.data, directory.size);
	hob_buf_put(&zip, "PK\005\006\0\0\0\0", 8);
	put_u16(&zip, count);
	put_u16(&zip, count);
	put_u32(&zip, (uint32_t)directory.size);
	put_u32(&zip, at);
	put_u16(&zip, 0);
	hob_buf_release(&directory);
	return zip;
}

#endif
