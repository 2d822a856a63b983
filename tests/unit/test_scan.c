/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/probe/scan.h"
#include "tests/unit/net_util.h"
#include "tests/unit/tls_server.h"

/* Scans of servers whose settings are known. */

static struct pki_node leaf;
static struct tls_server server;
static struct scan_goal goal;
static struct scan *scan;
static int descriptors;

static void make(void)
{
	descriptors = open_descriptors();
	memset(&server, 0, sizeof(server));
	pki_node(&leaf, &(struct pki_spec){ .dn = "CN=localhost", .key = PKI_RSA_2048, .from_days = -1000, .to_days = 20000,
		.usage = GNUTLS_KEY_DIGITAL_SIGNATURE | GNUTLS_KEY_KEY_ENCIPHERMENT });
	server.chain[0] = &leaf;
	goal = (struct scan_goal){ .handshake_ms = 20000, .jobs = 3 };
}

static void drop(void)
{
	scan_free(scan);
	scan = NULL;
	pki_node_free(&leaf);
	cr_expect_eq(open_descriptors(), descriptors);
}

TestSuite(scan, .init = make, .fini = drop, .timeout = TEST_TIMEOUT);

static void run(const char *target)
{
	struct addr a;
	struct err e = { 0 };

	cr_assert_eq(addr_parse(&a, target, ADDR_CONNECT, &e), 0, "%s", e.msg);
	scan = scan_run(&goal, target, &a, &e);
	cr_assert_not_null(scan, "%s", e.msg);
	cr_expect_eq(scan->versions[OFFER_TLS1_0].taken == CHECK_YES, (scan_weak(scan) & OFFER_OLD) != 0);
}

static void run_server(const char *priority)
{
	server.priority = priority;
	tls_server_start(&server);
	run(peer_target(&server.peer, "localhost"));
	tls_server_end(&server);
	cr_expect_eq(scan_exit_code(scan), CHECK_OK, "%s", scan->fault.message);
	cr_expect(scan->complete);
	cr_expect_eq(scan->handshakes, (unsigned)server.peer.accepted);
}

static const struct scan_row *row(const struct scan_rows *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->rows[i].name, name) == 0)
			return &r->rows[i];
	cr_assert_fail("%s was not looked at", name);
	return NULL;
}

/* Those that are taken, in their places; names end with NULL. */
static void expect_taken(const struct scan_rows *r, enum scan_order order, const char *const *names)
{
	size_t n = 0, taken = 0;

	for (; names[n]; n++) {
		const struct scan_row *x = row(r, names[n]);

		cr_expect_eq(x->taken, CHECK_YES, "%s: %s", names[n], x->why);
		cr_expect(order != SCAN_ORDER_SERVER || x->place == n + 1, "%s is at %u", names[n], x->place);
	}
	for (size_t i = 0; i < r->n; i++) {
		taken += r->rows[i].taken == CHECK_YES;
		cr_expect_neq(r->rows[i].taken, CHECK_UNKNOWN, "%s: %s", r->rows[i].name, r->rows[i].why);
		cr_expect((r->rows[i].taken == CHECK_NO) == (r->rows[i].why != NULL));
	}
	cr_expect_eq(taken, n);
	cr_expect_eq(r->order, order);
}

#define NAMES(...) (const char *const[]){ __VA_ARGS__, NULL }

static void expect_versions(enum check_answer v13, enum check_answer v12, enum check_answer v11, enum check_answer v10)
{
	const enum check_answer expected[] = { v10, v11, v12, v13 };

	for (size_t v = 0; v < OFFER_VERSIONS; v++)
		cr_expect_eq(scan->versions[v].taken, expected[v], "%s: %d", offer_version_name(v), scan->versions[v].taken);
}

/* --- what is taken ------------------------------------------------------------------------ */

#define ALONE13 "NONE:+VERS-TLS1.3:+AES-256-GCM:+CHACHA20-POLY1305:+AEAD:+ECDHE-RSA:+SIGN-RSA-PSS-RSAE-SHA384:" \
	"+GROUP-SECP384R1:+COMP-NULL:%SERVER_PRECEDENCE"

