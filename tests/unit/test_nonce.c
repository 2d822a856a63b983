/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* No nonce is used twice for different bytes, however often records change
 * between the direct path and GnuTLS. A listener with the secrets counts every
 * record on the wire for itself (tap.h). Beside it each call of aead_seal is
 * noted: what is sealed anew for GnuTLS, which takes the peer's key and a nonce
 * that was used, must give the very bytes that were received. */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/tls/aead.h"
#include "lib/tls/tls_int.h"
#include "tests/unit/seals.h"
#include "tests/unit/tap.h"
#include "tests/unit/wire.h"

/* --- a connection with a listener -------------------------------------------------------- */

static struct wire w;
static struct tap tap;
static unsigned seed;
static unsigned updates[2]; /* that a side got or will get */
static bool mute[2], deaf[2];

#define UPDATES_MAX 7 /* GnuTLS takes 8 a second */

static unsigned rnd(unsigned n)
{
	return (unsigned)rand_r(&seed) % n;
}

static void on_bytes(void *arg, int side, const unsigned char *bytes, size_t n)
{
	tap_bytes(arg, side, bytes, n);
}

static int on_secret(gnutls_session_t gs, const char *label, const gnutls_datum_t *secret)
{
	gnutls_datum_t client, server;

	tap_secret(&tap, label, secret);
	if (tap.tls12 && strcmp(label, "CLIENT_RANDOM") == 0) {
		gnutls_session_get_random(gs, &client, &server);
		tap_master(&tap, secret, &client, &server);
	}
	return 0;
}

static void listen_in(struct wire *wire)
{
	gnutls_session_set_keylog_function(wire->s[0]->gs, on_secret);
}

static const struct suite {
	const char *name;
	gnutls_cipher_algorithm_t cipher;
	gnutls_mac_algorithm_t hash;
} suites[2][4] = {
	{
		{ "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", GNUTLS_CIPHER_AES_128_GCM, GNUTLS_MAC_SHA256 },
		{ "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", GNUTLS_CIPHER_AES_256_GCM, GNUTLS_MAC_SHA384 },
		{ "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", GNUTLS_CIPHER_CHACHA20_POLY1305, GNUTLS_MAC_SHA256 },
		{ "TLS_ECDHE_ECDSA_WITH_AES_128_CCM", GNUTLS_CIPHER_AES_128_CCM, GNUTLS_MAC_SHA256 },
	},
	{
		{ "TLS_AES_128_GCM_SHA256", GNUTLS_CIPHER_AES_128_GCM, GNUTLS_MAC_SHA256 },
		{ "TLS_AES_256_GCM_SHA384", GNUTLS_CIPHER_AES_256_GCM, GNUTLS_MAC_SHA384 },
		{ "TLS_CHACHA20_POLY1305_SHA256", GNUTLS_CIPHER_CHACHA20_POLY1305, GNUTLS_MAC_SHA256 },
		{ "TLS_AES_128_CCM_SHA256", GNUTLS_CIPHER_AES_128_CCM, GNUTLS_MAC_SHA256 },
	},
};
#define SUITES 4

struct planes {
	enum tls_dataplane client, server;
	int version;
};

static void open_tapped(const struct planes *p, unsigned number)
{
	const struct suite *suite = &suites[p->version - 12][number % SUITES];
	int i;

	seals_start();
	tap_init(&tap, p->version, suite->cipher, suite->hash);
	w.tap = on_bytes;
	w.tap_arg = &tap;
	w.before = listen_in;
	wire_open(&w, p->client, p->server, suite->name);
	for (i = 0; i < 2; i++) {
		cr_assert_eq(w.s[i]->direct != NULL, (i ? p->server : p->client) == TLS_DATAPLANE_DIRECT);
		updates[i] = 0;
		mute[i] = deaf[i] = false;
	}
}

static void close_tapped(void)
{
	wire_close(&w);
	tap_free(&tap);
	seals_stop();
}

/* --- what happens on it -------------------------------------------------------------------- */

static void update(int side, bool ask)
{
	if (tap.tls12 || updates[1 - side] >= UPDATES_MAX || (ask && updates[side] >= UPDATES_MAX))
		return;
	updates[1 - side]++;
	updates[side] += ask;
	cr_assert(session_key_update(w.s[side], ask) >= 0);
}

/* In TLS 1.2 a key does not wear out, and nothing happens. */
static void wear_out(int side)
{
	if (updates[1 - side] >= UPDATES_MAX)
		return;
	updates[1 - side]++;
	session_wear_out(w.s[side]);
}

static size_t take(int side, size_t max)
{
	long n = deaf[side] ? 0 : wire_take(&w, side, max);

	deaf[side] |= n == 0 || n == SOCK_FAILED;
	mute[side] |= n == SOCK_FAILED;
	return n > 0 ? (size_t)n : 0;
}

