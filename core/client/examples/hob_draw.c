/* hob_draw.c - shows an asset of a running daemon, and every saved change from the next frame on.
 *
 *     hob_draw URL ASSET [-o FILE.png | --window] [--size WxH] [--cache DIR] [--time SECONDS]
 *
 * While a new version is fetched, the old one stays on screen, until every file including the last texture is
 * on the GPU. Then they are swapped between two frames. If the new version cannot be cooked, fetched or
 * opened, the old one stays, with a red strip and a line that says why. Without a window each new picture
 * goes to FILE.png.
 *
 * One line per picture, "picture shown|kept REV MS" (the change that is shown or failed, and the duration of
 * the swap), and "error MESSAGE". Ends at end of its input, or with its window. */
#include "../../runtime/draw/draw_surface.h"
#include "../../runtime/draw/draw_textures.h"
#include "../../runtime/draw/draw_view.h"
#include "../hob_client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESHES, MATERIALS, SCENE, ANIMATIONS, OUTPUTS, STRIP = 8 };

static const char *const output_names[OUTPUTS] = {"meshes", "materials", "scene", "animations"};

typedef char hash_text[65];

typedef struct version {
	hash_text hashes[OUTPUTS];	 /* "": the asset has none */
	uint64_t revs[OUTPUTS], rev; /* requested by name, each output has its own; 0: from a cache */
	bool preview;
	hob_rt_asset *asset;
	hob_rt_instance *instance;
	hob_rt_player *player;
	draw_model *model;
} version;

typedef struct app {
	hobc_client *client;
	draw_surface *surface;
	const char *asset, *out;
	int width, height;
	bool window, dirty;
	double clock, swap_ms;
	version shown, coming;
	hash_text finals
		[OUTPUTS]; /* of the last final version: it has more in common with the next one than a preview has */
	uint32_t generation, pending; /* of `coming`: answers to earlier requests are only kept as bytes */
	hobc_blob **held;			  /* every blob of either version, once */
	size_t held_count;
	uint32_t flying; /* requests of any version: the blobs that they read must stay */
	uint64_t rev;	 /* of the last change, good or not */
	char error[512];
} app;

typedef struct request {
	app *app;
	uint32_t generation;
	int output; /* index in output_names if requested by name; -1: by hash */
} request;

static void advance(app *a);

/* ---- blobs */

static hobc_blob *find_blob(const app *a, const char *hash)
{
	for (size_t i = 0; i < a->held_count; i++)
		if (strcmp(a->held[i]->hash, hash) == 0)
			return a->held[i];
	return NULL;
}

static void hold(app *a, hobc_blob *blob)
{
	hobc_blob **more =
		find_blob(a, blob->hash) ? NULL : realloc(a->held, (a->held_count + 1) * sizeof(hobc_blob *));
	if (!more) {
		hobc_blob_release(a->client, blob);
		return;
	}
	a->held = more;
	a->held[a->held_count++] = blob;
}

static void image_hash(const hob_rt_asset *asset, uint32_t image, hash_text out)
{
	hob_draw_image_hash(asset, image, out);
	if (strspn(out, "0") == 64)
		out[0] = 0;
}

static bool is_used(const version *v, const char *hash)
{
	for (int i = 0; i < OUTPUTS; i++)
		if (strcmp(v->hashes[i], hash) == 0)
			return true;
	for (uint32_t i = 0; v->asset && i < v->asset->image_count; i++) {
		hash_text image;
		image_hash(v->asset, i, image);
		if (strcmp(image, hash) == 0)
			return true;
	}
	return false;
}

static bool is_final(const app *a, const char *hash)
{
	for (int i = 0; i < OUTPUTS; i++)
		if (strcmp(a->finals[i], hash) == 0)
			return true;
	return false;
}

static void release_unused(app *a)
{
	size_t kept = 0;
	if (a->flying > 0)
		return; /* done when the last of them ends */
	for (size_t i = 0; i < a->held_count; i++)
		if (is_used(&a->shown, a->held[i]->hash) || is_final(a, a->held[i]->hash))
			a->held[kept++] = a->held[i];
		else
			hobc_blob_release(a->client, a->held[i]);
	a->held_count = kept;
}

/* ---- versions */

static void close_version(version *v)
{
	hob_draw_model_close(v->model);
	hob_rt_player_close(v->player);
	hob_rt_instance_close(v->instance);
	hob_rt_close(v->asset);
	memset(v, 0, sizeof *v);
}

static void fail(app *a, const char *message)
{
	close_version(&a->coming);
	a->generation++;
	a->pending = 0;
	snprintf(a->error, sizeof a->error, "%s", message);
	a->dirty = true;
	printf("error %s\n", a->error);
	fflush(stdout);
}

static hob_rt_blob part(const app *a, int output)
{
	const hobc_blob *blob = find_blob(a, a->coming.hashes[output]);
	hob_rt_blob none = {NULL, 0}, some = {blob ? blob->data : NULL, blob ? blob->size : 0};
	return blob ? some : none;
}