/* Its one group comes by a HelloRetryRequest. */
Test(scan, tls13_alone)
{
	const struct scan_version *v = &(run_server(ALONE13), scan)->versions[OFFER_TLS1_3];

	expect_versions(CHECK_YES, CHECK_NO, CHECK_NO, CHECK_NO);
	expect_taken(&v->suites, SCAN_ORDER_SERVER, NAMES("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"));
	expect_taken(&v->groups, SCAN_ORDER_UNKNOWN, NAMES("SECP384R1"));
	expect_taken(&v->signatures, SCAN_ORDER_UNKNOWN, NAMES("RSA-PSS-RSAE-SHA384"));
	cr_expect_str_eq(row(&v->signatures, "RSA-PSS-RSAE-SHA384")->with, "RSA 2048");
	cr_expect_str_eq(row(&v->suites, "TLS_AES_256_GCM_SHA384")->with, "SECP384R1");
	cr_expect_eq(scan_weak(scan), 0);
	cr_expect_eq(scan->versions[OFFER_TLS1_2].suites.order, SCAN_ORDER_UNKNOWN);
	cr_expect_eq(scan->versions[OFFER_TLS1_2].groups.n, 0);
}

#define SQUARE12 "NONE:+VERS-TLS1.2:+AES-256-CBC:+AES-128-CBC:+SHA1:+RSA:+ECDHE-RSA:+SIGN-RSA-SHA256:+SIGN-RSA-SHA1:" \
	"+GROUP-SECP256R1:+GROUP-X25519:+COMP-NULL"

/* Two key exchanges and two ciphers: no priority string of a client has the first and the
 * last of them without the two between. */
Test(scan, tls12_in_the_servers_order)
{
	const struct scan_version *v = &(run_server(SQUARE12 ":%SERVER_PRECEDENCE"), scan)->versions[OFFER_TLS1_2];

	expect_versions(CHECK_NO, CHECK_YES, CHECK_NO, CHECK_NO);
	expect_taken(&v->suites, SCAN_ORDER_SERVER, NAMES("TLS_RSA_WITH_AES_256_CBC_SHA", "TLS_RSA_WITH_AES_128_CBC_SHA",
		"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"));
	expect_taken(&v->groups, SCAN_ORDER_SERVER, NAMES("SECP256R1", "X25519"));
	cr_expect_eq(row(&v->signatures, "RSA-SHA256")->taken, CHECK_YES);
	cr_expect_eq(row(&v->signatures, "RSA-SHA1")->taken, CHECK_YES);
	cr_expect_eq(row(&v->signatures, "RSA-SHA512")->taken, CHECK_NO);
	cr_expect_eq(scan_weak(scan), OFFER_STATIC_RSA | OFFER_SHA1);
}

Test(scan, tls12_as_the_client_likes)
{
	const struct scan_version *v = &(run_server(SQUARE12), scan)->versions[OFFER_TLS1_2];

	expect_taken(&v->suites, SCAN_ORDER_CLIENT, NAMES("TLS_RSA_WITH_AES_256_CBC_SHA", "TLS_RSA_WITH_AES_128_CBC_SHA",
		"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"));
	cr_expect_eq(v->groups.order, SCAN_ORDER_CLIENT);
}

Test(scan, old_versions)
{
	run_server("NONE:+VERS-TLS1.1:+VERS-TLS1.0:+AES-128-CBC:+3DES-CBC:+SHA1:+RSA:+DHE-RSA:+SIGN-ALL:+GROUP-FFDHE2048:+COMP-NULL");
	expect_versions(CHECK_NO, CHECK_NO, CHECK_YES, CHECK_YES);
	cr_expect_eq(scan_weak(scan), OFFER_OLD | OFFER_3DES | OFFER_STATIC_RSA);
	expect_taken(&scan->versions[OFFER_TLS1_1].groups, SCAN_ORDER_UNKNOWN, NAMES("FFDHE2048"));
	cr_expect_eq(scan->versions[OFFER_TLS1_0].groups.n, 0);
}

