/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The direct plane with records by the kernel (ktls.h). A session begins on the
 * direct plane, and each direction goes to the kernel when it stands between two
 * records with nothing on its way: mostly before the first one.
 *
 * From then on the socket gives and takes plaintext. What is not application data
 * is GnuTLS's as before: a record that the kernel opened is sealed again, with the
 * same key, and handed over; what GnuTLS sends is opened, and sealed by the kernel
 * as a record of its type. */

#include "lib/tls/plane.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/direct.h"
#include "lib/tls/ktls.h"

#define HEADER      DIRECT_HEADER
#define AROUND      (HEADER + 1 + AEAD_TAG_SIZE) /* of a record that is sealed again */
#define RECEIVE_MIN 32768 /* a record fits into what is left of it */
#define BATCH_MIN   16384
#define BATCH_MAX   131072
#define COUNT_EVERY 4096 /* pieces, of 256 records at most: 2^20 */

/* Without another key an end comes at 2^24 records of AES-GCM, of the 2^24.5 that
 * RFC 8446, 5.5 allows. ChaCha20-Poly1305 has no such limit. */
#define GCM_RECORDS (1ULL << 24)

/* What a kernel cannot do that takes one key a connection. */
#define NO_REKEY GNUTLS_E_UNIMPLEMENTED_FEATURE

static int fail(struct session *s, int code, struct err *e)
{
	direct_fail(s, code, e);
	if (code == NO_REKEY)
		err_set(e, ERR_RUNTIME, "the key is to change (KeyUpdate), which TLS of this kernel cannot do; "
					"Linux 6.14 or --dataplane direct can");
	return SOCK_FAILED;
}

/* --- to the kernel ------------------------------------------------------------------ */

static int give_key(struct session *s, bool read, uint64_t seq)
{
	struct direct *d = s->direct;
	struct direct_half *h = read ? &d->rx : &d->tx;
	const struct ktls_key k = { .cipher = d->cipher, .key = h->key, .iv = h->iv, .seq = seq };
	int r = ktls_system->set_key(s->sock->fd, read, &k);

	if (r == 0)
		h->seq |= DIRECT_OWN_SEQ;
	return r;
}

static bool between_records(const struct session *s)
{
	const struct direct *d = s->direct;

	return !buf_len(&s->in) && !d->control && !d->n_open && !s->held_bytes && !s->fault && !s->eof && !s->sock->eof &&
	       !s->sock->error;
}

static void engage(struct session *s)
{
	struct kernel *k = s->direct->kernel;

	if (!k->seals && !k->seal_refused && !buf_len(&s->out) && !s->closed && !s->failed) {
		k->seals = give_key(s, false, s->direct->tx.seq) == 0;
		k->seal_refused = !k->seals;
	}
	if (!k->opens && !k->open_refused && between_records(s)) {
		buf_release(s->pool, &s->in);
		k->opens = give_key(s, true, s->direct->rx.seq) == 0;
		k->open_refused = !k->opens;
		s->direct->exact = false;
		s->sock->readable = true; /* what waits there is told of by nobody */
	}
}

/* --- receiving ----------------------------------------------------------------------- */

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
		return NO_REKEY;
#endif
	default:
		return 0;
	}
}

static void note_fault(struct session *s)
{
	s->fault = fault_of(s->sock->error);
	if (s->fault)
		s->sock->error = 0; /* an alert can still go out */
	else
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
	if (r == 0 && !s->eof && d->rx.records == 0 && (!ktls_system->rekeys() || give_key(s, true, 0) != 0))
		r = NO_REKEY;
	d->rx.seq |= DIRECT_OWN_SEQ;
	if (r < 0)
		s->fault = r;
}

static void take(struct session *s, long n, uint8_t type, size_t room)
{
	if (type == APPLICATION_DATA) {
		s->in.start = HEADER;
		s->in.end = HEADER + (size_t)n;
		s->held_bytes = (size_t)n;
		if ((size_t)n == room && s->in_size < BATCH_MAX)
			s->in_size *= 2;
		else if ((size_t)n < room / 4 && s->in_size > RECEIVE_MIN)
			s->in_size /= 2;
	} else if (n > DIRECT_PLAIN_MAX) {
		s->fault = GNUTLS_E_RECORD_OVERFLOW;
	} else {
		take_control(s, type, (size_t)n);
	}
}

static long kernel_fill(struct session *s, struct err *e)
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
			note_fault(s);
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
	return s->fault ? fail(s, s->fault, e) : 0;
}

