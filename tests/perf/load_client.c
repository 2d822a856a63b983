/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>
#include <sys/socket.h>

#include "load.h"

static const struct load_opts *opts;
static gnutls_certificate_credentials_t trust;
static gnutls_priority_t priority;

void client_setup(const struct load_opts *o)
{
	const char *at;
	int rc;

	opts = o;
	if (!o->tls)
		return;
	if (!o->ca)
		die("--tls takes --ca: servers are verified");
	rc = gnutls_certificate_allocate_credentials(&trust);
	if (rc >= 0)
		rc = gnutls_certificate_set_x509_trust_file(trust, o->ca, GNUTLS_X509_FMT_PEM);
	if (rc < 1)
		die("nothing to trust in %s: %s", o->ca, rc < 0 ? gnutls_strerror(rc) : "no certificate");
	rc = gnutls_priority_init(&priority, o->priority, &at);
	if (rc < 0)
		die("priority string: %s at \"%s\"", gnutls_strerror(rc), at);
}

static void client_drop(struct client *c)
{
	if (c->session)
		gnutls_deinit(c->session);
	c->session = NULL;
	if (c->watch.fd >= 0)
		loop_close(&c->watch);
	c->state = CLIENT_IDLE;
}

void client_fail(struct client *c, const char *error)
{
	client_drop(c);
	c->ended(c, error);
}

/* --- bytes, plain or TLS: what gnutls_record_send and _recv return ------------------- */

static ssize_t client_send(struct client *c, const void *p, size_t n)
{
	ssize_t k;

	if (c->session)
		return gnutls_record_send(c->session, p, n);
	k = send(c->watch.fd, p, n, MSG_NOSIGNAL);
	return k >= 0 ? k : net_again() ? GNUTLS_E_AGAIN : GNUTLS_E_PUSH_ERROR;
}

static ssize_t client_recv(struct client *c, void *p, size_t n)
{
	ssize_t k;

	if (c->session)
		return gnutls_record_recv(c->session, p, n);
	k = recv(c->watch.fd, p, n, 0);
	return k >= 0 ? k : net_again() ? GNUTLS_E_AGAIN : GNUTLS_E_PULL_ERROR;
}

static bool later(ssize_t rc)
{
	return rc == GNUTLS_E_AGAIN || rc == GNUTLS_E_INTERRUPTED;
}

static void client_wait(struct client *c)
{
	bool out = c->session ? gnutls_record_get_direction(c->session) == 1 : c->state == CLIENT_ASK;

	loop_watch(&c->watch, out ? EPOLLOUT : EPOLLIN);
}

/* --- the steps: each goes on to the next or waits -------------------------------------- */

/* The ticket may ride with the first answer, so it is looked for only now. */
static void keep_ticket(struct client *c)
{
	gnutls_datum_t fresh;

	if (!opts->resume || !c->session || !(gnutls_session_get_flags(c->session) & GNUTLS_SFLAGS_SESSION_TICKET))
		return;
	if (gnutls_session_get_data2(c->session, &fresh) < 0)
		return;
	gnutls_free(c->ticket.data);
	c->ticket = fresh;
}

static void step_open(struct client *c)
{
	c->state = CLIENT_OPEN;
	loop_watch(&c->watch, EPOLLIN);
	c->settled(c);
}

static void step_answer(struct client *c)
{
	char answer;
	ssize_t rc = client_recv(c, &answer, 1);

	if (later(rc)) {
		client_wait(c);
	} else if (rc != 1) {
		client_fail(c, rc == 0 ? "ended before the answer" : gnutls_strerror((int)rc));
	} else {
		keep_ticket(c);
		step_open(c);
	}
}

static void step_ask(struct client *c)
{
	ssize_t rc = client_send(c, "?", 1);

	if (later(rc)) {
		client_wait(c);
	} else if (rc < 0) {
		client_fail(c, gnutls_strerror((int)rc));
	} else {
		c->state = CLIENT_ANSWER;
		loop_watch(&c->watch, EPOLLIN);
	}
}

