/* setting_origins.h - which file or option each cook setting of a model comes from. */
#ifndef CLI_SETTING_ORIGINS_H
#define CLI_SETTING_ORIGINS_H

#include "../../core/recipe/settings.h"

enum {
#define SETTING(field, type, path, value, min, max, doc) SETTING_ORIGIN_##field,
#define SETTING_CHOICE(field, index, name)
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
	SETTING_ORIGINS
};

typedef struct setting_origins {
	hob_settings settings; /* as the layers so far have them */
	char *names[SETTING_ORIGINS];
} setting_origins;

/* Built-in values, which come from nowhere. */
void srv_setting_origins_init(setting_origins *origins);
/* What a layer called `name` made of them: what is other than before comes from it. */
void srv_setting_origins_layer(setting_origins *origins, const hob_settings *after, const char *name);
/* {"lods.max":{"value":3,"origin":"props/cook.json"}}: what some layer changed; for free(), NULL without memory. */
char *srv_setting_origins_text(const setting_origins *origins);
void srv_setting_origins_release(setting_origins *origins);

#endif