static hob_rt_blob find_picture(void *user, const hob_rt_asset *asset, uint32_t index)
{
	hash_text hash;
	hob_rt_blob none = {NULL, 0};
	image_hash(asset, index, hash);
	const hobc_blob *blob = find_blob(user, hash);
	return blob ? hob_draw_copy(blob->data, blob->size) : none;
}

static void swap(app *a, double began)
{
	close_version(&a->shown);
	a->shown = a->coming;
	a->rev = a->shown.rev;
	if (!a->shown.preview)
		memcpy(a->finals, a->shown.hashes, sizeof a->finals);
	memset(&a->coming, 0, sizeof a->coming);
	a->error[0] = 0;
	a->dirty = true;
	release_unused(a);
	a->swap_ms = (hob_draw_surface_seconds() - began) * 1e3;
}

/* ---- fetching */

static void on_blob(void *user, uint64_t id, hobc_result result, const char *message, hobc_blob *blob)
{
	request r = *(request *)user;
	app *a = r.app;
	(void)id;
	free(user);
	a->flying--;
	if (result == HOBC_OK && r.output >= 0 && r.generation == a->generation) {
		strcpy(a->coming.hashes[r.output], blob->hash);
		a->coming.revs[r.output] = a->coming.rev = blob->rev;
	}
	if (result == HOBC_OK)
		hold(a, blob);
	if (r.generation != a->generation || result == HOBC_CANCELLED)
		return;
	bool optional = r.output >= 0 && r.output != SCENE && result == HOBC_NOT_FOUND;
	a->pending--;
	if (result != HOBC_OK && !optional)
		fail(a, message);
	else if (a->pending == 0)
		advance(a);
}

static request *new_request(app *a, int output)
{
	request *r = malloc(sizeof *r);
	if (r) {
		r->app = a;
		r->generation = a->generation;
		r->output = output;
		a->pending++;
		a->flying++;
	}
	return r;
}

/* `output`: the one that the blob belongs to, whose earlier versions serve as base; -1: a picture */
static void fetch_hash(app *a, const char *hash, int output)
{
	const hobc_blob *older[] = {output >= 0 ? find_blob(a, a->shown.hashes[output]) : NULL,
								output >= 0 ? find_blob(a, a->finals[output]) : NULL};
	request *r = hash[0] && !find_blob(a, hash) ? new_request(a, -1) : NULL;
	if (r && (older[0] || older[1]))
		hobc_get_delta_of(a->client, hash, older, 2, on_blob, r, NULL);
	else if (r)
		hobc_get_blob(a->client, hash, 0, 0, on_blob, r, NULL);
}

static void begin(app *a)
{
	close_version(&a->coming);
	a->generation++;
	a->pending = 0;
}

static void fetch_by_name(app *a)
{
	begin(a);
	for (int i = 0; i < OUTPUTS; i++) {
		request *r = new_request(a, i);
		if (r)
			hobc_get(a->client, a->asset, output_names[i], on_blob, r, NULL);
	}
}

/* Called when everything requested has arrived: first the outputs, which then name the textures. */
static void advance(app *a)
{
	version *v = &a->coming;
	hob_rt_error error;
	double began = hob_draw_surface_seconds();
	if (!v->asset) {
		for (int i = 0; i < OUTPUTS; i++)
			if (v->revs[i] != 0 && v->revs[SCENE] != 0 && v->revs[i] != v->revs[SCENE]) {
				fetch_by_name(a); /* published in between */
				return;
			}
		const hob_rt_files files = {part(a, MESHES), part(a, MATERIALS), part(a, SCENE), part(a, ANIMATIONS)};
		if (!hob_rt_open(&files, NULL, &v->asset, &error)) {
			fail(a, error.text);
			return;
		}
		for (uint32_t i = 0; i < v->asset->image_count; i++) {
			hash_text hash;
			image_hash(v->asset, i, hash);
			fetch_hash(a, hash, -1);
		}
		if (a->pending > 0)
			return;
	}
	if (!hob_rt_instance_open(v->asset, &v->instance, &error) ||
		!hob_rt_player_open(v->asset, 1, &v->player, &error)) {
		fail(a, error.text);
		return;
	}
	if (v->asset->clip_count > 0)
		hob_rt_player_play(v->player, 0, 0, 1, true);
	hob_rt_player_advance(v->player, a->clock, v->instance);
	v->model = hob_draw_model_open(v->asset, find_picture, a);
	if (v->model)
		swap(a, began);
	else
		fail(a, "the model cannot be uploaded");
}

/* The text of "message" in the daemon's report of a failure; escapes stay as they are. */
static void failure_text(const hobc_event *event, char *out, size_t size)
{
	const char *at = strstr(event->json, "\"message\":\"");
	size_t length = 0;
	at = at ? at + 11 : "the cook failed";
	while (at[length] && at[length] != '"')
		length += at[length] == '\\' && at[length + 1] ? 2 : 1;
	snprintf(out, size, "%s: %.*s", event->asset, (int)length, at);
}

