/* farm_tools.h - shared by the subcommands of `hob farm`. */
#ifndef CLI_FARM_TOOLS_H
#define CLI_FARM_TOOLS_H

#include "serve_config.h"

typedef struct farm_tools {
	srv_config config;
	serve_upstream upstream;
	srv_farm *farm;
	void *blobs; /* a handle of srv_farm_blobs_of(farm) */
	uint32_t days;
	bool dry, json, adopt;
} farm_tools;

/* Prints the reason; returns the exit code. */
int srv_farm_tools_fail(const farm_tools *tools, const srv_farm_why *why);
/* farm_tools.c; both walk every record and every blob. */
int srv_farm_tools_gc(farm_tools *tools);
int srv_farm_tools_verify(farm_tools *tools);
/* farm_work.c; runs until SIGINT or SIGTERM. */
int srv_farm_tools_work(farm_tools *tools);

#endif
