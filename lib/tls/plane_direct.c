/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The direct plane (direct.h): sending, where plaintext is read into slots that
 * leave room for the header, the type and the tag, and the plane's start and
 * end. */

#include "lib/tls/plane.h"

#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/tls/kernel.h"

#define HEADER        DIRECT_HEADER
#define BUFFER_MIN    (32 * 1024) /* room for one slot */
#define BUFFER_MAX    (512 * 1024)
#define GAP           2048 /* in front of the first slot, for what GnuTLS has to say before it */
/* The first records after a pause are small: a record is opened when all of it
 * is there, and TCP may have become slow meanwhile (RFC 5681, 4.1). */
#define EARLY_SLOT    4096
#define EARLY_BYTES   (64 * 1024)
#define PAUSE_NS      NS_PER_S

/* What a record has around its plaintext. */
static size_t around(const struct direct *d)
{
	return HEADER + d->layout->before + d->layout->inner_type + AEAD_TAG_SIZE;
}

/* How large the records of this batch may be, and how many of them a buffer of
 * out_size has room for. */
static size_t choose_slots(struct session *s)
{
	struct direct *d = s->direct;
	size_t slots;
	bool early;

	d->reserved_ns = clock_mono_ns();
	if (d->reserved_ns - d->sent_ns > PAUSE_NS)
		d->early = 0;
	early = d->early < EARLY_BYTES && d->slot_max > EARLY_SLOT;
	d->slot_size = early ? EARLY_SLOT : d->slot_max;
	if (s->out_size < BUFFER_MIN)
		s->out_size = BUFFER_MIN;
	slots = (s->out_size - GAP) / (d->slot_size + around(d));
	return early && slots > EARLY_BYTES / EARLY_SLOT ? EARLY_BYTES / EARLY_SLOT : slots;
}

int direct_reserve(struct session *s, struct iovec *iov, int max, size_t *total)
{
	struct direct *d = s->direct;
	size_t i, slots, whole;

	if (buf_len(&s->out))
		return 0;
	slots = choose_slots(s);
	if (slots > (size_t)max)
		slots = (size_t)max;
	whole = d->slot_size + around(d);
	if (buf_reserve(s->pool, &s->out, GAP + slots * whole) < 0)
		return -1;
	*total = slots * d->slot_size;
	for (i = 0; i < slots; i++) {
		iov[i].iov_base = direct_body(d, s->out.data + GAP + i * whole);
		iov[i].iov_len = d->slot_size;
	}
	return (int)slots;
}

static int seal_record(struct direct *d, uint8_t *p, size_t n)
{
	size_t length = n + around(d) - HEADER;
	int r;

	p[0] = APPLICATION_DATA;
	p[1] = 3;
	p[2] = 3;
	p[3] = (uint8_t)(length >> 8);
	p[4] = (uint8_t)length;
	if (d->layout->inner_type)
		direct_body(d, p)[n] = APPLICATION_DATA;
	if (d->layout->before) /* as GnuTLS does, so none comes twice (RFC 5288, 3) */
		direct_put_seq(d->tx.seq, p + HEADER);
	r = direct_seal(d, &d->tx, p);
	if (r < 0)
		return r;
	d->tx.seq++;
	d->tx.records++;
	return 0;
}

/* What GnuTLS has to say before the next data: the tickets before the first
 * (see plane_gnutls.c), and a new key before the old one is worn out. It goes
 * into the gap in front of the slots. */
static int speak_first(struct session *s, struct buf *said)
{
	struct direct *d = s->direct;
	int r = 0;

	if (s->tickets_sent && d->tx.records < d->layout->rekey_records)
		return 0;
	s->capture = said;
	direct_give(s, false);
	if (!s->tickets_sent)
		r = session_send_tickets(s);
	if (r >= 0 && d->tx.records >= d->layout->rekey_records)
		r = gnutls_session_key_update(s->gs, 0);
	s->capture = NULL;
	if (direct_take(s, false) < 0 && r >= 0) /* whatever was said has its numbers */
		r = GNUTLS_E_INTERNAL_ERROR;
	return r < 0 ? r : 0;
}

/* Puts what was said in front of the sealed slots: into the gap, or, when it is
 * much (tickets that carry a client's certificates), in another buffer. */
