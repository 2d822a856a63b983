/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bench/host_int.h"

#define CPUINFO_MAX (1024 * 1024)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- ARM: /proc/cpuinfo has the numbers of MIDR_EL1 --------------------------------- */

struct part {
	unsigned implementer, part;
	const char *name;
};

static const struct part parts[] = {
	{ 0x41, 0xb76, "ARM1176" },
	{ 0x41, 0xc07, "ARM Cortex-A7" },
	{ 0x41, 0xc08, "ARM Cortex-A8" },
	{ 0x41, 0xc09, "ARM Cortex-A9" },
	{ 0x41, 0xc0f, "ARM Cortex-A15" },
	{ 0x41, 0xd02, "ARM Cortex-A34" },
	{ 0x41, 0xd03, "ARM Cortex-A53" },
	{ 0x41, 0xd04, "ARM Cortex-A35" },
	{ 0x41, 0xd05, "ARM Cortex-A55" },
	{ 0x41, 0xd07, "ARM Cortex-A57" },
	{ 0x41, 0xd08, "ARM Cortex-A72" },
	{ 0x41, 0xd09, "ARM Cortex-A73" },
	{ 0x41, 0xd0a, "ARM Cortex-A75" },
	{ 0x41, 0xd0b, "ARM Cortex-A76" },
	{ 0x41, 0xd0c, "ARM Neoverse-N1" },
	{ 0x41, 0xd0d, "ARM Cortex-A77" },
	{ 0x41, 0xd40, "ARM Neoverse-V1" },
	{ 0x41, 0xd41, "ARM Cortex-A78" },
	{ 0x41, 0xd42, "ARM Cortex-A78AE" },
	{ 0x41, 0xd44, "ARM Cortex-X1" },
	{ 0x41, 0xd46, "ARM Cortex-A510" },
	{ 0x41, 0xd47, "ARM Cortex-A710" },
	{ 0x41, 0xd48, "ARM Cortex-X2" },
	{ 0x41, 0xd49, "ARM Neoverse-N2" },
	{ 0x41, 0xd4a, "ARM Neoverse-E1" },
	{ 0x41, 0xd4b, "ARM Cortex-A78C" },
	{ 0x41, 0xd4d, "ARM Cortex-A715" },
	{ 0x41, 0xd4e, "ARM Cortex-X3" },
	{ 0x41, 0xd4f, "ARM Neoverse-V2" },
	{ 0x41, 0xd80, "ARM Cortex-A520" },
	{ 0x41, 0xd81, "ARM Cortex-A720" },
	{ 0x41, 0xd82, "ARM Cortex-X4" },
	{ 0x41, 0xd84, "ARM Neoverse-V3" },
	{ 0x41, 0xd8e, "ARM Neoverse-N3" },
	{ 0x43, 0x0a1, "Cavium ThunderX" },
	{ 0x43, 0x0af, "Cavium ThunderX2" },
	{ 0x46, 0x001, "Fujitsu A64FX" },
	{ 0x48, 0xd01, "HiSilicon TaiShan-V110" },
	{ 0x4e, 0x004, "NVIDIA Carmel" },
	{ 0x51, 0x001, "Qualcomm Oryon" },
	{ 0x51, 0xc00, "Qualcomm Falkor" },
	{ 0x61, 0x022, "Apple Icestorm (M1)" },
	{ 0x61, 0x023, "Apple Firestorm (M1)" },
	{ 0x61, 0x024, "Apple Icestorm (M1 Pro)" },
	{ 0x61, 0x025, "Apple Firestorm (M1 Pro)" },
	{ 0x61, 0x028, "Apple Icestorm (M1 Max)" },
	{ 0x61, 0x029, "Apple Firestorm (M1 Max)" },
	{ 0x61, 0x032, "Apple Blizzard (M2)" },
	{ 0x61, 0x033, "Apple Avalanche (M2)" },
	{ 0xc0, 0xac3, "Ampere-1" },
	{ 0xc0, 0xac4, "Ampere-1a" },
};

struct core {
	unsigned implementer, variant, part, revision;
	unsigned count;
};

#define CORES 4 /* kinds of them in one machine */

static bool number(const char *text, const char *key, unsigned *out)
{
	size_t n;
	const char *p = host_file_value(text, key, &n);
	char *end;

	if (!p || n == 0)
		return false;
	*out = (unsigned)strtoul(p, &end, 0);
	return end != p;
}

static bool same(const struct core *a, const struct core *b)
{
	return a->implementer == b->implementer && a->variant == b->variant && a->part == b->part &&
	       a->revision == b->revision;
}

/* The kinds of cores, in order of appearance: each processor's block begins with
 * the implementer, so what follows that line, up to the next, is its own. */
static size_t find_cores(const char *text, struct core cores[CORES])
{
	static const char key[] = "CPU implementer";
	size_t n = 0, len, i;
	const char *p = text;

	while ((p = host_file_value(p, key, &len))) {
		struct core c = { .implementer = (unsigned)strtoul(p, NULL, 0), .count = 1 };

		p += len;
		if (!number(p, "CPU part", &c.part))
			break;
		number(p, "CPU variant", &c.variant);
		number(p, "CPU revision", &c.revision);
		for (i = 0; i < n && !same(&cores[i], &c); i++)
			;
		if (i < n)
			cores[i].count++;
		else if (n < CORES)
			cores[n++] = c;
	}
	return n;
}

