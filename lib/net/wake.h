/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_WAKE_H
#define TLSKIT_NET_WAKE_H

/* A descriptor that another thread makes readable: an eventfd, or a pipe where
 * there is none. For loop.c. */
struct wake {
	int read_fd; /* to be watched */
	int write_fd; /* the same on Linux */
};

void wake_init(struct wake *w); /* to what wake_close takes */
int wake_open(struct wake *w); /* 0, or -1 with errno */
void wake_close(struct wake *w);

void wake_up(struct wake *w); /* any thread; any number of calls are one wake-up */
void wake_clear(struct wake *w);

#endif
