#include "keyboard.h"

#include "../../core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { LOOK_MS = 1000 };

/* For handlers of fatal signals, which have no user pointer. */
static struct termios before;
static volatile sig_atomic_t changed_fd = -1;
static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGQUIT};

void srv_keyboard_restore(void)
{
	int fd = changed_fd;
	changed_fd = -1;
	if (fd >= 0)
		tcsetattr(fd, TCSANOW, &before);
}

static void on_fatal(int number)
{
	srv_keyboard_restore();
	raise(number); /* the handler was for once */
}

static void watch_fatal(void)
{
	for (size_t i = 0; i < HOB_COUNT_OF(fatal); i++) {
		struct sigaction now, wanted = {.sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND};
		sigemptyset(&wanted.sa_mask);
		if (sigaction(fatal[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			sigaction(fatal[i], &wanted, NULL);
	}
}

static bool in_foreground(const keyboard *keys)
{
	return tcgetpgrp(keys->fd) == getpgrp();
}

static void leave(keyboard *keys)
{
	if (!keys->here)
		return;
	keys->here = false;
	uv_poll_stop(&keys->poll);
	if (in_foreground(keys))
		srv_keyboard_restore();
	changed_fd = -1;
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void enter(keyboard *keys)
{
	struct termios wanted;
	if (keys->here || keys->closing || !in_foreground(keys) || tcgetattr(keys->fd, &before) != 0)
		return;
	wanted = before;
	wanted.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	wanted.c_cc[VMIN] = 1;
	wanted.c_cc[VTIME] = 0;
	changed_fd = keys->fd;
	if (tcsetattr(keys->fd, TCSANOW, &wanted) != 0) {
		changed_fd = -1;
		return;
	}
	keys->here = true;
	uv_timer_stop(&keys->look);
	uv_poll_start(&keys->poll, UV_READABLE | UV_DISCONNECT, on_readable);
}

/* A shell sends no signal when it brings a running job to the foreground. */
static void on_look(uv_timer_t *timer)
{
	keyboard *keys = timer->data;
	if (tcgetpgrp(keys->fd) < 0) {
		keys->left_alone = true;
		uv_timer_stop(timer);
		return;
	}
	enter(keys);
}

static void try_to_enter(keyboard *keys)
{
	enter(keys);
	if (!keys->here && !keys->closing)
		uv_timer_start(&keys->look, on_look, LOOK_MS, LOOK_MS);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	keyboard *keys = poll->data;
	char bytes[64];
	(void)events;
	ssize_t got = status < 0 ? 0 : read(keys->fd, bytes, sizeof bytes);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		leave(keys);
		keys->take(keys->user, 0);
		return;
	}
	/* Arrow keys and pasted text arrive as several bytes, and are ignored here. */
	if (got == 1 || (got == 2 && bytes[1] == '\n'))
		keys->take(keys->user, bytes[0]);
}

static void on_stop(uv_signal_t *handle, int number)
{
	keyboard *keys = handle->data;
	leave(keys);
	uv_signal_stop(&keys->stop);
	raise(number);
	if (!keys->closing)
		uv_signal_start(&keys->stop, on_stop, SIGTSTP);
	try_to_enter(keys);
}

static void on_go_on(uv_signal_t *handle, int number)
{
	keyboard *keys = handle->data;
	(void)number;
	leave(keys);
	try_to_enter(keys);
}

static bool wanted_here(void)
{
	const char *term = getenv("TERM");
	return isatty(0) && isatty(1) && !getenv("CI") && !(term && strcmp(term, "dumb") == 0);
}

bool srv_keyboard_begin(keyboard *keys, uv_loop_t *loop, void (*take)(void *user, char key), void *user)
{
	*keys = (keyboard){.fd = -1, .take = take, .user = user};
	if (!wanted_here())
		return false;
	/* A separate open file description: the loop makes it non-blocking, and the shell shares the one of
	 * stdin. */
	keys->fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (keys->fd < 0 || uv_poll_init(loop, &keys->poll, keys->fd) != 0) {
		if (keys->fd >= 0)
			close(keys->fd);
		keys->fd = -1;
		return false;
	}
	struct sigaction stopping;
	uv_timer_init(loop, &keys->look);
	uv_signal_init(loop, &keys->stop);
	uv_signal_init(loop, &keys->go_on);
	keys->poll.data = keys->look.data = keys->stop.data = keys->go_on.data = keys;
	keys->begun = true;
	if (sigaction(SIGTSTP, NULL, &stopping) == 0 && stopping.sa_handler == SIG_DFL)
		uv_signal_start(&keys->stop, on_stop, SIGTSTP);
	uv_signal_start(&keys->go_on, on_go_on, SIGCONT);
	watch_fatal();
	try_to_enter(keys);
	return true;
}

bool srv_keyboard_lost(const keyboard *keys)
{
	return keys->begun && !keys->left_alone && tcgetpgrp(keys->fd) < 0;
}

static void on_closed(uv_handle_t *handle)
{
	keyboard *keys = handle->data;
	close(keys->fd);
	keys->fd = -1;
}

void srv_keyboard_end(keyboard *keys)
{
	if (!keys->begun || keys->closing)
		return;
	leave(keys);
	keys->closing = true;
	uv_close((uv_handle_t *)&keys->look, NULL);
	uv_close((uv_handle_t *)&keys->stop, NULL);
	uv_close((uv_handle_t *)&keys->go_on, NULL);
	uv_close((uv_handle_t *)&keys->poll, on_closed);
}
