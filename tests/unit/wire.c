/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/wire.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/pair.h"

unsigned char wire_pattern(int side, uint64_t i)
{
	return (unsigned char)(i * 7 + (i >> 9) + (uint64_t)side * 91);
}

size_t wire_move(struct wire *w, int from, size_t max)
{
	ssize_t n = recv(w->near[from], w->keep[from] + w->kept[from], sizeof(w->keep[from]) - w->kept[from], 0);
	size_t m;

	if (n > 0 && w->tap)
		w->tap(w->tap_arg, from, w->keep[from] + w->kept[from], (size_t)n);
	if (n > 0)
		w->kept[from] += (size_t)n;
	m = w->kept[from] < max ? w->kept[from] : max;
	n = m ? send(w->near[1 - from], w->keep[from], m, 0) : 0;
	if (n <= 0)
		return 0;
	memmove(w->keep[from], w->keep[from] + n, w->kept[from] - (size_t)n);
	w->kept[from] -= (size_t)n;
	return (size_t)n;
}

void wire_ready(struct wire *w)
{
	w->sock[0].readable = w->sock[0].writable = w->sock[1].readable = w->sock[1].writable = true;
}

static void shake(struct wire *w)
{
	int r[2] = { -1, -1 }, i, round;

	for (round = 0; round < 100 && (r[0] || r[1]); round++)
		for (i = 0; i < 2; i++) {
			wire_ready(w);
			if (r[i])
				r[i] = session_handshake(w->s[i], &w->err);
			cr_assert(r[i] != SOCK_FAILED, "%s", w->err.msg);
			wire_move(w, i, sizeof(w->keep[i]));
		}
	cr_assert(r[0] == 0 && r[1] == 0);
}

void wire_open(struct wire *w, enum tls_dataplane client, enum tls_dataplane server, const char *suite)
{
	struct tls_options o[2] = { pair_options(TLS_CLIENT), pair_options(TLS_SERVER) };
	const char *list[] = { suite };
	int i, fd[2];

	*w = (struct wire){ .tap = w->tap, .tap_arg = w->tap_arg, .before = w->before };
	w->pool = buf_pool_new(1 << 20);
	o[0].insecure_no_verify = true;
	o[0].dataplane = client;
	o[1].dataplane = server;
	o[0].suites = o[1].suites = (struct names_list){ list, 1 };
	for (i = 0; i < 2; i++) {
		w->config[i] = config_new(&o[i], &w->err);
		cr_assert(w->config[i], "%s", w->err.msg);
		cr_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0);
		sock_init(&w->sock[i], fd[0]);
		w->near[i] = fd[1];
		w->s[i] = session_new(w->config[i], &w->sock[i], w->pool, i ? NULL : &w->peer, &w->err);
		cr_assert(w->s[i]);
	}
	if (w->before)
		w->before(w);
	shake(w);
}

void wire_close(struct wire *w)
{
	int i;

	for (i = 0; i < 2; i++) {
		session_free(w->s[i]);
		sock_close(&w->sock[i], false);
		close(w->near[i]);
		config_unref(w->config[i]);
	}
	buf_pool_free(w->pool);
}

void wire_say(struct wire *w, int side, size_t n)
{
	struct iovec iov[64]; /* as many as a relay */
	size_t total, done = 0, k;
	int runs = session_reserve(w->s[side], iov, 64, &total), i;

	cr_assert(runs >= 0);
	if (!runs)
		return;
	for (i = 0; i < runs && done < n; i++)
		for (k = 0; k < iov[i].iov_len && done < n; k++)
			((unsigned char *)iov[i].iov_base)[k] = wire_pattern(side, w->sent[side] + done++);
	cr_assert_eq(session_commit(w->s[side], done, done == total, &w->err), 0, "%s", w->err.msg);
	w->sent[side] += done;
}

void wire_flush(struct wire *w, int side)
{
	wire_ready(w);
	cr_assert(session_flush(w->s[side], &w->err) != SOCK_FAILED, "%s", w->err.msg);
}

long wire_take(struct wire *w, int side, size_t max)
{
	struct iovec iov[64];
	size_t total, done = 0, k;
	int runs, i;
	long n;

	wire_ready(w);
	n = session_fill(w->s[side], &w->err);
	if (n <= 0)
		return n;
	runs = session_peek(w->s[side], iov, 64, &total);
	cr_assert(total > 0 && total <= (size_t)n);
	for (i = 0; i < runs && done < max; i++)
		for (k = 0; k < iov[i].iov_len && done < max; k++, done++)
			cr_assert(((unsigned char *)iov[i].iov_base)[k] == wire_pattern(1 - side, w->got[side] + done));
	session_consume(w->s[side], done);
	w->got[side] += done;
	return (long)done;
}

size_t wire_hear(struct wire *w, int side, size_t max)
{
	long n = wire_take(w, side, max);

	cr_assert(n > 0 || n == SOCK_BLOCKED, "%ld %s", n, w->err.msg);
	return n > 0 ? (size_t)n : 0;
}

void wire_settle(struct wire *w, size_t step)
{
	int i, idle = 0;
	size_t moved;

	while (idle < 20) {
		moved = 0;
		for (i = 0; i < 2; i++) {
			wire_flush(w, i);
			moved += wire_move(w, i, step);
			moved += wire_hear(w, 1 - i, 1 << 20);
		}
		idle = moved ? 0 : idle + 1;
	}
	cr_assert_eq(w->got[0], w->sent[1]);
	cr_assert_eq(w->got[1], w->sent[0]);
}
