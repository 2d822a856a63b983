/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Who may judge a server in the configuration's place, and early data. */

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/story_pair.h"
#include "tests/unit/timeout.h"

TestSuite(tls_judge, .init = story_make, .fini = story_drop, .timeout = TEST_TIMEOUT);

/* --- the judge ------------------------------------------------------------------------------------- */

struct trial {
	int called, alert; /* alert: what it says; 0: welcome */
	size_t n_chain;
	bool sent; /* our certificate, by then */
};

static int judge(void *arg, struct session *s, struct err *e)
{
	struct trial *t = arg;
	struct session_story now;

	cr_assert_eq(s, story_pair.s[0]);
	t->called++;
	session_chain(s, &t->n_chain);
	session_story(s, &now);
	t->sent = now.certificate_sent;
	if (t->alert)
		err_set(e, ERR_AUTH, "I do not like it");
	return t->alert;
}

static struct trial trial;

static void use_judge(int alert)
{
	trial = (struct trial){ .alert = alert };
	story_pair.peer.judge = judge;
	story_pair.peer.arg = &trial;
}

/* In the configuration's place, which would refuse it. */
Test(tls_judge, judge_lets_pass)
{
	for (int version = 12; version <= 13; version++) {
		story_pair.peer.name = "other.example";
		use_judge(0);
		story_open(version);
		story_shake();
		cr_assert_eq(trial.called, 1, "once a handshake");
		cr_assert_eq(trial.n_chain, 1);
		pair_carry(&story_pair, 0, 1000, 1000, 1000);
		story_shut();
	}
}

/* Each alert goes out as it is said, and our certificate does not. */
Test(tls_judge, judge_refuses)
{
	static const int alerts[] = { GNUTLS_A_BAD_CERTIFICATE, GNUTLS_A_CERTIFICATE_REVOKED, GNUTLS_A_CERTIFICATE_EXPIRED,
		GNUTLS_A_CERTIFICATE_UNKNOWN, GNUTLS_A_UNKNOWN_CA, GNUTLS_A_ACCESS_DENIED };
	const size_t n = sizeof(alerts) / sizeof(*alerts);
	struct session_certificate shown;

	story_so.client_ca = story_path(5, "ca.pem");
	story_co.certs = (struct names_list){ &story_app[0], 1 };
	story_co.keys = (struct names_list){ &story_app[1], 1 };
	for (size_t i = 0; i < 2 * n; i++) {
		use_judge(alerts[i % n]);
		story_open(i < n ? 13 : 12);
		cr_assert_not(pair_shake(&story_pair));
		cr_assert_eq(trial.called, 1);
		cr_assert_not(trial.sent);
		cr_assert_eq(story_pair.done[0], SOCK_FAILED);
		cr_assert_eq(story_pair.err[0].kind, ERR_AUTH);
		cr_assert_str_eq(story_pair.err[0].msg, "I do not like it");
		cr_assert(story_of(0).alert == alerts[i % n] && !story_of(0).alert_received);
		cr_assert_not(story_of(0).certificate_sent);
		cr_assert(story_of(1).alert == alerts[i % n] && story_of(1).alert_received, "%zu: %d", i, story_of(1).alert);
		cr_assert_eq(session_certificate(story_pair.s[1], &shown), -1);
		story_shut();
	}
}

/* It may take its time: nothing of ours goes out meanwhile, and then it has its say. */
Test(tls_judge, judge_wants_time)
{
	static const int says[] = { 0, GNUTLS_A_CERTIFICATE_REVOKED };
	struct session_certificate shown;

	story_so.client_ca = story_path(5, "ca.pem");
	story_co.certs = (struct names_list){ &story_app[0], 1 };
	story_co.keys = (struct names_list){ &story_app[1], 1 };
	for (int i = 0; i < 4; i++) {
		use_judge(SESSION_JUDGE_LATER);
		story_open(12 + i / 2);
		cr_assert_not(pair_shake(&story_pair));
		cr_assert(story_pair.done[0] == 0 && story_pair.done[1] == 0);
		cr_assert_gt(trial.called, 1, "each call asks again");
		cr_assert_not(trial.sent);
		cr_assert_eq(session_certificate(story_pair.s[1], &shown), -1);
		trial.alert = says[i % 2];
		cr_assert_eq(pair_shake(&story_pair), says[i % 2] == 0);
		cr_assert_eq(session_certificate(story_pair.s[1], &shown), says[i % 2] ? -1 : 0);
		if (says[i % 2])
			cr_assert_eq(story_of(1).alert, says[i % 2]);
		else
			pair_carry(&story_pair, 0, 1000, 1000, 1000);
		story_shut();
	}
}

