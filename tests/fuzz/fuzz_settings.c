/* Cook settings from sidecars, hob.json and PATCH: accepted settings print as settings with the same meaning.
 *
 * Links: hob_settings
 * Run:   fuzz_settings tests/fuzz/corpus/settings */
#include "core/settings/settings.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hob_settings settings, again;
	hob_error err;
	hob_settings_init(&settings);
	hob_settings_init(&again);
	if (!hob_settings_overlay(&settings, (hob_str){(const char *)data, size}, HOB_STR("cook.json"), &err)) {
		assert(memcmp(&settings, &again, sizeof again) == 0 && err.context[0]);
		return 0;
	}
	hob_buf text = {0}, twice = {0};
	hob_settings_print(&settings, &text);
	assert(hob_settings_overlay(&again, hob_buf_str(&text), HOB_STR("printed"), &err));
	hob_settings_print(&again, &twice);
	assert(hob_str_equal(hob_buf_str(&text), hob_buf_str(&twice)));
	hob_buf_release(&text);
	hob_buf_release(&twice);
	return 0;
}
