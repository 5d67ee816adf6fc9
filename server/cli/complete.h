/* complete.h - what may stand next on a command line: behind the scripts of `hob completion`.
 *
 * `hob __complete WORD...` prints one candidate a line for the last WORD, which may be empty: "candidate", or
 * "candidate<TAB>what it is". The lines ":files" and ":folders" ask the shell for its own. Names of assets and outputs come from
 * the daemon of --url or HOB_URL, those that come within a moment; without a daemon there are none. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "cli.h"

/* argv: the words behind `hob __complete`. Always EXIT_GOOD, and never late. */
int srv_cli_complete(const cli_command *const *commands, size_t command_count, int argc, char **argv);

#endif
