/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The kTLS plane against a kernel of our own (fake_kernel.h), which is stricter than
 * the real one and here on every machine. What the real one does is shown by
 * tests/interop/ktls_qemu. */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/tls/ktls.h"
#include "lib/tls/tls_int.h"
#include "tests/unit/fake_kernel.h"
#include "tests/unit/pair.h"

static struct pair pair;
static struct tls_config *config[2];
static const char *suite;
static struct tickets *tickets;
static int max_version = 13;

/* Which side's records are the kernel's. */
enum who { CLIENT = 1, SERVER = 2, BOTH = 3 };

static void open_pair(enum who who, bool rekeys)
{
	struct tls_options o[2] = { pair_options(TLS_CLIENT), pair_options(TLS_SERVER) };
	struct err e = { 0 };
	int i;

	fake_kernel_install(rekeys);
	o[0].insecure_no_verify = true;
	for (i = 0; i < 2; i++) {
		o[i].max_version = max_version;
		o[i].dataplane = who & (i ? SERVER : CLIENT) ? TLS_DATAPLANE_KTLS : TLS_DATAPLANE_DIRECT;
		if (suite)
			o[i].suites = (struct names_list){ &suite, 1 };
		config[i] = config_new(&o[i], &e);
		cr_assert(config[i], "%s", e.msg);
	}
	pair = (struct pair){ .peer.tickets = tickets };
	pair_open(&pair, config[0], config[1]);
}

static void shake_pair(enum who who, bool rekeys)
{
	open_pair(who, rekeys);
	cr_assert(pair_shake(&pair), "%s / %s", pair.err[0].msg, pair.err[1].msg);
}

static void close_pair(void)
{
	pair_close(&pair);
	fake_kernel_remove();
	config_unref(config[0]);
	config_unref(config[1]);
}

static void carry_both_ways(void)
{
	pair_carry(&pair, 0, 100000, 7000, 3000);
	pair_carry(&pair, 1, 100000, 16384, 50000);
}

/* A read that finds no data; what it returns. */
static long fill(int side)
{
	pair_poll(&pair);
	pair.sock[side].readable = true;
	return session_fill(pair.s[side], &pair.err[side]);
}

static void flush(int side)
{
	pair_poll(&pair);
	cr_assert_eq(session_flush(pair.s[side], &pair.err[side]), 0, "%s", pair.err[side].msg);
}

static void planes(const char *client, const char *server)
{
	cr_assert_str_eq(session_plane(pair.s[0]), client);
	cr_assert_str_eq(session_plane(pair.s[1]), server);
}

Test(ktls, carries_by_the_kernel)
{
	static const char *suites[] = { "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
		"TLS_AES_128_CCM_SHA256" };
	size_t i;

	for (i = 0; i < sizeof(suites) / sizeof(*suites); i++) {
		suite = suites[i];
		shake_pair(BOTH, false);
		carry_both_ways();
		planes("ktls", "ktls");
		cr_assert_eq(fake_kernel.keys[0], 2);
		cr_assert_eq(fake_kernel.keys[1], 2);
		cr_assert_eq(fake_kernel.records[0], fake_kernel.records[1]);
		close_pair();
	}
	suite = NULL;
}

Test(ktls, is_understood_by_the_direct_plane)
{
	enum who who;

	for (who = CLIENT; who <= SERVER; who++) {
		shake_pair(who, false);
		carry_both_ways();
		carry_both_ways();
		planes(who == CLIENT ? "ktls" : "direct", who == SERVER ? "ktls" : "direct");
		close_pair();
	}
}

Test(ktls, a_suite_it_does_not_have_stays_direct)
{
	const char *ccm8 = "TLS_AES_128_CCM_8_SHA256";

	cr_assert(!ktls_knows(GNUTLS_CIPHER_AES_256_CCM) && ktls_knows(GNUTLS_CIPHER_AES_128_CCM));
	suite = ccm8;
	shake_pair(BOTH, false);
	carry_both_ways();
	cr_assert_str_neq(session_plane(pair.s[0]), "ktls");
	cr_assert_eq(fake_kernel.keys[0] + fake_kernel.keys[1], 0);
	close_pair();
	suite = NULL;
}

