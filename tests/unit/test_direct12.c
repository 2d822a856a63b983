/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The direct record path under TLS 1.2 and a peer that breaks the rules, with the
 * keys and without. What it shares with TLS 1.3 is in test_direct.c. */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <gnutls/crypto.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/tls/direct.h"
#include "tests/unit/wire.h"

TestSuite(direct12);

/* --- a receiver, and a peer that is GnuTLS -------------------------------------------------- */

static struct wire w;
static int to, from; /* the receiver's side and the peer's */

static const char *const suites[] = { "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256" };

struct cast {
	int to, suite;
};

#define EACH_CAST(name)                                                                                               \
	ParameterizedTestParameters(direct12, name)                                                                   \
	{                                                                                                             \
		static struct cast casts[] = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 1, 1 }, { 0, 2 }, { 1, 2 } };          \
		return cr_make_param_array(struct cast, casts, 6);                                                    \
	}                                                                                                             \
	ParameterizedTest(struct cast *c, direct12, name)

static void open_plane(const struct cast *c, enum tls_dataplane plane)
{
	enum tls_dataplane planes[2] = { TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_GNUTLS };

	to = c->to;
	from = 1 - to;
	planes[to] = plane;
	wire_open(&w, planes[0], planes[1], suites[c->suite]);
	cr_assert_eq(w.s[to]->direct != NULL, plane == TLS_DATAPLANE_DIRECT);
	cr_assert_eq(gnutls_protocol_get_version(w.s[to]->gs), GNUTLS_TLS1_2);
	wire_say(&w, to, 10);
	wire_say(&w, from, 10);
	wire_settle(&w, 1 << 20);
}

static void open_cast(const struct cast *c)
{
	open_plane(c, TLS_DATAPLANE_DIRECT);
}

/* What the peer says is not sent, but put into out. Returns its size. */
static size_t catch(unsigned char *out, size_t max)
{
	ssize_t n;

	wire_flush(&w, from);
	n = recv(w.near[from], out, max, 0);
	cr_assert(n > 0 && (size_t)n < max);
	return (size_t)n;
}

static size_t catch_record(size_t plain, unsigned char *out, size_t max)
{
	wire_say(&w, from, plain);
	return catch(out, max);
}

static void hand(const unsigned char *bytes, size_t n)
{
	cr_assert_eq(send(w.near[to], bytes, n, 0), (ssize_t)n);
}

static long take(void)
{
	long n = SOCK_BLOCKED;
	int i;

	for (i = 0; i < 3 && n == SOCK_BLOCKED; i++)
		n = wire_take(&w, to, 1 << 20);
	return n;
}

/* The receiver fails and shows nothing; the peer gets the alert. */
static void refused(const char *what, int at, gnutls_alert_description_t alert, const char *says)
{
	struct iovec iov[4];
	size_t total;
	long n = take();

	cr_assert_eq(n, SOCK_FAILED, "%s, %d: %ld", what, at, n);
	cr_assert(strstr(w.err.msg, says), "%s, %d: %s", what, at, w.err.msg);
	cr_assert(session_peek(w.s[to], iov, 4, &total) == 0 && total == 0);
	wire_flush(&w, to);
	cr_assert(wire_move(&w, to, 1 << 16) > 0, "%s, %d: no alert", what, at);
	wire_ready(&w);
	cr_assert_eq(session_fill(w.s[from], &w.err), SOCK_FAILED);
	cr_assert_eq(gnutls_alert_get(w.s[from]->gs), alert, "%s, %d: %s", what, at, w.err.msg);
}

