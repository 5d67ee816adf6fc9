/* draw - shows a cooked model: into a picture without a window, or in a window. See --help and README.md. */
#include "../draw/draw_model.h"
#include "../draw/draw_surface.h"
#include "../draw/draw_textures.h"
#include "../draw/draw_view.h"

#include <GLES3/gl3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"draw - shows a cooked model\n\n"
	"Usage: draw BASE [OPTION]...\n\n"
	"BASE.meshes, BASE.materials, BASE.scene and BASE.animations are what `hob cook` wrote; BASE.classic.* "
	"with\n"
	"--classic. Textures are looked for in the folder textures/ beside or above BASE.\n\n"
	"  -o FILE.png        where the picture goes (picture.png)\n"
	"  --window           a window instead; the clip plays\n"
	"  --size WxH         in pixels (640x480)\n"
	"  --clip N|NAME      which clip to play (0)\n"
	"  --blend N|NAME     a second clip, half and half with the first\n"
	"  --time SECONDS     where in the clip (0)\n"
	"  --yaw, --pitch DEG from where to look (30, 20)\n"
	"  --look EX,EY,EZ,AX,AY,AZ\n"
	"                     from where and whereto instead, in metres\n"
	"  --camera N         look through a camera of the model instead\n"
	"  --pixels N         error that a level of detail may show (1)\n"
	"  --textures DIR     where the textures are\n"
	"  --environment BASE light it with a cooked environment map\n"
	"  --classic          open BASE.classic.meshes, .materials, .scene\n";

typedef struct options {
	const char *base, *out, *clip, *blend, *textures, *environment;
	int width, height, camera;
	float time, yaw, pitch, pixels, look[6]; /* eye, target */
	bool window, classic, looks;
} options;

/* ---- the command line */

static bool read_options(int argc, char **argv, options *o)
{
	*o = (options){
		.out = "picture.png", .width = 640, .height = 480, .camera = -1, .yaw = 30, .pitch = 20, .pixels = 1};
	const struct {
		const char *name, **text;
		float *number;
	} values[] = {{"-o", &o->out, NULL},
				  {"--clip", &o->clip, NULL},
				  {"--blend", &o->blend, NULL},
				  {"--textures", &o->textures, NULL},
				  {"--environment", &o->environment, NULL},
				  {"--time", NULL, &o->time},
				  {"--yaw", NULL, &o->yaw},
				  {"--pitch", NULL, &o->pitch},
				  {"--pixels", NULL, &o->pixels}};
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
		if (strcmp(name, "--window") == 0) {
			o->window = true;
			continue;
		}
		if (strcmp(name, "--classic") == 0) {
			o->classic = true;
			continue;
		}
		if (name[0] != '-') {
			o->base = name;
			continue;
		}
		if (!value)
			return false;
		i++;
		size_t k = 0;
		while (k < sizeof values / sizeof values[0] && strcmp(values[k].name, name) != 0)
			k++;
		if (k < sizeof values / sizeof values[0] && values[k].text)
			*values[k].text = value;
		else if (k < sizeof values / sizeof values[0])
			*values[k].number = strtof(value, NULL);
		else if (strcmp(name, "--camera") == 0)
			o->camera = atoi(value);
		else if (strcmp(name, "--look") == 0) {
			float *l = o->look;
			o->looks = sscanf(value, "%f,%f,%f,%f,%f,%f", l, l + 1, l + 2, l + 3, l + 4, l + 5) == 6;
			if (!o->looks)
				return false;
		} else if (strcmp(name, "--size") != 0 || sscanf(value, "%dx%d", &o->width, &o->height) != 2)
			return false;
	}
	return o->base && o->width > 0 && o->height > 0 && o->width <= 8192 && o->height <= 8192;
}

/* ---- the model */

static hob_rt_blob load(const char *base, bool classic, const char *extension)
{
	char path[4096];
	snprintf(path, sizeof path, "%s%s%s", base, classic ? ".classic" : "", extension);
	return hob_draw_file_load(path);
}

static bool open_model(const char *base, bool classic, hob_rt_files *files, hob_rt_asset **asset)
{
	hob_rt_error error = {HOB_RT_OK, ""};
	files->meshes = load(base, classic, ".meshes");
	files->materials = load(base, classic, ".materials");
	files->scene = load(base, classic, ".scene");
	if (!classic)
		files->animations = load(base, classic, ".animations");
	if (hob_rt_open(files, NULL, asset, &error))
		return true;
	fprintf(stderr, "draw: %s: %s\n", base, error.text);
	return false;
}

static void close_model(hob_rt_files *files, hob_rt_asset *asset)
{
	hob_rt_close(asset);
	free((void *)(uintptr_t)files->meshes.data);
	free((void *)(uintptr_t)files->materials.data);
	free((void *)(uintptr_t)files->scene.data);
	free((void *)(uintptr_t)files->animations.data);
}

/* textures/ beside BASE, or in a folder above it. */
static void find_textures(const char *base, char *folder, size_t size)
{
	snprintf(folder, size, "%s", base);
	for (;;) {
		char *slash = strrchr(folder, '/'), probe[4200];
		snprintf(probe, sizeof probe, "%.*s/textures/.", slash ? (int)(slash - folder) : 1,
				 slash ? folder : ".");
		FILE *there = fopen(probe, "r");
		if (there)
			fclose(there);
		if (there || !slash) {
			probe[strlen(probe) - 2] = 0;
			snprintf(folder, size, "%s", probe);
			return;
		}
		*slash = 0;
	}
}

