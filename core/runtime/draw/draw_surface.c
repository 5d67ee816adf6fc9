#include "draw_surface.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>
#include <stb/stb_image_write.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if DRAW_GLFW
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#endif

struct draw_surface {
	int width, height;
	EGLDisplay display;
	EGLContext context;
	GLuint framebuffer, color, depth;
	void *window;
};

double hob_draw_surface_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#if DRAW_GLFW
static bool open_window(draw_surface *s)
{
	if (!glfwInit())
		return false;
	glfwWindowHint(GLFW_CLIENT_API, GLFW_OPENGL_ES_API);
	glfwWindowHint(GLFW_CONTEXT_CREATION_API, GLFW_EGL_CONTEXT_API);
	glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
	glfwWindowHint(GLFW_RESIZABLE, GLFW_FALSE);
	glfwWindowHint(GLFW_SAMPLES, 4);
	GLFWwindow *window = glfwCreateWindow(s->width, s->height, "hob draw", NULL, NULL);
	if (!window)
		return false;
	glfwMakeContextCurrent(window);
	glfwSwapInterval(1);
	s->window = window;
	return true;
}
#else
static bool open_window(draw_surface *s)
{
	(void)s;
	fputs("draw: built without GLFW: --window is not available\n", stderr);
	return false;
}
#endif

/* A context without a surface: Mesa's surfaceless platform if it exists, otherwise the default display. */
static bool open_offscreen(draw_surface *s)
{
	const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT,
							 EGL_NONE};
	const EGLint version[] = {EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE};
	const char *extensions = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
	EGLConfig config;
	EGLint count = 0;
	if (extensions && strstr(extensions, "EGL_MESA_platform_surfaceless"))
		s->display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	else
		s->display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
	if (!eglInitialize(s->display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_ES_API) ||
		!eglChooseConfig(s->display, wanted, &config, 1, &count) || count == 0)
		return false;
	s->context = eglCreateContext(s->display, config, EGL_NO_CONTEXT, version);
	return s->context != EGL_NO_CONTEXT &&
		   eglMakeCurrent(s->display, EGL_NO_SURFACE, EGL_NO_SURFACE, s->context);
}

static bool make_framebuffer(draw_surface *s)
{
	glGenFramebuffers(1, &s->framebuffer);
	glGenRenderbuffers(1, &s->color);
	glGenRenderbuffers(1, &s->depth);
	glBindRenderbuffer(GL_RENDERBUFFER, s->color);
	glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, s->width, s->height);
	glBindRenderbuffer(GL_RENDERBUFFER, s->depth);
	glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH_COMPONENT24, s->width, s->height);
	glBindFramebuffer(GL_FRAMEBUFFER, s->framebuffer);
	glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, s->color);
	glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, s->depth);
	return glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
}

draw_surface *hob_draw_surface_open(int width, int height, bool window)
{
	draw_surface *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->width = width;
	s->height = height;
	bool opened = window ? open_window(s) : open_offscreen(s) && make_framebuffer(s);
	if (!opened) {
		fprintf(stderr, "draw: no OpenGL ES 3 context %s\n",
				window ? "in a window: is there a display?" : "");
		hob_draw_surface_close(s);
		return NULL;
	}
	glViewport(0, 0, width, height);
	return s;
}

void hob_draw_surface_close(draw_surface *s)
{
	if (!s)
		return;
#if DRAW_GLFW
	if (s->window)
		glfwTerminate();
#endif
	if (s->context) {
		eglMakeCurrent(s->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
		eglDestroyContext(s->display, s->context);
	}
	if (s->display)
		eglTerminate(s->display);
	free(s);
}

bool hob_draw_surface_present(draw_surface *s)
{
#if DRAW_GLFW
	if (s->window) {
		glfwSwapBuffers(s->window);
		glfwPollEvents();
		return !glfwWindowShouldClose(s->window);
	}
#endif
	(void)s;
	return false;
}

void hob_draw_surface_read(draw_surface *s, unsigned char *rgba)
{
	size_t row = (size_t)s->width * 4;
	unsigned char *swap = malloc(row);
	glPixelStorei(GL_PACK_ALIGNMENT, 1);
	glReadPixels(0, 0, s->width, s->height, GL_RGBA, GL_UNSIGNED_BYTE, rgba);
	for (int y = 0; swap && y < s->height / 2; y++) {
		unsigned char *top = rgba + (size_t)y * row, *bottom = rgba + (size_t)(s->height - 1 - y) * row;
		memcpy(swap, top, row);
		memcpy(top, bottom, row);
		memcpy(bottom, swap, row);
	}
	free(swap);
}

bool hob_draw_surface_save(draw_surface *s, const char *path)
{
	size_t count = (size_t)s->width * (size_t)s->height * 4;
	unsigned char *pixels = malloc(count);
	if (!pixels)
		return false;
	hob_draw_surface_read(s, pixels);
	for (size_t i = 3; i < count; i += 4)
		pixels[i] = 255;
	bool saved = stbi_write_png(path, s->width, s->height, 4, pixels, s->width * 4) != 0;
	free(pixels);
	if (!saved)
		fprintf(stderr, "draw: cannot write %s\n", path);
	return saved;
}
