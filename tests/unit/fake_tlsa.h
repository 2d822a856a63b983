/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_FAKE_TLSA_H
#define TLSKIT_TESTS_FAKE_TLSA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* tlsa_lookup of the library, by the linker's --wrap: it answers names under fake.test
 * itself and passes all others on. The first label says what comes: "secure" the record
 * 3 1 1 with 32 bytes of 0xab, "none" no records, "fails" ERR_RESOLVE, "held" what
 * "secure" says when the test lets it go, "slow" the same after 2 ms. */

struct fake_tlsa {
	const bool wrapped; /* the linker knows --wrap */
	bool on, missing; /* tlsa_can_lookup says yes, or no; neither: the truth */
	char host[256], proto[16]; /* as asked for last */
	unsigned port;
	uint64_t timeout_ms;
	pthread_t thread; /* which asked */
	bool takes_signals; /* that thread does */
	int asked; /* how often */
};

/* What was asked so far; the caller sees to it that nobody asks meanwhile. */
extern struct fake_tlsa fake_tlsa;

/* How many look-ups of "held" wait; and lets them all go, and those to come. */
int fake_tlsa_held(void);
void fake_tlsa_let_go(void);

#endif
