/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_FAKE_DNS_H
#define TLSKIT_TESTS_FAKE_DNS_H

/* getaddrinfo and freeaddrinfo of the test program answer names under
 * fake.test themselves and pass all others on. The first label says what comes:
 * "4" and "6" an address of that family each, a letter behind it which one
 * ("4a4b6a4a"; a is loopback, the others are of TEST-NET-1 and of
 * 2001:db8::/32), "slow" 127.0.0.1 after 60 ms, "held" the same when the test
 * lets it go, "again" EAI_AGAIN, "system" EAI_SYSTEM with ENFILE. */

struct fake_dns {
	char name[256]; /* as asked for last */
	int family, flags;
	int asked; /* how often */
};

/* What was asked so far; the caller sees to it that nobody asks meanwhile. */
extern struct fake_dns fake_dns;

/* How many look-ups of "held" wait; and lets them all go, and those to come. */
int fake_dns_held(void);
void fake_dns_let_go(void);

#endif
