/* Three pictures, as raw RGBA (NAME.rgba) and in files of other programs (NAME.WHAT.EXTENSION), which must
 * decode to them. The RGBA of color420 is the output of avifdec. WHAT has "lossy" if the encoder changed the
 * pixels, and "asis" if the floats are the sRGB codes themselves. See data/pictures/README.md. */
#include "tests/unit/support.h"

#include "core/texture/picture.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 24, HEIGHT = 16 };

static hob_bytes read_file(const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s/pictures/others/%s", HOB_TEST_DATA, name);
	FILE *f = fopen(path, "rb");
	if (!f)
		return (hob_bytes){0};
	uint8_t *data = malloc(1 << 16);
	size_t size = fread(data, 1, 1 << 16, f);
	fclose(f);
	return (hob_bytes){data, size};
}

static void free_file(hob_bytes file)
{
	free((void *)(uintptr_t)file.data);
}

static double light_of(double code)
{
	return code <= 0.04045 ? code / 12.92 : pow((code + 0.055) / 1.055, 2.4);
}

/* Difference of a channel from the picture's, in 8-bit codes. */
static double off_by(const hob_picture *p, size_t at, const uint8_t *wanted, bool as_is)
{
	if (p->depth == HOB_DEPTH_8)
		return fabs((double)((const uint8_t *)p->pixels)[at] - wanted[at]);
	if (p->depth == HOB_DEPTH_16)
		return fabs(((const uint16_t *)p->pixels)[at] / 257.0 - wanted[at]);
	double is = ((const float *)p->pixels)[at], code = wanted[at] / 255.0;
	return fabs(is - (at % 4 == 3 || as_is ? code : light_of(code))) * 255;
}

static void check(const char *name, const hob_picture *p)
{
	char wanted_name[64];
	snprintf(wanted_name, sizeof wanted_name, "%.*s.rgba", (int)strcspn(name, "."), name);
	hob_bytes wanted = read_file(wanted_name);
	assert_int_equal(wanted.size, WIDTH * HEIGHT * 4);
	assert_int_equal(p->width, WIDTH);
	assert_int_equal(p->height, HEIGHT);
	bool lossy = strstr(name, "lossy"), near = strstr(name, "near"),
		 exact = p->depth == HOB_DEPTH_8 && !lossy;
	double worst = 0, sum = 0;
	for (size_t i = 0; i < wanted.size; i++) {
		double off = off_by(p, i, wanted.data, strstr(name, "asis"));
		worst = off > worst ? off : worst;
		sum += off;
	}
	double mean = sum / (double)wanted.size;
	/* RGBE has 8 bits of mantissa, a half float 11; premultiplied colours were multiplied in 8 bits. */
	bool product = strstr(name, "associated") || (strstr(name, "alpha") && strstr(name, ".exr"));
	double limit = exact && !product && !near ? 0
				   : lossy					  ? 60
				   : near					  ? 2
				   : strstr(name, ".hdr")	  ? 2.1
				   : product				  ? 3
											  : 0.51;
	double mean_limit = lossy ? 12 : 1;
	if (worst > limit || mean > mean_limit)
		fail_msg("%s: worst %g of %g, mean %g", name, worst, limit, mean);
	assert_true(p->has_alpha || !strstr(name, "alpha"));
	free_file(wanted);
}

static void each_file_is_read_as_its_program_meant_it(void **state)
{
	(void)state;
	DIR *folder = opendir(HOB_TEST_DATA "/pictures/others");
	assert_non_null(folder);
	uint32_t count = 0, without = 0;
	for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
		if (e->d_name[0] == '.' || strstr(e->d_name, ".rgba"))
			continue;
		hob_bytes file = read_file(e->d_name);
		hob_arena arena;
		hob_arena_init(&arena, 16u << 20);
		hob_picture picture;
		hob_error err = {0};
		bool ok = hob_picture_decode(file, &arena, &picture, &err);
		if (!ok && strstr(err.context, "was built without"))
			without++;
		else if (!ok)
			fail_msg("%s: %s", e->d_name, err.context);
		else
			check(e->d_name, &picture);
		hob_arena_release(&arena);
		free_file(file);
		count++;
	}
	closedir(folder);
	assert_true(count >= 35);
	if (without > 0)
		print_message("%u files of formats that this build does not read\n", without);
}

