/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <gnutls/crypto.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/tls/tls_int.h"
#include "tests/fuzz/fuzz.h"

/* What a peer can send to the direct record path, with the keys and without.
 *
 * The input is a row of parts: a byte for the kind, two for the length, the
 * bytes. Kind 0: the bytes as they are, on the wire. 1: sealed as a record's
 * inner plaintext, its last byte being the type; in TLS 1.2 that goes to the header.
 * 2: application data, sent by GnuTLS. 3: a KeyUpdate of GnuTLS's, in TLS 1.2 a
 * warning. Whatever comes, the receiver hands out what kind 2 sent and what kind 1
 * sent as application data, in order, and nothing else.
 *
 * The two upper bits of the first byte choose a variant. */

static const struct variant {
	int version;
	const char *suite;
} variants[4] = {
	{ 13, "TLS_AES_256_GCM_SHA384" },
	{ 13, "TLS_CHACHA20_POLY1305_SHA256" },
	{ 12, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256" },
	{ 12, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256" },
};

static struct tls_config *configs[4][2];

static void make_configs(const struct variant *v, struct tls_config **c)
{
	const char *suites[] = { v->suite };
	struct tls_options o[2] = {
		{ .role = TLS_CLIENT, .insecure_no_verify = true, .dataplane = TLS_DATAPLANE_GNUTLS },
		{ .role = TLS_SERVER, .dataplane = TLS_DATAPLANE_DIRECT },
	};
	struct err e;
	int i;

	for (i = 0; i < 2 && !c[i]; i++) {
		o[i].min_version = o[i].max_version = v->version;
		o[i].suites = (struct names_list){ suites, 1 };
		MUST((c[i] = config_new(&o[i], &e)) != NULL);
	}
}

struct wire {
	bool tls12;
	struct buf_pool *pool;
	struct sock sock[2]; /* 0: the attacker's, 1: the receiver's */
	struct session *s[2];
	struct session_peer peer;
	uint8_t sent[1 << 17]; /* application data that the receiver must show */
	size_t n_sent, n_got;
	bool dead;
};

static void open_wire(struct wire *w, unsigned variant)
{
	struct tls_config **c = configs[variant];
	struct err e;
	int fd[2], r[2] = { -1, -1 }, i, round;

	make_configs(&variants[variant], c);
	memset(w, 0, sizeof(*w));
	w->tls12 = variants[variant].version == 12;
	MUST((w->pool = buf_pool_new(1 << 20)) != NULL);
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0);
	for (i = 0; i < 2; i++) {
		sock_init(&w->sock[i], fd[i]);
		MUST((w->s[i] = session_new(c[i], &w->sock[i], w->pool, i ? NULL : &w->peer, &e)) != NULL);
	}
	for (round = 0; round < 20 && (r[0] || r[1]); round++)
		for (i = 0; i < 2; i++) {
			w->sock[i].readable = true;
			if (r[i])
				MUST((r[i] = session_handshake(w->s[i], &e)) != SOCK_FAILED);
		}
	MUST(r[0] == 0 && r[1] == 0 && w->s[1]->direct);
}

static void close_wire(struct wire *w)
{
	int i;

	for (i = 0; i < 2; i++) {
		session_free(w->s[i]);
		sock_close(&w->sock[i], false);
	}
	buf_pool_free(w->pool);
}

/* Takes what the receiver has, and holds it against what was sent. */
static void receive(struct wire *w)
{
	struct iovec iov[64];
	size_t total;
	struct err e;
	long n;
	int runs, i;

	while (!w->dead) {
		w->sock[1].readable = true;
		n = session_fill(w->s[1], &e);
		if (n == SOCK_BLOCKED)
			return;
		if (n <= 0) {
			w->dead = true;
			return;
		}
		runs = session_peek(w->s[1], iov, 64, &total);
		MUST(runs > 0 && total <= (size_t)n);
		for (i = 0; i < runs; i++) {
			MUST(w->n_got + iov[i].iov_len <= w->n_sent);
			MUST(memcmp(iov[i].iov_base, w->sent + w->n_got, iov[i].iov_len) == 0);
			w->n_got += iov[i].iov_len;
		}
		session_consume(w->s[1], total);
	}
}

static void expect(struct wire *w, const uint8_t *data, size_t n)
{
	MUST(w->n_sent + n <= sizeof(w->sent));
	memcpy(w->sent + w->n_sent, data, n);
	w->n_sent += n;
}

/* Seals with the state that GnuTLS has, and has it count the record. Returns the
 * record's size. */
static size_t seal(struct wire *w, uint8_t type, const uint8_t *plain, size_t n, uint8_t *record)
{
	uint8_t nonce[12], aad[13];
	gnutls_datum_t mac, iv, key;
	gnutls_aead_cipher_hd_t h;
	unsigned char seq[8];
	size_t size = n + 16, at = 5;
	int i;

	MUST(gnutls_record_get_state(w->s[0]->gs, 0, &mac, &iv, &key, seq) == 0);
	memcpy(nonce, iv.data, iv.size);
	for (i = 0; i < 8 && iv.size == 12; i++)
		nonce[4 + i] ^= seq[i];
	if (iv.size == 4) { /* RFC 5288, 3 */
		memcpy(record + at, seq, 8);
		memcpy(nonce + 4, seq, 8);
		at += 8;
	}
	memcpy(record, (uint8_t[]){ type, 3, 3, (uint8_t)((at - 5 + size) >> 8), (uint8_t)(at - 5 + size) }, 5);
	memcpy(aad, seq, 8); /* RFC 5246, 6.2.3.3 */
	memcpy(aad + 8, (uint8_t[]){ type, 3, 3, (uint8_t)(n >> 8), (uint8_t)n }, 5);
	MUST(gnutls_aead_cipher_init(&h, gnutls_cipher_get(w->s[0]->gs), &key) == 0);
	MUST(gnutls_aead_cipher_encrypt(h, nonce, 12, w->tls12 ? aad : record, w->tls12 ? 13 : 5, 16, plain, n, record + at,
		     &size) == 0);
	gnutls_aead_cipher_deinit(h);
	for (i = 7; i >= 0 && ++seq[i] == 0; i--)
		;
	MUST(gnutls_record_set_state(w->s[0]->gs, 0, seq) == 0);
	return at + size;
}

static void send_sealed(struct wire *w, const uint8_t *inner, size_t n)
{
	uint8_t record[5 + 17000];
	size_t size, end = n;

	if (n > 16700 || (w->tls12 && !n))
		return;
	size = w->tls12 ? seal(w, inner[n - 1], inner, n - 1, record) : seal(w, 23, inner, n, record);
	while (end && inner[end - 1] == 0 && !w->tls12)
		end--;
	if (end && inner[end - 1] == 23 && end - 1 <= 16384 && !w->dead)
		expect(w, inner, end - 1);
	if (send(w->sock[0].fd, record, size, MSG_NOSIGNAL) != (ssize_t)size)
		w->dead = true;
}

static void send_data(struct wire *w, const uint8_t *data, size_t n)
{
	struct err e;

	if (!n || n > 16384)
		return;
	if (gnutls_record_send(w->s[0]->gs, data, n) != (ssize_t)n)
		return;
	expect(w, data, n);
	session_flush(w->s[0], &e);
}

static void part(struct wire *w, uint8_t kind, const uint8_t *data, size_t n)
{
	struct err e;

	switch (kind & 3) {
	case 0:
		/* from here on nothing more can be expected to pass */
		if (n && send(w->sock[0].fd, data, n, MSG_NOSIGNAL) > 0) {
			receive(w);
			w->dead = true;
		}
		break;
	case 1:
		send_sealed(w, data, n);
		break;
	case 2:
		send_data(w, data, n);
		break;
	case 3:
		if (w->tls12)
			gnutls_alert_send(w->s[0]->gs, GNUTLS_AL_WARNING, GNUTLS_A_USER_CANCELED);
		else
			session_key_update(w->s[0], false);
		session_flush(w->s[0], &e);
		break;
	}
	receive(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wire w;
	size_t n;

	if (size > 60000)
		return 0;
	open_wire(&w, size ? data[0] >> 6 : 0);
	while (size >= 3 && !w.dead) {
		n = (size_t)data[1] << 8 | data[2];
		if (n > size - 3)
			n = size - 3;
		part(&w, data[0], data + 3, n);
		data += 3 + n;
		size -= 3 + n;
	}
	shutdown(w.sock[0].fd, SHUT_WR);
	receive(&w);
	close_wire(&w);
	return 0;
}
