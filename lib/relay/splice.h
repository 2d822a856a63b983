/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_RELAY_SPLICE_H
#define TLSKIT_RELAY_SPLICE_H

#include "lib/relay/pipe.h"

/* A pipe's bytes without their coming here, where the kernel has the records: from
 * socket to socket through one of the worker's kernel pipes (kpipe.h). The pipe
 * holds one on loan only while it moves data, or while the sink has no room for what
 * is in it. Whatever is not plain moving is left to the session and to pipe.c. */

/* Whether the next bytes may go that way, or some have begun to. */
bool splice_may(struct pipe *p);

/* A step of pipe_run. PIPE_MORE may mean that the next one is pipe.c's: splice_may
 * tells. */
enum pipe_status splice_step(struct pipe *p, struct err *e);

/* What is lent goes back; what it held is lost. Twice is fine. */
void splice_release(struct pipe *p);

#endif