/* Anything, in any order, cut anywhere. GnuTLS does not bear that both sides ask
 * for a KeyUpdate at a time. */
static void some_steps(int steps, int asker)
{
	int side;

	while (steps-- > 0) {
		side = (int)rnd(2);
		switch (rnd(24)) {
		case 0:
			if (!mute[side])
				update(side, side == asker && rnd(2));
			break;
		case 1:
			if (!mute[side])
				wear_out(side);
			break;
		case 2:
		case 3:
		case 4:
		case 5:
			if (!mute[side])
				wire_say(&w, side, 1 + rnd(rnd(4) ? 100 : 40000));
			break;
		case 6:
		case 7:
		case 8:
			wire_flush(&w, side);
			break;
		case 9:
		case 10:
		case 11:
			take(side, 1 + rnd(20000));
			break;
		default:
			wire_move(&w, side, rnd(3) ? rnd(30) : rnd(30000));
		}
	}
}

/* Until nothing moves. */
static void run_dry(void)
{
	int i, idle = 0;
	size_t moved;

	for (; idle < 20; idle = moved ? 0 : idle + 1)
		for (i = 0, moved = 0; i < 2; i++) {
			wire_flush(&w, i);
			moved += wire_move(&w, i, 1 << 16);
			moved += take(1 - i, 1 << 20);
		}
}

static void say_close(int side)
{
	mute[side] = true;
	cr_assert_eq(session_close_notify(w.s[side], &w.err), 0);
}

enum ending { OPEN, ONE_CLOSES, BOTH_CLOSE, ABORT, FORGED, ENDINGS };

static void end_by(enum ending how, int side)
{
	unsigned char forged[40] = { 23, 3, 3, 0, 35 };

	switch (how) {
	case ONE_CLOSES:
		say_close(side);
		break;
	case BOTH_CLOSE:
		say_close(side);
		some_steps(10, side);
		say_close(1 - side);
		break;
	case ABORT: /* what the other side would still say, its GnuTLS may refuse already */
		mute[0] = mute[1] = true;
		session_abort(w.s[side]);
		break;
	case FORGED: /* is answered by an alert */
		run_dry();
		cr_assert_eq(send(w.near[side], forged, sizeof(forged), 0), (ssize_t)sizeof(forged));
		run_dry();
		cr_assert(mute[side] && mute[1 - side]);
		break;
	default:
		break;
	}
}

/* --- what must hold ------------------------------------------------------------------------- */

struct totals {
	struct tap_verdict seen; /* summed up */
	size_t resealed;
};

/* Each call of aead_seal made a record that is on the wire, and those that the
 * listener saw are there in the right number. */
static void check_seals(enum ending how, struct totals *sum)
{
	size_t sent = 0, handed = 0, sealed = 0, i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < tap.side[i].n_records; k++) {
			const struct tap_record *r = &tap.side[i].records[k];

			sealed += r->type != 0;
			sent += r->type == 23 && w.s[i]->direct;
			handed += r->epoch > 0 && r->type != 23 && w.s[1 - i]->direct;
		}
	cr_assert_eq(seals.book.n, sealed, "sealed, and not on the wire");
	if (!seals.wrapped)
		return;
	cr_assert_eq(seals.reused, 0);
	cr_assert(seals.calls >= sent && seals.calls <= sent + handed, "%zu calls, %zu sent, %zu handed over", seals.calls, sent,
		handed);
	if (how < ABORT) /* then all was read */
		cr_assert_eq(seals.calls, sent + handed, "%zu calls, %zu sent, %zu handed over", seals.calls, sent, handed);
	sum->resealed += seals.calls - sent;
}

static void one_connection(const struct planes *p, unsigned number, struct totals *sum)
{
	enum ending how = (enum ending)(number / SUITES % ENDINGS);
	int asker = (int)(number / 2 % 2), round;
	struct tap_verdict v;

	seed = 3 * number + 1;
	open_tapped(p, number);
	for (round = 0; round < 3; round++, asker = 1 - asker) {
		some_steps(300, asker);
		wire_settle(&w, 1 << 20); /* no question is open, and the other side may ask */
	}
	some_steps(20, asker);
	end_by(how, (int)rnd(2));
	if (how != FORGED)
		some_steps(60, -1);
	run_dry();
	if (how < ABORT)
		cr_assert(w.got[0] == w.sent[1] && w.got[1] == w.sent[0]);
	v = tap_check(&tap, &seals.book);
	cr_assert_eq(v.fault, TAP_NONE, "connection %u, fault %d of side %d in its record %zu", number, (int)v.fault, v.side,
		v.record);
	check_seals(how, sum);
	sum->seen.application += v.application;
	sum->seen.tickets += v.tickets;
	sum->seen.key_updates += v.key_updates;
	sum->seen.alerts += v.alerts;
	close_tapped();
}

