#include "texture_bench.h"

#include "core/base/limits.h"
#include "core/hash/hash.h"
#include "core/texture/astc.h"

#include <math.h>
#include <stdlib.h>

static void base_color_becomes_an_srgb_ktx2_with_all_levels(void **state)
{
	(void)state;
	bench *b = open_bench();
	uint8_t checker[16 * 16 * 4];
	for (int i = 0; i < 256; i++) {
		uint8_t v = (i % 16 + i / 16) % 2 ? 255 : 0;
		memcpy(checker + 4 * i, (uint8_t[4]){v, v, v, 255}, 4);
	}
	add_file(b, "props/a.png", checker, 16, 16, true);
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/a.png");
	assert_true(bake(b));
	assert_int_equal(b->count, 1);
	const hob_baked_image *image = &b->out.images[0];
	assert_int_equal(image->width, 16);
	assert_int_equal(image->mips, 5);
	assert_int_equal(image->vk_format, HOB_VK_R8G8B8A8_SRGB);
	assert_int_equal(image->flags, HOB_IMAGE_SRGB);
	assert_int_equal(image->container, HOB_IMAGE_KTX2);
	assert_int_equal(b->out.materials[0].slots[HOB_SLOT_BASE_COLOR].image, 0);
	uint32_t width, height;
	const uint8_t *level = level_of(b, 0, 1, &width, &height);
	/* Half the light is code 188, not 128. */
	for (uint32_t i = 0; i < width * height; i++) {
		assert_int_equal(level[4 * i], 188);
		assert_int_equal(level[4 * i + 3], 255);
	}
	assert_int_equal(b->notes.count, 0);
	close_bench(b);
}

static void a_mask_is_averaged_as_a_number(void **state)
{
	(void)state;
	bench *b = open_bench();
	uint8_t checker[8 * 8 * 4];
	for (int i = 0; i < 64; i++) {
		uint8_t v = (i % 8 + i / 8) % 2 ? 255 : 0;
		memcpy(checker + 4 * i, (uint8_t[4]){v, v, v, 255}, 4);
	}
	add_file(b, "props/a.png", checker, 8, 8, true);
	b->materials[0].slots[HOB_SLOT_OCCLUSION].image = add_image(b, "props/a.png");
	assert_true(bake(b));
	assert_int_equal(b->out.images[0].vk_format, HOB_VK_R8_UNORM);
	uint32_t width, height;
	const uint8_t *level = level_of(b, 0, 1, &width, &height);
	for (uint32_t i = 0; i < width * height; i++)
		assert_int_equal(level[i], 128);
	close_bench(b);
}

static void normal_levels_keep_unit_length_in_two_channels(void **state)
{
	(void)state;
	bench *b = open_bench();
	uint8_t pixels[16 * 16 * 4];
	for (int i = 0; i < 256; i++) {
		double angle = 0.9 * sin(i * 0.7), turn = i * 1.3;
		double x = sin(angle) * cos(turn), y = sin(angle) * sin(turn), z = cos(angle);
		/* Half length: the level must still be normalised. */
		uint8_t n[4] = {(uint8_t)lround(127.5 + 63.75 * x), (uint8_t)lround(127.5 + 63.75 * y),
						(uint8_t)lround(127.5 + 63.75 * z), 255};
		memcpy(pixels + 4 * i, n, 4);
	}
	add_file(b, "props/n.png", pixels, 16, 16, true);
	b->materials[0].slots[HOB_SLOT_NORMAL].image = add_image(b, "props/n.png");
	assert_true(bake(b));
	assert_int_equal(b->out.images[0].vk_format, HOB_VK_R8G8_UNORM);
	assert_int_equal(b->out.images[0].flags, HOB_IMAGE_NORMAL_XY);
	uint32_t width, height;
	const uint8_t *level = level_of(b, 0, 0, &width, &height);
	for (uint32_t i = 0; i < 256; i++) {
		double angle = 0.9 * sin(i * 0.7), turn = i * 1.3;
		assert_true(fabs(level[2 * i] - (127.5 + 127.5 * sin(angle) * cos(turn))) < 2.5);
		assert_true(fabs(level[2 * i + 1] - (127.5 + 127.5 * sin(angle) * sin(turn))) < 2.5);
	}
	level = level_of(b, 0, 4, &width, &height);
	assert_int_equal(width, 1);
	double x = level[0] / 127.5 - 1, y = level[1] / 127.5 - 1;
	assert_true(x * x + y * y <= 1.0);
	close_bench(b);
}

