#include "pack_build.h"

#include "../base/limits.h"
#include "../hash/hash.h"

#include <meshoptimizer.h>

static uint32_t string_hash(hob_str s)
{
	uint32_t hash = 2166136261u;
	for (size_t i = 0; i < s.len; i++)
		hash = (hash ^ (uint8_t)s.data[i]) * 16777619u;
	return hash;
}

static uint32_t *string_slot(pack_builder *b, hob_str s)
{
	uint32_t at = string_hash(s) & (b->string_room - 1);
	while (b->string_slots[at]) {
		if (hob_str_equal(hob_str_of((const char *)b->strings.data + b->string_slots[at] - 1), s))
			break;
		at = (at + 1) & (b->string_room - 1);
	}
	return &b->string_slots[at];
}

static void grow_strings(pack_builder *b)
{
	uint32_t old_room = b->string_room, *old = b->string_slots;
	b->string_room = old_room * 2;
	b->string_slots = PACK_NEW(b, uint32_t, b->string_room);
	for (uint32_t i = 0; i < old_room; i++)
		if (old[i])
			*string_slot(b, hob_str_of((const char *)b->strings.data + old[i] - 1)) = old[i];
}

static size_t utf8_step(hob_str s, size_t at)
{
	for (size_t n = 1; n <= 4 && at + n <= s.len; n++)
		if (hob_utf8_valid(hob_str_sub(s, at, at + n)))
			return n;
	return 0;
}

static hob_str clean_string(pack_builder *b, hob_str s)
{
	if (hob_utf8_valid(s) && (!s.len || !memchr(s.data, 0, s.len)))
		return s;
	char *text = PACK_NEW(b, char, s.len * 3);
	size_t len = 0;
	for (size_t i = 0; i < s.len;) {
		size_t n = s.data[i] ? utf8_step(s, i) : 0;
		memcpy(text + len, n ? s.data + i : "\xEF\xBF\xBD", n ? n : 3);
		len += n ? n : 3;
		i += n ? n : 1;
	}
	return (hob_str){text, len};
}

uint32_t hob_pack_add_string(pack_builder *b, hob_str s)
{
	s = clean_string(b, s);
	if (!s.len)
		return 0;
	if (b->string_count * 2 >= b->string_room)
		grow_strings(b);
	uint32_t *slot = string_slot(b, s);
	if (!*slot) {
		if (b->strings.size + s.len + 1 >= HOB_PK_NONE) {
			hob_pack_refuse(b, "the names of one file take more than 4 GiB");
			return 0;
		}
		*slot = (uint32_t)b->strings.size + 1;
		b->string_count++;
		hob_buf_put_str(&b->strings, s);
		hob_buf_put(&b->strings, "", 1);
	}
	return *slot - 1;
}

pack_section *hob_pack_add_pieces(pack_builder *b, uint32_t type, hob_bytes *pieces, uint32_t piece_count,
								  size_t count, uint32_t stride)
{
	if (count >= HOB_PK_NONE)
		hob_pack_refuse(b, "%zu elements in one section of a packed file; at most %u fit", count,
						HOB_PK_NONE);
	if (b->section_count == b->section_room) {
		b->section_room = b->section_room ? b->section_room * 2 : 32;
		pack_section *sections = PACK_NEW(b, pack_section, b->section_room);
		if (b->section_count)
			memcpy(sections, b->sections, b->section_count * sizeof *sections);
		b->sections = sections;
	}
	pack_section *section = &b->sections[b->section_count++];
	*section = (pack_section){.pieces = pieces, .piece_count = piece_count};
	section->entry.type = type;
	section->entry.count = (uint32_t)count;
	section->entry.stride = stride;
	section->entry.align_log2 = 4;
	section->entry.raw_bytes = (uint64_t)count * stride;
	return section;
}

pack_section *hob_pack_add(pack_builder *b, uint32_t type, const void *data, size_t count, uint32_t stride)
{
	hob_bytes *piece = PACK_NEW(b, hob_bytes, 1);
	*piece = (hob_bytes){(const uint8_t *)data, count * stride};
	return hob_pack_add_pieces(b, type, piece, 1, count, stride);
}

void *hob_pack_table(pack_builder *b, uint32_t type, size_t count, uint32_t stride)
{
	void *records = hob_arena_array(b->arena, count, stride, 16);
	hob_pack_add(b, type, records, count, stride);
	return records;
}

