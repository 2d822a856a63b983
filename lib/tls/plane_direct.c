/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The direct record path (TLS 1.3, RFC 8446, section 5). After the handshake the
 * keys come out of GnuTLS, and application data is sealed where it was read from
 * the plain socket and opened where it was received, without a copy.
 *
 * Everything else is GnuTLS's still. A record that is not application data is
 * sealed again (the same key, nonce and plaintext give the same bytes) and given
 * to GnuTLS to read; what GnuTLS sends itself (tickets, key updates, alerts) it
 * seals with the sequence number that it is told. After each such exchange keys
 * and sequence numbers are taken back. */

#include "lib/tls/plane.h"

#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/aead.h"
#include "lib/tls/tls_int.h"
#include "lib/tls/tlserr.h"

#define HEADER        5
#define PLAIN_MAX     16384 /* RFC 8446, 5.1 */
#define CIPHER_MAX    (PLAIN_MAX + 256) /* 5.2 */
#define SLOT_OVERHEAD (HEADER + 1 + AEAD_TAG_SIZE) /* header, inner type, tag */
#define SLOTS_MAX     8
#define GAP           2048 /* in front of the first slot, for what GnuTLS has to say before it */
#define OPEN_MAX      64 /* records opened ahead of the sink */
#define EMPTY_MAX     1000 /* records without data in a row */
#define REKEY_RECORDS (1ULL << 23) /* half of what AES-GCM allows (5.5) */

enum content { CHANGE_CIPHER_SPEC = 20, ALERT = 21, HANDSHAKE = 22, APPLICATION_DATA = 23 };

/* One direction. */
struct half {
	struct aead *aead;
	uint8_t key[AEAD_KEY_MAX];
	size_t key_size;
	uint8_t iv[AEAD_NONCE_SIZE];
	uint64_t seq; /* of the next record */
	uint64_t records; /* with this key */
};

struct direct {
	gnutls_cipher_algorithm_t cipher;
	struct half rx, tx;
	/* in: [start, opened) are records that are open. In their headers the
	 * version's place holds the length of the plaintext. */
	size_t opened;
	unsigned n_open;
	size_t control; /* the first record behind `opened` is not application data: its inner length with the type byte, else 0 */
	size_t slot_size; /* plaintext a slot */
	unsigned empty;
};

/* --- keys ----------------------------------------------------------------------------- */

static void put_seq(uint64_t seq, unsigned char out[8])
{
	int i;

	for (i = 7; i >= 0; i--, seq >>= 8)
		out[i] = (unsigned char)seq;
}

static uint64_t get_seq(const unsigned char in[8])
{
	uint64_t seq = 0;
	int i;

	for (i = 0; i < 8; i++)
		seq = seq << 8 | in[i];
	return seq;
}

/* Takes one direction's state from GnuTLS. 0, or a GnuTLS code. */
static int take_half(struct session *s, struct half *h, bool read)
{
	gnutls_datum_t mac, iv, key;
	unsigned char seq[8];
	struct err ignored;
	int r = gnutls_record_get_state(s->gs, read, &mac, &iv, &key, seq);

	if (r < 0)
		return r;
	if (iv.size != AEAD_NONCE_SIZE || key.size > AEAD_KEY_MAX)
		return GNUTLS_E_INVALID_REQUEST;
	h->seq = get_seq(seq);
	if (h->aead && h->key_size == key.size && gnutls_memcmp(h->key, key.data, key.size) == 0)
		return 0;
	aead_free(h->aead);
	h->aead = aead_new(s->direct->cipher, &key, &ignored);
	memcpy(h->key, key.data, key.size);
	h->key_size = key.size;
	memcpy(h->iv, iv.data, iv.size);
	h->records = 0;
	return h->aead ? 0 : GNUTLS_E_MEMORY_ERROR;
}

static void give_half(struct session *s, const struct half *h, bool read)
{
	unsigned char seq[8];

	put_seq(h->seq, seq);
	gnutls_record_set_state(s->gs, read, seq);
}

