/* control.h - requests from the HTTP thread to other threads. The loop answers questions about its own state,
 * and makes changes. The query thread (query/questions.h) answers from the view, the index and settings
 * files.
 *
 * A request is a message: the HTTP thread fills it in and posts it; the other thread later calls `answer`
 * exactly once, which only copies and wakes the HTTP thread. `answer` may be called inside `post`, from any
 * thread, and after srv_http_stop (the answer is then dropped): every control must be answered, also at
 * shutdown. If an answer refers to new outputs or a new state, publish these in the views first.
 *
 * An answer with status >= 400 may have a body: {"code":...,"detail":...,"hint":...}, members optional; the
 * HTTP side turns it into a problem. */
#ifndef SRV_CONTROL_H
#define SRV_CONTROL_H

#include "../../core/base/base.h"
#include "../../core/hash/hash.h"

#include <stdatomic.h>

/* The root NAME~commits has a folder for each commit of the git repository NAME that is kept. */
#define SRV_GIT_COMMITS "~commits"

struct srv_view;

typedef enum srv_control_kind {
	SRV_CONTROL_COOK, /* asset: cook again; force: even if nothing changed. 202 {"job":991}, 409 */
	/* asset: answers once it is no longer queued or cooking, or its preview is shown (unless `force` asks for
	 * the final cook), or after timeout_ms. 200 */
	SRV_CONTROL_WAIT,
	SRV_CONTROL_CLASSIC, /* asset: make classic.* outputs if they do not exist. 200, or 404, 422 ... */
	/* Answers once every change made on disk before now is cooked or failed, or after timeout_ms; text: names
	 * of the roots to wait for, separated by '/' (empty: all). 200 {"rev":4182,"failed":["art/a.glb"]},
	 * 504 */
	SRV_CONTROL_SYNC,
	/* Queued and running jobs. number2: limit, asset: only its jobs unless empty, text: states and results
	 * separated by commas (empty: all), since_ms: only later ones. 200 with the items, without brackets */
	SRV_CONTROL_JOBS_LIVE,
	SRV_CONTROL_CANCEL, /* number: a job. 202, 404, 409 */
	SRV_CONTROL_RECORD, /* digest: a cook key. 200 with its record, 404 */
	/* text: lookups, 32 bytes each; tag: epochs of the caches that forwarded the question, separated by ','.
	 * 200 with the records, one per line; 508 if this cache is among the epochs */
	SRV_CONTROL_RECORDS,
	SRV_CONTROL_PULL,		/* digest: a blob named by an upstream's record. 200 once it is here, 404 */
	SRV_CONTROL_RECORD_PUT, /* digest, text: a record. 201, 200 if it existed, 400, 409 */
	/* force: only report what would be deleted; number: size in bytes to trim to (0: the limit). 202
	 * {"job":7} */
	SRV_CONTROL_GC,
	SRV_CONTROL_VERIFY, /* force: only report what is damaged. 202 {"job":7}, 409 if one is in progress */
	/* asset: its newest job with a record; or number: that job. 200 with the SHA-256 of a tar as text, 404,
	 * 409 if an input has changed */
	SRV_CONTROL_BUNDLE,
	/* asset, number: pixels. 200 with the SHA-256 of a PNG as text, 202 while it is being drawn (the event
	 * "thumbnail" follows), 404 if there is none */
	SRV_CONTROL_THUMBNAIL,
	/* number: a srv_derived kind, number2: its level, digest: the source blob. Or asset: the source of a GLB,
	 * or of two cooks to compare; then text and tag are a revision, a key, "latest" or "previous" (400, 410).
	 * Answers once the output is stored: 200 with its SHA-256 as text, 404 if the source does not allow it,
	 * 422 "cook.limit" if the source is too large, 503, 507 */
	SRV_CONTROL_DERIVE,
	SRV_CONTROL_ABANDONED, /* some DERIVE has been marked as abandoned. 204 */
	SRV_CONTROL_JOB_LIVE,  /* number: JSON of one queued or running job, or of a gc or verify. 200, 404 */
	/* From here on: questions. All give 503 if too many wait, or while the index is rebuilt. */
	/* Like JOBS_LIVE, then finished jobs, newest first. number: only jobs with a lower id; 0: all.
	 * tag: the items of JOBS_LIVE, which are returned first, count towards the limit and are not repeated.
	 * 200 {"items":[...],"next":id or null} */
	SRV_CONTROL_JOBS,
	SRV_CONTROL_JOB, /* number: JSON of one finished job. 200, 404 */
	/* Finished jobs as trace events. asset: only its jobs unless empty, since_ms, number2: limit. 200 */
	SRV_CONTROL_TRACE,
	SRV_CONTROL_HISTORY, /* asset, number, number2 as for JOBS: finished jobs with their outputs. 200 */
	/* as HISTORY, of all assets, in words; force: only what became worse; tag, unless empty: only since the
	 * last commit of each root. 200, or 202 "JOB FROM TO ASSET" if the two cooks FROM and TO of a job below
	 * `below` are not compared yet (DERIVE) */
	SRV_CONTROL_CHANGES,
	SRV_CONTROL_LOG, /* asset, or if not 0 number: a job: text of the log. 200, 404 */
	/* asset: JSON explanation of the last cook; number: the revision to compare it with (0: the previous
	 * cook). 200, 404, 410 */
	SRV_CONTROL_WHY,
	/* text: "root/path" of a file: the assets that would be cooked again if it changed. 200, 400, 404 */
	SRV_CONTROL_WHAT_IF,
	/* number: a revision (0: newest), asset: it, or those below it; force: with cook keys. 200, 404, 410 */
	SRV_CONTROL_MANIFEST,
	/* asset, file: effective settings, the origin of each, and the file's text. 200, 404, sets etag */
	SRV_CONTROL_SETTINGS,
	/* asset, file, text: a merge patch, tag: If-Match. 200, 404, 412, 422; sets etag */
	SRV_CONTROL_SETTINGS_PATCH,
	SRV_CONTROL_SETTINGS_DELETE, /* asset, file, tag. 204, 404, 412 */
	/* list, query: a list made from the view alone. 200 */
	SRV_CONTROL_LIST,
	SRV_CONTROL_MIRROR, /* for the mirror roots: server/mirror/mirror.h */
	SRV_CONTROL_GIT,	/* for the git repositories: server/git/git_sources.h */
	SRV_CONTROL_KINDS,
	SRV_CONTROL_FIRST_QUESTION = SRV_CONTROL_JOBS
} srv_control_kind;