/* Sealed by a peer that has the keys but breaks the rules. Returns its size. */
static size_t seal(unsigned char type, const void *plain, size_t n, uint64_t explicit, unsigned char *record)
{
	gnutls_session_t gs = w.s[from]->gs;
	unsigned char seq[8], nonce[12], aad[13];
	gnutls_datum_t mac, iv, key;
	gnutls_aead_cipher_hd_t h;
	size_t size = n + 16, at = 5;
	int i;

	cr_assert_eq(gnutls_record_get_state(gs, 0, &mac, &iv, &key, seq), 0);
	memcpy(nonce, iv.data, iv.size);
	for (i = 0; i < 8 && iv.size == 12; i++)
		nonce[4 + i] ^= seq[i];
	if (iv.size == 4) {
		direct_put_seq(explicit, record + at);
		memcpy(nonce + 4, record + at, 8);
		at += 8;
	}
	memcpy(record, (uint8_t[]){ type, 3, 3, (uint8_t)((at - 5 + size) >> 8), (uint8_t)(at - 5 + size) }, 5);
	memcpy(aad, seq, 8);
	memcpy(aad + 8, (uint8_t[]){ type, 3, 3, (uint8_t)(n >> 8), (uint8_t)n }, 5);
	cr_assert_eq(gnutls_aead_cipher_init(&h, gnutls_cipher_get(gs), &key), 0);
	cr_assert_eq(gnutls_aead_cipher_encrypt(h, nonce, 12, aad, 13, 16, plain, n, record + at, &size), 0);
	gnutls_aead_cipher_deinit(h);
	for (i = 7; i >= 0 && ++seq[i] == 0; i--)
		;
	cr_assert_eq(gnutls_record_set_state(gs, 0, seq), 0);
	return at + size;
}

static void hand_sealed(unsigned char type, const void *plain, size_t n, uint64_t explicit)
{
	unsigned char record[20000];

	hand(record, seal(type, plain, n, explicit, record));
}

static void hand_data(size_t n, uint64_t explicit)
{
	unsigned char plain[16384];
	size_t k;

	for (k = 0; k < n; k++)
		plain[k] = wire_pattern(from, w.sent[from] + k);
	hand_sealed(23, plain, n, explicit);
	w.sent[from] += n;
}

/* The same small record many times, in one piece. */
static void hand_flood(unsigned char type, const void *plain, size_t n, int times)
{
	static unsigned char bytes[1 << 16];
	size_t size = 0;

	while (times--) {
		cr_assert_lt(size + n + 29, sizeof(bytes));
		size += seal(type, plain, n, (uint64_t)times, bytes + size);
	}
	hand(bytes, size);
}

/* --- bytes that were changed ------------------------------------------------------------------ */

/* A record with one byte of another value, between two that are whole. */
static void tampered(const struct cast *c, int at, int value, gnutls_alert_description_t alert, const char *says)
{
	unsigned char bytes[1000];
	size_t first, size;

	open_cast(c);
	first = size = catch_record(30, bytes, sizeof(bytes));
	size += catch_record(20, bytes + size, sizeof(bytes) - size);
	size += catch_record(400, bytes + size, sizeof(bytes) - size);
	bytes[first + (size_t)at] = (unsigned char)(value < 0 ? bytes[first + (size_t)at] ^ 1 : value);
	hand(bytes, size);
	cr_assert_eq(take(), 30, "byte %d", at);
	refused("tampered", at, alert, says);
	wire_close(&w);
}

