/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Receiving on the direct path: records are opened where they lie. */

#include "lib/tls/direct.h"

#include <string.h>

#define HEADER     DIRECT_HEADER
#define OPEN_MAX   64 /* records opened ahead of the sink */
#define EMPTY_MAX  1000 /* records without data in one call */

static void set_plain_length(uint8_t *header, size_t n)
{
	header[1] = (uint8_t)(n >> 8);
	header[2] = (uint8_t)n;
}

static size_t plain_length(const uint8_t *header)
{
	return (size_t)header[1] << 8 | header[2];
}

/* Type and version that a header may have. In TLS 1.3 all look like application
 * data, and the version is authenticated; in TLS 1.2 what GnuTLS checks is checked
 * here. A handshake record there is a wish to renegotiate. 0 or a GnuTLS code. */
static int check_type(struct session *s, const uint8_t *p)
{
	bool inside = s->direct->layout->inner_type;

	s->renegotiation |= p[0] == HANDSHAKE && !inside;
	if (p[0] != APPLICATION_DATA && (p[0] != ALERT || inside))
		return GNUTLS_E_UNEXPECTED_PACKET;
	if ((p[1] != 3 || p[2] != 3) && !inside)
		return GNUTLS_E_UNSUPPORTED_VERSION_PACKET;
	return 0;
}

/* The whole record at p of n bytes: 1, 0 when some of it is yet to come, or a
 * GnuTLS code. */
static int check_header(struct session *s, const uint8_t *p, size_t n)
{
	const struct direct_layout *l = s->direct->layout;
	int r;

	if (n < HEADER)
		return 0;
	r = check_type(s, p);
	if (r < 0)
		return r;
	if (direct_length(p) > l->payload_max)
		return GNUTLS_E_RECORD_OVERFLOW;
	if (direct_length(p) < l->before + l->inner_type + AEAD_TAG_SIZE)
		return GNUTLS_E_DECRYPTION_FAILED;
	return n >= HEADER + direct_length(p);
}

/* Opens the record at p in place. Its plaintext's length, with the inner type where
 * there is one, padding cut off, or a GnuTLS code. */
static long open_record(struct direct *d, uint8_t *p)
{
	long n = direct_open(d, &d->rx, p);

	if (n < 0)
		return n;
	d->rx.seq++;
	d->rx.records++;
	if (!d->layout->inner_type)
		return n;
	while (n && p[HEADER + n - 1] == 0)
		n--;
	if (n == 0) /* all padding and no type (5.4) */
		return GNUTLS_E_UNEXPECTED_PACKET;
	if (n > DIRECT_PLAIN_MAX + 1)
		return GNUTLS_E_RECORD_OVERFLOW;
	return n;
}

/* n bytes of data are open at `opened`. */
static void hold(struct session *s, uint8_t *p, size_t n)
{
	struct direct *d = s->direct;

	set_plain_length(p, n);
	d->opened += HEADER + direct_length(p);
	d->n_open++;
	s->held_bytes += n;
	d->empty = n ? 0 : d->empty + 1;
	if (d->empty > EMPTY_MAX)
		s->fault = GNUTLS_E_TOO_MANY_EMPTY_PACKETS;
}

/* Opens what is whole, up to the first record that is not application data. */
static void open_batch(struct session *s)
{
	struct direct *d = s->direct;
	size_t type = d->layout->inner_type;
	uint8_t *p;
	long n;
	int r;

	while (s->in.data && !d->control && !s->fault && d->n_open < OPEN_MAX) {
		p = s->in.data + d->opened;
		r = check_header(s, p, s->in.end - d->opened);
		if (r == 0)
			return;
		if (r > 0 && p[0] != APPLICATION_DATA) {
			d->control = 1;
			return;
		}
		n = r < 0 ? r : open_record(d, p);
		if (n < 0)
			s->fault = (int)n;
		else if (!type || p[HEADER + n - 1] == APPLICATION_DATA)
			hold(s, p, (size_t)n - type);
		else
			d->control = (size_t)n;
	}
}

/* Whether handshake messages ask for a KeyUpdate of ours (4.6.3): one that was
 * cut in two by records may. */
