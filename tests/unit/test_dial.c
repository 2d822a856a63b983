/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>

#include "lib/net/dial.h"
#include "tests/unit/fake_dns.h"
#include "tests/unit/net_util.h"

TestSuite(dial, .timeout = TEST_TIMEOUT);

static struct addr parsed(const char *text)
{
	struct addr a;
	struct err e;

	cr_assert_eq(addr_parse(&a, text, ADDR_TARGET, &e), 0, "%s", e.msg);
	return a;
}

static struct addr parsed_port(const char *host, unsigned port)
{
	char text[128];

	snprintf(text, sizeof(text), "%s%u", host, port);
	return parsed(text);
}

struct outcome {
	struct loop *loop;
	struct dial *dial;
	int called, fd;
	char to[ADDR_TEXT_SIZE];
	struct err err;
	uint64_t took_ms;
};

static void note(void *arg, int fd, const struct sockaddr *sa, socklen_t len, const struct err *e)
{
	struct outcome *o = arg;

	o->called++;
	o->fd = fd;
	cr_assert_eq(fd < 0, e != NULL);
	cr_assert_eq(fd < 0, sa == NULL);
	if (fd >= 0)
		addr_format_sockaddr(sa, len, o->to);
	else
		o->err = *e;
	dial_cancel(o->dial); /* does nothing in here */
	loop_stop(o->loop);
}

static void start(struct outcome *o, struct loop *l, const struct addr *a, const struct resolved *r,
	struct dial_options opt)
{
	struct err e;

	*o = (struct outcome){ .loop = l, .fd = -1 };
	o->dial = r != NULL ? dial_start_resolved(l, a, r, &opt, note, o, &e) : dial_start(l, a, &opt, note, o, &e);
	cr_assert_not_null(o->dial, "%s", e.msg);
	cr_assert_eq(o->called, 0, "not from inside");
}

static struct outcome dial(const struct addr *a, const struct resolved *r, struct dial_options opt)
{
	struct loop *l = must_loop();
	uint64_t begin = clock_mono_ns();
	struct outcome o;

	start(&o, l, a, r, opt);
	must_run(l);
	cr_assert_eq(o.called, 1);
	o.took_ms = (clock_mono_ns() - begin) / NS_PER_MS;
	loop_free(l);
	return o;
}

static void add(struct resolved *r, const struct sockaddr_in *in)
{
	memcpy(&r->at[r->n].sa, in, sizeof(*in));
	r->at[r->n++].len = sizeof(*in);
}

/* A port where nobody listens: one that was free a moment ago. */
static struct sockaddr_in refusing(void)
{
	struct sockaddr_in in;

	close(listen_v4(&in, 1));
	return in;
}

/* A listener whose backlog is full, so that a SYN goes unanswered. */
struct hole {
	struct sockaddr_in in;
	int fd, filler[4];
};

static void hole_open(struct hole *h)
{
	h->fd = listen_v4(&h->in, 0);
	for (int i = 0; i < 4; i++) {
		h->filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(h->filler[i], (struct sockaddr *)&h->in, sizeof(h->in));
	}
}

static void hole_close(struct hole *h)
{
	for (int i = 0; i < 4; i++)
		close(h->filler[i]);
	close(h->fd);
}

/* --- it works --------------------------------------------------------------- */

Test(dial, every_way_to_write_an_address)
{
	static const char *const ways[] = { "", "127.0.0.1:", "localhost:", "x.localhost:", "4a.fake.test:",
		"6a4a.fake.test.:", "slow.fake.test:" };
	struct sockaddr_in in;
	int l = listen_v4(&in, 20);

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct addr a = parsed_port(ways[i], ntohs(in.sin_port));
		struct outcome o = dial(&a, NULL, (struct dial_options){ .timeout_ms = 5000 });
		char expected[ADDR_TEXT_SIZE], c;
		int nodelay = 0, s;
		socklen_t len = sizeof(nodelay);

		cr_assert_geq(o.fd, 0, "%s: %s", ways[i], o.err.msg);
		snprintf(expected, sizeof(expected), "127.0.0.1:%u", ntohs(in.sin_port));
		cr_assert_str_eq(o.to, expected);
		cr_assert(fcntl(o.fd, F_GETFL) & O_NONBLOCK);
		cr_assert(fcntl(o.fd, F_GETFD) & FD_CLOEXEC);
		getsockopt(o.fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &len);
		cr_assert(nodelay);
		s = accept(l, NULL, NULL);
		cr_assert_eq(write(o.fd, "x", 1), 1);
		cr_assert_eq(read(s, &c, 1), 1);
		close(s);
		close(o.fd);
	}
	close(l);
}