EACH_CAST(each_byte_tampered)
{
	int before = c->suite == 2 ? 0 : 8, size = 5 + before + 20 + 16, at;

	tampered(c, 0, 20, GNUTLS_A_UNEXPECTED_MESSAGE, "unexpected");
	tampered(c, 0, 21, GNUTLS_A_BAD_RECORD_MAC, "bad_record_mac");
	tampered(c, 0, 22, GNUTLS_A_UNEXPECTED_MESSAGE, "renegotiate");
	tampered(c, 0, 24, GNUTLS_A_UNEXPECTED_MESSAGE, "unexpected");
	tampered(c, 0, 0x97, GNUTLS_A_UNEXPECTED_MESSAGE, "unexpected");
	tampered(c, 1, -1, GNUTLS_A_PROTOCOL_VERSION, "version");
	tampered(c, 2, -1, GNUTLS_A_PROTOCOL_VERSION, "version");
	tampered(c, 4, size - 5 - 1, GNUTLS_A_BAD_RECORD_MAC, "bad_record_mac");
	tampered(c, 4, before + 16, GNUTLS_A_BAD_RECORD_MAC, "bad_record_mac");
	tampered(c, 4, before + 15, GNUTLS_A_BAD_RECORD_MAC, "bad_record_mac");
	for (at = 3; at < size; at++) /* length, explicit nonce, ciphertext, tag */
		tampered(c, at, -1, GNUTLS_A_BAD_RECORD_MAC, "bad_record_mac");
}

/* Whole records, and not the one that is due: the number is authenticated. */
EACH_CAST(records_in_another_order)
{
	static const int orders[][2] = { { 0, 0 }, { 1, -1 }, { 0, 2 } };
	unsigned char record[3][100];
	size_t size[3], i, k;

	for (i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		open_cast(c);
		for (k = 0; k < 3; k++)
			size[k] = catch_record(40, record[k], sizeof(record[k]));
		for (k = 0; k < 2 && orders[i][k] >= 0; k++)
			hand(record[orders[i][k]], size[orders[i][k]]);
		if (orders[i][0] == 0)
			cr_assert_eq(take(), 40);
		refused("order", (int)i, GNUTLS_A_BAD_RECORD_MAC, "bad_record_mac");
		wire_close(&w);
	}
}

/* --- no records at all -------------------------------------------------------------------------- */

EACH_CAST(headers_of_nothing)
{
	static unsigned char bytes[5 + 16384 + 100];
	const unsigned around = c->suite == 2 ? 16 : 24;
	const struct {
		const char *what;
		unsigned char type, minor;
		unsigned length;
		gnutls_alert_description_t alert;
	} cases[] = {
		{ "alert in the clear", 21, 3, 2, GNUTLS_A_BAD_RECORD_MAC },
		{ "long alert in the clear", 21, 3, 200, GNUTLS_A_BAD_RECORD_MAC },
		{ "change_cipher_spec in the clear", 20, 3, 1, GNUTLS_A_UNEXPECTED_MESSAGE },
		{ "handshake in the clear", 22, 3, 4, GNUTLS_A_UNEXPECTED_MESSAGE },
		{ "unknown type", 99, 3, 40, GNUTLS_A_UNEXPECTED_MESSAGE },
		{ "TLS 1.0", 23, 1, 40, GNUTLS_A_PROTOCOL_VERSION },
		{ "too long", 23, 3, 16384 + around + 1, GNUTLS_A_RECORD_OVERFLOW },
		{ "longest", 23, 3, 16384 + around, GNUTLS_A_BAD_RECORD_MAC },
		{ "too short", 23, 3, around - 1, GNUTLS_A_BAD_RECORD_MAC },
		{ "empty", 23, 3, 0, GNUTLS_A_BAD_RECORD_MAC },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		open_cast(c);
		memcpy(bytes, (uint8_t[]){ cases[i].type, 3, cases[i].minor, (uint8_t)(cases[i].length >> 8),
			(uint8_t)cases[i].length }, 5);
		hand(bytes, 5 + cases[i].length);
		refused(cases[i].what, 0, cases[i].alert, "");
		wire_close(&w);
	}
}