pack_section *hob_pack_add_gpu(pack_builder *b, uint32_t type, hob_bytes *pieces, uint32_t piece_count,
							   size_t count, uint32_t stride, uint16_t codec)
{
	pack_section *section = hob_pack_add_pieces(b, type, pieces, piece_count, count, stride);
	section->entry.flags = HOB_PK_SECTION_GPU;
	section->entry.align_log2 = 8;
	section->codec = codec;
	return section;
}

/* ---- encoding ---- */

typedef struct encode_job {
	pack_section *section;
	uint8_t *raw; /* the joined pieces; NULL if the section is one piece */
	uint8_t *encoded;
	size_t bound;
} encode_job;

static size_t encode(const pack_section *s, const uint8_t *raw, uint8_t *out, size_t bound)
{
	size_t count = s->entry.count, stride = s->entry.stride;
	if (s->codec == HOB_PK_CODEC_MESHOPT_VERTEX)
		return meshopt_encodeVertexBuffer(out, bound, raw, count, stride);
	const void *aligned = raw;
	unsigned *wide = NULL;
	if (stride == 2) {
		/* meshoptimizer's C functions accept only 32-bit indices; `out` has room for them after the bound. */
		wide = (unsigned *)(void *)(out + ((bound + 15) & ~(size_t)15));
		for (size_t i = 0; i < count; i++)
			wide[i] = ((const uint16_t *)aligned)[i];
		aligned = wide;
	}
	if (s->codec == HOB_PK_CODEC_MESHOPT_INDEX)
		return meshopt_encodeIndexBuffer(out, bound, (const unsigned *)aligned, count);
	return meshopt_encodeIndexSequence(out, bound, (const unsigned *)aligned, count);
}

static void encode_task(void *context, uint32_t index, uint32_t thread)
{
	(void)thread;
	encode_job *job = (encode_job *)context + index;
	pack_section *s = job->section;
	const uint8_t *raw = s->pieces[0].data;
	if (job->raw) {
		size_t at = 0;
		for (uint32_t i = 0; i < s->piece_count; i++) {
			if (s->pieces[i].size)
				memcpy(job->raw + at, s->pieces[i].data, s->pieces[i].size);
			at += s->pieces[i].size;
		}
		raw = job->raw;
	}
	size_t size = encode(s, raw, job->encoded, job->bound);
	if (!size || size >= s->entry.raw_bytes)
		return;
	s->stored = (hob_bytes){job->encoded, size};
	s->entry.codec = s->codec;
}

static uint32_t index_bound(const pack_section *s)
{
	uint32_t top = 0;
	for (uint32_t p = 0; p < s->piece_count; p++) {
		const void *data = s->pieces[p].data;
		for (size_t i = 0; i < s->pieces[p].size / s->entry.stride; i++) {
			uint32_t v = s->entry.stride == 2 ? ((const uint16_t *)data)[i] : ((const uint32_t *)data)[i];
			top = v > top ? v : top;
		}
	}
	return top;
}

static void encode_sections(pack_builder *b)
{
	/* The library's defaults differ between its versions, but the bytes must not. */
	meshopt_encodeIndexVersion(1);
	meshopt_encodeVertexVersion(0);
	encode_job *jobs = PACK_NEW(b, encode_job, b->section_count);
	uint32_t count = 0;
	for (uint32_t i = 0; i < b->section_count; i++) {
		pack_section *s = &b->sections[i];
		if (s->codec == HOB_PK_CODEC_RAW || !s->entry.count)
			continue;
		encode_job *job = &jobs[count++];
		job->section = s;
		if (s->codec == HOB_PK_CODEC_MESHOPT_VERTEX)
			job->bound = meshopt_encodeVertexBufferBound(s->entry.count, s->entry.stride);
		else if (s->codec == HOB_PK_CODEC_MESHOPT_INDEX)
			job->bound = meshopt_encodeIndexBufferBound(s->entry.count, (size_t)index_bound(s) + 1);
		else
			job->bound = meshopt_encodeIndexSequenceBound(s->entry.count, (size_t)index_bound(s) + 1);
		size_t wide = s->entry.stride == 2 ? (size_t)s->entry.count * 4 + 16 : 0;
		job->encoded = PACK_NEW(b, uint8_t, job->bound + wide);
		if (s->piece_count > 1)
			job->raw = PACK_NEW(b, uint8_t, (size_t)s->entry.raw_bytes);
	}
	hob_parallel_for(b->options->parallel, count, encode_task, jobs);
}

/* ---- the file ---- */

