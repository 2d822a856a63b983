/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/probe/ocsp_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/net/addr_host.h"
#include "lib/net/dial.h"
#include "lib/net/sock.h"

#define ANSWER_MAX 65536 /* of ocsp_http_answer; one byte more shows that it is longer */

struct ocsp_ask {
	struct loop *loop;
	gnutls_x509_crt_t leaf, issuer;
	int64_t now;
	uint64_t timeout_ms, start_ns;
	ocsp_ask_fn *fn;
	void *arg;
	struct addr addr;
	char name[ADDR_TEXT_SIZE]; /* of the responder, in messages */
	struct dial *dial;
	struct sock sock;
	struct loop_watch *watch;
	struct loop_timer *deadline; /* from the connection on; before, the dial has one */
	gnutls_datum_t request; /* owned */
	size_t sent, heard; /* of request; in answer */
	uint8_t answer[ANSWER_MAX + 1];
};

static void ask_free(struct ocsp_ask *a)
{
	dial_cancel(a->dial);
	loop_timer_free(a->deadline);
	loop_watch_free(a->watch);
	sock_close(&a->sock, false);
	gnutls_free(a->request.data);
	free(a);
}

/* --- the end ------------------------------------------------------------------------ */

static void finish(struct ocsp_ask *a, const struct ocsp_result *r)
{
	a->fn(a->arg, r);
	ask_free(a);
}

static bool inside_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* What is too long loses its middle: who it is about stands in front, why behind. */
static void put_text(char *out, size_t size, const char *text)
{
	static const char gap[] = " … ";
	size_t n = strlen(text), room = size - sizeof(gap), head = room / 2;
	const char *tail;

	if (n < size) {
		memcpy(out, text, n + 1);
		return;
	}
	tail = text + n - (room - head);
	while (head > 0 && inside_character(text[head]))
		head--;
	while (inside_character(*tail))
		tail++;
	snprintf(out, size, "%.*s%s%s", (int)head, text, gap, tail);
}

static void fail(struct ocsp_ask *a, const struct err *e)
{
	struct ocsp_result r = { .status = OCSP_ERROR, .this_update = -1, .next_update = -1, .produced = -1,
		.revoked_at = -1 };

	put_text(r.text, sizeof(r.text), e->msg);
	finish(a, &r);
}

/* With the responder's name before it. */
static void fail_named(struct ocsp_ask *a, struct err *e)
{
	err_prefix(e, "%s", a->name);
	fail(a, e);
}

static void on_deadline(void *arg)
{
	struct ocsp_ask *a = arg;
	char time[32];
	struct err e;

	units_duration(a->timeout_ms, time, sizeof(time));
	if (a->heard == 0)
		err_set(&e, ERR_TIMEOUT, "no answer within %s", time);
	else
		err_set(&e, ERR_TIMEOUT, "no whole answer within %s; %zu bytes came", time, a->heard);
	fail_named(a, &e);
}

/* --- request and answer --------------------------------------------------------------- */

/* A responder that takes no more may have said why, so what it said comes first. */
static void send_request(struct ocsp_ask *a)
{
	long n = 0;

	while (a->sent < a->request.size && a->sock.error == 0 && n >= 0) {
		n = sock_write(&a->sock, a->request.data + a->sent, a->request.size - a->sent);
		if (n > 0)
			a->sent += (size_t)n;
	}
}

/* What the last read returned. */
static long hear_answer(struct ocsp_ask *a)
{
	long n;

	do {
		n = sock_read(&a->sock, a->answer + a->heard, sizeof(a->answer) - a->heard);
		if (n > 0)
			a->heard += (size_t)n;
	} while (n > 0 && a->heard < sizeof(a->answer));
	return n;
}

static void judge(struct ocsp_ask *a, const gnutls_datum_t *body)
{
	struct ocsp_result r;
	struct err e;

	if (body->size == 0) {
		err_set(&e, ERR_RUNTIME, "the OCSP responder's answer is empty");
		fail_named(a, &e);
		return;
	}
	ocsp_check(body, a->leaf, a->issuer, a->now, &r);
	finish(a, &r);
}

/* n: what the last read returned. */
static void consider(struct ocsp_ask *a, long n)
{
	gnutls_datum_t body;
	struct err e;
	int r = 0;

	if (a->heard > 0)
		r = ocsp_http_answer(a->answer, a->heard, n == 0, &body, &e);
	else if (n == 0)
		r = err_set(&e, ERR_IO, "the OCSP responder ended the connection without an answer");
	if (r == 0 && a->sock.error != 0)
		r = err_sys(&e, ERR_IO, a->sock.error, "the connection to the OCSP responder broke");
	if (r < 0)
		fail_named(a, &e);
	else if (r > 0)
		judge(a, &body);
}