Test(dial, family)
{
	struct sockaddr_in in;
	int l = listen_v4(&in, 4);
	struct addr a = parsed_port("6a4a.fake.test:", ntohs(in.sin_port));
	struct outcome o = dial(&a, NULL, (struct dial_options){ .family = RESOLVE_V4 });

	cr_assert_geq(o.fd, 0);
	close(o.fd);
	o = dial(&a, NULL, (struct dial_options){ .family = RESOLVE_V6 });
	cr_assert_eq(o.err.kind, ERR_CONNECT, "%s", o.err.msg);
	cr_assert_null(strstr(o.err.msg, "127.0.0.1"));
	a = parsed("127.0.0.1:80");
	o = dial(&a, NULL, (struct dial_options){ .family = RESOLVE_V6 });
	cr_assert_eq(o.err.kind, ERR_RESOLVE);
	close(l);
}

static int listen_unix(const struct addr *a, int backlog)
{
	struct sockaddr_storage ss;
	socklen_t len = addr_unix_sockaddr(a, &ss);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	cr_assert_eq(bind(fd, (struct sockaddr *)&ss, len), 0, "%s", strerror(errno));
	cr_assert_eq(listen(fd, backlog), 0);
	return fd;
}

Test(dial, unix_sockets)
{
	char dir[] = "/tmp/tlskit-dial-XXXXXX", path[64], name[64];
	const char *const texts[] = { path, name };

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "unix:%s/s", dir);
	snprintf(name, sizeof(name), "unix:@%s", dir);
	for (int i = 0; i < 2; i++) {
		struct addr a = parsed(texts[i]);
		struct outcome o = dial(&a, NULL, (struct dial_options){ 0 });
		int l;

		cr_assert_eq(o.err.kind, ERR_CONNECT);
		cr_assert_not_null(strstr(o.err.msg, texts[i]), "%s", o.err.msg);
		l = listen_unix(&a, 4);
		o = dial(&a, NULL, (struct dial_options){ 0 });
		cr_assert_geq(o.fd, 0, "%s", o.err.msg);
		cr_assert_str_eq(o.to, texts[i]);
		close(o.fd);
		close(l);
	}
	unlink(path + 5);
	rmdir(dir);
}

static void accept_one(void *arg)
{
	close(accept(*(int *)arg, NULL, NULL));
}

/* A full backlog is no refusal: it is tried again as long as there is time. */
Test(dial, unix_backlog)
{
	struct loop *loop = must_loop();
	char text[64];
	struct outcome o;
	struct loop_timer *t;
	struct addr a;
	int l, c;

	snprintf(text, sizeof(text), "unix:@tlskit-dial-%d", getpid());
	a = parsed(text);
	l = listen_unix(&a, 0);
	o = dial(&a, NULL, (struct dial_options){ 0 });
	c = o.fd;
	cr_assert_geq(c, 0);
	o = dial(&a, NULL, (struct dial_options){ .timeout_ms = 50 });
	cr_assert_eq(o.err.kind, ERR_TIMEOUT, "%s", o.err.msg);
	cr_assert_geq(o.took_ms, 50);
	t = loop_timer_new(loop, accept_one, &l);
	loop_timer_set(t, 30);
	start(&o, loop, &a, NULL, (struct dial_options){ .timeout_ms = 5000 });
	must_run(loop);
	cr_assert_geq(o.fd, 0, "%s", o.err.msg);
	close(o.fd);
	close(c);
	close(l);
	loop_timer_free(t);
	loop_free(loop);
}

/* --- several addresses ------------------------------------------------------- */

Test(dial, refused_goes_on_at_once)
{
	struct resolved r = { 0 };
	struct addr a = parsed("db.example:5432");
	struct sockaddr_in good, bad;
	int l = listen_v4(&good, 4);
	struct outcome o;

	for (int i = 0; i < 5; i++) {
		bad = refusing();
		add(&r, &bad);
	}
	add(&r, &good);
	o = dial(&a, &r, (struct dial_options){ .timeout_ms = 5000 });
	cr_assert_geq(o.fd, 0, "%s", o.err.msg);
	cr_assert_lt(o.took_ms, DIAL_STAGGER_MS);
	close(o.fd);
	close(l);
}

Test(dial, silent_address_is_overtaken)
{
	struct resolved r = { 0 };
	struct addr a = parsed("db.example:5432");
	struct sockaddr_in good, bad = refusing();
	int l = listen_v4(&good, 4), before = open_descriptors();
	struct outcome o;
	char to[64];
	struct hole h;

	hole_open(&h);
	add(&r, &h.in);
	add(&r, &bad);
	add(&r, &good);
	o = dial(&a, &r, (struct dial_options){ .timeout_ms = 5000 });
	cr_assert_geq(o.fd, 0, "%s", o.err.msg);
	snprintf(to, sizeof(to), "127.0.0.1:%u", ntohs(good.sin_port));
	cr_assert_str_eq(o.to, to);
	cr_assert_geq(o.took_ms, DIAL_STAGGER_MS);
	cr_assert_lt(o.took_ms, 2 * DIAL_STAGGER_MS, "the refusal after it costs nothing");
	close(o.fd);
	hole_close(&h);
	cr_assert_eq(open_descriptors(), before, "the one that lost is closed");
	close(l);
}