static void opacity_is_packed_by_pair(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_flat(b, "props/base.png", 8, (uint8_t[4]){200, 100, 50, 255});
	add_flat(b, "props/mask.png", 16, (uint8_t[4]){77, 77, 77, 255});
	uint32_t base = add_image(b, "props/base.png"), mask = add_image(b, "props/mask.png");
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = base;
	b->materials[1].slots[HOB_SLOT_BASE_COLOR].image = base;
	b->materials[1].slots[HOB_SLOT_OPACITY].image = mask;
	assert_true(bake(b));
	assert_int_equal(b->count, 2);
	uint32_t plain = b->out.materials[0].slots[HOB_SLOT_BASE_COLOR].image;
	uint32_t packed = b->out.materials[1].slots[HOB_SLOT_BASE_COLOR].image, width, height;
	assert_int_not_equal(plain, packed);
	assert_int_equal(b->out.materials[0].alpha_mode, HOB_ALPHA_OPAQUE);
	assert_int_equal(b->out.materials[1].alpha_mode, HOB_ALPHA_MASK);
	assert_int_equal(b->out.materials[1].slots[HOB_SLOT_OPACITY].image, HOB_NONE);
	assert_int_equal(b->out.images[packed].flags, HOB_IMAGE_SRGB | HOB_IMAGE_OPACITY_PACKED);
	const uint8_t *level = level_of(b, plain, 0, &width, &height);
	assert_memory_equal(level, ((uint8_t[4]){200, 100, 50, 255}), 4);
	level = level_of(b, packed, 0, &width, &height);
	assert_int_equal(width, 16);
	assert_memory_equal(level, ((uint8_t[4]){200, 100, 50, 77}), 4);
	close_bench(b);
}

static void occlusion_roughness_and_metallic_become_one(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_flat(b, "props/ao.png", 4, (uint8_t[4]){10, 0, 0, 255});
	add_flat(b, "props/rough.png", 8, (uint8_t[4]){20, 0, 0, 255});
	add_flat(b, "props/metal.png", 4, (uint8_t[4]){30, 0, 0, 255});
	hob_material *m = &b->materials[0];
	m->slots[HOB_SLOT_OCCLUSION].image = add_image(b, "props/ao.png");
	m->slots[HOB_SLOT_ROUGHNESS].image = add_image(b, "props/rough.png");
	m->slots[HOB_SLOT_METALLIC].image = add_image(b, "props/metal.png");
	assert_true(bake(b));
	assert_int_equal(b->count, 1);
	const hob_material *out = &b->out.materials[0];
	assert_int_equal(out->slots[HOB_SLOT_METAL_ROUGH].image, 0);
	assert_int_equal(out->slots[HOB_SLOT_OCCLUSION].image, 0);
	assert_int_equal(out->slots[HOB_SLOT_ROUGHNESS].image, HOB_NONE);
	assert_int_equal(out->slots[HOB_SLOT_METALLIC].image, HOB_NONE);
	assert_int_equal(b->out.images[0].flags, HOB_IMAGE_ORM);
	assert_int_equal(b->out.images[0].vk_format, HOB_VK_R8G8B8A8_UNORM);
	uint32_t width, height;
	const uint8_t *level = level_of(b, 0, 0, &width, &height);
	assert_int_equal(width, 8);
	assert_memory_equal(level, ((uint8_t[4]){10, 20, 30, 255}), 4);
	close_bench(b);
}

static void one_picture_in_two_uses_is_two_outputs(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_flat(b, "props/a.png", 4, (uint8_t[4]){10, 20, 30, 255});
	uint32_t a = add_image(b, "props/a.png"), copy = add_image(b, "props/./a.png");
	b->images[copy].path = HOB_STR("props/a.png");
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = a;
	b->materials[0].slots[HOB_SLOT_OCCLUSION].image = a;
	b->materials[1].slots[HOB_SLOT_EMISSIVE].image = copy;
	b->materials[2].slots[HOB_SLOT_BASE_COLOR].image = copy;
	assert_true(bake(b));
	assert_int_equal(b->count, 2);
	uint32_t color = b->out.materials[0].slots[HOB_SLOT_BASE_COLOR].image;
	assert_int_equal(b->out.materials[1].slots[HOB_SLOT_EMISSIVE].image, color);
	assert_int_equal(b->out.materials[2].slots[HOB_SLOT_BASE_COLOR].image, color);
	assert_int_not_equal(b->out.materials[0].slots[HOB_SLOT_OCCLUSION].image, color);
	close_bench(b);
}