static void nonce_of(const struct half *h, uint8_t nonce[AEAD_NONCE_SIZE])
{
	unsigned char seq[8];
	int i;

	put_seq(h->seq, seq);
	memcpy(nonce, h->iv, AEAD_NONCE_SIZE);
	for (i = 0; i < 8; i++)
		nonce[4 + i] ^= seq[i];
}

/* --- failing --------------------------------------------------------------------------- */

static int fail(struct session *s, int code, struct err *e)
{
	s->failed = true;
	if (s->sock->error) {
		err_sys(e, ERR_IO, s->sock->error, "the TLS connection broke");
		return SOCK_FAILED;
	}
	tlserr_session(e, s->gs, code);
	if (code != GNUTLS_E_FATAL_ALERT_RECEIVED && code != GNUTLS_E_PREMATURE_TERMINATION) {
		give_half(s, &s->direct->tx, false);
		gnutls_alert_send_appropriate(s->gs, code);
		take_half(s, &s->direct->tx, false);
	}
	return SOCK_FAILED;
}

/* --- receiving --------------------------------------------------------------------------- */

static size_t record_length(const uint8_t *header)
{
	return (size_t)header[3] << 8 | header[4];
}

static void set_plain_length(uint8_t *header, size_t n)
{
	header[1] = (uint8_t)(n >> 8);
	header[2] = (uint8_t)n;
}

static size_t plain_length(const uint8_t *header)
{
	return (size_t)header[1] << 8 | header[2];
}

/* The whole record at p of n bytes: 1, 0 when some of it is yet to come, or a
 * GnuTLS code. */
static int check_header(const uint8_t *p, size_t n)
{
	size_t length;

	if (n < HEADER)
		return 0;
	length = record_length(p);
	/* nothing goes unprotected after the handshake */
	if (p[0] != APPLICATION_DATA)
		return GNUTLS_E_UNEXPECTED_PACKET;
	if (length > CIPHER_MAX)
		return GNUTLS_E_RECORD_OVERFLOW;
	if (length < 1 + AEAD_TAG_SIZE)
		return GNUTLS_E_DECRYPTION_FAILED;
	return n >= HEADER + length;
}

/* Opens the record at p in place. Its plaintext's length with the inner type
 * byte, padding cut off, or a GnuTLS code. */
static long open_record(struct direct *d, uint8_t *p)
{
	size_t n = record_length(p) - AEAD_TAG_SIZE;
	uint8_t nonce[AEAD_NONCE_SIZE];

	nonce_of(&d->rx, nonce);
	if (aead_open(d->rx.aead, nonce, p, HEADER, p + HEADER, n) < 0)
		return GNUTLS_E_DECRYPTION_FAILED;
	d->rx.seq++;
	d->rx.records++;
	while (n && p[HEADER + n - 1] == 0)
		n--;
	if (n == 0) /* all padding and no type (5.4) */
		return GNUTLS_E_UNEXPECTED_PACKET;
	if (n > PLAIN_MAX + 1)
		return GNUTLS_E_RECORD_OVERFLOW;
	return (long)n;
}

/* Opens what is whole, up to the first record that is not application data. */
static void open_batch(struct session *s)
{
	struct direct *d = s->direct;
	uint8_t *p;
	long n;
	int r;

	while (!d->control && !s->fault && d->n_open < OPEN_MAX) {
		p = s->in.data + d->opened;
		r = check_header(p, s->in.end - d->opened);
		if (r == 0)
			return;
		n = r < 0 ? r : open_record(d, p);
		if (n < 0) {
			s->fault = (int)n;
		} else if (p[HEADER + n - 1] == APPLICATION_DATA) {
			set_plain_length(p, (size_t)n - 1);
			d->opened += HEADER + record_length(p);
			d->n_open++;
			s->held_bytes += (size_t)n - 1;
			d->empty = n > 1 ? 0 : d->empty + 1;
			if (d->empty > EMPTY_MAX)
				s->fault = GNUTLS_E_TOO_MANY_EMPTY_PACKETS;
		} else {
			d->control = (size_t)n;
		}
	}
}

