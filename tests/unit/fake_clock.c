/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/fake_clock.h"

#include "lib/base/clock.h"

struct fake_clock fake_clock = {
#ifdef TK_LD_WRAP
	.wrapped = true,
#endif
};

#ifdef TK_LD_WRAP
uint64_t __real_clock_mono_ns(void);
uint64_t __wrap_clock_mono_ns(void);
int64_t __real_clock_real_ms(void);
int64_t __wrap_clock_real_ms(void);

uint64_t __wrap_clock_mono_ns(void)
{
	return fake_clock.mono_ns ? fake_clock.mono_ns : __real_clock_mono_ns();
}

int64_t __wrap_clock_real_ms(void)
{
	return fake_clock.real_ms ? fake_clock.real_ms : __real_clock_real_ms();
}
#endif
