/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "cli/tunnel_modes.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/units.h"
#include "lib/net/listen.h"
#include "lib/net/resolve.h"
#include "lib/relay/tunnel.h"

#define DEMO_BYTES (64u << 20)
#define DEMO_CHUNK (128u << 10)
#define DEMO_SEED  0x9e3779b97f4a7c15ULL
#define DEMO_CONNS 2 /* the second one resumes the first one's session */

/* Three parts, each on its own thread: an echo service, a tunnel with tls: in
 * front of it, and a tunnel with tls: towards that. The main thread is the user. */
struct demo {
	struct listener echo;
	struct addr echo_addr, any, server_addr, client_addr;
	struct tls_config *server_tls, *client_tls;
	struct tunnel *server, *client;
	pthread_t echo_thread, server_thread, client_thread, send_thread;
	bool echo_on, server_on, client_on;
	pthread_mutex_t lock; /* of what the client tunnel said last */
	pthread_cond_t said;
	bool closed;
	char session[160]; /* "" when the relay failed */
	int user; /* the connection in use */
};

static int write_all(int fd, const unsigned char *p, size_t n)
{
	while (n) {
		ssize_t r = send(fd, p, n, MSG_NOSIGNAL);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		p += r;
		n -= (size_t)r;
	}
	return 0;
}

/* --- the echo service ---------------------------------------------------------- */

static void echo_one(int fd)
{
	unsigned char *p = malloc(DEMO_CHUNK);
	ssize_t n;

	while (p && (n = recv(fd, p, DEMO_CHUNK, 0)) > 0)
		if (write_all(fd, p, (size_t)n) < 0)
			break;
	free(p);
	close(fd);
}

static void *echo_run(void *arg)
{
	struct demo *d = arg;
	int i, fd;

	for (i = 0; i < DEMO_CONNS; i++) {
		fd = accept(d->echo.fd[0], NULL, NULL);
		if (fd < 0)
			break;
		echo_one(fd);
	}
	return NULL;
}

/* --- what the tunnel says ------------------------------------------------------------ */

static void ignore_close(void *arg, const struct relay_report *r)
{
	(void)arg, (void)r;
}

static void note_close(void *arg, const struct relay_report *r)
{
	struct demo *d = arg;

	pthread_mutex_lock(&d->lock);
	d->closed = true;
	d->session[0] = '\0';
	if (!r->stage && r->info)
		snprintf(d->session, sizeof(d->session), "%s, %s, %s, %s session", r->info->version, r->info->ciphersuite,
			r->info->group ? r->info->group : "no group", r->info->resumed ? "a resumed" : "a new");
	pthread_cond_signal(&d->said);
	pthread_mutex_unlock(&d->lock);
}

/* 0 with the session's facts on stdout, or -1. */
static int print_session(struct demo *d, struct err *e)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	pthread_mutex_lock(&d->lock);
	while (!d->closed && r == 0)
		r = pthread_cond_timedwait(&d->said, &d->lock, &until);
	r = d->closed && d->session[0] ? 0 : -1;
	if (r == 0)
		printf("         over %s\n", d->session);
	d->closed = false;
	pthread_mutex_unlock(&d->lock);
	return r == 0 ? 0 : err_set(e, ERR_RUNTIME, "the client tunnel did not end its connection well");
}

/* --- the tunnels ------------------------------------------------------------------ */

static void *tunnel_thread(void *arg)
{
	struct err e;

	tunnel_run(arg, &e);
	return NULL;
}

static int own_address(const struct listener *l, struct addr *out, struct err *e)
{
	char name[ADDR_TEXT_SIZE];

	return addr_parse(out, listen_name(l, 0, name), ADDR_TARGET, e);
}

static struct tunnel *open_tunnel(struct demo *d, const struct addr *target, struct tls_config *front,
	struct tls_config *back, unsigned threads, struct err *e)
{
	struct tunnel_options o = {
		.listen = &d->any,
		.targets = target,
		.n_targets = 1,
		.front_tls = front,
		.back_tls = back,
		.handshake_timeout_ms = 10000,
		.connect_timeout_ms = 10000,
		.drain_ms = 5000,
		.threads = threads,
		.on_close = back ? note_close : ignore_close,
		.on_close_arg = d,
	};

	return tunnel_open(&o, e);
}

static int make_tls(struct demo *d, char pin[CERT_PIN_TEXT], struct err *e)
{
	const char *pins[] = { pin };
	struct tls_options server = { .role = TLS_SERVER, .min_version = 12, .max_version = 13, .tickets = 2 };
	struct tls_options client = { .role = TLS_CLIENT, .min_version = 12, .max_version = 13, .pins = { pins, 1 } };

	d->server_tls = config_new(&server, e);
	if (!d->server_tls)
		return -1;
	cert_pin_format(config_ephemeral_pin(d->server_tls), pin);
	d->client_tls = config_new(&client, e);
	return d->client_tls ? 0 : -1;
}

static int start_thread(pthread_t *t, bool *on, void *(*fn)(void *), void *arg, struct err *e)
{
	int r = pthread_create(t, NULL, fn, arg);

	if (r)
		return err_sys(e, ERR_RUNTIME, r, "cannot start a thread");
	*on = true;
	return 0;
}