static bool may_ask_for_update(const uint8_t *p, size_t n)
{
	size_t length;

	while (n >= 4) {
		length = (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
		if (n < 4 + length)
			return true;
		if (p[0] == DIRECT_KEY_UPDATE && length == 1 && p[4] == 1)
			return true;
		p += 4 + length;
		n -= 4 + length;
	}
	return n > 0;
}

static int say_what_comes(struct session *s, int unused)
{
	gnutls_packet_t packet = NULL;
	ssize_t r = gnutls_record_recv_packet(s->gs, &packet);

	(void)unused;
	if (packet)
		gnutls_packet_deinit(packet);
	return r > 0 ? GNUTLS_E_UNEXPECTED_PACKET : (int)r;
}

/* GnuTLS reads the one record. 1 to go on, 0 at close_notify, or a code. */
static int let_gnutls_read(struct session *s, uint8_t *p, size_t n)
{
	int r;

	s->hand = p;
	s->hand_size = n;
	direct_give(s, true);
	r = direct_speak(s, say_what_comes, 0);
	s->hand = NULL;
	if (s->hand_size)
		return GNUTLS_E_UNEXPECTED_PACKET; /* it saw something else than we did */
	s->hand_size = 0;
	return r < 0 && !gnutls_error_is_fatal(r) ? 1 : r;
}

/* Takes the opening of a record back. 0 or a GnuTLS code. */
static int seal_again(struct direct *d, uint8_t *p)
{
	bool handshake = p[HEADER + d->control - 1] == HANDSHAKE;

	d->asked |= handshake && may_ask_for_update(p + HEADER, d->control - 1);
	d->rx.seq--; /* it is read once more */
	return direct_seal(d, &d->rx, p);
}

/* The record at `opened` is for GnuTLS, as it came. */
int direct_hand_over(struct session *s)
{
	struct direct *d = s->direct;
	uint8_t *p = s->in.data + d->opened;
	size_t length = direct_length(p);
	int r = d->layout->inner_type ? seal_again(d, p) : 0;

	if (r < 0)
		return r;
	d->control = 0;
	r = let_gnutls_read(s, p, HEADER + length);
	buf_consume(&s->in, HEADER + length);
	d->opened = s->in.start;
	if (r == 0)
		s->eof = true;
	if (r <= 0)
		return r;
	r = direct_take(s, true);
	/* its key changed, so it was a KeyUpdate; after our close_notify or alert
	 * nothing is sent any more, and no key is needed */
	if (r == 0 && d->asked && d->rx.records == 0 && !s->closed && !s->failed)
		r = direct_key_update(s, false);
	if (d->rx.records == 0)
		d->asked = false;
	if (++d->empty > EMPTY_MAX)
		return GNUTLS_E_TOO_MANY_HANDSHAKE_PACKETS;
	return r;
}

/* How much to read: all there is, or, where the kernel is to go on, not a byte of
 * the record behind this one. */
static size_t reading(const struct session *s)
{
	size_t n = buf_len(&s->in);

	if (!s->direct->exact)
		return SIZE_MAX;
	return n < HEADER ? HEADER - n : HEADER + direct_length(s->in.data + s->in.start) - n;
}

/* More ciphertext: bytes, 0 at the end, SOCK_*. A record that is not whole yet
 * moves to a buffer of its own size when nothing more is there, so that a large
 * buffer is never kept for it. */
static long read_more(struct session *s)
{
	long n = session_read_ahead(s, reading(s));

	if (n == SOCK_BLOCKED)
		buf_shrink(s->pool, &s->in);
	s->direct->opened = s->in.start;
	return n;
}

/* Takes the first open record off. */
static void drop_record(struct session *s)
{
	struct direct *d = s->direct;

	buf_consume(&s->in, HEADER + direct_length(s->in.data + s->in.start));
	if (--d->n_open == 0)
		d->opened = s->in.start; /* an emptied buffer starts anew */
}

long direct_fill(struct session *s, struct err *e)
{
	struct direct *d = s->direct;
	long n;
	int r;

	d->empty = 0;
	while (!s->held_bytes && !s->eof && !s->fault) {
		while (d->n_open) /* empty ones */
			drop_record(s);
		if (d->control) {
			r = direct_hand_over(s);
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
		d->cut = n == 0 && buf_len(&s->in);
		if (n <= 0)
			s->fault = n == 0 ? GNUTLS_E_PREMATURE_TERMINATION : GNUTLS_E_PULL_ERROR;
	}
	if (s->held_bytes)
		return (long)s->held_bytes;
	buf_release(s->pool, &s->in);
	d->opened = s->in.start;
	return s->fault ? direct_fail(s, s->fault, e) : 0;
}

int direct_peek(const struct session *s, struct iovec *iov, int max, size_t *total)
{
	const struct direct *d = s->direct;
	size_t at = s->in.start, skip = s->held_offset, n;
	int runs = 0;

	*total = 0;
	while (at < d->opened && runs < max) {
		n = plain_length(s->in.data + at) - skip;
		if (n) {
			iov[runs].iov_base = direct_body(d, s->in.data + at) + skip;
			iov[runs++].iov_len = n;
			*total += n;
		}
		at += HEADER + direct_length(s->in.data + at);
		skip = 0;
	}
	return runs;
}

void direct_consume(struct session *s, size_t n)
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