typedef struct srv_control {
	srv_control_kind kind;
	hob_str asset; /* "root/path"; the poster owns the texts until the answer */
	hob_str text, tag,
		file; /* SETTINGS: below the root; empty: the sidecar. A picture of two cooks: a clip */
	uint64_t number, number2; /* job id, cursor or limit, depending on the kind */
	uint64_t below;			  /* of CHANGES; 0: no job */
	int64_t since_ms;		  /* Unix time, 0: no limit */
	hob_sha256 digest;
	bool force;
	uint32_t timeout_ms;
	/* LIST: fills the body; `query` is the poster's, which frees it by free() after the answer */
	void (*list)(void *query, const struct srv_view *view, hob_buf *body);
	void *query;
	void *user;
	uint64_t client;	   /* DERIVE: the client that waits, so that clients take turns; 0: none waits */
	atomic_bool abandoned; /* DERIVE: the client has gone; `answer` is called all the same */
	char etag[HOB_SHA256_TEXT +
			  3]; /* set before the answer if the kind says so: an entity tag with its quotes */
	/* status: an HTTP status; body: JSON (or text for LOG), valid only during the call. */
	void (*answer)(struct srv_control *control, int status, hob_str body);
} srv_control;

typedef struct srv_control_port {
	void *user;
	void (*post)(void *user, srv_control *control); /* any thread */
} srv_control_port;

#endif
