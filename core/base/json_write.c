#include "json_write.h"

#include <inttypes.h>

static void comma(hob_buf *out)
{
	if (out->failed || out->size == 0)
		return;
	uint8_t last = out->data[out->size - 1];
	if (last != '{' && last != '[' && last != ':' && last != '\n' && last != ' ')
		hob_buf_put(out, ",", 1);
}

void hob_json_open(hob_buf *out, char bracket)
{
	comma(out);
	hob_buf_put(out, &bracket, 1);
}

void hob_json_close(hob_buf *out, char bracket)
{
	hob_buf_put(out, &bracket, 1);
}

void hob_json_key(hob_buf *out, const char *name)
{
	comma(out);
	hob_buf_printf(out, "\"%s\":", name);
}

void hob_json_str(hob_buf *out, hob_str value)
{
	comma(out);
	hob_buf_put_json(out, value);
}

void hob_json_u64(hob_buf *out, uint64_t value)
{
	comma(out);
	hob_buf_printf(out, "%" PRIu64, value);
}

void hob_json_bool(hob_buf *out, bool value)
{
	comma(out);
	hob_buf_put_str(out, value ? HOB_STR("true") : HOB_STR("false"));
}

void hob_json_null(hob_buf *out)
{
	comma(out);
	hob_buf_put_str(out, HOB_STR("null"));
}

void hob_json_raw(hob_buf *out, hob_str json)
{
	comma(out);
	hob_buf_put_str(out, json.len > 0 ? json : HOB_STR("null"));
}

/* Converts days since 1970 to a date of the Gregorian calendar. Years start in March, so that a leap day is
 * the last day of its year. Source: E. M. Reingold and N. Dershowitz, Calendrical Calculations, chapter 2. */
static void date_of(int64_t days, int *year, int *month, int *day)
{
	int64_t since = days + 719468; /* since 1 March of year 0 */
	int64_t era = since / 146097, in_era = since % 146097;
	int64_t years = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	int64_t in_year = in_era - (365 * years + years / 4 - years / 100);
	int64_t from_march = (5 * in_year + 2) / 153;
	*day = (int)(in_year - (153 * from_march + 2) / 5 + 1);
	*month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
	*year = (int)(years + era * 400 + (*month <= 2));
}

void hob_buf_put_time(hob_buf *out, int64_t unix_ms)
{
	int year, month, day;
	int64_t seconds = unix_ms / 1000, in_day = seconds % 86400;
	date_of(seconds / 86400, &year, &month, &day);
	hob_buf_printf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", year, month, day, (int)(in_day / 3600),
				   (int)(in_day / 60 % 60), (int)(in_day % 60), (int)(unix_ms % 1000));
}

void hob_json_time(hob_buf *out, int64_t unix_ms)
{
	if (unix_ms <= 0) {
		hob_json_null(out);
		return;
	}
	comma(out);
	hob_buf_put(out, "\"", 1);
	hob_buf_put_time(out, unix_ms);
	hob_buf_put(out, "\"", 1);
}

void hob_json_put_str(hob_buf *out, const char *name, hob_str value)
{
	hob_json_key(out, name);
	hob_json_str(out, value);
}

void hob_json_put_u64(hob_buf *out, const char *name, uint64_t value)
{
	hob_json_key(out, name);
	hob_json_u64(out, value);
}

void hob_json_members(hob_buf *out, const hob_json_member *m)
{
	for (; m->kind; m++) {
		if (m->name)
			hob_json_key(out, m->name);
		if (m->kind == 's' || (m->kind == 'q' && m->text.len > 0))
			hob_json_str(out, m->text);
		else if (m->kind == 'u')
			hob_json_u64(out, m->number);
		else if (m->kind == 'r')
			hob_json_raw(out, m->text);
		else if (m->kind == 't')
			hob_json_time(out, (int64_t)m->number);
		else if (m->kind == 'b')
			hob_json_bool(out, m->number != 0);
		else if (m->kind == 'm')
			hob_buf_printf(out, "%.3f", (double)m->number / 1e6);
		else if (m->kind == 'l')
			hob_buf_printf(out, "[%.*s]", HOB_FMT(m->text));
		else if (m->kind == 'n' || m->kind == 'q')
			hob_json_null(out);
		else if (m->kind == 'o')
			hob_json_open(out, (char)m->number);
		else if (m->kind == 'c')
			hob_json_close(out, (char)m->number);
		else if (m->kind == 'x')
			m->put(out, m->value);
	}
}