ParameterizedTestParameters(nonce, counted_on_the_wire)
{
	static struct planes cases[] = {
		{ TLS_DATAPLANE_DIRECT, TLS_DATAPLANE_GNUTLS, 13 },
		{ TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, 13 },
		{ TLS_DATAPLANE_DIRECT, TLS_DATAPLANE_DIRECT, 13 },
		{ TLS_DATAPLANE_DIRECT, TLS_DATAPLANE_GNUTLS, 12 },
		{ TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, 12 },
		{ TLS_DATAPLANE_DIRECT, TLS_DATAPLANE_DIRECT, 12 },
	};
	return cr_make_param_array(struct planes, cases, 6);
}

#define CONNECTIONS (2 * SUITES * ENDINGS)

ParameterizedTest(struct planes *p, nonce, counted_on_the_wire)
{
	struct totals sum = { .resealed = 0 };
	unsigned i;

	for (i = 0; i < CONNECTIONS; i++)
		one_connection(p, i, &sum);
	/* and all of that has happened */
	cr_assert(sum.seen.application > 50 * CONNECTIONS, "%zu", sum.seen.application);
	cr_assert(sum.seen.alerts > CONNECTIONS / 2, "%zu", sum.seen.alerts);
	if (p->version == 12) {
		cr_assert_eq(sum.resealed, 0);
		return;
	}
	cr_assert_eq(sum.seen.tickets, 2 * CONNECTIONS);
	cr_assert(sum.seen.key_updates > 5 * CONNECTIONS, "%zu", sum.seen.key_updates);
	cr_assert(!seals.wrapped || sum.resealed > 2 * CONNECTIONS, "%zu", sum.resealed);
}

/* One that gave up goes on reading, and what it reads may ask for an answer. */
ParameterizedTestParameters(nonce, nothing_is_said_after_an_abort)
{
	static int asks[] = { false, true };
	return cr_make_param_array(int, asks, 2);
}

ParameterizedTest(int *asks, nonce, nothing_is_said_after_an_abort)
{
	struct planes p = { TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, 13 };
	unsigned char forged[40] = { 23, 3, 3, 0, 35 };
	struct tap_verdict v;

	open_tapped(&p, 0);
	wire_say(&w, 1, 100);
	wire_settle(&w, 1 << 20);
	if (*asks) {
		update(0, true);
		wire_flush(&w, 0);
		wire_move(&w, 0, 1 << 16);
	}
	session_abort(w.s[1]);
	wire_flush(&w, 1);
	if (!*asks)
		cr_assert_eq(send(w.near[1], forged, sizeof(forged), 0), (ssize_t)sizeof(forged));
	take(1, 1 << 16);
	wire_flush(&w, 1);
	run_dry();
	v = tap_check(&tap, &seals.book);
	cr_assert_eq(v.fault, TAP_NONE, "fault %d of side %d in its record %zu", (int)v.fault, v.side, v.record);
	cr_assert_eq(v.alerts, 1);
	cr_assert_eq(tap.side[1].records[tap.side[1].n_records - 1].type, 21);
	close_tapped();
}

/* --- that it would be seen ------------------------------------------------------------------- */

enum doctoring { NOTHING, TWICE, OTHER_TEXT, OTHER_NUMBER, LEFT_OUT, SWAPPED, OLD_KEY, FLIPPED, PLAIN_ALERT, CUT };

static const struct {
	const char *what;
	enum doctoring how;
	enum tap_fault fault;
} doctorings[] = {
	{ "as it was", NOTHING, TAP_NONE },
	{ "a record twice", TWICE, TAP_REPEATED },
	{ "another text under the same nonce", OTHER_TEXT, TAP_REUSED },
	{ "the explicit nonce of the record before", OTHER_NUMBER, TAP_REUSED },
	{ "a record left out", LEFT_OUT, TAP_SKIPPED },
	{ "two records changed over", SWAPPED, TAP_SKIPPED },
	{ "one more under a key that was given up", OLD_KEY, TAP_OLD_KEY },
	{ "a bit", FLIPPED, TAP_UNKNOWN },
	{ "an alert in the clear", PLAIN_ALERT, TAP_UNKNOWN },
	{ "half a record", CUT, TAP_CUT },
};

static void put(struct tap *t, const void *bytes, size_t n)
{
	tap_bytes(t, 1, bytes, n);
}

/* What the server sent, with one thing else at record number `at`, the last one
 * of its key being `last`. */
