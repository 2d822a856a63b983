/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Standard input and output joined to a TLS session: what is carried. */

#include "tests/unit/net_util.h"
#include "tests/unit/talk_rig.h"

TestSuite(probe_talk, .timeout = TEST_TIMEOUT);

static void reply_late(struct rig *r)
{
	rig_hear_end(r);
	usleep(200000);
	rig_say(r, "late\n", 5);
	rig_end(r);
}

Test(probe_talk, a_reply_long_after_the_end_of_input)
{
	struct rig r;

	RIG_EACH_WAY(r) {
		rig_type(&r, "question\n");
		r.serve = reply_late;
		rig_run(&r);
		rig_must_end(&r, TALK_ENDED, NULL);
		cr_assert_eq(r.heard_end, 0, "the end of input is told: %s", r.heard_err.msg);
		rig_must_hear(&r, "question\n", 9);
		rig_must_read(&r, "late\n", 5);
		rig_close(&r);
	}
}

static void say_much(struct rig *r)
{
	rig_say_pattern(r, RIG_MUCH);
	rig_end(r);
	rig_hear_end(r);
}

/* Nobody types; who reads is fast, or slow. */
Test(probe_talk, much_from_the_peer)
{
	struct rig r;
	int slow;

	for (slow = 0; slow < 2; slow++) {
		RIG_EACH_WAY(r) {
			r.pause_us = slow ? 1000 : 0;
			r.stays = true;
			r.serve = say_much;
			rig_run(&r);
			rig_must_end(&r, TALK_ENDED, NULL);
			rig_must_match(r.read, r.read_n, RIG_MUCH);
			cr_assert(r.result.received_bytes == RIG_MUCH && r.result.sent_bytes == 0);
			cr_assert_eq(r.heard_end, 0, "our own close_notify answers: %s", r.heard_err.msg);
			rig_close(&r);
		}
	}
}

static void hear_much_slowly(struct rig *r)
{
	rig_hear(r, RIG_MOST, 500);
	rig_say(r, "thanks", 6);
	rig_end(r);
}

Test(probe_talk, much_to_a_slow_peer)
{
	struct rig r;

	RIG_EACH_WAY(r) {
		r.typed_pattern = RIG_MUCH;
		r.serve = hear_much_slowly;
		rig_run(&r);
		rig_must_end(&r, TALK_ENDED, NULL);
		cr_assert_eq(r.heard_end, 0, "%s", r.heard_err.msg);
		rig_must_match(r.heard, r.heard_n, RIG_MUCH);
		cr_assert_eq(r.result.sent_bytes, RIG_MUCH);
		rig_must_read(&r, "thanks", 6);
		rig_close(&r);
	}
}

/* Neither a command character nor a NUL: what comes is data. */
Test(probe_talk, every_line_is_data)
{
	static const char text[] = "R\nK\nQ\nr\nk\nq\n~.\n\0\0QUIT\r\n\x04\x1a\xff\0";
	struct rig r;

	RIG_EACH_WAY(r) {
		r.typed = text;
		r.typed_n = sizeof(text) - 1;
		r.serve = reply_late;
		rig_run(&r);
		rig_must_end(&r, TALK_ENDED, NULL);
		rig_must_hear(&r, text, sizeof(text) - 1);
		rig_close(&r);
	}
}

static void echo_all(struct rig *r)
{
	rig_hear_end(r);
	rig_say(r, r->heard, r->heard_n);
	rig_end(r);
}

/* On the way out alone. */
Test(probe_talk, lines_that_end_in_cr_lf)
{
	static const char text[] = "a\nb\n\0c\r\nd\n", sent[] = "a\r\nb\r\n\0c\r\nd\r\n";
	struct rig r = { .options.crlf = true, .typed = text, .typed_n = sizeof(text) - 1, .serve = echo_all };

	rig_run(&r);
	rig_must_end(&r, TALK_ENDED, NULL);
	rig_must_hear(&r, sent, sizeof(sent) - 1);
	rig_must_read(&r, sent, sizeof(sent) - 1);
	rig_close(&r);

	r = (struct rig){ .options.crlf = true, .serve = reply_late };
	rig_run(&r);
	rig_must_read(&r, "late\n", 5);
	rig_close(&r);
}

/* --- how it begins ----------------------------------------------------------------- */

static void wait_until_it_came_out(struct rig *r)
{
	rig_await_read(r, 5);
	rig_end(r);
	rig_hear_end(r);
}

/* In TLS 1.2 the server's Finished comes last, and here the data along with it. */
Test(probe_talk, data_that_came_with_the_last_flight)
{
	struct rig r = { .version = 12, .stays = true, .serve = wait_until_it_came_out };
	struct pair *p = &r.pair;
	struct err e;
	int i;

	rig_open(&r);
	for (i = 0; i < 100 && p->done[1] != 1; i++) {
		pair_poll(p);
		cr_assert_eq(session_handshake(p->s[0], &e), SOCK_BLOCKED);
		p->done[1] = session_handshake(p->s[1], &e) == 0;
	}
	cr_assert_eq(p->done[1], 1);
	rig_say(&r, "hello", 5);
	for (i = 0; i < 100 && p->done[0] != 1; i++) {
		pair_poll(p);
		p->done[0] = session_handshake(p->s[0], &e) == 0;
	}
	cr_assert_eq(recv(p->sock[0].fd, &i, 1, MSG_PEEK | MSG_DONTWAIT), -1, "the session has taken it");
	p->sock[0].readable = false;
	rig_talk(&r);
	rig_must_end(&r, TALK_ENDED, NULL);
	rig_must_read(&r, "hello", 5);
	rig_close(&r);
}

static void note_nothing(void *arg, unsigned ready)
{
	(void)arg;
	(void)ready;
}

/* The edge that told of the data was another watch's, which is still there: there is
 * no second one. */
Test(probe_talk, data_that_another_watch_was_told_of)
{
	struct rig r = { .stays = true, .serve = wait_until_it_came_out };
	struct loop_watch *w;
	struct err e;

	rig_open(&r);
	rig_shake(&r);
	w = loop_watch_new(r.loop, r.pair.sock[0].fd, note_nothing, NULL, &e);
	cr_assert(w, "%s", e.msg);
	rig_say(&r, "hello", 5);
	run_for(r.loop, 20);
	r.pair.sock[0].readable = r.pair.sock[0].writable = false;
	rig_talk(&r);
	rig_must_end(&r, TALK_ENDED, NULL);
	rig_must_read(&r, "hello", 5);
	loop_watch_free(w);
	rig_close(&r);
}
