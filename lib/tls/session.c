/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/session.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/hello.h"
#include "lib/tls/keylog.h"
#include "lib/tls/plane.h"
#include "lib/tls/sni.h"
#include "lib/tls/tls_int.h"
#include "lib/tls/tlserr.h"

#define READ_FIRST (8 * 1024) /* a ClientHello, a server's flight */
#define CONTENT_HANDSHAKE 22 /* RFC 8446, B.1 */
#define EXT_RECORD_SIZE_LIMIT 28 /* RFC 8449 */
#define READ_MAX   (512 * 1024)

/* --- the buffered transport ---------------------------------------------------- */

/* n bytes were put behind the end of `in`: the first of all are kept, to tell what speaks
 * there when it is not TLS. */
static void note_first(struct session *s, size_t n)
{
	size_t k = sizeof(s->first_bytes) - s->n_first;

	if (k > n)
		k = n;
	memcpy(s->first_bytes + s->n_first, s->in.data + s->in.end, k);
	s->n_first = (unsigned char)(s->n_first + k);
}

int session_feed(struct session *s, const void *data, size_t n)
{
	if (buf_reserve(s->pool, &s->in, n) < 0)
		return -1;
	memcpy(s->in.data + s->in.end, data, n);
	note_first(s, n);
	s->in.end += n;
	return 0;
}

long session_read_ahead(struct session *s, size_t max)
{
	bool fresh = !buf_len(&s->in);
	size_t room;
	long n;

	if (!s->sock->readable && !s->sock->eof)
		return SOCK_BLOCKED;
	if (buf_reserve(s->pool, &s->in, s->in_size) < 0) {
		s->sock->error = ENOMEM;
		return SOCK_FAILED;
	}
	room = s->in_size < max ? s->in_size : max;
	n = sock_read(s->sock, s->in.data + s->in.end, room);
	if (n <= 0)
		return n;
	note_first(s, (size_t)n);
	s->in.end += (size_t)n;
	if (room < s->in_size)
		return n;
	if ((size_t)n == room && s->in_size < READ_MAX)
		s->in_size *= 2;
	else if ((size_t)n < room / 4 && s->in_size > READ_FIRST && fresh) /* the rest of a record tells of no small flow */
		s->in_size /= 2;
	return n;
}

/* On the direct plane GnuTLS reads what it is handed, and nothing else. */
static ssize_t pull_handed(struct session *s, void *data, size_t size)
{
	if (!s->hand_size) {
		gnutls_transport_set_errno(s->gs, EAGAIN);
		return -1;
	}
	if (size > s->hand_size)
		size = s->hand_size;
	memcpy(data, s->hand, size);
	s->hand += size;
	s->hand_size -= size;
	return (ssize_t)size;
}

/* Follows the records that GnuTLS reads after the handshake. A handshake record
 * there is a wish to renegotiate (TLS 1.2; in TLS 1.3 all are of one type
 * outside). GnuTLS would hand it to us to refuse, but loses 16 KiB of memory each
 * time: so it never sees one. */
static bool follow_records(struct session *s, const unsigned char *data, size_t n)
{
	size_t k;

	while (n) {
		if (s->record_left) {
			k = n < s->record_left ? n : s->record_left;
			s->record_left -= k;
			data += k;
			n -= k;
			continue;
		}
		s->header[s->header_have++] = *data++;
		n--;
		if (s->header[0] == CONTENT_HANDSHAKE)
			return false;
		if (s->header_have == sizeof(s->header)) {
			s->record_left = (size_t)s->header[3] << 8 | s->header[4];
			s->header_have = 0;
		}
	}
	return true;
}

