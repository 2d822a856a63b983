/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bench/host.h"
#include "tests/unit/timeout.h"

/* --- a machine of files ---------------------------------------------------------- */

static char root[PATH_MAX];

static void make_root(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(root, sizeof(root), "%s/tlskit-host-XXXXXX", tmp ? tmp : "/tmp");
	cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	cr_expect_eq(system(command), 0);
}

TestSuite(host, .init = make_root, .fini = remove_root, .timeout = TEST_TIMEOUT);

static void put_bytes(const char *path, const void *bytes, size_t n)
{
	char full[2 * PATH_MAX];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	f = fopen(full, "w");
	cr_assert_not_null(f, "%s", full);
	cr_assert_eq(fwrite(bytes, 1, n, f), n);
	cr_assert_eq(fclose(f), 0);
}

static void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

static void expect_text(const char *what, const char *got, const char *want)
{
	if (!want)
		cr_expect_null(got, "%s: %s", what, got);
	else
		cr_expect(got && strcmp(got, want) == 0, "%s: \"%s\", not \"%s\"", what, got ? got : "(unknown)", want);
}

static void expect_near(const char *what, double got, double want)
{
	cr_expect(fabs(got - want) < 1e-6 * (fabs(want) + 1), "%s: %g, not %g", what, got, want);
}

/* --- whole machines ----------------------------------------------------------------- */

#define PI_CORE(n) \
	"processor\t: " n "\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd evtstrm crc32 cpuid\nCPU implementer\t: 0x41\n" \
	"CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd08\nCPU revision\t: 3\n\n"

