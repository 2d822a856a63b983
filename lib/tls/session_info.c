/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What there is to tell about a session. */

#include "lib/tls/session.h"

#include <gnutls/x509.h>
#include <string.h>

#include "lib/tls/plane.h"
#include "lib/tls/tls_int.h"
#include "lib/tls/tlserr.h"

void session_info(const struct session *s, struct session_info *out)
{
	memset(out, 0, sizeof(*out));
	if (s->handshaken)
		session_agreed(s, out);
}

void session_agreed(const struct session *s, struct session_info *out)
{
	gnutls_datum_t alpn;
	gnutls_kx_algorithm_t kx;

	memset(out, 0, sizeof(*out));
	kx = gnutls_kx_get(s->gs);
	out->version = gnutls_protocol_get_name(gnutls_protocol_get_version(s->gs));
	out->ciphersuite = gnutls_ciphersuite_get(s->gs);
	out->suite = s->suite;
	out->group = gnutls_group_get_name(gnutls_group_get(s->gs));
	out->resumed = gnutls_session_is_resumed(s->gs);
	if (!out->resumed)
		out->signature = gnutls_sign_get_name((gnutls_sign_algorithm_t)gnutls_sign_algorithm_get(s->gs));
	out->by_psk = !out->resumed && (kx == GNUTLS_KX_PSK || kx == GNUTLS_KX_ECDHE_PSK || kx == GNUTLS_KX_DHE_PSK);
	out->client_certificate_requested =
		s->config->role == TLS_CLIENT && gnutls_certificate_client_get_request_status(s->gs);
	out->plane = session_plane(s);
	if (gnutls_alpn_get_selected_protocol(s->gs, &alpn) == 0 && alpn.size < sizeof(out->alpn))
		memcpy(out->alpn, alpn.data, alpn.size);
}

/* The alert that ended it, whichever side gave it up. */
static void story_of_alert(const struct session *s, struct session_story *out)
{
	out->alert = -1;
	if (s->refused_by_alert)
		out->alert = (int)gnutls_alert_get(s->gs);
	else if (s->why)
		out->alert = (int)verify_alert(s);
	else if (s->alert_sent)
		out->alert = s->alert_sent;
	out->alert_received = s->refused_by_alert;
	if (out->alert >= 0)
		tlserr_alert_name((gnutls_alert_description_t)out->alert, out->alert_name, sizeof(out->alert_name));
}

void session_story(const struct session *s, struct session_story *out)
{
	unsigned flags = gnutls_session_get_flags(s->gs);

	*out = (struct session_story){
		.hello_retry = s->hellos > 1,
		.tickets = s->tickets_seen,
		.ticket_lifetime_s = s->ticket_lifetime_s,
		.early_sent = s->early_sent,
		.early_accepted = s->early_sent && (flags & GNUTLS_SFLAGS_EARLY_DATA),
	};
	if (s->config->role == TLS_CLIENT) {
		out->certificate_requested = gnutls_certificate_client_get_request_status(s->gs) != 0;
		/* GnuTLS has chosen it long before it is shown */
		out->certificate_sent =
			out->certificate_requested && s->certificate_out && gnutls_certificate_get_ours(s->gs) != NULL;
		out->server_hello = s->server_hello;
		out->server_flight = s->server_flight;
		if (s->server_hello && !gnutls_group_get(s->gs))
			out->dh_bits = s->prime_bits;
	}
	story_of_alert(s, out);
}

void session_note_prime(struct session *s, const gnutls_datum_t *msg)
{
	gnutls_kx_algorithm_t kx = gnutls_kx_get(s->gs);
	const unsigned char *p = msg->data;
	size_t n;

	if ((kx != GNUTLS_KX_DHE_RSA && kx != GNUTLS_KX_DHE_DSS && kx != GNUTLS_KX_ANON_DH) || msg->size < 2)
		return;
	n = (size_t)p[0] << 8 | p[1];
	if (n > msg->size - 2)
		return;
	for (p += 2; n && !*p; n--)
		p++;
	s->prime_bits = 8 * (unsigned)n;
	for (unsigned top = n ? *p : 0x80; top < 0x80; top <<= 1)
		s->prime_bits--;
}

const gnutls_datum_t *session_chain(const struct session *s, size_t *n)
{
	unsigned count = 0;
	/* GnuTLS has those of the first session then */
	const gnutls_datum_t *list =
		gnutls_session_is_resumed(s->gs) ? NULL : gnutls_certificate_get_peers(s->gs, &count);

	*n = list ? count : 0;
	return list;
}

