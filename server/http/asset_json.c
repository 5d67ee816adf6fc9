#include "inside.h"

#include "../../core/base/json_write.h"

static const char *const field_names[FIELD_COUNT] = {
#define X(name) #name,
	ASSET_FIELDS(X)
#undef X
};

static void put_link(hob_buf *out, const char *name, const char *before, hob_str what)
{
	hob_json_key(out, name);
	hob_buf_printf(out, "\"%s", before);
	hob_buf_put_percent(out, what);
	hob_buf_put(out, "\"", 1);
}

static void put_outputs(hob_buf *out, const srv_view_asset *asset)
{
	hob_json_put(out, HOB_JSON_OPEN("outputs", '['));
	for (uint32_t i = 0; i < asset->output_count; i++) {
		const srv_view_output *output = &asset->outputs[i];
		hob_hex hash = hob_sha256_hex(&output->digest);
		hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("name", output->name),
					 HOB_JSON("hash", hash.text), HOB_JSON("size", output->size));
		put_link(out, "url", "/blobs/", hob_str_of(hash.text));
		hob_json_close(out, '}');
	}
	hob_json_close(out, ']');
}

static void put_deps(hob_buf *out, const srv_view_asset *asset)
{
	hob_json_put(out, HOB_JSON_OPEN("deps", '['));
	for (uint32_t i = 0; i < asset->dep_count; i++) {
		hob_json_object(out, HOB_JSON("path", asset->deps[i].path),
						HOB_JSON_BOOL("missing", asset->deps[i].missing),
						HOB_JSON_DIGEST("hash", &asset->deps[i].digest));
	}
	hob_json_close(out, ']');
}

static void put_field(hob_buf *out, const srv_view_asset *a, asset_field field)
{
	switch (field) {
	case FIELD_id:
		hob_json_put_str(out, "id", hob_str_of(a->id));
		break;
	case FIELD_name:
		hob_json_put_str(out, "name", a->full);
		break;
	case FIELD_path:
		hob_json_put_str(out, "path", a->path);
		/* A path that is not valid UTF-8 is also given exactly, percent-encoded. */
		if (!hob_utf8_valid(a->path))
			put_link(out, "path_encoded", "", a->path);
		break;
	case FIELD_root:
		hob_json_put_str(out, "root", a->root);
		break;
	case FIELD_kind:
		hob_json_put_str(out, "kind", a->kind);
		break;
	case FIELD_state:
		hob_json_put_str(out, "state", hob_str_of(srv_state_name(a->state)));
		break;
	case FIELD_standing:
		hob_json_put_str(out, "standing", hob_str_of(srv_standing_name(a->standing)));
		break;
	case FIELD_quality:
		hob_json_put_str(out, "quality", hob_str_of(a->quality));
		break;
	case FIELD_rev:
		hob_json_put_u64(out, "rev", a->rev);
		break;
	case FIELD_cooked_at:
		hob_json_put(out, HOB_JSON_TIME("cooked_at", a->cooked_at_ms));
		break;
	case FIELD_cook_ms:
		/* Rounded up, so that 0 means "never". */
		hob_json_put_u64(out, "cook_ms", a->cook_ns / 1000000 + (a->cook_ns % 1000000 > 0));
		break;
	case FIELD_bytes:
		hob_json_put(out, HOB_JSON_OPEN("bytes", '{'), HOB_JSON("source", a->source_bytes),
					 HOB_JSON("inputs", srv_view_input_bytes(a)), HOB_JSON("cooked", a->cooked_bytes),
					 HOB_JSON("textures", srv_http_texture_bytes(a)), HOB_JSON_CLOSE('}'));
		break;
	case FIELD_stats:
		hob_json_put(out, HOB_JSON_RAW("stats", a->stats));
		break;
	case FIELD_warnings:
		hob_json_put_u64(out, "warnings", a->warnings);
		break;
	case FIELD_findings:
		hob_json_key(out, "findings");
		hob_rules_print_levels(a->findings, a->finding_count, out);
		break;
	case FIELD_error:
		hob_json_put(out, HOB_JSON_RAW("error", a->error));
		break;
	case FIELD_links:
		hob_json_put(out, HOB_JSON_OPEN("links", '{'));
		put_link(out, "self", "/api/v1/assets/", hob_str_of(a->id));
		put_link(out, "data", "/a/", a->full);
		hob_json_close(out, '}');
		break;
	case FIELD_source:
		hob_json_put(out, HOB_JSON_DIGEST("source", &a->source));
		break;
	case FIELD_record:
		hob_json_put(out, HOB_JSON_DIGEST("record", &a->record));
		break;
	case FIELD_reason:
		hob_json_put(out, HOB_JSON_RAW("reason", a->reason));
		break;
	case FIELD_settings:
		hob_json_put(out, HOB_JSON_RAW("settings", a->settings));
		break;
	case FIELD_reproducibility:
		hob_json_put(out, HOB_JSON_RAW("reproducibility", (hob_str){0}));
		break;
	case FIELD_outputs:
		put_outputs(out, a);
		break;
	case FIELD_deps:
		put_deps(out, a);
		break;
	case FIELD_moved_from:
		hob_json_put_str(out, "moved_from", a->moved_from);
		break;
	case FIELD_content:
		hob_json_put(out, HOB_JSON_RAW("content", a->content.len > 0 ? a->content : HOB_STR("[]")));
		break;
	case FIELD_report:
		hob_json_put(out, HOB_JSON_DIGEST("report", &a->report));
		break;
	case FIELD_COUNT:
		break;
	}
}

