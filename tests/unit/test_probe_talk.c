/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Standard input and output joined to a TLS session. */

#include <poll.h>
#include <stdlib.h>

#include "tests/unit/net_util.h"
#include "tests/unit/pki.h"
#include "tests/unit/talk_rig.h"

TestSuite(probe_talk, .timeout = TEST_TIMEOUT);

#define MUCH (5 * 1000 * 1000)

/* Each kind of session that has its own way with records. */
static const struct rig ways[] = {
	{ .version = 13, .plane = TLS_DATAPLANE_DIRECT },
	{ .version = 13, .plane = TLS_DATAPLANE_GNUTLS, .unix_socket = true },
	{ .version = 12, .plane = TLS_DATAPLANE_AUTO },
};

#define FOR_EACH_WAY(r) \
	for (size_t way_ = 0; way_ < sizeof(ways) / sizeof(*ways) && ((r) = ways[way_], true); way_++)

static void must_end(const struct rig *r, enum talk_end end, const char *why)
{
	cr_assert_eq(r->result.end, end, "%d: %s", r->result.end, r->result.e.msg);
	if (why)
		cr_assert(strstr(r->result.e.msg, why), "%s", r->result.e.msg);
	else
		cr_assert_eq(r->result.e.kind, ERR_NONE);
}

static void type_text(struct rig *r, const char *text)
{
	r->typed = text;
	r->typed_n = strlen(text);
}

/* --- what is carried ------------------------------------------------------------ */

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

	FOR_EACH_WAY(r) {
		type_text(&r, "question\n");
		r.serve = reply_late;
		rig_run(&r);
		must_end(&r, TALK_ENDED, NULL);
		cr_assert_eq(r.heard_end, 0, "the end of input is told: %s", r.heard_err.msg);
		rig_must_hear(&r, "question\n", 9);
		rig_must_read(&r, "late\n", 5);
		rig_close(&r);
	}
}

static void say_much(struct rig *r)
{
	rig_say_pattern(r, MUCH);
	rig_end(r);
	rig_hear_end(r);
}

static void must_have_read_much(struct rig *r)
{
	must_end(r, TALK_ENDED, NULL);
	rig_must_match(r->read, r->read_n, MUCH);
	cr_assert_eq(r->result.received_bytes, MUCH);
	cr_assert_eq(r->result.sent_bytes, 0);
	cr_assert_eq(r->heard_end, 0, "our own close_notify answers: %s", r->heard_err.msg);
}

Test(probe_talk, much_from_the_peer_while_nobody_types)
{
	struct rig r;

	FOR_EACH_WAY(r) {
		r.stays = true;
		r.serve = say_much;
		rig_run(&r);
		must_have_read_much(&r);
		rig_close(&r);
	}
}

