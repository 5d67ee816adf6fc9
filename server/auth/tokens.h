/* tokens.h - access tokens: 256 random bits that a program presents. Only their SHA-256 is kept.
 *
 * The file has one line per token, "NAME SCOPE SHA256 CREATED", and comments that begin with '#'. SCOPE is
 * ref:ROOT/GLOB, read, mirror:ROOT[/FOLDER] or write. The file is replaced as a whole (temporary file and
 * rename), under a lock, so readers never see half of it. A fast hash is enough, because tokens are random:
 * there is no dictionary to try.
 *
 * Errors: IO (the file cannot be read or written), CONFIG (an invalid line, a file that others may write),
 * USAGE (an invalid name, or one in use), NOT_FOUND. */
#ifndef SRV_TOKENS_H
#define SRV_TOKENS_H

#include "../../core/base/base.h"
#include "../../core/hash/hash.h"

/* Each scope includes the one before. */
typedef enum srv_scope {
	SRV_SCOPE_NONE,
	SRV_SCOPE_REF, /* reads commits that a branch or tag of the glob leads to */
	SRV_SCOPE_READ,
	SRV_SCOPE_MIRROR,
	SRV_SCOPE_WRITE
} srv_scope;

enum { SRV_TOKEN_NAME = 63, SRV_TOKEN_TEXT = 47, SRV_TOKEN_PLACE = 255 };

typedef struct srv_token {
	char name[SRV_TOKEN_NAME + 1]; /* letters, digits, '.', '_', '-' */
	srv_scope scope;
	char place[SRV_TOKEN_PLACE + 1]; /* MIRROR: "ROOT" or "ROOT/FOLDER"; REF: "ROOT/GLOB"; without spaces */
	hob_sha256 digest;
	int64_t created_s; /* Unix time */
} srv_token;

typedef struct srv_tokens {
	srv_token *items;
	uint32_t count;
} srv_tokens;

/* "ref", "read", "mirror", "write"; "none". */
const char *srv_scope_name(srv_scope scope);

/* A missing file is an IO error. On failure *out is empty. */
bool srv_tokens_read(const char *path, srv_tokens *out, hob_error *err) HOB_MUST_CHECK;
void srv_tokens_release(srv_tokens *tokens);
/* The scope of the token with this SHA-256; NONE if there is none. Takes the same time for every token. */
srv_scope srv_tokens_scope_of(const srv_tokens *tokens, const hob_sha256 *digest);

/* The place to which the token with this SHA-256 is limited; empty for READ and WRITE. */
hob_str srv_tokens_place(const srv_tokens *tokens, const hob_sha256 *digest);

/* Adds a token to the file, which is created with mode 0600 if missing. `text` gets the token with a NUL; it
 * is stored nowhere else. place: for the scopes MIRROR and REF, else empty. */
bool srv_token_create(const char *path, hob_str name, srv_scope scope, hob_str place,
					  char text[SRV_TOKEN_TEXT + 1], hob_error *err) HOB_MUST_CHECK;
bool srv_token_revoke(const char *path, hob_str name, hob_error *err) HOB_MUST_CHECK;

#endif