/* --- it fails ----------------------------------------------------------------- */

Test(dial, each_address_is_named)
{
	struct addr a = parsed("db.example:5432"), literal;
	struct sockaddr_in bad[2] = { refusing(), refusing() };
	struct resolved r = { 0 };
	char expected[300];
	struct outcome o;

	add(&r, &bad[0]);
	add(&r, &bad[1]);
	o = dial(&a, &r, (struct dial_options){ 0 });
	cr_assert_eq(o.err.kind, ERR_CONNECT);
	snprintf(expected, sizeof(expected),
		"cannot connect to db.example:5432: 127.0.0.1:%u: Connection refused; 127.0.0.1:%u: Connection refused",
		ntohs(bad[0].sin_port), ntohs(bad[1].sin_port));
	cr_assert_str_eq(o.err.msg, expected);
	literal = parsed_port("127.0.0.1:", ntohs(bad[0].sin_port));
	o = dial(&literal, NULL, (struct dial_options){ 0 });
	snprintf(expected, sizeof(expected), "cannot connect to 127.0.0.1:%u: Connection refused",
		ntohs(bad[0].sin_port));
	cr_assert_str_eq(o.err.msg, expected, "a literal is named once");
}

Test(dial, as_many_reasons_as_fit)
{
	struct addr a = parsed("db.example:5432");
	struct sockaddr_in bad = refusing();
	struct resolved r = { 0 };
	struct outcome o;
	size_t n;

	while (r.n < RESOLVE_MAX)
		add(&r, &bad);
	o = dial(&a, &r, (struct dial_options){ 0 });
	n = strlen(o.err.msg);
	cr_assert_eq(o.err.kind, ERR_CONNECT);
	cr_assert(n > 300 && n < sizeof(o.err.msg) - 1, "%s", o.err.msg);
	cr_assert_str_eq(o.err.msg + n - strlen("refused; …"), "refused; …");
}

Test(dial, no_address)
{
	struct addr a = parsed("db.example:5432");
	struct resolved none = { 0 };
	struct outcome o = dial(&a, &none, (struct dial_options){ 0 });

	cr_assert_eq(o.err.kind, ERR_RESOLVE);
	a = parsed("again.fake.test:1");
	o = dial(&a, NULL, (struct dial_options){ 0 });
	cr_assert_eq(o.err.kind, ERR_RESOLVE);
	cr_assert_not_null(strstr(o.err.msg, "again.fake.test"), "%s", o.err.msg);
}

Test(dial, deadline)
{
	struct addr a = parsed("db.example:5432"), slow = parsed("slow.fake.test:1");
	struct sockaddr_in bad = refusing();
	struct resolved r = { 0 };
	struct outcome o;
	struct hole h;

	hole_open(&h);
	add(&r, &bad);
	add(&r, &h.in);
	o = dial(&a, &r, (struct dial_options){ .timeout_ms = 40 });
	cr_assert_eq(o.err.kind, ERR_TIMEOUT);
	cr_assert_eq(strncmp(o.err.msg, "cannot connect to db.example:5432: no answer within 40ms (127.0.0.1:", 68), 0,
		"%s", o.err.msg);
	cr_assert(o.took_ms >= 40 && o.took_ms < 200);
	o = dial(&slow, NULL, (struct dial_options){ .timeout_ms = 10 });
	cr_assert_eq(o.err.kind, ERR_TIMEOUT);
	cr_assert_str_eq(o.err.msg, "cannot resolve slow.fake.test: no answer within 10ms");
	hole_close(&h);
}

/* --- cancelled ------------------------------------------------------------------ */

Test(dial, cancelled_in_any_state)
{
	struct addr names[3] = { parsed("slow.fake.test:1"), parsed("4a.fake.test:1"), parsed("127.0.0.1:1") };
	struct sockaddr_in good, bad = refusing();
	int l = listen_v4(&good, 100), before;
	struct hole h;

	hole_open(&h);
	before = open_descriptors();
	for (int i = 0; i < 60; i++) {
		struct loop *loop = must_loop();
		struct resolved r = { 0 };
		struct outcome o;

		add(&r, &h.in);
		add(&r, i % 2 ? &bad : &good);
		start(&o, loop, &names[i % 3], i % 6 < 3 ? NULL : &r, (struct dial_options){ .timeout_ms = 1000 });
		/* at once, after some turns, when the stagger is over */
		if (i % 5 > 0)
			run_for(loop, i % 10 == 9 ? DIAL_STAGGER_MS + 10 : (uint64_t)(i % 5));
		if (o.called == 0)
			dial_cancel(o.dial);
		else if (o.fd >= 0)
			close(o.fd);
		o.called = 0;
		run_for(loop, 2);
		cr_assert_eq(o.called, 0);
		loop_free(loop);
	}
	cr_assert_eq(open_descriptors(), before);
	dial_cancel(NULL);
	hole_close(&h);
	close(l);
}
