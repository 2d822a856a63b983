/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bench/host_int.h"

#define SOME      8 /* processors that are asked for their counters */
#define NOW_BITS  0xfu
#define KNOWN     (NOW_BITS | NOW_BITS << HOST_HAPPENED_SHIFT)

/* --- Raspberry Pi: the firmware's bits, as "vcgencmd get_throttled" prints them ---- */

struct firmware {
	bool found;
	unsigned bits;
};

static bool visit_firmware(const char *root, const char *folder, void *arg)
{
	struct firmware *f = arg;
	char path[PATH_MAX];
	int64_t bits;

	if (!strstr(folder, ":firmware") ||
		snprintf(path, sizeof(path), "%s/get_throttled", folder) >= (int)sizeof(path) ||
		!host_file_number(root, path, 16, &bits))
		return true;
	f->found = true;
	f->bits = (unsigned)bits & KNOWN;
	return false;
}

/* soc/soc:firmware, or soc@107c000000/soc@107c000000:firmware of a Pi 5. */
static bool visit_soc(const char *root, const char *folder, void *arg)
{
	struct firmware *f = arg;

	host_file_each(root, folder, "soc", visit_firmware, f);
	return !f->found;
}

/* Kernels without that file have the one bit of a sensor, sticky until it is read. */
static bool visit_volt(const char *root, const char *folder, void *arg)
{
	struct firmware *f = arg;
	char path[PATH_MAX];
	char *name;
	int64_t alarm;

	if (snprintf(path, sizeof(path), "%s/name", folder) >= (int)sizeof(path))
		return true;
	name = host_file_line(root, path);
	if (name && strcmp(name, "rpi_volt") == 0 &&
		snprintf(path, sizeof(path), "%s/in0_lcrit_alarm", folder) < (int)sizeof(path) &&
		host_file_number(root, path, 10, &alarm)) {
		f->found = true;
		f->bits = alarm != 0 ? HOST_UNDER_VOLTAGE : 0;
	}
	free(name);
	return !f->found;
}

/* --- x86: counters since boot -------------------------------------------------------- */

static bool counter(const char *root, int cpu, const char *file, uint64_t *sum)
{
	char path[96];
	int64_t n;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/thermal_throttle/%s", cpu, file);
	if (!host_file_number(root, path, 10, &n) || n < 0)
		return false;
	*sum += (uint64_t)n;
	return true;
}

/* There is no "now": it is what was counted since the last time we looked. */
static bool of_counters(const char *root, unsigned *bits)
{
	static _Atomic uint64_t last = UINT64_MAX;
	int cpus[SOME], n = host_cores_some(root, cpus, SOME);
	uint64_t sum = 0;
	bool known = counter(root, cpus[0], "package_throttle_count", &sum);

	for (int i = 0; i < n; i++)
		known |= counter(root, cpus[i], "core_throttle_count", &sum);
	if (!known)
		return false;
	*bits = sum > atomic_exchange(&last, sum) ? HOST_THROTTLED : 0;
	if (sum > 0)
		*bits |= HOST_THROTTLED << HOST_HAPPENED_SHIFT;
	return true;
}

bool host_throttle_read(const char *root, unsigned *bits)
{
	struct firmware f = { 0 };

	*bits = 0;
	host_file_each(root, "/sys/devices/platform", "soc", visit_soc, &f);
	if (!f.found)
		host_file_each(root, "/sys/class/hwmon", "hwmon", visit_volt, &f);
	if (f.found) {
		*bits = f.bits;
		return true;
	}
	return of_counters(root, bits);
}

/* --- words ---------------------------------------------------------------------------- */

static void words(char *out, size_t size, const char *before, unsigned bits)
{
	static const char *const names[] = { "under-voltage", "frequency capped", "throttled", "soft temperature limit" };
	size_t used = strlen(out);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(bits >> i & 1) || used >= size)
			continue;
		snprintf(out + used, size - used, "%s%s", before, names[i]);
		used = strlen(out);
		before = ", ";
	}
}

char *host_throttle_text(unsigned bits, char *out, size_t size)
{
	unsigned now = bits & NOW_BITS, earlier = bits >> HOST_HAPPENED_SHIFT & NOW_BITS & ~now;

	if (size == 0)
		return out;
	out[0] = '\0';
	if (!now && !earlier)
		snprintf(out, size, "no");
	words(out, size, "", now);
	words(out, size, now ? "; since boot: " : "since boot: ", earlier);
	return out;
}
