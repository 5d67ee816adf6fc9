#include "guest.h"

#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

static bool open_folders(srv_store *guest, const char *dir, hob_error *err)
{
	guest->dir = realpath(dir, NULL);
	return (guest->dir || srv_store_fail_errno(err, errno, "find the folder", dir)) &&
		   srv_store_open_folder(AT_FDCWD, guest->dir, &guest->dir_fd, err) &&
		   srv_store_open_folder(guest->dir_fd, "blobs", &guest->blobs_fd, err) &&
		   srv_store_open_folder(guest->dir_fd, "packs", &guest->packs_fd, err) &&
		   (srv_packs_open(&guest->packs, guest->packs_fd, false) ||
			srv_store_fail_errno(err, errno, "open the packs of", guest->dir));
}

static bool is_of_this_version(srv_store *guest, hob_error *err)
{
	int version;
	if (!srv_store_db_int(guest->db, "PRAGMA user_version", &version, NULL))
		version = -1;
	return version == srv_store_schema_version() ||
		   hob_fail(err, NEWER, "the cache %s has schema version %d, this Hob reads %d", guest->dir, version,
					srv_store_schema_version());
}

bool srv_guest_open(const char *dir, srv_store **out, hob_error *err)
{
	srv_store *guest = srv_store_blank(NULL);
	guest->guest = true;
	bool ok = open_folders(guest, dir, err) && srv_store_db_open_to_read(guest, err) &&
			  is_of_this_version(guest, err) && srv_store_blobs_load(guest, err) &&
			  srv_store_parts_load(guest, err);
	if (ok)
		*out = guest;
	else
		srv_store_free(guest);
	return ok;
}

void srv_guest_close(srv_store *guest)
{
	if (guest)
		srv_store_free(guest);
}
