#include "sys.h"

#include "wide.h"
#include "windows_names.h"

#include <shellapi.h>
#include <stdio.h>
#include <stdlib.h>

/* Times are 100 ns since 1601. */
static const int64_t epoch_ticks = 116444736000000000;

struct sys_file {
	HANDLE handle;
};

/* ---- texts and paths */

wchar_t *agent_wide_text(hob_str text)
{
	int size = text.len > 0
				   ? MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data, (int)text.len, NULL, 0)
				   : 0;
	wchar_t *wide = calloc((size_t)size + 1, sizeof *wide);
	if (!wide || (text.len > 0 && size == 0)) {
		free(wide);
		return NULL;
	}
	if (size > 0)
		MultiByteToWideChar(CP_UTF8, 0, text.data, (int)text.len, wide, size);
	return wide;
}

wchar_t *agent_wide_path(const char *folder, hob_str path)
{
	hob_own_buf text = {0};
	agent_put_long_path(&text, folder, path);
	return text.failed ? NULL : agent_wide_text(hob_buf_str(&text));
}

bool agent_put_narrow(hob_buf *out, const wchar_t *text, size_t length)
{
	wchar_t composed[1024];
	int size =
		length > 0 && length < 512 ? NormalizeString(NormalizationC, text, (int)length, composed, 1024) : 0;
	return size > 0 ? agent_put_utf16(out, composed, (size_t)size) : agent_put_utf16(out, text, length);
}

/* ---- looking */

static int64_t unix_ns(FILETIME time)
{
	int64_t ticks = (int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime);
	return (ticks - epoch_ticks) * 100;
}

static sys_kind kind_of(const WIN32_FIND_DATAW *found)
{
	return agent_kind_of(found->dwFileAttributes, found->dwReserved0);
}

static sys_stat stat_of(const WIN32_FIND_DATAW *found)
{
	return (sys_stat){.size = (uint64_t)found->nFileSizeHigh << 32 | found->nFileSizeLow,
					  .mtime_ns = unix_ns(found->ftLastWriteTime),
					  .ctime_ns = unix_ns(found->ftCreationTime)};
}

static bool find_name(const wchar_t *path, WIN32_FIND_DATAW *found)
{
	HANDLE search = FindFirstFileW(path, found);
	if (search != INVALID_HANDLE_VALUE)
		FindClose(search);
	return search != INVALID_HANDLE_VALUE;
}

/* Appends a name to a path of `used` units, as it is or else decomposed, as Macs write it. The path then has
 * it as the disk spells it: with its case, and not the short name of DOS. */
static bool add_name(wchar_t path[WIDE_PATH], size_t *used, hob_str name, WIN32_FIND_DATAW *found)
{
	hob_own wchar_t *wide = agent_wide_text(name);
	wchar_t other[512];
	size_t length = wide ? wcslen(wide) : 0;
	bool fits = length > 0 && length < 256 && *used + 600 < WIDE_PATH, there = false;
	path[*used] = L'\\';
	if (fits) {
		wcscpy(path + *used + 1, wide);
		there = find_name(path, found);
		int size = there ? 0 : NormalizeString(NormalizationD, wide, (int)length, other, 511);
		if (size > 0) {
			other[size] = 0;
			wcscpy(path + *used + 1, other);
			there = find_name(path, found);
		}
	}
	if (there) {
		wcscpy(path + *used + 1, found->cFileName);
		*used += 1 + wcslen(found->cFileName);
	}
	path[*used] = 0;
	return there;
}

/* The path on the disk, for free(), or NULL. `spelled`: its names as on the disk, missing ones as given. */
static wchar_t *find_path(const char *folder, hob_str path, hob_buf *spelled, WIN32_FIND_DATAW *found)
{
	hob_own wchar_t *base = agent_wide_path(folder, (hob_str){0});
	wchar_t *out = calloc(WIDE_PATH, sizeof *out);
	size_t used = base ? wcslen(base) : 0;
	bool there = base && out && used + 600 < WIDE_PATH;
	if (there)
		wcscpy(out, base);
	for (size_t from = 0, to; from < path.len; from = to + 1) {
		to = hob_str_find(path, HOB_STR("/"), from);
		to = to == SIZE_MAX ? path.len : to;
		hob_str name = hob_str_sub(path, from, to);
		there = there && add_name(out, &used, name, found);
		hob_buf_printf(spelled, "%s", from > 0 ? "/" : "");
		if (there)
			there = agent_put_narrow(spelled, found->cFileName, wcslen(found->cFileName));
		else
			hob_buf_put_str(spelled, name);
	}
	if (there)
		return out;
	free(out);
	return NULL;
}

bool agent_spelled(const char *folder, hob_str path, hob_buf *out)
{
	WIN32_FIND_DATAW found;
	free(find_path(folder, path, out, &found));
	return !out->failed && hob_str_equal(hob_buf_str(out), path);
}