static void on_ready(void *arg, unsigned ready)
{
	struct ocsp_ask *a = arg;

	a->sock.readable |= (ready & LOOP_READ) != 0;
	a->sock.writable |= (ready & LOOP_WRITE) != 0;
	send_request(a);
	consider(a, hear_answer(a));
}

/* --- the start ------------------------------------------------------------------------ */

static uint64_t left_ms(const struct ocsp_ask *a)
{
	uint64_t gone_ms = (loop_now_ns(a->loop) - a->start_ns) / NS_PER_MS;

	return gone_ms < a->timeout_ms ? a->timeout_ms - gone_ms : 0;
}

/* Its messages have the stage and the name already. */
static void on_dialed(void *arg, int fd, const struct sockaddr *sa, socklen_t len, const struct err *dial_err)
{
	struct ocsp_ask *a = arg;
	struct err e;

	(void)sa;
	(void)len;
	a->dial = NULL; /* ends with this callback */
	if (fd < 0) {
		fail(a, dial_err);
		return;
	}
	sock_init(&a->sock, fd);
	a->watch = loop_watch_new(a->loop, fd, on_ready, a, &e);
	if (a->watch == NULL) {
		fail_named(a, &e);
		return;
	}
	if (a->timeout_ms > 0)
		loop_timer_set(a->deadline, left_ms(a));
}

/* Not as one text for addr_parse: to a certificate that says http://unix:80/ that
 * would be the path of a socket. */
static int parse_place(struct ocsp_ask *a, const char *url, struct ocsp_url *parts, struct err *e)
{
	size_t n;
	int r;

	if (ocsp_url_parse(url, parts, e) != 0) {
		e->kind = ERR_CONFIG;
		return -1;
	}
	n = strlen(parts->host);
	r = strchr(parts->host, ':') != NULL ? addr_host_ipv6(&a->addr, parts->host, n, e) :
					       addr_host_name(&a->addr, parts->host, n, e);
	if (r != 0)
		return err_prefix(e, "the OCSP address \"%.100s\" cannot be used", url);
	a->addr.kind = ADDR_TCP;
	a->addr.port = (uint16_t)strtoul(parts->port, NULL, 10); /* 1 to 65535, as it was parsed */
	addr_format(&a->addr, a->name);
	if (a->addr.port == 80)
		a->name[strlen(a->name) - strlen(":80")] = '\0';
	return 0;
}

static int make_request(struct ocsp_ask *a, const struct ocsp_url *parts, struct err *e)
{
	gnutls_datum_t der;
	int r = ocsp_request(a->leaf, a->issuer, &der, e);

	if (r == 0)
		r = ocsp_http_request(parts, &der, &a->request, e);
	gnutls_free(der.data);
	return r;
}

static int prepare(struct ocsp_ask *a, const char *url, struct err *e)
{
	struct ocsp_url parts;

	if (parse_place(a, url, &parts, e) != 0 || make_request(a, &parts, e) != 0)
		return -1;
	a->deadline = loop_timer_new(a->loop, on_deadline, a);
	return a->deadline != NULL ? 0 : err_set(e, ERR_RUNTIME, "no memory");
}

struct ocsp_ask *ocsp_ask_start(struct loop *l, const char *url, gnutls_x509_crt_t leaf, gnutls_x509_crt_t issuer,
	int64_t now, uint64_t timeout_ms, ocsp_ask_fn *fn, void *arg, struct err *e)
{
	const struct dial_options o = { .timeout_ms = timeout_ms };
	struct ocsp_ask *a = calloc(1, sizeof(*a));

	if (a == NULL) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	a->loop = l;
	a->leaf = leaf;
	a->issuer = issuer;
	a->now = now;
	a->timeout_ms = timeout_ms;
	a->start_ns = loop_now_ns(l);
	a->fn = fn;
	a->arg = arg;
	a->sock.fd = -1;
	if (prepare(a, url, e) == 0)
		a->dial = dial_start(l, &a->addr, &o, on_dialed, a, e);
	if (a->dial != NULL)
		return a;
	ask_free(a);
	return NULL;
}

void ocsp_ask_cancel(struct ocsp_ask *a)
{
	if (a != NULL)
		ask_free(a);
}
