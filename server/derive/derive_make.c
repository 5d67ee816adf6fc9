#include "derive_inside.h"

#include "../../core/compare/compare.h"
#include "../../core/formats/pack_cut.h"
#include "../../core/formats/pack_validate.h"
#include "../fs/transfer.h"
#include "../worker/spawn.h"
#include "glb_make.h"

#include <libdeflate.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

/* ---- content codings, once for many answers */

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

/* Appends `plain`, encoded, to *out; appends nothing if that would save less than a tenth. Any thread;
 * memory: nine tenths of `plain`. Compression levels were chosen on 65 MB of cooked meshes, where higher ones
 * cost much more time: zstd 3 leaves 23.7 % at 160 MB/s (6: 22.0 % at 68), gzip 4 28.2 % at 73 MB/s (9: 28.1
 * % at 16). Brotli 5 left 21.0 % at 22 MB/s, which is not worth a dependency. Errors: MEMORY. */
static bool encode_zstd(hob_bytes plain, hob_buf *out, hob_error *err)
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

static bool encode_gzip(hob_bytes plain, hob_buf *out, hob_error *err)
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

/* Work in libuv's pool, which touches only one derivation's data. */

static bool is_none(const hob_sha256 *digest)
{
	return hob_sha256_equal(digest, &(hob_sha256){{0}});
}

void srv_derive_picture_of(const srv_record *record, const hob_sha256 parts[SRV_DERIVE_PARTS], uint32_t size,
						   srv_thumbnail_input *out)
{
	*out = (srv_thumbnail_input){
		.meshes = parts[0], .materials = parts[1], .scene = parts[2], .animations = parts[3], .size = size};
	out->has_animations = !is_none(&parts[3]);
	for (uint32_t i = 0; i < record->output_count; i++)
		if (hob_str_starts(record->outputs[i].name, HOB_STR("textures/")) &&
			out->texture_count < SRV_THUMBNAIL_TEXTURES)
			out->textures[out->texture_count++] = record->outputs[i].digest;
}

hob_bytes srv_derive_read_blob(srv_store *store, const hob_sha256 *digest, uint64_t most, hob_error *err)
{
	uint64_t size = 0;
	int fd = srv_blob_open(store, digest, &size);
	if (fd >= 0 && size > most) {
		close(fd);
		hob_fail(err, LIMIT, "%llu bytes of cooked data are too much for this; %llu are the most",
				 (unsigned long long)size, (unsigned long long)most);
		return (hob_bytes){0};
	}
	uint8_t *at = fd >= 0 && size > 0
					  ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
					  : MAP_FAILED;
	bool whole = at != MAP_FAILED && srv_read_all(fd, at, size);
	srv_close(fd);
	if (whole)
		return (hob_bytes){at, size};
	if (at != MAP_FAILED)
		munmap(at, size);
	hob_fail(err, IO, "a blob of this asset cannot be read; it is cooked again");
	return (hob_bytes){0};
}

void srv_derive_unmap(hob_bytes *mapped)
{
	if (mapped->data)
		munmap((void *)(uintptr_t)mapped->data, mapped->size);
	*mapped = (hob_bytes){0};
}

static hob_bytes read_one(derivation *d, const hob_sha256 *digest, uint64_t most, hob_error *err)
{
	return srv_derive_read_blob(d->derive->host.store, digest, most, err);
}

/* Reads the parts of one cook; *most: bytes left, also for further parts. The caller always unmaps them. */
static bool read_parts(derivation *d, int side, uint64_t *most, hob_bytes parts[SRV_DERIVE_PARTS])
{
	for (int i = 0; i < SRV_DERIVE_PARTS; i++) {
		if (is_none(&d->outputs[side][i]))
			continue;
		parts[i] = read_one(d, &d->outputs[side][i], *most, &d->error);
		*most -= parts[i].size;
		if (!parts[i].data)
			return false;
	}
	return true;
}

static bool cut(derivation *d, hob_bytes from, hob_buf *out)
{
	hob_pack pack;
	if (!hob_pack_open(from, &pack, &d->error))
		return false;
	/* For a level that does not exist, hob_pack_cut fails before it reads the rest. */
	bool sound = d->level >= hob_pack_level_count(&pack) || hob_pack_validate(from, &d->error);
	return sound && hob_pack_cut(from, d->level, NULL, out, &d->error) &&
		   hob_pack_validate(hob_buf_bytes(out), &d->error);
}

