/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

#define TICK_NS 100000000u

static int epoll_fd = -1;
static bool finished;
static const struct load_role *running;

/* The events of this turn: what is closed on the way is struck from them. */
static struct epoll_event batch[256];
static int batch_at, batch_len;

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double interval_s(void)
{
	static uint64_t last;
	uint64_t now = now_ns();
	double s = (double)(now - last) / 1e9;

	last = now;
	return s;
}

void loop_watch(struct watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (events == w->events)
		return;
	if (epoll_ctl(epoll_fd, w->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, w->fd, &ev) != 0)
		die("epoll_ctl: %s", strerror(errno));
	w->events = events;
}

void loop_close(struct watch *w)
{
	for (int i = batch_at; i < batch_len; i++)
		if (batch[i].data.ptr == w)
			batch[i].data.ptr = NULL;
	close(w->fd);
	w->fd = -1;
	w->events = 0;
}

/* --- standard input ----------------------------------------------------------- */

static void on_stdin(struct watch *w, uint32_t events)
{
	static char line[256];
	static size_t len;
	ssize_t n = read(w->fd, line + len, sizeof(line) - 1 - len);
	char *end;

	(void)events;
	if (n <= 0) {
		finished = n == 0 || !net_again();
		return;
	}
	len += (size_t)n;
	line[len] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end++ = '\0';
		running->command(line);
		len -= (size_t)(end - line);
		memmove(line, end, len + 1);
	}
	if (len == sizeof(line) - 1)
		die("a line of standard input is too long");
	fflush(stdout);
}

/* --- the loop ------------------------------------------------------------------ */

static void turn(uint64_t until)
{
	uint64_t now = now_ns();
	int wait_ms = until <= now ? 0 : (int)((until - now) / 1000000u + 1);

	batch_len = epoll_wait(epoll_fd, batch, sizeof(batch) / sizeof(batch[0]), wait_ms);
	for (batch_at = 0; batch_at < batch_len;) {
		struct epoll_event *ev = &batch[batch_at++];
		struct watch *w = ev->data.ptr;

		if (w)
			w->ready(w, ev->events);
	}
}

void loop_run(const struct load_role *role, const struct load_opts *o)
{
	struct watch control = { .fd = 0, .ready = on_stdin };
	uint64_t end = UINT64_MAX, tick;

	running = role;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		die("epoll_create1: %s", strerror(errno));
	if (o->seconds > 0)
		end = now_ns() + (uint64_t)(o->seconds * 1e9);
	else
		loop_watch(&control, EPOLLIN);
	role->start(o);
	fflush(stdout);
	interval_s();
	for (tick = now_ns() + TICK_NS; !finished && now_ns() < end;) {
		turn(tick < end ? tick : end);
		if (now_ns() >= tick) {
			tick = now_ns() + TICK_NS;
			if (role->tick)
				role->tick();
		}
	}
	if (!finished)
		role->command("mark");
}
