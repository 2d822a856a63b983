/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* `tlskit connect` without --check: standard input and output on a TLS session. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/connect.h"
#include "cli/help.h"
#include "lib/probe/talk.h"

#define POOL_KEEP (4 * 1024 * 1024) /* bytes of unused buffers */

struct call {
	const struct connect_plan *p;
	struct loop *loop;
	struct buf_pool *pool;
	struct check *check;
	struct probe_conn *conn;
};

static void on_probed(void *arg, struct probe *p, struct check *c)
{
	struct call *call = arg;

	call->check = c;
	if (c->n_faults == 0)
		call->conn = probe_take(p);
	loop_stop(call->loop);
}

/* --- what is said of it ------------------------------------------------------------------ */

static void show_report(const struct check *c, const struct connect_options *o)
{
	struct check_style style = { .width = (int)help_width(STDERR_FILENO), .colour = connect_colour(STDERR_FILENO),
		.show_chain = o->show_chain };

	check_write_text(stderr, c, &style);
}

/* Every fault has its line, and what to do about it another. */
static int refused(const struct check *c)
{
	for (size_t i = 0; i < c->n_faults; i++) {
		connect_complain("%s", c->faults[i].message ? c->faults[i].message : "failed");
		if (c->faults[i].hint)
			fprintf(stderr, "  %s\n", c->faults[i].hint);
	}
	return check_exit_code(c);
}

/* A person is told that there is somebody to talk with; a script knows. */
static void greet(const struct check *c)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "Connected to %s by %s, %s%s%s%s%s.\n", c->target, c->version ? c->version : "TLS",
		c->ciphersuite ? c->ciphersuite : "an unknown suite", c->alpn ? ", ALPN " : "", c->alpn ? c->alpn : "",
		c->verified ? ", verified by " : ", NOT VERIFIED", c->verified && c->by ? c->by : "");
}

/* --- the talk ------------------------------------------------------------------------------- */

static int code_of(const struct call *call, const struct talk_result *r)
{
	bool forgiven = r->end == TALK_TRUNCATED && r->e.kind == ERR_TRUNCATED && call->p->o->allow_truncation;
	struct session_story s;

	session_story(call->conn->session, &s);
	if (r->end == TALK_ENDED || forgiven)
		return CHECK_OK;
	connect_complain("%s", r->e.msg);
	if (r->end == TALK_TRUNCATED) {
		if (!call->p->o->ignore_eof && r->e.kind == ERR_TRUNCATED)
			fprintf(stderr, "  if it left because our input had ended: --ignore-eof; if it never sends one: --allow-truncation\n");
		return CHECK_TRUNCATED;
	}
	if (s.alert_received)
		return probe_is_refusal(&s) ? CHECK_CLIENT_CERT : CHECK_HANDSHAKE;
	if (r->e.kind == ERR_HANDSHAKE) /* what came is no TLS any more */
		return CHECK_HANDSHAKE;
	return r->e.kind == ERR_IO ? CHECK_TRUNCATED : CHECK_FAILED;
}

static int converse(struct call *call, struct err *e)
{
	const struct connect_options *o = call->p->o;
	struct talk_options to = { .crlf = o->crlf, .ignore_eof = o->ignore_eof };
	struct talk_result r = { .end = TALK_FAILED };

	if (o->verbose)
		show_report(call->check, o);
	else
		greet(call->check);
	if (talk_run(call->loop, call->conn->session, &call->conn->sock, STDIN_FILENO, STDOUT_FILENO, &to, &r, e) < 0)
		return -1;
	return code_of(call, &r);
}

static int meet(struct call *call, struct err *e)
{
	const struct connect_plan *p = call->p;

	call->loop = loop_new(e);
	if (!call->loop)
		return -1;
	call->pool = buf_pool_new(POOL_KEEP);
	if (!call->pool)
		return err_set(e, ERR_RUNTIME, "no memory");
	if (!probe_start(call->loop, call->pool, &p->goal, p->texts[0], &p->addrs[0], NULL, 0, on_probed, call, e) ||
		loop_run(call->loop, e) < 0)
		return -1;
	if (p->o->save_chain && call->check->chain && connect_save_chain(call->check->chain, p->o->save_chain) < 0)
		return CHECK_FAILED;
	if (call->conn)
		return converse(call, e);
	if (p->o->verbose)
		show_report(call->check, p->o);
	return refused(call->check);
}

int connect_talk(const struct connect_plan *p)
{
	struct call call = { .p = p };
	struct err e = { 0 };
	int code = meet(&call, &e);

	if (code < 0) {
		connect_complain("%s", e.msg);
		code = err_exit_code(&e);
	}
	probe_conn_free(call.conn);
	check_free(call.check);
	buf_pool_free(call.pool);
	loop_free(call.loop);
	return code;
}
