#include "owner.h"
#include "serve_child.h"

#include "../log/log.h"
#include "../worker/protocol.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct child {
	uv_process_t process;
	const char *name; /* static text */
	char page[300];
	bool opens;
} child;

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);
	return value && value[0];
}

static void page_address(const char *url, char out[300])
{
	char local[300];
	srv_owner_local_url(url, local);
	snprintf(out, 300, "%.290s%s", local, strncmp(url, "unix:", 5) == 0 ? "" : "/");
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void on_exit_of(uv_process_t *process, int64_t status, int number)
{
	child *c = process->data;
	if (c->opens && (status != 0 || number != 0))
		srv_log(SRV_LOG_WARNING, "open", "no browser could be started (xdg-open: code %d); open %s yourself",
				(int)status, c->page);
	else if (number != 0)
		srv_log(SRV_LOG_WARNING, c->name, "the command was ended by signal %d", number);
	else if (status != 0)
		srv_log(SRV_LOG_WARNING, c->name, "the command ended with code %d", (int)status);
	uv_close((uv_handle_t *)process, on_closed);
}

/* The daemon's own environment without the variables that it sets for its workers, then `more`. */
static char **make_environment(char *more[], size_t more_count)
{
	extern char **environ;
	static const char tunables[] = "GLIBC_TUNABLES=" SRV_WORKER_TUNABLES;
	size_t count = 0, kept = 0;
	while (environ[count])
		count++;
	char **all = calloc(count + more_count + 1, sizeof *all);
	for (size_t i = 0; all && i < count; i++)
		if (strcmp(environ[i], tunables) != 0 && strncmp(environ[i], "HOB_URL=", 8) != 0 &&
			strncmp(environ[i], "HOB_PID=", 8) != 0)
			all[kept++] = environ[i];
	for (size_t i = 0; all && i < more_count; i++)
		all[kept++] = more[i];
	return all;
}

static void start(uv_loop_t *loop, child *c, char **args, char **environment)
{
	uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}, {.flags = UV_IGNORE}, {.flags = UV_IGNORE}};
	for (int i = 1; !c->opens && i < 3; i++)
		stdio[i] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = i};
	uv_process_options_t options = {.exit_cb = on_exit_of,
									.file = args[0],
									.args = args,
									.env = environment,
									.stdio_count = 3,
									.stdio = stdio,
									.flags = c->opens ? UV_PROCESS_DETACHED : 0};
	c->process.data = c;
	int failed = uv_spawn(loop, &c->process, &options);
	if (failed && c->opens)
		srv_log(SRV_LOG_WARNING, "open", "xdg-open cannot be started: %s; open %s yourself",
				uv_strerror(failed), c->page);
	else if (failed)
		srv_log(SRV_LOG_WARNING, c->name, "no shell can be started: %s", uv_strerror(failed));
	if (failed)
		uv_close((uv_handle_t *)&c->process, on_closed);
	else
		uv_unref((uv_handle_t *)&c->process);
}

void srv_serve_child_open(uv_loop_t *loop, const char *url)
{
	child *c = calloc(1, sizeof *c);
	char **environment = make_environment(NULL, 0);
	if (c && strncmp(url, "unix:", 5) == 0) {
		srv_log(SRV_LOG_INFO, "open", "browsers do not know Unix sockets; listen on a port, too");
	} else if (c && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY")) {
		page_address(url, c->page);
		srv_log(SRV_LOG_INFO, "open", "there is no display here; the page is %s", c->page);
	} else if (c && environment) {
		char program[] = "xdg-open";
		page_address(url, c->page);
		char *args[] = {program, c->page, NULL};
		c->opens = true;
		start(loop, c, args, environment);
		c = NULL;
	}
	free(environment);
	free(c);
}

void srv_serve_child_run(uv_loop_t *loop, const char *command, const char *url)
{
	child *c = calloc(1, sizeof *c);
	char shell[] = "/bin/sh", flag[] = "-c", address[320], pid[32], *text = strdup(command);
	snprintf(address, sizeof address, "HOB_URL=%.300s", url);
	snprintf(pid, sizeof pid, "HOB_PID=%ld", (long)getpid());
	char *more[] = {address, pid}, *args[] = {shell, flag, text, NULL};
	char **environment = make_environment(more, HOB_COUNT_OF(more));
	if (c && text && environment) {
		c->name = "once-ready";
		start(loop, c, args, environment);
		c = NULL;
	}
	free(environment);
	free(text);
	free(c);
}
