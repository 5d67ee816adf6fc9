/* config_check.h - the checks of `hob config --check` beyond the syntax of hob.json. */
#ifndef CLI_CONFIG_CHECK_H
#define CLI_CONFIG_CHECK_H

#include "../config/config.h"

/* Prints a line on stderr for each problem: folders that are missing or given twice, addresses and
 * combinations of options that `hob serve` refuses, variables HOB_... that nothing reads. Returns their
 * number. */
uint32_t srv_cli_config_check(const srv_config *config);

#endif
