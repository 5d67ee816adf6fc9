/* draw_surface.h - an OpenGL ES 3 context, with a window or without. */
#ifndef DRAW_SURFACE_H
#define DRAW_SURFACE_H

#include <stdbool.h>

typedef struct draw_surface draw_surface;

/* `window`: opens a window (GLFW), otherwise an off-screen framebuffer of the same size. On failure prints
 * the reason and returns NULL. */
draw_surface *hob_draw_surface_open(int width, int height, bool window);
void hob_draw_surface_close(draw_surface *surface);
/* Shows what was drawn and handles events; false if the window was closed (always, without a window). */
bool hob_draw_surface_present(draw_surface *surface);
/* Reads the picture back, top row first: [height][width][4]. */
void hob_draw_surface_read(draw_surface *surface, unsigned char *rgba);
/* Writes the picture, made opaque, as PNG; false after saying why. */
bool hob_draw_surface_save(draw_surface *surface, const char *path);
double hob_draw_surface_seconds(void);

#endif
