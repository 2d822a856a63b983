/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_SEALS_H
#define TLSKIT_TESTS_SEALS_H

#include "tests/unit/tap.h"

/* Each call of aead_seal that the library makes, by the linker's --wrap: which
 * key, which nonce, which record. For one test at a time. */
struct seals {
	const bool wrapped; /* the linker knows --wrap: else nothing is noted */
	bool on;
	struct tap_book book;
	size_t calls;
	size_t reused; /* a nonce again for another record */
};
extern struct seals seals;

void seals_start(void); /* before the sessions are made */
void seals_stop(void); /* forgets all */

#endif