/* Whether a KeyUpdate that asks for one of ours is in the plaintext (4.6.3). */
static bool asks_for_update(const uint8_t *p, size_t n)
{
	size_t length;

	while (n >= 4) {
		length = (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
		if (n < 4 + length)
			return false;
		if (p[0] == 24 && length == 1)
			return p[4] == 1;
		p += 4 + length;
		n -= 4 + length;
	}
	return false;
}

/* Has GnuTLS send a KeyUpdate, and goes on with the new key. */
static int direct_key_update(struct session *s, bool ask)
{
	int r;

	give_half(s, &s->direct->tx, false);
	r = gnutls_session_key_update(s->gs, ask ? GNUTLS_KU_PEER : 0);
	return r < 0 ? r : take_half(s, &s->direct->tx, false);
}

/* GnuTLS reads the one record. 1 to go on, 0 at close_notify, or a code. */
static int let_gnutls_read(struct session *s, uint8_t *p, size_t n)
{
	gnutls_packet_t packet = NULL;
	ssize_t r;

	s->hand = p;
	s->hand_size = n;
	give_half(s, &s->direct->rx, true);
	give_half(s, &s->direct->tx, false);
	r = gnutls_record_recv_packet(s->gs, &packet);
	if (packet)
		gnutls_packet_deinit(packet);
	s->hand = NULL;
	if (r > 0 || s->hand_size)
		return GNUTLS_E_UNEXPECTED_PACKET; /* it saw something else than we did */
	s->hand_size = 0;
	return r < 0 && !gnutls_error_is_fatal((int)r) ? 1 : (int)r;
}

/* The record at `opened` is for GnuTLS: seals it again and hands it over. */
static int hand_over(struct session *s)
{
	struct direct *d = s->direct;
	uint8_t *p = s->in.data + d->opened, nonce[AEAD_NONCE_SIZE];
	size_t length = record_length(p);
	bool asked = p[HEADER + d->control - 1] == HANDSHAKE && asks_for_update(p + HEADER, d->control - 1);
	int r;

	d->rx.seq--; /* it is read once more */
	nonce_of(&d->rx, nonce);
	if (aead_seal(d->rx.aead, nonce, p, HEADER, p + HEADER, length - AEAD_TAG_SIZE) < 0)
		return GNUTLS_E_ENCRYPTION_FAILED;
	d->control = 0;
	r = let_gnutls_read(s, p, HEADER + length);
	buf_consume(&s->in, HEADER + length);
	d->opened = s->in.start;
	if (r == 0)
		s->eof = true;
	if (r <= 0)
		return r;
	r = take_half(s, &d->rx, true);
	if (r == 0)
		r = take_half(s, &d->tx, false);
	if (r == 0 && asked)
		r = direct_key_update(s, false);
	if (++d->empty > EMPTY_MAX)
		return GNUTLS_E_TOO_MANY_HANDSHAKE_PACKETS;
	return r;
}

/* More ciphertext: bytes, 0 at the end, SOCK_*. A record that is not whole yet
 * moves to a buffer of its own size when nothing more is there, so that a large
 * buffer is never kept for it. */
static long read_more(struct session *s)
{
	long n = session_read_ahead(s);

	if (n == SOCK_BLOCKED)
		buf_shrink(s->pool, &s->in);
	s->direct->opened = s->in.start;
	return n;
}

/* Takes the first open record off. */
static void drop_record(struct session *s)
{
	struct direct *d = s->direct;

	buf_consume(&s->in, HEADER + record_length(s->in.data + s->in.start));
	if (--d->n_open == 0)
		d->opened = s->in.start; /* an emptied buffer starts anew */
}

static long direct_fill(struct session *s, struct err *e)
{
	struct direct *d = s->direct;
	long n;
	int r;

	while (!s->held_bytes && !s->eof && !s->fault) {
		while (d->n_open) /* empty ones */
			drop_record(s);
		if (d->control) {
			r = hand_over(s);
			if (r < 0)
				s->fault = r;
			continue;
		}
		open_batch(s);
		if (s->held_bytes || d->n_open || d->control || s->fault)
			continue;
		n = read_more(s);
		if (n == SOCK_BLOCKED)
			return SOCK_BLOCKED;
		if (n <= 0)
			s->fault = n == 0 ? GNUTLS_E_PREMATURE_TERMINATION : GNUTLS_E_PULL_ERROR;
	}
	if (s->held_bytes)
		return (long)s->held_bytes;
	buf_release(s->pool, &s->in);
	return s->fault ? fail(s, s->fault, e) : 0;
}

static int direct_peek(const struct session *s, struct iovec *iov, int max, size_t *total)
{
	const struct direct *d = s->direct;
	size_t at = s->in.start, skip = s->held_offset, n;
	int runs = 0;

	*total = 0;
	while (at < d->opened && runs < max) {
		n = plain_length(s->in.data + at) - skip;
		if (n) {
			iov[runs].iov_base = s->in.data + at + HEADER + skip;
			iov[runs++].iov_len = n;
			*total += n;
		}
		at += HEADER + record_length(s->in.data + at);
		skip = 0;
	}
	return runs;
}

static void direct_consume(struct session *s, size_t n)
{
	struct direct *d = s->direct;
	size_t length;

	s->held_bytes -= n;
	n += s->held_offset;
	while (d->n_open) {
		length = plain_length(s->in.data + s->in.start);
		if (n < length)
			break;
		n -= length;
		drop_record(s);
	}
	s->held_offset = n;
}

/* --- sending ------------------------------------------------------------------------------ */

static size_t slot_at(size_t i, size_t slot_size)
{
	return GAP + i * (slot_size + SLOT_OVERHEAD) + HEADER;
}

static int direct_reserve(struct session *s, struct iovec *iov, int max, size_t *total)
{
	struct direct *d = s->direct;
	size_t i, slots;

	if (buf_len(&s->out))
		return 0;
	if (s->out_size < d->slot_size)
		s->out_size = d->slot_size;
	slots = s->out_size / d->slot_size;
	if (slots > (size_t)max)
		slots = (size_t)max;
	if (buf_reserve(s->pool, &s->out, GAP + slots * (d->slot_size + SLOT_OVERHEAD)) < 0)
		return -1;
	*total = slots * d->slot_size;
	for (i = 0; i < slots; i++) {
		iov[i].iov_base = s->out.data + slot_at(i, d->slot_size);
		iov[i].iov_len = d->slot_size;
	}
	return (int)slots;
}

static int seal_record(struct direct *d, uint8_t *p, size_t n)
{
	uint8_t nonce[AEAD_NONCE_SIZE];
	size_t length = n + 1 + AEAD_TAG_SIZE;

	p[0] = APPLICATION_DATA;
	p[1] = 3;
	p[2] = 3;
	p[3] = (uint8_t)(length >> 8);
	p[4] = (uint8_t)length;
	p[HEADER + n] = APPLICATION_DATA;
	nonce_of(&d->tx, nonce);
	if (aead_seal(d->tx.aead, nonce, p, HEADER, p + HEADER, n + 1) < 0)
		return GNUTLS_E_ENCRYPTION_FAILED;
	d->tx.seq++;
	d->tx.records++;
	return 0;
}

/* What GnuTLS has to say before the next data: the tickets before the first
 * (see plane_gnutls.c), and a new key before the old one is worn out. It goes
 * into the gap in front of the slots. */
static int speak_first(struct session *s)
{
	struct direct *d = s->direct;
	struct buf said = { 0 };
	int r = 0;

	if (s->tickets_sent && d->tx.records < REKEY_RECORDS)
		return 0;
	s->capture = &said;
	give_half(s, &d->tx, false);
	if (!s->tickets_sent)
		r = session_send_tickets(s);
	if (r >= 0 && d->tx.records >= REKEY_RECORDS)
		r = gnutls_session_key_update(s->gs, 0);
	if (r >= 0)
		r = take_half(s, &d->tx, false);
	s->capture = NULL;
	if (r >= 0 && buf_len(&said) > GAP)
		r = GNUTLS_E_SHORT_MEMORY_BUFFER;
	if (r >= 0 && buf_len(&said)) {
		s->out.start = GAP - buf_len(&said);
		memcpy(s->out.data + s->out.start, said.data, buf_len(&said));
	}
	buf_release(s->pool, &said);
	return r < 0 ? r : 0;
}

static int seal_slots(struct session *s, size_t n)
{
	struct direct *d = s->direct;
	size_t at = GAP, len;
	int r;

	s->out.start = GAP;
	r = speak_first(s);
	while (r == 0 && n) {
		len = n < d->slot_size ? n : d->slot_size;
		r = seal_record(d, s->out.data + at, len);
		at += len + SLOT_OVERHEAD;
		n -= len;
	}
	s->out.end = at;
	return r;
}

static int direct_commit(struct session *s, size_t n, bool full, struct err *e)
{
	struct direct *d = s->direct;
	int r;

	if (n == 0) {
		buf_release(s->pool, &s->out);
		return 0;
	}
	r = seal_slots(s, n);
	if (full && s->out_size < SLOTS_MAX * d->slot_size)
		s->out_size *= 2;
	else if (n < s->out_size / 4)
		s->out_size /= 2;
	if (r < 0) {
		buf_release(s->pool, &s->out); /* plaintext may be in it: nothing of it goes out */
		return fail(s, r, e);
	}
	return 0;
}

/* --- the rest ------------------------------------------------------------------------------ */

static int direct_close_notify(struct session *s, struct err *e)
{
	int r;

	give_half(s, &s->direct->tx, false);
	r = gnutls_bye(s->gs, GNUTLS_SHUT_WR);
	if (r >= 0)
		r = take_half(s, &s->direct->tx, false);
	return r < 0 ? fail(s, r, e) : 0;
}

static void direct_abort(struct session *s)
{
	give_half(s, &s->direct->tx, false);
	gnutls_alert_send(s->gs, GNUTLS_AL_FATAL, GNUTLS_A_INTERNAL_ERROR);
}

static void direct_wear_out(struct session *s)
{
	s->direct->tx.records = REKEY_RECORDS;
}

static void half_wipe(struct half *h)
{
	aead_free(h->aead);
	gnutls_memset(h, 0, sizeof(*h));
}

static void direct_release(struct session *s)
{
	if (!s->direct)
		return;
	half_wipe(&s->direct->rx);
	half_wipe(&s->direct->tx);
	free(s->direct);
	s->direct = NULL;
}

int plane_direct_start(struct session *s)
{
	size_t max = gnutls_record_get_max_size(s->gs);
	struct direct *d;

	if (gnutls_protocol_get_version(s->gs) != GNUTLS_TLS1_3 || !aead_knows(gnutls_cipher_get(s->gs)) ||
		gnutls_record_check_pending(s->gs))
		return -1;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -1;
	s->direct = d;
	d->cipher = gnutls_cipher_get(s->gs);
	d->slot_size = max < PLAIN_MAX ? max : PLAIN_MAX;
	d->opened = s->in.start;
	if (take_half(s, &d->rx, true) < 0 || take_half(s, &d->tx, false) < 0) {
		direct_release(s);
		return -1;
	}
	s->plane = &plane_direct;
	return 0;
}

const struct plane plane_direct = {
	.name = "direct",
	.fill = direct_fill,
	.peek = direct_peek,
	.consume = direct_consume,
	.reserve = direct_reserve,
	.commit = direct_commit,
	.close_notify = direct_close_notify,
	.abort = direct_abort,
	.key_update = direct_key_update,
	.wear_out = direct_wear_out,
	.release = direct_release,
};
