/* Answers of a farm's bucket, parsed by the S3 driver: heads, reasons, lists, multipart uploads.
 *
 * Links: PkgConfig::libcurl_s3 hob_base
 * Run:   fuzz_bucket tests/fuzz/corpus/bucket
 *
 * Input: a byte that selects (head, get, put, multipart put, list), then the answer to each connection,
 * separated by lines "----". */
#include "server/farm/s3/s3_driver.c"

#include "tests/fuzz/fuzz_peer.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool take_some(void *user, const void *data, size_t size)
{
	size_t *left = user;
	assert(data || size == 0);
	*left -= size < *left ? size : *left;
	return *left > 0;
}

static bool take_name(void *user, const char *name, uint64_t size, int64_t age_s)
{
	uint32_t *count = user;
	(void)size, (void)age_s;
	assert(strncmp(name, "blobs/", 6) == 0 && !strstr(name, ".."));
	return ++*count < 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1;
	char url[96];
	srv_farm_why why = {""};
	srv_farm_end end = SRV_FARM_OK;
	uint64_t length;
	uint32_t count = 0;
	size_t left = 4096;
	if (size < 1 || size > 64 << 10)
		return 0;
	if (file < 0)
		assert((file = memfd_create("blob", MFD_CLOEXEC)) >= 0 && ftruncate(file, 4000) == 0);
	peer_say(data + 1, size - 1);
	snprintf(url, sizeof url, "s3+http://127.0.0.1:%u/bucket/below?part=1024", peer.port);
	void *handle = s3_open(&(srv_farm_place){url, "access", "secret"}, &why);
	assert(handle);
	switch (data[0] % 5) {
	case 0:
		end = s3_head(handle, "blobs/ab/ab", &length, &why);
		break;
	case 1:
		end = s3_get(handle, "blobs/ab/ab", take_some, &left, &why);
		break;
	case 2:
		end = s3_put(handle, "blobs/ab/ab", file, 1000, EMPTY, &why);
		break;
	case 3:
		end = s3_put(handle, "blobs/ab/ab", file, 4000, EMPTY, &why);
		break;
	default:
		end = s3_list(handle, take_name, &count, &why);
	}
	assert(end <= SRV_FARM_REFUSED && memchr(why.text, 0, sizeof why.text));
	s3_close(handle);
	peer_hush();
	return 0;
}