uint64_t srv_http_texture_bytes(const srv_view_asset *asset)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < asset->output_count; i++)
		if (hob_str_starts(asset->outputs[i].name, HOB_STR("textures/")))
			sum += asset->outputs[i].size;
	return sum;
}

void srv_put_asset(hob_buf *out, const srv_view_asset *asset, uint32_t fields)
{
	hob_json_open(out, '{');
	for (int i = 0; i < FIELD_COUNT; i++)
		if (fields & 1u << i)
			put_field(out, asset, (asset_field)i);
	hob_json_close(out, '}');
}

/* Sets a bit for each name in `list`; false after a problem for an unknown name. */
static bool add_fields(request *r, hob_str list, uint32_t *out)
{
	hob_str name;
	while (list.len > 0 && hob_str_piece(&list, ',', &name)) {
		int known = 0;
		while (known < FIELD_COUNT && !hob_str_equal(name, hob_str_of(field_names[known])))
			known++;
#define X(name) " " #name
		if (known == FIELD_COUNT)
			return srv_refuse(r, PROBLEM_BAD_REQUEST, "fields are:" ASSET_FIELDS(X),
							  "there is no field '%.*s'", HOB_FMT(name));
#undef X
		*out |= 1u << known;
	}
	return true;
}

bool srv_request_fields(request *r, uint32_t fallback, uint32_t *out)
{
	hob_str fields = {0}, more = {0};
	bool some = srv_request_param(r, "fields", &fields) && fields.len > 0;
	srv_request_param(r, "expand", &more);
	*out = some ? 0 : fallback;
	return add_fields(r, fields, out) && add_fields(r, more, out);
}

bool srv_asset_has_good(const srv_view_asset *asset)
{
	return asset->output_count > 0;
}

const srv_view_asset *srv_request_asset(request *r)
{
	const srv_view_asset *asset = srv_view_find_id(srv_request_view(r), r->args[0]);
	if (!asset)
		(void)srv_refuse(r, PROBLEM_NOT_FOUND, "GET /api/v1/assets lists assets with their ids",
						 "there is no asset with the id '%.*s'", HOB_FMT(r->args[0]));
	return asset;
}
