/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_FAKE_CLOCK_H
#define TLSKIT_TESTS_FAKE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* clock_mono_ns and clock_real_ms of the library, by the linker's --wrap: each stands at
 * a time of the test's choice. */
struct fake_clock {
	const bool wrapped; /* the linker knows --wrap */
	uint64_t mono_ns; /* 0: the real one */
	int64_t real_ms; /* likewise */
};
extern struct fake_clock fake_clock;

#endif
