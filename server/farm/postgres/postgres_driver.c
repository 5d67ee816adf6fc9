#include "../driver.h"

#include <libpq-fe.h>
#include <pg_config.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* PostgreSQL through libpq, always asynchronous: a stopped server does not answer, but keeps its connections.
 * Statements with parameters are prepared: planning costs more than executing. */

enum { PREPARED_MAX = 24 };

typedef struct postgres {
	char *url, *password;
	PGconn *conn;
	uint64_t sessions;
	char *prepared[PREPARED_MAX]; /* statements prepared in this session, named "0", "1".. */
	int cut;					  /* an eventfd that is readable after a cut */
} postgres;

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void say(srv_farm_why *why, const char *text)
{
	snprintf(why->text, sizeof why->text, "the farm's database: %.170s", text);
	size_t used = strlen(why->text);
	for (size_t i = 0; i < used; i++)
		if ((unsigned char)why->text[i] < 0x20)
			why->text[i] = ' ';
	while (used > 0 && why->text[used - 1] == ' ')
		why->text[--used] = 0;
}

static void hang_up(postgres *p)
{
	PQfinish(p->conn);
	p->conn = NULL;
	for (int i = 0; i < PREPARED_MAX; i++) {
		free(p->prepared[i]);
		p->prepared[i] = NULL;
	}
}

static void postgres_close(void *handle)
{
	postgres *p = handle;
	if (!p)
		return;
	hang_up(p);
	if (p->cut >= 0)
		close(p->cut);
	free(p->url);
	free(p->password);
	free(p);
}

static void *postgres_open(const srv_farm_place *place, srv_farm_why *why)
{
	postgres *p = calloc(1, sizeof *p);
	char *text = NULL;
	PQconninfoOption *parsed = PQconninfoParse(place->url, &text);
	if (!parsed)
		say(why, text ? text : "no memory left");
	PQconninfoFree(parsed);
	PQfreemem(text);
	if (!p || !parsed) {
		free(p);
		return NULL;
	}
	p->cut = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->url = strdup(place->url);
	p->password = place->secret ? strdup(place->secret) : NULL;
	if (p->cut >= 0 && p->url && (p->password || !place->secret))
		return p;
	say(why, "no memory left");
	postgres_close(p);
	return NULL;
}

static void postgres_cut(void *handle)
{
	uint64_t one = 1;
	postgres *p = handle;
	ssize_t ignored = write(p->cut, &one, sizeof one);
	(void)ignored;
}

/* 1: ready; 0: timed out; -1: cut. */
static int await(postgres *p, short events, int64_t until)
{
	struct pollfd fds[] = {{PQsocket(p->conn), events, 0}, {p->cut, POLLIN, 0}};
	int64_t left = until - now_ms();
	int ready = poll(fds, 2, left > 0 ? (int)left : 0);
	return fds[1].revents ? -1 : ready > 0;
}

static srv_farm_end late(postgres *p, int waited, int ms, srv_farm_why *why)
{
	char text[64];
	snprintf(text, sizeof text, "no answer within %d ms", ms);
	say(why, waited < 0 ? "this daemon stops" : text);
	hang_up(p);
	return SRV_FARM_DOWN;
}

static srv_farm_end connect_it(postgres *p, srv_farm_why *why)
{
	static const char *const names[] = {
		"dbname", "fallback_application_name", "client_encoding", "tcp_user_timeout", "password", NULL};
	const char *const values[] = {p->url, "hob", "UTF8", "4000", p->password, NULL};
	int64_t until = now_ms() + SRV_FARM_SESSION_MS;
	p->conn = PQconnectStartParams(names, values, 1);
	PostgresPollingStatusType step =
		p->conn && PQstatus(p->conn) != CONNECTION_BAD ? PGRES_POLLING_WRITING : PGRES_POLLING_FAILED;
	while (step == PGRES_POLLING_READING || step == PGRES_POLLING_WRITING) {
		int waited = await(p, step == PGRES_POLLING_READING ? POLLIN : POLLOUT, until);
		if (waited <= 0)
			return late(p, waited, SRV_FARM_SESSION_MS, why);
		step = PQconnectPoll(p->conn);
	}
	if (step == PGRES_POLLING_OK) {
		PQsetnonblocking(p->conn, 1);
		p->sessions++;
		return SRV_FARM_OK;
	}
	bool barred = p->conn && (PQconnectionNeedsPassword(p->conn) || PQconnectionUsedPassword(p->conn));
	say(why, p->conn ? PQerrorMessage(p->conn) : "no memory left");
	hang_up(p);
	return barred ? SRV_FARM_BARRED : SRV_FARM_DOWN;
}

