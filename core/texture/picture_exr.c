#include "picture.h"

#ifdef HOB_EXR
#include "../base/limits.h"

#include <openexr.h>

static int64_t read_bytes(exr_const_context_t context, void *user, void *to, uint64_t size, uint64_t offset,
						  exr_stream_error_func_ptr_t fail)
{
	(void)context, (void)fail;
	const hob_bytes *file = user;
	uint64_t left = offset < file->size ? file->size - offset : 0, count = size < left ? size : left;
	if (count > 0)
		memcpy(to, file->data + offset, count);
	return (int64_t)count;
}

static int64_t size_of(exr_const_context_t context, void *user)
{
	(void)context;
	return (int64_t)((const hob_bytes *)user)->size;
}

static void hush(exr_const_context_t context, exr_result_t code, const char *text)
{
	(void)context, (void)code, (void)text;
}

/* Channels for red, green, blue and alpha: those of the first layer that has any; a single Y or Z is grey. */
typedef struct layout {
	exr_storage_t storage;
	int32_t left, top, width, height;
	int from[4]; /* index in the channel list, or -1 */
	bool grey;
} layout;

static hob_str last_part(hob_str name, hob_str *layer)
{
	size_t dot = name.len;
	while (dot > 0 && name.data[dot - 1] != '.')
		dot--;
	*layer = (hob_str){name.data, dot};
	return (hob_str){name.data + dot, name.len - dot};
}

static bool pick_channels(const exr_attr_chlist_t *list, layout *out, hob_error *err)
{
	static const char letters[4] = {'R', 'G', 'B', 'A'};
	hob_str chosen = {0};
	bool any = false;
	int lone = -1;
	for (int k = 0; k < 4; k++)
		out->from[k] = -1;
	/* Takes the first layer with a colour. Channels are sorted, so its alpha precedes its colours. */
	for (int pass = 0; pass < 2; pass++)
		for (int c = 0; c < list->num_channels; c++) {
			const exr_attr_chlist_entry_t *entry = &list->entries[c];
			hob_str layer, name = last_part((hob_str){entry->name.str, (size_t)entry->name.length}, &layer);
			if (entry->x_sampling != 1 || entry->y_sampling != 1 || name.len != 1)
				continue;
			if (name.data[0] == 'Y' || name.data[0] == 'Z')
				lone = lone < 0 ? c : lone;
			for (int k = 0; k < 4; k++) {
				if (name.data[0] != letters[k])
					continue;
				if (pass == 0 && !any && k < 3) {
					chosen = layer;
					any = true;
				}
				if (pass == 1 && any && hob_str_equal(layer, chosen))
					out->from[k] = c;
			}
		}
	if (out->from[0] < 0 && out->from[1] < 0 && out->from[2] < 0 && lone >= 0) {
		out->grey = true;
		out->from[0] = lone;
	}
	return out->from[0] >= 0 || out->from[1] >= 0 || out->from[2] >= 0 ||
		   hob_fail(err, UNSUPPORTED,
					"none of its %d channels is R, G, B or Y of full resolution; save it as RGB(A)",
					list->num_channels);
}

static bool open_file(hob_bytes *file, exr_context_t *context, layout *out, hob_error *err)
{
	exr_context_initializer_t init = EXR_DEFAULT_CONTEXT_INITIALIZER;
	init.error_handler_fn = hush;
	init.user_data = file;
	init.read_fn = read_bytes;
	init.size_fn = size_of;
	init.max_image_width = init.max_image_height = (int)HOB_LIMIT_IMAGE_SIDE;
	init.max_tile_width = init.max_tile_height = (int)HOB_LIMIT_IMAGE_SIDE;
	exr_result_t result = exr_start_read(context, "picture", &init);
	if (result != EXR_ERR_SUCCESS)
		return hob_fail(err, CORRUPT, "the header is damaged or too large: %s",
						exr_get_default_error_message(result));
	exr_attr_box2i_t box;
	const exr_attr_chlist_t *list;
	layout l = {0};
	bool ok = true;
	if (exr_get_storage(*context, 0, &l.storage) != EXR_ERR_SUCCESS ||
		exr_get_data_window(*context, 0, &box) != EXR_ERR_SUCCESS ||
		exr_get_channels(*context, 0, &list) != EXR_ERR_SUCCESS)
		ok = hob_fail(err, CORRUPT, "the header lacks its window or its channels");
	else if (l.storage != EXR_STORAGE_SCANLINE && l.storage != EXR_STORAGE_TILED)
		ok = hob_fail(err, UNSUPPORTED, "it holds deep samples; flatten it");
	else
		ok = pick_channels(list, &l, err);
	if (!ok) {
		exr_finish(context);
		return false;
	}
	l.left = box.min.x, l.top = box.min.y;
	int64_t width = (int64_t)box.max.x - box.min.x + 1, height = (int64_t)box.max.y - box.min.y + 1;
	l.width = width < 0 || width > INT32_MAX ? 0 : (int32_t)width;
	l.height = height < 0 || height > INT32_MAX ? 0 : (int32_t)height;
	*out = l;
	return true;
}

