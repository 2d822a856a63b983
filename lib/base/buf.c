/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/buf.h"

/* A block that nobody borrows is poisoned, so that AddressSanitizer finds a
 * use after its release although the memory was never freed. */
#if defined(__SANITIZE_ADDRESS__)
#define POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISON 1
#endif
#endif

#ifdef POISON
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define CLASS_MIN 12 /* 4 KiB */
#define CLASS_END (8 * sizeof(size_t) - 1) /* malloc has no more than half of the addresses */

/* The head of an unused block, in the block itself. */
struct block {
	struct block *next;
};

struct buf_pool {
	size_t keep;
	size_t held; /* bytes of unused blocks */
	struct block *unused[CLASS_END]; /* by size: 2^class bytes */
};

struct buf_pool *buf_pool_new(size_t keep)
{
	struct buf_pool *pool = calloc(1, sizeof(*pool));

	if (pool != NULL)
		pool->keep = keep;
	return pool;
}

/* The size's power of two; CLASS_END when there is none. */
static unsigned class_of(size_t size)
{
	unsigned class = CLASS_MIN;

	while (class < CLASS_END && ((size_t)1 << class) < size)
		class++;
	return class;
}

static void *block_get(struct buf_pool *pool, unsigned class)
{
	struct block *b = pool->unused[class];
	size_t size = (size_t)1 << class;

	if (b == NULL)
		return malloc(size);
	pool->unused[class] = b->next;
	pool->held -= size;
	ASAN_UNPOISON_MEMORY_REGION(b, size);
	return b;
}

static void block_put(struct buf_pool *pool, void *data, size_t size)
{
	unsigned class = class_of(size);
	struct block *b = data;

	if (size > pool->keep || pool->held > pool->keep - size) {
		free(data);
		return;
	}
	b->next = pool->unused[class];
	pool->unused[class] = b;
	pool->held += size;
	ASAN_POISON_MEMORY_REGION(b + 1, size - sizeof(*b));
}

void buf_pool_free(struct buf_pool *pool)
{
	if (pool == NULL)
		return;
	for (unsigned class = CLASS_MIN; class < CLASS_END; class++) {
		while (pool->unused[class] != NULL)
			free(block_get(pool, class));
	}
	free(pool);
}

static void move_to_front(struct buf *b)
{
	size_t len = buf_len(b);

	memmove(b->data, b->data + b->start, len);
	b->start = 0;
	b->end = len;
}

int buf_reserve(struct buf_pool *pool, struct buf *b, size_t size)
{
	size_t len = buf_len(b), need;
	unsigned class;
	uint8_t *data;

	if (buf_room(b) >= size)
		return 0;
	if (__builtin_add_overflow(len, size, &need))
		return -1;
	if (need <= b->cap) {
		move_to_front(b);
		return 0;
	}
	class = class_of(need);
	if (class >= CLASS_END)
		return -1;
	data = block_get(pool, class);
	if (data == NULL)
		return -1;
	if (len > 0)
		memcpy(data, b->data + b->start, len);
	/* nobody told what it holds: it may be plaintext */
	buf_release_wiped(pool, b);
	*b = (struct buf){ .data = data, .cap = (size_t)1 << class, .end = len };
	return 0;
}

void buf_shrink(struct buf_pool *pool, struct buf *b)
{
	size_t len = buf_len(b);
	struct buf small = { 0 };

	if (b->data == NULL)
		return;
	if (len == 0) {
		buf_release(pool, b);
	} else if (b->cap / 4 >= len && buf_reserve(pool, &small, len) == 0) {
		memcpy(small.data, b->data + b->start, len);
		small.end = len;
		buf_release(pool, b);
		*b = small;
	}
}

void buf_release(struct buf_pool *pool, struct buf *b)
{
	if (b->data != NULL)
		block_put(pool, b->data, b->cap);
	*b = (struct buf){ 0 };
}

void buf_release_wiped(struct buf_pool *pool, struct buf *b)
{
	/* all of it: what was consumed, or moved to the front, left traces
	 * outside of [start..end) */
	if (b->data != NULL)
		explicit_bzero(b->data, b->cap);
	buf_release(pool, b);
}