static ssize_t pull(gnutls_transport_ptr_t p, void *data, size_t size)
{
	struct session *s = p;
	long n;

	if (s->direct)
		return pull_handed(s, data, size);
	if (!buf_len(&s->in)) {
		n = session_read_ahead(s, SIZE_MAX);
		/* GnuTLS would take the end for the session's: then nothing could be
		 * sent any more either. The plane sees it and judges. */
		if (n == 0 && s->handshaken)
			n = SOCK_BLOCKED;
		if (n == 0)
			return 0;
		if (n < 0) {
			gnutls_transport_set_errno(s->gs, n == SOCK_BLOCKED ? EAGAIN : ECONNRESET);
			return -1;
		}
	}
	if (size > buf_len(&s->in))
		size = buf_len(&s->in);
	if (s->handshaken && (s->renegotiation || !follow_records(s, s->in.data + s->in.start, size))) {
		s->renegotiation = true;
		gnutls_transport_set_errno(s->gs, ECONNABORTED);
		return -1;
	}
	memcpy(data, s->in.data + s->in.start, size);
	buf_consume(&s->in, size);
	return (ssize_t)size;
}

/* GnuTLS asks before it waits for a ticket; this transport never waits. */
static int pull_timeout(gnutls_transport_ptr_t p, unsigned ms)
{
	struct session *s = p;

	(void)ms;
	return buf_len(&s->in) || s->sock->readable || s->sock->eof;
}

static ssize_t push(gnutls_transport_ptr_t p, const giovec_t *iov, int n)
{
	struct session *s = p;
	struct buf *out = s->capture ? s->capture : &s->out;
	size_t total = 0;
	int i;

	for (i = 0; i < n; i++)
		total += iov[i].iov_len;
	if (buf_reserve(s->pool, out, total) < 0) {
		gnutls_transport_set_errno(s->gs, ENOMEM);
		return -1;
	}
	for (i = 0; i < n; i++) {
		memcpy(out->data + out->end, iov[i].iov_base, iov[i].iov_len);
		out->end += iov[i].iov_len;
	}
	if (s->peer && s->peer->n_suites && !s->narrowed) { /* the first that goes out is the hello */
		s->narrowed = true;
		out->end = hello_narrow(out->data, out->end, s->peer->suites, s->peer->n_suites);
	}
	return (ssize_t)total;
}

/* --- set-up ------------------------------------------------------------------------ */

void session_keep_ticket(struct session *s)
{
	gnutls_datum_t data = { NULL, 0 };

	if (gnutls_session_get_data2(s->gs, &data) < 0)
		return;
	tickets_put(s->peer->tickets, &data);
	cert_wipe_datum(&data); /* empty when it was taken */
}

/* The largest plaintext that the peer takes (RFC 8449), out of its extensions.
 * gnutls_record_get_max_size does not tell. */
static int on_extension(void *arg, unsigned id, const unsigned char *data, unsigned size)
{
	struct session *s = arg;

	if (id == EXT_RECORD_SIZE_LIMIT && size == 2)
		s->peer_limit = (size_t)data[0] << 8 | data[1];
	return 0;
}

/* What a ServerHello says (RFC 5246, 7.4.1.3): the suite, behind random and session id;
 * behind compression the extensions. In TLS 1.3 the limit is not among them. */
static void read_server_hello(struct session *s, const gnutls_datum_t *hello)
{
	size_t at = 2 + 32;

	if (hello->size <= at)
		return;
	at += 1 + (size_t)hello->data[at] + 2 + 1;
	if (hello->size < at)
		return;
	s->suite = (uint16_t)(hello->data[at - 3] << 8 | hello->data[at - 2]);
	s->server_hello = true;
	if (hello->size > at)
		gnutls_ext_raw_parse(s, on_extension, &(gnutls_datum_t){ hello->data + at, hello->size - (unsigned)at }, 0);
}

/* Seen before GnuTLS takes it apart, which leaves little of it. Both kinds begin with
 * the lifetime in seconds (RFC 8446, 4.6.1; RFC 5077, 3.3: an empty one is of no use). */
