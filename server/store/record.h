/* record.h - the record of a cook as text: the same bytes in the cache folder, in /records, in bundles and
 * between machines.
 *
 *   {"hob_result":1,"key":H,"lookup":H,"source":H,"file_name":S|null,"inputs":{..}|null,
 *   "deps":[{"path":S,"sha256":H|null},..],"outputs":[{"name":S,"sha256":H,"size":N},..],"stats":{..}|null,
 *   "warnings":N,"error":{..}|null,"result":H,
 *   "run":{"cooked_at_ms":N,"cook_ns":N,"peak_bytes":N,"outputs":[..]},"check":H}
 *
 * One line (wrapped here) that ends in a line feed: no spaces, the members in this order. H: 64 lower-case
 * hex digits. N: a decimal number below 2^64. S: a JSON string that escapes `"`, `\` and bytes below 0x20 and
 * 0x7F (as \u00xx); text that is not UTF-8 or contains a zero byte is {"hex":"..."}. deps are sorted by path
 * and outputs by name, bytewise.
 *
 * inputs, stats and error are JSON objects copied verbatim: the output of hob_ingredients_print, the counts,
 * and the error as in the API, with all its members (such as the cause of a worker's death).
 *
 * `result` is the SHA-256 of all bytes before `,"result"`. It is the same on every machine that cooks these
 * inputs, and two records of one key conflict only if it differs. `run` holds values that may differ: times,
 * the report, and later derived outputs (classic.*). `check` is the SHA-256 of all bytes before `,"check"`.
 * No record names a host, a root or an absolute path.
 *
 * Pure functions on memory; any thread. */
#ifndef SRV_RECORD_H
#define SRV_RECORD_H

#include "store.h"

/* Appends the record. The order of deps and outputs in `record` does not matter. Fails only without memory,
 * which the buffer records. */
void srv_record_print(const srv_record *record, hob_buf *out);
/* Strict: any text that srv_record_print would not write is CORRUPT, and the error names the place. *out
 * points into `arena`. The caller must check that key, lookup and source belong together (srv_kept_key). */
bool srv_record_parse(hob_str text, hob_arena *arena, srv_record *out, hob_error *err) HOB_MUST_CHECK;
/* Whether two cooks had the same result, without comparing `run`. */
bool srv_record_same(const srv_record *a, const srv_record *b);
/* The outputs that make up a model, in the order meshes, materials, scene, animations; the last is zero if it
 * has none. False without one of the others. */
bool srv_record_model(const srv_record *record, hob_sha256 out[4]);

#endif
