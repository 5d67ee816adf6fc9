/* setting_origins.h - records which file or option each cook setting of a model comes from. */
#ifndef CLI_SETTING_ORIGINS_H
#define CLI_SETTING_ORIGINS_H

#include "../../core/settings/settings.h"

enum {
#define SETTING(field, type, path, value, min, max, doc) SETTING_ORIGIN_##field,
#define SETTING_CHOICE(field, index, name)
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
	SETTING_ORIGINS
};

typedef struct setting_origins {
	hob_settings settings; /* settings after the layers added so far */
	char *names[SETTING_ORIGINS];
} setting_origins;

/* Starts with the built-in values, which have no origin. */
void srv_setting_origins_init(setting_origins *origins);
/* Adds a layer called `name`: settings that differ from the previous layer's get it as origin. */
void srv_setting_origins_layer(setting_origins *origins, const hob_settings *after, const char *name);
/* {"lods.max":{"value":3,"origin":"props/cook.json"}}, the settings that some layer changed; for free(), NULL
 * without memory. */
char *srv_setting_origins_text(const setting_origins *origins);
void srv_setting_origins_release(setting_origins *origins);

#endif
