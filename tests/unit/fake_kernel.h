/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_FAKE_KERNEL_H
#define TLSKIT_TESTS_FAKE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* In place of the kernel (ktls.h), for two sockets at a time: seals and opens in the
 * test, strictly. A record that comes under another key or out of turn is not
 * authentic. */
struct fake_kernel {
	bool rekeys;
	bool absent; /* no TLS at all */
	int attach_error; /* for every connection */
	int refuse[2]; /* the errno for a key to seal with ([0]) or to open with ([1]) */
	bool full; /* handed_on says no */
	/* what was done, over both sockets */
	unsigned keys[2]; /* given, to seal ([0]) and to open */
	uint64_t first_seq[2]; /* with the first of them */
	unsigned records[2]; /* sealed, opened */
	unsigned controls[2]; /* of these, what was no application data */
};
extern struct fake_kernel fake_kernel;

void fake_kernel_install(bool rekeys);
void fake_kernel_remove(void); /* back to the system's */

#endif
