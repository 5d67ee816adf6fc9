#include "agent_watch.h"

#include "sys.h"
#include "wide.h"

#include <stdlib.h>

/* One ReadDirectoryChangesW for the whole tree. When its buffer overflows, the answer is empty: everything is
 * checked. Network drives give no reliable events and are checked every two seconds. */

enum { BUFFER_BYTES = 64 << 10, POLL_MS = 2000 };

struct agent_watch {
	const char *root;
	HANDLE folder, event; /* folder: invalid while it gives no events */
	OVERLAPPED pending;
	bool asked;
	uint32_t poll_ms;
	int64_t next_ms;
	_Alignas(8) uint8_t bytes[BUFFER_BYTES];
};

/* Opens the folder, also again after its drive was away, and asks for its events. */
static bool ask(agent_watch *watch)
{
	const DWORD what = FILE_NOTIFY_CHANGE_FILE_NAME | FILE_NOTIFY_CHANGE_DIR_NAME | FILE_NOTIFY_CHANGE_SIZE |
					   FILE_NOTIFY_CHANGE_LAST_WRITE;
	wchar_t *wide = watch->folder == INVALID_HANDLE_VALUE ? agent_wide_path(watch->root, (hob_str){0}) : NULL;
	if (wide)
		watch->folder =
			CreateFileW(wide, FILE_LIST_DIRECTORY, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
						NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OVERLAPPED, NULL);
	free(wide);
	watch->pending = (OVERLAPPED){.hEvent = watch->event};
	watch->asked = watch->folder != INVALID_HANDLE_VALUE &&
				   ReadDirectoryChangesW(watch->folder, watch->bytes, BUFFER_BYTES, TRUE, what, NULL,
										 &watch->pending, NULL);
	if (!watch->asked && watch->folder != INVALID_HANDLE_VALUE) {
		CloseHandle(watch->folder);
		watch->folder = INVALID_HANDLE_VALUE;
	}
	return watch->asked;
}

static bool is_remote(const char *folder)
{
	wchar_t drive[] = {(wchar_t)folder[0], L':', L'\\', 0};
	return folder[0] == '/' || GetDriveTypeW(drive) == DRIVE_REMOTE;
}

agent_watch *agent_watch_open(const char *folder, uint32_t poll_ms, const char **note, hob_error *err)
{
	agent_watch *watch = calloc(1, sizeof *watch);
	if (!watch) {
		(void)!hob_fail(err, MEMORY, "no memory left to watch");
		return NULL;
	}
	watch->poll_ms = poll_ms ? poll_ms : is_remote(folder) ? POLL_MS : 0;
	watch->event = CreateEventW(NULL, TRUE, FALSE, NULL);
	watch->folder = INVALID_HANDLE_VALUE;
	watch->root = folder;
	if (!watch->poll_ms && !ask(watch))
		watch->poll_ms = POLL_MS;
	if (watch->poll_ms)
		*note = "looking every two seconds: the folder gives no events";
	return watch;
}

void agent_watch_close(agent_watch *watch)
{
	if (!watch)
		return;
	if (watch->folder != INVALID_HANDLE_VALUE) {
		CancelIo(watch->folder);
		CloseHandle(watch->folder);
	}
	CloseHandle(watch->event);
	free(watch);
}

void agent_watch_folder(agent_watch *watch, hob_str path)
{
	(void)watch, (void)path;
}

static void take(agent_watch *watch, DWORD size, agent_changed *changed, void *user)
{
	uint8_t *copy = malloc(size + 1);
	if (size == 0 || !copy) {
		free(copy);
		ask(watch);
		changed(user, (hob_str){0});
		return;
	}
	/* Requests the next events before handling these. */
	memcpy(copy, watch->bytes, size);
	ask(watch);
	for (size_t at = 0;;) {
		const FILE_NOTIFY_INFORMATION *info = (const FILE_NOTIFY_INFORMATION *)(const void *)(copy + at);
		hob_buf path = {0}, spelled = {0};
		if (agent_put_narrow(&path, info->FileName, info->FileNameLength / sizeof(wchar_t))) {
			changed(user, hob_buf_str(&path));
			/* Windows may tell a short name, or the case that a program wrote. */
			if (!agent_spelled(watch->root, hob_buf_str(&path), &spelled) && !spelled.failed)
				changed(user, hob_buf_str(&spelled));
		}
		hob_buf_release(&path);
		hob_buf_release(&spelled);
		if (info->NextEntryOffset == 0)
			break;
		at += info->NextEntryOffset;
	}
	free(copy);
}

bool agent_watch_wait(agent_watch *watch, int64_t ms, agent_changed *changed, void *user)
{
	if (!watch->asked) {
		int64_t left = watch->next_ms - sys_ticks_ms();
		bool due = left <= ms || ms < 0;
		Sleep((DWORD)(due ? left > 0 ? left : 0 : ms));
		if (due) {
			watch->next_ms = sys_ticks_ms() + (watch->poll_ms ? watch->poll_ms : POLL_MS);
			/* A reconnected drive gives events again. */
			if (!watch->poll_ms)
				ask(watch);
			changed(user, (hob_str){0});
		}
		return true;
	}
	if (WaitForSingleObject(watch->event, ms < 0 ? INFINITE : (DWORD)ms) != WAIT_OBJECT_0)
		return true;
	DWORD size = 0;
	bool good = GetOverlappedResult(watch->folder, &watch->pending, &size, FALSE);
	ResetEvent(watch->event);
	watch->asked = false;
	if (good)
		take(watch, size, changed, user);
	return good;
}
