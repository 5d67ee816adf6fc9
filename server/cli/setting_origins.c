#include "setting_origins.h"

#include "../settings/sidecar.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

void srv_setting_origins_init(setting_origins *origins)
{
	*origins = (setting_origins){0};
	hob_settings_init(&origins->settings);
}

static void take(setting_origins *origins, uint32_t setting, const char *name)
{
	free(origins->names[setting]);
	origins->names[setting] = strdup(name);
}

void srv_setting_origins_layer(setting_origins *origins, const hob_settings *after, const char *name)
{
	const hob_settings *before = &origins->settings;
#define SETTING(field, type, path, value, min, max, doc)                                                     \
	if (memcmp(&before->field, &after->field, sizeof before->field) != 0)                                    \
		take(origins, SETTING_ORIGIN_##field, name);
#define SETTING_CHOICE(field, index, name)
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
	origins->settings = *after;
}

char *srv_setting_origins_text(const setting_origins *origins)
{
	static const char *const paths[] = {
#define SETTING(field, type, path, value, min, max, doc) path,
#define SETTING_CHOICE(field, index, name)
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
	};
	cJSON *settings = hob_settings_json(&origins->settings), *out = cJSON_CreateObject();
	for (uint32_t i = 0; i < SETTING_ORIGINS; i++) {
		const cJSON *value = origins->names[i] ? srv_settings_value(settings, paths[i]) : NULL;
		if (!value)
			continue;
		cJSON *item = cJSON_AddObjectToObject(out, paths[i]);
		cJSON_AddItemToObject(item, "value", cJSON_Duplicate(value, true));
		cJSON_AddStringToObject(item, "origin", origins->names[i]);
	}
	char *text = cJSON_PrintUnformatted(out);
	cJSON_Delete(settings);
	cJSON_Delete(out);
	return text;
}

void srv_setting_origins_release(setting_origins *origins)
{
	for (uint32_t i = 0; i < SETTING_ORIGINS; i++)
		free(origins->names[i]);
	*origins = (setting_origins){0};
}
