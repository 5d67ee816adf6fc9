#include "cook_run.h"
#include "query.h"

#include "../../core/formats/pack_read.h"
#include "../../core/hash/hash.h"
#include "../log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Three kinds of sources: models, which are cooked first; cooked files; assets of a daemon. */

enum { PART_COUNT = 4 };
static const char *const part_names[PART_COUNT] = {"meshes", "materials", "scene", "animations"};

static hob_pack_set set_of(const hob_bytes parts[PART_COUNT])
{
	return (hob_pack_set){parts[0], parts[1], parts[2], parts[3]};
}

static int write_one(const srv_glb_source *source, const char *out, const char *name, bool quiet)
{
	char path[PATH_MAX], size[32];
	hob_own_arena arena;
	hob_error error = {0};
	uint64_t bytes = 0;
	hob_arena_init(&arena, 1 << 20);
	hob_notes notes = {.arena = &arena};
	int code = EXIT_GOOD;
	if (!srv_export_name(out, name, path, &error) ||
		!srv_export_write(source, path, &notes, &bytes, &error)) {
		hob_fail_in(&error, "%s", name);
		code = srv_cli_fail("hob export", &error, EXIT_ASSETS_FAILED);
	} else if (!quiet) {
		fprintf(stderr, "%s  %s\n", path, srv_text_bytes(bytes, size));
		for (uint32_t i = 0; i < notes.count; i++)
			fprintf(stderr, "        %s: %.*s\n", name, HOB_FMT(notes.items[i].text));
	}
	return code;
}

/* ---- cooked files: NAME.meshes with its siblings; textures/HASH.EXTENSION beside them or in a folder
 * above */

typedef struct cooked_files {
	const char *path;
	hob_bytes parts[PART_COUNT], picture;
} cooked_files;

static bool find_file(void *user, const uint8_t sha256[32], hob_bytes *out, hob_error *err)
{
	static const char *const extensions[] = {"ktx2", "png", "jpg"};
	cooked_files *files = user;
	hob_str folder = hob_str_of(files->path);
	char digest[HOB_SHA256_TEXT + 1], name[PATH_MAX];
	hob_sha256 hash;
	memcpy(hash.bytes, sha256, sizeof hash.bytes);
	hob_sha256_text(&hash, digest);
	srv_unmap_file(&files->picture);
	do {
		folder = hob_path_dir(folder);
		for (size_t i = 0; i < HOB_COUNT_OF(extensions); i++) {
			snprintf(name, sizeof name, "%.*s%stextures/%s.%s", HOB_FMT(folder), folder.len > 0 ? "/" : "",
					 digest, extensions[i]);
			if (access(name, F_OK) != 0)
				continue;
			if (!srv_map_file(name, &files->picture, err))
				return false;
			hob_sha256 found = hob_sha256_of(files->picture);
			if (!hob_sha256_equal(&found, &hash))
				return hob_fail(err, CORRUPT, "'%s' is not what it was cooked to be", name);
			*out = files->picture;
			return true;
		}
	} while (folder.len > 0);
	return true;
}

static int export_cooked(const char *path, const char *out, bool quiet)
{
	cooked_files files = {.path = path};
	hob_str stem = hob_str_of(path);
	stem.len -= hob_path_extension(stem).len + 1;
	char name[PATH_MAX];
	hob_error error = {0};
	bool ok = true;
	for (int i = 0; ok && i < PART_COUNT; i++) {
		snprintf(name, sizeof name, "%.*s.%s", HOB_FMT(stem), part_names[i]);
		bool optional = i == PART_COUNT - 1;
		ok = (optional && access(name, F_OK) != 0) || srv_map_file(name, &files.parts[i], &error);
	}
	snprintf(name, sizeof name, "%.*s", HOB_FMT(hob_path_name(stem)));
	srv_glb_source source = {set_of(files.parts), &files, find_file};
	int code =
		ok ? write_one(&source, out, name, quiet) : srv_cli_fail("hob export", &error, EXIT_ASSETS_FAILED);
	for (int i = 0; i < PART_COUNT; i++)
		srv_unmap_file(&files.parts[i]);
	srv_unmap_file(&files.picture);
	return code;
}

