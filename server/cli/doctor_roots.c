#include "doctor.h"
#include "query.h"

/* Facts that a running daemon reports about its folders. */

static void say_root(doctor *d, const cJSON *root)
{
	const char *path = srv_cli_text(root, "path"), *since = srv_cli_text(root, "missing_since");
	if (since[0])
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_FAIL, "folder", "'%s' is missing since %s: %s", path,
										 since, srv_cli_text(root, "note")),
						  "mount it or move it back; until then its assets are served as they were");
	if (srv_cli_text(root, "skipped")[0])
		srv_doctor_advise(
			srv_doctor_say(d, DOCTOR_WARN, "folder", "'%s': %s", path, srv_cli_text(root, "skipped")),
			"export such models to glTF or FBX; also serve the folder that a link points to");
}

void srv_doctor_look_at_roots(doctor *d)
{
	cJSON *roots = d->daemon_runs ? srv_cli_try_json(d->url, "/api/v1/roots", NULL) : NULL;
	const cJSON *root;
	cJSON_ArrayForEach(root, srv_cli_member(roots, "items")) say_root(d, root);
	cJSON_Delete(roots);
}
