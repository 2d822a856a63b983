/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#define MIB (1 << 20)

static struct buf_pool *new_pool(size_t keep)
{
	struct buf_pool *pool = buf_pool_new(keep);

	cr_assert_not_null(pool);
	return pool;
}

static void add(struct buf_pool *pool, struct buf *b, const void *bytes, size_t n)
{
	cr_assert_eq(buf_reserve(pool, b, n), 0);
	cr_assert_geq(buf_room(b), n);
	memcpy(b->data + b->end, bytes, n);
	b->end += n;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != 0)
			return false;
	}
	return true;
}

Test(buf, sizes_are_powers_of_two)
{
	static const struct {
		size_t ask, cap;
	} rows[] = { { 1, 4096 },     { 4096, 4096 },	{ 4097, 8192 },	       { 8192, 8192 },
		     { 8193, 16384 }, { MIB, MIB },	{ MIB + 1, 2 * MIB } };
	struct buf_pool *pool = new_pool(0);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf b = { 0 };

		cr_assert_eq(buf_reserve(pool, &b, rows[i].ask), 0);
		cr_expect_eq(b.cap, rows[i].cap, "%zu: got %zu", rows[i].ask, b.cap);
		cr_expect_eq(buf_len(&b), 0);
		memset(b.data, 0xaa, b.cap);
		buf_release(pool, &b);
		cr_expect_null(b.data);
		cr_expect_eq(b.cap + b.start + b.end, 0);
	}
	buf_pool_free(pool);
}

Test(buf, empty_things_are_fine)
{
	struct buf_pool *pool = new_pool(MIB);
	struct buf b = { 0 };

	buf_pool_free(NULL);
	buf_release(pool, &b);
	buf_release_wiped(pool, &b);
	cr_assert_eq(buf_reserve(pool, &b, 0), 0);
	cr_assert_eq(buf_len(&b), 0);
	buf_release(pool, &b);
	buf_pool_free(pool);
}

Test(buf, room_that_is_there_is_used)
{
	struct buf_pool *pool = new_pool(0);
	struct buf b = { 0 };
	uint8_t *data;

	add(pool, &b, "abcdef", 6);
	data = b.data;
	cr_assert_eq(buf_reserve(pool, &b, 4090), 0);
	cr_assert_eq(b.data, data);
	cr_assert_eq(b.start, 0);
	buf_consume(&b, 2);
	cr_assert_eq(buf_len(&b), 4);
	cr_assert_eq(buf_reserve(pool, &b, 4092), 0); /* to the last byte, by a move to the front */
	cr_assert_eq(b.data, data);
	cr_assert_eq(b.cap, 4096);
	cr_assert_eq(b.start, 0);
	cr_assert_arr_eq(b.data, "cdef", 4);
	cr_assert_eq(buf_reserve(pool, &b, 4093), 0); /* one byte too many */
	cr_assert_eq(b.cap, 8192);
	cr_assert_eq(buf_len(&b), 4);
	cr_assert_arr_eq(b.data + b.start, "cdef", 4);
	buf_consume(&b, 4);
	cr_assert_eq(b.start + b.end, 0);
	buf_release(pool, &b);
	buf_pool_free(pool);
}

Test(buf, impossible_sizes_fail_and_change_nothing)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 5, SIZE_MAX - 6, SIZE_MAX / 2 + 2, SIZE_MAX / 2 };
	struct buf_pool *pool = new_pool(MIB);
	struct buf b = { 0 }, before;

	add(pool, &b, "abcdefgh", 8);
	buf_consume(&b, 2);
	before = b;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		cr_expect_eq(buf_reserve(pool, &b, sizes[i]), -1, "size %zu", sizes[i]);
		cr_expect(memcmp(&b, &before, sizeof(b)) == 0, "size %zu", sizes[i]);
	}
	cr_assert_arr_eq(b.data + b.start, "cdefgh", 6);
	buf_release(pool, &b);
	buf_pool_free(pool);
}

Test(buf, pool_gives_the_same_memory_again)
{
	struct buf_pool *pool = new_pool(4096 + 8192);
	struct buf a = { 0 }, b = { 0 };
	uint8_t *small, *large;

	add(pool, &a, "a", 1);
	cr_assert_eq(buf_reserve(pool, &b, 8000), 0);
	small = a.data;
	large = b.data;
	buf_release(pool, &a);
	buf_release(pool, &b);
	cr_assert_eq(buf_reserve(pool, &b, 5000), 0);
	cr_assert_eq(b.data, large);
	cr_assert_eq(buf_reserve(pool, &a, 1), 0);
	cr_assert_eq(a.data, small);
	buf_release(pool, &a);
	buf_release(pool, &b);
	buf_pool_free(pool);
}

