/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BASE_BUF_H
#define TLSKIT_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

/* Buffers that a worker lends to a connection while it moves data.
 *
 * A pool belongs to one thread; a borrowed buffer may be given back to another
 * one than it came from, together with who holds it. A buffer is borrowed when there is something
 * to hold and given back when it is empty, so an idle connection owns none.
 * Bytes live in data[start..end). */

struct buf {
	uint8_t *data; /* NULL: nothing borrowed */
	size_t cap;
	size_t start;
	size_t end;
};

struct buf_pool;

/* keep: how many bytes of unused buffers the pool holds on to. NULL on
 * memory shortage. */
struct buf_pool *buf_pool_new(size_t keep);
void buf_pool_free(struct buf_pool *pool); /* NULL is fine */

/* Makes *b a buffer with room for at least `size` bytes behind its end,
 * keeping what it holds. Sizes are rounded up to a power of two, 4 KiB at
 * least. 0, or -1 without memory (then *b is as it was). */
int buf_reserve(struct buf_pool *pool, struct buf *b, size_t size);

/* Moves what it holds to memory of about its size, if it has much more than
 * that. Without memory it stays as it is. */
void buf_shrink(struct buf_pool *pool, struct buf *b);

/* Gives the memory back; whatever it held is gone. *b becomes empty. */
void buf_release(struct buf_pool *pool, struct buf *b);

/* The same with all of its memory wiped first, what was consumed as well: for
 * plaintext and keys. (A block that buf_reserve replaces is always wiped.) */
void buf_release_wiped(struct buf_pool *pool, struct buf *b);

static inline size_t buf_len(const struct buf *b) { return b->end - b->start; }
static inline size_t buf_room(const struct buf *b) { return b->cap - b->end; }

/* Takes n bytes off the front; an emptied buffer starts at 0 again. */
static inline void buf_consume(struct buf *b, size_t n)
{
	b->start += n;
	if (b->start == b->end)
		b->start = b->end = 0;
}

#endif
