#include "cli.h"
#include "map_file.h"

#include "../../core/formats/classic.h"
#include "../../core/formats/describe.h"
#include "../../core/formats/pack_read.h"
#include "../../core/formats/pack_validate.h"
#include "../../core/texture/ktx2.h"
#include "../log/log.h"

#include <stdio.h>

static bool is_ktx2(hob_bytes file)
{
	return file.size >= 4 && memcmp(file.data, "\xABKTX", 4) == 0;
}

static bool validate(hob_bytes file, hob_error *err)
{
	if (is_ktx2(file))
		return hob_ktx2_check(file, true, NULL, err);
	if (hob_pack_is(file))
		return hob_pack_validate(file, err);
	hob_classic_kind kind = hob_classic_sniff(file);
	if (kind == HOB_CLASSIC_NOTHING)
		return hob_fail(err, CORRUPT, "this is no cooked file");
	return hob_classic_validate(file, kind, err);
}

static bool describe_ktx2(hob_bytes file, bool json, hob_buf *out, hob_error *err)
{
	hob_ktx2_facts facts;
	if (!hob_ktx2_check(file, false, &facts, err))
		return false;
	hob_buf_printf(
		out,
		json ? "{\"format\":\"ktx2\",\"bytes\":%zu,\"width\":%u,\"height\":%u,\"levels\":%u,\"vk_format\":%u,"
			   "\"supercompression\":%u}"
			 : "KTX2 texture, %zu bytes: %u x %u, %u levels, VkFormat %u, supercompression %u\n",
		file.size, facts.width, facts.height, facts.levels, facts.vk_format, facts.supercompression);
	return true;
}

static bool inspect_one(const char *path, bool json, bool only_validate, uint32_t rows, hob_error *err)
{
	hob_bytes file;
	hob_buf out = {0};
	if (!map_file(path, &file, err))
		return false;
	bool ok;
	if (only_validate) {
		ok = validate(file, err);
		if (ok)
			hob_buf_printf(&out, "%s: valid\n", path);
	} else {
		hob_describe_options options = {.max_rows = rows, .color = !json && srv_color_wanted(1)};
		ok = is_ktx2(file) ? describe_ktx2(file, json, &out, err)
			 : json		   ? hob_describe_json(file, &options, &out, err)
						   : hob_describe_text(file, &options, &out, err);
		if (ok && json)
			hob_buf_put(&out, "\n", 1);
	}
	if (!ok)
		hob_fail_in(err, "%s", path);
	if (out.size > 0)
		fwrite(out.data, 1, out.size, stdout);
	hob_buf_release(&out);
	unmap_file(&file);
	return ok;
}

static int run_inspect(int argc, char **argv)
{
	bool json = false, only_validate = false;
	uint32_t rows = 0;
	cli_option options[] = {
		{"--json", 0, CLI_FLAG, &json, NULL, "as JSON, every record"},
		{"--validate", 0, CLI_FLAG, &only_validate, NULL, "only say whether the files keep every rule"},
		{"--rows", 0, CLI_NUMBER, &rows, "N", "rows of each table (20)"}};
	int operands = cli_parse(&cli_inspect, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return cli_parse_exit(operands);
	if (operands == 0)
		return cli_usage_error(&cli_inspect, "name at least one file");
	int code = EXIT_GOOD;
	for (int i = 1; i <= operands; i++) {
		hob_error error = {0};
		if (!inspect_one(argv[i], json, only_validate, rows, &error)) {
			cli_print_error("hob inspect", &error);
			code = EXIT_ASSETS_FAILED;
		}
	}
	return code;
}

const cli_command cli_inspect = {
	"inspect", "FILE...", "show what is inside a cooked file",
	"FILE is packed (.meshes .materials .scene .animations), classic, or a KTX2 texture; its bytes\n"
	"tell which.\n\n"
	"Examples:\n  hob inspect duck.meshes\n  hob inspect --json duck.scene | jq .records.HIER\n"
	"  hob inspect --validate build/*.meshes\n",
	run_inspect};
