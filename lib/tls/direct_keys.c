/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Keys and sequence numbers of the direct path, and who has them: GnuTLS while it
 * reads or sends a record itself, this path at all other times. */

#include "lib/tls/direct.h"

#include <gnutls/crypto.h>
#include <string.h>

#include "lib/tls/kernel.h"
#include "lib/tls/tlserr.h"

static uint64_t get_seq(const unsigned char in[8])
{
	uint64_t seq = 0;
	int i;

	for (i = 0; i < 8; i++)
		seq = seq << 8 | in[i];
	return seq;
}

int direct_take(struct session *s, bool read)
{
	struct direct_half *h = read ? &s->direct->rx : &s->direct->tx;
	gnutls_datum_t mac, iv, key;
	unsigned char seq[8];
	int r = gnutls_record_get_state(s->gs, read, &mac, &iv, &key, seq);

	if (r < 0)
		return r;
	if (iv.size != s->direct->layout->iv_size || key.size > AEAD_KEY_MAX)
		return GNUTLS_E_INVALID_REQUEST;
	h->seq = get_seq(seq);
	if (h->key_size == key.size && gnutls_memcmp(h->key, key.data, key.size) == 0)
		return 0;
	direct_rest(h);
	memcpy(h->key, key.data, key.size);
	h->key_size = key.size;
	memcpy(h->iv, iv.data, iv.size);
	h->records = 0;
	return 0;
}

/* --- the ciphers that are set up on this thread, by use ---------------------------- */

#define READY_MAX 1024

static _Thread_local struct {
	struct direct_half *newest, *oldest;
	unsigned n;
} ready;

static void take_out(struct direct_half *h)
{
	*(h->newer ? &h->newer->older : &ready.newest) = h->older;
	*(h->older ? &h->older->newer : &ready.oldest) = h->newer;
	ready.n--;
}

static void put_first(struct direct_half *h)
{
	h->newer = NULL;
	h->older = ready.newest;
	*(ready.newest ? &ready.newest->newer : &ready.oldest) = h;
	ready.newest = h;
	ready.n++;
}

void direct_rest(struct direct_half *h)
{
	if (!h->aead)
		return;
	take_out(h);
	aead_free(h->aead);
	h->aead = NULL;
}

struct aead *direct_aead(const struct direct *d, struct direct_half *h)
{
	gnutls_datum_t key = { h->key, (unsigned)h->key_size };
	struct err ignored;

	if (h == ready.newest)
		return h->aead;
	if (h->aead) {
		take_out(h);
		put_first(h);
		return h->aead;
	}
	if (ready.n >= READY_MAX)
		direct_rest(ready.oldest);
	h->aead = aead_new(d->cipher, &key, &ignored);
	if (h->aead)
		put_first(h);
	return h->aead;
}

/* --- the end ----------------------------------------------------------------------- */

void direct_give(struct session *s, bool read)
{
	const struct direct_half *h = read ? &s->direct->rx : &s->direct->tx;
	unsigned char seq[8];

	direct_put_seq(h->seq, seq);
	gnutls_record_set_state(s->gs, read, seq);
}

int direct_speak(struct session *s, direct_say_fn *say, int arg)
{
	struct direct *d = s->direct;
	bool kernel = d->kernel && d->kernel->seals;
	struct buf said = { 0 };
	int r, queued = 0;

	if (kernel)
		s->capture = &said;
	direct_give(s, false);
	r = say(s, arg);
	if (kernel) {
		s->capture = NULL;
		queued = kernel_said(s, &said);
		buf_release_wiped(s->pool, &said);
	}
	/* in any case: what was sent has its number */
	if (direct_take(s, false) < 0 && (r >= 0 || !gnutls_error_is_fatal(r)))
		r = GNUTLS_E_INTERNAL_ERROR;
	if (kernel)
		d->tx.seq |= KERNEL_OWN_SEQ;
	return queued < 0 && (r >= 0 || !gnutls_error_is_fatal(r)) ? queued : r;
}

static int say_key_update(struct session *s, int ask)
{
	return gnutls_session_key_update(s->gs, ask ? GNUTLS_KU_PEER : 0);
}

int direct_key_update(struct session *s, bool ask)
{
	/* one that waits to be sent is one for all that came before it (4.6.3) */
	if (s->direct->kernel && s->direct->kernel->key_waits && !ask)
		return 0;
	return direct_speak(s, say_key_update, ask);
}

static int say_alert_for(struct session *s, int code)
{
	return gnutls_alert_send_appropriate(s->gs, code);
}

void direct_wipe_half(struct direct_half *h)
{
	direct_rest(h);
	gnutls_memset(h, 0, sizeof(*h));
}

int direct_fail(struct session *s, int code, struct err *e)
{
	bool told;

	if (s->renegotiation)
		tlserr_renegotiation(e);
	else if (s->sock->error)
		err_sys(e, ERR_IO, s->sock->error, "the TLS connection broke");
	else
		tlserr_session(e, s->gs, code);
	if (code == GNUTLS_E_PREMATURE_TERMINATION && !s->sock->error) {
		/* sending still works; and what was cut off is not to be forgiven */
		if (s->direct->cut)
			err_set(e, ERR_IO, "truncated: the peer closed inside a record");
		return SOCK_FAILED;
	}
	told = s->failed; /* by an alert, and nothing goes behind that */
	s->failed = true;
	s->refused_by_alert = code == GNUTLS_E_FATAL_ALERT_RECEIVED;
	if (!told && !s->refused_by_alert && !s->sock->error && !s->closed)
		direct_speak(s, say_alert_for, code);
	return SOCK_FAILED;
}