static void a_missing_picture_is_a_checker_and_a_warning(void **state)
{
	(void)state;
	bench *b = open_bench();
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/none.png");
	b->materials[0].slots[HOB_SLOT_NORMAL].image = add_image(b, "props/none2.png");
	assert_true(bake(b));
	assert_true(noted(b, "texture.missing", "'props/none.png' does not exist"));
	uint32_t color = b->out.materials[0].slots[HOB_SLOT_BASE_COLOR].image, width, height;
	assert_true(b->out.images[color].flags & HOB_IMAGE_PLACEHOLDER);
	const uint8_t *level = level_of(b, color, 0, &width, &height);
	assert_memory_not_equal(level, level + 4 * 8, 4);
	uint32_t normal = b->out.materials[0].slots[HOB_SLOT_NORMAL].image;
	level = level_of(b, normal, 0, &width, &height);
	assert_memory_equal(level, ((uint8_t[2]){128, 128}), 2);
	assert_true(memory_io_logged(&b->memory, "?props/none.png"));
	close_bench(b);
}

static void a_wrong_case_is_repaired_and_reported(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_flat(b, "props/Wood.PNG", 4, (uint8_t[4]){10, 20, 30, 255});
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/wood.png");
	assert_true(bake(b));
	assert_true(noted(b, "texture.case", "'props/wood.png' is spelt 'props/Wood.PNG'"));
	assert_false(b->out.images[0].flags & HOB_IMAGE_PLACEHOLDER);
	close_bench(b);
}

static void a_foreign_absolute_path_is_found_beside_the_model(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_flat(b, "props/textures/rust.png", 4, (uint8_t[4]){10, 20, 30, 255});
	uint32_t i = add_image(b, "");
	b->images[i].uri = HOB_STR("C:\\art\\final\\rust.png");
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = i;
	assert_true(bake(b));
	assert_true(noted(b, "texture.elsewhere", "'props/textures/rust.png'"));
	assert_false(b->out.images[0].flags & HOB_IMAGE_PLACEHOLDER);
	close_bench(b);
}

static void a_damaged_picture_names_itself_and_the_reason(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_flat(b, "props/a.png", 64, (uint8_t[4]){10, 20, 30, 255});
	b->files[0].bytes.size -= 40;
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/a.png");
	assert_true(bake(b));
	assert_true(noted(b, "texture.unreadable", "'props/a.png'"));
	assert_true(b->out.images[0].flags & HOB_IMAGE_PLACEHOLDER);
	close_bench(b);
}

static double alpha_at(const uint8_t *pixels, uint32_t width, uint32_t height, double x, double y)
{
	x = fmax(0, fmin(x - 0.5, width - 1.0));
	y = fmax(0, fmin(y - 0.5, height - 1.0));
	uint32_t x0 = (uint32_t)x, y0 = (uint32_t)y, x1 = x0 + 1 < width ? x0 + 1 : x0,
			 y1 = y0 + 1 < height ? y0 + 1 : y0;
	double fx = x - x0, fy = y - y0;
	double upper = pixels[4 * (y0 * width + x0) + 3] * (1 - fx) + pixels[4 * (y0 * width + x1) + 3] * fx;
	double lower = pixels[4 * (y1 * width + x0) + 3] * (1 - fx) + pixels[4 * (y1 * width + x1) + 3] * fx;
	return (upper * (1 - fy) + lower * fy) / 255;
}

/* Fraction of a level that passes the alpha test when drawn magnified. */
static double drawn_share(const uint8_t *pixels, uint32_t width, uint32_t height, double cutoff)
{
	enum { DRAWN = 512 };
	uint32_t above = 0;
	for (uint32_t i = 0; i < DRAWN * DRAWN; i++)
		above += alpha_at(pixels, width, height, (i % DRAWN + 0.5) * width / DRAWN,
						  (i / DRAWN + 0.5) * height / DRAWN) >= cutoff;
	return (double)above / (DRAWN * DRAWN);
}

