/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/fake_kernel.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "lib/tls/aead.h"
#include "lib/tls/ktls.h"

#define FDS    1024
#define HEADER 5
#define PLAIN  16384
#define WAITS  (1 << 20)

struct half {
	struct aead *aead;
	uint8_t iv[AEAD_NONCE_SIZE];
	uint64_t seq;
	uint8_t data[WAITS]; /* records on their way */
	size_t start, end;
};

struct fake_socket {
	bool attached;
	struct half half[2];
};

struct fake_kernel fake_kernel;
static struct fake_socket *sockets[FDS];
static const struct ktls_calls *system_calls;

static bool available(void)
{
	return !fake_kernel.absent;
}

static bool rekeys(void)
{
	return fake_kernel.rekeys;
}

static int attach(int fd)
{
	cr_assert(fd >= 0 && fd < FDS && !sockets[fd]);
	if (fake_kernel.attach_error)
		return fake_kernel.attach_error;
	sockets[fd] = calloc(1, sizeof(*sockets[fd]));
	cr_assert(sockets[fd]);
	return 0;
}

static int set_key(int fd, bool read, const struct ktls_key *k)
{
	struct half *h = &sockets[fd]->half[read];
	gnutls_datum_t key = { (uint8_t *)k->key, (unsigned)gnutls_cipher_get_key_size(k->cipher) };
	struct err e;

	if (fake_kernel.refuse[read])
		return fake_kernel.refuse[read];
	if (h->aead && !fake_kernel.rekeys)
		return EBUSY;
	aead_free(h->aead);
	h->aead = aead_new(k->cipher, &key, &e);
	cr_assert(h->aead, "%s", e.msg);
	memcpy(h->iv, k->iv, sizeof(h->iv));
	h->seq = k->seq;
	if (fake_kernel.keys[read]++ == 0)
		fake_kernel.first_seq[read] = k->seq;
	return 0;
}

static void nonce(const struct half *h, uint8_t out[AEAD_NONCE_SIZE])
{
	int i;

	memcpy(out, h->iv, AEAD_NONCE_SIZE);
	for (i = 0; i < 8; i++)
		out[4 + i] ^= (uint8_t)(h->seq >> (56 - 8 * i));
}

/* The whole first record: 1, 0: not there yet, or an errno below 0. */
static int whole(const struct half *h)
{
	const uint8_t *p = h->data + h->start;
	size_t n = h->end - h->start, length;

	if (n < HEADER)
		return 0;
	length = (size_t)p[3] << 8 | p[4];
	if (p[1] != 3 || p[2] != 3)
		return -EINVAL;
	if (length > PLAIN + 1 + AEAD_TAG_SIZE)
		return -EMSGSIZE;
	return n >= HEADER + length;
}

static long fail(struct sock *s, int error)
{
	s->error = error;
	return SOCK_FAILED;
}

static long receive(struct sock *s, void *data, size_t size, uint8_t *type)
{
	struct half *h = &sockets[s->fd]->half[1];
	uint8_t *p, n12[AEAD_NONCE_SIZE];
	size_t n;
	long r;
	int there;

	*type = 0;
	while ((there = whole(h)) == 0) {
		r = sock_read(s, h->data + h->end, WAITS - h->end);
		if (r <= 0)
			return r;
		h->end += (size_t)r;
	}
	if (there < 0)
		return fail(s, -there);
	p = h->data + h->start;
	n = ((size_t)p[3] << 8 | p[4]) - AEAD_TAG_SIZE;
	nonce(h, n12);
	if (aead_open(h->aead, n12, p, HEADER, p + HEADER, n) < 0)
		return fail(s, EBADMSG);
	h->start += HEADER + n + AEAD_TAG_SIZE;
	h->seq++;
	while (n && !p[HEADER + n - 1])
		n--;
	cr_assert(n);
	*type = p[HEADER + --n];
	cr_assert_leq(n, size);
	memcpy(data, p + HEADER, n);
	if (h->start == h->end)
		h->start = h->end = 0;
	fake_kernel.records[1]++;
	fake_kernel.controls[1] += *type != KTLS_DATA;
	if (n == 0 && *type == KTLS_DATA)
		return receive(s, data, size, type);
	return (long)n;
}

/* As the kernel does, takes a record whole and keeps what TCP has no room for. */
static long send_type(struct sock *s, uint8_t type, const void *data, size_t n)
{
	struct half *h = &sockets[s->fd]->half[0];
	uint8_t *p = h->data + h->end, n12[AEAD_NONCE_SIZE];
	long r;

	while (h->start < h->end) {
		r = sock_write(s, h->data + h->start, h->end - h->start);
		if (r < 0)
			return r;
		h->start += (size_t)r;
	}
	h->start = h->end = 0;
	p = h->data;
	if (!s->writable)
		return SOCK_BLOCKED;
	n = n < PLAIN ? n : PLAIN;
	p[0] = KTLS_DATA;
	p[1] = p[2] = 3;
	p[3] = (uint8_t)((n + 1 + AEAD_TAG_SIZE) >> 8);
	p[4] = (uint8_t)(n + 1 + AEAD_TAG_SIZE);
	memcpy(p + HEADER, data, n);
	p[HEADER + n] = type;
	nonce(h, n12);
	cr_assert_eq(aead_seal(h->aead, n12, p, HEADER, p + HEADER, n + 1), 0);
	h->seq++;
	h->end = HEADER + n + 1 + AEAD_TAG_SIZE;
	fake_kernel.records[0]++;
	fake_kernel.controls[0] += type != KTLS_DATA;
	r = sock_write(s, h->data, h->end);
	if (r > 0)
		h->start = (size_t)r;
	return r == SOCK_FAILED ? r : (long)n;
}

static uint64_t next_seq(int fd, gnutls_cipher_algorithm_t cipher)
{
	(void)cipher;
	return sockets[fd]->half[0].seq;
}

static bool handed_on(struct sock *s)
{
	if (fake_kernel.full)
		s->writable = false;
	return !fake_kernel.full;
}

static bool cut(const struct sock *s)
{
	const struct half *h = &sockets[s->fd]->half[1];

	return h->start < h->end;
}

void fake_kernel_install(bool can_rekey)
{
	static const struct ktls_calls calls = { available, rekeys, attach, set_key, receive, send_type, next_seq, handed_on, cut };

	system_calls = ktls_system;
	ktls_system = &calls;
	fake_kernel = (struct fake_kernel){ .rekeys = can_rekey };
}

void fake_kernel_remove(void)
{
	int i;

	ktls_system = system_calls;
	for (i = 0; i < FDS; i++) {
		if (sockets[i]) {
			aead_free(sockets[i]->half[0].aead);
			aead_free(sockets[i]->half[1].aead);
		}
		free(sockets[i]);
		sockets[i] = NULL;
	}
}
