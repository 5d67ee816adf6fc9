/* answer.h - for all modules that answer controls. The body of a refusal is {"code":...,"detail":...}; the
 * HTTP side turns it into a problem. */
#ifndef SRV_CONTROL_ANSWER_H
#define SRV_CONTROL_ANSWER_H

#include "control.h"

/* Appends the body of a refusal. */
void srv_control_put_error(hob_buf *body, const char *code, const char *detail);
/* Answers with the body of a refusal. */
void srv_control_answer(srv_control *control, int status, const char *code, const char *detail);
/* Answers with the text of *error; status 0: the status of its code. */
void srv_control_refuse(srv_control *control, int status, const hob_error *error);

/* Answers 202 with the number of the job that does the work. */
void srv_control_accept(srv_control *control, uint64_t job);

/* Whether the list, such as "failed,cooking", is empty or contains the word; `between`: "," for example. */
bool srv_control_lists(hob_str list, hob_str between, hob_str word);

#endif