static bool is_gone(DWORD code)
{
	return code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND || code == ERROR_INVALID_NAME ||
		   code == ERROR_DIRECTORY;
}

sys_kind sys_look(const char *folder, hob_str path, sys_stat *out)
{
	WIN32_FIND_DATAW found;
	if (path.len == 0) {
		hob_own wchar_t *wide = agent_wide_path(folder, path);
		DWORD attributes = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
		return attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY ? SYS_FOLDER
																							  : SYS_NONE;
	}
	hob_own_buf spelled = {0};
	SetLastError(ERROR_FILE_NOT_FOUND);
	hob_own wchar_t *wide = find_path(folder, path, &spelled, &found);
	bool gone = wide || is_gone(GetLastError()), same = wide && hob_str_equal(hob_buf_str(&spelled), path);
	if (!same)
		return gone ? SYS_NONE : SYS_UNKNOWN;
	if (out)
		*out = stat_of(&found);
	return kind_of(&found);
}

bool sys_list(const char *folder, hob_str path, sys_item *item, void *user)
{
	WIN32_FIND_DATAW found;
	hob_own_buf spelled = {0};
	hob_own wchar_t *wide = find_path(folder, path, &spelled, &found);
	if (!wide)
		return false;
	HANDLE search = FindFirstFileW(wcscat(wide, L"\\*"), &found);
	if (search == INVALID_HANDLE_VALUE)
		return GetLastError() == ERROR_FILE_NOT_FOUND;
	do {
		hob_own_buf name = {0};
		bool good = agent_put_narrow(&name, found.cFileName, wcslen(found.cFileName));
		sys_stat stat = stat_of(&found);
		hob_str text = good ? hob_buf_str(&name) : HOB_STR("?");
		if (!hob_str_equal(text, HOB_STR(".")) && !hob_str_equal(text, HOB_STR("..")))
			item(user, text, kind_of(&found), &stat, good ? NULL : "is not valid Unicode");
	} while (FindNextFileW(search, &found));
	bool ok = GetLastError() == ERROR_NO_MORE_FILES;
	FindClose(search);
	return ok;
}

/* ---- reading */

static HANDLE open_to_read(const wchar_t *path, DWORD share)
{
	return CreateFileW(path, GENERIC_READ, share, NULL, OPEN_EXISTING, FILE_FLAG_SEQUENTIAL_SCAN, NULL);
}

/* A file that is being saved cannot be opened without letting others write: that is tried, and let go
 * at once, because nobody could save while it is held. */
sys_file *sys_open(const char *folder, hob_str path, bool *locked)
{
	WIN32_FIND_DATAW found;
	hob_own_buf spelled = {0};
	hob_own wchar_t *wide = find_path(folder, path, &spelled, &found);
	bool is_file = wide && kind_of(&found) == SYS_FILE && hob_str_equal(hob_buf_str(&spelled), path);
	HANDLE handle = is_file ? open_to_read(wide, FILE_SHARE_READ | FILE_SHARE_DELETE) : INVALID_HANDLE_VALUE;
	DWORD code = GetLastError();
	if (handle != INVALID_HANDLE_VALUE) {
		CloseHandle(handle);
		handle = open_to_read(wide, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE);
		code = GetLastError();
	}
	sys_file *file = handle != INVALID_HANDLE_VALUE ? malloc(sizeof *file) : NULL;
	*locked = is_file && !file && !is_gone(code);
	if (file)
		file->handle = handle;
	return file;
}

bool sys_stat_open(sys_file *file, sys_stat *out)
{
	BY_HANDLE_FILE_INFORMATION info;
	if (!GetFileInformationByHandle(file->handle, &info))
		return false;
	*out = (sys_stat){.size = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow,
					  .mtime_ns = unix_ns(info.ftLastWriteTime),
					  .ctime_ns = unix_ns(info.ftCreationTime)};
	return true;
}

bool sys_seek(sys_file *file, uint64_t to)
{
	LARGE_INTEGER at = {.QuadPart = (LONGLONG)to};
	return SetFilePointerEx(file->handle, at, NULL, FILE_BEGIN);
}

int64_t sys_read(sys_file *file, void *out, size_t room)
{
	DWORD got = 0;
	return ReadFile(file->handle, out, room > 1 << 30 ? 1 << 30 : (DWORD)room, &got, NULL) ? (int64_t)got
																						   : -1;
}

void sys_close(sys_file *file)
{
	CloseHandle(file->handle);
	free(file);
}

void sys_who(char *out, size_t room)
{
	wchar_t user[256] = L"user", host[256] = L"machine";
	DWORD user_size = 256, host_size = 256;
	hob_own_buf text = {0};
	GetUserNameW(user, &user_size);
	GetComputerNameW(host, &host_size);
	bool good = agent_put_narrow(&text, user, wcslen(user));
	hob_buf_put(&text, "@", 1);
	good = agent_put_narrow(&text, host, wcslen(host)) && good;
	snprintf(out, room, "%.*s", good ? (int)text.size : 4, good ? (const char *)text.data : "user");
}

