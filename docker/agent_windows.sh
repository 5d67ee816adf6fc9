#!/bin/sh
# agent_windows.sh OUT.exe: builds hob-agent for Windows with Debian's gcc-mingw-w64-x86-64; only DLLs of Windows itself.
set -e
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(.*VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
agent=server/agent base=core/base
x86_64-w64-mingw32-gcc -std=gnu11 -O2 -s -Wall -Wextra -Werror -Wno-format -Wno-format-extra-args -D__USE_MINGW_ANSI_STDIO=1 -D_WIN32_WINNT=0x0601 \
	-include $agent/memmem.h -DUNICODE -D_UNICODE -DHOB_VERSION="\"$version\"" -static -o "$1" \
	$agent/agent_main.c $agent/agent_tree.c $agent/agent_sync.c $agent/agent_news.c \
	core/client/client_events.c core/hash/digest.c server/fs/listing.c $agent/sys_win32.c $agent/watch_win32.c $agent/hash_win32.c $agent/fetch.c $agent/connection_win32.c \
	$base/error.c $base/ignore_lines.c $base/json.c $base/json_write.c $base/memory.c $base/path.c $base/portable.c $base/str.c $base/note.c \
	-lpthread -lwinhttp -lbcrypt -lnormaliz -lshell32 -ladvapi32
