/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_KPIPE_H
#define TLSKIT_NET_KPIPE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/net/sock.h"

/* Bytes from one socket to another that stay in the kernel (splice(2)): they wait in
 * one of the kernel's pipes. A pool of these belongs to one thread and lends them;
 * where the system has none of use, it lends none. */

struct kpipe;
struct kpipe_pool;

struct kpipe_pool *kpipe_pool_new(void); /* NULL without memory */
void kpipe_pool_free(struct kpipe_pool *pool); /* NULL is fine; none is lent any more */

/* An empty one, or NULL. */
struct kpipe *kpipe_borrow(struct kpipe_pool *pool);

/* Takes it back with what it holds, which is lost. NULL is fine. */
void kpipe_return(struct kpipe_pool *pool, struct kpipe *k);

size_t kpipe_held(const struct kpipe *k);

/* Into an empty one: as sock_read. */
long kpipe_fill(struct kpipe *k, struct sock *from);

/* The same from a socket whose records the kernel opens (TLS). 0: the next thing
 * there is no data, or an end, which a read of the other kind tells. *error: the errno
 * of a failure behind the bytes, else 0: the kernel tells it once. */
long kpipe_fill_records(struct kpipe *k, struct sock *from, int *error);

/* Out of it: as sock_write. Raises SIGPIPE, which is to be ignored. */
long kpipe_drain(struct kpipe *k, struct sock *to);

#endif
