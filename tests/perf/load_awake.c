/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <sys/eventfd.h>

#include "load.h"

/* Keeps a processor from falling asleep. One that sleeps, a virtual one most of
 * all, takes longer to wake up than a round trip takes: then a machine with
 * nothing else to do looks slower than a busy one. To be started where it gives
 * way to everybody (SCHED_IDLE). */

#define SPINS 20000 /* between looks at standard input */

static struct watch ever;

static void awake_ready(struct watch *w, uint32_t events)
{
	(void)w;
	(void)events;
	for (volatile int i = 0; i < SPINS; i++)
		;
}

static void awake_start(const struct load_opts *o)
{
	(void)o;
	ever.fd = eventfd(0, EFD_CLOEXEC);
	ever.ready = awake_ready;
	if (ever.fd < 0)
		die("no eventfd");
	loop_watch(&ever, EPOLLOUT); /* always */
}

static void awake_command(const char *line)
{
	die("unknown command \"%s\"", line);
}

const struct load_role load_awake = {
	.name = "awake", .help = "keeps a processor from falling asleep; takes no port",
	.no_port = true, .start = awake_start, .command = awake_command,
};
