/* protocol.h - the messages between hob and hob-worker.
 *
 * One SOCK_SEQPACKET socket per worker; each frame is a srv_frame, up to SRV_FRAME_PAYLOAD bytes and at most
 * one descriptor; a frame with more is malformed. A worker that waits for an answer sends no other request.
 * Both programs come from one build (the START frame's version is compared), so structs are sent unchanged.
 * The daemon trusts no message of a worker: results are parsed with bounds checks (result.h) and every output
 * passes its validator before it is stored.
 *
 *   hob                                   hob-worker
 *   ROOT index + directory fd (each)  -->
 *   START options + srv_gauge         -->  enters its sandbox
 *                                     <--  READY: JSON with importers and sandbox layers
 *   JOB srv_job_head and path of each
 *       of 1 to SRV_BUNDLE models     -->
 *                                     <--  DEP path (each file, before it is opened: known even if the cook
 *                                          dies); `number`: of its model in the bundle
 *                                     <--  PART_GET key, wait      (any number of times)
 *   PART 0 unknown, 1 + blob fd,
 *        2 in the making elsewhere     -->                          (never 2 with wait: then it comes late)
 *                                     <--  MEMORY size, purpose   (the daemon owns and counts memory files)
 *   MEMORY 1 + memfd, 0 refused       -->
 *                                     <--  PART_PUT key, size + memfd
 *                                     <--  EXPORT srv_exporter_ask (exporter.h)
 *   EXPORTED 1 + its result file,
 *        0 + code + the reason         -->
 *                                     <--  DONE CPU us, cook_ns, peak bytes + memfd with the result; or small
 *                                          results of several models, each a srv_done and its bytes. The
 *                                          models of a bundle are answered in order. */
#ifndef SRV_PROTOCOL_H
#define SRV_PROTOCOL_H

#include "../../core/base/base.h"
#include "../../core/cook/cook.h"
#include "../fs/fd.h"

/* glibc malloc of hob-worker: huge pages, and one heap that is trimmed only above 64 MiB of free memory;
 * larger arrays are returned at once. A cook allocates and frees arrays of megabytes; with small pages, page
 * faults take a sixth of its time. */
#define SRV_WORKER_TUNABLES                                                                                  \
	"glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=67108864:glibc.malloc.trim_threshold=67108864:"      \
	"glibc.malloc.top_pad=2097152"

typedef enum srv_frame_type {
	SRV_FRAME_ROOT = 1,
	SRV_FRAME_START,
	SRV_FRAME_READY,
	SRV_FRAME_JOB,
	SRV_FRAME_DEP,
	SRV_FRAME_PART_GET,
	SRV_FRAME_PART,
	SRV_FRAME_PART_PUT,
	SRV_FRAME_DONE,
	SRV_FRAME_EXPORT,
	SRV_FRAME_EXPORTED,
	SRV_FRAME_MEMORY
} srv_frame_type;

/* Purposes of memory files. In one job, parts may take as much as the memory limit of the process, and all
 * files together twice as much. A process whose files took more than the limit is replaced after its job. So
 * a process that keeps its files holds at most three times its limit. */
typedef enum srv_memory_use { SRV_MEMORY_PART, SRV_MEMORY_RESULT } srv_memory_use;

enum { SRV_FRAME_PAYLOAD = 65536, SRV_WORKER_SOCKET = 3, SRV_EDITOR_TEXT = 64 };

typedef struct srv_frame {
	uint32_t type, number; /* `number`: root, found, srv_memory_use, model in the bundle, CPU us of DONE */
	/* JOB: its number; DONE: cook ns, peak bytes; PART_PUT, MEMORY: size; EXPORTED: hob_err_code */
	uint64_t a, b;
	uint8_t key[32];
	uint32_t payload_size, reserved;
} srv_frame;

typedef struct srv_start {
	char version[32];
	uint64_t memory_limit; /* RLIMIT_AS; 0: none */
	uint64_t source_limit; /* bytes of one file */
	uint32_t threads;	   /* largest number of threads of a job */
	uint32_t sandbox;	   /* srv_sandbox_policy */
	uint32_t has_blender;
	char blender[SRV_EDITOR_TEXT]; /* the editor's identity, part of the cook key */
} srv_start;

/* Memory of both programs, in a sealed memory file: a worker says where its cook is without a message. Only
 * the worker writes it, so it may hold anything. */
typedef struct srv_gauge {
	_Atomic uint32_t stage; /* hob_cook_stage */
	_Atomic uint32_t model; /* the one being cooked: number of the JOB frame * SRV_BUNDLE + in the bundle */
} srv_gauge;

typedef struct srv_job_head {
	hob_settings settings;
	uint32_t profile, threads, root;
	uint32_t mapped; /* inputs may be open for writing */
	uint32_t path_size, text_size;
	/* followed by the path, then optionally by text that replaces the file */
} srv_job_head;

typedef struct srv_done {
	uint64_t cook_ns, peak_bytes, cpu_ns, size; /* followed by `size` bytes of a result */
} srv_done;

/* Exit codes of hob-worker when it cannot continue; neither is the model's fault. */
enum {
	SRV_WORKER_CUT_OFF = 3, /* the socket failed */
	SRV_WORKER_HELD_UP,		/* the kernel refuses to pass a descriptor: see srv_frame_send */
	SRV_WORKER_LACKS		/* hob-worker-lean lacks a reader: hob-worker has it */
};

/* Sends one frame; fd -1 = none. Blocking sockets block, others fail with IO (errno EAGAIN). Sending a
 * descriptor fails with errno ETOOMANYREFS while sockets of this user, in any program, carry more descriptors
 * than this process may open. */
bool srv_frame_send(int socket, const srv_frame *frame, const void *payload, int fd, hob_error *err);
/* Receives one frame into *frame and payload[SRV_FRAME_PAYLOAD]. Returns 1, 0 at the end, -1 if nothing is
 * there (EAGAIN), -2 for a malformed frame, -3 if this process has no free descriptor for the one that
 * arrived. *fd is -1 or a descriptor that now belongs to the caller. */
int srv_frame_receive(int socket, srv_frame *frame, uint8_t *payload, int *fd);

#endif