/* The connection is there: a byte is asked for, or nothing at all. */
static void step_ready(struct client *c)
{
	if (opts->bare) {
		step_open(c);
		return;
	}
	c->state = CLIENT_ASK;
	step_ask(c);
}

static void step_handshake(struct client *c)
{
	int rc;

	do
		rc = gnutls_handshake(c->session);
	while (rc < 0 && !later(rc) && !gnutls_error_is_fatal(rc));
	if (rc < 0 && !later(rc)) {
		client_fail(c, gnutls_strerror(rc));
	} else if (rc < 0) {
		client_wait(c);
	} else {
		c->resumed = gnutls_session_is_resumed(c->session);
		step_ready(c);
	}
}

static void step_connect(struct client *c)
{
	int eno = net_error(c->watch.fd);

	if (eno != 0) {
		client_fail(c, strerror(eno));
	} else if (c->session) {
		c->state = CLIENT_HANDSHAKE;
		step_handshake(c);
	} else {
		step_ready(c);
	}
}

/* In state OPEN nothing should come but the end; in END only that is awaited. */
static void step_end(struct client *c)
{
	bool asked = c->state == CLIENT_END;
	char more[256];
	ssize_t rc;

	do
		rc = client_recv(c, more, sizeof(more));
	while (rc > 0);
	if (later(rc))
		return;
	if (asked && (rc == 0 || rc == GNUTLS_E_PREMATURE_TERMINATION || rc == GNUTLS_E_PULL_ERROR))
		client_fail(c, NULL);
	else
		client_fail(c, rc == 0 ? "ended by the server" : gnutls_strerror((int)rc));
}

static void client_ready(struct watch *w, uint32_t events)
{
	struct client *c = (struct client *)w;

	(void)events;
	switch (c->state) {
	case CLIENT_CONNECT: step_connect(c); break;
	case CLIENT_HANDSHAKE: step_handshake(c); break;
	case CLIENT_ASK: step_ask(c); break;
	case CLIENT_ANSWER: step_answer(c); break;
	case CLIENT_OPEN:
	case CLIENT_END: step_end(c); break;
	case CLIENT_IDLE: break;
	}
}

/* --- what the owner asks for ------------------------------------------------------------ */

static int session_new(struct client *c)
{
	int rc = gnutls_init(&c->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);

	if (rc < 0)
		return rc;
	gnutls_priority_set(c->session, priority);
	gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE, trust);
	gnutls_server_name_set(c->session, GNUTLS_NAME_DNS, opts->name, strlen(opts->name));
	gnutls_session_set_verify_cert(c->session, opts->name, 0);
	gnutls_handshake_set_timeout(c->session, 0);
	gnutls_transport_set_int(c->session, c->watch.fd);
	return c->ticket.data ? gnutls_session_set_data(c->session, c->ticket.data, c->ticket.size) : 0;
}

void client_open(struct client *c)
{
	int rc;

	c->since_ns = now_ns();
	c->resumed = false;
	c->watch.ready = client_ready;
	c->watch.events = 0;
	c->watch.fd = net_connect(opts->connect_port, opts->sources);
	if (c->watch.fd < 0) {
		client_fail(c, strerror(errno));
		return;
	}
	c->state = CLIENT_CONNECT;
	rc = opts->tls ? session_new(c) : 0;
	if (rc < 0)
		client_fail(c, gnutls_strerror(rc));
	else
		loop_watch(&c->watch, EPOLLOUT);
}

void client_ask(struct client *c)
{
	c->since_ns = now_ns();
	c->state = CLIENT_ASK;
	step_ask(c);
}

void client_end(struct client *c)
{
	c->since_ns = now_ns();
	c->state = CLIENT_END;
	if (c->session)
		gnutls_bye(c->session, GNUTLS_SHUT_WR);
	shutdown(c->watch.fd, SHUT_WR);
	loop_watch(&c->watch, EPOLLIN);
}
