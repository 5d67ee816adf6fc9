#include "sys.h"

#include "wide.h"

#include <stdlib.h>

/* One ReadDirectoryChangesW for the whole tree. When its buffer overflows, the answer is empty: everything is
 * checked. Network drives give no reliable events. */

enum { BUFFER_BYTES = 64 << 10 };

struct agent_watch {
	const char *root;
	HANDLE folder, event;
	OVERLAPPED pending;
	_Alignas(8) uint8_t bytes[BUFFER_BYTES];
};

static bool ask(agent_watch *watch)
{
	const DWORD what = FILE_NOTIFY_CHANGE_FILE_NAME | FILE_NOTIFY_CHANGE_DIR_NAME | FILE_NOTIFY_CHANGE_SIZE |
					   FILE_NOTIFY_CHANGE_LAST_WRITE;
	watch->pending = (OVERLAPPED){.hEvent = watch->event};
	return ReadDirectoryChangesW(watch->folder, watch->bytes, BUFFER_BYTES, TRUE, what, NULL, &watch->pending,
								 NULL);
}

static bool is_remote(const char *folder)
{
	wchar_t drive[] = {(wchar_t)folder[0], L':', L'\\', 0};
	return folder[0] == '/' || GetDriveTypeW(drive) == DRIVE_REMOTE;
}

agent_watch *agent_watch_open(const char *folder, const char **why)
{
	agent_watch *watch = is_remote(folder) ? NULL : calloc(1, sizeof *watch);
	wchar_t *wide = watch ? agent_wide_path(folder, (hob_str){0}) : NULL;
	*why = "the folder gives no events";
	if (!watch)
		return NULL;
	watch->root = folder;
	watch->event = CreateEventW(NULL, TRUE, FALSE, NULL);
	watch->folder =
		!wide ? INVALID_HANDLE_VALUE
			  : CreateFileW(wide, FILE_LIST_DIRECTORY, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
							NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OVERLAPPED, NULL);
	free(wide);
	if (watch->event && watch->folder != INVALID_HANDLE_VALUE && ask(watch))
		return watch;
	agent_watch_close(watch);
	return NULL;
}

void agent_watch_close(agent_watch *watch)
{
	if (!watch)
		return;
	DWORD size;
	if (watch->folder != INVALID_HANDLE_VALUE) {
		if (CancelIo(watch->folder))
			GetOverlappedResult(watch->folder, &watch->pending, &size, TRUE);
		CloseHandle(watch->folder);
	}
	if (watch->event)
		CloseHandle(watch->event);
	free(watch);
}

bool agent_watch_folder(agent_watch *watch, hob_str path)
{
	(void)watch, (void)path;
	return true;
}

/* False: there will be no more events. */
static bool take(agent_watch *watch, DWORD size, agent_changed *changed, void *user)
{
	uint8_t *copy = malloc(size + 1);
	if (size == 0 || !copy) {
		free(copy);
		bool asked = ask(watch);
		changed(user, (hob_str){0});
		return asked;
	}
	/* Requests the next events before handling these. */
	memcpy(copy, watch->bytes, size);
	bool asked = ask(watch);
	for (size_t at = 0;;) {
		const FILE_NOTIFY_INFORMATION *info = (const FILE_NOTIFY_INFORMATION *)(const void *)(copy + at);
		hob_own_buf path = {0}, spelled = {0};
		if (agent_put_narrow(&path, info->FileName, info->FileNameLength / sizeof(wchar_t))) {
			changed(user, hob_buf_str(&path));
			/* Windows may tell a short name, or the case that a program wrote. */
			if (!agent_spelled(watch->root, hob_buf_str(&path), &spelled) && !spelled.failed)
				changed(user, hob_buf_str(&spelled));
		}
		if (info->NextEntryOffset == 0)
			break;
		at += info->NextEntryOffset;
	}
	free(copy);
	return asked;
}

bool agent_watch_wait(agent_watch *watch, uint32_t ms, agent_changed *changed, void *user)
{
	DWORD size = 0;
	if (WaitForSingleObject(watch->event, ms) != WAIT_OBJECT_0)
		return true;
	bool good = GetOverlappedResult(watch->folder, &watch->pending, &size, FALSE);
	ResetEvent(watch->event);
	return good && take(watch, size, changed, user);
}
