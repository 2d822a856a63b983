/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* A session's handshake, step by step. */

#include "lib/tls/session.h"

#include <stdlib.h>

#include "lib/tls/hello.h"
#include "lib/tls/names.h"
#include "lib/tls/plane.h"
#include "lib/tls/tls_int.h"
#include "lib/tls/tlserr.h"
#include "lib/tls/verify.h"

#define AGAIN_MAX 20000 /* pieces of messages, warnings and the like in one call of a handshake */

static int handshake_failed(struct session *s, int code, struct err *e)
{
	/* what GnuTLS makes of an alert in the place of a client's certificate (TLS 1.2) */
	if (code == GNUTLS_E_NO_CERTIFICATE_FOUND && gnutls_alert_get(s->gs) != GNUTLS_A_CLOSE_NOTIFY)
		code = GNUTLS_E_FATAL_ALERT_RECEIVED;
	s->failed = true;
	session_explain(s, code, e);
	s->refused_by_alert = code == GNUTLS_E_FATAL_ALERT_RECEIVED || code == GNUTLS_E_SESSION_EOF;
	if (s->why)
		gnutls_alert_send(s->gs, GNUTLS_AL_FATAL, verify_alert(s));
	else if (!s->refused_by_alert && !s->sock->error && !s->sock->eof &&
		 gnutls_alert_send_appropriate(s->gs, code) == 0)
		s->alert_sent = gnutls_error_to_alert(code, NULL);
	return SOCK_FAILED;
}

static int handshake_done(struct session *s, struct err *e)
{
	const char *suite;

	if (verify_done(s) < 0)
		return handshake_failed(s, GNUTLS_E_CERTIFICATE_ERROR, e);
	if (s->config->suites.n) {
		suite = gnutls_ciphersuite_get(s->gs);
		if (!suite || !names_suite_wanted(&s->config->suites, suite)) {
			s->failed = true;
			err_set(e, ERR_HANDSHAKE, "negotiated %s, which --ciphersuite does not name",
				suite ? suite : "an unknown suite");
			gnutls_alert_send(s->gs, GNUTLS_AL_FATAL, GNUTLS_A_HANDSHAKE_FAILURE);
			return SOCK_FAILED;
		}
	}
	if (s->peer && s->peer->tickets && gnutls_protocol_get_version(s->gs) != GNUTLS_TLS1_3)
		session_keep_ticket(s);
	s->handshaken = true;
	if (s->config->dataplane != TLS_DATAPLANE_GNUTLS && plane_direct_start(s) == 0 &&
		s->config->dataplane == TLS_DATAPLANE_KTLS)
		plane_ktls_start(s); /* or the one before it is */
	free(s->why);
	s->why = NULL;
	return 0;
}

/* GnuTLS says "again" after each piece of a message that came in several
 * records, although the next one may be here already. */
static bool more_to_read(const struct session *s)
{
	return !s->judging && (buf_len(&s->in) || (s->sock->readable && !s->sock->eof));
}

/* --- a stop before the signature ------------------------------------------------------ */

void session_stop_to_sign(struct session *s, bool believe)
{
	s->stop_to_sign = true;
	s->believe = believe;
}

bool session_resumes_not(const struct session *s)
{
	return s->wants_to_resume && !gnutls_session_is_resumed(s->gs);
}

/* A look at the ClientHello before GnuTLS computes anything: SESSION_SIGNS; 0: it wants to
 * resume, or there is none; or SOCK_BLOCKED: it is not here yet. */
static int look_at_hello(struct session *s)
{
	long n = buf_len(&s->in) ? 1 : session_read_ahead(s, SIZE_MAX);

	if (n == SOCK_BLOCKED) {
		buf_release(s->pool, &s->in);
		return SOCK_BLOCKED;
	}
	s->stop_to_sign = false;
	if (n <= 0)
		return 0;
	s->wants_to_resume = s->believe && hello_resumes(s->in.data + s->in.start, buf_len(&s->in));
	return s->wants_to_resume ? 0 : SESSION_SIGNS;
}

/* --- the steps ------------------------------------------------------------------------ */

int session_handshake(struct session *s, struct err *e)
{
	int r, flushed, again = 0;

	if (s->stop_to_sign && (r = look_at_hello(s)) != 0)
		return r;
	do {
		r = gnutls_handshake(s->gs);
	} while (r < 0 && !gnutls_error_is_fatal(r) && (r != GNUTLS_E_AGAIN || more_to_read(s)) && ++again < AGAIN_MAX);
	/* GnuTLS asks for more after the end of a message that was cut off */
	if (r == GNUTLS_E_AGAIN && s->sock->eof && !buf_len(&s->in) && !s->judging)
		r = GNUTLS_E_PREMATURE_TERMINATION;
	else if (r == GNUTLS_E_AGAIN && again == AGAIN_MAX)
		r = GNUTLS_E_TOO_MANY_HANDSHAKE_PACKETS;
	if (r == 0)
		r = handshake_done(s, e);
	else if (r != GNUTLS_E_AGAIN)
		r = handshake_failed(s, r, e);
	else
		r = SOCK_BLOCKED;
	if (!buf_len(&s->in))
		buf_release(s->pool, &s->in);
	if (r == SOCK_FAILED)
		return r;
	flushed = session_flush(s, e);
	return flushed == SOCK_FAILED ? SOCK_FAILED : r;
}
