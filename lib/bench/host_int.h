/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BENCH_HOST_INT_H
#define TLSKIT_BENCH_HOST_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/bench/host.h"

/* What host.c is put together from. Every function takes the root folder and
 * leaves things unknown (NULL, -1, NAN, false) where nothing can be read. */

/* --- host_file.c: files of a few bytes, and their text -------------------------- */

/* The file's first max bytes as text: NULs become line ends (device tree, environ).
 * NULL: unreadable, empty or no memory. To be freed. */
char *host_file_text(const char *root, const char *path, size_t max);

/* Its first line without blanks around it, what a terminal would act on and what is
 * not UTF-8 replaced by '?'. NULL: unreadable or blank. To be freed. */
char *host_file_line(const char *root, const char *path);
char *host_file_tidy(const char *text, size_t n); /* the same for n bytes at text */

/* A whole number at its beginning, base 10 or 16. False: there is none. */
bool host_file_number(const char *root, const char *path, int base, int64_t *out);
bool host_file_exists(const char *root, const char *path);

/* What follows "key" and its colon or '=' at the start of a line of text; the
 * value's length in *n. NULL: no such line. */
const char *host_file_value(const char *text, const char *key, size_t *n);

/* Calls visit with the names in a folder that begin so, in no certain order, at
 * most HOST_ENTRIES of them; it ends the walk by returning false. */
#define HOST_ENTRIES 256
void host_file_each(const char *root, const char *folder, const char *beginning,
	bool (*visit)(const char *root, const char *path, void *arg), void *arg);

/* --- host_cores.c: which processors there are for us ----------------------------- */

#define HOST_CPUS 8192

struct host_cpus {
	int n; /* members; -1: unknown */
	uint8_t bits[HOST_CPUS / 8];
};

bool host_cores_has(const struct host_cpus *c, int cpu);
void host_cores_online(const char *root, struct host_cpus *out);
void host_cores_allowed(const char *root, struct host_cpus *out); /* online and in this process's affinity */
int host_cores_usable(const char *root); /* allowed, and no more than the cgroups' quota */

/* Up to max of those allowed, spread over all of them: a sample of a big machine.
 * Returns their number; where nothing is known, processor 0 alone. */
int host_cores_some(const char *root, int *out, int max);

/* --- the rest ---------------------------------------------------------------------- */

char *host_cpu_name(const char *root);
char *host_cpu_features(const char *root);
char *host_cpu_board(const char *root);
bool host_cpu_flag(const char *root, const char *flag, bool *known); /* of the features that the kernel lists */

char *host_freq_governor(const char *root);
double host_freq_max_hz(const char *root);
double host_freq_now_hz(const char *root);

double host_temp_c(const char *root);
bool host_throttle_read(const char *root, unsigned *bits); /* false: nothing here tells */
char *host_virtual_name(const char *root);

#endif
