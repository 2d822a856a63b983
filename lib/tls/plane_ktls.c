/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The kTLS plane (kernel.h): how it begins, and sending. */

#include "lib/tls/plane.h"

#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/kernel.h"
#include "lib/tls/ktls.h"

#define HEADER      DIRECT_HEADER
#define BATCH_MIN   16384
#define BATCH_MAX   131072
#define COUNT_EVERY 4096 /* pieces, of 256 records at most: 2^20 */

/* Without another key an end comes at 2^24 records of AES-GCM, of the 2^24.5 that
 * RFC 8446, 5.5 allows. ChaCha20-Poly1305 has no such limit. */
#define GCM_RECORDS (1ULL << 24)

int kernel_fail(struct session *s, int code, struct err *e)
{
	direct_fail(s, code, e);
	if (code == KERNEL_NO_REKEY)
		err_set(e, ERR_RUNTIME, "the key is to change (KeyUpdate), which TLS of this kernel cannot do; "
					"Linux 6.14 or --dataplane direct can");
	return SOCK_FAILED;
}

/* --- to the kernel ------------------------------------------------------------------ */

int kernel_give_key(struct session *s, bool read, uint64_t seq)
{
	struct direct *d = s->direct;
	struct direct_half *h = read ? &d->rx : &d->tx;
	const struct ktls_key k = { .cipher = d->cipher, .key = h->key, .iv = h->iv, .seq = seq };
	int r = ktls_system->set_key(s->sock->fd, read, &k);

	if (r == 0)
		h->seq |= KERNEL_OWN_SEQ;
	return r;
}

static bool between_records(const struct session *s)
{
	const struct direct *d = s->direct;

	return !buf_len(&s->in) && !d->control && !d->n_open && !s->held_bytes && !s->fault && !s->eof && !s->sock->eof &&
	       !s->sock->error;
}

void kernel_engage(struct session *s)
{
	struct kernel *k = s->direct->kernel;

	if (!k->seals && !k->seal_refused && !buf_len(&s->out) && !s->closed && !s->failed) {
		k->seals = kernel_give_key(s, false, s->direct->tx.seq) == 0;
		k->seal_refused = !k->seals;
	}
	if (!k->opens && !k->open_refused && between_records(s)) {
		buf_release(s->pool, &s->in);
		k->opens = kernel_give_key(s, true, s->direct->rx.seq) == 0;
		k->open_refused = !k->opens;
		s->direct->exact = false;
		s->sock->readable = true; /* what waits there is told of by nobody */
	}
}

/* --- sending ------------------------------------------------------------------------- */

/* Opens the record that GnuTLS sealed at p. The length with the type byte, or -1. */
static long open_said(struct direct *d, uint8_t *p, size_t n)
{
	long length;

	if (n < HEADER || n < HEADER + direct_length(p) || direct_length(p) < 1 + AEAD_TAG_SIZE)
		return -1;
	length = direct_open(d, &d->tx, p);
	if (length < 0)
		return -1;
	d->tx.seq++;
	return length;
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
			return KERNEL_NO_REKEY;
		k->key_waits = true;
	}
	if (buf_reserve(s->pool, &k->said, n - 1) < 0)
		return GNUTLS_E_MEMORY_ERROR;
	memcpy(k->said.data + k->said.end, p, n - 1);
	k->said.end += n - 1;
	return 0;
}

int kernel_said(struct session *s, struct buf *said)
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
		if (kernel_give_key(s, false, 0) != 0)
			return kernel_fail(s, KERNEL_NO_REKEY, e);
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
		return kernel_fail(s, KERNEL_NO_REKEY, e);
	}
	r = direct_key_update(s, false);
	return r < 0 ? kernel_fail(s, r, e) : 0;
}

static int ktls_reserve(struct session *s, struct iovec *iov, int max, size_t *total)
{
	struct kernel *k = s->direct->kernel;

	kernel_engage(s);
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
	return r < 0 ? kernel_fail(s, r, e) : count_records(s, e);
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

	if (gnutls_protocol_get_version(s->gs) != GNUTLS_TLS1_3)
		return -1;
	/* the kernel knows no record_size_limit (RFC 8449) of the peer */
	if (!ktls_system->available() || !ktls_knows(d->cipher) || d->slot_max < DIRECT_PLAIN_MAX)
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
	.fill = kernel_fill,
	.peek = kernel_peek,
	.consume = kernel_consume,
	.reserve = ktls_reserve,
	.commit = ktls_commit,
	.close_notify = direct_close_notify,
	.abort = direct_abort,
	.key_update = direct_key_update,
	.wear_out = ktls_wear_out,
	.rest = direct_leave,
	.release = direct_release,
	.flush = ktls_flush,
	.discard = kernel_discard,
	.used = ktls_used,
	.kernel_opens = ktls_kernel_opens,
	.kernel_seals = ktls_kernel_seals,
	.kernel_failed = kernel_failed,
	.kernel_sent = count_records,
};