Test(tls_judge, judge_is_not_asked_of_a_session_that_is_resumed)
{
	struct tickets *t;
	struct session_info info;

	for (int version = 12; version <= 13; version++) {
		t = tickets_new(4);
		use_judge(0);
		story_configure(version);
		story_connect_for_tickets(t);
		cr_assert_eq(trial.called, 1);
		pair_close(&story_pair);
		use_judge(GNUTLS_A_ACCESS_DENIED);
		story_connect_for_tickets(t);
		session_info(story_pair.s[0], &info);
		cr_assert(info.resumed);
		cr_assert_eq(trial.called, 0);
		tickets_free(t);
		story_shut();
	}
}

Test(tls_judge, judge_is_not_asked_of_a_pre_shared_key)
{
	static const char line[] = "one:00112233445566778899aabbccddeeff\n";
	static char file[100];
	struct session_info info;

	pki_write(&story_pki, "psk", line, sizeof(line) - 1);
	snprintf(file, sizeof(file), "%s", pki_path(&story_pki, "psk"));
	story_so = pair_options(TLS_SERVER);
	story_so.psk_file = story_co.psk_file = file;
	story_co.ca = NULL;
	use_judge(GNUTLS_A_ACCESS_DENIED);
	story_open(13);
	story_shake();
	session_info(story_pair.s[0], &info);
	cr_assert(info.by_psk);
	cr_assert_eq(trial.called, 0);
}

/* --- early data ---------------------------------------------------------------------------------------- */

#define EARLY_MAX 100

static int remember(void *arg, time_t expires, const gnutls_datum_t *key, const gnutls_datum_t *data)
{
	(void)arg, (void)expires, (void)key, (void)data;
	return 0;
}

static gnutls_anti_replay_t anti_replay;

/* A session of ours does not take any, so what GnuTLS has is switched on beneath it. */
static void take_early(void)
{
	gnutls_anti_replay_enable(story_pair.s[1]->gs, anti_replay);
	cr_assert_eq(gnutls_record_set_max_early_data_size(story_pair.s[1]->gs, EARLY_MAX), 0);
}

static void early_connection(struct tickets *t, bool takes, const void *data, size_t n)
{
	story_server->init_flags = takes ? story_server->init_flags | GNUTLS_ENABLE_EARLY_DATA
				   : story_server->init_flags & ~(unsigned)GNUTLS_ENABLE_EARLY_DATA;
	story_pair.peer.tickets = t;
	story_pair.peer.early = data;
	story_pair.peer.early_size = n;
	pair_open(&story_pair, story_client, story_server);
	if (takes)
		take_early();
	story_shake();
	pair_carry(&story_pair, 0, 40000, 10000, 10000);
	pair_carry(&story_pair, 1, 40000, 10000, 10000); /* tickets ride here */
}

static char sent[EARLY_MAX + 1];

/* A first connection, and a second one with n bytes. Returns how many the server got. */
static size_t send_early(bool first_takes, bool second_takes, size_t n)
{
	struct tickets *t = tickets_new(4);
	char got[2 * EARLY_MAX];
	ssize_t r;

	memset(sent, 'e', sizeof(sent));
	gnutls_anti_replay_init(&anti_replay);
	gnutls_anti_replay_set_add_function(anti_replay, remember);
	story_configure(13);
	early_connection(t, first_takes, sent, n);
	cr_assert(!story_of(0).early_sent && !story_of(0).early_accepted, "without a ticket");
	pair_close(&story_pair);
	early_connection(t, second_takes, sent, n);
	cr_assert(gnutls_session_is_resumed(story_pair.s[0]->gs));
	r = gnutls_record_recv_early_data(story_pair.s[1]->gs, got, sizeof(got));
	tickets_free(t);
	cr_assert(r <= 0 || memcmp(got, sent, (size_t)r) == 0);
	return r > 0 ? (size_t)r : 0;
}

static void end_early(void)
{
	story_shut();
	gnutls_anti_replay_deinit(anti_replay);
}

Test(tls_judge, early_data)
{
	cr_assert_eq(send_early(true, true, EARLY_MAX), EARLY_MAX);
	cr_assert(story_of(0).early_sent && story_of(0).early_accepted);
	end_early();
}

/* It still allowed it when it gave the ticket. */
Test(tls_judge, early_data_rejected)
{
	cr_assert_eq(send_early(true, false, 10), 0);
	cr_assert(story_of(0).early_sent && !story_of(0).early_accepted);
	end_early();
}

Test(tls_judge, early_data_not_allowed)
{
	cr_assert_eq(send_early(false, true, 10), 0);
	cr_assert(!story_of(0).early_sent && !story_of(0).early_accepted);
	end_early();
}

Test(tls_judge, more_early_data_than_allowed)
{
	cr_assert_eq(send_early(true, true, EARLY_MAX + 1), 0);
	cr_assert(!story_of(0).early_sent && !story_of(0).early_accepted);
	end_early();
}
