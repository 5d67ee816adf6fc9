/* An untrusted bundle, unpacked by `hob bundle replay`.
 *
 * Links: srv_fs
 * Run:   fuzz_bundle tests/fuzz/corpus/bundle
 *
 * A header whose checksum is "seal" gets the correct one. */
#include "server/fs/tar.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHECKSUM_AT = 148, INPUT_MAX = 64 << 10 };

static void seal(uint8_t *head)
{
	unsigned sum = 0;
	char text[16];
	if (memcmp(head + CHECKSUM_AT, "seal", 4) != 0)
		return;
	memset(head + CHECKSUM_AT, ' ', 8);
	for (int i = 0; i < SRV_TAR_BLOCK; i++)
		sum += head[i];
	snprintf(text, sizeof text, "%06o", sum);
	memcpy(head + CHECKSUM_AT, text, 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[INPUT_MAX];
	uint8_t piece[777];
	hob_error err;
	uint64_t length = 0, whole = 0;
	if (size > INPUT_MAX)
		return 0;
	memcpy(bytes, data, size);
	for (size_t at = 0; at + SRV_TAR_BLOCK <= size; at += SRV_TAR_BLOCK)
		seal(bytes + at);
	srv_tar_reader reader = {.fd = memfd_create("bundle", MFD_CLOEXEC)};
	assert(reader.fd >= 0 && write(reader.fd, bytes, size) == (ssize_t)size &&
		   lseek(reader.fd, 0, SEEK_SET) == 0);
	srv_tar_step step;
	while ((step = srv_tar_next(&reader, &length, &err)) == SRV_TAR_FILE) {
		assert(memchr(reader.name, 0, sizeof reader.name));
		if (srv_tar_name_is_safe(hob_str_of(reader.name)))
			assert(reader.name[0] != '/' && strncmp(reader.name, "../", 3) != 0 &&
				   !strstr(reader.name, "/../") && !strstr(reader.name, "//"));
		uint64_t read = 0;
		size_t got = 0;
		bool ok = true;
		if (length % 2 == 0) /* the other files are skipped */
			while ((ok = srv_tar_read(&reader, piece, sizeof piece, &got, &err)) && got > 0)
				read += got;
		assert(read <= length && (!ok || length % 2 || read == length));
		whole += read;
		assert(whole <= size);
		if (!ok)
			break;
	}
	assert(step != SRV_TAR_BROKEN || err.context[0]);
	close(reader.fd);
	return 0;
}