/* ---- assets of a daemon: one answer names all outputs, so that they belong to one cook */

typedef struct remote {
	const char *url;
	cli_response parts[PART_COUNT], picture;
} remote;

static bool fetch(const char *url, const char *hash, cli_response *out, hob_error *err)
{
	char target[16 + HOB_SHA256_TEXT];
	snprintf(target, sizeof target, "/blobs/%s", hash);
	if (!srv_cli_request(url, "GET", target, NULL, (hob_str){0}, out, err))
		return false;
	return out->status == 200 ||
		   hob_fail(err, NOT_FOUND, "the daemon answers %d for blob %s; it may have been replaced: try again",
					out->status, hash);
}

static bool find_blob(void *user, const uint8_t sha256[32], hob_bytes *out, hob_error *err)
{
	remote *r = user;
	char digest[HOB_SHA256_TEXT + 1];
	hob_sha256 hash;
	memcpy(hash.bytes, sha256, sizeof hash.bytes);
	hob_sha256_text(&hash, digest);
	srv_cli_response_release(&r->picture);
	r->picture = (cli_response){0};
	if (!fetch(r->url, digest, &r->picture, err))
		return false;
	*out = hob_buf_bytes(&r->picture.body);
	return true;
}

static const char *hash_of(const cJSON *asset, const char *output)
{
	const cJSON *found = srv_cli_find(srv_cli_member(asset, "outputs"), "name", output);
	return cJSON_GetStringValue(srv_cli_member(found, "hash"));
}

static int export_asset(const char *url, const char *name, const char *out, bool quiet)
{
	int code = EXIT_GOOD;
	hob_own_json *asset = srv_cli_ask_asset("hob export", url, name, &code);
	if (!asset)
		return code;
	if (!hash_of(asset, part_names[0])) {
		fprintf(stderr, "hob export: %s is %s and was never cooked; 'hob why %s' tells more\n", name,
				srv_cli_standing(asset), name);
		return EXIT_ASSETS_FAILED;
	}
	remote r = {.url = url};
	hob_error error = {0};
	hob_bytes parts[PART_COUNT] = {0};
	for (int i = 0; code == EXIT_GOOD && i < PART_COUNT; i++) {
		const char *hash = hash_of(asset, part_names[i]);
		if (hash && !fetch(url, hash, &r.parts[i], &error))
			code = srv_cli_fail("hob export", &error, EXIT_ASSETS_FAILED);
		parts[i] = hob_buf_bytes(&r.parts[i].body);
	}
	srv_glb_source source = {set_of(parts), &r, find_blob};
	if (code == EXIT_GOOD)
		code = write_one(&source, out, name, quiet);
	for (int i = 0; i < PART_COUNT; i++)
		srv_cli_response_release(&r.parts[i]);
	srv_cli_response_release(&r.picture);
	return code;
}

/* ---- models: for glTF they are cooked with one level, exact vertices and PNG pictures */

static int export_models(char **paths, uint32_t count, const char *root, const char *file,
						 cook_run_options *how)
{
	cook_plan plan;
	srv_config config;
	hob_error error = {0};
	if (!srv_config_load(&config, file, &error))
		return srv_cli_usage_error(&srv_cli_export, "%s", error.context);
	cook_plan_options options = {.root = root, .config = &config};
	how->config = &config;
	bool planned = srv_cook_plan_make(&plan, &options, paths, count, &error);
	for (uint32_t i = 0; planned && i < plan.count; i++) {
		hob_settings *s = &plan.entries[i].settings;
		s->lod_max = 1;
		s->meshlets = 0;
		s->clusters = 0;
		s->vertex_format = HOB_VERTICES_FLOAT32;
		s->encode = HOB_ENCODE_RAW;
		s->texture_encoding = HOB_TEXTURE_PNG;
	}
	int code = planned ? srv_cook_run(&plan, how) : srv_cli_fail("hob export", &error, EXIT_USAGE);
	srv_config_release(&config);
	return code;
}

