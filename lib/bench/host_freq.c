/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bench/host_int.h"

#define SOME        8 /* processors that are asked: enough for a mean, few enough to be cheap */
#define CPUINFO_MAX (64 * 1024)
#define HZ_MAX      1e11 /* no processor's; garbage */

static bool cpufreq(const char *root, int cpu, const char *file, double *hz)
{
	char path[96];
	int64_t khz;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, file);
	if (!host_file_number(root, path, 10, &khz) || khz <= 0 || (double)khz * 1e3 > HZ_MAX)
		return false;
	*hz = (double)khz * 1e3;
	return true;
}

char *host_freq_governor(const char *root)
{
	char path[96];
	int cpu;

	host_cores_some(root, &cpu, 1);
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
	return host_file_line(root, path);
}

double host_freq_max_hz(const char *root)
{
	int cpus[SOME], n = host_cores_some(root, cpus, SOME);
	double most = NAN;

	for (int i = 0; i < n; i++) {
		double hz;

		if (cpufreq(root, cpus[i], "cpuinfo_max_freq", &hz) && !(hz <= most))
			most = hz;
	}
	return most;
}

/* "cpu MHz" of x86: all there is in most virtual machines. */
static double of_cpuinfo(const char *root)
{
	char *text = host_file_text(root, "/proc/cpuinfo", CPUINFO_MAX);
	const char *p = text;
	double sum = 0, mhz;
	int n = 0;
	size_t len;

	while (p && (p = host_file_value(p, "cpu MHz", &len))) {
		mhz = strtod(p, NULL);
		if (mhz > 0 && mhz * 1e6 <= HZ_MAX) {
			sum += mhz * 1e6;
			n++;
		}
		p += len;
	}
	free(text);
	return n > 0 ? sum / n : NAN;
}

double host_freq_now_hz(const char *root)
{
	int cpus[SOME], n = host_cores_some(root, cpus, SOME), known = 0;
	double sum = 0, hz;

	for (int i = 0; i < n; i++) {
		if (!cpufreq(root, cpus[i], "scaling_cur_freq", &hz))
			continue;
		sum += hz;
		known++;
	}
	return known > 0 ? sum / known : of_cpuinfo(root);
}
