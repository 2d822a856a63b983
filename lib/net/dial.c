/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/units.h"
#include "lib/net/dial.h"
#include "lib/net/sock.h"

/* How long a full backlog of a unix socket is left alone. */
#define UNIX_RETRY_MS 20

struct attempt {
	struct dial *dial;
	struct loop_watch *watch;
	int fd; /* -1: not started, or over */
};

struct dial {
	struct loop *loop;
	struct addr addr;
	struct dial_options opt;
	dial_fn *fn;
	void *arg;
	bool over; /* fn is being called */
	struct resolve_request *look_up;
	struct loop_timer *deadline;
	struct loop_timer *stagger; /* starts the next address */
	struct loop_task begin; /* so that nothing is told from inside dial_start */
	struct resolved to;
	int next; /* the address to start next */
	int running; /* attempts under way */
	struct attempt attempt[RESOLVE_MAX];
	char reasons[400]; /* "ADDRESS: reason; ADDRESS: reason" */
};

static void attempt_end(struct attempt *a)
{
	if (a->fd < 0)
		return;
	loop_watch_free(a->watch);
	a->watch = NULL;
	close(a->fd);
	a->fd = -1;
	a->dial->running--;
}

static void dial_free(struct dial *d)
{
	resolve_cancel(d->look_up);
	loop_defer_cancel(d->loop, &d->begin);
	loop_timer_free(d->deadline);
	loop_timer_free(d->stagger);
	for (int i = 0; i < RESOLVE_MAX; i++)
		attempt_end(&d->attempt[i]);
	free(d);
}

/* --- the end -------------------------------------------------------------- */

static void fail(struct dial *d, const struct err *e)
{
	d->over = true;
	d->fn(d->arg, -1, NULL, 0, e);
	dial_free(d);
}

static void succeed(struct dial *d, int i)
{
	struct attempt *a = &d->attempt[i];
	int fd = a->fd;

	/* The callee makes a watch of its own for the descriptor. */
	loop_watch_free(a->watch);
	a->watch = NULL;
	a->fd = -1;
	d->running--;
	d->over = true;
	d->fn(d->arg, fd, (const struct sockaddr *)&d->to.at[i].sa, d->to.at[i].len, NULL);
	dial_free(d);
}

static void note_reason(struct dial *d, int i, int eno)
{
	size_t n = strlen(d->reasons);
	char text[ADDR_TEXT_SIZE], part[ADDR_TEXT_SIZE + 128];
	int len;

	addr_format_sockaddr((const struct sockaddr *)&d->to.at[i].sa, d->to.at[i].len, text);
	len = snprintf(part, sizeof(part), "%s%s: %s", n > 0 ? "; " : "", text, strerror(eno));
	/* Whole parts only; what does not fit shows as an ellipsis, once. */
	if (len > 0 && n + (size_t)len + sizeof("; …") <= sizeof(d->reasons))
		memcpy(d->reasons + n, part, (size_t)len + 1);
	else if (n < 3 || memcmp(d->reasons + n - 3, "…", 3) != 0)
		snprintf(d->reasons + n, sizeof(d->reasons) - n, "; …");
}

/* An address that was given as such is named once. */
static void fail_connect(struct dial *d)
{
	char name[ADDR_TEXT_SIZE];
	struct err e;

	if (d->addr.numeric || d->addr.kind == ADDR_UNIX)
		err_set(&e, ERR_CONNECT, "cannot connect to %s", d->reasons);
	else
		err_set(&e, ERR_CONNECT, "cannot connect to %s: %s", addr_format(&d->addr, name), d->reasons);
	fail(d, &e);
}

static void on_deadline(void *arg)
{
	struct dial *d = arg;
	bool named = d->reasons[0] != '\0';
	char name[ADDR_TEXT_SIZE], time[32];
	struct err e;

	units_duration(d->opt.timeout_ms, time, sizeof(time));
	if (d->look_up != NULL)
		err_set(&e, ERR_TIMEOUT, "cannot resolve %s: no answer within %s", d->addr.host, time);
	else
		err_set(&e, ERR_TIMEOUT, "cannot connect to %s: no answer within %s%s%s%s",
			addr_format(&d->addr, name), time, named ? " (" : "", d->reasons, named ? ")" : "");
	fail(d, &e);
}

/* --- attempts ------------------------------------------------------------- */

/* What became of a connect: 0 connected, EINPROGRESS, or why it failed. */
static int attempt_state(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(int);
	int eno = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &eno, &len) != 0)
		return errno;
	if (eno != 0)
		return eno;
	len = sizeof(ss);
	if (getpeername(fd, (struct sockaddr *)&ss, &len) == 0)
		return 0;
	return errno == ENOTCONN ? EINPROGRESS : errno;
}

static void advance(struct dial *d);