bool hob_exr_probe(hob_bytes file, hob_picture_info *out, hob_error *err)
{
	exr_context_t context;
	layout l;
	if (!open_file(&file, &context, &l, err))
		return false;
	out->width = (uint32_t)l.width;
	out->height = (uint32_t)l.height;
	out->channels = (l.grey ? 1u : 3u) + (l.from[3] >= 0 ? 1u : 0u);
	out->depth = HOB_DEPTH_FLOAT;
	exr_finish(&context);
	return true;
}

typedef struct reader {
	exr_context_t context;
	const layout *l;
	const exr_attr_chlist_t *list;
	exr_decode_pipeline_t decode;
	bool began;
	/* planes of R, G, B and A of a chunk, separate because the library confuses some channel orders; a fifth
	 * takes the other channels, which the library's shortcuts for three and four channels write, too */
	float *planes;
	size_t plane; /* floats per plane */
	float *pixels;
} reader;

static void put_plane(const reader *r, const exr_chunk_info_t *chunk, int32_t x, int32_t y, int k)
{
	const float *from = r->planes + (size_t)k * r->plane;
	for (int32_t row = 0; row < chunk->height && y + row < r->l->height; row++)
		for (int32_t i = 0; i < chunk->width && x + i < r->l->width; i++)
			r->pixels[4 * ((size_t)(y + row) * (size_t)r->l->width + (size_t)(x + i)) + (size_t)k] =
				from[(size_t)row * (size_t)chunk->width + (size_t)i];
}

static exr_result_t read_chunk(reader *r, const exr_chunk_info_t *chunk, int32_t x, int32_t y)
{
	exr_result_t result = r->began ? exr_decoding_update(r->context, 0, chunk, &r->decode)
								   : exr_decoding_initialize(r->context, 0, chunk, &r->decode);
	if (result != EXR_ERR_SUCCESS)
		return result;
	if (chunk->width < 0 || chunk->height < 0 || (size_t)chunk->width * (size_t)chunk->height > r->plane)
		return EXR_ERR_INVALID_ATTR;
	for (int c = 0; c < r->decode.channel_count; c++) {
		exr_coding_channel_info_t *channel = &r->decode.channels[c];
		channel->decode_to_ptr = (uint8_t *)(r->planes + 4 * r->plane);
		for (int k = 0; k < 4; k++)
			if (r->l->from[k] >= 0 &&
				strcmp(channel->channel_name, r->list->entries[r->l->from[k]].name.str) == 0)
				channel->decode_to_ptr = (uint8_t *)(r->planes + (size_t)k * r->plane);
		channel->user_pixel_stride = 4;
		channel->user_line_stride = 4 * chunk->width;
		channel->user_bytes_per_element = 4;
		channel->user_data_type = EXR_PIXEL_FLOAT;
	}
	if (!r->began)
		result = exr_decoding_choose_default_routines(r->context, 0, &r->decode);
	r->began = true;
	if (result == EXR_ERR_SUCCESS)
		result = exr_decoding_run(r->context, 0, &r->decode);
	for (int k = 0; result == EXR_ERR_SUCCESS && k < 4; k++)
		if (r->l->from[k] >= 0)
			put_plane(r, chunk, x, y, k);
	return result;
}