static void cut_outs_keep_their_coverage(void **state)
{
	(void)state;
	enum { SIDE = 128 };
	uint8_t *pixels = malloc(SIDE * SIDE * 4);
	for (int i = 0; i < SIDE * SIDE; i++) {
		double x = i % SIDE, y = i / SIDE;
		bool blade = fabs(sin(x * 0.31 + 0.02 * y)) < 0.22 || fabs(sin(y * 0.23 + x * 0.11)) < 0.15;
		memcpy(pixels + 4 * i, (uint8_t[4]){40, 160, 40, blade ? 255 : 0}, 4);
	}
	for (int round = 0; round < 2; round++) {
		bench *b = open_bench();
		add_file(b, "props/leaf.png", pixels, SIDE, SIDE, false);
		b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/leaf.png");
		b->materials[0].alpha_mode = round == 0 ? HOB_ALPHA_MASK : HOB_ALPHA_BLEND;
		assert_true(bake(b));
		double wanted = drawn_share(pixels, SIDE, SIDE, 0.5), worst = 0;
		for (uint32_t level = 1; level < 5; level++) {
			uint32_t width, height;
			const uint8_t *p = level_of(b, 0, level, &width, &height);
			/* Transparent pixels do not darken visible ones. */
			for (uint32_t i = 0; i < width * height; i++)
				assert_true(abs(p[4 * i] - 40) <= 1 && abs(p[4 * i + 1] - 160) <= 1);
			worst = fmax(worst, fabs(drawn_share(p, width, height, 0.5) - wanted));
		}
		/* Blended pictures are left unchanged; the same blades would disappear. */
		if (round == 0)
			assert_true(worst < 0.03);
		else
			assert_true(worst > 0.1);
		close_bench(b);
	}
	free(pixels);
}

static void size_is_capped_with_its_proportions(void **state)
{
	(void)state;
	bench *b = open_bench();
	uint8_t *pixels = calloc(1, 300 * 100 * 4);
	add_file(b, "props/a.png", pixels, 300, 100, false);
	free(pixels);
	b->request.settings.texture_max_size = 64;
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/a.png");
	assert_true(bake(b));
	assert_int_equal(b->out.images[0].width, 64);
	assert_int_equal(b->out.images[0].height, 21);
	assert_int_equal(b->out.images[0].mips, 7);
	close_bench(b);
}

typedef struct shelf {
	uint8_t keys[IMAGES][32];
	hob_bytes parts[IMAGES];
	uint32_t count, hits, own; /* own: parts that nobody else makes */
	struct shelf *other;	   /* storage of another cook */
	bool gives_up;			   /* the other cook ends without storing the part */
} shelf;

static hob_part_state shelf_get(void *user, const uint8_t key[32], bool wait, hob_bytes *out)
{
	shelf *s = user;
	for (uint32_t i = 0; i < s->count; i++)
		if (memcmp(s->keys[i], key, 32) == 0) {
			*out = s->parts[i];
			s->hits++;
			return HOB_PART_KNOWN;
		}
	/* The first of the other's parts is in progress. */
	if (!s->other || memcmp(s->other->keys[0], key, 32) != 0)
		return HOB_PART_UNKNOWN;
	if (!wait)
		return HOB_PART_ELSEWHERE;
	assert_int_equal(s->count, s->own); /* no cook waits while it has parts to make */
	*out = s->other->parts[0];
	return s->gives_up ? HOB_PART_UNKNOWN : HOB_PART_KNOWN;
}

static void shelf_put(void *user, const uint8_t key[32], hob_bytes bytes)
{
	shelf *s = user;
	uint8_t *copy = malloc(bytes.size);
	memcpy(copy, bytes.data, bytes.size);
	memcpy(s->keys[s->count], key, 32);
	s->parts[s->count++] = (hob_bytes){copy, bytes.size};
}

static void a_texture_is_made_once_across_models(void **state)
{
	(void)state;
	shelf s = {0};
	hob_parts parts = {&s, shelf_get, shelf_put};
	uint8_t digest[2][32];
	for (int round = 0; round < 3; round++) {
		bench *b = open_bench();
		add_flat(b, "props/a.png", 32, (uint8_t[4]){10, 20, 30, 255});
		/* The name is not part of the key, the settings are. */
		b->files[0].path = round == 1 ? "props/b.png" : "props/a.png";
		b->request.settings.texture_max_size = round == 2 ? 16 : 2048;
		b->request.parts = &parts;
		b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, b->files[0].path);
		assert_true(bake(b));
		assert_int_equal(s.count, round == 2 ? 2 : 1);
		assert_int_equal(s.hits, round == 0 ? 0 : 1);
		assert_int_equal(b->out.images[0].width, round == 2 ? 16 : 32);
		if (round < 2)
			memcpy(digest[round], b->textures[0].sha256, 32);
		close_bench(b);
	}
	assert_memory_equal(digest[0], digest[1], 32);
	for (uint32_t i = 0; i < s.count; i++)
		free((void *)(uintptr_t)s.parts[i].data);
}

