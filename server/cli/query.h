/* query.h - what commands ask a running daemon; failures are told of on stderr. */
#ifndef CLI_QUERY_H
#define CLI_QUERY_H

#include <cjson/cJSON.h>

/* Everything known about one asset, by "root/path"; NULL after a message, with the exit code in *code. */
cJSON *cli_ask_asset(const char *who, const char *url, const char *name, int *code);

#endif
