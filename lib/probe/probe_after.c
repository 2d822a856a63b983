/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What still comes after the handshake: refusals, tickets, the end. */

#include <string.h>

#include "lib/probe/probe_int.h"

#define LINGER_MS  1000 /* for what a server says after the handshake: a refusal, tickets */
#define MORE_MS    50 /* for another ticket behind the first */
#define LINGER_MAX (256 * 1024) /* bytes of data: one that talks so much has accepted us */

static bool is_13(const struct probe *p)
{
	return p->check->version && strcmp(p->check->version, "TLS1.3") == 0;
}

static bool wants_tickets(const struct probe *p)
{
	return p->goal->resume && !p->second;
}

/* In TLS 1.3 a server judges the client's certificate, and hands out its tickets, after
 * the client's handshake is over. */
static bool has_to_linger(const struct probe *p)
{
	bool for_certificate = p->check->client_cert_requested == CHECK_YES && !p->goal->keep;

	return is_13(p) && (for_certificate || wants_tickets(p));
}

static void settled(struct probe *p)
{
	struct session_story s;

	if (!p->second) {
		session_story(p->conn->session, &s);
		p->check->tickets = (int)s.tickets;
		p->check->ticket_lifetime_s = (long)s.ticket_lifetime_s;
	}
	if (wants_tickets(p) && !p->check->n_faults)
		probe_begin_second(p);
	else
		probe_conclude(p);
}

static void accepted(struct probe *p)
{
	if (p->check->client_cert_sent == CHECK_YES)
		p->check->client_cert_accepted = CHECK_YES;
	settled(p);
}

/* The server's last word: 0 is close_notify. */
static void last_word(struct probe *p, long n, const struct err *e)
{
	struct session_story s;

	session_story(p->conn->session, &s);
	if (s.alert_received) {
		probe_note_failure(p, e);
		probe_conclude(p);
		return;
	}
	if (n == 0 || e->kind == ERR_TRUNCATED)
		p->check->close_notify = n == 0 ? CHECK_YES : CHECK_NO;
	if (n == 0 || e->kind == ERR_TRUNCATED) {
		accepted(p);
	} else {
		check_warn(p->check, "after the handshake: %s", e->msg);
		settled(p);
	}
}

/* Whether nothing is waited for any more. Any word means that the server stays with us;
 * tickets come together, so of those a short time more is waited for. */
static bool heard_enough(struct probe *p)
{
	struct session_story s;

	session_story(p->conn->session, &s);
	if (!wants_tickets(p))
		return s.tickets || p->heard;
	if (s.tickets > p->seen)
		loop_timer_set(p->linger, MORE_MS);
	p->seen = s.tickets;
	return p->heard > LINGER_MAX;
}

void probe_linger(struct probe *p)
{
	struct err e = { 0 };
	long n;

	while ((n = session_fill(p->conn->session, &e)) > 0 && p->heard <= LINGER_MAX) {
		session_consume(p->conn->session, (size_t)n);
		p->heard += (size_t)n;
	}
	if (n == 0 || n == SOCK_FAILED)
		last_word(p, n, &e);
	else if (heard_enough(p))
		accepted(p);
}

void probe_on_linger(void *arg)
{
	struct probe *p = arg;

	if (p->seen)
		accepted(p);
	else
		settled(p);
}

static void say_goodbye(struct probe *p)
{
	struct err ignored;

	if (session_close_notify(p->conn->session, &ignored) == 0)
		session_flush(p->conn->session, &ignored);
}

void probe_shaken(struct probe *p)
{
	if (p->second)
		probe_note_resumption(p);
	else
		probe_note_session(p);
	if (!has_to_linger(p) && !wants_tickets(p)) {
		if (!p->goal->keep)
			say_goodbye(p);
		probe_conclude(p);
		return;
	}
	say_goodbye(p);
	p->lingering = true;
	p->heard = p->seen = 0;
	if (!has_to_linger(p)) {
		settled(p);
		return;
	}
	loop_timer_set(p->linger, LINGER_MS);
	probe_linger(p);
}
