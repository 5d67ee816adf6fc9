/* The bodies of stb's picture reader and writer; draw_textures.c and draw.c include their declarations. */
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
