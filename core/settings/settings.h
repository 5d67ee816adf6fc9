/* settings.h - the cook settings of schema/settings.def as a struct, and their parser, printer and hash. */
#ifndef HOB_SETTINGS_H
#define HOB_SETTINGS_H

#include "../base/base.h"
#include "rule_settings.h"

/* Preview: the same outputs as fast as possible: one level of detail, triangles in a quick order,
 * uncompressed textures. For clients that show something while the final cook runs. */
typedef enum hob_profile { HOB_PROFILE_FINAL, HOB_PROFILE_PREVIEW } hob_profile;

typedef float hob_setting_f32;
typedef uint32_t hob_setting_u32, hob_setting_flag, hob_setting_choice;
typedef char hob_setting_text[128]; /* unused bytes are 0 */

enum {
	HOB_UNIT_FILE,
	HOB_UNIT_MM,
	HOB_UNIT_CM,
	HOB_UNIT_DM,
	HOB_UNIT_M,
	HOB_UNIT_KM,
	HOB_UNIT_IN,
	HOB_UNIT_FT,
	HOB_UNIT_YD
};
enum { HOB_VERTICES_FLOAT32, HOB_VERTICES_QUANTIZED, HOB_VERTICES_QUANTIZED16 };
enum { HOB_UNITS_METRES, HOB_UNITS_SOURCE };
enum { HOB_NORMALS_FLAT, HOB_NORMALS_SMOOTH, HOB_NORMALS_KEEP };
enum { HOB_BESIDE_EXPORT, HOB_BESIDE_BLEND };
enum { HOB_ENCODE_RAW, HOB_ENCODE_MESHOPT };
enum { HOB_TEXTURE_RGBA8, HOB_TEXTURE_BC, HOB_TEXTURE_ASTC, HOB_TEXTURE_SOURCE, HOB_TEXTURE_PNG };
enum { HOB_BASIS_TRANSCODE, HOB_BASIS_KEEP };
enum { HOB_SIDES_OWN, HOB_SIDES_FOURS };
enum { HOB_QUALITY_FAST, HOB_QUALITY_GOOD, HOB_QUALITY_BEST, HOB_QUALITY_SMALL };

typedef struct hob_settings {
#define SETTING(field, type, path, value, min, max, doc) hob_setting_##type field;
#define SETTING_CHOICE(field, index, name)
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
} hob_settings;

void hob_settings_init(hob_settings *settings); /* defaults */

/* Overlays the keys of a JSON object ("{\"lods\":{\"max\":3}}") on *settings. Keys that begin with "//" are
 * comments; "calculate_LODs" is the reference converter's word for lods.max > 1. Unknown keys, keys that are
 * given twice, wrong types and values out of range are CONFIG errors that name the key, `origin` (for
 * messages) and the nearest known key; *settings is untouched then. */
bool hob_settings_overlay(hob_settings *settings, hob_str json, hob_str origin,
						  hob_error *err) HOB_MUST_CHECK;
/* False, with an error, if an earlier member of the object has the item's key. */
bool hob_settings_first_of_name(const struct cJSON *object, const struct cJSON *item, hob_str origin,
								hob_error *err) HOB_MUST_CHECK;

/* The setting or group whose full name or last part is `name`: "lods" for "lods", "texture.max_size" for
 * "max_size"; empty: there is none. For messages about a misplaced name. */
hob_str hob_settings_place(hob_str name);

/* Appends the JSON Schema of a settings object. */
void hob_settings_schema(hob_buf *out);

/* Appends the settings as a JSON object, nested as in the sidecar, every key present. */
void hob_settings_print(const hob_settings *settings, hob_buf *out);
/* The settings as a cJSON tree, which the caller deletes; NULL without memory. */
struct cJSON *hob_settings_json(const hob_settings *settings);

#endif