static void count_ticket(struct session *s, const gnutls_datum_t *msg)
{
	const unsigned char *b = msg->data;
	bool empty = gnutls_protocol_get_version(s->gs) != GNUTLS_TLS1_3 && msg->size <= 6;

	if (msg->size < 4 || empty)
		return;
	int64_t lifetime = (int64_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];

	s->tickets_seen++;
	if (lifetime > s->ticket_lifetime_s)
		s->ticket_lifetime_s = lifetime;
}

static int on_message(gnutls_session_t gs, unsigned type, unsigned when, unsigned incoming, const gnutls_datum_t *msg)
{
	struct session *s = gnutls_session_get_ptr(gs);

	if (when == GNUTLS_HOOK_PRE) {
		if (incoming && type == GNUTLS_HANDSHAKE_NEW_SESSION_TICKET)
			count_ticket(s, msg);
		else if (incoming && type == GNUTLS_HANDSHAKE_SERVER_KEY_EXCHANGE)
			session_note_prime(s, msg);
		return 0;
	}
	if (!incoming) {
		s->hellos += type == GNUTLS_HANDSHAKE_CLIENT_HELLO;
		s->certificate_out |= type == GNUTLS_HANDSHAKE_CERTIFICATE_PKT;
		return 0;
	}
	if (type == GNUTLS_HANDSHAKE_CLIENT_HELLO) {
		gnutls_ext_raw_parse(s, on_extension, msg, GNUTLS_EXT_RAW_FLAG_TLS_CLIENT_HELLO);
		return s->config->sni ? sni_chosen(s) : 0;
	}
	if (type == GNUTLS_HANDSHAKE_ENCRYPTED_EXTENSIONS)
		gnutls_ext_raw_parse(s, on_extension, msg, 0);
	else if (type == GNUTLS_HANDSHAKE_SERVER_HELLO)
		read_server_hello(s, msg);
	else if (type == GNUTLS_HANDSHAKE_NEW_SESSION_TICKET && s->peer && s->peer->tickets &&
		 gnutls_protocol_get_version(gs) == GNUTLS_TLS1_3)
		session_keep_ticket(s);
	s->server_flight |= type == GNUTLS_HANDSHAKE_SERVER_HELLO_DONE || type == GNUTLS_HANDSHAKE_FINISHED;
	return s->server_flight && s->narrowed ? GNUTLS_E_NO_CIPHER_SUITES : 0; /* there is no way on */
}

static void setup_resumption(struct session *s)
{
	gnutls_datum_t data;

	if (tickets_take(s->peer->tickets, &data) == 0) {
		s->offered_ticket = gnutls_session_set_data(s->gs, data.data, data.size) == 0;
		cert_wipe_datum(&data);
	}
}

/* What does not go along is not lost: who asked for it learns that it was not sent. A
 * ticket that says nothing of early data allows none; GnuTLS has UINT32_MAX then. */
static void setup_early(struct session *s)
{
	size_t most = gnutls_record_get_max_early_data_size(s->gs);

	if (s->offered_ticket && most != UINT32_MAX && s->peer->early_size <= most)
		s->early_sent = gnutls_record_send_early_data(s->gs, s->peer->early, s->peer->early_size) >= 0;
}

static int setup_client(struct session *s, struct err *e)
{
	struct tls_config *c = s->config;
	int r = 0;

	if (c->psk_client)
		r = gnutls_credentials_set(s->gs, GNUTLS_CRD_PSK, c->psk_client);
	if (r == 0 && c->anon_client)
		r = gnutls_credentials_set(s->gs, GNUTLS_CRD_ANON, c->anon_client);
	if (s->peer->sni)
		gnutls_server_name_set(s->gs, GNUTLS_NAME_DNS, s->peer->sni, strlen(s->peer->sni));
	if (s->peer->tickets)
		setup_resumption(s);
	if (s->peer->early_size)
		setup_early(s);
	return r < 0 ? tlserr_set(e, ERR_RUNTIME, r, "cannot set up TLS") : 0;
}

