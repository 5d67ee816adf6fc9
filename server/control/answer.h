/* answer.h - for everything that answers controls. The body of a refusal is {"code":...,"detail":...}; the
 * HTTP side makes a problem of it. */
#ifndef SRV_CONTROL_ANSWER_H
#define SRV_CONTROL_ANSWER_H

#include "control.h"

/* Appends the body. */
void srv_control_put_error(hob_buf *body, const char *code, const char *detail);
/* Answers with that body. */
void srv_control_answer(srv_control *control, int status, const char *code, const char *detail);
/* The same with the text of *error; status 0: the status of its code. */
void srv_control_refuse(srv_control *control, int status, const hob_error *error);

/* 202 with the number of the job that does it. */
void srv_control_accept(srv_control *control, uint64_t job);

/* True if the list "failed,cooking" is empty or has the word. */
bool srv_control_lists(hob_str list, hob_str word);

#endif
