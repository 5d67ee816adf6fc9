#include "answer.h"

void srv_control_put_error(hob_buf *body, const char *code, const char *detail)
{
	hob_buf_printf(body, "{\"code\":\"%s\",\"detail\":", code);
	hob_buf_put_json(body, hob_str_of(detail));
	hob_buf_put(body, "}", 1);
}

void srv_control_answer(srv_control *control, int status, const char *code, const char *detail)
{
	hob_own_buf body = {0};
	srv_control_put_error(&body, code, detail);
	control->answer(control, status, hob_buf_str(&body));
}

void srv_control_refuse(srv_control *control, int status, const hob_error *error)
{
	srv_control_answer(control, status > 0 ? status : hob_err_http(error->code), hob_err_name(error->code),
					   error->context);
}

bool srv_control_lists(hob_str list, hob_str between, hob_str word)
{
	for (size_t i = 0, end; list.len > 0 && i <= list.len; i = end + 1) {
		end = hob_str_find(list, between, i);
		if (end == SIZE_MAX)
			end = list.len;
		if (hob_str_equal(hob_str_sub(list, i, end), word))
			return true;
	}
	return list.len == 0;
}

void srv_control_accept(srv_control *control, uint64_t job)
{
	hob_own_buf body = {0};
	hob_buf_printf(&body, "{\"job\":%llu}", (unsigned long long)job);
	control->answer(control, 202, hob_buf_str(&body));
}
