/* keyboard.h - single keys from the terminal that a program runs in, without Enter and without echo.
 *
 *   away (in the background, or stopped) <---- enter(), leave() ----> here (keys are read)
 *
 * The terminal is as it was before whenever the program is not in its foreground: while it is stopped (Ctrl-Z) or in the
 * background, after srv_keyboard_end, and when a fatal signal ends it. Ctrl-C and Ctrl-\ stay signals. */
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
	bool left_alone; /* the terminal went while this was in the background, and nobody ended it */
	void *user;
	void (*take)(void *user, char key);
} keyboard;

/* False, and nothing happens, where keys make no sense: stdin or stdout is no terminal, or it is a dumb one, or CI is set.
 * `take` gets each key in the loop's thread; 0: the terminal is gone. One keyboard a process. */
bool srv_keyboard_begin(keyboard *keys, uv_loop_t *loop, void (*take)(void *user, char key), void *user);
/* Again is fine, and without a begin. The handles close in the loop. */
void srv_keyboard_end(keyboard *keys);
/* True when the terminal was closed just now: what a SIGHUP means then. Not of one that was left in the background before. */
bool srv_keyboard_lost(const keyboard *keys);
/* Gives the terminal back at once: before _exit. */
void srv_keyboard_restore(void);

#endif
