/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

/* Runs stored inputs through a fuzz target without a fuzzing engine:
 *   replay_NAME FILE|DIRECTORY…
 * A directory stands for the files in it. Fails when there is none at all, so
 * that a corpus which went astray is noticed. */

static size_t runs;

static int fail(const char *path)
{
	fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
	return 1;
}

static int run_file(FILE *f, const char *path)
{
	uint8_t *data = NULL;
	size_t size = 0, n;
	int r = 0;

	do {
		uint8_t *more = realloc(data, size + 65536);

		if (more == NULL) {
			free(data);
			return fail(path);
		}
		data = more;
		n = fread(data + size, 1, 65536, f);
		size += n;
	} while (n > 0);
	if (ferror(f)) {
		r = fail(path);
	} else {
		/* An allocation of the very size, for AddressSanitizer to see the end. */
		uint8_t *exact = malloc(size > 0 ? size : 1);

		if (exact != NULL) {
			memcpy(exact, data, size);
			LLVMFuzzerTestOneInput(exact, size);
			runs++;
		}
		free(exact);
	}
	free(data);
	return r;
}

static int run_path(const char *path)
{
	FILE *f = fopen(path, "rb");
	int r;

	if (f == NULL)
		return fail(path);
	r = run_file(f, path);
	fclose(f);
	return r;
}

static int run_directory(DIR *d, const char *path)
{
	const struct dirent *entry;
	int r = 0;

	while ((entry = readdir(d)) != NULL) {
		char file[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		r |= run_path(file);
	}
	return r;
}

int main(int argc, char **argv)
{
	int r = 0;

	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);

		if (d != NULL) {
			r |= run_directory(d, argv[i]);
			closedir(d);
		} else {
			r |= run_path(argv[i]);
		}
	}
	printf("replayed %zu inputs\n", runs);
	return r != 0 || runs == 0;
}
