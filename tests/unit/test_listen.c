/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "lib/net/listen.h"
#include "lib/net/sock.h"
#include "tests/unit/fake_dns.h"
#include "tests/unit/net_util.h"

TestSuite(listen, .timeout = TEST_TIMEOUT);

static struct addr parsed(const char *text)
{
	struct addr a;
	struct err e;

	cr_assert_eq(addr_parse(&a, text, ADDR_LISTEN, &e), 0, "%s", e.msg);
	return a;
}

static struct listener must_listen(const char *text)
{
	struct addr a = parsed(text);
	struct listener l;
	struct err e;

	cr_assert_eq(listen_open(&l, &a, 16, &e), 0, "%s", e.msg);
	return l;
}

/* The message. */
static const char *must_fail(const char *text)
{
	static struct err e;
	struct addr a = parsed(text);
	struct listener l;

	cr_assert_eq(listen_open(&l, &a, 16, &e), -1, "%s", text);
	cr_assert_eq(e.kind, ERR_CONFIG);
	cr_assert_eq(l.n, 0);
	cr_assert_not_null(strstr(e.msg, text), "names the address: %s", e.msg);
	return e.msg;
}

static int accepted(int fd, struct sockaddr_storage *ss, socklen_t *len)
{
	*len = sizeof(*ss);
	return sock_accept(fd, (struct sockaddr *)ss, len);
}

static bool have_ipv6(void)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&in6, sizeof(in6)) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

static unsigned port_of(const struct listener *l, int i)
{
	char text[ADDR_TEXT_SIZE];

	return (unsigned)atoi(strrchr(listen_name(l, i, text), ':') + 1);
}

/* --- TCP --------------------------------------------------------------------- */

static bool is_tuned(int fd)
{
	int nodelay = 0, keepalive = 0;
	socklen_t len = sizeof(int);

	getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &len);
	getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &keepalive, &len);
	return nodelay && keepalive && fcntl(fd, F_GETFL) & O_NONBLOCK && fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

/* A client of family comes in at descriptor i; its name is printed in that
 * family. */
static void check_accept(const struct listener *l, int i, int family)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port_of(l, i)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = in.sin_port,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int c = socket(family, SOCK_STREAM, 0), s;
	char text[ADDR_TEXT_SIZE];
	struct sockaddr_storage ss;
	socklen_t len;

	cr_assert_eq(accepted(l->fd[i], &ss, &len), -1);
	cr_assert_eq(errno, EAGAIN);
	if (family == AF_INET)
		cr_assert_eq(connect(c, (struct sockaddr *)&in, sizeof(in)), 0);
	else
		cr_assert_eq(connect(c, (struct sockaddr *)&in6, sizeof(in6)), 0);
	s = accepted(l->fd[i], &ss, &len);
	cr_assert_geq(s, 0);
	cr_assert(is_tuned(s));
	addr_format_sockaddr((struct sockaddr *)&ss, len, text);
	cr_assert_eq(strncmp(text, family == AF_INET ? "127.0.0.1:" : "[::1]:", 6), 0, "%s", text);
	close(c);
	close(s);
}

static const struct {
	const char *text;
	bool v4, v6; /* what can connect */
} tcp[] = {
	{ "0", true, true },
	{ "localhost:0", true, true },
	{ ":0", true, true },
	{ "127.0.0.1:0", true, false },
	{ "0.0.0.0:0", true, false },
	{ "[::1]:0", false, true },
	{ "[::]:0", false, true },
	{ "4a6a.fake.test:0", true, true },
	{ "tls:6a4a.fake.test:0", true, true },
};

Test(listen, every_way_to_write_a_port)
{
	bool ipv6 = have_ipv6();

	for (size_t i = 0; i < sizeof(tcp) / sizeof(tcp[0]); i++) {
		bool any = strcmp(tcp[i].text, ":0") == 0;
		struct listener l;
		int n = any ? 1 : tcp[i].v4 + tcp[i].v6;

		/* loopback leaves a family out, what names it does not */
		if (!ipv6 && tcp[i].v6 && i > 2)
			continue;
		l = must_listen(tcp[i].text);
		cr_assert_eq(l.n, ipv6 || any ? n : 1, "%s: %d", tcp[i].text, l.n);
		cr_assert_neq(port_of(&l, 0), 0);
		for (int k = 0; k < l.n; k++) {
			struct sockaddr_storage ss;
			socklen_t len = sizeof(ss);

			cr_assert_eq(port_of(&l, k), port_of(&l, 0), "one port for all");
			cr_assert(is_tuned(l.fd[k]));
			getsockname(l.fd[k], (struct sockaddr *)&ss, &len);
			if (ss.ss_family == AF_INET || any)
				check_accept(&l, k, AF_INET);
			if (ss.ss_family == AF_INET6)
				check_accept(&l, k, AF_INET6);
		}
		listen_close(&l);
		listen_close(&l);
		cr_assert_eq(l.n, 0);
	}
}

Test(listen, what_is_in_use)
{
	static const char *const ways[] = { "", ":", "127.0.0.1:", "localhost:" };
	struct listener l = must_listen("0");
	unsigned port = port_of(&l, 0);

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s%u", ways[i], port);
		cr_assert_not_null(strstr(must_fail(text), "in use"));
	}
	listen_close(&l);
	/* A family in use is no missing family, and the other one is closed again. */
	if (have_ipv6()) {
		char text[64];
		int before;

		l = must_listen("[::1]:0");
		snprintf(text, sizeof(text), "%u", port_of(&l, 0));
		before = open_descriptors();
		must_fail(text);
		cr_assert_eq(open_descriptors(), before);
		listen_close(&l);
	}
}