/* All prefixes and single changes: an error or pixels. */
static void damage_is_survived(void **state)
{
	(void)state;
	static const char *const names[] = {
		"alpha.lzw.tif",	  "color.tiled.tif",	  "color.palette-lossy.tif",
		"color.piz-asis.exr", "color.tiled-asis.exr", "alpha.rle-asis.exr",
		"color.zip-asis.exr", "alpha.lossless.avif",  "color420.near.avif"};
	for (size_t n = 0; n < HOB_COUNT_OF(names); n++) {
		hob_bytes whole = read_file(names[n]);
		hob_arena arena;
		hob_picture picture;
		for (size_t i = 0; i < whole.size; i += 1 + whole.size / 400) {
			uint8_t *copy = malloc(whole.size);
			memcpy(copy, whole.data, whole.size);
			copy[i] ^= (uint8_t)(i % 3 == 0 ? 0xFF : 1u << i % 8);
			hob_arena_init(&arena, 16u << 20);
			if (hob_picture_decode((hob_bytes){copy, whole.size}, &arena, &picture, NULL))
				assert_non_null(picture.pixels);
			hob_arena_release(&arena);
			uint8_t *cut = malloc(i + 1);
			memcpy(cut, whole.data, i);
			hob_arena_init(&arena, 16u << 20);
			if (hob_picture_decode((hob_bytes){cut, i}, &arena, &picture, NULL))
				assert_non_null(picture.pixels);
			hob_arena_release(&arena);
			free(cut);
			free(copy);
		}
		free_file(whole);
	}
}

static size_t put(uint8_t *at, const void *data, size_t size)
{
	memcpy(at, data, size);
	return size;
}

static size_t put_attribute(uint8_t *at, const char *name, const char *type, const void *data, uint32_t size)
{
	size_t n = put(at, name, strlen(name) + 1);
	n += put(at + n, type, strlen(type) + 1);
	n += put(at + n, &size, 4);
	return n + put(at + n, data, size);
}

/* An OpenEXR file of 4 x 2 pixels without compression. A channel is its name and its type: 'h' half, 'f'
 * float, 'u' integer. Each sample of channel c is 2^-c; of an integer channel, c. */
static size_t write_exr(uint8_t *file, const char *const *names, const char *types)
{
	enum { SIDE = 4, LINES = 2 };
	static const uint8_t magic[] = {0x76, 0x2F, 0x31, 0x01, 2, 0, 0, 0}, none = 0;
	static const uint16_t halves[] = {0x3C00, 0x3800, 0x3400, 0x3000, 0x2C00};
	uint8_t list[512];
	size_t n = 0, size = 0, count = strlen(types), line = 0;
	for (size_t c = 0; c < count; c++) {
		const uint32_t kind = types[c] == 'u' ? 0 : types[c] == 'h' ? 1 : 2, rest[] = {kind, 0, 1, 1};
		n += put(list + n, names[c], strlen(names[c]) + 1);
		n += put(list + n, rest, sizeof rest);
		line += SIDE * (types[c] == 'h' ? 2u : 4u);
	}
	list[n++] = 0;
	const int32_t window[] = {0, 0, SIDE - 1, LINES - 1};
	const float one = 1, centre[2] = {0, 0};
	size += put(file, magic, sizeof magic);
	size += put_attribute(file + size, "channels", "chlist", list, (uint32_t)n);
	size += put_attribute(file + size, "compression", "compression", &none, 1);
	size += put_attribute(file + size, "dataWindow", "box2i", window, sizeof window);
	size += put_attribute(file + size, "displayWindow", "box2i", window, sizeof window);
	size += put_attribute(file + size, "lineOrder", "lineOrder", &none, 1);
	size += put_attribute(file + size, "pixelAspectRatio", "float", &one, 4);
	size += put_attribute(file + size, "screenWindowCenter", "v2f", centre, 8);
	size += put_attribute(file + size, "screenWindowWidth", "float", &one, 4);
	file[size++] = 0;
	for (uint64_t y = 0; y < LINES; y++) {
		uint64_t offset = size + LINES * 8 + y * (8 + line);
		put(file + size + y * 8, &offset, 8);
	}
	size += LINES * 8;
	for (uint32_t y = 0; y < LINES; y++) {
		const uint32_t head[] = {y, (uint32_t)line};
		size += put(file + size, head, sizeof head);
		for (size_t c = 0; c < count; c++)
			for (int x = 0; x < SIDE; x++) {
				const uint32_t integer = (uint32_t)c;
				const float real = 1.0f / (float)(1u << c);
				size += types[c] == 'h'	  ? put(file + size, &halves[c], 2)
						: types[c] == 'f' ? put(file + size, &real, 4)
										  : put(file + size, &integer, 4);
			}
	}
	return size;
}

