/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BENCH_HOST_H
#define TLSKIT_BENCH_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Facts of the machine that a figure means nothing without. What cannot be read
 * (no sysfs, no permission, another system) is NULL, -1 or NAN. Nothing here
 * fails for it. */

struct host {
	char *cpu; /* "AMD EPYC 7B13", "ARM Cortex-A72 r0p3" */
	char *board; /* device-tree model: "Raspberry Pi 4 Model B Rev 1.4" */
	char *architecture; /* "x86_64"; "x86_64, 32-bit program", emulated: "x86_64, aarch64 program" */
	char *features; /* those that matter to cryptography, by the kernel's names, in a fixed order:
	                 * "aes pclmulqdq vaes avx2 sha_ni"; "none"; NULL in an emulated program too */
	int cores_online, cores_usable; /* usable: by this process's affinity and cgroup quota */
	char *governor; /* of the first usable processor */
	double freq_max_hz;
	char *kernel; /* "Linux 6.1.0-18-amd64" */
	char *os; /* "Debian GNU/Linux 12 (bookworm)" */
	int64_t memory_bytes;
	char *virtualization; /* as systemd-detect-virt calls them: "kvm", "docker", both: "docker on kvm"; "none" */
	double temp_before_c, temp_after_c; /* hottest processor zone around the whole run */
	char *throttled; /* what throttling was seen before or during the run, in words: "under-voltage, capped"; "no" */
	char *acceleration; /* what GnuTLS uses here: "aes-ni pclmul avx sha"; "off"; the command fills it in */
};

/* Reads them all below `root` ("" for the system itself; a folder that holds
 * proc/ and sys/ for tests). NULL: no memory. */
struct host *host_read(const char *root);
void host_free(struct host *h); /* NULL is fine */

/* The moving part, cheap enough to be read around each row. */
struct host_moment {
	double freq_hz; /* of the usable processors, the mean; of eight of them where there are more */
	double temp_c;
	double steal_s; /* since boot, all processors */
	unsigned throttled; /* HOST_* bits, 0: none seen */
	bool throttle_known;
};

enum host_throttle {
	HOST_UNDER_VOLTAGE = 1 << 0, /* now */
	HOST_FREQUENCY_CAPPED = 1 << 1,
	HOST_THROTTLED = 1 << 2, /* x86 only counts: since the last time this process looked */
	HOST_SOFT_TEMPERATURE = 1 << 3,
	HOST_HAPPENED_SHIFT = 16, /* the same bits again: has happened since boot */
};

void host_moment_read(const char *root, struct host_moment *m);

/* "under-voltage, frequency capped" for bits, "throttled; since boot: under-voltage"
 * where something is over; "no" for none. Returns out. */
char *host_throttle_text(unsigned bits, char *out, size_t size);

#endif