/* A server that wants a certificate fails every handshake in TLS 1.2. */
Test(scan, client_certificate)
{
	server.wants = GNUTLS_CERT_REQUIRE;
	run_server(SQUARE12 ":+VERS-TLS1.3:+AES-128-GCM:+AEAD:+SIGN-RSA-PSS-RSAE-SHA256:%SERVER_PRECEDENCE");
	expect_versions(CHECK_YES, CHECK_YES, CHECK_NO, CHECK_NO);
	cr_expect_eq(row(&scan->versions[OFFER_TLS1_2].suites, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA")->taken, CHECK_YES);
	cr_expect_eq(row(&scan->versions[OFFER_TLS1_2].groups, "X25519")->taken, CHECK_YES);
	cr_expect_eq(row(&scan->versions[OFFER_TLS1_2].signatures, "RSA-SHA256")->taken, CHECK_YES);
}

Test(scan, server_name)
{
	goal.servername = "www.example";
	goal.jobs = 1;
	run_server(ALONE13);
	cr_expect_str_eq(server.name, "www.example");
	cr_expect_str_eq(scan->servername, "www.example");
}

/* --- nobody, or nobody who speaks TLS -------------------------------------------------------- */

static void expect_fault(int code, enum check_stage stage, const char *part)
{
	cr_expect_eq(scan_exit_code(scan), code);
	cr_expect_eq(scan->fault.stage, stage);
	cr_assert_not_null(scan->fault.message);
	cr_expect(strstr(scan->fault.message, part), "%s", scan->fault.message);
	for (size_t v = 0; v < OFFER_VERSIONS; v++)
		cr_expect_neq(scan->versions[v].taken, CHECK_YES);
}

Test(scan, nobody)
{
	char target[64];

	snprintf(target, sizeof(target), "127.0.0.1:%u", peer_nobody());
	run(target);
	expect_fault(CHECK_CONNECT, CHECK_AT_CONNECT, "refused");
	cr_expect_eq(scan->handshakes, 1);
	cr_expect_not(scan->complete);
}

static void run_peer(peer_fn *serve, void *arg)
{
	struct peer p;

	peer_start(&p, serve, arg);
	run(peer_target(&p, "localhost"));
	peer_end(&p);
}

/* Each version is unknown, within the time for a handshake: all are asked at once. */
Test(scan, silence)
{
	uint64_t began = clock_mono_ns();

	goal.handshake_ms = 300;
	goal.jobs = 8;
	run_peer(peer_be_silent, NULL);
	expect_fault(CHECK_DEADLINE, CHECK_AT_HANDSHAKE, "no answer within 300ms");
	expect_versions(CHECK_UNKNOWN, CHECK_UNKNOWN, CHECK_UNKNOWN, CHECK_UNKNOWN);
	cr_expect_geq(clock_mono_ns() - began, 300 * NS_PER_MS);
	cr_expect_eq(scan->handshakes, OFFER_VERSIONS);
}

Test(scan, silence_for_all_of_it)
{
	goal.timeout_ms = 200;
	run_peer(peer_be_silent, NULL);
	expect_fault(CHECK_DEADLINE, CHECK_AT_HANDSHAKE, "timed out after 200ms");
	cr_expect_not(scan->complete);
}

Test(scan, a_server_that_closes)
{
	run_peer(peer_close, NULL);
	expect_fault(CHECK_HANDSHAKE, CHECK_AT_HANDSHAKE, "");
	expect_versions(CHECK_NO, CHECK_NO, CHECK_NO, CHECK_NO);
}

struct reply {
	const char *bytes;
	size_t n;
};

#define REPLY(bytes) (&(struct reply){ (bytes), sizeof(bytes) - 1 })

static void answer(struct peer *p, int fd)
{
	const struct reply *r = p->arg;
	char hello[4096];

	if (recv(fd, hello, sizeof(hello), 0) > 0)
		send(fd, r->bytes, r->n, MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	peer_wait_for_end(fd);
}

Test(scan, garbage)
{
	run_peer(answer, REPLY("\001\002 this is no record of TLS, nor anything else\n"));
	expect_fault(CHECK_HANDSHAKE, CHECK_AT_HANDSHAKE, "not TLS");
}

/* Any version is refused by an alert: that is TLS. */
Test(scan, refusals)
{
	run_peer(answer, REPLY("\025\003\001\000\002\002\106"));
	expect_fault(CHECK_HANDSHAKE, CHECK_AT_HANDSHAKE, "alert protocol_version (70)");
	expect_versions(CHECK_NO, CHECK_NO, CHECK_NO, CHECK_NO);
	cr_expect_null(scan->fault.hint);
}

/* Once: for those that still wait to be accepted nobody is there who catches it. */
static void interrupt(struct peer *p, int fd)
{
	if (p->accepted == 1)
		kill(getpid(), SIGINT);
	peer_be_silent(p, fd);
}

Test(scan, signal)
{
	run_peer(interrupt, NULL);
	expect_fault(CHECK_FAILED, CHECK_AT_HANDSHAKE, "interrupted");
	cr_expect_not(scan->complete);
}

/* Whether a hello of TLS 1.2 at the most offers this suite. */
static bool offers(const unsigned char *hello, size_t n, unsigned suite)
{
	size_t at = 5 + 4 + 2 + 32, i;

	if (n <= at || memmem(hello, n, "\x00\x2b\x00\x03\x02\x03\x04", 7) || hello[10] != 3)
		return false;
	at += 1 + hello[at];
	for (i = 0; at + 2 + i + 1 < n && i < ((size_t)hello[at] << 8 | hello[at + 1]); i += 2)
		if (((unsigned)hello[at + 2 + i] << 8 | hello[at + 3 + i]) == suite)
			return true;
	return false;
}

/* A handshake message in a record of its own. */
static void say(int fd, unsigned type, const void *body, size_t n)
{
	unsigned char m[2048] = { 22, 3, 3, (unsigned char)((n + 4) >> 8), (unsigned char)(n + 4), (unsigned char)type, 0,
		(unsigned char)(n >> 8), (unsigned char)n };

	cr_assert_leq(n + 9, sizeof(m));
	memcpy(m + 9, body, n);
	send(fd, m, n + 9, MSG_NOSIGNAL);
}

/* DHE with a prime of 512 bits, and nothing but that in TLS 1.2. */
static void say_small_prime(struct peer *p, int fd)
{
	static const unsigned char server_hello[2 + 32 + 1 + 2 + 1] = { 3, 3, [35] = 0x00, [36] = 0x33 };
	unsigned char hello[4096], crt[2000] = { 0 }, kx[2 + 64 + 3 + 2 + 64 + 4 + 256];
	ssize_t n = recv(fd, hello, sizeof(hello), 0);
	unsigned size = leaf.der.size;

	(void)p;
	memset(kx, 0xff, sizeof(kx));
	memcpy(kx, "\0\100", 2);
	memcpy(kx + 2 + 64, "\0\001\002\0\100\177", 6);
	memcpy(kx + 2 + 64 + 3 + 2 + 64, "\004\001\001\0", 4);
	crt[1] = (unsigned char)((size + 3) >> 8), crt[2] = (unsigned char)(size + 3);
	crt[4] = (unsigned char)(size >> 8), crt[5] = (unsigned char)size;
	memcpy(crt + 6, leaf.der.data, size);
	if (n > 0 && offers(hello, (size_t)n, 0x0033)) {
		say(fd, 2, server_hello, sizeof(server_hello));
		say(fd, 11, crt, size + 6);
		say(fd, 12, kx, sizeof(kx));
		say(fd, 14, "", 0);
	} else {
		send(fd, "\025\003\003\000\002\002\050", 7, MSG_NOSIGNAL);
	}
	shutdown(fd, SHUT_WR);
	peer_wait_for_end(fd);
}

/* This side gives up before it has seen the signature: that is no refusal of schemes. */
Test(scan, a_prime_that_nobody_takes)
{
	const struct scan_version *v;

	run_peer(say_small_prime, NULL);
	v = &scan->versions[OFFER_TLS1_2];
	cr_expect_eq(v->taken, CHECK_YES);
	cr_expect_eq(row(&v->suites, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA")->taken, CHECK_YES);
	cr_expect_eq(row(&v->suites, "TLS_RSA_WITH_AES_128_CBC_SHA")->taken, CHECK_NO);
	for (size_t i = 0; i < v->signatures.n; i++)
		cr_expect_eq(v->signatures.rows[i].taken, CHECK_UNKNOWN, "%s", v->signatures.rows[i].why);
	cr_expect_str_eq(row(&v->suites, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA")->with, "DH 512");
	cr_expect_eq(row(&v->groups, "DH 512, its own prime")->taken, CHECK_YES);
	cr_expect(scan_weak(scan) & OFFER_SMALL_GROUP);
}

/* One server for all of it, which is silent after what it does not like. */
static void sulk(struct peer *p, int fd)
{
	struct tls_server *s = p->arg;
	unsigned char hello[4096];
	ssize_t n = recv(fd, hello, sizeof(hello), MSG_PEEK);

	/* a hello of TLS 1.3 is as long as only key shares make it */
	if (n > 0 && memmem(hello, (size_t)n, "\x00\x2b\x00\x03\x02\x03\x04", 7))
		s->peer.serve(&s->peer, fd);
	else
		peer_wait_for_end(fd);
}

Test(scan, silence_about_old_versions)
{
	struct peer p;

	goal.handshake_ms = 700;
	goal.jobs = 1; /* since this server has one thread */
	server.priority = ALONE13;
	tls_server_start(&server);
	peer_start(&p, sulk, &server);
	run(peer_target(&p, "localhost"));
	peer_end(&p);
	tls_server_end(&server);
	expect_versions(CHECK_YES, CHECK_UNKNOWN, CHECK_UNKNOWN, CHECK_UNKNOWN);
	cr_expect_eq(scan_exit_code(scan), CHECK_OK);
	cr_expect(scan->complete);
	cr_expect(strstr(scan->versions[OFFER_TLS1_2].why, "no answer within"));
	cr_expect_eq(row(&scan->versions[OFFER_TLS1_2].suites, "TLS_RSA_WITH_AES_128_CBC_SHA")->taken, CHECK_UNKNOWN);
}

static bool crowded; /* one came while another was at work */

/* It has had enough for the moment, and says so in the one way that is left before TLS. */
static void limit(struct peer *p, int fd)
{
	struct tls_server *s = p->arg;

	crowded |= poll(&(struct pollfd){ .fd = p->fd, .events = POLLIN }, 1, 0) > 0;
	if (p->accepted % 3 != 0)
		s->peer.serve(&s->peer, fd);
}

/* What it does not get to hear it has not refused. */
Test(scan, a_server_with_a_limit)
{
	struct peer p;
	const struct scan_version *v = NULL;

	goal.jobs = 1; /* since this server has one thread */
	server.priority = SQUARE12 ":%SERVER_PRECEDENCE";
	tls_server_start(&server);
	peer_start(&p, limit, &server);
	run(peer_target(&p, "localhost"));
	peer_end(&p);
	tls_server_end(&server);
	v = &scan->versions[OFFER_TLS1_2];
	expect_versions(CHECK_NO, CHECK_YES, CHECK_NO, CHECK_NO);
	cr_expect(strstr(scan->versions[OFFER_TLS1_3].why, "alert"), "%s", scan->versions[OFFER_TLS1_3].why);
	expect_taken(&v->suites, SCAN_ORDER_SERVER, NAMES("TLS_RSA_WITH_AES_256_CBC_SHA", "TLS_RSA_WITH_AES_128_CBC_SHA",
		"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"));
	expect_taken(&v->groups, SCAN_ORDER_SERVER, NAMES("SECP256R1", "X25519"));
	cr_expect_eq(scan->handshakes, (unsigned)p.accepted);
	cr_expect_not(crowded, "one job is one connection at a time");
}

Test(scan, a_certificate_that_is_not_there)
{
	struct addr a;
	struct err e = { 0 };

	goal.cert = "/nonexistent/cert.pem";
	cr_assert_eq(addr_parse(&a, "127.0.0.1:1", ADDR_CONNECT, &e), 0);
	cr_assert_null(scan_run(&goal, "x", &a, &e));
	cr_expect_eq(e.kind, ERR_CONFIG);
	cr_expect(strstr(e.msg, "/nonexistent/cert.pem"), "%s", e.msg);
}
