/* answer.h - what every answerer of controls needs. Bodies of answers that refuse: {"code":...,"detail":...}, of which the HTTP side makes a problem. */
#ifndef SRV_CONTROL_ANSWER_H
#define SRV_CONTROL_ANSWER_H

#include "control.h"

/* Appends the body. */
void srv_control_put_error(hob_buf *body, const char *code, const char *detail);
/* Answers with that body. */
void srv_control_answer(srv_control *control, int status, const char *code, const char *detail);
/* The same with the words of *error; status 0: the one of its code. */
void srv_control_refuse(srv_control *control, int status, const hob_error *error);

/* True when the list "failed,cooking" is empty or has the word. */
bool srv_control_lists(hob_str list, hob_str word);

#endif
