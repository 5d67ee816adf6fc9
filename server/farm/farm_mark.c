#include "farm.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char MARK[] = "blobs/.farm";

typedef struct mark {
	char text[HOB_SHA256_TEXT + 2];
	size_t size;
} mark;

static bool take_piece(void *user, const void *data, size_t size)
{
	mark *m = user;
	size_t room = sizeof m->text - 1 - m->size, kept = size < room ? size : room;
	memcpy(m->text + m->size, data, kept);
	m->size += kept;
	return kept == size;
}

static srv_farm_end read_id(srv_farm *f, mark *out, srv_farm_why *why)
{
	hob_sha256 parsed;
	srv_farm_end end = srv_farm_id(f, out->text, why);
	if (end != SRV_FARM_OK || hob_sha256_parse(hob_str_of(out->text), &parsed))
		return end;
	snprintf(why->text, sizeof why->text, "the farm's database: the id in hob_farm is invalid");
	return SRV_FARM_REFUSED;
}

srv_farm_end srv_farm_owns(srv_farm *f, void *blobs, srv_farm_why *why)
{
	mark ours = {.size = 0}, theirs = {.size = 0};
	srv_farm_end end = read_id(f, &ours, why);
	if (end != SRV_FARM_OK)
		return end == SRV_FARM_REFUSED ? SRV_FARM_BARRED : end;
	end = srv_farm_blobs_of(f)->get(blobs, MARK, take_piece, &theirs, why);
	theirs.text[strcspn(theirs.text, "\n")] = 0;
	if (end == SRV_FARM_NONE) {
		snprintf(
			why->text, sizeof why->text,
			"nothing says that these blobs belong to this database. If they do, run 'hob farm init --adopt'");
	} else if (end == SRV_FARM_REFUSED || (end == SRV_FARM_OK && strcmp(ours.text, theirs.text) != 0)) {
		end = SRV_FARM_REFUSED;
		snprintf(
			why->text, sizeof why->text,
			"these blobs belong to the farm of another database. If that one is gone, give them to this one "
			"with 'hob farm init --adopt'");
	}
	return end;
}

static bool on_blob(void *user, const char *name, uint64_t size, int64_t age_s)
{
	(void)name;
	(void)size;
	(void)age_s;
	*(bool *)user = true;
	return false;
}

static srv_farm_end write_mark(srv_farm *f, void *blobs, srv_farm_why *why)
{
	mark ours = {.size = 0};
	srv_farm_end end = read_id(f, &ours, why);
	if (end != SRV_FARM_OK)
		return end;
	ours.size = strlen(ours.text);
	ours.text[ours.size++] = '\n';
	hob_sha256 sum = hob_sha256_of((hob_bytes){(const uint8_t *)ours.text, ours.size});
	int fd = memfd_create("hob-farm", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, ours.text, ours.size) == (ssize_t)ours.size) {
		end = srv_farm_blobs_of(f)->put(blobs, MARK, fd, ours.size, hob_sha256_hex(&sum).text, why);
	} else {
		snprintf(why->text, sizeof why->text, "no memory left for the farm");
		end = SRV_FARM_DOWN;
	}
	if (fd >= 0)
		close(fd);
	return end;
}

srv_farm_end srv_farm_own(srv_farm *f, void *blobs, bool adopt, srv_farm_why *why)
{
	bool any = false;
	srv_farm_end end = srv_farm_owns(f, blobs, why), listed = SRV_FARM_OK;
	srv_farm_why told = {""};
	if (end == SRV_FARM_NONE && !adopt)
		listed = srv_farm_blobs_of(f)->list(blobs, on_blob, &any, &told);
	if (listed != SRV_FARM_OK) {
		*why = told;
		return listed;
	}
	if (!(end == SRV_FARM_NONE && !any) && !(end == SRV_FARM_REFUSED && adopt))
		return end;
	end = write_mark(f, blobs, why);
	return end == SRV_FARM_OK ? srv_farm_owns(f, blobs, why) : end;
}