static long ktls_fill(struct session *s, struct err *e)
{
	engage(s);
	return s->direct->kernel->opens ? kernel_fill(s, e) : direct_fill(s, e);
}

static int ktls_peek(const struct session *s, struct iovec *iov, int max, size_t *total)
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

static void ktls_consume(struct session *s, size_t n)
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

/* What is behind a broken record cannot be read any more. Then the end is there when
 * the other side has our alert: a close with bytes unread resets the connection. */
static long ktls_discard(struct session *s)
{
	uint8_t sink[DIRECT_PLAIN_MAX], type = 0;
	long n;

	if (!s->direct->kernel->opens)
		return sock_read(s->sock, sink, sizeof(sink));
	n = ktls_system->receive(s->sock, sink, sizeof(sink), &type);
	if (n == 0 && type)
		return 1;
	if (n == SOCK_FAILED && fault_of(s->sock->error)) {
		s->sock->error = 0;
		return sock_unsent(s->sock) ? SOCK_BLOCKED : 0;
	}
	return n;
}

/* --- sending ------------------------------------------------------------------------- */

/* Opens the record that GnuTLS sealed at p. The length with the type byte, or -1. */
static long open_said(struct direct *d, uint8_t *p, size_t n)
{
	uint8_t nonce[AEAD_NONCE_SIZE];
	size_t length;

	if (n < AROUND)
		return -1;
	length = (size_t)p[3] << 8 | p[4];
	if (n < HEADER + length || length < 1 + AEAD_TAG_SIZE)
		return -1;
	direct_nonce(&d->tx, nonce);
	length -= AEAD_TAG_SIZE;
	if (aead_open(d->tx.aead, nonce, p, HEADER, p + HEADER, length) < 0)
		return -1;
	d->tx.seq++;
	return (long)length;
}

static int queue(struct session *s, const uint8_t *p, size_t n)
{
	struct kernel *k = s->direct->kernel;
	uint8_t type = p[n - 1];

	if (type == ALERT && n == sizeof(k->alert) + 1) {
		memcpy(k->alert, p, sizeof(k->alert));
		k->alert_waits = true;
		return 0;
	}
	if (type != HANDSHAKE)
		return GNUTLS_E_INTERNAL_ERROR;
	if (p[0] == DIRECT_KEY_UPDATE) {
		if (!ktls_system->rekeys())
			return NO_REKEY;
		k->key_waits = true;
	}
	if (buf_reserve(s->pool, &k->said, n - 1) < 0)
		return GNUTLS_E_MEMORY_ERROR;
	memcpy(k->said.data + k->said.end, p, n - 1);
	k->said.end += n - 1;
	return 0;
}

int direct_kernel_said(struct session *s, struct buf *said)
{
	uint8_t *p;
	long n;
	int r = 0;

	while (buf_len(said) && r == 0) {
		p = said->data + said->start;
		n = open_said(s->direct, p, buf_len(said));
		if (n < 1)
			return GNUTLS_E_INTERNAL_ERROR;
		r = queue(s, p + HEADER, (size_t)n);
		buf_consume(said, HEADER + (size_t)n + AEAD_TAG_SIZE);
	}
	return r;
}

/* 0 when b is sent. */
static int send_buf(struct session *s, uint8_t type, struct buf *b)
{
	long n;

	while (buf_len(b)) {
		n = ktls_system->send(s->sock, type, b->data + b->start, buf_len(b));
		if (n < 0)
			return (int)n;
		buf_consume(b, (size_t)n);
	}
	if (b->data)
		buf_release(s->pool, b);
	return 0;
}

/* The alert is the last of all. */
static int send_alert(struct session *s)
{
	struct kernel *k = s->direct->kernel;
	long n;

	if (k->alert_waits) {
		n = ktls_system->send(s->sock, ALERT, k->alert, sizeof(k->alert));
		if (n < 0)
			return (int)n;
		k->alert_waits = false;
		k->alert_sent = true;
	}
	return k->alert_sent && !ktls_system->handed_on(s->sock) ? SOCK_BLOCKED : 0;
}

static int ktls_flush(struct session *s, struct err *e)
{
	struct kernel *k = s->direct->kernel;
	int r;

	if (!k->seals)
		return session_flush_out(s, e);
	r = send_buf(s, HANDSHAKE, &k->said);
	if (r == 0 && k->key_waits) {
		if (give_key(s, false, 0) != 0)
			return fail(s, NO_REKEY, e);
		k->key_waits = false;
	}
	if (r == 0)
		r = send_buf(s, KTLS_DATA, &s->out);
	if (r == 0)
		r = send_alert(s);
	if (r == SOCK_FAILED)
		err_sys(e, ERR_IO, s->sock->error, "cannot send to the TLS peer");
	return r;
}

