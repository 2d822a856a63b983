/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Receiving on the kTLS plane. */

#include "lib/tls/kernel.h"

#include <errno.h>

#include "lib/tls/ktls.h"

#define HEADER      DIRECT_HEADER
#define AROUND      (HEADER + 1 + AEAD_TAG_SIZE) /* of a record that is sealed again */
#define RECEIVE_MIN 32768 /* a record fits into what is left of it */
#define RECEIVE_MAX 131072

/* The GnuTLS code for what the kernel found in a record; 0 for what befell the
 * connection. */
static int fault_of(int error)
{
	switch (error) {
	case EBADMSG:
		return GNUTLS_E_DECRYPTION_FAILED;
	case EMSGSIZE:
		return GNUTLS_E_RECORD_OVERFLOW;
	case EINVAL:
		return GNUTLS_E_UNEXPECTED_PACKET;
#ifdef EKEYEXPIRED
	case EKEYEXPIRED:
		return KERNEL_NO_REKEY;
#endif
	default:
		return 0;
	}
}

void kernel_failed(struct session *s, int error)
{
	s->fault = fault_of(error);
	s->direct->kernel->stuck = s->fault != 0;
	s->sock->error = s->fault ? 0 : error; /* 0: an alert can still go out */
	if (!s->fault)
		s->fault = GNUTLS_E_PULL_ERROR;
}

/* n bytes of a record that is not data stand behind the place of its header. */
static void take_control(struct session *s, uint8_t type, size_t n)
{
	struct direct *d = s->direct;
	size_t length = n + 1 + AEAD_TAG_SIZE;
	uint8_t *p = s->in.data;
	int r;

	p[0] = APPLICATION_DATA;
	p[1] = p[2] = 3;
	p[3] = (uint8_t)(length >> 8);
	p[4] = (uint8_t)length;
	p[HEADER + n] = type;
	s->in.start = d->opened = 0;
	s->in.end = HEADER + length;
	d->control = n + 1;
	d->rx.seq++; /* as if it had been opened here */
	d->rx.records = 1; /* 0: it changed the key */
	r = direct_hand_over(s);
	if (r == 0 && !s->eof && d->rx.records == 0 && (!ktls_system->rekeys() || kernel_give_key(s, true, 0) != 0))
		r = KERNEL_NO_REKEY;
	d->rx.seq |= KERNEL_OWN_SEQ;
	if (r < 0)
		s->fault = r;
}

static void take(struct session *s, long n, uint8_t type, size_t room)
{
	if (type == APPLICATION_DATA) {
		s->in.start = HEADER;
		s->in.end = HEADER + (size_t)n;
		s->held_bytes = (size_t)n;
		if ((size_t)n == room && s->in_size < RECEIVE_MAX)
			s->in_size *= 2;
		else if ((size_t)n < room / 4 && s->in_size > RECEIVE_MIN)
			s->in_size /= 2;
	} else if (n > DIRECT_PLAIN_MAX) {
		s->fault = GNUTLS_E_RECORD_OVERFLOW;
	} else {
		take_control(s, type, (size_t)n);
	}
}

static long receive(struct session *s, struct err *e)
{
	size_t room;
	uint8_t type;
	long n;

	s->direct->empty = 0;
	while (!s->held_bytes && !s->eof && !s->fault) {
		if (s->in_size < RECEIVE_MIN)
			s->in_size = RECEIVE_MIN;
		if (!s->sock->readable && !s->sock->eof) {
			buf_release(s->pool, &s->in);
			return SOCK_BLOCKED;
		}
		if (buf_reserve(s->pool, &s->in, s->in_size) < 0) {
			s->fault = GNUTLS_E_MEMORY_ERROR;
			break;
		}
		room = s->in_size - AROUND;
		n = ktls_system->receive(s->sock, s->in.data + HEADER, room, &type);
		if (n == SOCK_BLOCKED)
			continue;
		if (n < 0) {
			kernel_failed(s, s->sock->error);
		} else if (type == 0) {
			s->direct->cut = ktls_system->cut(s->sock);
			s->fault = GNUTLS_E_PREMATURE_TERMINATION;
		} else {
			take(s, n, type, room);
		}
	}
	if (s->held_bytes)
		return (long)s->held_bytes;
	buf_release(s->pool, &s->in);
	return s->fault ? kernel_fail(s, s->fault, e) : 0;
}

long kernel_fill(struct session *s, struct err *e)
{
	kernel_engage(s);
	return s->direct->kernel->opens ? receive(s, e) : direct_fill(s, e);
}

int kernel_peek(const struct session *s, struct iovec *iov, int max, size_t *total)
{
	if (!s->direct->kernel->opens)
		return direct_peek(s, iov, max, total);
	*total = s->held_bytes;
	if (!s->held_bytes || max < 1)
		return 0;
	iov[0].iov_base = s->in.data + s->in.start;
	iov[0].iov_len = s->held_bytes;
	return 1;
}

void kernel_consume(struct session *s, size_t n)
{
	if (!s->direct->kernel->opens) {
		direct_consume(s, n);
		return;
	}
	s->held_bytes -= n;
	buf_consume(&s->in, n);
	if (!s->held_bytes)
		buf_release(s->pool, &s->in); /* the next bytes may pass it by */
}

/* Behind a broken record the end is there when the other side has our alert: a close
 * with bytes unread resets the connection. */
long kernel_discard(struct session *s)
{
	uint8_t sink[DIRECT_PLAIN_MAX], type = 0;
	long n;

	if (!s->direct->kernel->opens)
		return sock_read(s->sock, sink, sizeof(sink));
	n = s->direct->kernel->stuck ? SOCK_FAILED : ktls_system->receive(s->sock, sink, sizeof(sink), &type);
	if (n == SOCK_FAILED && !s->direct->kernel->stuck)
		kernel_failed(s, s->sock->error);
	if (s->direct->kernel->stuck)
		return sock_unsent(s->sock) ? SOCK_BLOCKED : 0;
	return n == 0 && type ? 1 : n;
}
