/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The direct record path against GnuTLS's own, and against itself: whatever
 * sizes, padding, key updates and cuts there are in the stream, each side gets
 * what the other one sent. GnuTLS counts sequence numbers for itself, so that
 * its opening every record shows that none was used twice or left out. */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/tls/tls_int.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/wire.h"

static struct wire w;
static size_t receive_limit[2]; /* record_size_limit of a side; 0: the usual */
static unsigned seed;

static unsigned rnd(unsigned n)
{
	return (unsigned)rand_r(&seed) % n;
}

static void set_limits(struct wire *wire)
{
	int i;

	for (i = 0; i < 2; i++)
		if (receive_limit[i])
			cr_assert_eq(gnutls_record_set_max_recv_size(wire->s[i]->gs, receive_limit[i]), 0);
}

static void open_wire(enum tls_dataplane client, enum tls_dataplane server, const char *suite)
{
	w.before = set_limits;
	wire_open(&w, client, server, suite);
}

struct planes {
	enum tls_dataplane client, server;
	int version;
};

/* How many suites there are of a version. */
#define SUITES 4

static const char *const suites[2][SUITES] = {
	{ "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
		"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CCM" },
	{ "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256" },
};

static void open_planes(const struct planes *p, int suite)
{
	open_wire(p->client, p->server, suites[p->version - 12][suite]);
	cr_assert_eq(w.s[0]->direct != NULL, p->client == TLS_DATAPLANE_DIRECT);
	cr_assert_eq(w.s[1]->direct != NULL, p->server == TLS_DATAPLANE_DIRECT);
}

static void close_wire(void)
{
	wire_close(&w);
}

#define EACH_PAIR(name)                                                                                               \
	ParameterizedTestParameters(direct, name)                                                                     \
	{                                                                                                             \
		static struct planes cases[] = {                                                                      \
			{ TLS_DATAPLANE_DIRECT, TLS_DATAPLANE_GNUTLS, 13 },                                           \
			{ TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, 13 },                                           \
			{ TLS_DATAPLANE_DIRECT, TLS_DATAPLANE_DIRECT, 13 },                                           \
			{ TLS_DATAPLANE_DIRECT, TLS_DATAPLANE_GNUTLS, 12 },                                           \
			{ TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, 12 },                                           \
			{ TLS_DATAPLANE_DIRECT, TLS_DATAPLANE_DIRECT, 12 },                                           \
		};                                                                                                    \
		return cr_make_param_array(struct planes, cases, 6);                                                  \
	}                                                                                                             \
	ParameterizedTest(struct planes *c, direct, name)

EACH_PAIR(record_sizes)
{
	size_t n;
	int suite;

	for (suite = 0; suite < (c->version == 12 ? SUITES : 1); suite++) {
		open_planes(c, suite);
		for (n = 1; n <= 16385; n += n < 300 ? 1 : n < 16100 ? 487 : 1) {
			wire_say(&w, 0, n);
			wire_say(&w, 1, n);
			wire_settle(&w, 1 << 20);
		}
		cr_assert_not(session_holds_memory(w.s[0]) || session_holds_memory(w.s[1]));
		close_wire();
	}
}

EACH_PAIR(byte_at_a_time)
{
	int suite;

	for (suite = 1; suite < (c->version == 12 ? SUITES : 2); suite++) {
		open_planes(c, suite);
		wire_say(&w, 0, 700);
		wire_say(&w, 1, 1);
		wire_settle(&w, 1);
		wire_say(&w, 1, 900);
		wire_settle(&w, 1);
		close_wire();
	}
}

/* Anything, in any order, cut anywhere. */
EACH_PAIR(random_traffic)
{
	int run, step, side;

	for (run = 0; run < 12; run++) {
		seed = (unsigned)(run * 3 + 1);
		open_planes(c, run % SUITES);
		for (step = 0; step < 400; step++) {
			side = (int)rnd(2);
			switch (rnd(8)) {
			case 0:
				/* GnuTLS takes 8 a second, and does not bear that
				 * both sides ask at a time */
				if (step % 40 == 0 && c->version == 13)
					cr_assert(session_key_update(w.s[side], side == 0 && rnd(2)) >= 0);
				break;
			case 1:
			case 2:
				wire_say(&w, side, 1 + rnd(rnd(4) ? 100 : 40000));
				break;
			case 3:
				wire_flush(&w, side);
				break;
			case 4:
				wire_hear(&w, side, 1 + rnd(20000));
				break;
			default:
				wire_move(&w, side, rnd(3) ? rnd(30) : rnd(30000));
			}
		}
		wire_settle(&w, 1 << 20);
		close_wire();
	}
}

