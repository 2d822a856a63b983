/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/base/cpu.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

bool cpu_has_aes(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_cpu_init();
	return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#elif defined(__aarch64__) && defined(__linux__)
	unsigned long hw = getauxval(AT_HWCAP);

	return (hw & HWCAP_AES) && (hw & HWCAP_PMULL);
#else
	return false;
#endif
}