static void on_ready(void *arg, unsigned ready)
{
	struct attempt *a = arg;
	struct dial *d = a->dial;
	int i = (int)(a - d->attempt);
	int eno = attempt_state(a->fd);

	(void)ready;
	if (eno == EINPROGRESS)
		return;
	if (eno == 0) {
		succeed(d, i);
		return;
	}
	note_reason(d, i, eno);
	attempt_end(a);
	advance(d);
}

/* 0 connected, EINPROGRESS with a watch set, or why it failed. */
static int attempt_start(struct dial *d, int i)
{
	struct attempt *a = &d->attempt[i];
	const struct sockaddr *sa = (const struct sockaddr *)&d->to.at[i].sa;
	struct err e;
	int eno = 0;

	a->fd = sock_new(sa->sa_family);
	if (a->fd < 0)
		return errno;
	d->running++;
	if (connect(a->fd, sa, d->to.at[i].len) != 0)
		eno = errno;
	/* On the same machine it is often decided by now, and then the loop
	 * need not be asked. */
	if (eno == EINPROGRESS || eno == EINTR)
		eno = attempt_state(a->fd);
	if (eno == EINPROGRESS) {
		a->watch = loop_watch_new(d->loop, a->fd, on_ready, a, &e);
		if (a->watch == NULL)
			eno = ENOMEM;
	}
	if (eno != 0 && eno != EINPROGRESS)
		attempt_end(a);
	return eno;
}

/* Starts addresses until one is under way. Called again when one failed and
 * when the stagger is over. */
static void advance(struct dial *d)
{
	while (d->next < d->to.n) {
		int i = d->next++;
		int eno = attempt_start(d, i);

		if (eno == 0) {
			succeed(d, i);
			return;
		}
		if (eno == EINPROGRESS) {
			if (d->next < d->to.n)
				loop_timer_set(d->stagger, DIAL_STAGGER_MS);
			return;
		}
		if (eno == EAGAIN && d->addr.kind == ADDR_UNIX) {
			d->next = i;
			loop_timer_set(d->stagger, UNIX_RETRY_MS);
			return;
		}
		note_reason(d, i, eno);
	}
	if (d->running == 0)
		fail_connect(d);
}

static void on_stagger(void *arg)
{
	advance(arg);
}

/* --- the start ------------------------------------------------------------ */

static void on_begin(void *arg)
{
	struct dial *d = arg;
	struct err e;

	if (d->to.n > 0) {
		advance(d);
		return;
	}
	resolve_none(&d->addr, d->opt.family, &e);
	fail(d, &e);
}

static void on_resolved(void *arg, const struct resolved *result, const struct err *e)
{
	struct dial *d = arg;

	d->look_up = NULL; /* ends with this callback */
	if (result == NULL) {
		fail(d, e);
		return;
	}
	d->to = *result;
	advance(d);
}

static struct dial *dial_new(struct loop *l, const struct addr *a, const struct dial_options *o,
	dial_fn *fn, void *arg, struct err *e)
{
	struct dial *d = calloc(1, sizeof(*d));
	char name[ADDR_TEXT_SIZE];

	if (d == NULL)
		goto failed;
	d->loop = l;
	d->addr = *a;
	d->opt = *o;
	d->fn = fn;
	d->arg = arg;
	d->begin = (struct loop_task){ .fn = on_begin, .arg = d };
	for (int i = 0; i < RESOLVE_MAX; i++)
		d->attempt[i] = (struct attempt){ .dial = d, .fd = -1 };
	d->deadline = loop_timer_new(l, on_deadline, d);
	d->stagger = loop_timer_new(l, on_stagger, d);
	if (d->deadline == NULL || d->stagger == NULL) {
		dial_free(d);
		goto failed;
	}
	if (o->timeout_ms > 0)
		loop_timer_set(d->deadline, o->timeout_ms);
	return d;
failed:
	err_sys(e, ERR_CONNECT, ENOMEM, "cannot connect to %s", addr_format(a, name));
	return NULL;
}

struct dial *dial_start_resolved(struct loop *l, const struct addr *a, const struct resolved *r,
	const struct dial_options *o, dial_fn *fn, void *arg, struct err *e)
{
	struct dial *d = dial_new(l, a, o, fn, arg, e);

	if (d != NULL) {
		d->to = *r;
		loop_defer(l, &d->begin);
	}
	return d;
}

struct dial *dial_start(struct loop *l, const struct addr *a, const struct dial_options *o, dial_fn *fn,
	void *arg, struct err *e)
{
	struct resolved now;
	struct dial *d;

	if (resolve_now(a, o->family, &now))
		return dial_start_resolved(l, a, &now, o, fn, arg, e);
	d = dial_new(l, a, o, fn, arg, e);
	if (d == NULL)
		return NULL;
	d->look_up = resolve_start(l, a, o->family, on_resolved, d, e);
	if (d->look_up == NULL) {
		dial_free(d);
		return NULL;
	}
	return d;
}

void dial_cancel(struct dial *d)
{
	if (d != NULL && !d->over)
		dial_free(d);
}
