#include "compress.h"

#include "record_dictionary.h"
#include "row_dictionary.h"

#include <pthread.h>
#include <stdatomic.h>
#include <zstd.h>

enum { LEVEL = 1, FAST = -1 };

/* ---- kept for as long as the process runs */

static ZSTD_CDict *to_pack[SRV_DICTIONARIES];
static ZSTD_DDict *to_unpack[SRV_DICTIONARIES];
static _Atomic(ZSTD_CCtx *) spare_packer;
static _Atomic(ZSTD_DCtx *) spare_unpacker;

static void make_dictionary(srv_dictionary which, const char *text, size_t size)
{
	to_pack[which] = ZSTD_createCDict(text, size, LEVEL);
	to_unpack[which] = ZSTD_createDDict(text, size);
}

static void make_dictionaries(void)
{
	make_dictionary(SRV_ROW_DICTIONARY, row_dictionary, sizeof row_dictionary - 1);
	make_dictionary(SRV_OLD_RECORD_DICTIONARY, old_record_dictionary, sizeof old_record_dictionary - 1);
	make_dictionary(SRV_RECORD_DICTIONARY, record_dictionary, sizeof record_dictionary - 1);
}

static bool have_dictionary(srv_dictionary which)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_dictionaries);
	return which == SRV_NO_DICTIONARY || (to_pack[which] && to_unpack[which]);
}

/* ---- frames */

bool srv_compress(hob_bytes from, srv_dictionary dictionary, hob_buf *out)
{
	size_t bound = ZSTD_compressBound(from.size), before = out->size, size = 0;
	ZSTD_CCtx *kept = atomic_exchange(&spare_packer, NULL), *context = kept ? kept : ZSTD_createCCtx();
	uint8_t *to = context && have_dictionary(dictionary) ? hob_buf_grow(out, bound) : NULL;
	if (to && dictionary == SRV_NO_DICTIONARY)
		size = ZSTD_compressCCtx(context, to, bound, from.data, from.size, FAST);
	else if (to)
		size = ZSTD_compress_usingCDict(context, to, bound, from.data, from.size, to_pack[dictionary]);
	bool ok = to && !ZSTD_isError(size);
	out->size = before + (ok ? size : 0);
	ZSTD_freeCCtx(atomic_exchange(&spare_packer, context));
	return ok;
}

bool srv_compressed_size(hob_bytes frame, uint64_t most, size_t *out)
{
	unsigned long long size = ZSTD_getFrameContentSize(frame.data, frame.size);
	*out = (size_t)size;
	return size != ZSTD_CONTENTSIZE_ERROR && size != ZSTD_CONTENTSIZE_UNKNOWN && size <= most;
}

bool srv_decompress(hob_bytes frame, srv_dictionary dictionary, uint8_t *out, size_t size)
{
	ZSTD_DCtx *kept = atomic_exchange(&spare_unpacker, NULL), *context = kept ? kept : ZSTD_createDCtx();
	size_t got =
		context && have_dictionary(dictionary)
			? ZSTD_decompress_usingDDict(context, out, size, frame.data, frame.size, to_unpack[dictionary])
			: SIZE_MAX;
	ZSTD_freeDCtx(atomic_exchange(&spare_unpacker, context));
	return got == size;
}
