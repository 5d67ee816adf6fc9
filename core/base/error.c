#include "base.h"

#include <stdio.h>

static const struct {
	const char *name;
	int http;
} error_table[] = {
#define HOB_ERR(name, text, http, meaning) {text, http},
#include "../../schema/errors.def"
#undef HOB_ERR
};

const char *hob_err_name(hob_err_code code)
{
	return code < HOB_ERR_COUNT ? error_table[code].name : "internal";
}

int hob_err_http(hob_err_code code)
{
	return code < HOB_ERR_COUNT ? error_table[code].http : 500;
}

bool hob_error_set(hob_error *err, hob_err_code code, const char *file, int line, const char *fmt, ...)
{
	if (!err)
		return false;
	/* Formatted to a copy first: an argument may point into err->context. */
	char text[sizeof err->context];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	err->code = code;
	err->file = file;
	err->line = line;
	memcpy(err->context, text, sizeof text);
	return false;
}

bool hob_error_append(hob_error *err, const char *fmt, ...)
{
	if (!err || err->code == HOB_ERR_MISSING_FILE)
		return false;
	size_t used = strlen(err->context);
	if (used + 3 < sizeof err->context) {
		memcpy(err->context + used, "; ", 3);
		va_list args;
		va_start(args, fmt);
		vsnprintf(err->context + used + 2, sizeof err->context - used - 2, fmt, args);
		va_end(args);
	}
	return false;
}
