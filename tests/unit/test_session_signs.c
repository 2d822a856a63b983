/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The stop of a server's handshake before it signs: once in a full one, never in one
 * that resumes, and not in one that wanted to and may not, which is told. */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "tests/unit/story_pair.h"

TestSuite(session_signs, .init = story_make, .fini = story_drop);

/* How often the server stopped, in a handshake that both finish. */
static unsigned stops(bool believe)
{
	struct pair *p = &story_pair;
	unsigned n = 0;
	int i, r, round;

	session_stop_to_sign(p->s[1], believe);
	for (round = 0; round < 100 && (p->done[0] != 1 || p->done[1] != 1); round++) {
		pair_poll(p);
		for (i = 0; i < 2; i++) {
			r = p->done[i] ? session_flush(p->s[i], &p->err[i]) : session_handshake(p->s[i], &p->err[i]);
			cr_assert_neq(r, SOCK_FAILED, "%d: %s", i, p->err[i].msg);
			if (!p->done[i] && r == SESSION_SIGNS)
				n++;
			else if (!p->done[i])
				p->done[i] = r == 0;
		}
	}
	cr_assert(p->done[0] == 1 && p->done[1] == 1);
	return n;
}

static unsigned stops_at_next(bool believe)
{
	pair_close(&story_pair);
	pair_open(&story_pair, story_client, story_server);
	return stops(believe);
}

static void check_resumed(bool wanted, bool resumed)
{
	struct session_info info;

	session_info(story_pair.s[1], &info);
	cr_assert_eq(info.resumed, resumed);
	cr_assert_eq(session_resumes_not(story_pair.s[1]), wanted && !resumed);
}

ParameterizedTestParameters(session_signs, full)
{
	static int versions[] = { 12, 13 };

	return cr_make_param_array(int, versions, 2);
}

ParameterizedTest(int *version, session_signs, full)
{
	story_open(*version);
	cr_assert_eq(stops(true), 1);
	check_resumed(false, false);
	pair_carry(&story_pair, 0, 1000, 100, 100);
	story_shut();
}

ParameterizedTestParameters(session_signs, resumed)
{
	static int versions[] = { 12, 13 };

	return cr_make_param_array(int, versions, 2);
}

ParameterizedTest(int *version, session_signs, resumed)
{
	struct tickets *t = tickets_new(4);

	story_configure(*version);
	story_connect_for_tickets(t);
	cr_assert_eq(stops_at_next(true), 0);
	check_resumed(true, true);
	pair_carry(&story_pair, 0, 1000, 100, 100);
	pair_carry(&story_pair, 1, 1000, 100, 100);
	cr_assert_eq(stops_at_next(false), 1, "not believed");
	check_resumed(false, true);
	story_shut();
	tickets_free(t);
}

ParameterizedTestParameters(session_signs, a_ticket_of_another_server)
{
	static int versions[] = { 12, 13 };

	return cr_make_param_array(int, versions, 2);
}

ParameterizedTest(int *version, session_signs, a_ticket_of_another_server)
{
	struct tickets *t = tickets_new(4);
	struct err e = { 0 };

	story_configure(*version);
	story_connect_for_tickets(t);
	pair_close(&story_pair);
	config_unref(story_server);
	story_server = config_new(&story_so, &e); /* has a ticket key of its own */
	cr_assert(story_server, "%s", e.msg);
	pair_open(&story_pair, story_client, story_server);
	cr_assert_eq(stops(true), 0);
	check_resumed(true, false);
	story_shut();
	tickets_free(t);
}

/* A ClientHello that comes in pieces, and an end in its place. */
Test(session_signs, odd_beginnings)
{
	struct pair *p = &story_pair;
	struct err e = { 0 };

	story_open(13);
	session_stop_to_sign(p->s[1], true);
	cr_assert_eq(session_handshake(p->s[1], &e), SOCK_BLOCKED);
	cr_assert_not(session_holds_memory(p->s[1]), "nobody waits with a buffer");
	cr_assert_eq(sock_write(&p->sock[0], "\x16\x03\x01\x01", 4), 4);
	pair_poll(p);
	cr_assert_eq(session_handshake(p->s[1], &e), SESSION_SIGNS);
	cr_assert_eq(session_handshake(p->s[1], &e), SOCK_BLOCKED);
	story_shut();
	story_open(13);
	session_stop_to_sign(p->s[1], true);
	sock_shutdown_write(&p->sock[0]);
	pair_poll(p);
	cr_assert_eq(session_handshake(p->s[1], &e), SOCK_FAILED);
	story_shut();
}
