/* windows_edits.c: changes files as programs on Windows do, for test_agent_windows.py, under Wine.
 *
 * Reads commands from the standard input, a line each with fields between tabs, and prints "ok" or "error N"
 * after each. Paths are UTF-8; they may be longer than 260 characters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <wincrypt.h>
#include <winioctl.h>

enum { LINE = 65536, HELD = 8 };

static HANDLE held[HELD];

/* \\?\C:\a\b from C:/a/b; "%XXXX" in a name is one UTF-16 unit, so that halves of pairs can be named. */
static wchar_t *wide(const char *path)
{
	static wchar_t texts[4][LINE];
	static int turn;
	wchar_t *out = texts[turn++ % 4], *to = out + 4;
	wcscpy(out, L"\\\\?\\");
	MultiByteToWideChar(CP_UTF8, 0, path, -1, to, LINE - 4);
	wchar_t *at = to;
	for (const wchar_t *from = to; *from; at++)
		if (*from == L'%') {
			wchar_t digits[5] = {from[1], from[2], from[3], from[4], 0};
			*at = (wchar_t)wcstoul(digits, NULL, 16);
			from += 5;
		} else {
			*at = *from == L'/' ? L'\\' : *from;
			from++;
		}
	*at = 0;
	return out;
}

static BOOL put(HANDLE file, const char *text)
{
	DWORD wrote;
	return WriteFile(file, text, (DWORD)strlen(text), &wrote, NULL);
}

/* The agent looks whether somebody writes by an open that lets nobody write: an instant on Windows, but
 * milliseconds under Wine, whose server passes each call on. */
static HANDLE create(const char *path, DWORD share)
{
	for (int tries = 0;; tries++) {
		HANDLE file =
			CreateFileW(wide(path), GENERIC_WRITE, share, NULL, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
		if (file != INVALID_HANDLE_VALUE || GetLastError() != ERROR_SHARING_VIOLATION || tries == 20)
			return file;
		Sleep(5);
	}
}

static BOOL save(const char *path, const char *text)
{
	HANDLE file = create(path, FILE_SHARE_READ);
	BOOL ok = file != INVALID_HANDLE_VALUE && put(file, text);
	if (file != INVALID_HANDLE_VALUE)
		CloseHandle(file);
	return ok;
}

static BOOL copy(const char *from, const char *to)
{
	static char bytes[LINE];
	DWORD got = 0, wrote;
	HANDLE in = CreateFileW(wide(from), GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
	HANDLE out = create(to, FILE_SHARE_READ);
	BOOL ok = in != INVALID_HANDLE_VALUE && out != INVALID_HANDLE_VALUE;
	do
		ok = ok && ReadFile(in, bytes, sizeof bytes, &got, NULL) && WriteFile(out, bytes, got, &wrote, NULL);
	while (ok && got);
	CloseHandle(in);
	return CloseHandle(out) && ok;
}

static BOOL junction(const char *path, const char *target)
{
	struct {
		DWORD tag;
		WORD length, reserved, substitute, substitute_length, print, print_length;
		wchar_t text[2048];
	} data = {.tag = IO_REPARSE_TAG_MOUNT_POINT};
	const wchar_t *full = wide(target) + 4;
	int size = swprintf(data.text, 2000, L"\\??\\%ls", full);
	data.substitute_length = (WORD)(size * 2);
	data.print = (WORD)(size * 2 + 2);
	data.length = (WORD)(8 + size * 2 + 4);
	DWORD got;
	if (!CreateDirectoryW(wide(path), NULL))
		return FALSE;
	HANDLE folder = CreateFileW(wide(path), GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
								FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	BOOL ok = DeviceIoControl(folder, FSCTL_SET_REPARSE_POINT, &data, 8 + data.length, NULL, 0, &got, NULL);
	CloseHandle(folder);
	return ok;
}

/* Adds a certificate, DER in hexadecimal digits, to those that the user trusts, as certmgr does. */
static BOOL trust(const char *digits)
{
	static BYTE bytes[LINE / 2];
	DWORD size = 0;
	for (unsigned value; size < sizeof bytes && sscanf(digits, "%2x", &value) == 1; digits += 2)
		bytes[size++] = (BYTE)value;
	HCERTSTORE store = CertOpenSystemStoreW(0, L"ROOT");
	BOOL ok = store && CertAddEncodedCertificateToStore(store, X509_ASN_ENCODING, bytes, size,
														CERT_STORE_ADD_REPLACE_EXISTING, NULL);
	return ok && CertCloseStore(store, 0);
}

static BOOL run(char **f, int count)
{
	const char *verb = f[0], *a = count > 1 ? f[1] : "", *b = count > 2 ? f[2] : "";
	int slot = atoi(b) % HELD;
	if (strcmp(verb, "save") == 0) /* PATH TEXT */
		return save(a, b);
	if (strcmp(verb, "copy") == 0) /* FROM TO, which may exist */
		return copy(a, b);
	if (strcmp(verb, "mkdir") == 0)
		return CreateDirectoryW(wide(a), NULL) || GetLastError() == ERROR_ALREADY_EXISTS;
	if (strcmp(verb, "move") == 0) /* FROM TO, which may exist */
		return MoveFileExW(wide(a), wide(b), MOVEFILE_REPLACE_EXISTING);
	if (strcmp(verb, "replace") == 0) /* PATH NEW BACKUP: ReplaceFile, as Office and Photoshop */
		return ReplaceFileW(wide(a), wide(b), count > 3 && f[3][0] ? wide(f[3]) : NULL, 0, NULL, NULL);
	if (strcmp(verb, "delete") == 0)
		return DeleteFileW(wide(a));
	if (strcmp(verb, "rmdir") == 0)
		return RemoveDirectoryW(wide(a));
	if (strcmp(verb, "readonly") == 0)
		return SetFileAttributesW(wide(a), b[0] == '1' ? FILE_ATTRIBUTE_READONLY : FILE_ATTRIBUTE_NORMAL);
	if (strcmp(verb, "begin") ==
		0) /* PATH SLOT TEXT: leaves the file open for writing, which others may read */
		return (held[slot] = create(a, FILE_SHARE_READ | FILE_SHARE_WRITE)) != INVALID_HANDLE_VALUE &&
			   put(held[slot], f[3]) && FlushFileBuffers(held[slot]);
	if (strcmp(verb, "lock") == 0) /* PATH SLOT: nobody else may open it */
		return (held[slot] = CreateFileW(wide(a), GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL)) !=
			   INVALID_HANDLE_VALUE;
	if (strcmp(verb, "end") == 0) /* TEXT SLOT: of begin or lock */
		return (!a[0] || put(held[slot], a)) && CloseHandle(held[slot]);
	if (strcmp(verb, "trust") == 0)
		return trust(a);
	if (strcmp(verb, "junction") == 0)
		return junction(a, b);
	SetLastError(ERROR_INVALID_FUNCTION);
	return FALSE;
}

int main(void)
{
	static char line[LINE];
	while (fgets(line, sizeof line, stdin)) {
		char *fields[8] = {line};
		int count = 1;
		line[strcspn(line, "\r\n")] = 0;
		for (char *c = line; *c && count < 8; c++)
			if (*c == '\t') {
				*c = 0;
				fields[count++] = c + 1;
			}
		if (run(fields, count))
			puts("ok");
		else
			printf("error %lu\n", GetLastError());
		fflush(stdout);
	}
	return 0;
}