/* The library's shortcuts for three and four channels write to all of them. */
static void channels_of_openexr_that_are_not_read_are_passed_over(void **state)
{
	(void)state;
	static const struct {
		const char *names[5], *types;
		float wanted[4];
	} rows[] = {
		{{"G", "O", "R"}, "hhh", {0.25f, 1, 0, 1}},
		{{"O", "P", "R"}, "hhh", {0.25f, 0, 0, 1}},
		{{"B", "G", "M", "R"}, "hhhh", {0.125f, 0.5f, 1, 1}},
		{{"B", "G", "R", "Z"}, "hhhf", {0.25f, 0.5f, 1, 1}},
		{{"B", "G", "ID", "R"}, "hhuh", {0.125f, 0.5f, 1, 1}},
		{{"B", "G", "ID", "R"}, "ffuf", {0.125f, 0.5f, 1, 1}},
		{{"M", "N", "O", "P", "R"}, "hhhhh", {0.0625f, 0, 0, 1}},
		{{"A", "x.A", "x.B", "x.G", "x.R"}, "fffff", {0.0625f, 0.125f, 0.25f, 0.5f}},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++) {
		uint8_t *file = calloc(1, 4096);
		size_t size = write_exr(file, rows[i].names, rows[i].types);
		hob_arena arena;
		hob_picture picture;
		hob_error err = {0};
		hob_arena_init(&arena, 16u << 20);
		bool ok = hob_picture_decode((hob_bytes){file, size}, &arena, &picture, &err);
		if (!ok && strstr(err.context, "was built without")) {
			print_message("this build does not read OpenEXR\n");
		} else {
			if (!ok)
				fail_msg("row %zu: %s", i, err.context);
			const float *pixels = picture.pixels;
			for (size_t p = 0; p < 8; p++)
				for (size_t k = 0; k < 4; k++) {
					/* The file's colours are premultiplied. */
					float alpha = rows[i].wanted[3], wanted = rows[i].wanted[k] / (k < 3 ? alpha : 1);
					if (pixels[4 * p + k] != wanted)
						fail_msg("row %zu, pixel %zu, channel %zu: %g, not %g", i, p, k,
								 (double)pixels[4 * p + k], (double)wanted);
				}
		}
		hob_arena_release(&arena);
		free(file);
	}
}

static void claims_of_huge_sizes_allocate_nothing(void **state)
{
	(void)state;
	/* A TIFF with 4 billion pixels per side in 100 bytes. */
	static const uint8_t tiff[] = {'I',	 'I',  42,	 0,	   8,	 0,	   0, 0, 4, 0, 0, 1, 4, 0, 1,	 0,
								   0,	 0,	   0xFF, 0xFF, 0xFF, 0xFF, 1, 1, 4, 0, 1, 0, 0, 0, 0xFF, 0xFF,
								   0xFF, 0xFF, 2,	 1,	   3,	 0,	   1, 0, 0, 0, 8, 0, 0, 0, 6,	 1,
								   3,	 0,	   1,	 0,	   0,	 0,	   1, 0, 0, 0, 0, 0, 0, 0};
	hob_picture_info info;
	hob_error err = {0};
	assert_false(hob_picture_probe((hob_bytes){tiff, sizeof tiff}, &info, &err));
}

