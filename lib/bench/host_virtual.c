/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bench/host_int.h"

/* The names are those of systemd-detect-virt. A container inside a virtual machine
 * is told as such, for both matter: "docker on kvm". */

#define TEXT_MAX (16 * 1024)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct hint {
	const char *text, *name;
};

static const char *find(const char *text, const struct hint *hints, size_t n)
{
	for (size_t i = 0; text && i < n; i++) {
		if (strstr(text, hints[i].text))
			return hints[i].name;
	}
	return NULL;
}

/* --- virtual machines ------------------------------------------------------------------ */

static const char *of_dmi(const char *root)
{
	static const char *const files[] = { "/sys/class/dmi/id/product_name", "/sys/class/dmi/id/sys_vendor",
		"/sys/class/dmi/id/board_vendor", "/sys/class/dmi/id/bios_vendor" };
	static const struct hint hints[] = { { "KVM", "kvm" }, { "OpenStack", "kvm" }, { "KubeVirt", "kvm" },
		{ "Amazon EC2", "amazon" }, { "Google Compute Engine", "google" }, { "QEMU", "qemu" },
		{ "VMware", "vmware" }, { "VMW", "vmware" }, { "VirtualBox", "oracle" }, { "innotek GmbH", "oracle" },
		{ "Xen", "xen" }, { "Bochs", "bochs" }, { "Parallels", "parallels" }, { "BHYVE", "bhyve" },
		{ "Hyper-V", "microsoft" }, { "Virtual Machine", "microsoft" }, { "Apple Virtualization", "apple" } };
	const char *name = NULL;

	for (size_t i = 0; i < COUNT(files) && !name; i++) {
		char *line = host_file_line(root, files[i]);

		/* the same vendor's bare machines */
		if (line && strstr(line, ".metal")) {
			free(line);
			return NULL;
		}
		name = find(line, hints, COUNT(hints));
		free(line);
	}
	return name;
}

/* What the kernel found out itself when it chose its clocks. */
static const char *of_clock(const char *root)
{
	static const struct hint hints[] = { { "kvm-clock", "kvm" }, { "hyperv_clocksource", "microsoft" },
		{ "xen", "xen" } };
	char *line = host_file_line(root, "/sys/devices/system/clocksource/clocksource0/available_clocksource");
	const char *name = find(line, hints, COUNT(hints));

	free(line);
	return name;
}

static const char *of_device_tree(const char *root)
{
	static const struct hint hints[] = { { "linux,kvm", "kvm" }, { "xen", "xen" }, { "vmware", "vmware" } };
	char *line = host_file_line(root, "/proc/device-tree/hypervisor/compatible");
	const char *name = find(line, hints, COUNT(hints));

	free(line);
	if (!name) {
		line = host_file_line(root, "/proc/device-tree/compatible");
		name = line && strcmp(line, "linux,dummy-virt") == 0 ? "qemu" : NULL;
		free(line);
	}
	return name;
}

/* NULL: none, or not known (which *known tells). */
static const char *machine(const char *root, bool *known)
{
	bool flag = host_cpu_flag(root, "hypervisor", known);
	bool x86 = host_cpu_flag(root, "fpu", known);
	const char *dmi, *name;

	/* the flag is the processor's own word; DMI of a bare machine may name a vendor of both */
	if (x86 && !flag)
		return NULL;
	dmi = of_dmi(root);
	/* QEMU's machine under KVM's processor is kvm */
	name = !dmi || strcmp(dmi, "qemu") == 0 ? of_clock(root) : dmi;
	if (!name)
		name = dmi ? dmi : of_device_tree(root);
	if (name)
		*known = true;
	return name || !flag ? name : "vm-other";
}

/* --- containers -------------------------------------------------------------------------- */

static const struct hint managers[] = { { "systemd-nspawn", "systemd-nspawn" }, { "lxc-libvirt", "lxc-libvirt" },
	{ "lxc", "lxc" }, { "docker", "docker" }, { "podman", "podman" }, { "rkt", "rkt" }, { "wsl", "wsl" },
	{ "proot", "proot" }, { "pouch", "pouch" } };

static const char *of_environment(const char *root)
{
	char *text = host_file_text(root, "/proc/1/environ", TEXT_MAX);
	size_t n = 0;
	const char *value = text ? host_file_value(text, "container", &n) : NULL;
	char *line = value ? host_file_tidy(value, n < 64 ? n : 64) : NULL;
	const char *name = find(line, managers, COUNT(managers));

	if (line && !name)
		name = "container-other";
	free(line);
	free(text);
	return name;
}

static const char *of_cgroup(const char *root)
{
	static const struct hint hints[] = { { "/docker", "docker" }, { "/libpod", "podman" }, { "/kubepods", "kubernetes" },
		{ "/lxc", "lxc" }, { "/machine.slice/systemd-nspawn", "systemd-nspawn" } };
	char *text = host_file_text(root, "/proc/1/cgroup", TEXT_MAX);
	const char *name = find(text, hints, COUNT(hints));

	free(text);
	return name;
}

static const char *container(const char *root)
{
	static const struct hint kernels[] = { { "Microsoft", "wsl" }, { "WSL", "wsl" } };
	static const struct hint marks[] = { { "/run/.containerenv", "podman" }, { "/.dockerenv", "docker" },
		{ "/proc/vz", "openvz" } };
	char *line = host_file_line(root, "/proc/sys/kernel/osrelease");
	const char *name = find(line, kernels, COUNT(kernels));

	free(line);
	if (!name) {
		line = host_file_line(root, "/run/systemd/container");
		name = find(line, managers, COUNT(managers));
		free(line);
	}
	if (!name)
		name = of_environment(root);
	for (size_t i = 0; i < COUNT(marks) && !name; i++) {
		/* /proc/bc: the machine that OpenVZ's containers run on */
		if (host_file_exists(root, marks[i].text) && (i < 2 || !host_file_exists(root, "/proc/bc")))
			name = marks[i].name;
	}
	return name ? name : of_cgroup(root);
}

char *host_virtual_name(const char *root)
{
	bool known;
	const char *outer = machine(root, &known), *inner = container(root);
	char out[64];

	if (!outer && !inner)
		return known ? strdup("none") : NULL;
	if (outer && inner)
		snprintf(out, sizeof(out), "%s on %s", inner, outer);
	else
		snprintf(out, sizeof(out), "%s", outer ? outer : inner);
	return strdup(out);
}
