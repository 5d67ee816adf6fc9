#include "exchange.h"

#include "../store/record.h"

#include <unistd.h>

srv_exchange_end srv_exchange_end_of(srv_farm_end end, const srv_farm_why *why, hob_error *error)
{
	static const srv_exchange_end ends[] = {
		[SRV_FARM_OK] = SRV_EXCHANGE_OK,		  [SRV_FARM_NONE] = SRV_EXCHANGE_NONE,
		[SRV_FARM_DOWN] = SRV_EXCHANGE_DOWN,	  [SRV_FARM_FULL] = SRV_EXCHANGE_FULL,
		[SRV_FARM_BARRED] = SRV_EXCHANGE_BARRED,  [SRV_FARM_READ_ONLY] = SRV_EXCHANGE_READ_ONLY,
		[SRV_FARM_REFUSED] = SRV_EXCHANGE_REFUSED};
	if (end != SRV_FARM_OK && end != SRV_FARM_NONE)
		(void)hob_fail(error, IO, "%s", why->text);
	return ends[end];
}

static void release(srv_exchange *x)
{
	srv_farm_blobs_of(x->farm)->close(x->blobs);
	x->blobs = NULL;
}

static void cut(srv_exchange *x)
{
	srv_farm_blobs_of(x->farm)->cut(x->blobs);
}

static srv_exchange_end find(srv_exchange *x, const hob_sha256 *lookups, uint32_t count, hob_str via,
							 hob_buf *out)
{
	srv_farm_why why = {""};
	(void)via;
	x->bytes = 0;
	srv_farm_end end = srv_farm_find(x->farm, lookups, count, out, &why);
	return srv_exchange_end_of(end == SRV_FARM_READ_ONLY ? SRV_FARM_BARRED : end, &why, &x->error);
}

static bool drop_piece(void *user, const void *data, size_t size)
{
	(void)user;
	(void)data;
	(void)size;
	return true;
}

static srv_exchange_end probe(srv_exchange *x)
{
	srv_farm_why why = {""};
	srv_farm_end end = srv_farm_probe(x->farm, &why);
	/* Any blob will do: "not found" is also an answer. HEAD answers carry no reason. */
	if (end == SRV_FARM_OK) {
		char name[SRV_FARM_BLOB_NAME];
		srv_farm_blob_name(&(hob_sha256){{0}}, name);
		end = srv_farm_blobs_of(x->farm)->get(x->blobs, name, drop_piece, NULL, &why);
	}
	return srv_exchange_end_of(end == SRV_FARM_NONE ? SRV_FARM_OK : end, &why, &x->error);
}

/* ---- fetching */

typedef struct reception {
	srv_exchange *x;
	srv_blob_writer *writer;
	uint64_t size, total;
	bool written;
} reception;

static bool take_piece(void *user, const void *data, size_t size)
{
	reception *r = user;
	r->total += size;
	if (r->total > r->size)
		return false;
	r->written = srv_blob_write(r->writer, (hob_bytes){data, size}, &r->x->error);
	return r->written;
}

/* Fetches a blob once. size UINT64_MAX: any up to `most`. got: bytes received. wrong: in digest or number. */
static srv_exchange_end fetch_once(srv_exchange *x, const hob_sha256 *digest, uint64_t size, uint64_t most,
								   const char *name, uint64_t *got, bool *wrong)
{
	srv_farm_why why = {""};
	reception r = {.x = x, .size = size == UINT64_MAX ? most : size, .written = true};
	*wrong = false;
	if (!srv_blob_begin(x->store, digest, &r.writer, &x->error))
		return SRV_EXCHANGE_HERE;
	srv_farm_end end = srv_farm_blobs_of(x->farm)->get(x->blobs, name, take_piece, &r, &why);
	x->bytes += r.total;
	*got = r.total;
	if (end == SRV_FARM_OK && (size == UINT64_MAX || r.total == size)) {
		if (srv_blob_finish(r.writer, &x->error))
			return SRV_EXCHANGE_OK;
		*wrong = x->error.code == HOB_ERR_CORRUPT;
		return SRV_EXCHANGE_HERE;
	}
	srv_blob_abort(r.writer);
	if (!r.written)
		return SRV_EXCHANGE_HERE;
	*wrong = end == SRV_FARM_OK || r.total > r.size;
	if (end == SRV_FARM_NONE) {
		(void)hob_fail(&x->error, NOT_FOUND, "the farm's record names a blob that is not there: '%.90s'",
					   name);
		return SRV_EXCHANGE_REFUSED;
	}
	return srv_exchange_end_of(end, &why, &x->error);
}

/* Fetches a blob. If its bytes do not match its name, deletes it, if this machine may: every machine would
 * refuse it. Only after a second fetch, without the record's size: another thread or machine may have
 * repaired it meanwhile, a transfer can be damaged, and the record itself can be wrong. */