/* Translates an SQLSTATE for the caller. */
static srv_farm_end end_of(const char *state)
{
	static const struct {
		const char *begin;
		srv_farm_end end;
	} table[] = {{"08", SRV_FARM_DOWN},	  {"40", SRV_FARM_DOWN},		 {"55", SRV_FARM_DOWN},
				 {"57", SRV_FARM_DOWN},	  {"53100", SRV_FARM_FULL},		 {"53", SRV_FARM_DOWN},
				 {"58", SRV_FARM_DOWN},	  {"42501", SRV_FARM_READ_ONLY}, {"25006", SRV_FARM_FULL},
				 {"28", SRV_FARM_BARRED}, {"XX", SRV_FARM_DOWN}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strncmp(state, table[i].begin, strlen(table[i].begin)) == 0)
			return table[i].end;
	return SRV_FARM_REFUSED;
}

static srv_farm_end failed(postgres *p, const PGresult *result, srv_farm_why *why)
{
	const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	const char *told = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	say(why, told ? told : PQerrorMessage(p->conn));
	if (state && strncmp(state, "42P01", 5) == 0)
		say(why, "it holds no tables of Hob; 'hob farm init' makes them");
	return state ? end_of(state) : SRV_FARM_DOWN;
}

/* A standby, after a failover: the next connection may find the primary. */
static bool is_standby(const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	return state && strcmp(state, "25006") == 0;
}

static void tell_rows(const PGresult *result, srv_farm_row *each, void *user)
{
	enum { COLUMNS_MAX = 16 };
	const char *values[COLUMNS_MAX];
	size_t sizes[COLUMNS_MAX];
	int columns = PQnfields(result) < COLUMNS_MAX ? PQnfields(result) : COLUMNS_MAX;
	for (int row = 0; row < PQntuples(result); row++) {
		for (int i = 0; i < columns; i++) {
			values[i] = PQgetisnull(result, row, i) ? NULL : PQgetvalue(result, row, i);
			sizes[i] = (size_t)PQgetlength(result, row, i);
		}
		each(user, values, sizes);
	}
}

/* Sends pending data and reads until there is a result. */
static srv_farm_end until_result(postgres *p, int64_t until, int ms, srv_farm_why *why)
{
	for (int unsent = PQflush(p->conn);; unsent = unsent ? PQflush(p->conn) : 0) {
		if (unsent < 0 || !PQconsumeInput(p->conn)) {
			say(why, PQerrorMessage(p->conn));
			return SRV_FARM_DOWN;
		}
		if (!unsent && !PQisBusy(p->conn))
			return SRV_FARM_OK;
		int waited = await(p, unsent ? POLLIN | POLLOUT : POLLIN, until);
		if (waited <= 0)
			return late(p, waited, ms, why);
	}
}

/* Reads the results of the sent statement. */
static srv_farm_end finish(postgres *p, int64_t until, int ms, srv_farm_row *each, void *user,
						   srv_farm_why *why)
{
	srv_farm_end end = SRV_FARM_OK;
	bool standby = false;
	for (;;) {
		srv_farm_end got = until_result(p, until, ms, why);
		if (got != SRV_FARM_OK)
			return got;
		PGresult *result = PQgetResult(p->conn);
		if (!result) {
			if (standby)
				hang_up(p);
			return end;
		}
		ExecStatusType status = PQresultStatus(result);
		if (status == PGRES_TUPLES_OK && each)
			tell_rows(result, each, user);
		else if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY &&
				 end == SRV_FARM_OK)
			end = failed(p, result, why);
		standby = standby || is_standby(result);
		PQclear(result);
	}
}