typedef struct stored_pictures {
	derivation *of;
	hob_bytes mapped;
} stored_pictures;

static bool find_picture(void *user, const uint8_t sha256[32], hob_bytes *out, hob_error *err)
{
	stored_pictures *pictures = user;
	hob_sha256 digest;
	memcpy(digest.bytes, sha256, sizeof digest.bytes);
	srv_derive_unmap(&pictures->mapped);
	if (atomic_load(&pictures->of->unwanted))
		return hob_fail(err, CANCELLED, "no client is waiting for it");
	*out = pictures->mapped = read_one(pictures->of, &digest, pictures->of->derive->host.most_bytes, err);
	return out->data != NULL;
}

static bool make_glb(derivation *d, hob_buf *out)
{
	hob_bytes parts[SRV_DERIVE_PARTS] = {{0}};
	stored_pictures pictures = {.of = d};
	uint64_t most = d->derive->host.most_bytes;
	hob_own_arena arena;
	hob_arena_init(&arena, 1 << 20);
	hob_notes notes = {.arena = &arena};
	bool ok = read_parts(d, 0, &most, parts);
	srv_glb_source source = {{parts[0], parts[1], parts[2], parts[3]}, &pictures, find_picture};
	ok = ok && srv_glb_make(&source, &notes, out, &d->error);
	for (int i = 0; i < SRV_DERIVE_PARTS; i++)
		srv_derive_unmap(&parts[i]);
	srv_derive_unmap(&pictures.mapped);
	return ok;
}

static bool make_comparison(derivation *d, hob_buf *out)
{
	hob_bytes parts[2][SRV_DERIVE_PARTS] = {{{0}}};
	uint64_t most = d->derive->host.most_bytes;
	bool ok = read_parts(d, 0, &most, parts[0]) && read_parts(d, 1, &most, parts[1]);
	const hob_compare_side before = {parts[0][0], parts[0][1], parts[0][2], parts[0][3],
									 hob_str_of(d->stats[0])};
	const hob_compare_side after = {parts[1][0], parts[1][1], parts[1][2], parts[1][3],
									hob_str_of(d->stats[1])};
	ok = ok && hob_compare(&before, &after, out, &d->error);
	for (int i = 0; i < 2 * SRV_DERIVE_PARTS; i++)
		srv_derive_unmap(&parts[i / SRV_DERIVE_PARTS][i % SRV_DERIVE_PARTS]);
	return ok;
}

static bool make_picture(derivation *d, hob_buf *out)
{
	char program[4096];
	if (!srv_find_program("hob-thumbnail", program))
		return hob_fail(&d->error, NOT_FOUND, "hob-thumbnail, which draws pictures, is not installed here");
	return srv_thumbnail_draw_pair(program, d->derive->host.sandbox, d->derive->host.store, d->pair,
								   srv_thumbnail_view_at(d->level >> 16), d->clip ? d->clip : "",
								   d->derive->host.closing, out, &d->error);
}

static bool is_of_one_blob(srv_derived kind)
{
	return kind == SRV_DERIVED_ZSTD || kind == SRV_DERIVED_GZIP || kind == SRV_DERIVED_LOD;
}

static void make(derivation *d, hob_bytes from, hob_buf *out)
{
	bool ok = d->kind == SRV_DERIVED_ZSTD	   ? encode_zstd(from, out, &d->error)
			  : d->kind == SRV_DERIVED_GZIP	   ? encode_gzip(from, out, &d->error)
			  : d->kind == SRV_DERIVED_LOD	   ? cut(d, from, out)
			  : d->kind == SRV_DERIVED_GLB	   ? make_glb(d, out)
			  : d->kind == SRV_DERIVED_COMPARE ? make_comparison(d, out)
											   : make_picture(d, out);
	if (ok && atomic_load(&d->unwanted))
		ok = hob_fail(&d->error, CANCELLED, "no client is waiting for it");
	if (ok && srv_blob_put(d->derive->host.store, hob_buf_bytes(out), &d->blob, &d->error))
		d->error.code = HOB_ERR_OK;
}

void srv_derive_run(uv_work_t *work)
{
	derivation *d = work->data;
	hob_own_buf out = {0};
	hob_bytes from = {0};
	if (is_of_one_blob(d->kind))
		from = read_one(d, &d->of, d->derive->host.most_bytes, &d->error);
	if (!is_of_one_blob(d->kind) || from.data)
		make(d, from, &out);
	srv_derive_unmap(&from);
}