static size_t align_up(size_t value, size_t align)
{
	return (value + align - 1) & ~(align - 1);
}

static void digest16(uint8_t out[16], const void *data, size_t size)
{
	hob_sha256 digest = hob_sha256_of((hob_bytes){(const uint8_t *)data, size});
	memcpy(out, digest.bytes, 16);
}

static void place(pack_builder *b, hob_pk_header *header)
{
	size_t at = align_up(sizeof *header + b->section_count * sizeof(hob_pk_section), HOB_PK_TABLE_ALIGN);
	header->prefix_bytes = at;
	for (uint32_t i = 0; i < b->section_count; i++) {
		hob_pk_section *e = &b->sections[i].entry;
		at = align_up(at, (size_t)1 << e->align_log2);
		e->offset = at;
		e->stored_bytes = e->codec == HOB_PK_CODEC_RAW ? e->raw_bytes : b->sections[i].stored.size;
		at += (size_t)e->stored_bytes;
		if (e->flags & HOB_PK_SECTION_GPU)
			header->flags &= e->codec == HOB_PK_CODEC_RAW ? ~0u : ~(uint32_t)HOB_PK_FILE_RAW;
		else
			header->prefix_bytes = at;
	}
	header->file_bytes = at;
}

/* ---- ranges ---- */

enum { RANGE_BYTES_MIN = 1024, RANGE_BLOCK = 4096, RANGE_SECTION_MIN = 2 * RANGE_BLOCK };

void hob_pack_add_ranges(pack_builder *b)
{
	b->ranges = b->section_count;
	hob_pack_add(b, HOB_PK_RNGS, NULL, 0, sizeof(hob_pk_range));
}

/* End of the run of bytes that begins at `from` in the section: after the piece that reaches the minimum
 * length. Advances *piece and *piece_at (its start). */
static size_t run_end(const pack_section *s, size_t from, uint32_t *piece, size_t *piece_at)
{
	size_t size = (size_t)s->entry.raw_bytes;
	if (s->piece_count == 1)
		return size - from <= RANGE_BLOCK ? size : from + RANGE_BLOCK;
	size_t end = from;
	while (*piece < s->piece_count && end - from < RANGE_BYTES_MIN) {
		end = *piece_at + s->pieces[*piece].size;
		*piece_at = end;
		++*piece;
	}
	return end;
}

static void hash_run(const pack_section *s, size_t from, size_t end, uint8_t out[12])
{
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	size_t at = 0;
	for (uint32_t p = 0; p < s->piece_count && at < end; p++) {
		size_t size = s->pieces[p].size, first = from > at ? from - at : 0,
			   last = end - at < size ? end - at : size;
		if (first < last)
			hob_hasher_put(&hasher, s->pieces[p].data + first, last - first);
		at += size;
	}
	hob_sha256 digest = hob_hasher_finish(&hasher);
	memcpy(out, digest.bytes, 12);
}

/* Counts the ranges. With `out`, also fills them; the sections must then have their offsets. */
static uint32_t each_range(const pack_builder *b, hob_pk_range *out)
{
	uint32_t count = 0;
	for (uint32_t i = 1; i < b->section_count; i++) {
		const pack_section *s = &b->sections[i];
		if (i == b->ranges || s->entry.codec != HOB_PK_CODEC_RAW || s->entry.raw_bytes < RANGE_SECTION_MIN)
			continue;
		uint32_t piece = 0;
		size_t piece_at = 0;
		for (size_t from = 0, end; from < s->entry.raw_bytes; from = end) {
			end = run_end(s, from, &piece, &piece_at);
			if (end == from)
				break;
			if (end - from > UINT32_MAX)
				continue;
			if (out) {
				out[count] = (hob_pk_range){.offset = s->entry.offset + from, .size = (uint32_t)(end - from)};
				hash_run(s, from, end, out[count].digest);
			}
			count++;
		}
	}
	return count;
}

static void reserve_ranges(pack_builder *b)
{
	if (b->ranges == 0)
		return;
	pack_section *s = &b->sections[b->ranges];
	uint32_t count = each_range(b, NULL);
	hob_pk_range *ranges = PACK_NEW(b, hob_pk_range, count);
	s->entry.count = count;
	s->entry.raw_bytes = (uint64_t)count * sizeof *ranges;
	*s->pieces = (hob_bytes){(const uint8_t *)ranges, (size_t)s->entry.raw_bytes};
}

