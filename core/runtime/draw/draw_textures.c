#include "draw_textures.h"

#include <stb/stb_image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

hob_rt_blob hob_draw_file_load(const char *path)
{
	hob_rt_blob blob = {NULL, 0};
	FILE *file = fopen(path, "rb");
	if (!file)
		return blob;
	fseek(file, 0, SEEK_END);
	long size = ftell(file);
	rewind(file);
	void *data = size > 0 ? aligned_alloc(64, ((size_t)size + 63) & ~(size_t)63) : NULL;
	if (data && fread(data, 1, (size_t)size, file) == (size_t)size) {
		blob.data = data;
		blob.size = (size_t)size;
	} else {
		free(data);
	}
	fclose(file);
	return blob;
}

static GLuint new_texture(GLenum target)
{
	GLuint texture;
	glGenTextures(1, &texture);
	glBindTexture(target, texture);
	glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
	return texture;
}

GLuint hob_draw_texture_plain(uint8_t r, uint8_t g, uint8_t b, uint8_t a)
{
	const uint8_t pixel[4] = {r, g, b, a};
	GLuint texture = new_texture(GL_TEXTURE_2D);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 1, 1, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
	return texture;
}

/* ---- KTX2: header of 80 bytes, then 24 bytes a level, largest first */

/* side: texels of a block along an edge, 1 = plain pixels of `layout` and `type` */
static const struct {
	uint32_t vk, gl, side, bytes, layout, type;
} formats[] = {
	{9, GL_R8, 1, 1, GL_RED, GL_UNSIGNED_BYTE},
	{16, GL_RG8, 1, 2, GL_RG, GL_UNSIGNED_BYTE},
	{37, GL_RGBA8, 1, 4, GL_RGBA, GL_UNSIGNED_BYTE},
	{43, GL_SRGB8_ALPHA8, 1, 4, GL_RGBA, GL_UNSIGNED_BYTE},
	{97, GL_RGBA16F, 1, 8, GL_RGBA, GL_HALF_FLOAT},
	{131, 0x83F0, 4, 8, 0, 0},
	{132, 0x8C4C, 4, 8, 0, 0}, /* BC1 */
	{133, 0x83F1, 4, 8, 0, 0},
	{134, 0x8C4D, 4, 8, 0, 0}, /* BC1 with alpha */
	{137, 0x83F3, 4, 16, 0, 0},
	{138, 0x8C4F, 4, 16, 0, 0}, /* BC3 */
	{139, 0x8DBB, 4, 8, 0, 0},
	{141, 0x8DBD, 4, 16, 0, 0}, /* BC4, BC5 */
	{143, 0x8E8F, 4, 16, 0, 0}, /* BC6H */
	{145, 0x8E8C, 4, 16, 0, 0},
	{146, 0x8E8D, 4, 16, 0, 0}, /* BC7 */
	{157, 0x93B0, 4, 16, 0, 0},
	{158, 0x93D0, 4, 16, 0, 0}, /* ASTC 4x4 */
	{165, 0x93B4, 6, 16, 0, 0},
	{166, 0x93D4, 6, 16, 0, 0}, /* ASTC 6x6 */
};

static bool is_ktx2(hob_rt_blob file)
{
	return file.size > 80 && memcmp(file.data, "\xABKTX 20\xBB\r\n\x1A\n", 12) == 0;
}

static uint32_t u32_at(hob_rt_blob blob, size_t at)
{
	uint32_t value = 0;
	if (at + 4 <= blob.size)
		memcpy(&value, (const uint8_t *)blob.data + at, 4);
	return value;
}

static uint64_t u64_at(hob_rt_blob blob, size_t at)
{
	return (uint64_t)u32_at(blob, at) | (uint64_t)u32_at(blob, at + 4) << 32;
}

