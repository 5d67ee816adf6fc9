/* question.h - shared by the files that answer questions. */
#ifndef SRV_QUERY_QUESTION_H
#define SRV_QUERY_QUESTION_H

#include "../fs/fd.h"
#include "../../core/base/array.h"
#include "../../core/hash/hex.h"
#include "../store/reader.h"
#include "questions.h"

typedef struct question {
	srv_control *control;
	const srv_view *view;
	srv_store *store;  /* for blobs and the epoch */
	srv_store *reader; /* for rows; a read transaction is open */
	hob_buf body;
	int64_t *commits;	/* by root of the view: Unix time in ms of its last commit, 0: none; or NULL */
	hob_buf uncompared; /* answer of CHANGES that asks for a comparison; empty: it needs none */
} question;

/* Each fills `body` and returns the HTTP status. */
int srv_query_why(question *q);
int srv_query_what_if(question *q);
int srv_query_manifest(question *q);
int srv_query_jobs(question *q);
int srv_query_job(question *q); /* or its log */
int srv_query_trace(question *q);
int srv_query_history(question *q);
int srv_query_changes(question *q);
int srv_query_settings(question *q); /* reads and changes settings */

/* Makes the body of a refusal and returns `status`. */
int srv_query_refuse(question *q, int status, const char *code, const char *detail);
/* Refuses with the text of *err, because the index could not be read. */
int srv_query_cannot_read(question *q, const hob_error *err);
/* The asset named by control->asset; NULL: return *status, a 404. */
const srv_view_asset *srv_query_asset(question *q, int *status);
/* The root with this name. */
const srv_view_root *srv_query_root(const question *q, hob_str name);

/* The origin of each setting of the asset: {"lods.max":"props/cook.json"}. Appends nothing if it is
 * unknown. */
void srv_query_put_origins(const question *q, const srv_view_asset *asset, hob_buf *out);

#endif
