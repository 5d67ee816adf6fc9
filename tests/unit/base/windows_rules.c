/* hob-agent's rules for names and attributes of Windows, also of those that Wine cannot make on a disk. A
 * program for both systems: test_agent_windows.py builds it for Windows too, and runs it under Wine. */
#ifdef _WIN32
#include "server/agent/sys_win32.c"
#endif

#include "core/base/portable.h"
#include "server/agent/windows_names.h"

#include <stdio.h>
#include <uchar.h>

static int failures;

static void expect(bool holds, const char *what)
{
	failures += !holds;
	if (!holds)
		printf("FAILED: %s\n", what);
}

static bool narrow_is(const char16_t *wide, const char *narrow)
{
	hob_buf out = {0};
	size_t length = 0;
	while (wide[length])
		length++;
	bool good = agent_put_utf16(&out, wide, length);
	bool same =
		narrow ? good && hob_str_equal(hob_buf_str(&out), hob_str_of(narrow)) : !good && out.size == 0;
	hob_buf_release(&out);
	return same;
}

static bool path_is(const char *folder, const char *path, const char *want)
{
	hob_buf out = {0};
	agent_put_long_path(&out, folder, hob_str_of(path));
	bool same = hob_str_equal(hob_buf_str(&out), hob_str_of(want));
	hob_buf_release(&out);
	return same;
}

int main(void)
{
	/* Names: a half of a pair cannot be sent, wherever it stands; a whole pair can; NFC. */
	expect(narrow_is(u"\xD83D", NULL), "the first half of a pair");
	expect(narrow_is(u"\xDE00", NULL), "the second half of a pair");
	expect(narrow_is(u"a\xDE00\xD83D.txt", NULL), "halves in the wrong order");
	expect(narrow_is(u"a\xD83D.txt", NULL), "a half before a name's ending");
	expect(narrow_is(u"\xD83D\xDE00", "\xF0\x9F\x98\x80"), "a pair");
	/* Every code point, alone, is valid UTF-8 and comes back; every half alone is refused. */
	for (uint32_t c = 1; c < 0x110000; c++) {
		char16_t text[3] = {(char16_t)c};
		if (c >= 0x10000) {
			text[0] = (char16_t)(0xD800 + ((c - 0x10000) >> 10));
			text[1] = (char16_t)(0xDC00 + ((c - 0x10000) & 0x3FF));
		}
		hob_buf out = {0};
		bool good = agent_put_utf16(&out, text, c >= 0x10000 ? 2 : 1), half = c >= 0xD800 && c < 0xE000;
		size_t bytes = half ? 0 : c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		if (good == half || out.size != bytes || !hob_utf8_valid(hob_buf_str(&out)))
			expect(false, "a code point");
		hob_buf_release(&out);
	}
	expect(narrow_is(u"props\\duck.fbx", "props/duck.fbx"), "separators");
	expect(narrow_is(u"", ""), "no name");
	/* Paths: the form without a limit of length, for drives and shares. */
	expect(path_is("C:/art", "a/b.fbx", "\\\\?\\C:\\art\\a\\b.fbx"), "a path on a drive");
	expect(path_is("//studio/art", "a.fbx", "\\\\?\\UNC\\studio\\art\\a.fbx"), "a path on a share");
	expect(path_is("C:/art", "", "\\\\?\\C:\\art"), "the folder itself");
	/* Attributes: links and junctions are links; a file that OneDrive keeps elsewhere is a file. */
	expect(agent_kind_of(0x80, 0) == SYS_FILE, "a file");
	expect(agent_kind_of(0x1 | 0x20, 0) == SYS_FILE, "a read-only file");
	expect(agent_kind_of(0x10 | 0x2, 0) == SYS_FOLDER, "a hidden folder");
	expect(agent_kind_of(0x40, 0) == SYS_OTHER, "a device");
	for (int folder = 0; folder < 2; folder++) {
		uint32_t attributes = 0x400 | (folder ? 0x10 : 0);
		expect(agent_kind_of(attributes, 0xA0000003) == SYS_LINK, "a junction or a mounted drive");
		expect(agent_kind_of(attributes, 0xA000000C) == SYS_LINK, "a symbolic link");
		expect(agent_kind_of(attributes, 0x80000013) == (folder ? SYS_FOLDER : SYS_FILE),
			   "a deduplicated file");
		expect(agent_kind_of(attributes, 0x9000001A) == (folder ? SYS_FOLDER : SYS_FILE),
			   "a file of OneDrive");
	}
#ifdef _WIN32
	hob_buf composed = {0};
	expect(agent_put_narrow(&composed, L"o\x0308", 2) &&
			   hob_str_equal(hob_buf_str(&composed), HOB_STR("\xC3\xB6")),
		   "a letter and its dots become one");
	expect(!agent_put_narrow(&composed, L"\xD83D", 1) && !agent_wide_path("C:/art", HOB_STR("\xFF")),
		   "no Unicode");
	hob_buf_release(&composed);
	expect(FILE_ATTRIBUTE_DIRECTORY == 0x10 && FILE_ATTRIBUTE_DEVICE == 0x40 &&
			   FILE_ATTRIBUTE_REPARSE_POINT == 0x400 && IO_REPARSE_TAG_MOUNT_POINT == 0xA0000003 &&
			   IO_REPARSE_TAG_SYMLINK == 0xA000000C,
		   "the numbers of Windows");
#endif
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
