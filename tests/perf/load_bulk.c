/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "load.h"

/* sink and source: as many bytes as go, one way. Either listens or connects,
 * so that both directions of a tunnel can be loaded. */

#define CHUNK (128u * 1024)
#define SINK_MAX (1024u * 1024)
#define TURNS 8 /* calls in a row for one stream before the others have theirs */

static char chunk[SINK_MAX]; /* never written: only its size matters to the sink */
static uint64_t moved;
static int streams;
static struct watch listener;

static void stream_gone(struct watch *w)
{
	loop_close(w);
	free(w);
	streams--;
}

/* MSG_TRUNC: the kernel drops the bytes, and the copy is not paid for. */
static void sink_ready(struct watch *w, uint32_t events)
{
	(void)events;
	for (int i = 0; i < TURNS; i++) {
		ssize_t n = recv(w->fd, chunk, sizeof(chunk), MSG_TRUNC);

		if (n > 0) {
			moved += (uint64_t)n;
			continue;
		}
		if (n == 0 || !net_again())
			stream_gone(w);
		return;
	}
}

static void source_ready(struct watch *w, uint32_t events)
{
	if (events & (EPOLLERR | EPOLLHUP)) {
		stream_gone(w);
		return;
	}
	for (int i = 0; i < TURNS; i++) {
		ssize_t n = send(w->fd, chunk, CHUNK, MSG_NOSIGNAL);

		if (n < 0) {
			if (!net_again())
				stream_gone(w);
			return;
		}
		moved += (uint64_t)n;
	}
}

/* --- both ------------------------------------------------------------------------ */

static void (*stream_ready)(struct watch *w, uint32_t events);
static uint32_t stream_events;

static void stream_new(int fd)
{
	struct watch *w = must_alloc(1, sizeof(*w));

	w->fd = fd;
	w->ready = stream_ready;
	streams++;
	loop_watch(w, stream_events);
}

static void on_listener(struct watch *w, uint32_t events)
{
	int fd = net_accept(w->fd);

	(void)events;
	if (fd >= 0)
		stream_new(fd);
}

static void start(const struct load_opts *o)
{
	if (o->listen_port >= 0) {
		listener.fd = net_listen(o->listen_port);
		listener.ready = on_listener;
		loop_watch(&listener, EPOLLIN);
		return;
	}
	for (int i = 0; i < o->conns; i++) {
		int fd = net_connect(o->connect_port, o->sources);

		if (fd < 0)
			die("cannot connect: %s", strerror(errno));
		stream_new(fd);
	}
}

static void sink_start(const struct load_opts *o)
{
	stream_ready = sink_ready;
	stream_events = EPOLLIN;
	start(o);
}

static void source_start(const struct load_opts *o)
{
	stream_ready = source_ready;
	stream_events = EPOLLOUT;
	start(o);
}

static void bulk_command(const char *line)
{
	if (strcmp(line, "mark") != 0)
		die("unknown command \"%s\"", line);
	printf("{\"seconds\":%.9f,\"bytes\":%llu,\"open\":%d}\n", interval_s(), (unsigned long long)moved, streams);
	moved = 0;
}

const struct load_role load_sink = {
	.name = "sink", .help = "reads and forgets", .start = sink_start, .command = bulk_command,
};

const struct load_role load_source = {
	.name = "source", .help = "writes as fast as it goes", .start = source_start, .command = bulk_command,
};
