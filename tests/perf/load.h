/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_PERF_LOAD_H
#define TLSKIT_TESTS_PERF_LOAD_H

/* The load generator of tests/perf/peers: plain sockets, TLS only where a
 * server's handshakes are what is measured. One thread, one epoll loop, state
 * in the file of its role: a process has one role and ends with it. */

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct load_opts {
	int listen_port; /* -1: not asked for; 0: a free one, printed */
	int connect_port; /* -1: not asked for */
	int conns;
	int window; /* messages under way a connection */
	size_t size_bytes; /* of a message */
	int sources; /* how many addresses of 127.0.1.0/24 to connect from; 0: leave it to the system */
	bool tls, resume, bare;
	const char *ca, *name, *priority;
	double seconds; /* 0: until standard input ends */
};

/* A role prints one line of JSON an answer. Lines of standard input are given
 * to command; "mark" asks for what happened since the last mark. */
struct load_role {
	const char *name, *help;
	bool no_port; /* neither listens nor connects */
	void (*start)(const struct load_opts *o);
	void (*command)(const char *line);
	void (*tick)(void); /* every 0.1 s; may be NULL */
};

extern const struct load_role load_sink, load_source, load_echo_server, load_echo_client, load_storm, load_hold,
	load_awake;

_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *must_alloc(size_t n, size_t size);

/* --- load_loop.c ------------------------------------------------------------ */

/* A descriptor in the loop; the first member of what the role keeps for it. */
struct watch {
	int fd;
	uint32_t events; /* 0: not in the loop */
	void (*ready)(struct watch *w, uint32_t events);
};

uint64_t now_ns(void);
double interval_s(void); /* seconds since the last call, or since the start */
void loop_watch(struct watch *w, uint32_t events); /* adds it, or changes what it waits for */
void loop_close(struct watch *w); /* out of the loop and closed; no call for it comes any more */
void loop_run(const struct load_role *role, const struct load_opts *o);

/* --- load_net.c ------------------------------------------------------------- */

int net_listen(int port); /* prints {"listening":PORT} */
int net_accept(int fd); /* -1: nobody there */
int net_connect(int port, int sources); /* under way, not blocking; -1 with errno */
int net_error(int fd); /* how a connect ended: 0 or an errno */
bool net_again(void); /* errno says: later */

/* --- load_hist.c ------------------------------------------------------------ */

/* Log-linear: 128 steps an octave, so a bucket's middle is within 0.4 % of
 * each sample in it. Every sample counts, none is dropped. */
struct hist {
	uint64_t count, max;
	uint64_t buckets[(64 - 7 + 1) * 128];
};

void hist_add(struct hist *h, uint64_t value);
void hist_clear(struct hist *h);
uint64_t hist_quantile(const struct hist *h, double q);

/* --- load_client.c ---------------------------------------------------------- */

enum client_state {
	CLIENT_IDLE, /* no socket */
	CLIENT_CONNECT,
	CLIENT_HANDSHAKE,
	CLIENT_ASK, /* one byte to be sent */
	CLIENT_ANSWER, /* one byte to come back */
	CLIENT_OPEN, /* answered: settled has been called */
	CLIENT_END, /* our end is sent, theirs is awaited */
};

/* One connection, plain or TLS, through its life. The owner's functions are
 * called for it; in each of them the owner may go on with any client_ call. */
struct client {
	struct watch watch;
	enum client_state state;
	uint64_t since_ns; /* of the start, or of the last step the owner asked for */
	gnutls_session_t session; /* NULL: plain */
	gnutls_datum_t ticket; /* of the last session, where resumption is asked for */
	bool resumed;
	void (*settled)(struct client *c); /* the byte came back; --bare: the handshake is done */
	void (*ended)(struct client *c, const char *error); /* NULL: cleanly. The state is IDLE */
};

void client_setup(const struct load_opts *o);
void client_open(struct client *c);
void client_ask(struct client *c); /* in state OPEN: a byte there and back */
void client_end(struct client *c); /* in state OPEN: close_notify and FIN, then wait for theirs */
void client_fail(struct client *c, const char *error); /* drops it and calls ended */

#endif