static int setup_server(struct session *s, struct err *e)
{
	struct tls_config *c = s->config;
	int r = 0;

	if (c->psk_server)
		r = gnutls_credentials_set(s->gs, GNUTLS_CRD_PSK, c->psk_server);
	if (r == 0 && c->tickets)
		r = gnutls_session_ticket_enable_server(s->gs, &c->ticket_key);
	if (c->sni)
		sni_watch(s);
	if (c->client_certs)
		gnutls_certificate_server_set_request(s->gs, GNUTLS_CERT_REQUIRE);
	return r < 0 ? tlserr_set(e, ERR_RUNTIME, r, "cannot set up TLS") : 0;
}

static int setup(struct session *s, struct err *e)
{
	struct tls_config *c = s->config;
	int r;

	gnutls_session_set_ptr(s->gs, s);
	gnutls_transport_set_ptr(s->gs, s);
	gnutls_transport_set_pull_function(s->gs, pull);
	gnutls_transport_set_pull_timeout_function(s->gs, pull_timeout);
	gnutls_transport_set_vec_push_function(s->gs, push);
	r = gnutls_priority_set(s->gs, c->priority);
	if (r == 0 && c->cert)
		r = gnutls_credentials_set(s->gs, GNUTLS_CRD_CERTIFICATE, c->cert);
	if (r == 0 && c->n_alpn)
		r = gnutls_alpn_set_protocols(s->gs, c->alpn, (unsigned)c->n_alpn,
			c->role == TLS_SERVER ? GNUTLS_ALPN_MANDATORY | GNUTLS_ALPN_SERVER_PRECEDENCE : 0);
	if (r < 0)
		return tlserr_set(e, ERR_RUNTIME, r, "cannot set up TLS");
	gnutls_handshake_set_hook_function(s->gs, GNUTLS_HANDSHAKE_ANY, GNUTLS_HOOK_BOTH, on_message);
	if (c->keylog_fd >= 0)
		gnutls_session_set_keylog_function(s->gs, keylog_write);
	return c->role == TLS_CLIENT ? setup_client(s, e) : setup_server(s, e);
}

struct session *session_new(struct tls_config *c, struct sock *sock, struct buf_pool *pool,
	const struct session_peer *peer, struct err *e)
{
	struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	s->config = config_ref(c);
	s->sock = sock;
	s->pool = pool;
	s->peer = peer;
	s->plane = &plane_gnutls;
	s->in_size = READ_FIRST;
	s->ticket_lifetime_s = -1;
	r = gnutls_init(&s->gs, c->init_flags);
	if (r < 0) {
		s->gs = NULL;
		tlserr_set(e, ERR_RUNTIME, r, "cannot set up TLS");
	}
	if (r < 0 || setup(s, e) < 0) {
		session_free(s);
		return NULL;
	}
	return s;
}

void session_move(struct session *s, struct buf_pool *pool)
{
	if (s->plane->rest)
		s->plane->rest(s);
	s->pool = pool;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	s->plane->release(s);
	if (s->gs)
		gnutls_deinit(s->gs);
	buf_release_wiped(s->pool, &s->in);
	buf_release_wiped(s->pool, &s->out);
	buf_release_wiped(s->pool, &s->stage);
	config_unref(s->config);
	free(s->why);
	free(s);
}

/* --- for the planes ------------------------------------------------------------------- */

/* Tickets ride with the first response: a peer that only writes and closes
 * would answer them with a reset, which can destroy what it sent
 * (openssl issue 10880). */
int session_send_tickets(struct session *s)
{
	unsigned n = s->config->tickets;

	s->tickets_sent = true;
	if (s->config->role != TLS_SERVER || !n || gnutls_protocol_get_version(s->gs) != GNUTLS_TLS1_3)
		return 0;
	if (gnutls_session_is_resumed(s->gs))
		n = 1; /* the client used one up */
	return gnutls_session_ticket_send(s->gs, n, 0);
}
