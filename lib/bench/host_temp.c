/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bench/host_int.h"

/* How zones that belong to the processor are called; the case as it is. */
static const char *const zones[] = { "x86_pkg_temp", "cpu", "CPU", "TCPU", "soc", "bigcore", "littlecore", "cluster",
	"package" };
static const char *const sensors[] = { "coretemp", "k10temp", "zenpower", "cpu_thermal", "soc_thermal" };

static bool begins_so(const char *text, const char *const *names, size_t n)
{
	for (size_t i = 0; text && i < n; i++) {
		if (strncmp(text, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

/* Thousandths of a degree; what no processor survives is no temperature. */
static void take(const char *root, const char *path, double *hottest)
{
	int64_t milli;
	double c;

	if (!host_file_number(root, path, 10, &milli) || milli <= -100000 || milli >= 200000)
		return;
	c = (double)milli / 1e3;
	if (!(c <= *hottest))
		*hottest = c;
}

static bool look(const char *root, const char *folder, const char *name_file, const char *value_file,
	const char *const *names, size_t n, double *hottest)
{
	char path[PATH_MAX];
	char *name;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name_file) >= (int)sizeof(path))
		return true;
	name = host_file_line(root, path);
	if (begins_so(name, names, n) && snprintf(path, sizeof(path), "%s/%s", folder, value_file) < (int)sizeof(path))
		take(root, path, hottest);
	free(name);
	return true;
}

static bool visit_zone(const char *root, const char *folder, void *hottest)
{
	return look(root, folder, "type", "temp", zones, sizeof(zones) / sizeof(zones[0]), hottest);
}

/* temp1 is the whole package of Intel's and the control value of AMD's. */
static bool visit_sensor(const char *root, const char *folder, void *hottest)
{
	return look(root, folder, "name", "temp1_input", sensors, sizeof(sensors) / sizeof(sensors[0]), hottest);
}

double host_temp_c(const char *root)
{
	double hottest = NAN;

	host_file_each(root, "/sys/class/thermal", "thermal_zone", visit_zone, &hottest);
	if (isnan(hottest))
		host_file_each(root, "/sys/class/hwmon", "hwmon", visit_sensor, &hottest);
	return hottest;
}