/* Prepares a statement, unless it is prepared. `name` becomes "" if too many are. */
static srv_farm_end prepare(postgres *p, const char *sql, int64_t until, int ms, char name[8],
							srv_farm_why *why)
{
	int at = 0;
	name[0] = 0;
	while (at < PREPARED_MAX && p->prepared[at] && strcmp(p->prepared[at], sql) != 0)
		at++;
	if (at == PREPARED_MAX)
		return SRV_FARM_OK;
	snprintf(name, 8, "%d", at);
	if (p->prepared[at])
		return SRV_FARM_OK;
	if (!PQsendPrepare(p->conn, name, sql, 0, NULL)) {
		say(why, PQerrorMessage(p->conn));
		return SRV_FARM_DOWN;
	}
	srv_farm_end end = finish(p, until, ms, NULL, NULL, why);
	if (end == SRV_FARM_OK && p->conn)
		p->prepared[at] = strdup(sql);
	return end;
}

static srv_farm_end run_once(postgres *p, const char *sql, const char *const *params, int count, int ms,
							 srv_farm_row *each, void *user, srv_farm_why *why)
{
	int64_t until = now_ms() + ms;
	char name[8] = "";
	srv_farm_end end = count > 0 ? prepare(p, sql, until, ms, name, why) : SRV_FARM_OK;
	if (end != SRV_FARM_OK)
		return end;
	int sent = count == 0 ? PQsendQuery(p->conn, sql)
			   : name[0]  ? PQsendQueryPrepared(p->conn, name, count, params, NULL, NULL, 0)
						  : PQsendQueryParams(p->conn, sql, count, NULL, params, NULL, NULL, 0);
	if (sent)
		return finish(p, until, ms, each, user, why);
	say(why, PQerrorMessage(p->conn));
	return SRV_FARM_DOWN;
}

static srv_farm_end postgres_run(void *handle, const char *sql, const char *const *params, int count, int ms,
								 srv_farm_row *each, void *user, srv_farm_why *why)
{
	postgres *p = handle;
	for (bool kept = p->conn != NULL;; kept = false) {
		srv_farm_end end = kept ? SRV_FARM_OK : connect_it(p, why);
		if (end != SRV_FARM_OK)
			return end;
		int64_t began = now_ms();
		end = run_once(p, sql, params, count, ms, each, user, why);
		bool lost = p->conn && PQstatus(p->conn) == CONNECTION_BAD;
		if (lost)
			hang_up(p);
		/* The server closed an idle connection: the statement has not run. */
		if (!lost || !kept || now_ms() - began > SRV_FARM_CONNECT_MS)
			return end;
	}
}

static srv_farm_end postgres_wait(void *handle, int ms, void (*heard)(void *user, const char *text),
								  void *user, srv_farm_why *why)
{
	postgres *p = handle;
	int64_t until = now_ms() + ms;
	bool any = false;
	if (!p->conn) {
		say(why, "the connection is lost");
		return SRV_FARM_DOWN;
	}
	for (;;) {
		for (PGnotify *n; (n = PQnotifies(p->conn)); PQfreemem(n)) {
			heard(user, n->extra);
			any = true;
		}
		int waited = any ? 0 : await(p, POLLIN, until);
		if (waited == 0)
			return SRV_FARM_OK;
		if (waited < 0)
			return late(p, waited, ms, why);
		if (!PQconsumeInput(p->conn)) {
			say(why, PQerrorMessage(p->conn));
			hang_up(p);
			return SRV_FARM_DOWN;
		}
	}
}

static uint64_t postgres_sessions(const void *handle)
{
	const postgres *p = handle;
	return p->conn ? p->sessions : 0;
}

static const srv_farm_sql sql = {.open = postgres_open,
								 .close = postgres_close,
								 .cut = postgres_cut,
								 .run = postgres_run,
								 .wait = postgres_wait,
								 .sessions = postgres_sessions};

__attribute__((visibility("default"))) extern const srv_farm_module srv_farm_driver;
const srv_farm_module srv_farm_driver = {.abi = SRV_FARM_ABI, .library = "libpq " PG_VERSION, .sql = &sql};