Test(probe_talk, much_from_the_peer_to_a_slow_reader)
{
	struct rig r;

	FOR_EACH_WAY(r) {
		r.pause_us = 1000;
		r.stays = true;
		r.serve = say_much;
		rig_run(&r);
		must_have_read_much(&r);
		rig_close(&r);
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

	FOR_EACH_WAY(r) {
		r.typed_pattern = MUCH;
		r.serve = hear_much_slowly;
		rig_run(&r);
		must_end(&r, TALK_ENDED, NULL);
		cr_assert_eq(r.heard_end, 0, "%s", r.heard_err.msg);
		rig_must_match(r.heard, r.heard_n, MUCH);
		cr_assert_eq(r.result.sent_bytes, MUCH);
		rig_must_read(&r, "thanks", 6);
		rig_close(&r);
	}
}

/* Neither a command character nor a NUL: what comes is data. */
Test(probe_talk, every_line_is_data)
{
	static const char text[] = "R\nK\nQ\nr\nk\nq\n~.\n\0\0QUIT\r\n\x04\x1a\xff\0";
	struct rig r;

	FOR_EACH_WAY(r) {
		r.typed = text;
		r.typed_n = sizeof(text) - 1;
		r.serve = reply_late;
		rig_run(&r);
		must_end(&r, TALK_ENDED, NULL);
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
	must_end(&r, TALK_ENDED, NULL);
	rig_must_hear(&r, sent, sizeof(sent) - 1);
	rig_must_read(&r, sent, sizeof(sent) - 1);
	rig_close(&r);

	r = (struct rig){ .options.crlf = true, .serve = reply_late };
	rig_run(&r);
	rig_must_read(&r, "late\n", 5);
	rig_close(&r);
}

/* --- how it ends ----------------------------------------------------------------- */

static void hear_no_end_for_a_while(struct rig *r)
{
	struct pollfd p = { .fd = r->pair.sock[1].fd, .events = POLLIN };

	rig_hear(r, 5, 0);
	if (poll(&p, 1, 100) == 0)
		rig_say(r, "still here", 10);
	rig_end(r);
	rig_hear_end(r);
}

Test(probe_talk, an_end_of_input_that_is_ignored)
{
	struct rig r;

	FOR_EACH_WAY(r) {
		r.options.ignore_eof = true;
		type_text(&r, "hello");
		r.serve = hear_no_end_for_a_while;
		rig_run(&r);
		must_end(&r, TALK_ENDED, NULL);
		rig_must_hear(&r, "hello", 5);
		rig_must_read(&r, "still here", 10);
		cr_assert_eq(r.heard_end, 0, "close_notify in answer to the peer's alone: %s", r.heard_err.msg);
		rig_close(&r);
	}
}

static void hang_up(struct rig *r, bool reset)
{
	session_free(r->pair.s[1]);
	r->pair.s[1] = NULL;
	sock_close(&r->pair.sock[1], reset);
}

/* With much of what was typed unread, so that closing resets the connection. */
static void end_in_the_middle(struct rig *r)
{
	rig_hear(r, 1000000, 500);
	rig_say(r, "enough", 6);
	rig_end(r);
	hang_up(r, false);
}

/* And one that keeps the connection, but reads no more. */
static void end_and_stay(struct rig *r)
{
	rig_hear(r, 1000000, 500);
	rig_say(r, "enough", 6);
	rig_end(r);
}

Test(probe_talk, a_peer_that_ends_in_the_middle_of_the_input)
{
	struct rig r;
	int stay;

	for (stay = 0; stay < 2; stay++) {
		FOR_EACH_WAY(r) {
			r.typed_pattern = MUCH;
			r.stays = true;
			r.serve = stay ? end_and_stay : end_in_the_middle;
			rig_run(&r);
			must_end(&r, TALK_ENDED, NULL);
			rig_must_read(&r, "enough", 6);
			rig_must_match(r.heard, r.heard_n, 1000000);
			cr_assert(r.result.sent_bytes >= 1000000 && r.result.sent_bytes < MUCH);
			rig_close(&r);
		}
	}
}

static void say_bye(struct rig *r)
{
	rig_say(r, "bye\n", 4);
	rig_end(r);
	rig_hear_end(r);
}

/* The thread that reads it stays in read(2). */
Test(probe_talk, a_peer_that_ends_while_a_terminal_stays_open)
{
	struct rig r;
	int master, slave;

	FOR_EACH_WAY(r) {
		master = posix_openpt(O_RDWR | O_NOCTTY);
		cr_assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
		slave = open(ptsname(master), O_RDWR | O_NOCTTY);
		cr_assert_geq(slave, 0);
		r.in_fd = slave;
		r.serve = say_bye;
		rig_run(&r);
		must_end(&r, TALK_ENDED, NULL);
		rig_must_read(&r, "bye\n", 4);
		cr_assert_eq(r.heard_end, 0, "%s", r.heard_err.msg);
		cr_assert_eq(r.result.sent_bytes, 0);
		rig_close(&r);
		close(master);
		close(slave);
	}
}

static void just_leave(struct rig *r)
{
	rig_say_pattern(r, 100000);
	sock_shutdown_write(&r->pair.sock[1]);
}

static void leave_inside_a_record(struct rig *r)
{
	rig_say_pattern(r, 100000);
	sock_write(&r->pair.sock[1], "\x17\x03\x03\x01\x00only", 9);
	sock_shutdown_write(&r->pair.sock[1]);
}

Test(probe_talk, an_end_without_close_notify)
{
	struct rig r;
	int inside;

	for (inside = 0; inside < 2; inside++) {
		FOR_EACH_WAY(r) {
			r.stays = true;
			r.pause_us = 2000; /* all of it is written first */
			r.serve = inside ? leave_inside_a_record : just_leave;
			rig_run(&r);
			must_end(&r, TALK_TRUNCATED, "truncated");
			cr_assert_eq(r.result.e.kind, inside ? ERR_IO : ERR_TRUNCATED);
			rig_must_match(r.read, r.read_n, 100000);
			cr_assert_eq(r.result.received_bytes, 100000);
			rig_close(&r);
		}
	}
}

static void reset(struct rig *r)
{
	rig_hear(r, 1, 0); /* what is unread resets a unix socket too */
	rig_say(r, "before", 6);
	rig_await_read(r, 6);
	hang_up(r, true);
}

Test(probe_talk, a_reset)
{
	struct rig r;

	FOR_EACH_WAY(r) {
		r.stays = true;
		r.typed_pattern = MUCH;
		r.serve = reset;
		rig_run(&r);
		must_end(&r, TALK_FAILED, "reset");
		cr_assert_eq(r.result.e.kind, ERR_IO);
		rig_must_read(&r, "before", 6);
		rig_close(&r);
	}
}

static void fail(struct rig *r)
{
	rig_say(r, "before", 6);
	session_abort(r->pair.s[1]);
	session_flush(r->pair.s[1], &r->pair.err[1]);
}

Test(probe_talk, a_fatal_alert)
{
	struct rig r;

	FOR_EACH_WAY(r) {
		r.stays = true;
		r.serve = fail;
		rig_run(&r);
		must_end(&r, TALK_FAILED, "internal_error");
		rig_must_read(&r, "before", 6);
		rig_close(&r);
	}
}

static void do_nothing(struct rig *r)
{
	(void)r;
}

/* In TLS 1.3 a client learns only now that its certificate was missed. */
Test(probe_talk, a_client_certificate_that_was_demanded)
{
	struct rig r = { .stays = true, .serve = do_nothing };
	struct session_story story;
	struct pki pki;

	pki_make(&pki);
	r.client_ca = pki_path(&pki, "ca.pem");
	rig_run(&r);
	must_end(&r, TALK_FAILED, "certificate_required");
	session_story(r.pair.s[0], &story);
	cr_assert(story.alert_received);
	cr_assert_str_eq(story.alert_name, "certificate_required");
	rig_close(&r);
	pki_free(&pki);
}

static void say_one_thing(struct rig *r)
{
	rig_say(r, "x", 1);
	rig_hear_end(r);
}

/* The peer says no more and does not end, nor does who types. */
static void must_fail_to_write(struct rig *r, const char *why)
{
	r->stays = true;
	r->serve = say_one_thing;
	rig_run(r);
	must_end(r, TALK_FAILED, "cannot write to standard output: ");
	must_end(r, TALK_FAILED, why);
	cr_assert_eq(r->result.e.kind, ERR_IO);
	cr_assert(strstr(r->heard_err.msg, "internal_error"), "an alert, no close_notify: %s", r->heard_err.msg);
	rig_close(r);
}

Test(probe_talk, standard_output_that_nobody_reads)
{
	struct rig r;

	FOR_EACH_WAY(r) {
		r.goes = true;
		must_fail_to_write(&r, "Broken pipe");
	}
}

Test(probe_talk, standard_output_that_is_full)
{
	struct rig r = { .out_fd = open("/dev/full", O_WRONLY) };

	cr_assert_geq(r.out_fd, 0);
	must_fail_to_write(&r, "No space left");
	close(r.out_fd);
}

/* The end comes behind the data; that it could not be written counts. */
Test(probe_talk, standard_output_that_fails_at_the_end)
{
	struct rig r = { .goes = true, .stays = true, .serve = say_bye };

	rig_run(&r);
	must_end(&r, TALK_FAILED, "cannot write to standard output: Broken pipe");
	rig_close(&r);

	r = (struct rig){ .goes = true, .stays = true, .serve = just_leave };
	rig_run(&r);
	must_end(&r, TALK_FAILED, "cannot write to standard output: Broken pipe");
	rig_close(&r);
}

Test(probe_talk, a_loop_that_somebody_stops)
{
	struct rig r = { .stays = true, .serve = rig_hear_end };
	struct loop_timer *t;

	rig_open(&r);
	rig_shake(&r);
	t = loop_timer_new(r.loop, stop_loop, r.loop);
	loop_timer_set(t, 20);
	rig_talk(&r);
	must_end(&r, TALK_FAILED, "stopped");
	cr_assert_eq(r.heard_end, SOCK_FAILED, "the peer must not take it for a clean end");
	loop_timer_free(t);
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
	must_end(&r, TALK_ENDED, NULL);
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
	must_end(&r, TALK_ENDED, NULL);
	rig_must_read(&r, "hello", 5);
	loop_watch_free(w);
	rig_close(&r);
}
