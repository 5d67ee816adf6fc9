/* windows_rules.c: what the agent makes of names and attributes that Wine cannot make on a disk. For
 * test_agent_windows.py, under Wine. */
#include "server/agent/sys_win32.c"

#include "core/base/portable.h"

static int failures;

static void expect(bool holds, const char *what)
{
	failures += !holds;
	if (!holds)
		printf("FAILED: %s\n", what);
}

static bool narrow_is(const wchar_t *wide, const char *narrow)
{
	hob_buf out = {0};
	bool good = agent_put_narrow(&out, wide, wcslen(wide));
	bool same =
		narrow ? good && hob_str_equal(hob_buf_str(&out), hob_str_of(narrow)) : !good && out.size == 0;
	hob_buf_release(&out);
	return same;
}

static bool wide_is(const char *folder, const char *path, const wchar_t *want)
{
	wchar_t *wide = agent_wide_path(folder, hob_str_of(path));
	bool same = want ? wide && wcscmp(wide, want) == 0 : !wide;
	free(wide);
	return same;
}

static sys_kind kind(DWORD attributes, DWORD tag)
{
	return kind_of(&(WIN32_FIND_DATAW){.dwFileAttributes = attributes, .dwReserved0 = tag});
}

int main(void)
{
	/* Names: a half of a pair cannot be sent, wherever it stands; a whole pair can; NFC. */
	expect(narrow_is(L"\xD83D", NULL), "the first half of a pair");
	expect(narrow_is(L"\xDE00", NULL), "the second half of a pair");
	expect(narrow_is(L"a\xDE00\xD83D.txt", NULL), "halves in the wrong order");
	expect(narrow_is(L"a\xD83D.txt", NULL), "a half before a name's ending");
	expect(narrow_is(L"\xD83D\xDE00", "\xF0\x9F\x98\x80"), "a pair");
	expect(narrow_is(L"o\x0308", "\xC3\xB6"), "a letter and its dots become one");
	expect(narrow_is(L"props\\duck.fbx", "props/duck.fbx"), "separators");
	expect(narrow_is(L"", ""), "no name");
	/* Paths: the form without a limit of length, for drives and shares. */
	expect(wide_is("C:/art", "a/b.fbx", L"\\\\?\\C:\\art\\a\\b.fbx"), "a path on a drive");
	expect(wide_is("//studio/art", "a.fbx", L"\\\\?\\UNC\\studio\\art\\a.fbx"), "a path on a share");
	expect(wide_is("C:/art", "", L"\\\\?\\C:\\art"), "the folder itself");
	expect(wide_is("C:/art", "\xFF", NULL), "no UTF-8");
	/* Attributes: links and junctions are links; a file that OneDrive keeps elsewhere is a file. */
	expect(kind(FILE_ATTRIBUTE_NORMAL, 0) == SYS_FILE, "a file");
	expect(kind(FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_ARCHIVE, 0) == SYS_FILE, "a read-only file");
	expect(kind(FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_HIDDEN, 0) == SYS_FOLDER, "a hidden folder");
	expect(kind(FILE_ATTRIBUTE_DEVICE, 0) == SYS_OTHER, "a device");
	for (int folder = 0; folder < 2; folder++) {
		DWORD attributes = FILE_ATTRIBUTE_REPARSE_POINT | (folder ? FILE_ATTRIBUTE_DIRECTORY : 0);
		expect(kind(attributes, IO_REPARSE_TAG_MOUNT_POINT) == SYS_LINK, "a junction or a mounted drive");
		expect(kind(attributes, IO_REPARSE_TAG_SYMLINK) == SYS_LINK, "a symbolic link");
		expect(kind(attributes, 0x80000013) == (folder ? SYS_FOLDER : SYS_FILE), "a deduplicated file");
		expect(kind(attributes, 0x9000001A) == (folder ? SYS_FOLDER : SYS_FILE), "a file of OneDrive");
	}
	/* Names that one of the two systems cannot hold: hob_path_unportable is the same code on both. */
	static const char *const bad[] = {"con", "CON.obj", "aux.", "nul.tar.gz", "Lpt9", "COM\xC2\xB9.x",
									  "a:b", "a?b",		"a.",	"a ",		  "a\tb", "\xFF"};
	static const char *const good[] = {"console", "com10",	  "lpt", "a.b.c",
									   ".hidden", "\xC3\xB6", "a b", "nul-1"};
	for (size_t i = 0; i < HOB_COUNT_OF(bad); i++)
		expect(hob_path_unportable(hob_str_of(bad[i])) != NULL, bad[i]);
	for (size_t i = 0; i < HOB_COUNT_OF(good); i++)
		expect(hob_path_unportable(hob_str_of(good[i])) == NULL, good[i]);
	puts(failures ? "not all hold" : "all hold");
	return failures > 0;
}