int session_staple(const struct session *s, unsigned i, gnutls_datum_t *out)
{
	return gnutls_ocsp_status_request_get2(s->gs, i, out) == 0 && out->size ? 0 : -1;
}

static int describe(gnutls_x509_crt_t crt, struct session_certificate *out)
{
	size_t size = sizeof(out->subject);

	if (gnutls_x509_crt_get_dn(crt, out->subject, &size) < 0)
		out->subject[0] = '\0';
	size = sizeof(out->issuer);
	if (gnutls_x509_crt_get_issuer_dn(crt, out->issuer, &size) < 0)
		out->issuer[0] = '\0';
	out->not_before = gnutls_x509_crt_get_activation_time(crt);
	out->not_after = gnutls_x509_crt_get_expiration_time(crt);
	return cert_pin(crt, out->pin);
}

int session_certificate(const struct session *s, struct session_certificate *out)
{
	const gnutls_datum_t *list;
	gnutls_x509_crt_t crt;
	unsigned n = 0;
	int r = -1;

	memset(out, 0, sizeof(*out));
	list = gnutls_certificate_get_peers(s->gs, &n);
	if (!list || !n || gnutls_x509_crt_init(&crt) < 0)
		return -1;
	if (gnutls_x509_crt_import(crt, &list[0], GNUTLS_X509_FMT_DER) == 0)
		r = describe(crt, out);
	gnutls_x509_crt_deinit(crt);
	return r;
}

/* What speaks there when it is not TLS. */
static const char *other_protocol(const struct session *s)
{
	static const struct {
		const char *first, *text;
	} known[] = {
		{ "GET ", "this looks like HTTP without TLS" }, { "POST", "this looks like HTTP without TLS" },
		{ "HEAD", "this looks like HTTP without TLS" }, { "OPTI", "this looks like HTTP without TLS" },
		{ "CONN", "this looks like an HTTP proxy request" }, { "HTTP", "this looks like HTTP without TLS" },
		{ "SSH-", "this looks like SSH" }, { "PROX", "this looks like the PROXY protocol" },
		{ "220 ", "this looks like SMTP or FTP before STARTTLS" },
		{ "* OK", "this looks like IMAP before STARTTLS" }, { "+OK ", "this looks like POP3 before STARTTLS" },
	};
	size_t i;

	if (s->n_first < 4)
		return NULL;
	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (memcmp(s->first_bytes, known[i].first, 4) == 0)
			return known[i].text;
	return NULL;
}

/* A server that does not have our key, or another one under this identity,
 * answers with one of these alerts (RFC 8446, 4.2.11). */
static bool is_psk_refusal(const struct session *s, int code)
{
	gnutls_alert_description_t a = gnutls_alert_get(s->gs);

	return s->config->role == TLS_CLIENT && s->config->psk && code == GNUTLS_E_FATAL_ALERT_RECEIVED &&
	       (a == GNUTLS_A_ILLEGAL_PARAMETER || a == GNUTLS_A_DECRYPT_ERROR || a == GNUTLS_A_BAD_RECORD_MAC ||
		       a == GNUTLS_A_UNKNOWN_PSK_IDENTITY);
}

void session_explain(const struct session *s, int code, struct err *e)
{
	const char *other = other_protocol(s);

	if (s->why)
		*e = *s->why;
	else if (other)
		err_set(e, ERR_HANDSHAKE, "not TLS: %s", other);
	else if (s->sock->error)
		err_sys(e, ERR_IO, s->sock->error, "the connection broke");
	else if (code == GNUTLS_E_SESSION_EOF)
		err_set(e, ERR_HANDSHAKE, "the peer ended the handshake (close_notify)");
	else if (s->sock->eof && code == GNUTLS_E_PREMATURE_TERMINATION)
		err_set(e, ERR_HANDSHAKE, "the peer closed the connection");
	else if (code == GNUTLS_E_NO_CIPHER_SUITES && s->config->sni)
		err_set(e, ERR_HANDSHAKE,
			"no common cipher suite, or the client can verify none of the certificates for the name that it asks for");
	else
		tlserr_session(e, s->gs, code);
	if (!other && s->config->role == TLS_CLIENT && !s->n_first && (s->sock->error || s->sock->eof) && e->kind != ERR_AUTH)
		err_set(e, e->kind, "%s, without a word: is it TLS that is spoken there?", e->msg);
	if (is_psk_refusal(s, code)) {
		e->kind = ERR_AUTH;
		err_prefix(e, "the server does not have this pre-shared key");
	}
}
