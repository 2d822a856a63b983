/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Records by GnuTLS. Received records are kept as GnuTLS's own packets, so the
 * plaintext goes from where it was decrypted straight into the other socket. */

#include "lib/tls/plane.h"

#include <stdlib.h>
#include <string.h>

#include "lib/tls/tls_int.h"
#include "lib/tls/tlserr.h"

#define STAGE_MIN          16384
#define STAGE_MAX          524288 /* with fewer system calls than 128 KiB: 8 to 14 % less CPU time */
#define HELD_MAX           16 /* records that are opened ahead of the sink */
#define EMPTY_MAX          1000 /* records without data in a row: tickets, key updates, or an attack */
#define RECORD_OVERHEAD    64 /* header, explicit nonce, type, tag: 5 + 8 + 1 + 16 at most for an AEAD */
#define TICKETS_ROOM       2048

/* One more packet: 1, 0 for close_notify, SOCK_BLOCKED, or a fatal code. */
static int receive(struct session *s, gnutls_packet_t *packet)
{
	ssize_t r;
	int empty;

	for (empty = 0; empty < EMPTY_MAX; empty++) {
		*packet = NULL;
		r = gnutls_record_recv_packet(s->gs, packet);
		if (r > 0)
			return 1;
		if (r == 0) {
			if (*packet)
				gnutls_packet_deinit(*packet);
			return 0;
		}
		if (r == GNUTLS_E_AGAIN || r == GNUTLS_E_INTERRUPTED) {
			/* a record without data was taken, or the read-ahead is empty */
			if (buf_len(&s->in) || (s->sock->readable && !s->sock->eof))
				continue;
			return s->sock->eof ? GNUTLS_E_PREMATURE_TERMINATION : SOCK_BLOCKED;
		}
		if (gnutls_error_is_fatal((int)r))
			return (int)r;
	}
	return GNUTLS_E_TOO_MANY_HANDSHAKE_PACKETS;
}

static long fail(struct session *s, int code, struct err *e)
{
	if (s->renegotiation) {
		code = GNUTLS_E_UNEXPECTED_PACKET;
		tlserr_renegotiation(e);
	} else if (s->sock->error) {
		err_sys(e, ERR_IO, s->sock->error, "the TLS connection broke");
	} else {
		tlserr_session(e, s->gs, code);
	}
	if (code == GNUTLS_E_PREMATURE_TERMINATION && !s->sock->error) {
		/* sending still works; and what was cut off is not to be forgiven */
		if (s->record_left || s->header_have)
			err_set(e, ERR_IO, "truncated: the peer closed inside a record");
		return SOCK_FAILED;
	}
	s->failed = true;
	s->refused_by_alert = code == GNUTLS_E_FATAL_ALERT_RECEIVED;
	if (!s->refused_by_alert && !s->sock->error)
		gnutls_alert_send_appropriate(s->gs, code);
	return SOCK_FAILED;
}

static void hold(struct session *s, gnutls_packet_t packet)
{
	gnutls_datum_t d;

	gnutls_packet_get(packet, &d, NULL);
	s->held[s->held_n++] = packet;
	s->held_bytes += d.size;
}

static long records_fill(struct session *s, struct err *e)
{
	gnutls_packet_t packet;
	int r = 1;

	if (s->held_bytes)
		return (long)s->held_bytes;
	s->held_first = s->held_n = 0;
	if (!s->held && !(s->held = calloc(HELD_MAX, sizeof(*s->held))))
		return fail(s, GNUTLS_E_MEMORY_ERROR, e);
	while (s->held_n < HELD_MAX && !s->eof && !s->fault && (r = receive(s, &packet)) > 0)
		hold(s, packet);
	if (r == 0)
		s->eof = true;
	else if (r < 0 && r != SOCK_BLOCKED)
		s->fault = r; /* told once what was opened before it is taken */
	if (!buf_len(&s->in))
		buf_release(s->pool, &s->in);
	if (s->held_bytes)
		return (long)s->held_bytes;
	if (s->eof)
		return 0;
	return s->fault ? fail(s, s->fault, e) : SOCK_BLOCKED;
}

