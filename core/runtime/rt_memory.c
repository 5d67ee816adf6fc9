#include "rt_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hob_rt_fail(hob_rt_error *error, hob_rt_code code, const char *fmt, ...)
{
	if (!error)
		return false;
	va_list args;
	va_start(args, fmt);
	error->code = code;
	vsnprintf(error->text, sizeof error->text, fmt, args);
	va_end(args);
	return false;
}

bool hob_rt_fail_in(hob_rt_error *error, const char *what, uint32_t index)
{
	if (error) {
		size_t used = strlen(error->text);
		snprintf(error->text + used, sizeof error->text - used, " (%s %u)", what, index);
	}
	return false;
}

void *hob_rt_take(rt_memory *memory, uint64_t count, size_t size)
{
	size_t at = (memory->used + 15) & ~(size_t)15;
	if (at < memory->used || count > (SIZE_MAX - at) / size) {
		memory->failed = true;
		return NULL;
	}
	memory->used = at + (size_t)count * size;
	return memory->base ? memory->base + at : NULL;
}

void *hob_rt_allocate(const hob_rt_options *options, size_t size)
{
	void *memory =
		options->allocate ? options->allocate(options->user, size ? size : 1) : malloc(size ? size : 1);
	if (memory)
		memset(memory, 0, size);
	return memory;
}

void hob_rt_release(const hob_rt_options *options, void *memory)
{
	if (!memory)
		return;
	if (options->allocate)
		options->release(options->user, memory);
	else
		free(memory);
}
