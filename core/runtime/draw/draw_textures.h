/* draw_textures.h - the pictures of a model as OpenGL textures. */
#ifndef DRAW_TEXTURES_H
#define DRAW_TEXTURES_H

#include "../hob_runtime.h"

#include <GLES3/gl3.h>

/* The file of image `index`, malloc'ed and owned by the caller; {NULL, 0} if it is not available. */
typedef hob_rt_blob (*draw_find)(void *user, const hob_rt_asset *asset, uint32_t index);

/* A draw_find whose `user` is a folder: <sha256 of the blob>.ktx2 (or .png, or the extension of the source;
 * for a classic model <its name>). */
hob_rt_blob hob_draw_folder_find(void *folder, const hob_rt_asset *asset, uint32_t index);

/* The sha256 of image `index`, in hexadecimal digits. */
void hob_draw_image_hash(const hob_rt_asset *asset, uint32_t index, char out[65]);
/* A copy of `size` bytes in malloc'ed memory. */
hob_rt_blob hob_draw_copy(const void *data, size_t size);

/* Loads image `index` from `find`. Reads KTX2 (R8, RG8, RGBA8, RGBA16F and, if the driver has them, BC1, BC3
 * to BC7, ASTC; raw or zstd), PNG, JPEG. A missing picture becomes one grey pixel, with a line on stderr. */
GLuint hob_draw_texture_load(const hob_rt_asset *asset, uint32_t index, draw_find find, void *user);
/* A KTX2 cube with its last level and the key HobIrradiance; 0 if `file` is not one, or the driver lacks its
 * format. */
GLuint hob_draw_cube_load(hob_rt_blob file, uint32_t *last_level, float irradiance[27]);
/* One pixel. */
GLuint hob_draw_texture_plain(uint8_t r, uint8_t g, uint8_t b, uint8_t a);
/* An OpenGL sampler object for the sampler of a texture reference (HOB_RT_NONE: repeat, linear). */
GLuint hob_draw_sampler_make(const hob_rt_asset *asset, uint32_t sampler);

/* The bytes of a file in malloc'ed memory aligned to 64; {NULL, 0} if it does not exist. */
hob_rt_blob hob_draw_file_load(const char *path);

#endif
