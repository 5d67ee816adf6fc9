/* control.h - what the HTTP thread may ask: the loop, for what changes something or what only it knows; the questions' thread
 * (query/questions.h), for what the view, the index and settings files tell.
 *
 * A request is a message: the HTTP thread fills it and posts it; the other thread answers on its own time by calling
 * `answer` exactly once, which only copies and wakes the HTTP thread. `answer` may be called inside `post`,
 * from any thread, and after srv_http_stop (it is dropped then): every control must be answered, also at
 * shutdown. What an answer makes visible (new outputs, a new state) must be published in the views before it
 * is given.
 *
 * Answers with status >= 400 and a body that is not empty: the body is {"code":...,"detail":...,"hint":...},
 * members optional; the HTTP side makes a problem of it. */
#ifndef SRV_CONTROL_H
#define SRV_CONTROL_H

#include "../../core/base/base.h"
#include "../../core/hash/hash.h"

#include <stdatomic.h>

typedef enum srv_control_kind {
	SRV_CONTROL_COOK, /* asset: cook again; flag force: even if nothing changed. 202 {"job":991}, 409 */
	SRV_CONTROL_WAIT, /* asset: answer when it is no longer queued or cooking, or shows its preview unless the flag
					   * force wants the final cook, or after timeout_ms. 200 */
	SRV_CONTROL_CLASSIC, /* asset: make classic.* outputs if they do not exist. 200, or 404, 422 ... */
	SRV_CONTROL_SYNC, /* answer when every change made on disk before now is cooked or failed, or timeout_ms
					   * is over; text: names of roots separated by '/', others are not waited for. 200 {"rev":4182,"failed":["art/a.glb"]}, 504 */
	SRV_CONTROL_JOBS_LIVE, /* number2: limit, asset: only of it unless empty, text: states and results separated by commas
							* (empty: all), since_ms: what is queued and running. 200 with the items, without brackets */
	SRV_CONTROL_CANCEL, /* number: a job. 202, 404, 409 */
	SRV_CONTROL_ACTION, /* digest: a cook key. 200 with its record, 404 */
	/* text: lookups, 32 bytes each; tag: epochs of the caches that the question came through, separated by ','. 200 with the
	 * records that were made for them, one a line; 508 when this cache is among those */
	SRV_CONTROL_ACTIONS,
	SRV_CONTROL_PULL, /* digest: a blob that a record from the upstream named. 200 when it is here now, 404 */
	SRV_CONTROL_ACTION_PUT, /* digest, text: a record. 201, 200 when it was there, 400, 409 */
	SRV_CONTROL_GC, /* force: only say what would go; number: bytes to trim to (0: the limit). 202 {"job":7} */
	SRV_CONTROL_VERIFY, /* force: only say what is damaged. 202 {"job":7}, 409 when one is under way */
	/* asset: of its newest job with a record; or job `number`. 200 with the SHA-256 of a tar as text, 404, 409 when an input
	 * is another one by now */
	SRV_CONTROL_BUNDLE,
	/* asset, number: pixels. 200 with the SHA-256 of a PNG as text, 202 when it is being drawn (the event "thumbnail"
	 * follows), 404 when there is none */
	SRV_CONTROL_THUMBNAIL,
	/* number: a srv_derived kind, number2: its level, digest: the blob that it is made of; or asset: the one whose GLB is
	 * wanted, or of which two cooks are compared, text and tag (a rev, a key, "latest", "previous"); 400, 410 then. Answers when it is stored. 200 with its SHA-256 as text, 404 when it cannot be made of that, 422 "cook.limit" when
	 * it would be made of too much, 503, 507 */
	SRV_CONTROL_DERIVE,
	SRV_CONTROL_ABANDONED, /* some DERIVE was marked so since the last one. 204 */
	SRV_CONTROL_JOB_LIVE, /* number: JSON of one job that is queued or runs, or of a gc or verify. 200, 404 */
	/* From here on: questions. All give 503 when too many wait, or while the index is rebuilt. */
	SRV_CONTROL_JOBS, /* as JOBS_LIVE; number: only ids below (0 = newest), tag: the items that JOBS_LIVE gave just before: how
					   * many of the limit they are, and none of them is given twice. 200 {"items":[...],"next":id or null}, those items first,
					   * then finished jobs, newest first */
	SRV_CONTROL_JOB,   /* number: JSON of one finished job. 200, 404 */
	SRV_CONTROL_TRACE, /* asset: only of it unless empty, since_ms, number2: at most so many: finished jobs as a trace of events. 200 */
	SRV_CONTROL_HISTORY, /* asset, number, number2 as for JOBS: its finished jobs with what they made. 200 */
	SRV_CONTROL_LOG,	 /* asset, or job `number` when it is not 0: text of the log. 200, 404 */
	SRV_CONTROL_WHY, /* asset: JSON explanation of the last cook; number: against what was served at that rev
					  * (0: the cook before). 200, 404, 410 */
	SRV_CONTROL_WHAT_IF, /* text: "root/path" of a file: what would be cooked again if it changed. 200, 400, 404 */
	SRV_CONTROL_MANIFEST, /* number: a rev (0 = newest), asset: only what is called so or lies below. 200, 404, 410 */
	SRV_CONTROL_SETTINGS, /* asset: effective settings, where each comes from, the sidecar. 200, sets etag */
	SRV_CONTROL_SETTINGS_PATCH, /* asset, text: a merge patch of the sidecar, tag: If-Match. 200, 412, 422; sets etag */
	SRV_CONTROL_SETTINGS_DELETE, /* asset, tag. 204, 412 */
	SRV_CONTROL_KINDS,
	SRV_CONTROL_FIRST_QUESTION = SRV_CONTROL_JOBS
} srv_control_kind;

typedef struct srv_control {
	srv_control_kind kind;
	hob_str asset; /* "root/path"; this and the next two are owned by the poster until answered */
	hob_str text, tag;
	uint64_t number, number2; /* job id, cursor, limit by kind */
	int64_t since_ms;		  /* Unix time, 0 = ever */
	hob_sha256 digest;
	bool force;
	uint32_t timeout_ms;
	void *user;
	uint64_t client;	   /* of DERIVE: who asks, for turns; 0: nobody waits for it */
	atomic_bool abandoned; /* of DERIVE: the client has gone. It is answered all the same */
	char etag[HOB_SHA256_TEXT +
			  3]; /* set before the answer where the kind says so: an entity tag with its quotes */
	/* status: an HTTP status; body: JSON (or text for LOG), valid during the call only. */
	void (*answer)(struct srv_control *control, int status, hob_str body);
} srv_control;

typedef struct srv_control_port {
	void *user;
	void (*post)(void *user, srv_control *control); /* any thread */
} srv_control_port;

#endif