static void fill_ranges(pack_builder *b)
{
	if (b->ranges > 0)
		each_range(b, (hob_pk_range *)(uintptr_t)b->sections[b->ranges].pieces->data);
}

static void put_sections(pack_builder *b, uint8_t *file)
{
	size_t end = sizeof(hob_pk_header) + b->section_count * sizeof(hob_pk_section);
	for (uint32_t i = 0; i < b->section_count; i++) {
		pack_section *s = &b->sections[i];
		uint8_t *at = file + s->entry.offset;
		memset(file + end, 0, (size_t)s->entry.offset - end);
		end = (size_t)(s->entry.offset + s->entry.stored_bytes);
		if (s->entry.codec != HOB_PK_CODEC_RAW) {
			memcpy(at, s->stored.data, s->stored.size);
		} else {
			for (uint32_t p = 0; p < s->piece_count; p++) {
				if (s->pieces[p].size)
					memcpy(at, s->pieces[p].data, s->pieces[p].size);
				at += s->pieces[p].size;
			}
		}
		digest16(s->entry.digest, file + s->entry.offset, (size_t)s->entry.stored_bytes);
		memcpy(file + sizeof(hob_pk_header) + i * sizeof s->entry, &s->entry, sizeof s->entry);
	}
}

static bool write_file(pack_builder *b, uint32_t kind, hob_buf *out)
{
	hob_pk_header header = {
		.endian = HOB_PK_ENDIAN,
		.ver_major = HOB_PK_VERSION_MAJOR,
		.ver_minor = b->ver_minor,
		.kind = kind,
		.flags = b->flags | HOB_PK_FILE_RAW,
		.section_count = b->section_count,
		.header_bytes = sizeof header,
		.entry_bytes = sizeof(hob_pk_section),
	};
	memcpy(header.magic, HOB_PK_MAGIC, 8);
	place(b, &header);
	if (header.file_bytes > HOB_LIMIT_OUTPUT_BYTES)
		return hob_fail(b->err, LIMIT, "a packed file of %llu bytes; the limit is %llu",
						(unsigned long long)header.file_bytes, HOB_LIMIT_OUTPUT_BYTES);
	/* The last that needs memory: a guard that is left later would free what it grew. */
	uint8_t *file = hob_buf_grow(out, (size_t)header.file_bytes);
	fill_ranges(b);
	put_sections(b, file);
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	hob_hasher_put(&hasher, &header, offsetof(hob_pk_header, digest));
	hob_hasher_put(&hasher, file + sizeof header, b->section_count * sizeof(hob_pk_section));
	hob_sha256 digest = hob_hasher_finish(&hasher);
	memcpy(header.digest, digest.bytes, sizeof header.digest);
	memcpy(file, &header, sizeof header);
	return true;
}

typedef struct writing {
	uint32_t kind;
	void (*put)(pack_builder *builder, const void *from);
	const void *from;
	const hob_pack_options *options;
	hob_arena *arena;
	hob_buf *out;
} writing;

static bool write_body(void *context, hob_error *err)
{
	const writing *w = context;
	pack_builder b = {
		.options = w->options, .arena = w->arena, .err = err, .ver_minor = 1, .string_room = 64};
	hob_buf_put(&b.strings, "", 1);
	b.string_slots = PACK_NEW(&b, uint32_t, b.string_room);
	hob_pack_add(&b, HOB_PK_STRS, NULL, 0, 1);
	w->put(&b, w->from);
	hob_pk_section *strings = &b.sections[0].entry;
	*b.sections[0].pieces = hob_buf_bytes(&b.strings);
	strings->count = (uint32_t)b.strings.size;
	strings->raw_bytes = b.strings.size;
	if (!b.failed && b.options->encode == HOB_PACK_MESHOPT)
		encode_sections(&b);
	if (!b.failed)
		reserve_ranges(&b);
	bool ok = !b.failed && write_file(&b, w->kind, w->out);
	hob_buf_release(&b.strings);
	return ok;
}

bool hob_pack_write(uint32_t kind, void (*put)(pack_builder *builder, const void *from), const void *from,
					const hob_pack_options *options, hob_buf *out, hob_error *err)
{
	hob_own_arena own;
	hob_arena_init(&own, (size_t)HOB_LIMIT_COOK_ARENA_BYTES);
	writing w = {kind, put, from, options, options->scratch ? options->scratch : &own, out};
	hob_arena_mark mark = hob_arena_save(w.arena);
	bool ok = hob_guarded(write_body, &w, err);
	hob_arena_restore(w.arena, mark);
	return ok;
}