static srv_exchange_end fetch_blob(srv_exchange *x, const hob_sha256 *digest, uint64_t size)
{
	char name[SRV_FARM_BLOB_NAME];
	srv_farm_why why;
	uint64_t got, least = 64 << 20, most = (uint64_t)SRV_EXCHANGE_BLOBS_MAX_GIB << 30;
	bool wrong;
	srv_farm_blob_name(digest, name);
	srv_exchange_end end = fetch_once(x, digest, size, most, name, &got, &wrong);
	if (!wrong)
		return end;
	/* An endless body must not cost much. */
	if (size != UINT64_MAX)
		most = size > least ? size : least;
	end = fetch_once(x, digest, UINT64_MAX, most, name, &got, &wrong);
	if (wrong) {
		(void)srv_farm_blobs_of(x->farm)->remove(x->blobs, name, &why);
		(void)hob_fail(&x->error, CORRUPT, "the farm has other bytes than those of '%.90s'", name);
		return SRV_EXCHANGE_REFUSED;
	}
	if (end != SRV_EXCHANGE_OK || size == UINT64_MAX || got == size)
		return end;
	(void)hob_fail(&x->error, CORRUPT, "the farm's record says another size than '%.90s' has", name);
	return SRV_EXCHANGE_REFUSED;
}

/* ---- giving */

static srv_exchange_end give_blob(srv_exchange *x, const srv_record_output *output)
{
	const srv_farm_blobs *blobs = srv_farm_blobs_of(x->farm);
	char name[SRV_FARM_BLOB_NAME];
	srv_farm_why why = {""};
	uint64_t size = 0;
	srv_farm_blob_name(&output->digest, name);
	srv_farm_end end = blobs->head(x->blobs, name, &size, &why);
	if (end == SRV_FARM_OK && size == output->size)
		return SRV_EXCHANGE_OK;
	if (end != SRV_FARM_OK && end != SRV_FARM_NONE)
		return srv_exchange_end_of(end, &why, &x->error);
	int fd = srv_blob_open(x->store, &output->digest, &size);
	if (fd < 0)
		return SRV_EXCHANGE_NONE;
	end = blobs->put(x->blobs, name, fd, size, hob_sha256_hex(&output->digest).text, &why);
	close(fd);
	x->bytes += end == SRV_FARM_OK ? size : 0;
	return srv_exchange_end_of(end, &why, &x->error);
}

/* Finds `result` in the record's text, as defined in record.h. */
static bool find_result(hob_str text, hob_sha256 *out)
{
	static const char member[] = ",\"result\":\"";
	size_t at = SIZE_MAX;
	for (size_t i = hob_str_find(text, HOB_STR(",\"result\":\""), 0); i != SIZE_MAX;
		 i = hob_str_find(text, HOB_STR(",\"result\":\""), i + 1))
		at = i;
	return at != SIZE_MAX &&
		   hob_sha256_parse(hob_str_sub(text, at + strlen(member), at + strlen(member) + HOB_SHA256_TEXT),
							out);
}

static srv_exchange_end give_record(srv_exchange *x, const srv_record *record)
{
	hob_own_buf text = {0};
	srv_farm_taken taken = SRV_FARM_GIVEN;
	srv_farm_why why = {""};
	srv_farm_result result = {.key = record->key,
							  .lookup = record->lookup,
							  .failed = record->error.len > 0,
							  .cook_ms = record->cook_ns / 1000000};
	for (uint32_t i = 0; i < record->output_count; i++)
		result.bytes += record->outputs[i].size;
	srv_record_print(record, &text);
	result.record = hob_buf_str(&text);
	bool printed = !text.failed && find_result(result.record, &result.result),
		 large = text.size > SRV_FARM_RECORD_MAX;
	srv_farm_end end = printed && !large ? srv_farm_give(x->farm, &result, &taken, &why) : SRV_FARM_OK;
	if (large) {
		(void)hob_fail(&x->error, LIMIT, "its record is larger than %d MiB", SRV_FARM_RECORD_MAX >> 20);
		return SRV_EXCHANGE_REFUSED;
	}
	if (!printed) {
		(void)hob_fail(&x->error, MEMORY, "no memory left to print a record");
		return SRV_EXCHANGE_HERE;
	}
	if (end != SRV_FARM_OK)
		return srv_exchange_end_of(end, &why, &x->error);
	if (taken == SRV_FARM_CONFLICT) {
		(void)hob_fail(
			&x->error, IO,
			"the farm keeps another result of a cook that was made here, too; cooks are repeatable, so one "
			"of them is wrong: 'hob farm verify' lists it");
		return SRV_EXCHANGE_CONFLICT;
	}
	return taken == SRV_FARM_LATE ? SRV_EXCHANGE_LATE : SRV_EXCHANGE_OK;
}

static const srv_exchange_way farm_way = {.release = release,
										  .cut = cut,
										  .find = find,
										  .fetch_blob = fetch_blob,
										  .give_blob = give_blob,
										  .give_record = give_record,
										  .probe = probe};

bool srv_exchange_init_farm(srv_exchange *x, srv_farm *farm, srv_store *store, hob_error *err)
{
	srv_farm_why why = {""};
	*x = (srv_exchange){.way = &farm_way, .store = store, .farm = farm};
	pthread_mutex_init(&x->lock, NULL);
	x->blobs = srv_farm_blobs_open(farm, &why);
	if (x->blobs)
		return true;
	pthread_mutex_destroy(&x->lock);
	return hob_fail(err, CONFIG, "%s", why.text);
}
