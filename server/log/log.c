#include "log.h"
#include "journal.h"

#include "../../core/base/json_write.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static _Atomic srv_log_level least_level = SRV_LOG_INFO;
static bool as_json, colored;
static int journal = -1; /* -1: stderr is not the journal */
static srv_log_take *listener;
static void *listener_user;

static pthread_mutex_t screen = PTHREAD_MUTEX_INITIALIZER; /* guards the terminal and `status` */
static char status[512];

static const struct {
	const char *name, *color;
} levels[] = {{"debug", "\x1b[2m"}, {"info", "\x1b[32m"}, {"warning", "\x1b[33m"}, {"error", "\x1b[31m"}};

const char *srv_log_level_name(srv_log_level level)
{
	return levels[level].name;
}

void srv_log_listen(srv_log_take *take, void *user)
{
	listener = take;
	listener_user = user;
}

bool srv_color_wanted(int stream_fd)
{
	const char *force = getenv("CLICOLOR_FORCE"), *term = getenv("TERM"), *none = getenv("NO_COLOR");
	if (none && none[0])
		return false;
	if (force && force[0] && strcmp(force, "0") != 0)
		return true;
	if (getenv("CI") || (term && strcmp(term, "dumb") == 0))
		return false;
	return isatty(stream_fd);
}

void srv_log_init(srv_log_level least, bool json)
{
	least_level = least;
	as_json = json;
	colored = !json && srv_color_wanted(2);
	if (journal < 0 && !json)
		journal = srv_journal_open(SRV_JOURNAL_SOCKET, 2);
}

/* Length in bytes of the control or direction character that starts here; 0: none. U+0080-9F, U+202A-2E,
 * U+2066-69. */
static size_t unwanted(const unsigned char *p)
{
	if (p[0] < 0x20 || p[0] == 0x7F)
		return 1;
	if (p[0] == 0xC2 && p[1] >= 0x80 && p[1] <= 0x9F)
		return 2;
	bool turns = p[0] == 0xE2 && ((p[1] == 0x80 && p[2] >= 0xAA && p[2] <= 0xAE) ||
								  (p[1] == 0x81 && p[2] >= 0xA6 && p[2] <= 0xA9));
	return turns ? 3 : 0;
}

void srv_plain(char *text)
{
	for (size_t at = 0; text[at];) {
		size_t size = unwanted((const unsigned char *)text + at);
		memset(text + at, '?', size);
		at += size ? size : 1;
	}
}

/* Length in bytes of a colour sequence such as "\x1b[1;32m". */
static size_t color_size(const char *text)
{
	if (text[0] != '\x1b' || text[1] != '[')
		return 0;
	size_t size = 2 + strspn(text + 2, "0123456789;");
	return text[size] == 'm' ? size + 1 : 0;
}

void srv_plain_lines(char *text)
{
	for (size_t at = 0; text[at];) {
		size_t kept = text[at] == '\n' ? 1 : color_size(text + at);
		size_t size = kept > 0 ? 0 : unwanted((const unsigned char *)text + at);
		memset(text + at, '?', size);
		at += kept > 0 ? kept : size > 0 ? size : 1;
	}
}

bool srv_log_has_screen(void)
{
	const char *term = getenv("TERM");
	return !as_json && isatty(2) && !getenv("CI") && !(term && strcmp(term, "dumb") == 0);
}

static void write_all(hob_buf *out)
{
	if (!out->failed && out->size > 0 && write(2, out->data, out->size) < 0) {
		/* stderr is closed, and there is no better place to report that. */
	}
	hob_buf_release(out);
}

static bool goes_on(char byte)
{
	return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Cuts to the terminal's columns: a wrapped line could not be overwritten. */
static void cut_to_screen(char *line)
{
	struct winsize size = {0};
	size_t columns = ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79, used = 0;
	for (size_t at = 0; line[at]; at++)
		if (!goes_on(line[at]) && used++ == columns) {
			line[at] = 0;
			break;
		}
}

void srv_log_status(const char *line)
{
	hob_buf out = {0};
	pthread_mutex_lock(&screen);
	bool was = status[0] != 0;
	snprintf(status, sizeof status, "%s", line ? line : "");
	srv_plain(status);
	cut_to_screen(status);
	if (was || status[0])
		hob_buf_printf(&out, "\r\x1b[K%s", status);
	write_all(&out);
	pthread_mutex_unlock(&screen);
}

static bool is_folded(srv_log_level level, const char *verb)
{
	static const char *const verbs[] = {"cooked", "reused", "preview"};
	bool folded = false;
	for (size_t i = 0; status[0] && level == SRV_LOG_INFO && i < HOB_COUNT_OF(verbs); i++)
		folded = folded || strcmp(verb, verbs[i]) == 0;
	return folded;
}

/* Writes the line and, below it, the status line, which alone stands for a line that is_folded. */
static void write_line(srv_log_level level, const char *verb, hob_buf *line)
{
	pthread_mutex_lock(&screen);
	if (is_folded(level, verb)) {
		hob_buf_release(line);
	} else if (status[0]) {
		hob_buf out = {0};
		hob_buf_printf(&out, "\r\x1b[K%.*s%s", HOB_FMT(hob_buf_str(line)), status);
		hob_buf_release(line);
		write_all(&out);
	} else {
		write_all(line);
	}
	pthread_mutex_unlock(&screen);
}

void srv_log(srv_log_level level, const char *verb, const char *fmt, ...)
{
	if (level < least_level)
		return;
	char text[1024];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	hob_buf line = {0};
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (!as_json)
		srv_plain(text);
	if (journal >= 0 && srv_journal_send(journal, level, verb, text)) {
		/* done: the journal adds the time */
	} else if (as_json) {
		hob_json_object(&line, HOB_JSON_TIME("time", now.tv_sec * 1000 + now.tv_nsec / 1000000),
						HOB_JSON("level", levels[level].name), HOB_JSON("event", verb),
						HOB_JSON("message", text));
		hob_buf_put_str(&line, HOB_STR("\n"));
	} else {
		struct tm local;
		localtime_r(&now.tv_sec, &local);
		char stamp[16];
		strftime(stamp, sizeof stamp, "%H:%M:%S", &local);
		hob_buf_printf(&line, "%s%s%s %s%s%s %s\n", colored ? "\x1b[2m" : "", stamp, colored ? "\x1b[0m" : "",
					   colored ? levels[level].color : "", verb, colored ? "\x1b[0m" : "", text);
	}
	write_line(level, verb, &line);
	if (listener)
		listener(listener_user, level, verb, text);
}

const char *srv_text_duration(uint64_t ns, char out[32])
{
	uint64_t ms = (ns + 500000) / 1000000;
	if (ns < 1000000)
		snprintf(out, 32, "%.1f ms", (double)ns / 1e6);
	else if (ms < 1000)
		snprintf(out, 32, "%u ms", (unsigned)ms);
	else if (ms < 60000)
		snprintf(out, 32, "%.2f s", (double)ms / 1000);
	else
		snprintf(out, 32, "%u min %u s", (unsigned)(ms / 60000), (unsigned)(ms / 1000 % 60));
	return out;
}

const char *srv_text_bytes(uint64_t bytes, char out[32])
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
	double value = (double)bytes;
	size_t unit = 0;
	while (value >= 1000 && unit + 1 < HOB_COUNT_OF(units)) {
		value /= 1000;
		unit++;
	}
	snprintf(out, 32, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value, units[unit]);
	return out;
}