/* What is asked for and not to be had is the plane before it, without a word. */
Test(ktls, falls_back)
{
	static const struct {
		bool absent;
		int attach_error;
		size_t limit; /* of the client's, for records */
		int version;
		const char *plane; /* the server's */
	} cases[] = {
		{ true, 0, 0, 13, "direct" },
		{ false, ENOTCONN, 0, 13, "direct" },
		{ false, 0, 4096, 13, "direct" },
		{ false, 0, 0, 12, "direct" },
		{ false, 0, 0, 13, "ktls" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		max_version = cases[i].version;
		open_pair(SERVER, false);
		fake_kernel.absent = cases[i].absent;
		fake_kernel.attach_error = cases[i].attach_error;
		if (cases[i].limit)
			cr_assert_eq(gnutls_record_set_max_recv_size(pair.s[0]->gs, cases[i].limit), 0);
		cr_assert(pair_shake(&pair), "%s / %s", pair.err[0].msg, pair.err[1].msg);
		carry_both_ways();
		cr_assert_str_eq(session_plane(pair.s[1]), cases[i].plane, "case %zu: %s", i, session_plane(pair.s[1]));
		close_pair();
	}
	max_version = 13;
}

/* --- between two records ------------------------------------------------------------ */

/* Records that were read ahead with the end of the handshake are opened here, and
 * not a byte of the one behind them is read: the kernel goes on at that one. */
Test(ktls, takes_over_between_two_records)
{
	unsigned char last[2000];
	struct iovec iov[16];
	size_t total, got;
	long n;
	int r, runs;

	open_pair(SERVER, false);
	for (r = SOCK_BLOCKED; r;) {
		pair_poll(&pair);
		r = session_handshake(pair.s[0], &pair.err[0]);
		cr_assert(r != SOCK_FAILED, "%s", pair.err[0].msg);
		pair_poll(&pair);
		if (r)
			session_handshake(pair.s[1], &pair.err[1]);
	}
	/* behind the client's Finished: 10 records, of which 8 KiB are read with it */
	for (n = 0; n < 10; n++)
		pair_send(&pair, 0, sizeof(last), (size_t)n * sizeof(last));
	pair_poll(&pair);
	cr_assert_eq(session_handshake(pair.s[1], &pair.err[1]), 0, "%s", pair.err[1].msg);
	for (got = 0; got < 10 * sizeof(last); got += total) {
		cr_assert_gt(fill(1), 0, "%s", pair.err[1].msg);
		runs = session_peek(pair.s[1], iov, 16, &total);
		cr_assert_geq(runs, 1);
		session_consume(pair.s[1], total);
	}
	cr_assert_eq(got, 10 * sizeof(last));
	cr_assert_geq(fake_kernel.first_seq[1], 1);
	cr_assert_lt(fake_kernel.first_seq[1], 10);
	cr_assert_eq(fake_kernel.first_seq[1] + fake_kernel.records[1], 10);
	carry_both_ways();
	planes("direct", "ktls");
	close_pair();
}

Test(ktls, a_direction_that_is_refused_stays_ours)
{
	int read;

	for (read = 0; read < 2; read++) {
		open_pair(SERVER, false);
		fake_kernel.refuse[read] = EINVAL;
		cr_assert(pair_shake(&pair));
		carry_both_ways();
		carry_both_ways();
		planes("direct", "direct");
		cr_assert_eq(fake_kernel.keys[read], 0);
		cr_assert_eq(fake_kernel.keys[!read], 1);
		close_pair();
	}
}

Test(ktls, an_idle_session_holds_nothing)
{
	shake_pair(BOTH, false);
	carry_both_ways();
	cr_assert_eq(fill(0), SOCK_BLOCKED);
	cr_assert_eq(fill(1), SOCK_BLOCKED);
	cr_assert(!session_holds_memory(pair.s[0]) && !session_holds_memory(pair.s[1]));
	close_pair();
}

/* --- what is not application data ------------------------------------------------------ */

/* The same configurations again: the server's ticket key is of one. */
static void shake_again(void)
{
	pair_close(&pair);
	fake_kernel_remove();
	fake_kernel_install(false);
	pair = (struct pair){ .peer.tickets = tickets };
	pair_open(&pair, config[0], config[1]);
	cr_assert(pair_shake(&pair), "%s / %s", pair.err[0].msg, pair.err[1].msg);
}

Test(ktls, tickets_go_and_come_through_it)
{
	enum who who;
	struct session_info info;
	int i;

	for (who = CLIENT; who <= BOTH; who++) {
		tickets = tickets_new(4);
		shake_pair(who, false);
		for (i = 0; i < 3; i++) {
			session_info(pair.s[0], &info);
			cr_assert_eq(info.resumed, i > 0, "who %d, connection %d", (int)who, i);
			carry_both_ways();
			cr_assert_eq(fake_kernel.controls[0] > 0, (who & SERVER) != 0);
			cr_assert_eq(fake_kernel.controls[1] > 0, (who & CLIENT) != 0);
			shake_again();
		}
		close_pair();
		tickets_free(tickets);
		tickets = NULL;
	}
}

Test(ktls, close_notify_ends_one_direction)
{
	enum who who;

	for (who = CLIENT; who <= BOTH; who++) {
		shake_pair(who, false);
		carry_both_ways();
		cr_assert_eq(session_close_notify(pair.s[0], &pair.err[0]), 0);
		flush(0);
		cr_assert_eq(fill(1), 0);
		pair_carry(&pair, 1, 50000, 5000, 5000);
		cr_assert_eq(session_close_notify(pair.s[1], &pair.err[1]), 0);
		flush(1);
		cr_assert_eq(fill(0), 0);
		close_pair();
	}
}

Test(ktls, a_close_waits_until_it_is_in_tcps_hands)
{
	shake_pair(CLIENT, false);
	carry_both_ways();
	fake_kernel.full = true;
	cr_assert_eq(session_close_notify(pair.s[0], &pair.err[0]), 0);
	cr_assert_eq(session_flush(pair.s[0], &pair.err[0]), SOCK_BLOCKED);
	fake_kernel.full = false;
	flush(0);
	cr_assert_eq(fake_kernel.controls[0], 1);
	close_pair();
}

Test(ktls, an_alert_has_its_name)
{
	enum who who;

	for (who = CLIENT; who <= BOTH; who++) {
		shake_pair(who, false);
		carry_both_ways();
		session_abort(pair.s[0]);
		flush(0);
		cr_assert_eq(fill(1), SOCK_FAILED);
		cr_assert(strstr(pair.err[1].msg, "internal_error"), "%s", pair.err[1].msg);
		close_pair();
	}
}

Test(ktls, an_end_without_close_notify_is_a_truncation)
{
	static const char half[] = { 23, 3, 3, 1, 0, 'x' };
	int cut;

	for (cut = 0; cut < 2; cut++) {
		shake_pair(SERVER, false);
		carry_both_ways();
		if (cut)
			cr_assert_eq(send(pair.sock[0].fd, half, sizeof(half), 0), (ssize_t)sizeof(half));
		shutdown(pair.sock[0].fd, SHUT_WR);
		cr_assert_eq(fill(1), SOCK_FAILED);
		cr_assert_eq(pair.err[1].kind, cut ? ERR_IO : ERR_TRUNCATED, "%s", pair.err[1].msg);
		cr_assert(strstr(pair.err[1].msg, cut ? "inside a record" : "without close_notify"), "%s", pair.err[1].msg);
		close_pair();
	}
}

static void broken(const char *wire, size_t n, const char *said, const char *alert)
{
	shake_pair(SERVER, false);
	carry_both_ways();
	cr_assert_eq(send(pair.sock[0].fd, wire, n, 0), (ssize_t)n);
	cr_assert_eq(fill(1), SOCK_FAILED);
	cr_assert(strstr(pair.err[1].msg, said), "%s", pair.err[1].msg);
	flush(1);
	cr_assert_eq(fill(0), SOCK_FAILED);
	cr_assert(strstr(pair.err[0].msg, alert), "%s", pair.err[0].msg);
	close_pair();
}

Test(ktls, a_broken_record_is_named_and_answered)
{
	static char wire[100] = { 23, 3, 3, 0, 95 }, large[] = { 23, 3, 3, 127, 0 }, version[] = { 23, 2, 2, 0, 30 };

	broken(wire, sizeof(wire), "bad_record_mac", "bad_record_mac");
	broken(large, sizeof(large), "size limit", "record_overflow");
	broken(version, sizeof(version), "unexpected record", "unexpected_message");
}

/* --- keys ----------------------------------------------------------------------------- */

static void update(int side, bool ask)
{
	flush(side);
	cr_assert_eq(session_key_update(pair.s[side], ask), 0);
	flush(side);
}

Test(ktls, follows_a_key_update)
{
	enum who who;
	int side, ask, i;

	for (who = CLIENT; who <= BOTH; who++)
		for (side = 0; side < 2; side++)
			for (ask = 0; ask < 2; ask++) {
				shake_pair(who, true);
				carry_both_ways();
				for (i = 0; i < 3; i++) {
					update(side, ask);
					carry_both_ways();
					carry_both_ways();
				}
				planes(who & CLIENT ? "ktls" : "direct", who & SERVER ? "ktls" : "direct");
				cr_assert_geq(fake_kernel.keys[0] + fake_kernel.keys[1], 5);
				close_pair();
			}
}

/* Two that ask before our answer has left are answered by one. */
Test(ktls, one_answer_to_two_key_updates)
{
	unsigned before;

	shake_pair(SERVER, true);
	carry_both_ways();
	before = fake_kernel.controls[0];
	update(0, true);
	update(0, true);
	cr_assert_eq(fill(1), SOCK_BLOCKED, "%s", pair.err[1].msg);
	flush(1);
	cr_assert_eq(fake_kernel.controls[0], before + 1);
	carry_both_ways();
	close_pair();
}

Test(ktls, a_kernel_with_one_key_ends_at_a_key_update)
{
	int ask;

	for (ask = 0; ask < 2; ask++) {
		shake_pair(SERVER, false);
		carry_both_ways();
		update(0, ask);
		cr_assert_eq(fill(1), SOCK_FAILED);
		cr_assert_eq(pair.err[1].kind, ERR_RUNTIME);
		cr_assert(strstr(pair.err[1].msg, "KeyUpdate") && strstr(pair.err[1].msg, "direct"), "%s", pair.err[1].msg);
		flush(1);
		cr_assert_eq(fill(0), SOCK_FAILED);
		cr_assert(strstr(pair.err[0].msg, "internal_error"), "%s", pair.err[0].msg);
		close_pair();
	}
}

Test(ktls, a_worn_out_key_is_changed)
{
	unsigned before;

	shake_pair(SERVER, true);
	carry_both_ways();
	before = fake_kernel.keys[0];
	session_wear_out(pair.s[1]);
	carry_both_ways();
	carry_both_ways();
	cr_assert_eq(fake_kernel.keys[0], before + 1);
	close_pair();
}

Test(ktls, a_worn_out_key_that_cannot_be_changed_is_the_end)
{
	struct iovec iov[16];
	size_t total;

	suite = "TLS_AES_128_GCM_SHA256";
	shake_pair(SERVER, false);
	carry_both_ways();
	session_wear_out(pair.s[1]);
	cr_assert_geq(session_reserve(pair.s[1], iov, 16, &total), 1);
	memset(iov[0].iov_base, 'x', 100);
	cr_assert_eq(session_commit(pair.s[1], 100, false, &pair.err[1]), SOCK_FAILED);
	cr_assert(strstr(pair.err[1].msg, "KeyUpdate"), "%s", pair.err[1].msg);
	close_pair();
	suite = NULL;
}

/* --- for a relay -------------------------------------------------------------------------- */

Test(ktls, says_when_bytes_may_pass_it_by)
{
	struct err e;

	shake_pair(SERVER, false);
	cr_assert(!session_kernel_opens(pair.s[1]) && !session_kernel_seals(pair.s[1]));
	pair_send(&pair, 0, 100, 0);
	cr_assert_gt(fill(1), 0);
	cr_assert(!session_kernel_opens(pair.s[1]), "it holds some");
	session_consume(pair.s[1], 100);
	cr_assert(session_kernel_opens(pair.s[1]));
	cr_assert(!session_kernel_seals(pair.s[1]), "the tickets go first");
	pair_carry(&pair, 1, 100, 100, 100);
	cr_assert(session_kernel_seals(pair.s[1]));
	cr_assert_eq(session_kernel_sent(pair.s[1], &e), 0);
	cr_assert_eq(session_close_notify(pair.s[1], &e), 0);
	cr_assert(!session_kernel_seals(pair.s[1]));
	cr_assert(!session_kernel_opens(pair.s[0]) && !session_kernel_seals(pair.s[0]), "the direct plane never");
	close_pair();
}

/* The kernel tells an error once, and it may have told splice(2). */
Test(ktls, judges_what_passed_it_by)
{
	static const struct {
		int error;
		const char *said;
	} cases[] = {
		{ EBADMSG, "bad_record_mac" },
		{ EMSGSIZE, "size limit" },
		{ ECONNRESET, "Connection reset" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		shake_pair(SERVER, false);
		carry_both_ways();
		session_kernel_failed(pair.s[1], cases[i].error);
		cr_assert(!session_kernel_opens(pair.s[1]));
		cr_assert_eq(fill(1), SOCK_FAILED);
		cr_assert(strstr(pair.err[1].msg, cases[i].said), "%s", pair.err[1].msg);
		close_pair();
	}
}

Test(ktls, reads_and_throws_away_after_a_failure)
{
	long n, total = 0;

	shake_pair(SERVER, false);
	carry_both_ways();
	pair_send(&pair, 0, 30000, 0);
	session_abort(pair.s[1]);
	flush(1);
	pair.sock[1].readable = true;
	while ((n = session_discard(pair.s[1])) > 0)
		total += n;
	cr_assert_eq(n, SOCK_BLOCKED);
	cr_assert_eq(total, 30000);
	/* a broken record is the end of that, and no failure of the connection */
	cr_assert_eq(send(pair.sock[0].fd, "\x17\x03\x03\xff\xff", 5, 0), 5);
	pair.sock[1].readable = true;
	cr_assert_eq(session_discard(pair.s[1]), 0);
	cr_assert_eq(session_discard(pair.s[1]), 0);
	cr_assert_eq(pair.sock[1].error, 0);
	close_pair();
}
