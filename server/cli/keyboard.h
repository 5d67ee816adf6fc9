/* keyboard.h - single keys from the terminal that a program runs in, without Enter and without echo.
 *
 *   away (in the background, or stopped) <---- enter(), leave() ----> here (keys are read)
 *
 * The terminal has its original settings whenever the program is not in the foreground: while it is stopped
 * (Ctrl-Z) or in the background, after srv_keyboard_end, and when a fatal signal ends it. Ctrl-C and Ctrl-\
 * remain signals. */
#ifndef CLI_KEYBOARD_H
#define CLI_KEYBOARD_H

#include <stdbool.h>
#include <uv.h>

typedef struct keyboard {
	uv_poll_t poll;
	uv_signal_t stop, go_on;
	uv_timer_t look; /* for the foreground, while away */
	int fd;
	bool begun, here, closing;
	bool left_alone; /* the terminal was closed while this was in the background, and nobody ended it */
	void *user;
	void (*take)(void *user, char key);
} keyboard;

/* False, without effect, if keys make no sense: stdin or stdout is not a terminal, or a dumb one, or CI is
 * set. The loop's thread calls `take` for each key; 0: the terminal is gone. One keyboard per process. */
bool srv_keyboard_begin(keyboard *keys, uv_loop_t *loop, void (*take)(void *user, char key), void *user);
/* Can be called again, and without a begin. The handles close in the loop. */
void srv_keyboard_end(keyboard *keys);
/* True if the terminal was just closed, which is then the meaning of a SIGHUP. False if the program was
 * already in the background. */
bool srv_keyboard_lost(const keyboard *keys);
/* Restores the terminal at once: before _exit. */
void srv_keyboard_restore(void);

#endif
