#include "inside.h"

#include "../fs/beneath.h"

#include <fcntl.h>
#include <unistd.h>

/* GET /api/v1/assets/{id}/source/{path...}: a source file of the asset, as it is on disk now. Only names that
 * its last cook recorded are opened, below the root and never through a link that leaves it. */

static bool is_input(const srv_view_asset *asset, hob_str path)
{
	if (hob_str_equal(path, asset->path))
		return true;
	for (uint32_t i = 0; i < asset->dep_count; i++)
		if (!asset->deps[i].missing && hob_str_equal(path, asset->deps[i].path))
			return true;
	return false;
}

static int open_input(request *r, const srv_view_asset *asset, hob_str path)
{
	const srv_view_root *root = srv_find_root(r, asset->root);
	hob_str name = srv_print(r, "%.*s", HOB_FMT(path)),
			folder = root ? srv_print(r, "%.*s", HOB_FMT(root->path)) : (hob_str){0};
	srv_own_fd root_fd = name.data && folder.data ? open(folder.data, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (root_fd < 0)
		return -1;
	return srv_open_beneath(root_fd, name.data, O_RDONLY, true);
}

static enum MHD_Result reply_input(request *r, int fd, uint64_t size)
{
	struct MHD_Response *response = MHD_create_response_from_fd64(size, fd);
	if (!response) {
		close(fd);
		return srv_reply_problem(r, PROBLEM_UNAVAILABLE, "try again",
								 "there is too little memory for another answer");
	}
	srv_response_type(response, "application/octet-stream");
	srv_response_add(response, "Content-Security-Policy", "default-src 'none'; sandbox");
	srv_response_add(response, "Content-Disposition", "attachment");
	srv_response_add(response, "Cache-Control", "no-store");
	return srv_reply(r, MHD_HTTP_OK, response, size);
}

enum MHD_Result srv_route_asset_source(request *r)
{
	if (r->http->hide_sources)
		return srv_reply_problem(r, PROBLEM_SOURCES, NULL, "this daemon was started with --no-sources");
	const srv_view_asset *asset = srv_request_asset(r);
	if (!asset)
		return r->result;
	struct stat info;
	int fd = is_input(asset, r->args[1]) ? open_input(r, asset, r->args[1]) : -1;
	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
		return reply_input(r, fd, (uint64_t)info.st_size);
	srv_close(fd);
	return srv_reply_problem(r, PROBLEM_NOT_FOUND,
							 "GET /api/v1/assets/{id}/deps lists the files that it was cooked from",
							 "'%.*s' was not cooked from a file '%.*s' that can be read",
							 HOB_FMT(asset->full), HOB_FMT(r->args[1]));
}
