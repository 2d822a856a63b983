/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_LINE_RUN_H
#define TLSKIT_TESTS_LINE_RUN_H

#include <math.h>
#include <stdio.h>

#include "lib/probe/line.h"
#include "tests/unit/net_util.h"
#include "tests/unit/peer.h"

/* One line at a time, and what came of it. */

struct outcome {
	struct loop *loop;
	struct line *line;
	struct line_options o;
	struct addr target, resolve;
	struct proxy proxy;
	bool frees; /* in its callback */
	int called, fd;
	struct err err;
	struct line_story story; /* at the end */
	char step[512];
};

static inline void note(void *arg, int fd, const struct err *e)
{
	struct outcome *o = arg;

	o->called++;
	o->fd = fd;
	cr_assert_eq(fd < 0, e != NULL);
	if (e)
		o->err = *e;
	line_story(o->line, &o->story);
	o->story.step = NULL;
	if (o->frees)
		line_free(o->line);
	loop_stop(o->loop);
}

static inline void parse(struct addr *a, const char *text)
{
	struct err e;

	cr_assert_eq(addr_parse(a, text, ADDR_CONNECT, &e), 0, "%s", e.msg);
}

static inline void use_proxy(struct outcome *o, const char *scheme, const struct peer *p)
{
	char url[128];
	struct err e;

	snprintf(url, sizeof(url), "%s://127.0.0.1:%u", scheme, p->port);
	cr_assert_eq(proxy_parse(url, &o->proxy, &e), 0, "%s", e.msg);
	o->o.proxy = &o->proxy;
}

static inline void start(struct outcome *o, const char *target)
{
	struct err e;

	o->loop = must_loop();
	o->fd = -1;
	parse(&o->target, target);
	o->line = line_start(o->loop, &o->target, &o->o, note, o, &e);
	cr_assert_not_null(o->line, "%s", e.msg);
	cr_assert_eq(o->called, 0, "not from inside");
}

static inline void end(struct outcome *o)
{
	if (!o->frees)
		line_free(o->line);
	if (o->fd >= 0)
		close(o->fd);
	run_for(o->loop, 1); /* nothing of it is left there */
	cr_assert_eq(o->called, 1);
	loop_free(o->loop);
}

static inline void run(struct outcome *o, const char *target)
{
	start(o, target);
	must_run(o->loop);
	cr_assert_eq(o->called, 1);
}

/* The story so far, once the loop has gone on for a while and nothing ended. */
static inline struct line_story pending(struct outcome *o, const char *target, uint64_t ms)
{
	struct line_story s;

	start(o, target);
	run_for(o->loop, ms);
	cr_assert_eq(o->called, 0, "%s", o->err.msg);
	line_story(o->line, &s);
	if (s.step)
		snprintf(o->step, sizeof(o->step), "%s", s.step);
	return s;
}

static inline void drop(struct outcome *o)
{
	line_free(o->line);
	run_for(o->loop, 1);
	cr_assert_eq(o->called, 0);
	loop_free(o->loop);
}

static inline void must_fail(const struct outcome *o, enum check_stage stage, enum err_kind kind, const char *part)
{
	cr_assert_eq(o->fd, -1);
	cr_expect_eq(o->story.stage, stage, "%s: %s", check_stage_name(o->story.stage), o->err.msg);
	cr_expect_eq(o->err.kind, kind, "%s: %s", err_kind_name(o->err.kind), o->err.msg);
	cr_expect_not_null(strstr(o->err.msg, part), "%s", o->err.msg);
}

static inline void must_reach(const struct outcome *o)
{
	cr_assert_geq(o->fd, 0, "%s", o->err.msg);
}

/* Whose port the descriptor is connected to. */
static inline unsigned port_of(int fd)
{
	struct sockaddr_in in;
	socklen_t len = sizeof(in);

	cr_assert_eq(getpeername(fd, (struct sockaddr *)&in, &len), 0);
	return ntohs(in.sin_port);
}

/* What a mail server says and hears. */
#define SMTP_GREETING "220 mx.example ESMTP\r\n"
#define SMTP_EHLO     "EHLO tlskit.invalid\r\n"
#define SMTP_OFFER    "250-mx.example\r\n250-SIZE 1000\r\n250 STARTTLS\r\n"
#define SMTP_ASK      "STARTTLS\r\n"
#define SMTP_GO       "220 go ahead\r\n"

#endif