static void what_another_cook_makes_is_waited_for(void **state)
{
	(void)state;
	shelf s[3];
	memset(s, 0, sizeof s);
	uint8_t digests[3][2][32];
	for (int round = 0; round < 3; round++) {
		bench *b = open_bench();
		add_flat(b, "props/a.png", 32, (uint8_t[4]){10, 20, 30, 255});
		add_flat(b, "props/b.png", 16, (uint8_t[4]){1, 2, 3, 255});
		if (round > 0)
			s[round].other = &s[0];
		s[round].gives_up = round == 2;
		s[round].own = 1;
		hob_parts parts = {&s[round], shelf_get, shelf_put};
		b->request.parts = &parts;
		for (int i = 0; i < 2; i++)
			b->materials[i].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, b->files[i].path);
		assert_true(bake(b));
		assert_int_equal(s[round].count, round == 1 ? 1 : 2);
		for (int i = 0; i < 2; i++) {
			memcpy(digests[round][i], b->textures[i].sha256, 32);
			hob_sha256 own = hob_sha256_of(b->textures[i].bytes);
			assert_memory_equal(own.bytes, digests[0][i], 32);
		}
		assert_memory_equal(digests[round], digests[0], sizeof digests[0]);
		close_bench(b);
	}
	for (int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < s[round].count; i++)
			free((void *)(uintptr_t)s[round].parts[i].data);
}

static void what_another_cook_gives_up_is_made_although_nothing_else_was(void **state)
{
	(void)state;
	shelf s[2];
	memset(s, 0, sizeof s);
	s[1].other = &s[0];
	s[1].gives_up = true;
	uint8_t digests[2][32];
	for (int round = 0; round < 2; round++) {
		bench *b = open_bench();
		add_flat(b, "props/a.png", 32, (uint8_t[4]){10, 20, 30, 255});
		hob_parts parts = {&s[round], shelf_get, shelf_put};
		b->request.parts = &parts;
		b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/a.png");
		assert_true(bake(b));
		memcpy(digests[round], b->textures[0].sha256, 32);
		close_bench(b);
	}
	assert_memory_equal(digests[1], digests[0], 32);
	for (int round = 0; round < 2; round++)
		free((void *)(uintptr_t)s[round].parts[0].data);
}

static void source_encoding_keeps_the_file(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_flat(b, "props/a.png", 8, (uint8_t[4]){10, 20, 30, 255});
	b->request.settings.texture_encoding = HOB_TEXTURE_SOURCE;
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/a.png");
	assert_true(bake(b));
	assert_int_equal(b->out.images[0].container, HOB_IMAGE_SOURCE_FILE);
	assert_int_equal(b->textures[0].bytes.size, b->files[0].bytes.size);
	assert_memory_equal(b->textures[0].bytes.data, b->files[0].bytes.data, b->files[0].bytes.size);
	assert_memory_equal(b->out.images[0].source_sha256, b->out.images[0].cooked_sha256, 32);
	close_bench(b);
}

static void classic_output_is_a_png(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_flat(b, "props/a.png", 8, (uint8_t[4]){10, 20, 30, 90});
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/a.png");
	b->materials[0].alpha_mode = HOB_ALPHA_BLEND;
	b->request.png = true;
	assert_true(bake(b));
	assert_int_equal(b->out.images[0].container, HOB_IMAGE_PNG);
	hob_picture picture;
	assert_true(hob_picture_decode(b->textures[0].bytes, &b->scratch, &picture, &b->err));
	assert_memory_equal(picture.pixels, ((uint8_t[4]){10, 20, 30, 90}), 4);
	close_bench(b);
}