static void doctor(struct tap *bad, enum doctoring how, size_t at, size_t last)
{
	static const unsigned char alert[] = { 21, 3, 3, 0, 2, 2, 80 };
	const struct tap_side *s = &tap.side[1];
	const struct tap_record *r = s->records;
	unsigned char other[64];
	size_t k, n;

	for (k = 0; k < s->n_records; k++) {
		if (k == at && how == SWAPPED)
			put(bad, s->bytes + r[k + 1].at, r[k + 1].size);
		if (!(k == at && how == LEFT_OUT) && !(k == at + 1 && how == SWAPPED))
			put(bad, s->bytes + r[k].at, r[k].size);
		if (k == at && how == TWICE)
			put(bad, s->bytes + r[k].at, r[k].size);
		if (k == at && how == FLIPPED)
			bad->side[1].bytes[bad->side[1].n - 1] ^= 1;
		if (k == at && how == PLAIN_ALERT)
			put(bad, alert, sizeof(alert));
		if ((k == at && how == OTHER_TEXT) || (k == last && how == OLD_KEY)) {
			n = tap_seal(&tap, 1, r[k].epoch, r[k].seq + (how == OLD_KEY), r[k].seq, 23, "other", 5, other);
			put(bad, other, n);
		}
		if (k == at && how == OTHER_NUMBER) {
			n = tap_seal(&tap, 1, r[k].epoch, r[k].seq + 1, r[k].seq, 23, "other", 5, other);
			put(bad, other, n);
		}
	}
	bad->side[1].n -= how == CUT;
}

/* A doctoring that only one version can have. */
static bool fits(enum doctoring how, bool tls12)
{
	return (how != OLD_KEY || !tls12) && (how != OTHER_NUMBER || tls12);
}

ParameterizedTestParameters(nonce, the_listener_finds_what_is_wrong)
{
	static int versions[] = { 12, 13 };
	return cr_make_param_array(int, versions, 2);
}

ParameterizedTest(int *version, nonce, the_listener_finds_what_is_wrong)
{
	struct planes p = { TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, *version };
	struct tap_verdict v;
	size_t i, at = 0, last;
	struct tap bad;

	open_tapped(&p, 0);
	for (i = 0; i < 10; i++) {
		wire_say(&w, 1, 100);
		wire_settle(&w, 1 << 20);
		if (i == 5 && !tap.tls12)
			cr_assert_eq(session_key_update(w.s[1], false), 0);
	}
	cr_assert_eq(tap_check(&tap, &seals.book).fault, TAP_NONE);
	while (tap.side[1].records[at].type != 23)
		at++;
	for (last = at; last + 1 < tap.side[1].n_records && tap.side[1].records[last + 1].epoch == tap.side[1].records[at].epoch;)
		last++;
	cr_assert(last > at + 1 && (tap.tls12 || last + 1 < tap.side[1].n_records));
	for (i = 0; i < sizeof(doctorings) / sizeof(*doctorings); i++) {
		struct tap_book book = { 0 };

		if (!fits(doctorings[i].how, tap.tls12))
			continue;
		bad = tap;
		bad.side[0].records = NULL;
		bad.side[0].n = 0; /* the client's are not what is looked at */
		bad.side[1] = (struct tap_side){ .epochs = tap.side[1].epochs };
		memcpy(bad.side[1].keys, tap.side[1].keys, sizeof(bad.side[1].keys));
		doctor(&bad, doctorings[i].how, at, last);
		v = tap_check(&bad, &book);
		cr_assert_eq(v.fault, doctorings[i].fault, "%s: %d", doctorings[i].what, (int)v.fault);
		tap_book_free(&book);
		bad.side[0].bytes = NULL; /* not its own */
		tap_free(&bad);
	}
	close_tapped();
}

/* The noting of aead_seal, too: two texts under one nonce, and one text twice. */
Test(nonce, the_count_of_seals_finds_a_reuse)
{
	uint8_t key_bytes[16] = { 1 }, nonce[AEAD_NONCE_SIZE] = { 2 }, data[8 + AEAD_TAG_SIZE] = "one text", header[5] = { 23 };
	gnutls_datum_t key = { key_bytes, sizeof(key_bytes) };
	struct aead *a;
	struct err e;

	if (!seals.wrapped)
		cr_skip_test("the linker does not know --wrap");
	seals_start();
	cr_assert(a = aead_new(GNUTLS_CIPHER_AES_128_GCM, &key, &e));
	cr_assert_eq(aead_seal(a, nonce, header, sizeof(header), data, 8), 0);
	memcpy(data, "one text", 8);
	cr_assert_eq(aead_seal(a, nonce, header, sizeof(header), data, 8), 0);
	cr_assert(seals.calls == 2 && seals.reused == 0);
	memcpy(data, "another.", 8);
	cr_assert_eq(aead_seal(a, nonce, header, sizeof(header), data, 8), 0);
	cr_assert(seals.calls == 3 && seals.reused == 1);
	aead_free(a);
	seals_stop();
}
