#include "engine_health.h"

#include "../cook/error_json.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct engine_health {
	uv_mutex_t lock;
	hob_error ill[ENGINE_HEALTH_PARTS]; /* {0}: healthy; guarded by `lock` */
	char sandbox[96];					/* written before sandbox_known */
	atomic_bool sandbox_known;
};

struct engine_health *srv_engine_health_new(void)
{
	struct engine_health *health = calloc(1, sizeof *health);
	if (health)
		uv_mutex_init(&health->lock);
	return health;
}

void srv_engine_health_free(struct engine_health *health)
{
	if (health)
		uv_mutex_destroy(&health->lock);
	free(health);
}

void srv_engine_set_health(srv_engine *engine, engine_health_part part, const hob_error *why)
{
	assert(part < ENGINE_HEALTH_PARTS);
	uv_mutex_lock(&engine->health->lock);
	engine->health->ill[part] = why ? *why : (hob_error){0};
	uv_mutex_unlock(&engine->health->lock);
}

const hob_error *srv_engine_ill(const srv_engine *engine, engine_health_part part)
{
	assert(part < ENGINE_HEALTH_PARTS);
	const hob_error *why = &engine->health->ill[part];
	return why->code != HOB_ERR_OK ? why : NULL;
}

/* Copies the fault of one part; any thread. */
static hob_error look(srv_engine *engine, engine_health_part part)
{
	assert(part < ENGINE_HEALTH_PARTS);
	uv_mutex_lock(&engine->health->lock);
	hob_error why = engine->health->ill[part];
	uv_mutex_unlock(&engine->health->lock);
	return why;
}

static void put_with_hint(srv_engine *engine, engine_health_part part, hob_buf *out)
{
	hob_error why = look(engine, part);
	if (why.code != HOB_ERR_OK)
		hob_buf_printf(out, "%s; %s", why.context, srv_error_hint(why.code));
}

void srv_engine_workers_error(void *user, hob_buf *out)
{
	put_with_hint(user, ENGINE_HEALTH_WORKERS, out);
}

void srv_engine_disk_error(void *user, hob_buf *out)
{
	put_with_hint(user, ENGINE_HEALTH_DISK, out);
}

void srv_engine_index_error(void *user, hob_buf *out)
{
	hob_error why = look(user, ENGINE_HEALTH_INDEX);
	if (why.code != HOB_ERR_OK)
		hob_buf_printf(out, "it is damaged or missing and cannot be rebuilt: %s", why.context);
	else if ((why = look(user, ENGINE_HEALTH_ROWS)).code != HOB_ERR_OK)
		hob_buf_printf(out, "%s", why.context);
}

void srv_engine_set_sandbox(srv_engine *engine, const char *sandbox)
{
	snprintf(engine->health->sandbox, sizeof engine->health->sandbox, "%s", sandbox);
	atomic_store(&engine->health->sandbox_known, true);
}

const char *srv_engine_sandbox(const srv_engine *engine)
{
	return atomic_load(&engine->health->sandbox_known) ? engine->health->sandbox : "unknown";
}
