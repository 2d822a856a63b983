/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_FUZZ_H
#define TLSKIT_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What a fuzz target defines: libFuzzer calls it, and so does replay.c. Always
 * returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As assert(3), whether NDEBUG is set or not. */
#define MUST(condition) \
	((condition) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

#endif