/* Before the key is worn out it is changed, where the kernel can. */
static int count_records(struct session *s, struct err *e)
{
	struct direct *d = s->direct;
	struct kernel *k = d->kernel;
	uint64_t n;
	int r;

	if (++k->pieces < COUNT_EVERY && !k->worn_out)
		return 0;
	n = k->worn_out ? GCM_RECORDS : ktls_system->next_seq(s->sock->fd, d->cipher);
	k->pieces = 0;
	k->worn_out = false;
	if (n < DIRECT_REKEY_RECORDS || s->closed)
		return 0;
	if (!ktls_system->rekeys()) {
		if (d->cipher == GNUTLS_CIPHER_CHACHA20_POLY1305 || (d->cipher != GNUTLS_CIPHER_AES_128_CCM && n < GCM_RECORDS))
			return 0;
		return fail(s, NO_REKEY, e);
	}
	r = direct_key_update(s, false);
	return r < 0 ? fail(s, r, e) : 0;
}

static int ktls_reserve(struct session *s, struct iovec *iov, int max, size_t *total)
{
	struct kernel *k = s->direct->kernel;

	engage(s);
	if (!k->seals)
		return direct_reserve(s, iov, max, total);
	if (buf_len(&s->out) || buf_len(&k->said) || k->key_waits || max < 1)
		return 0;
	if (s->out_size < BATCH_MIN)
		s->out_size = BATCH_MIN;
	if (buf_reserve(s->pool, &s->out, s->out_size) < 0)
		return -1;
	iov[0].iov_base = s->out.data;
	iov[0].iov_len = *total = s->out_size;
	return 1;
}

static int say_tickets(struct session *s, int unused)
{
	(void)unused;
	return session_send_tickets(s);
}

static int ktls_commit(struct session *s, size_t n, bool full, struct err *e)
{
	int r = 0;

	if (!s->direct->kernel->seals)
		return direct_commit(s, n, full, e);
	if (n == 0) {
		buf_release(s->pool, &s->out);
		return 0;
	}
	s->out.start = 0;
	s->out.end = n;
	if (!s->tickets_sent)
		r = direct_speak(s, say_tickets, 0);
	if (full && s->out_size < BATCH_MAX)
		s->out_size *= 2;
	else if (n < s->out_size / 4)
		s->out_size /= 2;
	return r < 0 ? fail(s, r, e) : count_records(s, e);
}

static void ktls_wear_out(struct session *s)
{
	direct_wear_out(s);
	s->direct->kernel->worn_out = true;
}

/* --- for relays and reports ------------------------------------------------------------ */

static const char *ktls_used(const struct session *s)
{
	const struct kernel *k = s->direct->kernel;

	return k->opens && k->seals ? plane_ktls.name : plane_direct.name;
}

static bool ktls_kernel_opens(const struct session *s)
{
	return s->direct->kernel->opens && !s->held_bytes && !s->eof && !s->fault && !s->failed;
}

static bool ktls_kernel_seals(const struct session *s)
{
	const struct kernel *k = s->direct->kernel;

	return k->seals && s->tickets_sent && !buf_len(&s->out) && !buf_len(&k->said) && !k->key_waits && !s->closed &&
	       !s->failed;
}

int plane_ktls_start(struct session *s)
{
	struct direct *d = s->direct;

	/* the kernel knows no record_size_limit (RFC 8449) of the peer */
	if (!ktls_system->available() || !ktls_knows(d->cipher) || d->slot_size < DIRECT_PLAIN_MAX)
		return -1;
	if (ktls_system->attach(s->sock->fd) != 0)
		return -1;
	d->kernel = calloc(1, sizeof(*d->kernel));
	if (!d->kernel)
		return -1;
	d->exact = true;
	s->plane = &plane_ktls;
	return 0;
}

const struct plane plane_ktls = {
	.name = "ktls",
	.fill = ktls_fill,
	.peek = ktls_peek,
	.consume = ktls_consume,
	.reserve = ktls_reserve,
	.commit = ktls_commit,
	.close_notify = direct_close_notify,
	.abort = direct_abort,
	.key_update = direct_key_update,
	.wear_out = ktls_wear_out,
	.release = direct_release,
	.flush = ktls_flush,
	.discard = ktls_discard,
	.used = ktls_used,
	.kernel_opens = ktls_kernel_opens,
	.kernel_seals = ktls_kernel_seals,
	.kernel_sent = count_records,
};
