/* memmem.h - functions missing in mingw's C library; agent_windows.sh includes it before every file. */
#ifndef AGENT_MEMMEM_H
#define AGENT_MEMMEM_H

#include <string.h>

static inline void *memmem(const void *text, size_t size, const void *what, size_t length)
{
	for (size_t i = 0; length <= size && i <= size - length; i++)
		if (memcmp((const char *)text + i, what, length) == 0)
			return (void *)((const char *)text + i);
	return NULL;
}

#endif