static void colours_other_than_srgb_are_told(void **state)
{
	(void)state;
	static const struct {
		const char *chunk;
		size_t size;
		bool differs;
	} cases[] = {{"gAMA\0\1\x86\xA0", 8, true},
				 {"gAMA\0\0\xB1\x8F", 8, false},
				 {"iCCPAdobe RGB (1998)\0\0xyz", 25, true},
				 {"iCCPsRGB IEC61966-2.1\0\0xyz", 26, false},
				 {"sRGB\0", 5, false}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		uint8_t png[128] = "\x89PNG\r\n\x1A\n\0\0\0\15IHDR\0\0\0\1\0\0\0\1\10\2\0\0\0\0\0\0\0";
		size_t at = 33;
		png[at + 3] = (uint8_t)(cases[i].size - 4);
		memcpy(png + at + 4, cases[i].chunk, cases[i].size);
		at += 8 + cases[i].size;
		memcpy(png + at, "\0\0\0\0IDAT\0\0\0\0", 12);
		bool differs = hob_picture_profile_differs(HOB_PICTURE_PNG, (hob_bytes){png, at + 12});
		if (differs != cases[i].differs)
			fail_msg("case %zu: %d", i, differs);
	}
}

typedef struct format_row {
	const char *kind, *extensions, *name;
} format_row;

static const format_row rows[] = {
#define READ_FORMAT(kind, extensions, reader, name, kept, lost, tested) {kind, extensions, name},
#include "schema/read_formats.def"
#undef READ_FORMAT
};

/* Whether a folder of tests/data/pictures has a readable file with one of the row's extensions. */
static bool has_file(const format_row *row, const char *folder, bool *without)
{
	char path[512];
	snprintf(path, sizeof path, HOB_TEST_DATA "/pictures/%s", folder);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	bool found = false;
	for (struct dirent *e = readdir(dir); e && !found; e = readdir(dir)) {
		const char *dot = strrchr(e->d_name, '.'), *at = dot ? strstr(row->extensions, dot + 1) : NULL;
		size_t length = dot ? strlen(dot + 1) : 0;
		if (!at || length < 3 || (at[length] != '\0' && at[length] != ' ') ||
			(folder[0] == 'p' && e->d_name[0] == 'x'))
			continue;
		snprintf(path, sizeof path, "../%s/%s", folder, e->d_name);
		hob_bytes file = read_file(path);
		hob_arena arena;
		hob_arena_init(&arena, 64u << 20);
		hob_picture picture;
		hob_error err = {0};
		found = hob_picture_decode(file, &arena, &picture, &err);
		*without |= !found && strstr(err.context, "was built without");
		hob_arena_release(&arena);
		free_file(file);
	}
	closedir(dir);
	return found;
}

static void each_row_of_hob_formats_has_a_file_that_another_program_wrote(void **state)
{
	(void)state;
	static const char *const folders[] = {"others", "pngsuite", "gif", "ktx2"};
	uint32_t count = 0;
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++) {
		if (strcmp(rows[i].kind, "picture") != 0)
			continue;
		bool found = false, without = false;
		for (size_t k = 0; k < HOB_COUNT_OF(folders) && !found; k++)
			found = has_file(&rows[i], folders[k], &without);
		if (!found && !without)
			fail_msg("no file of %s (%s)", rows[i].name, rows[i].extensions);
		count++;
	}
	assert_true(count >= 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_is_read_as_its_program_meant_it),
		cmocka_unit_test(each_row_of_hob_formats_has_a_file_that_another_program_wrote),
		cmocka_unit_test(damage_is_survived),
		cmocka_unit_test(channels_of_openexr_that_are_not_read_are_passed_over),
		cmocka_unit_test(claims_of_huge_sizes_allocate_nothing),
		cmocka_unit_test(colours_other_than_srgb_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