static bool open_environment(const char *base, draw_environment *out)
{
	char folder[4096];
	hob_rt_files files = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
	hob_rt_asset *asset = NULL;
	find_textures(base, folder, sizeof folder);
	bool good = open_model(base, false, &files, &asset) &&
				hob_draw_environment_open(asset, hob_draw_folder_find, folder, out);
	close_model(&files, asset);
	return good;
}

static uint32_t choose_clip(const hob_rt_asset *asset, const char *name)
{
	char *end;
	uint32_t found = hob_rt_find_clip(asset, name);
	unsigned long number = strtoul(name, &end, 10);
	if (found == HOB_RT_NONE && *name && !*end && number < asset->clip_count)
		found = (uint32_t)number;
	if (found == HOB_RT_NONE)
		fprintf(stderr, "draw: no clip '%s'\n", name);
	return found;
}

/* ---- drawing */

static bool draw_frame(const options *o, draw_model *model, hob_rt_instance *instance, draw_view *view)
{
	view->pixels = o->pixels;
	if (o->looks)
		hob_draw_view_from(instance, o->look, o->look + 3, o->width, o->height, view);
	else if (o->camera < 0)
		hob_draw_view_outside(instance, o->yaw, o->pitch, o->width, o->height, view);
	else if (!hob_draw_view_camera(instance, (uint32_t)o->camera, o->width, o->height, view)) {
		fprintf(stderr, "draw: no node has camera %d\n", o->camera);
		return false;
	}
	glClearColor(0.16f, 0.17f, 0.19f, 1);
	glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
	draw_counts counts = hob_draw_model_draw(model, instance, view);
	if (!o->window)
		printf("%u draws, %u culled, %u triangles\n", counts.draws, counts.culled, counts.triangles);
	return true;
}

static bool show(const options *o, const hob_rt_asset *asset, hob_rt_instance *instance,
				 hob_rt_player *player, draw_surface *surface)
{
	char folder[4096];
	draw_view view;
	memset(&view, 0, sizeof view);
	draw_environment light;
	memset(&light, 0, sizeof light);
	find_textures(o->base, folder, sizeof folder);
	draw_model *model = hob_draw_model_open(asset, hob_draw_folder_find,
											(void *)(uintptr_t)(o->textures ? o->textures : folder));
	if (!model)
		return false;
	bool good = !o->environment || open_environment(o->environment, &light);
	if (o->environment)
		hob_draw_model_light(model, &light);
	double before = hob_draw_surface_seconds();
	hob_rt_player_advance(player, o->time, instance);
	while (good) {
		hob_rt_update(instance);
		good = draw_frame(o, model, instance, &view);
		double now = hob_draw_surface_seconds();
		if (o->window)
			hob_rt_player_advance(player, now - before, instance);
		before = now;
		if (!hob_draw_surface_present(surface))
			break;
	}
	if (good && !o->window)
		good = hob_draw_surface_save(surface, o->out);
	hob_draw_environment_close(&light);
	hob_draw_model_close(model);
	return good;
}

static bool start_clips(const options *o, const hob_rt_asset *asset, hob_rt_player *player)
{
	uint32_t count, first = asset->clip_count > 0 ? choose_clip(asset, o->clip ? o->clip : "0") : HOB_RT_NONE;
	if (asset->clip_count == 0)
		return !o->clip && !o->blend;
	if (first == HOB_RT_NONE)
		return false;
	uint32_t layer = hob_rt_player_play(player, first, 0, 1, true);
	if (!o->blend)
		return true;
	uint32_t second = choose_clip(asset, o->blend);
	if (second == HOB_RT_NONE)
		return false;
	hob_rt_layer *layers = hob_rt_player_layers(player, &count), kept = layers[layer];
	uint32_t other = hob_rt_player_play(player, second, 0, 1, true);
	layer = other == 0 ? 1 : 0;
	layers[layer] = kept;
	layers[layer].weight = layers[layer].target_weight = 0.5f;
	layers[other].weight = layers[other].target_weight = 0.5f;
	return true;
}

int main(int argc, char **argv)
{
	options o;
	hob_rt_files files = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
	hob_rt_asset *asset = NULL;
	hob_rt_instance *instance = NULL;
	hob_rt_player *player = NULL;
	hob_rt_error error;
	if (!read_options(argc, argv, &o)) {
		fputs(usage, stderr);
		return 2;
	}
	draw_surface *surface = NULL;
	bool good = open_model(o.base, o.classic, &files, &asset) &&
				hob_rt_instance_open(asset, &instance, &error) &&
				hob_rt_player_open(asset, 2, &player, &error) && start_clips(&o, asset, player);
	if (good)
		surface = hob_draw_surface_open(o.width, o.height, o.window);
	good = surface && show(&o, asset, instance, player, surface);
	hob_draw_surface_close(surface);
	hob_rt_player_close(player);
	hob_rt_instance_close(instance);
	close_model(&files, asset);
	return good ? 0 : 1;
}
