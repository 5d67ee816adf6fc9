/* hob_small.c - the smallest renderer with hot reload: shows an asset of a daemon in a window, or writes
 * FILE.png.
 *
 *     hob_small URL ASSET [FILE.png]
 *
 * It draws nothing while it waits for the network. The larger example hob_draw.c keeps drawing, and fetches
 * only changed bytes. */
#include "../../runtime/draw/draw_surface.h"
#include "../../runtime/draw/draw_textures.h"
#include "../../runtime/draw/draw_view.h"
#include "../hob_client.h"

#include <GLES3/gl3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 320, HEIGHT = 240, OUTPUTS = 3 };

typedef struct shown {
	hobc_blob *blobs[OUTPUTS];
	hob_rt_asset *asset;
	hob_rt_instance *instance;
	draw_model *model;
} shown;

typedef struct app {
	hobc_client *client;
	const char *name;
	int changed;
} app;

static void on_event(void *user, const hobc_event *event)
{
	app *a = user;
	a->changed |= event->bytes_changed || event->kind == HOBC_EVENT_RESET;
}

static hob_rt_blob find_picture(void *user, const hob_rt_asset *asset, uint32_t index)
{
	app *a = user;
	char output[32];
	hobc_blob *blob;
	hob_rt_blob copy = {NULL, 0};
	(void)asset;
	snprintf(output, sizeof output, "textures/%u", index);
	if (hobc_get_sync(a->client, a->name, output, &blob) != HOBC_OK)
		return copy;
	copy = hob_draw_copy(blob->data, blob->size);
	hobc_blob_release(a->client, blob);
	return copy;
}

static void drop(app *a, shown *s)
{
	hob_draw_model_close(s->model);
	hob_rt_instance_close(s->instance);
	hob_rt_close(s->asset);
	for (int i = 0; i < OUTPUTS; i++)
		hobc_blob_release(a->client, s->blobs[i]);
	*s = (shown){0};
}

/* Loads a whole version; on failure returns false, and the previous one stays on screen. */
static bool load(app *a, shown *out)
{
	static const char *const names[OUTPUTS] = {"meshes", "materials", "scene"};
	shown s = {0};
	hob_rt_error error = {0};
	hob_rt_files files = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
	hob_rt_blob *parts[OUTPUTS] = {&files.meshes, &files.materials, &files.scene};
	hobc_result result = HOBC_OK;
	for (int i = 0; i < OUTPUTS && result == HOBC_OK; i++) {
		result = hobc_get_sync(a->client, a->name, names[i], &s.blobs[i]);
		if (result == HOBC_OK)
			*parts[i] = (hob_rt_blob){s.blobs[i]->data, s.blobs[i]->size};
	}
	/* Published between two requests: its event will arrive soon. */
	bool whole =
		result == HOBC_OK && s.blobs[0]->rev == s.blobs[1]->rev && s.blobs[1]->rev == s.blobs[2]->rev;
	if (whole && hob_rt_open(&files, NULL, &s.asset, &error) &&
		hob_rt_instance_open(s.asset, &s.instance, &error))
		s.model = hob_draw_model_open(s.asset, find_picture, a);
	if (s.model) {
		hob_rt_update(s.instance);
		drop(a, out);
		*out = s;
		return true;
	}
	if (result != HOBC_OK || whole)
		fprintf(stderr, "%s: %s\n", a->name, error.text[0] ? error.text : hobc_result_text(result));
	drop(a, &s);
	return false;
}

static void draw(const shown *s, draw_surface *surface, const char *file)
{
	draw_view view = {.pixels = 1};
	glViewport(0, 0, WIDTH, HEIGHT);
	glClearColor(0.1F, 0.1F, 0.12F, 1);
	glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
	hob_draw_view_outside(s->instance, 30, 20, WIDTH, HEIGHT, &view);
	hob_draw_model_draw(s->model, s->instance, &view);
	if (file) {
		printf("%s\n", hob_draw_surface_save(surface, file) ? "drawn" : "not written");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	const char *file = argc > 3 ? argv[3] : NULL;
	app a = {.name = argc > 2 ? argv[2] : "", .changed = 1};
	hobc_options options = {.url = argc > 1 ? argv[1] : NULL, .cook_wait_s = 30, .timeout_ms = 60000};
	shown s = {0};
	draw_surface *surface = argc > 2 ? hob_draw_surface_open(WIDTH, HEIGHT, !file) : NULL;
	if (!surface || hobc_open(&options, &a.client) != HOBC_OK) {
		fprintf(stderr, "usage: hob_small URL ASSET [FILE.png]\n");
		return 2;
	}
	hobc_watch(a.client, a.name, on_event, &a);
	do {
		bool fresh = a.changed;
		a.changed = 0;
		fresh = fresh && load(&a, &s);
		if (s.model && (fresh || !file))
			draw(&s, surface, file);
		hobc_update(a.client, file ? 1000 : 0);
	} while (file || hob_draw_surface_present(surface));
	drop(&a, &s);
	hobc_close(a.client);
	hob_draw_surface_close(surface);
	return 0;
}