/* --- how large the records are ------------------------------------------------------------ */

#define SIZES_MAX 1000

static struct {
	int side; /* whose records these are */
	unsigned char type[SIZES_MAX];
	size_t length[SIZES_MAX], n; /* without the header */
	unsigned char header[5];
	size_t have, left;
} sizes;

static void note_sizes(void *arg, int side, const unsigned char *bytes, size_t n)
{
	size_t k;

	(void)arg;
	for (; side == sizes.side && n; bytes += k, n -= k) {
		k = sizes.left < n ? sizes.left : n;
		sizes.left -= k;
		if (k)
			continue;
		k = 1;
		sizes.header[sizes.have++] = *bytes;
		if (sizes.have < sizeof(sizes.header))
			continue;
		sizes.have = 0;
		sizes.left = (size_t)sizes.header[3] << 8 | sizes.header[4];
		cr_assert(sizes.n < SIZES_MAX);
		sizes.type[sizes.n] = sizes.header[0];
		sizes.length[sizes.n++] = sizes.left;
	}
}

static size_t plain_size(size_t i)
{
	return sizes.length[i] - 17;
}

/* The server sends n bytes, as much at a time as there is room for. Returns how
 * many bytes went in records of 4 KiB at most, before the first larger one. */
static size_t early_bytes(uint64_t n)
{
	uint64_t end = w.sent[1] + n;
	size_t i, early = 0;

	sizes.n = 0;
	while (w.sent[1] < end) {
		wire_say(&w, 1, end - w.sent[1]);
		wire_settle(&w, 1 << 20);
	}
	for (i = 0; i < sizes.n && plain_size(i) <= 4096; i++)
		early += plain_size(i);
	return early;
}

static bool has_record_of(size_t n)
{
	size_t i;

	for (i = 0; i < sizes.n; i++)
		if (plain_size(i) == n)
			return true;
	return false;
}

/* Behind a pause the first 64 KiB go in small records, and then in full ones. */
Test(direct, small_records_behind_a_pause)
{
	size_t early;

	if (!fake_clock.wrapped)
		cr_skip_test("the linker does not know --wrap");
	fake_clock.mono_ns = 5 * NS_PER_S;
	w.tap = note_sizes;
	sizes.side = 1;
	open_wire(TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, "TLS_AES_128_GCM_SHA256");
	wire_say(&w, 1, 1); /* with the tickets */
	wire_settle(&w, 1 << 20);
	early = early_bytes(500000);
	cr_assert(early >= 65535 && early < 2 * 65536, "%zu", early);
	cr_assert(has_record_of(16384));
	cr_assert_eq(early_bytes(500000), 0, "no pause, and small records");
	fake_clock.mono_ns += NS_PER_S - 1;
	cr_assert_eq(early_bytes(50000), 0);
	fake_clock.mono_ns += NS_PER_S + 1;
	early = early_bytes(500000);
	cr_assert(early >= 65536 && early < 2 * 65536, "%zu", early);
	cr_assert(has_record_of(16384));
	close_wire();
}

/* A peer that takes small records only (RFC 8449), in TLS 1.3 with the type byte in
 * that. GnuTLS refuses larger ones. */
EACH_PAIR(record_size_limit)
{
	size_t i, full, largest = 512 + (c->version == 13 ? 1 + 16 : 8 + 16);

	w.tap = note_sizes;
	for (sizes.side = 0; sizes.side < 2; sizes.side++) {
		sizes.n = 0;
		receive_limit[1 - sizes.side] = 512;
		receive_limit[sizes.side] = 0;
		open_planes(c, 0);
		wire_say(&w, 0, 5000);
		wire_say(&w, 1, 5000);
		wire_settle(&w, 1 << 20);
		for (i = full = 0; i < sizes.n; i++) {
			if (sizes.type[i] == 23)
				cr_assert(sizes.length[i] <= largest, "%zu", sizes.length[i]);
			full += sizes.type[i] == 23 && sizes.length[i] == largest;
		}
		cr_assert_geq(full, 5000 / 512);
		close_wire();
	}
	receive_limit[0] = receive_limit[1] = 0;
	w.tap = NULL;
}