static void on_event(void *user, const hobc_event *event)
{
	app *a = user;
	hash_text scene;
	char text[512];
	if (event->kind == HOBC_EVENT_RESET ||
		(event->kind == HOBC_EVENT_HELLO && !a->shown.model && a->pending == 0))
		fetch_by_name(a);
	if (event->kind != HOBC_EVENT_ASSET)
		return;
	if (strcmp(event->change, "failed") == 0) {
		failure_text(event, text, sizeof text);
		a->rev = event->rev;
		fail(a, text);
		return;
	}
	if (!hobc_event_output(event, output_names[SCENE], scene, NULL))
		return;
	begin(a);
	a->coming.rev = event->rev;
	a->coming.preview = strstr(event->json, "\"quality\":\"preview\"") != NULL;
	for (int i = 0; i < OUTPUTS; i++)
		if (!hobc_event_output(event, output_names[i], a->coming.hashes[i], NULL))
			a->coming.hashes[i][0] = 0;
	for (int i = 0; i < OUTPUTS; i++)
		fetch_hash(a, a->coming.hashes[i], i);
	if (a->pending == 0)
		advance(a);
}

/* ---- pictures */

static void draw_frame(app *a)
{
	draw_view view;
	memset(&view, 0, sizeof view);
	view.pixels = 1;
	glClearColor(0.16f, 0.17f, 0.19f, 1);
	glDepthMask(GL_TRUE);
	glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
	if (a->shown.model) {
		hob_rt_update(a->shown.instance);
		hob_draw_view_outside(a->shown.instance, 30, 20, a->width, a->height, &view);
		hob_draw_model_draw(a->shown.model, a->shown.instance, &view);
	}
	if (!a->error[0])
		return;
	glEnable(GL_SCISSOR_TEST);
	glScissor(0, a->height - STRIP, a->width, STRIP);
	glClearColor(0.85f, 0.1f, 0.1f, 1);
	glClear(GL_COLOR_BUFFER_BIT);
	glDisable(GL_SCISSOR_TEST);
}

static bool save_picture(app *a)
{
	char path[4096];
	snprintf(path, sizeof path, "%s.new", a->out);
	return hob_draw_surface_save(a->surface, path) && rename(path, a->out) == 0;
}

static bool show(app *a)
{
	if (!a->window && !a->dirty)
		return true;
	draw_frame(a);
	if (!a->window && !save_picture(a))
		return false;
	if (a->dirty) {
		printf("picture %s %llu %.1f\n", a->error[0] ? "kept" : "shown", (unsigned long long)a->rev,
			   a->swap_ms);
		fflush(stdout);
	}
	a->dirty = false;
	return !a->window || hob_draw_surface_present(a->surface);
}

static bool input_ended(void)
{
	struct pollfd entry = {STDIN_FILENO, POLLIN, 0};
	char byte;
	return poll(&entry, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static void run(app *a)
{
	double before = hob_draw_surface_seconds();
	fetch_by_name(a);
	while (!input_ended()) {
		hobc_update(a->client, a->window ? 0 : 20);
		double now = hob_draw_surface_seconds(), step = a->window ? now - before : 0;
		before = now;
		a->clock += step;
		if (a->shown.player)
			hob_rt_player_advance(a->shown.player, step, a->shown.instance);
		if (!show(a))
			break;
	}
}

int main(int argc, char **argv)
{
	hobc_options options;
	app a;
	memset(&options, 0, sizeof options);
	memset(&a, 0, sizeof a);
	a.out = "picture.png";
	a.width = 640;
	a.height = 480;
	bool good = argc >= 3;
	for (int i = 3; i < argc && good; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		if (strcmp(argv[i], "--window") == 0) {
			a.window = true;
			continue;
		}
		good = value != NULL;
		if (good && strcmp(argv[i], "-o") == 0)
			a.out = value;
		else if (good && strcmp(argv[i], "--cache") == 0)
			options.cache_dir = value;
		else if (good && strcmp(argv[i], "--time") == 0)
			a.clock = strtod(value, NULL);
		else
			good = good && strcmp(argv[i], "--size") == 0 &&
				   sscanf(value, "%dx%d", &a.width, &a.height) == 2 && a.width > 0 && a.height > STRIP &&
				   a.width <= 8192 && a.height <= 8192;
		i++;
	}
	if (!good) {
		fputs("usage: hob_draw URL ASSET [-o FILE.png | --window] [--size WxH] [--cache DIR] [--time "
			  "SECONDS]\n",
			  stderr);
		return 2;
	}
	options.url = argv[1];
	options.cook_wait_s = 10;
	a.asset = argv[2];
	if (hobc_open(&options, &a.client) != HOBC_OK) {
		fprintf(stderr, "hob_draw: '%s' is no URL that can be used here\n", options.url);
		return 2;
	}
	a.surface = hob_draw_surface_open(a.width, a.height, a.window);
	if (a.surface && hobc_watch(a.client, a.asset, on_event, &a) == HOBC_OK)
		run(&a);
	close_version(&a.coming);
	close_version(&a.shown);
	memset(a.finals, 0, sizeof a.finals);
	a.flying = 0;
	release_unused(&a);
	free(a.held);
	good = a.surface != NULL;
	hob_draw_surface_close(a.surface);
	hobc_close(a.client);
	return good ? 0 : 1;
}
