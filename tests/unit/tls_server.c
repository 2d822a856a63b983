/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/tls_server.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>

/* --- what it is made of ------------------------------------------------------------------ */

static int staple(gnutls_session_t gs, void *arg, gnutls_datum_t *out)
{
	const struct tls_server *s = arg;

	(void)gs;
	if (!s->staple.size)
		return GNUTLS_E_NO_CERTIFICATE_STATUS;
	out->data = gnutls_malloc(s->staple.size);
	out->size = s->staple.size;
	memcpy(out->data, s->staple.data, out->size);
	return 0;
}

static int judge_client(gnutls_session_t gs)
{
	struct tls_server *s = gnutls_session_get_ptr(gs);
	unsigned n = 0;

	if (gnutls_certificate_get_peers(gs, &n))
		s->client_certs += n;
	return s->refuses ? GNUTLS_E_CERTIFICATE_ERROR : 0;
}

static int remember(void *arg, time_t expires, const gnutls_datum_t *key, const gnutls_datum_t *data)
{
	const struct tls_server *s = arg;

	(void)expires, (void)key, (void)data;
	return s->replayed ? GNUTLS_E_DB_ENTRY_EXISTS : 0;
}

static void new_ticket_key(struct tls_server *s)
{
	gnutls_free(s->ticket_key.data);
	gnutls_session_ticket_key_generate(&s->ticket_key);
}

static void make_credentials(struct tls_server *s)
{
	gnutls_x509_crt_t chain[5];
	int n = 0;

	while (s->chain[n]) {
		chain[n] = s->chain[n]->crt;
		n++;
	}
	cr_assert(gnutls_certificate_allocate_credentials(&s->cred) == 0);
	cr_assert(n == 0 || gnutls_certificate_set_x509_key(s->cred, chain, n, s->chain[0]->key) == 0);
	gnutls_certificate_set_ocsp_status_request_function(s->cred, staple, s);
	gnutls_certificate_set_verify_function(s->cred, judge_client);
	new_ticket_key(s);
	cr_assert(gnutls_anti_replay_init(&s->anti_replay) == 0);
	gnutls_anti_replay_set_add_function(s->anti_replay, remember);
	gnutls_anti_replay_set_ptr(s->anti_replay, s);
}

static void set_up(struct tls_server *s, gnutls_session_t gs, int fd)
{
	gnutls_datum_t alpn = { (unsigned char *)s->alpn, s->alpn ? (unsigned)strlen(s->alpn) : 0 };

	gnutls_session_set_ptr(gs, s);
	gnutls_priority_set_direct(gs, s->priority ? s->priority : "NORMAL", NULL);
	gnutls_credentials_set(gs, GNUTLS_CRD_CERTIFICATE, s->cred);
	gnutls_certificate_server_set_request(gs, s->wants);
	if (s->tickets)
		gnutls_session_ticket_enable_server(gs, &s->ticket_key);
	if (s->alpn)
		gnutls_alpn_set_protocols(gs, &alpn, 1, 0);
	if (s->early) {
		gnutls_anti_replay_enable(gs, s->anti_replay);
		gnutls_record_set_max_early_data_size(gs, s->early);
	}
	gnutls_transport_set_int(gs, fd);
}

/* --- a connection -------------------------------------------------------------------------- */

static void note_end(struct tls_server *s, gnutls_session_t gs, int code)
{
	bool alert = code == GNUTLS_E_FATAL_ALERT_RECEIVED;

	/* what became of an alert in the certificate's place */
	if (alert || (code == GNUTLS_E_NO_CERTIFICATE_FOUND && gnutls_alert_get(gs) != GNUTLS_A_CLOSE_NOTIFY))
		s->alert = (int)gnutls_alert_get(gs);
}

static void note_handshake(struct tls_server *s, gnutls_session_t gs)
{
	size_t size = sizeof(s->name);
	unsigned type;
	ssize_t n;

	if (gnutls_server_name_get(gs, s->name, &size, &type, 0) < 0)
		s->name[0] = '\0';
	s->handshakes++;
	s->resumed += gnutls_session_is_resumed(gs) != 0;
	n = s->early ? gnutls_record_recv_early_data(gs, s->early_heard + s->early_n, sizeof(s->early_heard) - s->early_n) : 0;
	s->early_n += n > 0 ? (size_t)n : 0;
}

void tls_server_read(struct tls_server *s, gnutls_session_t gs)
{
	char bytes[256];
	ssize_t n;
	size_t fits;

	while ((n = gnutls_record_recv(gs, bytes, sizeof(bytes))) > 0 || n == GNUTLS_E_INTERRUPTED) {
		fits = sizeof(s->heard) - s->heard_n;
		fits = n < 0 ? 0 : fits < (size_t)n ? fits : (size_t)n;
		memcpy(s->heard + s->heard_n, bytes, fits);
		s->heard_n += fits;
	}
	note_end(s, gs, (int)n);
	if (n == 0)
		gnutls_bye(gs, GNUTLS_SHUT_WR);
}

void tls_server_be_silent(struct tls_server *s, gnutls_session_t gs)
{
	(void)s;
	peer_wait_for_end(gnutls_transport_get_int(gs));
}

/* GnuTLS says "again" after early data too, not only when the peer's patience is over. */
static int shake(gnutls_session_t gs)
{
	int r, again = 0;

	do {
		r = gnutls_handshake(gs);
	} while (r < 0 && !gnutls_error_is_fatal(r) && (r != GNUTLS_E_AGAIN || ++again < 3));
	return r;
}

static void serve(struct peer *p, int fd)
{
	struct tls_server *s = p->arg;
	gnutls_session_t gs;

	if (s->before)
		s->before(s, fd);
	if (gnutls_init(&gs, GNUTLS_SERVER | GNUTLS_NO_SIGNAL | (s->early ? GNUTLS_ENABLE_EARLY_DATA : 0) |
				     (s->tickets ? 0 : GNUTLS_NO_TICKETS)) < 0)
		return;
	if (s->no_resumption)
		new_ticket_key(s);
	set_up(s, gs, fd);
	s->code = shake(gs);
	if (s->code == 0) {
		note_handshake(s, gs);
		(s->then ? s->then : tls_server_read)(s, gs);
	} else {
		note_end(s, gs, s->code);
		gnutls_alert_send_appropriate(gs, s->code);
	}
	gnutls_deinit(gs);
	shutdown(fd, SHUT_WR);
	peer_wait_for_end(fd); /* a close now would be a reset, which overtakes an alert */
}

void tls_server_start(struct tls_server *s)
{
	s->alert = -1;
	make_credentials(s);
	peer_start(&s->peer, serve, s);
}

void tls_server_end(struct tls_server *s)
{
	peer_end(&s->peer);
	gnutls_certificate_free_credentials(s->cred);
	gnutls_free(s->ticket_key.data);
	gnutls_anti_replay_deinit(s->anti_replay);
}
