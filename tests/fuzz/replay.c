/* replay.c - runs a fuzz target on every file of the folders on the command line, for builds without
 * libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void give(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;
	size_t size = 0, room = 0;
	if (!file) {
		fprintf(stderr, "replay: %s cannot be read\n", path);
		exit(1);
	}
	do {
		room = room ? room * 2 : 4096;
		bytes = realloc(bytes, room);
		if (!bytes)
			abort();
		size += fread(bytes + size, 1, room - size, file);
	} while (size == room);
	fclose(file);
	/* Memory exactly as long as the file, so that a read past its end is found. */
	uint8_t *exact = malloc(size ? size : 1);
	if (!exact)
		abort();
	memcpy(exact, bytes, size);
	free(bytes);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

int main(int argc, char **argv)
{
	unsigned count = 0;
	for (int i = 1; i < argc; i++) {
		DIR *folder = opendir(argv[i]);
		if (!folder) {
			fprintf(stderr, "replay: there is no folder %s\n", argv[i]);
			return 1;
		}
		for (const struct dirent *entry; (entry = readdir(folder));) {
			char path[4096];
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
			give(path);
			count++;
		}
		closedir(folder);
	}
	printf("%u files\n", count);
	return count == 0;
}
