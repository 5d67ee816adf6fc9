#include "cook_key.h"

#include <stdlib.h>

static hob_sha256 settings_digest(const hob_settings *settings)
{
	/* Models of a folder mostly have the same settings, which hold no pointers: equal bytes, equal digest. */
	static _Thread_local struct {
		bool known;
		hob_settings of;
		hob_sha256 digest;
	} last;
	if (last.known && memcmp(&last.of, settings, sizeof last.of) == 0)
		return last.digest;
	hob_keyer keyer;
	hob_keyer_init(&keyer, "hob settings");
#define SETTING(field, type, path, value, min, max, doc) put_##type(&keyer, path, settings->field);
#define SETTING_CHOICE(field, index, name)
#define put_f32(keyer, label, value)   hob_key_f32(keyer, label, value)
#define put_u32(keyer, label, value)   hob_key_u64(keyer, label, value)
#define put_text(keyer, label, value)  hob_key_str(keyer, label, hob_str_of(value))
#define put_rules(keyer, label, value) hob_rules_hash(&(value), keyer)
#define put_flag					   put_u32
#define put_choice					   put_u32
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
	last.known = true;
	memcpy(&last.of, settings, sizeof last.of);
	return last.digest = hob_keyer_finish(&keyer);
}

static void lower_extension(hob_str extension, char out[32])
{
	size_t n = extension.len < 31 ? extension.len : 31;
	for (size_t i = 0; i < n; i++) {
		char c = extension.data[i];
		out[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
	}
	out[n] = 0;
}

hob_sha256 hob_cook_lookup(const hob_sha256 *source, const hob_ingredients *ingredients)
{
	char extension[32];
	lower_extension(ingredients->extension, extension);
	hob_sha256 settings = settings_digest(&ingredients->settings);
	hob_keyer keyer;
	hob_keyer_init(&keyer, "hob cook lookup");
	hob_key_u64(&keyer, "cook version", HOB_COOK_VERSION);
	hob_key_str(&keyer, "importer", ingredients->importer);
	hob_key_u64(&keyer, "importer version", ingredients->importer_version);
	hob_key_str(&keyer, "library", ingredients->library);
	hob_key_str(&keyer, "extension", hob_str_of(extension));
	hob_key_u64(&keyer, "profile", ingredients->profile);
	hob_key_digest(&keyer, "settings", &settings);
	hob_key_digest(&keyer, "source", source);
	return hob_keyer_finish(&keyer);
}

static int compare_deps(const void *a, const void *b)
{
	const hob_dependency *x = a, *y = b;
	size_t n = x->path.len < y->path.len ? x->path.len : y->path.len;
	int order = n > 0 ? memcmp(x->path.data, y->path.data, n) : 0;
	return order != 0 ? order : (x->path.len > y->path.len) - (x->path.len < y->path.len);
}

hob_sha256 hob_cook_key(const hob_sha256 *lookup, hob_str file_name, hob_dependency *deps, uint32_t dep_count)
{
	if (dep_count > 1)
		qsort(deps, dep_count, sizeof *deps, compare_deps);
	hob_keyer keyer;
	hob_keyer_init(&keyer, "hob cook key");
	hob_key_digest(&keyer, "lookup", lookup);
	hob_key_str(&keyer, "file name", file_name);
	for (uint32_t i = 0; i < dep_count; i++) {
		hob_key_str(&keyer, "path", deps[i].path);
		hob_key_u64(&keyer, "missing", deps[i].missing);
		if (!deps[i].missing)
			hob_key_digest(&keyer, "digest", &deps[i].digest);
	}
	return hob_keyer_finish(&keyer);
}

void hob_ingredients_print(const hob_ingredients *ingredients, hob_buf *out)
{
	char extension[32];
	lower_extension(ingredients->extension, extension);
	hob_buf_printf(out, "{\"cook_version\":%d,\"importer\":", HOB_COOK_VERSION);
	hob_buf_put_json(out, ingredients->importer);
	hob_buf_printf(out, ",\"importer_version\":%u,\"library\":", ingredients->importer_version);
	hob_buf_put_json(out, ingredients->library);
	hob_buf_put_str(out, HOB_STR(",\"extension\":"));
	hob_buf_put_json(out, hob_str_of(extension));
	hob_buf_printf(out, ",\"profile\":\"%s\",\"settings\":",
				   ingredients->profile == HOB_PROFILE_PREVIEW ? "preview" : "final");
	hob_settings_print(&ingredients->settings, out);
	hob_buf_put_str(out, HOB_STR("}"));
}

/* Quotes inside values are escaped in JSON, so these bytes can only be the member itself. */
hob_profile hob_ingredients_profile(hob_str printed)
{
	return hob_str_find(printed, HOB_STR("\"profile\":\"preview\""), 0) != SIZE_MAX ? HOB_PROFILE_PREVIEW
																					: HOB_PROFILE_FINAL;
}

hob_str hob_path_relative(hob_arena *arena, hob_str dir, hob_str target)
{
	size_t common = 0; /* bytes of the leading folders that dir and target share */
	for (size_t i = 0; i <= dir.len; i++) {
		bool dir_ends = i == dir.len || dir.data[i] == '/';
		if (dir_ends && i > 0 && i < target.len && target.data[i] == '/' &&
			memcmp(dir.data, target.data, i) == 0)
			common = i;
	}
	size_t ups = 0;
	for (size_t i = common; i < dir.len; i++)
		ups += dir.data[i] == '/' ? (i > common) : 0;
	if (dir.len > common)
		ups++;
	hob_str rest = hob_str_sub(target, common > 0 ? common + 1 : 0, target.len);
	char *out = HOB_NEW(arena, char, ups * 3 + rest.len + 1);
	if (!out)
		return (hob_str){0};
	for (size_t i = 0; i < ups; i++)
		memcpy(out + 3 * i, "../", 3);
	if (rest.len > 0)
		memcpy(out + 3 * ups, rest.data, rest.len);
	out[ups * 3 + rest.len] = 0;
	return (hob_str){out, ups * 3 + rest.len};
}
