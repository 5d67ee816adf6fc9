/* error_json.h - errors in the form of the API: JSON with the place and a hint. Pure. */
#ifndef SRV_ERROR_JSON_H
#define SRV_ERROR_JSON_H

#include "../../core/base/base.h"

const char *srv_error_hint(hob_err_code code); /* advice for the user; may be empty */
/* Appends the error. A line and a column in its text become its location. */
void srv_error_json(const hob_error *error, const char *stage, hob_buf *out);
/* Copies an error and adds the asset's `path`, unless the text already begins with another file's name or,
 * for a merge, names the part. Stored errors name no file, because assets with the same bytes share them. */
void srv_error_of_asset(hob_str json, hob_str path, hob_buf *out);

#endif
