#include "live.h"

#include "../settings/chain.h"

/* Adds a layer; leaves out an invalid one, which the cook of the saved model reports. */
static bool take_layer(void *user, const srv_layer *layer, hob_error *err)
{
	hob_error wrong;
	if (!layer->exists || hob_settings_overlay(user, layer->text, layer->path, &wrong) ||
		wrong.code == HOB_ERR_CONFIG)
		return true;
	*err = wrong;
	return false;
}

bool srv_live_settings(int root_fd, const hob_settings *own, hob_str path, hob_buf *out, hob_error *err)
{
	hob_settings settings = *own, usual;
	if (!srv_settings_walk(root_fd, path, take_layer, &settings, err))
		return false;
	hob_settings_init(&usual);
	settings.up_axis = usual.up_axis;
	settings.unit = usual.unit;
	hob_settings_print(&settings, out);
	return !out->failed || hob_fail(err, MEMORY, "no memory left for the settings of a live model");
}
