/* number_text.h - floats as text, the same on every machine and in every locale. */
#ifndef HOB_NUMBER_TEXT_H
#define HOB_NUMBER_TEXT_H

#include "../base/base.h"

/* Appends decimal digits: at most nine, and as few as needed to read back `value`: "0.1", "-3", "1e-7",
 * "16777216". Plain from 1e-5 up to 1e15, otherwise with an exponent. Valid as a JSON number, except for inf,
 * -inf and nan, which are appended as these words. */
void hob_put_f32(hob_buf *out, float value);

#endif
