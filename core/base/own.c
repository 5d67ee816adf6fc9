#include "base.h"

#include <cjson/cJSON.h>

void hob_own_json_end(void *pointer)
{
	cJSON_Delete(*(cJSON **)pointer);
}