/* Golden: the same for every compiler and optimisation level. A change needs a raised HOB_TEXTURE_VERSION. */
static void the_bytes_are_those_of_every_build(void **state)
{
	(void)state;
	static const struct {
		uint32_t encoding, quality;
		const char *digest;
	} cases[] = {
		{HOB_TEXTURE_RGBA8, HOB_QUALITY_GOOD,
		 "6a331a1c54f1ca49dbfaa0fdb501c003371071b8907e62a5e68432225862495b"},
		{HOB_TEXTURE_BC, HOB_QUALITY_SMALL,
		 "40c13a49dc46e89aad59abceb41d640e7644eaa806a68d8ac24816a993c39db0"},
		{HOB_TEXTURE_BC, HOB_QUALITY_FAST,
		 "1fd50a9f26f53aaaa15d9d9cf989e0980b0d65d84a84906e8d3d18a9a110ec48"},
		{HOB_TEXTURE_BC, HOB_QUALITY_GOOD,
		 "a99b4da3ba5d875e0579ab4a69a3c71a207ebf3f954bf7ded0be6d173c010840"},
		{HOB_TEXTURE_BC, HOB_QUALITY_BEST,
		 "338632bebd95233cae7953e3f65157bd1391bb88b1e865cb0290734a85cad9f8"},
	};
	for (size_t c = 0; c < HOB_COUNT_OF(cases); c++) {
		bench *b = open_bench();
		/* More than 256 x 256 pixels after scaling, so that blocks are kept however far off they are. */
		enum { WIDE = 620, HIGH = 140 };
		uint8_t *pixels = malloc((size_t)4 * WIDE * HIGH);
		for (uint32_t i = 0; i < WIDE * HIGH; i++) {
			uint32_t x = i % WIDE / 12, y = i / WIDE / 4, noise = (i * 2654435761u) >> 28;
			uint8_t v[4] = {(uint8_t)(4 * x + noise), (uint8_t)(x * y / 8 + noise), (uint8_t)(255 - 5 * y),
							(uint8_t)(x > 30 ? 255 : 7 * x + noise)};
			memcpy(pixels + 4 * i, v, 4);
		}
		add_file(b, "props/a.png", pixels, WIDE, HIGH, false);
		free(pixels);
		uint32_t a = add_image(b, "props/a.png");
		hob_material *m = &b->materials[0];
		m->alpha_mode = HOB_ALPHA_MASK;
		m->slots[HOB_SLOT_BASE_COLOR].image = a;
		m->slots[HOB_SLOT_NORMAL].image = a;
		m->slots[HOB_SLOT_METAL_ROUGH].image = a;
		m->slots[HOB_SLOT_BUMP].image = a;
		m->slots[HOB_SLOT_CLEARCOAT].image = a;
		b->materials[1].slots[HOB_SLOT_BUMP].image = a;
		b->request.settings.texture_encoding = cases[c].encoding;
		b->request.settings.texture_quality = cases[c].quality;
		b->request.settings.texture_max_size = 580;
		b->request.settings.texture_zstd = 0;
		assert_true(bake(b));
		hob_hasher hasher;
		hob_hasher_init(&hasher);
		for (uint32_t i = 0; i < b->count; i++)
			hob_hasher_put(&hasher, b->textures[i].sha256, 32);
		hob_sha256 digest = hob_hasher_finish(&hasher);
		char text[HOB_SHA256_TEXT + 1];
		hob_sha256_text(&digest, text);
		assert_string_equal(text, cases[c].digest);
		close_bench(b);
	}
}

/* Tasks in two halves and in reverse order: the worst case of a pool. */
static void run_backwards(void *user, uint32_t count, hob_task task, void *context)
{
	(void)user;
	for (uint32_t i = count; i-- > 0;)
		task(context, i, i % 2);
}

static void order_and_threads_do_not_show(void **state)
{
	(void)state;
	hob_parallel backwards = {NULL, 2, run_backwards};
	hob_baked_texture kept[2][8];
	bench *benches[2];
	for (int round = 0; round < 2; round++) {
		bench *b = benches[round] = open_bench();
		static const struct {
			const char *path;
			uint32_t side;
		} files[] = {{"props/a.png", 160}, {"props/b.png", 37}, {"props/c.png", 64}, {"props/d.png", 12}};
		for (size_t f = 0; f < HOB_COUNT_OF(files); f++) {
			uint32_t side = files[f].side;
			uint8_t *pixels = malloc(4 * (size_t)side * side);
			for (uint32_t i = 0; i < 4 * side * side; i++)
				pixels[i] = (uint8_t)((i * 2654435761u) >> 24 | (i / side & 15));
			add_file(b, files[f].path, pixels, side, side, false);
			free(pixels);
			hob_material *m = &b->materials[f];
			uint32_t image = add_image(b, files[f].path);
			m->alpha_mode = f == 0 ? HOB_ALPHA_MASK : HOB_ALPHA_BLEND;
			m->slots[HOB_SLOT_BASE_COLOR].image = image;
			m->slots[HOB_SLOT_NORMAL].image = image;
			m->slots[HOB_SLOT_METAL_ROUGH].image = image;
		}
		b->request.settings.texture_encoding = HOB_TEXTURE_BC;
		b->request.parallel = round ? &backwards : NULL;
		assert_true(bake(b));
		for (uint32_t i = 0; i < b->count && i < 8; i++)
			kept[round][i] = b->textures[i];
	}
	assert_int_equal(benches[0]->count, 12);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(kept[0][i].bytes.size, kept[1][i].bytes.size);
		assert_memory_equal(kept[0][i].bytes.data, kept[1][i].bytes.data, kept[0][i].bytes.size);
	}
	close_bench(benches[0]);
	close_bench(benches[1]);
}