/* ---- the command */

static bool is_cooked_file(const char *path)
{
	hob_bytes file;
	if (!srv_map_file(path, &file, NULL))
		return false;
	bool packed = hob_pack_is(file);
	srv_unmap_file(&file);
	return packed;
}

static bool is_folder(const char *path)
{
	char name[PATH_MAX + 2];
	snprintf(name, sizeof name, "%s/.", path);
	return access(name, F_OK) == 0;
}

static int run_export(int argc, char **argv)
{
	const char *out = NULL, *root = NULL, *url = NULL, *file = NULL;
	cook_run_options how = {.who = "hob export", .wait_s = COOK_WAIT_WRITER_S};
	cli_option options[] = {
		{"--out", 'o', CLI_TEXT, &out, "FILE|DIR",
		 "FILE.glb, - for stdout, or a folder for one SOURCE.glb each"},
		{"--root", 0, CLI_TEXT, &root, "DIR",
		 "models may refer to files below DIR (default: current folder, or the model's)"},
		{"--url", 0, CLI_TEXT, &url, "URL", "SOURCE names assets of the daemon at URL"},
		CLI_CA_OPTION,
		{"--config", 0, CLI_TEXT, &file, "FILE", "the configuration file (hob.json here or in a parent)"},
		{"--report", 0, CLI_TEXT, &how.report, "FILE", "write a JSON report on the models"},
		{"--quiet", 'q', CLI_FLAG, &how.quiet, NULL, "print failures only"},
	};
	int operands = srv_cli_parse(&srv_cli_export, options, HOB_COUNT_OF(options), argc, argv);
	if (operands == 0 || !out)
		return srv_cli_usage_error(&srv_cli_export, operands == 0 ? "name a model, a cooked file or an asset"
																  : "name the output: -o FILE.glb or -o DIR");
	if (strcmp(out, "-") == 0 && isatty(1))
		return srv_cli_usage_error(&srv_cli_export,
								   "a GLB is not for a terminal: use -o FILE.glb, or a pipe");
	if (srv_export_is_one(out) && (operands > 1 || is_folder(argv[1])))
		return srv_cli_usage_error(&srv_cli_export, "several models do not fit into '%s'; name a folder",
								   out);
	how.write = (cook_write_options){.out = out, .glb = true};
	char **models = calloc((size_t)operands, sizeof *models);
	uint32_t model_count = 0;
	int code = models ? EXIT_GOOD : EXIT_INTERNAL;
	for (int i = 1; models && i <= operands; i++) {
		int one = EXIT_GOOD;
		if (url || access(argv[i], F_OK) != 0)
			one = export_asset(url ? url : srv_cli_default_url(), argv[i], out, how.quiet);
		else if (is_cooked_file(argv[i]))
			one = export_cooked(argv[i], out, how.quiet);
		else
			models[model_count++] = argv[i];
		if (one == EXIT_UNREACHABLE && !url) {
			fprintf(stderr, "hob export: looked for an asset because there is no file '%s' here\n", argv[i]);
			one = EXIT_USAGE;
		}
		if (one != EXIT_GOOD)
			code = one;
	}
	int cooked = model_count > 0 ? export_models(models, model_count, root, file, &how) : EXIT_GOOD;
	free(models);
	return code != EXIT_GOOD ? code : cooked;
}

const cli_command srv_cli_export = {
	"export", "SOURCE...", "write binary glTF (.glb) for other tools",
	"SOURCE is a model or a folder of models, which are cooked with their settings; a cooked file "
	"(duck.glb.meshes, with its siblings beside it and pictures in textures/); or, if no such file exists, "
	"an asset of a running daemon. The GLB holds level 0 with all attributes, materials with their "
	"extensions, pictures as PNG or JPEG, nodes, cameras, lights, skins and clips.\n"
	"\n"
	"Examples:\n"
	"  hob export ship.fbx -o ship.glb\n"
	"  hob export art/ -o exported/\n"
	"  hob export build/duck.glb.meshes -o duck.glb\n"
	"  hob export art/props/duck.glb -o duck.glb\n",
	run_export};