static int records_peek(const struct session *s, struct iovec *iov, int max, size_t *total)
{
	size_t skip = s->held_offset;
	gnutls_datum_t d;
	unsigned i;
	int n = 0;

	*total = 0;
	for (i = s->held_first; i < s->held_n && n < max; i++) {
		gnutls_packet_get(s->held[i], &d, NULL);
		iov[n].iov_base = d.data + skip;
		iov[n].iov_len = d.size - skip;
		*total += iov[n++].iov_len;
		skip = 0;
	}
	return n;
}

static void records_consume(struct session *s, size_t n)
{
	gnutls_datum_t d;

	s->held_bytes -= n;
	n += s->held_offset;
	while (s->held_first < s->held_n) {
		gnutls_packet_get(s->held[s->held_first], &d, NULL);
		if (n < d.size)
			break;
		n -= d.size;
		gnutls_packet_deinit(s->held[s->held_first++]);
	}
	s->held_offset = n;
	if (s->held_first == s->held_n)
		s->held_first = s->held_n = 0;
}

static int records_reserve(struct session *s, struct iovec *iov, int max, size_t *total)
{
	if (buf_len(&s->out) || max < 1)
		return 0;
	if (s->out_size < STAGE_MIN)
		s->out_size = STAGE_MIN;
	if (buf_reserve(s->pool, &s->stage, s->out_size) < 0)
		return -1;
	iov[0].iov_base = s->stage.data;
	iov[0].iov_len = *total = s->out_size;
	return 1;
}

static int seal(struct session *s, size_t n)
{
	size_t max = gnutls_record_get_max_size(s->gs), done = 0;
	ssize_t r = 0;

	/* room for all of it at once: growing record by record would copy */
	if (n && buf_reserve(s->pool, &s->out, n + (n / max + 1) * RECORD_OVERHEAD + TICKETS_ROOM) < 0)
		return GNUTLS_E_MEMORY_ERROR;
	if (n && !s->tickets_sent)
		r = session_send_tickets(s);
	while (r >= 0 && done < n) {
		r = gnutls_record_send(s->gs, s->stage.data + done, n - done < max ? n - done : max);
		if (r > 0)
			done += (size_t)r;
	}
	return r < 0 ? (int)r : 0;
}

static int records_commit(struct session *s, size_t n, bool full, struct err *e)
{
	int r = seal(s, n);

	if (full && s->out_size < STAGE_MAX)
		s->out_size *= 2;
	else if (n < s->out_size / 4)
		s->out_size /= 2;
	buf_release(s->pool, &s->stage);
	return r < 0 ? (int)fail(s, r, e) : 0;
}

static int records_close_notify(struct session *s, struct err *e)
{
	int r = gnutls_bye(s->gs, GNUTLS_SHUT_WR);

	return r < 0 ? (int)fail(s, r, e) : 0;
}

static void records_abort(struct session *s)
{
	gnutls_alert_send(s->gs, GNUTLS_AL_FATAL, GNUTLS_A_INTERNAL_ERROR);
}

static int records_key_update(struct session *s, bool ask)
{
	return gnutls_session_key_update(s->gs, ask ? GNUTLS_KU_PEER : 0);
}

static void records_release(struct session *s)
{
	for (; s->held_first < s->held_n; s->held_first++)
		gnutls_packet_deinit(s->held[s->held_first]);
	free(s->held);
	s->held = NULL;
}

const struct plane plane_gnutls = {
	.name = "gnutls",
	.fill = records_fill,
	.peek = records_peek,
	.consume = records_consume,
	.reserve = records_reserve,
	.commit = records_commit,
	.close_notify = records_close_notify,
	.abort = records_abort,
	.key_update = records_key_update,
	.release = records_release,
};
