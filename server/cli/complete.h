/* complete.h - the possible next words of a command line, for the scripts of `hob completion`.
 *
 * `hob __complete WORD...` prints one candidate a line for the last WORD, which may be empty: "candidate", or
 * "candidate<TAB>what it is". ":files" and ":folders" ask the shell to complete files or folders. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "cli.h"

/* `argv`: the words after `hob __complete`. Always returns EXIT_GOOD. */
int srv_cli_complete(const cli_command *const *commands, size_t command_count, int argc, char **argv);

#endif