static void a_bump_map_becomes_a_normal_map(void **state)
{
	(void)state;
	bench *b = open_bench();
	uint8_t slope[16 * 16 * 4], normals[16 * 16 * 4];
	for (int i = 0; i < 256; i++) {
		uint8_t v = (uint8_t)(8 * (i % 16));
		memcpy(slope + 4 * i, (uint8_t[4]){v, v, v, 255}, 4);
		memcpy(normals + 4 * i, (uint8_t[4]){(uint8_t)(118 + i % 20), 128, 250, 255}, 4);
	}
	add_file(b, "props/bump.png", slope, 16, 16, true);
	add_file(b, "props/normal.png", normals, 16, 16, true);
	b->materials[0].slots[HOB_SLOT_BUMP].image = add_image(b, "props/bump.png");
	b->materials[1].slots[HOB_SLOT_BUMP].image = add_image(b, "props/normal.png");
	assert_true(bake(b));
	uint32_t width, height, made = b->out.materials[0].slots[HOB_SLOT_NORMAL].image;
	uint32_t taken = b->out.materials[1].slots[HOB_SLOT_NORMAL].image;
	assert_int_equal(b->out.materials[0].slots[HOB_SLOT_BUMP].image, HOB_NONE);
	const uint8_t *level = level_of(b, made, 0, &width, &height);
	/* A rise to the right tilts the normal to the left, neither up nor down. */
	assert_true(level[2 * 8] < 124 && level[2 * 8] > 100);
	assert_true(abs(level[2 * 8 + 1] - 128) <= 1);
	level = level_of(b, taken, 0, &width, &height);
	assert_true(abs(level[2 * 3] - 121) <= 1);
	assert_true(noted(b, "texture.bump-is-normal", "props/normal.png"));
	close_bench(b);
}

static void normals_that_point_inward_keep_their_z(void **state)
{
	(void)state;
	static const struct {
		uint8_t pixel[4];
		int rows; /* number of 32 rows with it; the others point straight out */
		bool below;
	} cases[] = {
		{{128, 128, 0, 255}, 16, true},	   /* straight in */
		{{218, 128, 38, 255}, 1, true},	   /* 45 degrees in, one row */
		{{218, 128, 218, 255}, 32, false}, /* 45 degrees out */
		{{0, 0, 0, 255}, 16, false},	   /* black between the charts of an atlas */
		{{0, 128, 128, 255}, 32, false},   /* along the surface */
	};
	for (size_t c = 0; c < 2 * HOB_COUNT_OF(cases); c++) {
		bench *b = open_bench();
		uint8_t pixels[32 * 32 * 4];
		bool bc = c >= HOB_COUNT_OF(cases), below = cases[c % HOB_COUNT_OF(cases)].below;
		const uint32_t formats[2][2] = {{HOB_VK_R8G8_UNORM, HOB_VK_R8G8B8A8_UNORM},
										{HOB_VK_BC5_UNORM, HOB_VK_BC7_UNORM}};
		for (int i = 0; i < 32 * 32; i++)
			memcpy(pixels + 4 * i,
				   i / 32 < cases[c % HOB_COUNT_OF(cases)].rows ? cases[c % HOB_COUNT_OF(cases)].pixel
																: (uint8_t[4]){128, 128, 255, 255},
				   4);
		add_file(b, "props/n.png", pixels, 32, 32, true);
		b->materials[0].slots[HOB_SLOT_NORMAL].image = add_image(b, "props/n.png");
		b->request.settings.texture_encoding = bc ? HOB_TEXTURE_BC : HOB_TEXTURE_RGBA8;
		assert_true(bake(b));
		assert_int_equal(b->out.images[0].vk_format, formats[bc][below]);
		assert_int_equal(b->out.images[0].flags, below ? 0 : HOB_IMAGE_NORMAL_XY);
		uint32_t width, height;
		if (below && !bc)
			assert_memory_equal(level_of(b, 0, 0, &width, &height), pixels, sizeof pixels);
		close_bench(b);
	}
}