/* A KeyUpdate that asks for one, after our close_notify: nothing can be answered,
 * and what the peer still says arrives. */
Test(direct, key_update_after_close_notify)
{
	int side;

	for (side = 0; side < 2; side++) {
		open_wire(side ? TLS_DATAPLANE_GNUTLS : TLS_DATAPLANE_DIRECT, side ? TLS_DATAPLANE_DIRECT : TLS_DATAPLANE_GNUTLS,
			"TLS_AES_128_GCM_SHA256");
		wire_say(&w, 0, 100);
		wire_say(&w, 1, 100);
		wire_settle(&w, 1 << 20);
		cr_assert_eq(session_close_notify(w.s[side], &w.err), 0);
		wire_flush(&w, side);
		cr_assert_eq(session_key_update(w.s[1 - side], true), 0);
		wire_flush(&w, 1 - side);
		wire_say(&w, 1 - side, 3000);
		wire_flush(&w, 1 - side);
		wire_move(&w, 1 - side, 1 << 16);
		cr_assert_eq(wire_hear(&w, side, 1 << 16), 3000);
		close_wire();
	}
}

/* Sealed by a peer that has the keys but breaks the rules. */
static void seal_raw(const unsigned char *inner, size_t n)
{
	unsigned char record[20000] = { 23, 3, 3, (unsigned char)((n + 16) >> 8), (unsigned char)(n + 16) }, seq[8], nonce[12];
	gnutls_datum_t mac, iv, key;
	gnutls_aead_cipher_hd_t h;
	size_t size = sizeof(record) - 5;
	int i;

	cr_assert_eq(gnutls_record_get_state(w.s[0]->gs, 0, &mac, &iv, &key, seq), 0);
	memcpy(nonce, iv.data, 12);
	for (i = 0; i < 8; i++)
		nonce[4 + i] ^= seq[i];
	cr_assert_eq(gnutls_aead_cipher_init(&h, GNUTLS_CIPHER_AES_128_GCM, &key), 0);
	cr_assert_eq(gnutls_aead_cipher_encrypt(h, nonce, 12, record, 5, 16, inner, n, record + 5, &size), 0);
	gnutls_aead_cipher_deinit(h);
	cr_assert_eq(send(w.near[1], record, 5 + size, 0), (ssize_t)(5 + size));
}

/* Has GnuTLS count the record that seal_raw sent. */
static void bump_seq(void)
{
	gnutls_datum_t mac, iv, key;
	unsigned char seq[8];
	int i;

	cr_assert_eq(gnutls_record_get_state(w.s[0]->gs, 0, &mac, &iv, &key, seq), 0);
	for (i = 7; i >= 0 && ++seq[i] == 0; i--)
		;
	cr_assert_eq(gnutls_record_set_state(w.s[0]->gs, 0, seq), 0);
}

/* The same request in two records is answered, too. */
Test(direct, key_update_in_pieces)
{
	static const unsigned char first[] = { 24, 0, 0, 22 }, second[] = { 1, 1, 22 };

	open_wire(TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, "TLS_AES_128_GCM_SHA256");
	wire_say(&w, 1, 10);
	wire_settle(&w, 1 << 20);
	seal_raw(first, sizeof(first));
	wire_hear(&w, 1, 1);
	cr_assert_eq(wire_move(&w, 1, 1 << 16), 0);
	bump_seq();
	seal_raw(second, sizeof(second));
	wire_hear(&w, 1, 1);
	wire_flush(&w, 1);
	cr_assert(wire_move(&w, 1, 1 << 16) > 0, "no KeyUpdate in answer");
	close_wire();
}

/* Padding and empty records, which only GnuTLS sends here (RFC 8446, 5.4). */
Test(direct, padding_and_empty_records)
{
	static const size_t pads[] = { 0, 1, 15, 16, 17, 255, 4000, 16000 };
	unsigned char data[300];
	size_t i, k;

	open_wire(TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, "TLS_AES_128_GCM_SHA256");
	for (i = 0; i < sizeof(pads) / sizeof(*pads); i++) {
		for (k = 0; k < sizeof(data); k++)
			data[k] = wire_pattern(0, w.sent[0] + k);
		cr_assert_eq(gnutls_record_send2(w.s[0]->gs, data, sizeof(data), pads[i], 0), (ssize_t)sizeof(data));
		w.sent[0] += sizeof(data);
		if (pads[i]) /* padding alone is an empty record */
			gnutls_record_send2(w.s[0]->gs, NULL, 0, pads[i], 0);
		wire_settle(&w, 1 << 20);
	}
	close_wire();
}