/* ---- own files */

bool sys_state_folder(char *out, size_t room)
{
	wchar_t value[2048];
	hob_own_buf text = {0};
	DWORD size = GetEnvironmentVariableW(L"HOB_AGENT_STATE", value, 2048);
	bool own = size > 0 && size < 2048;
	if (!own)
		size = GetEnvironmentVariableW(L"LOCALAPPDATA", value, 2048);
	bool ok = size > 0 && size < 2048 && agent_put_narrow(&text, value, size);
	if (ok)
		snprintf(out, room, "%.*s%s", HOB_FMT(hob_buf_str(&text)), own ? "" : "/hob-agent");
	hob_own wchar_t *wide = ok ? agent_wide_text(hob_str_of(out)) : NULL;
	ok = wide && (CreateDirectoryW(wide, NULL) || GetLastError() == ERROR_ALREADY_EXISTS);
	return ok && sys_whole_path(out, out, room);
}

static HANDLE open_own(const char *path, DWORD access, DWORD share, DWORD how)
{
	hob_own wchar_t *wide = agent_wide_text(hob_str_of(path));
	return wide ? CreateFileW(wide, access, share, NULL, how, FILE_ATTRIBUTE_NORMAL, NULL)
				: INVALID_HANDLE_VALUE;
}

bool sys_read_whole(const char *path, hob_buf *out)
{
	sys_file file = {
		open_own(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, OPEN_EXISTING)};
	char bytes[16384];
	int64_t got = file.handle == INVALID_HANDLE_VALUE ? -1 : 1;
	while (got > 0 && (got = sys_read(&file, bytes, sizeof bytes)) > 0)
		hob_buf_put(out, bytes, (size_t)got);
	if (file.handle != INVALID_HANDLE_VALUE)
		CloseHandle(file.handle);
	return got == 0 && !out->failed;
}

bool sys_replace(const char *path, hob_bytes bytes)
{
	char temporary[4096];
	DWORD wrote = 0;
	snprintf(temporary, sizeof temporary, "%s.new", path);
	HANDLE handle = open_own(temporary, GENERIC_WRITE, 0, CREATE_ALWAYS);
	bool ok = handle != INVALID_HANDLE_VALUE &&
			  (bytes.size == 0 || WriteFile(handle, bytes.data, (DWORD)bytes.size, &wrote, NULL)) &&
			  wrote == bytes.size;
	if (handle != INVALID_HANDLE_VALUE)
		CloseHandle(handle);
	hob_own wchar_t *from = agent_wide_text(hob_str_of(temporary)), *to = agent_wide_text(hob_str_of(path));
	return ok && from && to && MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING);
}

bool sys_lock(const char *path)
{
	char folder[4096];
	const char *slash = strrchr(path, '/');
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 0, path);
	hob_own wchar_t *wide = agent_wide_text(hob_str_of(folder));
	if (wide)
		CreateDirectoryW(wide, NULL);
	/* No other process can open it; kept open until the process ends. */
	return open_own(path, GENERIC_WRITE, 0, OPEN_ALWAYS) != INVALID_HANDLE_VALUE;
}

bool sys_whole_path(const char *path, char *out, size_t room)
{
	wchar_t full[4096];
	hob_own wchar_t *wide = agent_wide_text(hob_str_of(path));
	DWORD size = wide ? GetFullPathNameW(wide, 4096, full, NULL) : 0;
	hob_own_buf text = {0};
	DWORD attributes = size > 0 && size < 4096 ? GetFileAttributesW(full) : INVALID_FILE_ATTRIBUTES;
	bool ok = attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY &&
			  agent_put_narrow(&text, full, size) && text.size < room;
	while (ok && text.size > 0 && text.data[text.size - 1] == '/')
		text.size--;
	if (ok)
		snprintf(out, room, "%.*s", HOB_FMT(hob_buf_str(&text)));
	return ok;
}

void sys_begin(int *argc, char ***argv)
{
	static char *none[] = {NULL};
	int count;
	wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
	char **texts = wide ? calloc((size_t)count + 1, sizeof *texts) : NULL;
	SetConsoleOutputCP(CP_UTF8);
	for (int i = 0; texts && i < count; i++) {
		int size = WideCharToMultiByte(CP_UTF8, 0, wide[i], -1, NULL, 0, NULL, NULL);
		texts[i] = calloc((size_t)size + 1, 1);
		if (texts[i])
			WideCharToMultiByte(CP_UTF8, 0, wide[i], -1, texts[i], size, NULL, NULL);
	}
	*argc = texts ? count : 0;
	*argv = texts ? texts : none;
	LocalFree(wide);
}