static int say_first(struct session *s, struct buf *said)
{
	size_t n = buf_len(said);

	if (n && n <= s->out.start) {
		s->out.start -= n;
		memcpy(s->out.data + s->out.start, said->data + said->start, n);
	} else if (n) {
		if (buf_reserve(s->pool, said, buf_len(&s->out)) < 0)
			return GNUTLS_E_MEMORY_ERROR;
		memcpy(said->data + said->end, s->out.data + s->out.start, buf_len(&s->out));
		said->end += buf_len(&s->out);
		buf_release(s->pool, &s->out);
		s->out = *said;
		*said = (struct buf){ 0 };
	}
	buf_release(s->pool, said);
	return 0;
}

static int seal_slots(struct session *s, size_t n)
{
	struct direct *d = s->direct;
	struct buf said = { 0 };
	size_t at = GAP, len;
	int r;

	r = speak_first(s, &said);
	while (r == 0 && n) {
		len = n < d->slot_size ? n : d->slot_size;
		r = seal_record(d, s->out.data + at, len);
		at += len + around(d);
		n -= len;
	}
	s->out.start = GAP;
	s->out.end = r == 0 ? at : GAP; /* of a batch that failed nothing goes out */
	return say_first(s, &said) < 0 ? GNUTLS_E_MEMORY_ERROR : r;
}

int direct_commit(struct session *s, size_t n, bool full, struct err *e)
{
	struct direct *d = s->direct;
	int r;

	if (n == 0) {
		buf_release(s->pool, &s->out);
		return 0;
	}
	r = seal_slots(s, n);
	d->early += n;
	d->sent_ns = d->reserved_ns;
	if (full && s->out_size < BUFFER_MAX)
		s->out_size *= 2;
	else if (n < s->out_size / 4)
		s->out_size /= 2;
	return r < 0 ? direct_fail(s, r, e) : 0;
}

/* --- the rest ------------------------------------------------------------------------------ */

static int say_bye(struct session *s, int how)
{
	return gnutls_bye(s->gs, (gnutls_close_request_t)how);
}

int direct_close_notify(struct session *s, struct err *e)
{
	int r = direct_speak(s, say_bye, GNUTLS_SHUT_WR);

	return r < 0 ? direct_fail(s, r, e) : 0;
}

static int say_alert(struct session *s, int alert)
{
	return gnutls_alert_send(s->gs, GNUTLS_AL_FATAL, (gnutls_alert_description_t)alert);
}

void direct_abort(struct session *s)
{
	direct_speak(s, say_alert, GNUTLS_A_INTERNAL_ERROR);
}

void direct_leave(struct session *s)
{
	direct_rest(&s->direct->rx);
	direct_rest(&s->direct->tx);
}

void direct_wear_out(struct session *s)
{
	s->direct->tx.records = DIRECT_REKEY_RECORDS;
}

void direct_release(struct session *s)
{
	if (!s->direct)
		return;
	direct_wipe_half(&s->direct->rx);
	direct_wipe_half(&s->direct->tx);
	if (s->direct->kernel)
		buf_release(s->pool, &s->direct->kernel->said);
	free(s->direct->kernel);
	free(s->direct);
	s->direct = NULL;
}

int plane_direct_start(struct session *s)
{
	gnutls_cipher_algorithm_t cipher = gnutls_cipher_get(s->gs);
	const struct direct_layout *layout = direct_layout_for(gnutls_protocol_get_version(s->gs), cipher);
	size_t max = gnutls_record_get_max_size(s->gs);
	struct direct *d;

	if (!layout || gnutls_record_check_pending(s->gs))
		return -1;
	if (s->peer_limit && s->peer_limit - layout->inner_type < max)
		max = s->peer_limit - layout->inner_type; /* which counts (RFC 8449, 4) */
	d = calloc(1, sizeof(*d));
	if (!d)
		return -1;
	s->direct = d;
	d->cipher = cipher;
	d->layout = layout;
	d->slot_max = max < DIRECT_PLAIN_MAX ? max : DIRECT_PLAIN_MAX;
	d->opened = s->in.start;
	if (direct_take(s, true) < 0 || direct_take(s, false) < 0) {
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
	.rest = direct_leave,
	.release = direct_release,
};
