/* git_reader.h - a hob-git or hob-lfs process, asked over its socket. One thread owns a reader. A process
 * that ends, or says nothing for SRV_GIT_SILENT_S, is replaced at the next question. An object that takes
 * too long to unpack ends one process: the next ones do not read it.
 *
 * Errors: NOT_FOUND with the program's words; IO for a process that ended or cannot be started, or a
 * repository that is none. */
#ifndef SRV_GIT_READER_H
#define SRV_GIT_READER_H

#include "read/git_object.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { SRV_GIT_SILENT_S = 120, SRV_GIT_PATH = 4096 };

typedef struct srv_git_reader {
	const char *program;
	char repository[SRV_GIT_PATH]; /* the folder with HEAD, objects and refs; the address of the server */
	const char *token;			   /* hob-lfs: the file, or "-" */
	int sandbox;				   /* a srv_sandbox_policy */
	const atomic_bool *stop;	   /* ends a wait */
	int socket;					   /* -1: no process */
	pid_t pid;
	srv_git_hex slow[SRV_GIT_SLOW_MAX]; /* a ring */
	uint32_t slow_count;
} srv_git_reader;

/* Finds the repository at `path`, which may be a working copy; starts no process. */
bool srv_git_reader_open(srv_git_reader *reader, const char *path, int sandbox, const atomic_bool *stop,
						 hob_error *err) HOB_MUST_CHECK;
void srv_git_reader_close(srv_git_reader *reader);
/* hob-lfs for a server; starts no process. */
void srv_git_server_open(srv_git_reader *reader, const char *url, const char *token_file, int sandbox,
						 const atomic_bool *stop);
/* The two halves of srv_git_ask; fd is given to the process, unless it is -1. */
bool srv_git_send(srv_git_reader *reader, int fd, const hob_buf *line, hob_error *err) HOB_MUST_CHECK;
bool srv_git_receive(srv_git_reader *reader, hob_buf *out, hob_error *err) HOB_MUST_CHECK;
/* Asks a question of child/git_main.c and appends the answer. */
bool srv_git_ask(srv_git_reader *reader, hob_buf *out, hob_error *err, const char *fmt, ...)
	HOB_PRINTF(4, 5) HOB_MUST_CHECK;
/* Writes a file to fd. *pointer: what was written is an LFS pointer, because the large file is not there. */
bool srv_git_fetch(srv_git_reader *reader, const srv_git_id *id, int fd, bool *pointer,
				   hob_error *err) HOB_MUST_CHECK;

#endif