Test(buf, pool_keeps_no_more_than_it_may)
{
	struct buf_pool *pool = new_pool(2 * 4096);
	struct buf b[3] = { 0 };
	uint8_t *kept[2];

	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(buf_reserve(pool, &b[i], 4096), 0);
	kept[0] = b[0].data;
	kept[1] = b[1].data;
	for (size_t i = 0; i < 3; i++)
		buf_release(pool, &b[i]); /* the third goes back to malloc */
	cr_assert_eq(buf_reserve(pool, &b[0], 1), 0);
	cr_assert_eq(buf_reserve(pool, &b[1], 1), 0);
	cr_assert_eq(b[0].data, kept[1]);
	cr_assert_eq(b[1].data, kept[0]);
	for (size_t i = 0; i < 3; i++)
		buf_release(pool, &b[i]);
	buf_pool_free(pool);
}

Test(buf, wiped_release_leaves_nothing)
{
	struct buf_pool *pool = new_pool(MIB);
	struct buf b = { 0 };
	uint8_t *data;

	cr_assert_eq(buf_reserve(pool, &b, 4096), 0);
	data = b.data;
	memset(b.data, 0x5a, 4096);
	b.end = 4096;
	buf_consume(&b, 4096); /* consumed bytes are still plaintext */
	buf_release_wiped(pool, &b);
	cr_assert_eq(buf_reserve(pool, &b, 1), 0);
	cr_assert_eq(b.data, data);
	cr_assert(is_zero(b.data, b.cap));
	buf_release(pool, &b);
	buf_pool_free(pool);
}

Test(buf, growth_leaves_nothing_behind)
{
	struct buf_pool *pool = new_pool(MIB);
	struct buf b = { 0 }, old = { 0 };
	uint8_t *data;

	cr_assert_eq(buf_reserve(pool, &b, 4096), 0);
	data = b.data;
	memset(b.data, 0x5a, 4096);
	b.end = 4096;
	buf_consume(&b, 4000);
	cr_assert_eq(buf_reserve(pool, &b, 9000), 0);
	cr_assert_eq(buf_len(&b), 96);
	cr_assert_eq(buf_reserve(pool, &old, 1), 0);
	cr_assert_eq(old.data, data);
	cr_assert(is_zero(old.data, old.cap));
	buf_release(pool, &old);
	buf_release(pool, &b);
	buf_pool_free(pool);
}

#if defined(__SANITIZE_ADDRESS__)
Test(buf, use_after_release_is_found)
{
	struct buf_pool *pool = new_pool(MIB);
	struct buf b = { 0 };
	uint8_t *data;

	cr_assert_eq(buf_reserve(pool, &b, 4096), 0);
	data = b.data;
	cr_assert_null(__asan_region_is_poisoned(data, 4096));
	buf_release(pool, &b);
	cr_assert_not_null(__asan_region_is_poisoned(data + 64, 1));
	cr_assert_eq(buf_reserve(pool, &b, 4096), 0);
	cr_assert_null(__asan_region_is_poisoned(data, 4096));
	buf_release(pool, &b);
	buf_pool_free(pool);
}
#endif

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Three streams through one pool: what goes in comes out, byte for byte. */
Test(buf, streams_keep_their_bytes)
{
	struct buf_pool *pool = new_pool(64 * 1024);
	struct buf b[3] = { 0 };
	uint64_t in[3] = { 0 }, out[3] = { 0 };
	uint32_t seed = 1;

	for (int turn = 0; turn < 30000; turn++) {
		unsigned s = next(&seed) % 3;
		size_t n = next(&seed) % (turn % 50 == 0 ? 70000 : 3000);

		if (next(&seed) % 2 == 0) {
			cr_assert_eq(buf_reserve(pool, &b[s], n), 0);
			for (size_t i = 0; i < n; i++)
				b[s].data[b[s].end++] = (uint8_t)(in[s]++ * 7 + s);
			continue;
		}
		if (n > buf_len(&b[s]))
			n = buf_len(&b[s]);
		for (size_t i = 0; i < n; i++)
			cr_assert_eq(b[s].data[b[s].start + i], (uint8_t)(out[s]++ * 7 + s));
		buf_consume(&b[s], n);
		if (buf_len(&b[s]) == 0)
			buf_release(pool, &b[s]);
	}
	for (int s = 0; s < 3; s++) {
		cr_assert_eq(in[s] - out[s], buf_len(&b[s]));
		cr_assert_gt(out[s], MIB);
		buf_release(pool, &b[s]);
	}
	buf_pool_free(pool);
}