static void hdr_keeps_what_is_brighter_than_white(void **state)
{
	(void)state;
	bench *b = open_bench();
	static const char head[] = "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 4 +X 4\n";
	uint8_t *file = malloc(sizeof head + 64);
	memcpy(file, head, sizeof head - 1);
	for (int i = 0; i < 16; i++)
		/* 128 * 2^(132 - 136) = 8 */
		memcpy(file + sizeof head - 1 + 4 * i, ((uint8_t[4]){128, 64, 32, 132}), 4);
	b->files[b->file_count++] = (memory_file){"props/sky.hdr", {file, sizeof head - 1 + 64}};
	b->materials[0].slots[HOB_SLOT_EMISSIVE].image = add_image(b, "props/sky.hdr");
	assert_true(bake(b));
	assert_int_equal(b->out.images[0].vk_format, HOB_VK_R16G16B16A16_SFLOAT);
	assert_int_equal(b->out.images[0].flags, 0);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t width, height;
		const uint8_t *level = level_of(b, 0, i, &width, &height);
		assert_int_equal(hob_load_u16(level), 0x4800); /* 8 */
		assert_int_equal(hob_load_u16(level + 2), 0x4400);
		assert_int_equal(hob_load_u16(level + 6), 0x3C00);
	}
	close_bench(b);
}

static void different_placement_is_not_packed(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_flat(b, "props/ao.png", 4, (uint8_t[4]){10, 0, 0, 255});
	add_flat(b, "props/mr.png", 4, (uint8_t[4]){1, 20, 30, 255});
	hob_material *m = &b->materials[0];
	m->slots[HOB_SLOT_OCCLUSION].image = add_image(b, "props/ao.png");
	m->slots[HOB_SLOT_OCCLUSION].uv_set = 1;
	m->slots[HOB_SLOT_METAL_ROUGH].image = add_image(b, "props/mr.png");
	assert_true(bake(b));
	assert_int_equal(b->count, 2);
	assert_true(noted(b, "texture.not-packed", "occlusion"));
	close_bench(b);
}

static void every_failing_allocation_is_an_error(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 400; n++) {
		bench *b = open_bench();
		add_flat(b, "props/a.png", 8, (uint8_t[4]){10, 20, 30, 255});
		uint32_t a = add_image(b, "props/a.png");
		b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = a;
		b->materials[0].slots[HOB_SLOT_NORMAL].image = a;
		hob_arena *arenas[2] = {&b->result, &b->scratch};
		arenas[n % 2]->fail_at = (n + 1) / 2;
		bool ok = bake(b);
		bool fired = arenas[n % 2]->fail_at == 0;
		if (!ok)
			assert_int_equal(b->err.code, HOB_ERR_MEMORY);
		close_bench(b);
		if (!fired && n > 100)
			return;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base_color_becomes_an_srgb_ktx2_with_all_levels),
		cmocka_unit_test(a_mask_is_averaged_as_a_number),
		cmocka_unit_test(normal_levels_keep_unit_length_in_two_channels),
		cmocka_unit_test(opacity_is_packed_by_pair),
		cmocka_unit_test(occlusion_roughness_and_metallic_become_one),
		cmocka_unit_test(one_picture_in_two_uses_is_two_outputs),
		cmocka_unit_test(a_missing_picture_is_a_checker_and_a_warning),
		cmocka_unit_test(a_wrong_case_is_repaired_and_reported),
		cmocka_unit_test(a_foreign_absolute_path_is_found_beside_the_model),
		cmocka_unit_test(a_damaged_picture_names_itself_and_the_reason),
		cmocka_unit_test(cut_outs_keep_their_coverage),
		cmocka_unit_test(size_is_capped_with_its_proportions),
		cmocka_unit_test(a_texture_is_made_once_across_models),
		cmocka_unit_test(what_another_cook_makes_is_waited_for),
		cmocka_unit_test(what_another_cook_gives_up_is_made_although_nothing_else_was),
		cmocka_unit_test(source_encoding_keeps_the_file),
		cmocka_unit_test(classic_output_is_a_png),
		cmocka_unit_test(the_bytes_are_those_of_every_build),
		cmocka_unit_test(order_and_threads_do_not_show),
		cmocka_unit_test(a_bump_map_becomes_a_normal_map),
		cmocka_unit_test(normals_that_point_inward_keep_their_z),
		cmocka_unit_test(hdr_keeps_what_is_brighter_than_white),
		cmocka_unit_test(different_placement_is_not_packed),
		cmocka_unit_test(every_failing_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