/* The end inside a record is not the end between two. */
EACH_CAST(cut_anywhere)
{
	unsigned char bytes[200];
	size_t first, size, at;

	for (at = 0, size = 1; at < size; at++) {
		open_cast(c);
		first = catch_record(30, bytes, sizeof(bytes));
		size = catch_record(20, bytes + first, sizeof(bytes) - first);
		hand(bytes, first + at);
		shutdown(w.near[to], SHUT_WR);
		cr_assert_eq(take(), 30);
		cr_assert_eq(take(), SOCK_FAILED);
		cr_assert_eq(w.err.kind, at ? ERR_IO : ERR_TRUNCATED, "%zu: %s", at, w.err.msg);
		cr_assert(strstr(w.err.msg, at ? "inside a record" : "without close_notify"), "%zu: %s", at, w.err.msg);
		wire_say(&w, to, 700); /* sending still works */
		wire_flush(&w, to);
		wire_move(&w, to, 1 << 16);
		cr_assert_eq(wire_hear(&w, from, 1 << 16), 700);
		wire_close(&w);
	}
}

/* --- with the keys --------------------------------------------------------------------------------- */

EACH_CAST(sealed_against_the_rules)
{
	static unsigned char big[16384 + 1];
	static const struct {
		const char *what;
		unsigned char type;
		const char *plain;
		size_t n;
		gnutls_alert_description_t alert;
		const char *says;
	} cases[] = {
		{ "change_cipher_spec", 20, "\1", 1, GNUTLS_A_UNEXPECTED_MESSAGE, "unexpected" },
		{ "HelloRequest", 22, "\0\0\0\0", 4, GNUTLS_A_UNEXPECTED_MESSAGE, "renegotiate" },
		{ "Finished", 22, "\x14\0\0\0", 4, GNUTLS_A_UNEXPECTED_MESSAGE, "renegotiate" },
		{ "heartbeat", 24, "\1\0\1x", 4, GNUTLS_A_UNEXPECTED_MESSAGE, "unexpected" },
		{ "half an alert", 21, "\1", 1, GNUTLS_A_UNEXPECTED_MESSAGE, "unexpected" },
		{ "over 2^14", 23, (char *)big, sizeof(big), GNUTLS_A_RECORD_OVERFLOW, "over the size limit" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		open_cast(c);
		hand_sealed(cases[i].type, cases[i].plain, cases[i].n, 7);
		refused(cases[i].what, 0, cases[i].alert, cases[i].says);
		wire_close(&w);
	}
}

/* An explicit nonce is the sender's choice (RFC 5288, 3). */
EACH_CAST(any_explicit_nonce)
{
	open_cast(c);
	hand_data(16384, UINT64_MAX);
	hand_data(1, 0x123456789abcdef0);
	hand_data(500, 0);
	wire_settle(&w, 1 << 20);
	wire_close(&w);
}

EACH_CAST(empty_records)
{
	int i;

	open_cast(c);
	for (i = 0; i < 5; i++) {
		hand_flood(23, "", 0, 900);
		hand_data(100, 0);
		wire_settle(&w, 1 << 20);
	}
	hand_flood(23, "", 0, 1001);
	refused("empty records", 0, GNUTLS_A_INTERNAL_ERROR, "too many empty records");
	wire_close(&w);
}

/* --- alerts ------------------------------------------------------------------------------------------ */

EACH_CAST(warnings_are_passed_over)
{
	int i;

	open_cast(c);
	for (i = 0; i < 20; i++) {
		cr_assert_eq(gnutls_alert_send(w.s[from]->gs, GNUTLS_AL_WARNING, GNUTLS_A_NO_RENEGOTIATION), 0);
		wire_flush(&w, from);
		wire_move(&w, from, 1 << 16);
		hand_sealed(21, "", 0, 3); /* an empty one */
		wire_say(&w, from, 300);
		wire_say(&w, to, 300);
		wire_settle(&w, 1 << 20);
	}
	hand_flood(21, "\1\x5a", 2, 1001);
	cr_assert_eq(take(), SOCK_FAILED, "a flood of them ends it");
	wire_close(&w);
}

EACH_CAST(alerts_that_end_it)
{
	open_cast(c);
	wire_say(&w, from, 300);
	cr_assert_eq(gnutls_alert_send(w.s[from]->gs, GNUTLS_AL_FATAL, GNUTLS_A_ACCESS_DENIED), 0);
	wire_flush(&w, from);
	wire_move(&w, from, 1 << 16);
	cr_assert_eq(take(), 300);
	cr_assert_eq(take(), SOCK_FAILED);
	cr_assert(strstr(w.err.msg, "access_denied"), "%s", w.err.msg);
	wire_close(&w);
}

/* --- the end of it all ----------------------------------------------------------------------------------- */

/* A GnuTLS peer asks for another handshake: refused in the same words by either plane,
 * behind the data. */
static void renegotiate(const struct cast *c, enum tls_dataplane plane)
{
	gnutls_session_t peer;
	int r = GNUTLS_E_AGAIN, i;

	open_plane(c, plane);
	peer = w.s[from]->gs;
	wire_say(&w, from, 300);
	if (from)
		cr_assert_eq(gnutls_rehandshake(peer), 0);
	else
		cr_assert_eq(gnutls_handshake(peer), GNUTLS_E_AGAIN);
	wire_flush(&w, from);
	cr_assert_gt(wire_move(&w, from, 1 << 16), 300 + 5 + 16);
	cr_assert_eq(take(), 300);
	cr_assert_eq(take(), SOCK_FAILED);
	cr_assert_str_eq(w.err.msg, "the peer wants to renegotiate, which is refused");
	cr_assert_eq(w.err.kind, ERR_HANDSHAKE);
	wire_flush(&w, to);
	cr_assert_gt(wire_move(&w, to, 1 << 16), 0);
	for (i = 0; i < 5 && !gnutls_error_is_fatal(r); i++) {
		wire_ready(&w);
		r = from ? (int)gnutls_record_recv(peer, &(char){ 0 }, 1) : gnutls_handshake(peer);
	}
	cr_assert_eq(r, GNUTLS_E_FATAL_ALERT_RECEIVED, "%s", gnutls_strerror(r));
	cr_assert_eq(gnutls_alert_get(peer), GNUTLS_A_UNEXPECTED_MESSAGE);
	wire_close(&w);
}

EACH_CAST(renegotiation_is_refused)
{
	renegotiate(c, TLS_DATAPLANE_GNUTLS);
	renegotiate(c, TLS_DATAPLANE_DIRECT);
}

static void set_seq(struct session *s, uint64_t seq)
{
	unsigned char bytes[8];

	direct_put_seq(seq, bytes);
	cr_assert_eq(gnutls_record_set_state(s->gs, 0, bytes), 0);
	cr_assert_eq(gnutls_record_set_state(s->gs, 1, bytes), 0);
	if (s->direct)
		s->direct->rx.seq = s->direct->tx.seq = seq;
}

/* All eight bytes of the sequence number count, and GnuTLS gets and gives them whole. */
EACH_CAST(large_sequence_numbers)
{
	static const uint64_t starts[] = { 0xfe, 0xfffffffe, 0xfffffffffffe, 0x7ffffffffffffffe };
	size_t i, k;

	for (i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		open_cast(c);
		set_seq(w.s[0], starts[i]);
		set_seq(w.s[1], starts[i]);
		for (k = 0; k < 5; k++) {
			cr_assert_eq(gnutls_alert_send(w.s[from]->gs, GNUTLS_AL_WARNING, GNUTLS_A_NO_RENEGOTIATION), 0);
			wire_say(&w, from, 300);
			wire_say(&w, to, 300);
			wire_settle(&w, 1 << 20);
		}
		for (k = 0; k < 2; k++) {
			cr_assert_eq(session_close_notify(w.s[k], &w.err), 0);
			wire_flush(&w, (int)k);
			wire_move(&w, (int)k, 1 << 16);
			cr_assert_eq(wire_take(&w, 1 - (int)k, 1), 0, "%s", w.err.msg);
		}
		wire_close(&w);
	}
}