/* Returns the raw bytes of a level in malloc'ed memory. */
static void *level_bytes(hob_rt_blob file, uint32_t level, uint32_t scheme, size_t raw)
{
	uint64_t offset = u64_at(file, 80 + 24 * (size_t)level), stored = u64_at(file, 88 + 24 * (size_t)level);
	if (offset > file.size || stored > file.size - offset)
		return NULL;
	const uint8_t *from = (const uint8_t *)file.data + offset;
	void *bytes = malloc(raw + 1);
	if (!bytes)
		return NULL;
	if (scheme == 0 && stored == raw)
		memcpy(bytes, from, raw);
	else if (scheme != 2 || ZSTD_decompress(bytes, raw, from, (size_t)stored) != raw) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

static bool upload_face(GLenum target, uint32_t level, size_t format, uint32_t w, uint32_t h, size_t raw,
						const void *bytes)
{
	if (formats[format].side > 1)
		glCompressedTexImage2D(target, (GLint)level, formats[format].gl, (GLsizei)w, (GLsizei)h, 0,
							   (GLsizei)raw, bytes);
	else
		glTexImage2D(target, (GLint)level, (GLint)formats[format].gl, (GLsizei)w, (GLsizei)h, 0,
					 formats[format].layout, formats[format].type, bytes);
	return glGetError() == GL_NO_ERROR; /* else the driver lacks this block format */
}

/* Each level of a cube holds its six faces in sequence. */
static bool upload_level(hob_rt_blob file, uint32_t level, size_t format, uint32_t faces)
{
	uint32_t width = u32_at(file, 20) >> level, height = u32_at(file, 24) >> level,
			 side = formats[format].side;
	uint32_t w = width ? width : 1, h = height ? height : 1;
	size_t raw = (size_t)((w + side - 1) / side) * ((h + side - 1) / side) * formats[format].bytes;
	uint8_t *bytes = level_bytes(file, level, u32_at(file, 44), raw * faces);
	bool good = bytes;
	for (uint32_t i = 0; good && i < faces; i++)
		good = upload_face(faces == 6 ? GL_TEXTURE_CUBE_MAP_POSITIVE_X + i : GL_TEXTURE_2D, level, format, w,
						   h, raw, bytes + i * raw);
	free(bytes);
	return good;
}

static GLuint load_ktx2(hob_rt_blob file, uint32_t faces)
{
	GLenum target = faces == 6 ? GL_TEXTURE_CUBE_MAP : GL_TEXTURE_2D;
	uint32_t vk = u32_at(file, 12), width = u32_at(file, 20), height = u32_at(file, 24),
			 levels = u32_at(file, 40);
	size_t format = 0, count = sizeof formats / sizeof formats[0];
	while (format < count && formats[format].vk != vk)
		format++;
	if (format == count || width == 0 || height == 0 || width > 16384 || height > 16384 || levels > 15 ||
		u32_at(file, 36) != faces)
		return 0;
	GLuint texture = new_texture(target);
	for (uint32_t level = 0; level < (levels ? levels : 1); level++)
		if (!upload_level(file, level, format, faces)) {
			glDeleteTextures(1, &texture);
			return 0;
		}
	glTexParameteri(target, GL_TEXTURE_MAX_LEVEL, levels ? (GLint)levels - 1 : 0);
	return texture;
}

/* Reads the value of a key; false if it is absent or not `size` bytes. */
static bool read_key(hob_rt_blob file, const char *key, void *value, size_t size)
{
	uint64_t at = u32_at(file, 56), end = at + u32_at(file, 60);
	size_t name = strlen(key) + 1;
	while (at + 4 <= end && end <= file.size) {
		uint64_t length = u32_at(file, (size_t)at);
		const uint8_t *pair = (const uint8_t *)file.data + at + 4;
		if (length == name + size && length <= end - at - 4 && memcmp(pair, key, name) == 0) {
			memcpy(value, pair + name, size);
			return true;
		}
		at += 4 + ((length + 3) & ~(uint64_t)3);
	}
	return false;
}

GLuint hob_draw_cube_load(hob_rt_blob file, uint32_t *last_level, float irradiance[27])
{
	if (!is_ktx2(file) || !read_key(file, "HobIrradiance", irradiance, 27 * sizeof *irradiance))
		return 0;
	GLuint cube = load_ktx2(file, 6);
	*last_level = u32_at(file, 40) - 1;
	glTexParameteri(GL_TEXTURE_CUBE_MAP, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
	return cube;
}

static GLuint load_picture(hob_rt_blob file, bool srgb)
{
	int width, height, channels;
	stbi_uc *pixels = stbi_load_from_memory(file.data, (int)file.size, &width, &height, &channels, 4);
	if (!pixels)
		return 0;
	GLuint texture = new_texture(GL_TEXTURE_2D);
	glTexImage2D(GL_TEXTURE_2D, 0, srgb ? GL_SRGB8_ALPHA8 : GL_RGBA8, width, height, 0, GL_RGBA,
				 GL_UNSIGNED_BYTE, pixels);
	glGenerateMipmap(GL_TEXTURE_2D);
	stbi_image_free(pixels);
	return texture;
}

void hob_draw_image_hash(const hob_rt_asset *asset, uint32_t index, char out[65])
{
	for (int i = 0; i < 32; i++)
		snprintf(out + i * 2, 3, "%02x", hob_rt_image(asset, index)->cooked_sha256[i]);
}

hob_rt_blob hob_draw_copy(const void *data, size_t size)
{
	hob_rt_blob copy = {malloc(size), size};
	if (copy.data)
		memcpy((void *)(uintptr_t)copy.data, data, size);
	return copy;
}

hob_rt_blob hob_draw_folder_find(void *user, const hob_rt_asset *asset, uint32_t index)
{
	const char *folder = user;
	static const char *const endings[] = {".ktx2", ".png", ".jpg", ".jpeg", ".webp", ""};
	char path[4096], name[65];
	hob_rt_blob file = {NULL, 0};
	if (asset->classic) {
		snprintf(path, sizeof path, "%s/%s", folder, hob_rt_image_name(asset, index));
		return hob_draw_file_load(path);
	}
	hob_draw_image_hash(asset, index, name);
	for (size_t i = 0; i < sizeof endings / sizeof endings[0] && !file.data; i++) {
		snprintf(path, sizeof path, "%s/%s%s", folder, name, endings[i]);
		file = hob_draw_file_load(path);
	}
	return file;
}

GLuint hob_draw_texture_load(const hob_rt_asset *asset, uint32_t index, draw_find find, void *user)
{
	hob_rt_blob file = find(user, asset, index);
	bool srgb = asset->classic || hob_rt_image(asset, index)->flags & HOB_PK_IMAGE_SRGB;
	GLuint texture = !file.data ? 0 : is_ktx2(file) ? load_ktx2(file, 1) : load_picture(file, srgb);
	free((void *)(uintptr_t)file.data);
	if (texture)
		return texture;
	fprintf(stderr, "draw: picture %u '%s' is not there or cannot be read: grey instead\n", index,
			hob_rt_image_name(asset, index));
	return hob_draw_texture_plain(128, 128, 128, 255);
}

GLuint hob_draw_sampler_make(const hob_rt_asset *asset, uint32_t index)
{
	static const GLint wraps[] = {GL_REPEAT, GL_CLAMP_TO_EDGE, GL_MIRRORED_REPEAT};
	static const GLint filters[] = {GL_LINEAR_MIPMAP_LINEAR,
									GL_NEAREST,
									GL_LINEAR,
									GL_NEAREST_MIPMAP_NEAREST,
									GL_LINEAR_MIPMAP_NEAREST,
									GL_NEAREST_MIPMAP_LINEAR,
									GL_LINEAR_MIPMAP_LINEAR};
	hob_pk_texture_sampler from = {0, 0, 0, 0};
	GLuint sampler;
	if (index != HOB_RT_NONE)
		from = *hob_rt_sampler(asset, index);
	glGenSamplers(1, &sampler);
	glSamplerParameteri(sampler, GL_TEXTURE_WRAP_S, wraps[from.wrap_u % 3]);
	glSamplerParameteri(sampler, GL_TEXTURE_WRAP_T, wraps[from.wrap_v % 3]);
	glSamplerParameteri(sampler, GL_TEXTURE_MAG_FILTER, from.mag == 1 ? GL_NEAREST : GL_LINEAR);
	glSamplerParameteri(sampler, GL_TEXTURE_MIN_FILTER, filters[from.min % 7]);
	return sampler;
}