static void put_pi(void)
{
	put("/proc/cpuinfo", PI_CORE("0") PI_CORE("1") PI_CORE("2") PI_CORE("3")
		"Revision\t: d03114\nSerial\t\t: 10000000abcdef01\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n");
	put_bytes("/proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4", 31); /* NUL behind it */
	put("/proc/sys/kernel/ostype", "Linux\n");
	put("/proc/sys/kernel/osrelease", "6.6.31+rpt-rpi-v8\n");
	put("/proc/sys/kernel/arch", "aarch64\n");
	put("/proc/meminfo", "MemTotal:        3884340 kB\nMemFree:          123456 kB\n");
	put("/proc/stat", "cpu  1 2 3 4 5 6 7 0 0 0\ncpu0 1 2 3 4 5 6 7 0 0 0\n");
	put("/proc/self/status", "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n");
	put("/proc/self/cgroup", "0::/user.slice/session.scope\n");
	put("/etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
	put("/sys/devices/system/cpu/online", "0-3\n");
	put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "ondemand\n");
	put("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "1800000\n");
	put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "600000\n");
	put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1800000\n");
	put("/sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
	put("/sys/class/thermal/thermal_zone0/temp", "82781\n");
	put("/sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n");
}

Test(host, raspberry_pi)
{
	struct host_moment m;
	struct host *h;

	put_pi();
	h = host_read(root);
	cr_assert_not_null(h);
	expect_text("cpu", h->cpu, "ARM Cortex-A72 r0p3");
	expect_text("board", h->board, "Raspberry Pi 4 Model B Rev 1.4");
	expect_text("architecture", h->architecture, sizeof(void *) > 4 ? "aarch64" : "aarch64, 32-bit program");
	expect_text("features", h->features, "asimd");
	cr_expect_eq(h->cores_online, 4);
	cr_expect_eq(h->cores_usable, 4);
	expect_text("governor", h->governor, "ondemand");
	expect_near("freq_max_hz", h->freq_max_hz, 1.8e9);
	expect_text("kernel", h->kernel, "Linux 6.6.31+rpt-rpi-v8");
	expect_text("os", h->os, "Debian GNU/Linux 12 (bookworm)");
	cr_expect_eq(h->memory_bytes, 3884340LL * 1024);
	expect_text("virtualization", h->virtualization, "none");
	expect_near("temp_before_c", h->temp_before_c, 82.781);
	cr_expect(isnan(h->temp_after_c));
	expect_text("throttled", h->throttled, "under-voltage, throttled");
	expect_text("acceleration", h->acceleration, NULL);
	host_free(h);

	host_moment_read(root, &m);
	expect_near("freq_hz", m.freq_hz, 1.2e9);
	expect_near("temp_c", m.temp_c, 82.781);
	expect_near("steal_s", m.steal_s, 0);
	cr_expect(m.throttle_known);
	cr_expect_eq(m.throttled, 0x50005u);
}

Test(host, raspberry_pi_5_and_its_sensor)
{
	struct host_moment m;

	put("/sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled", "0xe0008\n");
	host_moment_read(root, &m);
	cr_expect(m.throttle_known);
	cr_expect_eq(m.throttled, 0xe0008u);
	remove_root();
	cr_assert_eq(mkdir(root, 0755), 0);
	put("/sys/class/hwmon/hwmon0/name", "cpu_thermal\n");
	put("/sys/class/hwmon/hwmon0/temp1_input", "41000\n");
	put("/sys/class/hwmon/hwmon1/name", "rpi_volt\n");
	put("/sys/class/hwmon/hwmon1/in0_lcrit_alarm", "1\n");
	host_moment_read(root, &m);
	cr_expect(m.throttle_known);
	cr_expect_eq(m.throttled, (unsigned)HOST_UNDER_VOLTAGE);
	expect_near("temp_c", m.temp_c, 41);
}

Test(host, cores_that_differ)
{
	struct host *h;

	put("/proc/cpuinfo",
		"processor: 0\nFeatures: fp asimd aes pmull sha1 sha2\nCPU implementer: 0x41\nCPU variant: 0x2\n"
		"CPU part: 0xd05\nCPU revision: 0\n\n"
		"processor: 1\nFeatures: fp asimd aes pmull sha1 sha2\nCPU implementer: 0x41\nCPU variant: 0x4\n"
		"CPU part: 0xd0b\nCPU revision: 0\n\n"
		"processor: 2\nFeatures: fp asimd aes pmull sha1 sha2\nCPU implementer: 0x41\nCPU variant: 0x4\n"
		"CPU part: 0xd0b\nCPU revision: 0\n\n"
		"processor: 3\nCPU implementer: 0x99\nCPU variant: 0x1\nCPU part: 0x123\nCPU revision: 7\n");
	h = host_read(root);
	expect_text("cpu", h->cpu,
		"1x ARM Cortex-A55 r2p0 + 2x ARM Cortex-A76 r4p0 + 1x implementer 0x99 part 0x123 r1p7");
	expect_text("features", h->features, "aes pmull sha1 sha2 asimd");
	host_free(h);
}

static void put_server(void)
{
	put("/proc/cpuinfo",
		"processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 7B13 64-Core Processor \n"
		"cpu MHz\t\t: 2450.000\n"
		"flags\t\t: fpu vme ssse3 pclmulqdq aes avx hypervisor avx2 sha_ni vaes vpclmulqdq avx512\n\n"
		"processor\t: 1\nmodel name\t: AMD EPYC 7B13 64-Core Processor \ncpu MHz\t\t: 2350.000\nflags\t\t: fpu\n");
	put("/proc/stat", "cpu  829337 7778 425989 990301 7763 0 114315 3946 0 0\n");
	put("/proc/self/status", "Cpus_allowed_list:\t2-5,9,100\n");
	put("/sys/devices/system/cpu/online", "0-7,9\n");
	put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
	put("/sys/class/dmi/id/product_name", "Standard PC (Q35 + ICH9, 2009)\n");
	put("/sys/class/thermal/thermal_zone0/type", "acpitz\n");
	put("/sys/class/thermal/thermal_zone0/temp", "99000\n");
	put("/sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
	put("/sys/class/thermal/thermal_zone1/temp", "51000\n");
	put("/sys/class/thermal/thermal_zone2/type", "x86_pkg_temp\n");
	put("/sys/class/thermal/thermal_zone2/temp", "57000\n");
	put("/sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "0\n");
	put("/sys/devices/system/cpu/cpu2/thermal_throttle/package_throttle_count", "0\n");
}

Test(host, server)
{
	struct host_moment m;
	struct host *h;

	put_server();
	h = host_read(root);
	expect_text("cpu", h->cpu, "AMD EPYC 7B13 64-Core Processor");
	expect_text("board", h->board, NULL);
	expect_text("features", h->features, "aes pclmulqdq vaes vpclmulqdq ssse3 avx avx2 sha_ni");
	cr_expect_eq(h->cores_online, 9);
	cr_expect_eq(h->cores_usable, 5);
	expect_text("virtualization", h->virtualization, "qemu");
	expect_near("temp_before_c", h->temp_before_c, 57);
	expect_text("throttled", h->throttled, "no");
	host_free(h);
	host_moment_read(root, &m);
	expect_near("freq_hz", m.freq_hz, 2.4e9);
	expect_near("steal_s", m.steal_s, 3946.0 / (double)sysconf(_SC_CLK_TCK));
}

/* "Now" is what was counted between two looks. */
Test(host, throttling_counters)
{
	struct host_moment m;

	put_server();
	host_moment_read(root, &m);
	cr_expect(m.throttle_known);
	cr_expect_eq(m.throttled, 0u);
	put("/sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "3\n");
	host_moment_read(root, &m);
	cr_expect_eq(m.throttled, (unsigned)(HOST_THROTTLED | HOST_THROTTLED << HOST_HAPPENED_SHIFT));
	host_moment_read(root, &m);
	cr_expect_eq(m.throttled, (unsigned)(HOST_THROTTLED << HOST_HAPPENED_SHIFT));
	put("/sys/devices/system/cpu/cpu2/thermal_throttle/package_throttle_count", "1\n");
	host_moment_read(root, &m);
	cr_expect_eq(m.throttled, (unsigned)(HOST_THROTTLED | HOST_THROTTLED << HOST_HAPPENED_SHIFT));
}

static void expect_unknown(void)
{
	struct host *h = host_read(root);
	struct host_moment m;

	cr_assert_not_null(h);
	cr_expect(!h->cpu && !h->board && !h->architecture && !h->features && !h->governor && !h->kernel && !h->os &&
		!h->virtualization && !h->throttled && !h->acceleration);
	cr_expect_eq(h->cores_online, -1);
	cr_expect_eq(h->cores_usable, -1);
	cr_expect_eq(h->memory_bytes, -1);
	cr_expect(isnan(h->freq_max_hz) && isnan(h->temp_before_c) && isnan(h->temp_after_c));
	host_free(h);
	host_moment_read(root, &m);
	cr_expect(isnan(m.freq_hz) && isnan(m.temp_c) && isnan(m.steal_s) && !m.throttle_known && m.throttled == 0);
}

Test(host, nothing_there)
{
	expect_unknown();
}

/* --- single facts ------------------------------------------------------------------- */

static int usable(void)
{
	struct host *h = host_read(root);
	int n = h->cores_usable;

	host_free(h);
	return n;
}

Test(host, cgroup_quotas)
{
	put("/sys/devices/system/cpu/online", "0-15\n");
	cr_expect_eq(usable(), 16);
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	cr_expect_eq(usable(), 16);
	put("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
	cr_expect_eq(usable(), 3, "two and a half are three, and a parent's limit counts");
	put("/sys/fs/cgroup/a/b/cpu.max", "1 100000\n");
	cr_expect_eq(usable(), 1);
	/* seen from inside, the path is another's */
	put("/proc/self/cgroup", "0::/../../elsewhere\n");
	put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
	cr_expect_eq(usable(), 4);
	/* version 1 */
	put("/proc/self/cgroup", "5:cpuset:/\n4:cpu,cpuacct:/docker/0123\n0::/\n");
	put("/sys/fs/cgroup/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
	cr_expect_eq(usable(), 16);
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "600000\n");
	cr_expect_eq(usable(), 6);
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "0\n");
	cr_expect_eq(usable(), 16);
}

static void expect_virtual(const char *want)
{
	struct host *h = host_read(root);

	expect_text("virtualization", h->virtualization, want);
	host_free(h);
}

Test(host, virtualization)
{
	put("/proc/cpuinfo", "flags : fpu aes\n");
	expect_virtual("none");
	put("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
	expect_virtual("none"); /* the processor knows of no hypervisor */
	put("/proc/cpuinfo", "flags : fpu aes hypervisor\n");
	expect_virtual("amazon");
	put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
	put("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock acpi_pm\n");
	expect_virtual("kvm");
	put("/sys/class/dmi/id/sys_vendor", "VMware, Inc.\n");
	expect_virtual("vmware");
	put("/sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n");
	put("/sys/class/dmi/id/product_name", "Virtual Machine\n");
	expect_virtual("microsoft");
	put("/sys/class/dmi/id/sys_vendor", "?\n");
	put("/sys/class/dmi/id/product_name", "?\n");
	put("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc\n");
	expect_virtual("vm-other");
	put("/.dockerenv", "");
	expect_virtual("docker on vm-other");
	put_bytes("/proc/1/environ", "PATH=/bin\0container=podman\0HOME=/", 33);
	expect_virtual("podman on vm-other");
	put("/run/systemd/container", "systemd-nspawn\n");
	expect_virtual("systemd-nspawn on vm-other");
	/* ARM: no flag, so names decide; and bare machines of a maker of virtual ones */
	put("/proc/cpuinfo", "Features : fp asimd\n");
	put("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
	expect_virtual("systemd-nspawn on amazon");
	put("/sys/class/dmi/id/product_name", "c7g.metal\n");
	expect_virtual("systemd-nspawn");
}

Test(host, throttle_text)
{
	static const struct {
		unsigned bits;
		const char *text;
	} rows[] = {
		{ 0, "no" },
		{ 1, "under-voltage" },
		{ 0xf, "under-voltage, frequency capped, throttled, soft temperature limit" },
		{ 0x50005, "under-voltage, throttled" },
		{ 0x50000, "since boot: under-voltage, throttled" },
		{ 0x60004, "throttled; since boot: frequency capped" },
		{ 0xffff0000, "since boot: under-voltage, frequency capped, throttled, soft temperature limit" },
		{ 0xfff0fff0, "no" }, /* bits that nobody has given a meaning */
	};
	char out[160], little[8];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_text("text", host_throttle_text(rows[i].bits, out, sizeof(out)), rows[i].text);
	expect_text("cut", host_throttle_text(0xf, little, sizeof(little)), "under-v");
}

/* --- what is no machine ----------------------------------------------------------------- */

static const char *const every_file[] = { "/proc/cpuinfo", "/proc/device-tree/model", "/proc/sys/kernel/ostype",
	"/proc/sys/kernel/osrelease", "/proc/sys/kernel/arch", "/proc/meminfo", "/proc/stat", "/proc/self/status",
	"/proc/self/cgroup", "/proc/1/environ", "/proc/1/cgroup", "/etc/os-release", "/sys/devices/system/cpu/online",
	"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
	"/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "/sys/class/thermal/thermal_zone0/type",
	"/sys/class/thermal/thermal_zone0/temp", "/sys/class/hwmon/hwmon0/name", "/sys/class/hwmon/hwmon0/temp1_input",
	"/sys/class/hwmon/hwmon0/in0_lcrit_alarm", "/sys/devices/platform/soc/soc:firmware/get_throttled",
	"/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "/sys/class/dmi/id/sys_vendor",
	"/sys/fs/cgroup/cpu.max", "/run/systemd/container" };
#define N_FILES (sizeof(every_file) / sizeof(every_file[0]))

static void put_everywhere(const char *bytes, size_t n)
{
	for (size_t i = 0; i < N_FILES; i++)
		put_bytes(every_file[i], bytes, n);
}

/* Whatever the files say: text has no controls, figures are unknown or sane. */
static void expect_sane(void)
{
	struct host *h = host_read(root);
	struct host_moment m;
	const char *texts[] = { h->cpu, h->board, h->architecture, h->features, h->governor, h->kernel, h->os,
		h->virtualization, h->throttled };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (const char *p = texts[i]; p && *p != '\0'; p++)
			cr_expect((unsigned char)*p >= 0x20 && *p != 0x7f, "text %zu: \"%s\"", i, texts[i]);
		cr_expect(!texts[i] || strlen(texts[i]) <= 2100, "text %zu: %zu bytes", i, strlen(texts[i]));
	}
	cr_expect(h->cores_online == -1 || (h->cores_online > 0 && h->cores_online <= 8192));
	cr_expect(h->cores_usable == -1 || (h->cores_usable > 0 && h->cores_usable <= 8192));
	cr_expect(h->memory_bytes == -1 || h->memory_bytes > 0);
	cr_expect(isnan(h->freq_max_hz) || (h->freq_max_hz > 0 && h->freq_max_hz <= 1e11));
	cr_expect(isnan(h->temp_before_c) || (h->temp_before_c > -100 && h->temp_before_c < 200));
	host_free(h);
	host_moment_read(root, &m);
	cr_expect(isnan(m.freq_hz) || (m.freq_hz > 0 && m.freq_hz <= 1e11));
	cr_expect(isnan(m.temp_c) || (m.temp_c > -100 && m.temp_c < 200));
	cr_expect(isnan(m.steal_s) || m.steal_s >= 0);
}

Test(host, garbage)
{
	static const char *const texts[] = { "\n", ":", "-", "-1", "0", "999999999999999999999999", "-9223372036854775808",
		"0-", "0-99999999", "5-2", ",,,", "0x", "nan", "1e9", "cpu", "cpu  ", "cpu  -1 -2 -3 -4 -5 -6 -7 -8",
		"flags", "flags:", "model name\t:", "model name\t:   \n", "CPU implementer : zz\nCPU part : yy\n", "0::",
		"0::/../..", "::", ":cpu:", "max", "-5 -5", "1 0", "PRETTY_NAME=\"", "PRETTY_NAME=\"open", "PRETTY_NAME=",
		"container=", "MemTotal: 99999999999999999999 kB", "\xff\xfe\x80 \x1b[2J \xe2\x80\xae" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put_everywhere(texts[i], strlen(texts[i]));
		expect_sane();
	}
	put_everywhere("\0\0\0\0", 4);
	expect_sane();
	put_everywhere("", 0);
	expect_unknown();
}

Test(host, huge_files)
{
	static const char *const units[] = { "x", "0,", "flags : aes\n", "cpu MHz : 1000\n", "CPU implementer : 0x41\n",
		"0::/a\n", "1 ", "\xe2\x80\xa8" };
	size_t size = 3 * 1024 * 1024;
	char *bytes = malloc(size);

	cr_assert_not_null(bytes);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i]);

		for (size_t k = 0; k < size; k++)
			bytes[k] = units[i][k % n];
		put_everywhere(bytes, size);
		expect_sane();
	}
	free(bytes);
}

/* A fact in a file that ends without a newline is the same fact. */
Test(host, no_newline_at_the_end)
{
	struct host *h;

	put("/proc/cpuinfo", "flags : aes\nmodel name : A");
	put("/proc/meminfo", "MemTotal: 1 kB");
	put("/etc/os-release", "PRETTY_NAME=b");
	put("/sys/devices/system/cpu/online", "0-1");
	put("/sys/class/thermal/thermal_zone0/type", "cpu_thermal");
	put("/sys/class/thermal/thermal_zone0/temp", "1000");
	h = host_read(root);
	expect_text("cpu", h->cpu, "A");
	expect_text("features", h->features, "aes");
	expect_text("os", h->os, "b");
	cr_expect_eq(h->memory_bytes, 1024);
	cr_expect_eq(h->cores_online, 2);
	expect_near("temp", h->temp_before_c, 1);
	host_free(h);
}

Test(host, unreadable_files)
{
	char full[2 * PATH_MAX];

	put_pi();
	put_everywhere("1\n", 2);
	for (size_t i = 0; i < N_FILES; i++) {
		snprintf(full, sizeof(full), "%s%s", root, every_file[i]);
		cr_assert_eq(chmod(full, 0), 0);
	}
	if (access(full, R_OK) == 0) {
		remove_root(); /* a skipped test has no .fini */
		cr_skip_test("this user reads every file, whatever its mode (root)");
	}
	for (size_t i = 0; i < 2; i++) { /* what put_pi has beside those */
		snprintf(full, sizeof(full), "%s/sys/devices/system/cpu/cpu%zu/cpufreq/scaling_cur_freq", root, i);
		cr_assert_eq(chmod(full, 0), 0);
	}
	expect_unknown();
}

/* Folders, pipes and loops where files should be neither block nor fail. */
Test(host, other_things_than_files)
{
	char full[2 * PATH_MAX];

	for (size_t i = 0; i < N_FILES; i++) {
		put(every_file[i], "");
		snprintf(full, sizeof(full), "%s%s", root, every_file[i]);
		cr_assert_eq(unlink(full), 0);
		if (i % 3 == 0)
			cr_assert_eq(mkfifo(full, 0600), 0);
		else if (i % 3 == 1)
			cr_assert_eq(mkdir(full, 0700), 0);
		else
			cr_assert_eq(symlink(full, full), 0);
	}
	expect_unknown();
}

/* --- this machine -------------------------------------------------------------------------- */

Test(host, this_one)
{
	struct host *h = host_read("");
	struct host_moment a, b;

	cr_assert_not_null(h);
	cr_expect_not_null(h->kernel);
	cr_expect_not_null(h->architecture);
	cr_expect(h->cores_online == -1 || (h->cores_usable > 0 && h->cores_usable <= h->cores_online));
	cr_expect(h->cores_online <= sysconf(_SC_NPROCESSORS_CONF));
	cr_expect(h->memory_bytes == -1 || h->memory_bytes > 1024 * 1024);
	host_free(h);
	host_moment_read("", &a);
	host_moment_read("", &b);
	cr_expect(isnan(a.steal_s) || b.steal_s >= a.steal_s);
	cr_expect(isnan(a.freq_hz) || (a.freq_hz > 1e7 && a.freq_hz < 1e11));
}

Test(host, free_takes_null)
{
	host_free(NULL);
}