static bool take_planes(reader *r, int32_t width, int32_t height, hob_arena *arena)
{
	r->plane = (size_t)width * (size_t)height;
	r->planes = hob_arena_array(arena, 5 * r->plane, sizeof(float), 16);
	return r->planes != NULL;
}

static exr_result_t read_lines(reader *r, hob_arena *arena)
{
	int32_t step = 1;
	exr_result_t result = exr_get_scanlines_per_chunk(r->context, 0, &step);
	if (result == EXR_ERR_SUCCESS && (step <= 0 || !take_planes(r, r->l->width, step, arena)))
		return EXR_ERR_OUT_OF_MEMORY;
	for (int32_t y = 0; y < r->l->height && result == EXR_ERR_SUCCESS; y += step) {
		exr_chunk_info_t chunk;
		result = exr_read_scanline_chunk_info(r->context, 0, r->l->top + y, &chunk);
		if (result == EXR_ERR_SUCCESS)
			result = read_chunk(r, &chunk, 0, y);
	}
	return result;
}

static exr_result_t read_tiles(reader *r, hob_arena *arena)
{
	int32_t width = 0, height = 0;
	exr_result_t result = exr_get_tile_sizes(r->context, 0, 0, 0, &width, &height);
	if (result == EXR_ERR_SUCCESS && (width <= 0 || height <= 0))
		return EXR_ERR_INVALID_ATTR;
	if (result == EXR_ERR_SUCCESS && !take_planes(r, width, height, arena))
		return EXR_ERR_OUT_OF_MEMORY;
	for (int32_t y = 0; result == EXR_ERR_SUCCESS && y < r->l->height; y += height)
		for (int32_t x = 0; result == EXR_ERR_SUCCESS && x < r->l->width; x += width) {
			exr_chunk_info_t chunk;
			result = exr_read_tile_chunk_info(r->context, 0, x / width, y / height, 0, 0, &chunk);
			if (result == EXR_ERR_SUCCESS)
				result = read_chunk(r, &chunk, x, y);
		}
	return result;
}

/* Divides colours by alpha (OpenEXR premultiplies). NaN becomes 0, values beyond half floats the maximum. */
static void finish_pixels(const layout *l, float *p)
{
	for (size_t i = 0, n = (size_t)l->width * (size_t)l->height; i < n; i++, p += 4) {
		if (l->grey)
			p[1] = p[2] = p[0];
		for (int k = 0; k < 4; k++)
			p[k] = p[k] > 0 ? p[k] < 65504 ? p[k] : 65504 : 0;
		p[3] = p[3] < 1 ? p[3] : 1;
		for (int k = 0; k < 3 && l->from[3] >= 0 && p[3] > 0; k++)
			p[k] = p[k] / p[3] < 65504 ? p[k] / p[3] : 65504;
	}
}

bool hob_exr_read(hob_bytes file, const hob_picture_info *info, hob_arena *arena, hob_picture *out,
				  hob_error *err)
{
	exr_context_t context;
	layout l;
	hob_picture_new(info, arena, out);
	if (!open_file(&file, &context, &l, err))
		return false;
	struct hob_guard *guard = hob_guard_suspend(); /* the context must be closed */
	reader r = {
		.context = context, .l = &l, .pixels = out->pixels, .decode = EXR_DECODE_PIPELINE_INITIALIZER};
	for (size_t i = 0, n = 4 * (size_t)info->width * info->height; i < n; i++)
		r.pixels[i] = i % 4 == 3;
	exr_result_t result = exr_get_channels(context, 0, &r.list);
	if (result == EXR_ERR_SUCCESS)
		result = l.storage == EXR_STORAGE_TILED ? read_tiles(&r, arena) : read_lines(&r, arena);
	exr_decoding_destroy(context, &r.decode);
	finish_pixels(&l, r.pixels);
	exr_finish(&context);
	hob_guard_resume(guard);
	if (result == EXR_ERR_OUT_OF_MEMORY)
		return hob_fail(err, MEMORY, "no memory left to unpack it");
	return result == EXR_ERR_SUCCESS || hob_fail(err, CORRUPT, "the pixels are damaged or cut off: %s",
												 exr_get_default_error_message(result));
}

#endif
