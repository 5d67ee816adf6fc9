#include "farm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The module stays loaded: its library may have started threads or registered exit handlers. */
static const srv_farm_module *load(const char *path, hob_error *err)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const srv_farm_module *module = handle ? dlsym(handle, "srv_farm_driver") : NULL;
	if (!module) {
		const char *why = dlerror();
		hob_fail(err, CONFIG, "'%.120s' cannot be loaded: %.100s", path, why ? why : "it is not a driver");
	} else if (module->abi != SRV_FARM_ABI) {
		hob_fail(err, CONFIG, "'%.120s' is of another version of Hob: install the hob-farm of this one",
				 path);
		module = NULL;
	}
	return module;
}

const srv_farm_module *srv_farm_load(const char *name, hob_error *err)
{
	static const char *const places[] = {"%.*s/hob-farm-%s.so", "%.*s/../lib/hob/hob-farm-%s.so"};
	char program[2048], path[2304];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	program[length > 0 ? length : 0] = 0;
	const char *slash = strrchr(program, '/');
	for (size_t i = 0; i < HOB_COUNT_OF(places); i++) {
		snprintf(path, sizeof path, places[i], slash ? (int)(slash - program) : 0, program, name);
		if (access(path, R_OK) == 0)
			return load(path, err);
	}
	hob_fail(err, CONFIG, "the farm's driver for %s is not installed: install the package hob-farm", name);
	return NULL;
}