/* A connection that is still closing does not keep the port. */
Test(listen, port_can_be_taken_over)
{
	struct listener l = must_listen("127.0.0.1:0");
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port_of(&l, 0)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int c = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_storage ss;
	char text[64];
	socklen_t len;

	cr_assert_eq(connect(c, (struct sockaddr *)&in, sizeof(in)), 0);
	close(accepted(l.fd[0], &ss, &len)); /* TIME_WAIT is on this side */
	close(c);
	snprintf(text, sizeof(text), "127.0.0.1:%u", port_of(&l, 0));
	listen_close(&l);
	l = must_listen(text);
	listen_close(&l);
}

Test(listen, failures_say_why)
{
	cr_assert_not_null(strstr(must_fail("192.0.2.77:1025"), "no interface of this machine"));
	cr_assert_not_null(strstr(must_fail("again.fake.test:0"), "cannot resolve again.fake.test"));
	must_fail("-");
	/* root may listen anywhere */
	if (getuid() != 0)
		cr_assert_not_null(strstr(must_fail("127.0.0.1:1"), "below 1024"));
	else if (fork() == 0) {
		struct addr a = parsed("127.0.0.1:1");
		struct listener l;
		struct err e;

		if (setuid(65534) != 0 || listen_open(&l, &a, 1, &e) == 0)
			_exit(0); /* a container may allow it */
		_exit(strstr(e.msg, "below 1024") == NULL);
	} else {
		int status;

		wait(&status);
		cr_assert_eq(status, 0);
	}
}

Test(listen, no_descriptor_left)
{
	struct listener l = must_listen("127.0.0.1:0");
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port_of(&l, 0)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int c = socket(AF_INET, SOCK_STREAM, 0), s = dup(c);
	struct rlimit lim, low;
	struct sockaddr_storage ss;
	socklen_t len;

	cr_assert_eq(connect(c, (struct sockaddr *)&in, sizeof(in)), 0);
	close(s);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &lim), 0);
	low = (struct rlimit){ .rlim_cur = (rlim_t)s, .rlim_max = lim.rlim_max };
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	cr_assert_eq(accepted(l.fd[0], &ss, &len), -1);
	cr_assert_eq(errno, EMFILE);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &lim), 0);
	s = accepted(l.fd[0], &ss, &len);
	cr_assert_geq(s, 0, "it waited in the backlog");
	close(s);
	close(c);
	listen_close(&l);
}

/* --- unix ---------------------------------------------------------------------- */

struct place {
	char dir[32], path[48], text[64];
};

static void place_make(struct place *p)
{
	strcpy(p->dir, "/tmp/tlskit-listen-XXXXXX");
	cr_assert_not_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/sock", p->dir);
	snprintf(p->text, sizeof(p->text), "unix:%s", p->path);
}

static void place_remove(const struct place *p)
{
	unlink(p->path);
	rmdir(p->dir);
}

static bool there(const struct place *p)
{
	return access(p->path, F_OK) == 0;
}

static int bound_unix(const struct place *p, int type)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type, 0);

	strcpy(un.sun_path, p->path);
	cr_assert_eq(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	return fd;
}

Test(listen, unix_socket_comes_and_goes)
{
	char text[ADDR_TEXT_SIZE];
	struct listener l;
	struct place p;

	place_make(&p);
	for (int i = 0; i < 2; i++) {
		l = must_listen(p.text);
		cr_assert_eq(l.n, 1);
		cr_assert_str_eq(listen_name(&l, 0, text), p.text);
		cr_assert(fcntl(l.fd[0], F_GETFL) & O_NONBLOCK);
		cr_assert_not_null(strstr(must_fail(p.text), "in use"));
		cr_assert(there(&p), "the failure left it alone");
		listen_close(&l);
		cr_assert_not(there(&p));
		listen_close(&l);
	}
	place_remove(&p);
}

Test(listen, unix_socket_left_over_is_replaced)
{
	struct listener l;
	struct place p;

	place_make(&p);
	close(bound_unix(&p, SOCK_STREAM));
	cr_assert(there(&p));
	l = must_listen(p.text);
	listen_close(&l);
	cr_assert_not(there(&p));
	place_remove(&p);
}

/* What is somebody else's stays: another kind of file, a socket of another
 * type that is open, a link to anything, and what took our place. */
Test(listen, unix_paths_of_others_are_left_alone)
{
	struct listener l;
	struct place p;
	int fd;

	place_make(&p);
	close(open(p.path, O_CREAT | O_WRONLY, 0600));
	cr_assert_not_null(strstr(must_fail(p.text), "not a socket"));
	cr_assert(there(&p));
	unlink(p.path);
	cr_assert_eq(mkdir(p.path, 0700), 0);
	must_fail(p.text);
	cr_assert(there(&p));
	rmdir(p.path);
	cr_assert_eq(symlink("/nonexistent/x", p.path), 0);
	must_fail(p.text);
	unlink(p.path);
	fd = bound_unix(&p, SOCK_DGRAM);
	cr_assert_not_null(strstr(must_fail(p.text), "in use"));
	close(fd);
	unlink(p.path);
	l = must_listen(p.text);
	unlink(p.path);
	close(open(p.path, O_CREAT | O_WRONLY, 0600));
	listen_close(&l);
	cr_assert(there(&p));
	place_remove(&p);
}

Test(listen, abstract_name)
{
	char name[64], text[ADDR_TEXT_SIZE];
	struct listener l;

	snprintf(name, sizeof(name), "unix:@tlskit-listen-%d", getpid());
	for (int i = 0; i < 2; i++) {
		l = must_listen(name);
		cr_assert_str_eq(listen_name(&l, 0, text), name);
		must_fail(name);
		listen_close(&l);
	}
	cr_assert_not_null(strstr(must_fail("unix:/nonexistent/x"), "No such file"));
}