static void refused(const char *what, const char *says)
{
	int i;
	long n = SOCK_BLOCKED;

	for (i = 0; i < 3 && n == SOCK_BLOCKED; i++) {
		wire_ready(&w);
		n = session_fill(w.s[1], &w.err);
	}
	cr_assert_eq(n, SOCK_FAILED, "%s: %ld", what, n);
	cr_assert(strstr(w.err.msg, says), "%s: %s", what, w.err.msg);
	/* and the other side is told by an alert */
	wire_flush(&w, 1);
	cr_assert(wire_move(&w, 1, 1 << 16) > 0, "%s: no alert", what);
	wire_ready(&w);
	n = session_fill(w.s[0], &w.err);
	cr_assert(n == SOCK_FAILED && strstr(w.err.msg, "alert"), "%s: %ld %s", what, n, w.err.msg);
}

/* Raw bytes in place of a record. */
Test(direct, records_that_are_none)
{
	static const struct {
		const char *what;
		unsigned char bytes[5];
		const char *says;
	} cases[] = {
		{ "plain alert", { 21, 3, 3, 0, 2 }, "unexpected" },
		{ "plain handshake", { 22, 3, 3, 0, 4 }, "unexpected" },
		{ "change_cipher_spec", { 20, 3, 3, 0, 1 }, "unexpected" },
		{ "unknown type", { 99, 3, 3, 0, 40 }, "unexpected" },
		{ "too long", { 23, 3, 3, 0x41, 1 }, "over the size limit" },
		{ "too short", { 23, 3, 3, 0, 16 }, "bad_record_mac" },
		{ "empty", { 23, 3, 3, 0, 0 }, "bad_record_mac" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		open_wire(TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, "TLS_AES_128_GCM_SHA256");
		wire_say(&w, 0, 10);
		wire_say(&w, 1, 10);
		wire_settle(&w, 1 << 20);
		cr_assert_eq(send(w.near[1], cases[i].bytes, 5, 0), 5);
		refused(cases[i].what, cases[i].says);
		close_wire();
	}
}

Test(direct, plaintexts_that_are_none)
{
	static unsigned char zeros[100], unknown[] = "abc\x63", handshake[] = { 1, 0, 0, 1, 0, 22 }, big[16384 + 2];
	static const struct {
		const char *what;
		const unsigned char *inner;
		size_t n;
		const char *says;
	} cases[] = {
		{ "padding alone", zeros, 100, "unexpected" },
		{ "unknown inner type", unknown, 4, "" },
		{ "a ClientHello", handshake, sizeof(handshake), "" },
		{ "over 2^14", big, sizeof(big), "over the size limit" },
	};
	size_t i;

	memset(big, 23, sizeof(big));
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		open_wire(TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, "TLS_AES_128_GCM_SHA256");
		wire_say(&w, 1, 10);
		wire_settle(&w, 1 << 20);
		seal_raw(cases[i].inner, cases[i].n);
		refused(cases[i].what, cases[i].says);
		close_wire();
	}
}

/* A peer that keeps asking for new keys is thrown out. */
Test(direct, a_flood_of_key_updates_ends)
{
	long n = SOCK_BLOCKED;
	int i;

	open_wire(TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, "TLS_AES_128_GCM_SHA256");
	for (i = 0; i < 100 && n == SOCK_BLOCKED; i++) {
		gnutls_session_key_update(w.s[0]->gs, 0);
		wire_flush(&w, 0);
		wire_move(&w, 0, 1 << 16);
		wire_ready(&w);
		n = session_fill(w.s[1], &w.err);
	}
	cr_assert_eq(n, SOCK_FAILED, "after %d", i);
	close_wire();
}

/* Our own rekey, long before AES-GCM's limit. In TLS 1.2 there is none, and a key goes
 * on. */
EACH_PAIR(rekeys_by_itself)
{
	int i;

	open_planes(c, 0);
	for (i = 0; i < 3; i++) {
		wire_say(&w, 0, 30000);
		wire_say(&w, 1, 30000);
		wire_settle(&w, 1 << 20);
		session_wear_out(w.s[0]);
		session_wear_out(w.s[1]);
	}
	close_wire();
}
