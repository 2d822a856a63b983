/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Standard input and output joined to a TLS session: how that ends. */

#include <stdlib.h>

#include "tests/unit/net_util.h"
#include "tests/unit/pki.h"
#include "tests/unit/talk_rig.h"

TestSuite(probe_talk_end, .timeout = TEST_TIMEOUT);

static void hear_no_end_for_a_while(struct rig *r)
{
	rig_hear(r, 5, 0);
	usleep(100000);
	r->pair.sock[1].readable = true;
	if (session_fill(r->pair.s[1], &r->heard_err) == SOCK_BLOCKED)
		rig_say(r, "still here", 10);
	rig_end(r);
	rig_hear_end(r);
}

Test(probe_talk_end, an_end_of_input_that_is_ignored)
{
	struct rig r;

	RIG_EACH_WAY(r) {
		r.options.ignore_eof = true;
		rig_type(&r, "hello");
		r.serve = hear_no_end_for_a_while;
		rig_run(&r);
		rig_must_end(&r, TALK_ENDED, NULL);
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

Test(probe_talk_end, a_peer_that_ends_in_the_middle_of_the_input)
{
	struct rig r;
	int stay;

	for (stay = 0; stay < 2; stay++) {
		RIG_EACH_WAY(r) {
			r.typed_pattern = RIG_MUCH;
			r.stays = true;
			r.serve = stay ? end_and_stay : end_in_the_middle;
			rig_run(&r);
			rig_must_end(&r, TALK_ENDED, NULL);
			rig_must_read(&r, "enough", 6);
			rig_must_match(r.heard, r.heard_n, 1000000);
			cr_assert(r.result.sent_bytes >= 1000000 && r.result.sent_bytes < RIG_MUCH);
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
Test(probe_talk_end, a_peer_that_ends_while_a_terminal_stays_open)
{
	struct rig r;
	int master, slave;

	RIG_EACH_WAY(r) {
		master = posix_openpt(O_RDWR | O_NOCTTY);
		cr_assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
		slave = open(ptsname(master), O_RDWR | O_NOCTTY);
		cr_assert_geq(slave, 0);
		r.in_fd = slave;
		r.serve = say_bye;
		rig_run(&r);
		rig_must_end(&r, TALK_ENDED, NULL);
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

Test(probe_talk_end, an_end_without_close_notify)
{
	struct rig r;
	int inside;

	for (inside = 0; inside < 2; inside++) {
		RIG_EACH_WAY(r) {
			r.stays = true;
			r.pause_us = 2000; /* all of it is written first */
			r.serve = inside ? leave_inside_a_record : just_leave;
			rig_run(&r);
			rig_must_end(&r, TALK_TRUNCATED, "truncated");
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

Test(probe_talk_end, a_reset)
{
	struct rig r;

	RIG_EACH_WAY(r) {
		r.stays = true;
		r.typed_pattern = RIG_MUCH;
		r.serve = reset;
		rig_run(&r);
		rig_must_end(&r, TALK_FAILED, "reset");
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

Test(probe_talk_end, a_fatal_alert)
{
	struct rig r;

	RIG_EACH_WAY(r) {
		r.stays = true;
		r.serve = fail;
		rig_run(&r);
		rig_must_end(&r, TALK_FAILED, "internal_error");
		rig_must_read(&r, "before", 6);
		rig_close(&r);
	}
}

static void do_nothing(struct rig *r)
{
	(void)r;
}

/* In TLS 1.3 a client learns only now that its certificate was missed. */
Test(probe_talk_end, a_client_certificate_that_was_demanded)
{
	struct rig r = { .stays = true, .serve = do_nothing };
	struct session_story story;
	struct pki pki;

	pki_make(&pki);
	r.client_ca = pki_path(&pki, "ca.pem");
	rig_run(&r);
	rig_must_end(&r, TALK_FAILED, "certificate_required");
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
	rig_must_end(r, TALK_FAILED, "cannot write to standard output: ");
	rig_must_end(r, TALK_FAILED, why);
	cr_assert_eq(r->result.e.kind, ERR_RUNTIME);
	cr_assert(strstr(r->heard_err.msg, "internal_error"), "an alert, no close_notify: %s", r->heard_err.msg);
	rig_close(r);
}

Test(probe_talk_end, standard_output_that_nobody_reads)
{
	struct rig r;

	RIG_EACH_WAY(r) {
		r.goes = true;
		must_fail_to_write(&r, "Broken pipe");
	}
}

Test(probe_talk_end, standard_output_that_is_full)
{
	struct rig r = { .out_fd = open("/dev/full", O_WRONLY) };

	cr_assert_geq(r.out_fd, 0);
	must_fail_to_write(&r, "No space left");
	close(r.out_fd);
}

/* The end comes behind the data; that it could not be written counts. */
Test(probe_talk_end, standard_output_that_fails_at_the_end)
{
	struct rig r = { .goes = true, .stays = true, .serve = say_bye };

	rig_run(&r);
	rig_must_end(&r, TALK_FAILED, "cannot write to standard output: Broken pipe");
	rig_close(&r);

	r = (struct rig){ .goes = true, .stays = true, .serve = just_leave };
	rig_run(&r);
	rig_must_end(&r, TALK_FAILED, "cannot write to standard output: Broken pipe");
	rig_close(&r);
}

Test(probe_talk_end, a_loop_that_somebody_stops)
{
	struct rig r = { .stays = true, .serve = rig_hear_end };
	struct loop_timer *t;

	rig_open(&r);
	rig_shake(&r);
	t = loop_timer_new(r.loop, stop_loop, r.loop);
	loop_timer_set(t, 20);
	rig_talk(&r);
	rig_must_end(&r, TALK_FAILED, "stopped");
	cr_assert_eq(r.heard_end, SOCK_FAILED, "the peer must not take it for a clean end");
	loop_timer_free(t);
	rig_close(&r);
}
