/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bench/host_int.h"

#define LIST_MAX    (32 * 1024)
#define STATUS_MAX  (64 * 1024) /* the lists of a machine with thousands of processors are long */
#define CGROUP_MAX  (16 * 1024)

bool host_cores_has(const struct host_cpus *c, int cpu)
{
	return cpu >= 0 && cpu < HOST_CPUS && (c->bits[cpu / 8] >> (cpu % 8) & 1);
}

static void add(struct host_cpus *c, long cpu)
{
	if (cpu < 0 || cpu >= HOST_CPUS || host_cores_has(c, (int)cpu))
		return;
	c->bits[cpu / 8] |= (uint8_t)(1 << cpu % 8);
	c->n++;
}

/* "0-3,8,10-11". What does not parse ends it; without any member it is unknown. */
static void parse_list(const char *text, struct host_cpus *out)
{
	memset(out, 0, sizeof(*out));
	for (const char *p = text;; p++) {
		char *end;
		long first = strtol(p, &end, 10), last = first;

		if (end == p || first < 0)
			break;
		p = end;
		if (*p == '-') {
			last = strtol(p + 1, &end, 10);
			if (end == p + 1)
				break;
			p = end;
		}
		for (long i = first; i <= last && i < HOST_CPUS; i++)
			add(out, i);
		if (*p != ',')
			break;
	}
	if (out->n == 0)
		out->n = -1;
}

void host_cores_online(const char *root, struct host_cpus *out)
{
	char *text = host_file_text(root, "/sys/devices/system/cpu/online", LIST_MAX);

	parse_list(text ? text : "", out);
	free(text);
}

void host_cores_allowed(const char *root, struct host_cpus *out)
{
	/* the same as sched_getaffinity, for any number of processors; of the process's first thread */
	char *status = host_file_text(root, "/proc/self/status", STATUS_MAX);
	size_t n;
	const char *list = status ? host_file_value(status, "Cpus_allowed_list", &n) : NULL;
	struct host_cpus online, allowed;

	host_cores_online(root, &online);
	parse_list(list ? list : "", &allowed);
	free(status);
	if (online.n < 0 || allowed.n < 0) {
		*out = online.n < 0 ? allowed : online;
		return;
	}
	*out = (struct host_cpus){ 0 };
	for (int i = 0; i < HOST_CPUS; i++) {
		if (host_cores_has(&online, i) && host_cores_has(&allowed, i))
			add(out, i);
	}
	if (out->n == 0)
		*out = online;
}

/* --- cgroups ------------------------------------------------------------------------ */

/* Processors that quota / period allows, rounded up; INT_MAX: no limit. */
static int of_quota(int64_t quota, int64_t period)
{
	int64_t n;

	if (quota <= 0 || period <= 0)
		return INT_MAX;
	n = quota / period + (quota % period != 0);
	return n < INT_MAX ? (int)n : INT_MAX;
}

/* Version 2: "max 100000" or "150000 100000". */
static int limit_v2(const char *root, const char *folder)
{
	char path[PATH_MAX];
	long long quota, period;
	char *line;
	int limit = INT_MAX;

	if (snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", folder) >= (int)sizeof(path))
		return INT_MAX;
	line = host_file_line(root, path);
	if (line && sscanf(line, "%18lld %18lld", &quota, &period) == 2)
		limit = of_quota(quota, period);
	free(line);
	return limit;
}

static int limit_v1(const char *root, const char *folder)
{
	static const char *const mounts[] = { "cpu", "cpu,cpuacct" };
	int limit = INT_MAX;

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		char path[PATH_MAX];
		int64_t quota = -1, period = -1;
		int n;

		if (snprintf(path, sizeof(path), "/sys/fs/cgroup/%s%s/cpu.cfs_quota_us", mounts[i], folder) >= (int)sizeof(path) ||
			!host_file_number(root, path, 10, &quota))
			continue;
		if (snprintf(path, sizeof(path), "/sys/fs/cgroup/%s%s/cpu.cfs_period_us", mounts[i], folder) >= (int)sizeof(path) ||
			!host_file_number(root, path, 10, &period))
			continue;
		n = of_quota(quota, period);
		if (n < limit)
			limit = n;
	}
	return limit;
}

/* The least limit of a group and all above it: a container often sees its own
 * group as the root of the file system, whatever the path says. */
static int limit_upwards(const char *root, const char *group, size_t n, int (*limit)(const char *, const char *))
{
	char folder[PATH_MAX];
	int least = INT_MAX;

	if (n >= sizeof(folder))
		return INT_MAX;
	memcpy(folder, group, n);
	folder[n] = '\0';
	/* of a group outside of our name space there is nothing to see */
	if (strstr(folder, "/.."))
		folder[0] = '\0';
	for (;;) {
		char *slash = strrchr(folder, '/');
		int here;

		if (slash && slash[1] == '\0') {
			*slash = '\0';
			continue;
		}
		here = limit(root, folder);
		if (here < least)
			least = here;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

/* Whether "cpu" is one of "cpu,cpuacct". */
static bool names_cpu(const char *controllers, size_t n)
{
	for (size_t i = 0; i + 3 <= n; i++) {
		if (strncmp(controllers + i, "cpu", 3) == 0 && (i == 0 || controllers[i - 1] == ',') &&
			(i + 3 == n || controllers[i + 3] == ','))
			return true;
	}
	return false;
}

/* Lines are "number:controllers:path"; version 2 has no controllers. */
static int quota(const char *root)
{
	char *text = host_file_text(root, "/proc/self/cgroup", CGROUP_MAX);
	int least = INT_MAX;

	for (const char *line = text; line && *line != '\0';) {
		size_t len = strcspn(line, "\n");
		const char *first = memchr(line, ':', len);
		const char *second = first ? memchr(first + 1, ':', (size_t)(line + len - first - 1)) : NULL;
		int here = INT_MAX;

		if (second) {
			size_t n = (size_t)(line + len - second - 1);

			if (second == first + 1)
				here = limit_upwards(root, second + 1, n, limit_v2);
			else if (names_cpu(first + 1, (size_t)(second - first - 1)))
				here = limit_upwards(root, second + 1, n, limit_v1);
		}
		if (here < least)
			least = here;
		line += len;
		line += *line == '\n';
	}
	free(text);
	return least;
}

int host_cores_usable(const char *root)
{
	struct host_cpus allowed;
	int limit;

	host_cores_allowed(root, &allowed);
	if (allowed.n < 0)
		return -1;
	limit = quota(root);
	return limit < allowed.n ? limit : allowed.n;
}

int host_cores_some(const char *root, int *out, int max)
{
	struct host_cpus allowed;
	int seen = 0, n = 0;

	host_cores_allowed(root, &allowed);
	for (int i = 0; i < HOST_CPUS && n < max; i++) {
		if (!host_cores_has(&allowed, i))
			continue;
		/* the k-th of max comes at k * members / max */
		if (allowed.n <= max || seen >= (int)((int64_t)n * allowed.n / max))
			out[n++] = i;
		seen++;
	}
	if (n == 0)
		out[n++] = 0;
	return n;
}
