#include "environment_map.h"
#include "texture_stages.h"

enum { SMALL = 32 };

typedef struct face_job {
	const uint16_t *pixels;
	uint32_t side;
	hob_bc_quality quality;
	uint8_t *out;
} face_job;

static void encode_face(void *context, uint32_t face, uint32_t thread)
{
	(void)thread;
	const face_job *job = context;
	uint32_t rows = job->side / 4;
	hob_bc_encode_rows(HOB_VK_BC6H_UFLOAT, job->pixels + (size_t)face * 4 * job->side * job->side, job->side,
					   job->side, 0, rows, job->quality, job->out + (size_t)face * rows * rows * 16);
}

static void encode(const hob_texture_request *request, const hob_environment *made, uint32_t vk_format,
				   hob_arena *arena, hob_buf *file)
{
	hob_ktx2_source source = {.vk_format = vk_format,
							  .width = made->size,
							  .height = made->size,
							  .level_count = made->level_count,
							  .irradiance = made->irradiance[0],
							  .zstd_level = hob_texture_zstd_level(request),
							  .parallel = request->parallel};
	for (uint32_t level = 0; level < made->level_count; level++) {
		uint32_t side = made->size >> level;
		size_t texels = (size_t)6 * side * side;
		source.levels[level] = (hob_bytes){(const uint8_t *)made->levels[level], texels * 8};
		if (vk_format != HOB_VK_BC6H_UFLOAT)
			continue;
		uint8_t *blocks = hob_arena_alloc(arena, texels, 16);
		/* Rough reflections show single blocks of the last levels; encoding these levels well costs
		 * little. */
		hob_bc_quality quality = side > SMALL ? hob_texture_effort(request) : HOB_BC_BEST;
		face_job job = {made->levels[level], side, quality, blocks};
		hob_parallel_for(request->parallel, 6, encode_face, &job);
		source.levels[level] = (hob_bytes){blocks, texels};
	}
	hob_ktx2_write(&source, file);
}

static uint32_t power_below(uint32_t size)
{
	uint32_t power = HOB_ENVIRONMENT_LEAST;
	while (power * 2 <= size && power < HOB_ENVIRONMENT_MOST)
		power *= 2;
	return power;
}

static bool make(const hob_texture_request *request, hob_bytes file, hob_arena *arena, hob_notes *notes,
				 hob_environment *out, hob_error *err)
{
	hob_picture_info info;
	hob_picture picture;
	if (!hob_picture_probe(file, &info, err))
		return false;
	if (info.width != 2 * info.height || info.depth != HOB_DEPTH_FLOAT)
		return hob_fail(err, SKIPPED,
						"%u x %u pixels: an environment map is made of an equirectangular picture, which is "
						"twice as wide as high",
						info.width, info.height);
	if (!hob_picture_decode(file, arena, &picture, err))
		return false;
	*out = hob_environment_make(&picture, power_below(request->settings.environment_size), request->parallel,
								arena);
	if (out->clipped > 0)
		hob_note_add(notes, HOB_NOTE_INFO, "environment.clipped",
					 "%llu pixel%s brighter than 65504, the most that half floats hold; taken as that",
					 (unsigned long long)out->clipped, out->clipped == 1 ? " is" : "s are");
	return true;
}

typedef struct baking {
	const hob_texture_request *request;
	hob_bytes file;
	hob_arena *result, *scratch;
	hob_notes *notes;
	hob_baked_texture *texture;
	hob_baked_image *image;
} baking;

static bool bake(void *context, hob_error *err)
{
	baking *b = context;
	bool blocks = b->request->settings.texture_encoding == HOB_TEXTURE_BC && !b->request->soonest;
	uint32_t vk_format = blocks ? HOB_VK_BC6H_UFLOAT : HOB_VK_R16G16B16A16_SFLOAT;
	hob_environment made;
	hob_own_buf cube = {0};
	if (!make(b->request, b->file, b->scratch, b->notes, &made, err))
		return false;
	encode(b->request, &made, vk_format, b->scratch, &cube);
	uint8_t *bytes = memcpy(hob_arena_alloc(b->result, cube.size, 16), cube.data, cube.size);
	hob_sha256 cooked = hob_sha256_of(hob_buf_bytes(&cube)), digest = hob_sha256_of(b->file);
	b->texture = HOB_NEW(b->result, hob_baked_texture, 1);
	b->texture->bytes = (hob_bytes){bytes, cube.size};
	memcpy(b->texture->sha256, cooked.bytes, 32);
	b->image = HOB_NEW(b->result, hob_baked_image, 1);
	*b->image = (hob_baked_image){.name = HOB_STR("environment"),
								  .width = (uint16_t)made.size,
								  .height = (uint16_t)made.size,
								  .mips = (uint16_t)made.level_count,
								  .vk_format = vk_format,
								  .container = HOB_IMAGE_KTX2,
								  .bytes = cube.size};
	memcpy(b->image->cooked_sha256, cooked.bytes, 32);
	memcpy(b->image->source_sha256, digest.bytes, 32);
	return true;
}

bool hob_environment_bake(const hob_texture_request *request, hob_bytes file, hob_arena *result,
						  hob_arena *scratch, hob_notes *notes, hob_baked_texture **textures, uint32_t *count,
						  hob_baked_materials *out, hob_error *err)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	baking b = {.request = request, .file = file, .result = result, .scratch = scratch, .notes = notes};
	bool ok = hob_guarded(bake, &b, err);
	hob_arena_restore(scratch, mark);
	*count = ok ? 1 : 0;
	if (ok) {
		*textures = b.texture;
		*out = (hob_baked_materials){.image_count = 1, .images = b.image};
	}
	return ok;
}