static int start(struct demo *d, unsigned threads, struct err *e)
{
	char pin[CERT_PIN_TEXT], a[ADDR_TEXT_SIZE], b[ADDR_TEXT_SIZE];

	if (addr_parse(&d->any, "127.0.0.1:0", ADDR_LISTEN, e) < 0 || listen_open(&d->echo, &d->any, 16, e) < 0 ||
		own_address(&d->echo, &d->echo_addr, e) < 0)
		return -1;
	fcntl(d->echo.fd[0], F_SETFL, fcntl(d->echo.fd[0], F_GETFL) & ~O_NONBLOCK);
	if (start_thread(&d->echo_thread, &d->echo_on, echo_run, d, e) < 0 || make_tls(d, pin, e) < 0)
		return -1;
	d->server = open_tunnel(d, &d->echo_addr, d->server_tls, NULL, threads, e);
	if (!d->server || own_address(tunnel_listener(d->server), &d->server_addr, e) < 0)
		return -1;
	d->client = open_tunnel(d, &d->server_addr, NULL, d->client_tls, threads, e);
	if (!d->client || own_address(tunnel_listener(d->client), &d->client_addr, e) < 0)
		return -1;
	printf("service  echo on %s\n", addr_format(&d->echo_addr, a));
	printf("server   tlskit tunnel tls:%s %s\n", addr_format(&d->server_addr, a), addr_format(&d->echo_addr, b));
	printf("client   tlskit tunnel %s tls:%s \\\n           --pin %s\n", addr_format(&d->client_addr, a),
		addr_format(&d->server_addr, b), pin);
	fflush(stdout);
	if (start_thread(&d->server_thread, &d->server_on, tunnel_thread, d->server, e) < 0 ||
		start_thread(&d->client_thread, &d->client_on, tunnel_thread, d->client, e) < 0)
		return -1;
	return 0;
}

static void stop(struct demo *d)
{
	if (d->client_on) {
		tunnel_stop(d->client);
		pthread_join(d->client_thread, NULL);
	}
	if (d->server_on) {
		tunnel_stop(d->server);
		pthread_join(d->server_thread, NULL);
	}
	if (d->echo_on) {
		shutdown(d->echo.fd[0], SHUT_RDWR); /* ends an accept that nobody will serve */
		pthread_join(d->echo_thread, NULL);
	}
	listen_close(&d->echo);
	tunnel_free(d->client);
	tunnel_free(d->server);
	config_unref(d->client_tls);
	config_unref(d->server_tls);
}

/* --- the user --------------------------------------------------------------------- */

/* A stream of bytes that both sides of the comparison make for themselves
 * (xorshift64). */
static void next_bytes(uint64_t *state, unsigned char *out, size_t n)
{
	uint64_t x = *state;
	size_t i;

	for (i = 0; i + sizeof(x) <= n; i += sizeof(x)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(out + i, &x, sizeof(x));
	}
	*state = x;
}

static void *send_run(void *arg)
{
	struct demo *d = arg;
	unsigned char *p = malloc(DEMO_CHUNK);
	uint64_t state = DEMO_SEED;
	size_t left;

	for (left = p ? DEMO_BYTES : 0; left; left -= DEMO_CHUNK) {
		next_bytes(&state, p, DEMO_CHUNK);
		if (write_all(d->user, p, DEMO_CHUNK) < 0)
			break;
	}
	shutdown(d->user, SHUT_WR);
	free(p);
	return NULL;
}

/* Reads to the end; the number of bytes that came and were right. */
static uint64_t receive(struct demo *d)
{
	unsigned char *got = malloc(DEMO_CHUNK), *want = malloc(DEMO_CHUNK);
	uint64_t state = DEMO_SEED, total = 0;
	ssize_t n = 1;

	while (got && want && n > 0) {
		n = recv(d->user, got, DEMO_CHUNK, MSG_WAITALL);
		next_bytes(&state, want, DEMO_CHUNK);
		if (n > 0 && memcmp(got, want, (size_t)n) != 0)
			break;
		total += n > 0 ? (uint64_t)n : 0;
	}
	free(got);
	free(want);
	return total;
}

static int carry(struct demo *d, struct err *e)
{
	struct resolved to;
	uint64_t started = clock_mono_ns(), got;
	char text[32];
	double s, gbit_s;

	if (!resolve_now(&d->client_addr, RESOLVE_ANY, &to))
		return err_set(e, ERR_RUNTIME, "the client tunnel's address is no literal");
	d->user = socket(to.at[0].sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (d->user < 0 || connect(d->user, (struct sockaddr *)&to.at[0].sa, to.at[0].len) < 0)
		return err_sys(e, ERR_CONNECT, errno, "cannot connect to the client tunnel");
	if (pthread_create(&d->send_thread, NULL, send_run, d))
		return err_set(e, ERR_RUNTIME, "cannot start a thread");
	got = receive(d);
	pthread_join(d->send_thread, NULL);
	close(d->user);
	s = (double)(clock_mono_ns() - started) / 1e9;
	if (got != DEMO_BYTES)
		return err_set(e, ERR_RUNTIME, "what came back is not what was sent: %llu of %u bytes were right",
			(unsigned long long)got, DEMO_BYTES);
	gbit_s = (double)got * 8 / s / 1e9;
	printf("carried  %s there and back in %.2f s (%.*f Gbit/s each way), every byte as sent\n",
		units_bytes(got, text, sizeof(text)), s, gbit_s < 0.1 ? 3 : 1, gbit_s);
	return print_session(d, e);
}

int tunnel_modes_demo(unsigned threads)
{
	struct demo d = { .user = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .said = PTHREAD_COND_INITIALIZER };
	struct err e = { 0 };
	int i, r = start(&d, threads, &e);

	for (i = 0; i < DEMO_CONNS && r == 0; i++)
		r = carry(&d, &e);
	stop(&d);
	if (r < 0) {
		fprintf(stderr, "tlskit tunnel: the demo failed: %s\n", e.msg);
		return 1;
	}
	printf("done     the same between two machines: tlskit tunnel tls::8443 127.0.0.1:PORT\n"
	       "         there, and here the line that it prints\n");
	return fflush(stdout) == 0 ? 0 : 1;
}
