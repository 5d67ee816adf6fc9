#include "encode.h"

#include <libdeflate.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { ZSTD_LEVEL = 3, GZIP_LEVEL = 4 };

static size_t room_for(hob_bytes plain)
{
	return plain.size - plain.size / 10 - (plain.size % 10 > 0);
}

static uint8_t *begin(hob_bytes plain, hob_buf *out, hob_error *err)
{
	uint8_t *to = hob_buf_grow(out, room_for(plain));
	if (!to)
		hob_fail(err, MEMORY, "no memory left to encode %zu bytes", plain.size);
	return to;
}

bool srv_encode_zstd(hob_bytes plain, hob_buf *out, hob_error *err)
{
	size_t before = out->size;
	uint8_t *to = begin(plain, out, err);
	if (!to)
		return false;
	size_t size = ZSTD_compress(to, room_for(plain), plain.data, plain.size, ZSTD_LEVEL);
	ZSTD_ErrorCode code = ZSTD_getErrorCode(size);
	out->size = before + (code == ZSTD_error_no_error ? size : 0);
	return code == ZSTD_error_no_error || code == ZSTD_error_dstSize_tooSmall ||
		   hob_fail(err, MEMORY, "zstd: %s", ZSTD_getErrorString(code));
}

bool srv_encode_gzip(hob_bytes plain, hob_buf *out, hob_error *err)
{
	size_t before = out->size;
	uint8_t *to = begin(plain, out, err);
	struct libdeflate_compressor *compressor = to ? libdeflate_alloc_compressor(GZIP_LEVEL) : NULL;
	if (!compressor) {
		out->size = before;
		return to ? hob_fail(err, MEMORY, "no memory left for gzip") : false;
	}
	out->size = before + libdeflate_gzip_compress(compressor, plain.data, plain.size, to, room_for(plain));
	libdeflate_free_compressor(compressor);
	return true;
}
