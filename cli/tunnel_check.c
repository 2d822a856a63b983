/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "cli/tunnel_modes.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/net/dial.h"
#include "lib/net/loop.h"
#include "lib/net/sock.h"
#include "lib/relay/target.h"
#include "lib/tls/session.h"

#define REJECTION_WAIT_MS 1000 /* in TLS 1.3 a server refuses a client after the client's handshake is over */

struct check {
	struct target target;
	struct tls_config *tls;
	uint64_t handshake_ms;
	struct loop *loop;
	struct buf_pool *pool;
	struct loop_watch *watch;
	struct loop_timer *timer;
	struct sock sock;
	struct session *session;
	struct session_info info;
	char where[ADDR_TEXT_SIZE];
	uint64_t started, connected, shaken;
	bool asking; /* the handshake is done; does the server stay with it? */
	bool ok;
	struct err err;
};

static void end(struct check *c, bool ok)
{
	c->ok = ok;
	loop_stop(c->loop);
}

/* A server that has looked at our certificate answers close_notify, or an
 * alert; one that has nothing to say yet stays silent. */
static void ask(struct check *c)
{
	long n;

	while ((n = session_fill(c->session, &c->err)) > 0)
		session_consume(c->session, (size_t)n);
	if (n == 0 || (n == SOCK_FAILED && c->err.kind == ERR_TRUNCATED))
		end(c, true);
	else if (n == SOCK_FAILED)
		end(c, false);
}

static void shake(struct check *c)
{
	int r = session_handshake(c->session, &c->err);

	if (r == SOCK_BLOCKED)
		return;
	if (r == SOCK_FAILED) {
		struct err ignored;

		session_flush(c->session, &ignored);
		end(c, false);
		return;
	}
	c->shaken = clock_mono_ns();
	session_info(c->session, &c->info);
	if (session_close_notify(c->session, &c->err) < 0 || session_flush(c->session, &c->err) == SOCK_FAILED) {
		end(c, false);
	} else if (!c->info.client_certificate_requested) {
		end(c, true);
	} else {
		c->asking = true;
		loop_timer_set(c->timer, REJECTION_WAIT_MS);
		ask(c);
	}
}

static void on_ready(void *arg, unsigned ready)
{
	struct check *c = arg;

	c->sock.readable |= (ready & LOOP_READ) != 0;
	c->sock.writable |= (ready & LOOP_WRITE) != 0;
	if (c->asking)
		ask(c);
	else
		shake(c);
}

static void on_timer(void *arg)
{
	struct check *c = arg;
	char text[32];

	if (!c->asking)
		err_set(&c->err, ERR_TIMEOUT, "timed out: no handshake within %s (--handshake-timeout)",
			units_duration(c->handshake_ms, text, sizeof(text)));
	end(c, c->asking);
}

static int start_tls(struct check *c, int fd)
{
	sock_init(&c->sock, fd);
	if (!c->tls)
		return 1;
	c->sock.readable = false;
	c->session = session_new(c->tls, &c->sock, c->pool, &c->target.peer, &c->err);
	if (!c->session)
		return -1;
	c->watch = loop_watch_new(c->loop, fd, on_ready, c, &c->err);
	if (!c->watch)
		return -1;
	if (c->handshake_ms)
		loop_timer_set(c->timer, c->handshake_ms);
	return 0;
}

static void on_dialed(void *arg, int fd, const struct sockaddr *sa, socklen_t len, const struct err *e)
{
	struct check *c = arg;
	int r;

	if (fd < 0) {
		c->err = *e;
		end(c, false);
		return;
	}
	c->connected = clock_mono_ns();
	addr_format_sockaddr(sa, len, c->where);
	r = start_tls(c, fd);
	if (r == 0)
		shake(c);
	else
		end(c, r > 0);
}

static const char *trust_text(const struct check *c)
{
	if (c->info.by_psk)
		return "by the pre-shared key";
	switch (config_trust(c->tls)) {
	case CONFIG_TRUST_NONE:
		return "NOT VERIFIED (--insecure-no-verify)";
	case CONFIG_TRUST_PIN:
		return "by its pin";
	case CONFIG_TRUST_CHAIN_AND_PIN:
		return "by its chain, its name and its pin";
	default:
		return "by its chain and its name";
	}
}

static void print_tls(const struct check *c)
{
	struct session_certificate cert;
	char pin[CERT_PIN_TEXT], day[CLOCK_RFC3339_SIZE];

	printf("handshake    %.1f ms: %s, %s", (double)(c->shaken - c->connected) / 1e6, c->info.version, c->info.ciphersuite);
	if (c->info.group)
		printf(", %s", c->info.group);
	if (c->info.signature)
		printf(", %s", c->info.signature);
	printf("\n");
	if (session_certificate(c->session, &cert) == 0) {
		clock_rfc3339(cert.not_after * 1000, day);
		day[10] = '\0';
		printf("certificate  %s\n", cert.subject[0] ? cert.subject : "(no subject)");
		printf("issuer       %s\n", cert.issuer[0] ? cert.issuer : "(no issuer)");
		printf("valid until  %s\n", day);
		printf("pin          %s\n", cert_pin_format(cert.pin, pin));
	}
	if (c->info.alpn[0])
		printf("alpn         %s\n", c->info.alpn);
	printf("verified     %s\n", trust_text(c));
}

static int print(const struct check *c)
{
	printf("target       %s%s\n", c->target.addr.tls ? "tls:" : "", c->target.name);
	if (c->connected)
		printf("connect      %.1f ms to %s\n", (double)(c->connected - c->started) / 1e6, c->where);
	if (c->shaken)
		print_tls(c);
	printf("result       %s\n", c->ok ? "ok" : "FAILED");
	if (fflush(stdout) != 0)
		return 1;
	if (c->ok)
		return 0;
	fprintf(stderr, "tlskit tunnel: %s\n", c->err.msg);
	return err_exit_code(&c->err);
}

int tunnel_modes_check(const struct addr *target, struct tls_config *tls, uint64_t connect_ms, uint64_t handshake_ms)
{
	struct check c = { .tls = tls, .handshake_ms = handshake_ms, .sock = { .fd = -1 } };
	struct dial_options o = { .timeout_ms = connect_ms };
	struct dial *d = NULL;
	int code;

	if (target->kind == ADDR_STDIO) {
		fprintf(stderr, "tlskit tunnel: --check needs a TARGET that can be connected to\n");
		return 2;
	}
	if (target_init(&c.target, target, tls, &c.err) < 0) {
		fprintf(stderr, "tlskit tunnel: %s\n", c.err.msg);
		return err_exit_code(&c.err);
	}
	c.started = clock_mono_ns();
	c.loop = loop_new(&c.err);
	c.pool = buf_pool_new(1 << 20);
	c.timer = c.loop ? loop_timer_new(c.loop, on_timer, &c) : NULL;
	if (c.loop && c.pool && c.timer)
		d = dial_start(c.loop, target, &o, on_dialed, &c, &c.err);
	if (d && loop_run(c.loop, &c.err) < 0)
		c.ok = false;
	code = print(&c);
	session_free(c.session);
	target_free(&c.target);
	loop_watch_free(c.watch);
	sock_close(&c.sock, false);
	loop_timer_free(c.timer);
	buf_pool_free(c.pool);
	loop_free(c.loop);
	return code;
}
