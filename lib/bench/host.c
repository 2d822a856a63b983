/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/bench/host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/bench/host_int.h"

#define TEXT_MAX (16 * 1024)

static char *read_kernel(const char *root)
{
	char *type = host_file_line(root, "/proc/sys/kernel/ostype");
	char *release = host_file_line(root, "/proc/sys/kernel/osrelease");
	struct utsname u;
	char *out = NULL;
	int n = -1;

	if (type && release)
		n = asprintf(&out, "%s %s", type, release);
	else if (root[0] == '\0' && uname(&u) == 0)
		n = asprintf(&out, "%s %s", u.sysname, u.release);
	free(type);
	free(release);
	return n < 0 ? NULL : out;
}

/* What 64-bit program runs on another machine is emulated (QEMU's user mode, Rosetta). */
static const char *program(const char *root, const char *machine)
{
#if defined(__x86_64__)
	static const char own[] = "x86_64";
#elif defined(__AARCH64EL__)
	static const char own[] = "aarch64";
#else
	static const char own[] = "";
#endif

	if (sizeof(void *) <= 4)
		return strstr(machine, "64") ? "32-bit" : NULL;
	return root[0] == '\0' && own[0] != '\0' && strcmp(machine, own) != 0 ? own : NULL;
}

/* The kernel's, and that this program is not built for all of it where that is so. */
static char *read_architecture(const char *root)
{
	char *machine = host_file_line(root, "/proc/sys/kernel/arch"), *out = NULL; /* since Linux 6.1 */
	const char *built;
	struct utsname u;

	if (!machine && root[0] == '\0' && uname(&u) == 0)
		machine = strdup(u.machine);
	built = machine ? program(root, machine) : NULL;
	if (!built)
		return machine;
	if (asprintf(&out, "%s, %s program", machine, built) < 0)
		out = NULL;
	free(machine);
	return out;
}

/* NAME="text" as a shell reads it, but for escapes, of which names have none. */
static char *read_os(const char *root)
{
	char *text = host_file_text(root, "/etc/os-release", TEXT_MAX), *name = NULL;
	const char *value;
	size_t n;

	if (!text)
		text = host_file_text(root, "/usr/lib/os-release", TEXT_MAX);
	value = text ? host_file_value(text, "PRETTY_NAME", &n) : NULL;
	if (value) {
		if (n > 0 && (value[0] == '"' || value[0] == '\'')) {
			const char *end = memchr(value + 1, value[0], n - 1);

			value++;
			n = end ? (size_t)(end - value) : n - 1;
		}
		name = host_file_tidy(value, n < 256 ? n : 256);
	}
	free(text);
	return name;
}

static int64_t read_memory(const char *root)
{
	char *text = host_file_text(root, "/proc/meminfo", TEXT_MAX);
	size_t n;
	const char *value = text ? host_file_value(text, "MemTotal", &n) : NULL;
	long long kib = value ? strtoll(value, NULL, 10) : 0;

	free(text);
	return kib > 0 && kib < INT64_MAX / 1024 ? kib * 1024 : -1;
}

/* The eighth figure of the line of all processors (proc(5)). */
static double read_steal(const char *root)
{
	char *line = host_file_line(root, "/proc/stat");
	unsigned long long steal;
	long hz = sysconf(_SC_CLK_TCK);
	bool known = line && hz > 0 && sscanf(line, "cpu %*u %*u %*u %*u %*u %*u %*u %18llu", &steal) == 1;

	free(line);
	return known ? (double)steal / (double)hz : NAN;
}

static char *read_throttled(const char *root)
{
	char text[192];
	unsigned bits;

	return host_throttle_read(root, &bits) ? strdup(host_throttle_text(bits, text, sizeof(text))) : NULL;
}

struct host *host_read(const char *root)
{
	struct host *h = calloc(1, sizeof(*h));
	struct host_cpus online;

	if (!h)
		return NULL;
	h->cpu = host_cpu_name(root);
	h->board = host_cpu_board(root);
	h->architecture = read_architecture(root);
	h->features = host_cpu_features(root);
	host_cores_online(root, &online);
	h->cores_online = online.n;
	h->cores_usable = host_cores_usable(root);
	h->governor = host_freq_governor(root);
	h->freq_max_hz = host_freq_max_hz(root);
	h->kernel = read_kernel(root);
	h->os = read_os(root);
	h->memory_bytes = read_memory(root);
	h->virtualization = host_virtual_name(root);
	h->temp_before_c = host_temp_c(root);
	h->temp_after_c = NAN;
	h->throttled = read_throttled(root);
	return h;
}

void host_free(struct host *h)
{
	if (!h)
		return;
	free(h->cpu);
	free(h->board);
	free(h->architecture);
	free(h->features);
	free(h->governor);
	free(h->kernel);
	free(h->os);
	free(h->virtualization);
	free(h->throttled);
	free(h->acceleration);
	free(h);
}

void host_moment_read(const char *root, struct host_moment *m)
{
	m->freq_hz = host_freq_now_hz(root);
	m->temp_c = host_temp_c(root);
	m->steal_s = read_steal(root);
	m->throttle_known = host_throttle_read(root, &m->throttled);
}