static void core_name(const struct core *c, char *out, size_t size)
{
	for (size_t i = 0; i < COUNT(parts); i++) {
		if (parts[i].implementer == c->implementer && parts[i].part == c->part) {
			snprintf(out, size, "%s r%up%u", parts[i].name, c->variant, c->revision);
			return;
		}
	}
	if (c->implementer == 0x41)
		snprintf(out, size, "ARM part 0x%03x r%up%u", c->part, c->variant, c->revision);
	else
		snprintf(out, size, "implementer 0x%02x part 0x%03x r%up%u", c->implementer, c->part, c->variant, c->revision);
}

/* "ARM Cortex-A72 r0p3"; where they differ "4x ARM Cortex-A55 r2p0 + 4x ARM Cortex-A76 r4p0". */
static char *arm_name(const char *text)
{
	struct core cores[CORES];
	size_t n = find_cores(text, cores);
	char out[CORES * 96] = "";

	for (size_t i = 0; i < n; i++) {
		size_t used = strlen(out);
		char name[64];

		core_name(&cores[i], name, sizeof(name));
		if (n == 1)
			snprintf(out, sizeof(out), "%s", name);
		else
			snprintf(out + used, sizeof(out) - used, "%s%ux %s", i > 0 ? " + " : "", cores[i].count, name);
	}
	return n > 0 ? strdup(out) : NULL;
}

/* --- the facts ------------------------------------------------------------------------ */

char *host_cpu_name(const char *root)
{
	/* x86, MIPS, RISC-V, POWER; ARM's "model name" only says ARMv7 */
	static const char *const keys[] = { "model name", "cpu model", "uarch", "cpu", "Processor" };
	char *text = host_file_text(root, "/proc/cpuinfo", CPUINFO_MAX);
	char *name = text ? arm_name(text) : NULL;

	for (size_t i = 0; text && !name && i < COUNT(keys); i++) {
		size_t n;
		const char *value = host_file_value(text, keys[i], &n);

		if (value)
			name = host_file_tidy(value, n < 256 ? n : 256);
	}
	free(text);
	return name;
}

char *host_cpu_board(const char *root)
{
	char *model = host_file_line(root, "/proc/device-tree/model");

	return model ? model : host_file_line(root, "/sys/firmware/devicetree/base/model");
}

/* "flags" of x86, "Features" of ARM; a copy with blanks around it. */
static char *kernel_flags(const char *root)
{
	char *text = host_file_text(root, "/proc/cpuinfo", CPUINFO_MAX), *out = NULL;
	size_t n;
	const char *value = text ? host_file_value(text, "flags", &n) : NULL;

	if (text && !value)
		value = host_file_value(text, "Features", &n);
	if (value)
		out = malloc(n + 3);
	if (out) {
		out[0] = ' ';
		memcpy(out + 1, value, n);
		memcpy(out + 1 + n, " ", 2);
	}
	free(text);
	return out;
}

static bool has_flag(const char *flags, const char *flag)
{
	char word[32];

	snprintf(word, sizeof(word), " %s ", flag);
	return strstr(flags, word) != NULL;
}

bool host_cpu_flag(const char *root, const char *flag, bool *known)
{
	char *flags = kernel_flags(root);
	bool has = flags && has_flag(flags, flag);

	*known = flags != NULL;
	free(flags);
	return has;
}

/* What every processor lists that runs this program itself. An emulated program
 * reads the list of the machine below, whose instructions it does not have. */
#if defined(__x86_64__) || defined(__i386__)
#define OWN_FLAG "fpu"
#elif defined(__aarch64__)
#define OWN_FLAG "fp"
#endif

static bool emulated(const char *root, const char *flags)
{
#ifdef OWN_FLAG
	return root[0] == '\0' && !has_flag(flags, OWN_FLAG);
#else
	(void)root, (void)flags;
	return false;
#endif
}

/* The order is fixed, so that documents compare; "none": the kernel lists others alone. */
char *host_cpu_features(const char *root)
{
	static const char *const names[] = { "aes", "pclmulqdq", "vaes", "vpclmulqdq", "pmull", "ssse3", "avx", "avx2",
		"avx512f", "sha_ni", "sha1", "sha2", "sha3", "sha512", "neon", "asimd", "sve", "sve2" };
	char *flags = kernel_flags(root);
	char out[256] = "";

	if (!flags || emulated(root, flags)) {
		free(flags);
		return NULL;
	}
	for (size_t i = 0; i < COUNT(names); i++) {
		size_t used = strlen(out);

		if (has_flag(flags, names[i]))
			snprintf(out + used, sizeof(out) - used, "%s%s", used > 0 ? " " : "", names[i]);
	}
	free(flags);
	return strdup(out[0] != '\0' ? out : "none");
}
