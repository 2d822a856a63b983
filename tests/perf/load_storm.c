/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

#define PATIENCE_NS 10000000000u /* for one connection, or for one step of it */

static struct client *clients;
static int conns;
static char last_error[160];

static void note(const char *error)
{
	snprintf(last_error, sizeof(last_error), "%s", error);
	for (char *p = last_error; *p; p++)
		if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ')
			*p = '\'';
}

static void make_clients(const struct load_opts *o, void (*settled)(struct client *),
	void (*ended)(struct client *, const char *))
{
	if (o->connect_port < 0)
		die("this role takes --connect");
	client_setup(o);
	conns = o->conns;
	clients = must_alloc((size_t)conns, sizeof(*clients));
	for (int i = 0; i < conns; i++) {
		clients[i].watch.fd = -1;
		clients[i].settled = settled;
		clients[i].ended = ended;
	}
}

/* --- connect-storm: open, one byte there and back, close, again ------------------------ */

static uint64_t full, resumed, failed;
static struct hist settle;

static void storm_settled(struct client *c)
{
	hist_add(&settle, now_ns() - c->since_ns);
	client_end(c);
}

/* One that failed is tried again at the next tick: no busy loop at a server
 * that is gone. */
static void storm_ended(struct client *c, const char *error)
{
	if (error) {
		failed++;
		note(error);
		return;
	}
	if (c->resumed)
		resumed++;
	else
		full++;
	client_open(c);
}

static void storm_start(const struct load_opts *o)
{
	make_clients(o, storm_settled, storm_ended);
	for (int i = 0; i < conns; i++)
		client_open(&clients[i]);
}

static void storm_tick(void)
{
	uint64_t now = now_ns();

	for (int i = 0; i < conns; i++) {
		struct client *c = &clients[i];

		if (c->state != CLIENT_IDLE && now > c->since_ns + PATIENCE_NS)
			client_fail(c, c->state == CLIENT_END ? "no end within 10 s" : "no answer within 10 s");
		if (c->state == CLIENT_IDLE)
			client_open(c);
	}
}

static void storm_command(const char *line)
{
	if (strcmp(line, "mark") != 0)
		die("unknown command \"%s\"", line);
	printf("{\"seconds\":%.9f,\"full\":%llu,\"resumed\":%llu,\"failed\":%llu,\"p50_ns\":%llu,\"p99_ns\":%llu,"
	       "\"error\":\"%s\"}\n", interval_s(), (unsigned long long)full, (unsigned long long)resumed,
		(unsigned long long)failed, (unsigned long long)hist_quantile(&settle, 0.5),
		(unsigned long long)hist_quantile(&settle, 0.99), last_error);
	full = resumed = failed = 0;
	last_error[0] = '\0';
	hist_clear(&settle);
}

const struct load_role load_storm = {
	.name = "connect-storm", .help = "connections, one after the other in each of --conns places",
	.start = storm_start, .command = storm_command, .tick = storm_tick,
};

/* --- hold: open, one byte there and back, and stay -------------------------------------- */

/* `grow N` opens up to N, `ping` asks each for a byte; both are answered when
 * they are through, or when nothing went forward for a while. */

#define AT_ONCE 64

static int wanted, opened, held, lost, awaited, pinged;
static bool growing, pinging;
static uint64_t moved_ns;

static void hold_answer(void)
{
	if (growing && (held + lost >= wanted || now_ns() > moved_ns + PATIENCE_NS)) {
		printf("{\"held\":%d,\"lost\":%d,\"error\":\"%s\"}\n", held, lost, last_error);
		growing = false;
	} else if (pinging && (awaited <= 0 || now_ns() > moved_ns + PATIENCE_NS)) {
		printf("{\"alive\":%d,\"lost\":%d,\"error\":\"%s\"}\n", pinged, lost, last_error);
		pinging = false;
	}
	fflush(stdout);
}

static void open_next(void)
{
	if (opened < wanted)
		client_open(&clients[opened++]);
}

/* The pings go round the same way: each answer asks the next one. */
static int next_ping;

static void ping_next(void)
{
	while (next_ping < opened) {
		struct client *c = &clients[next_ping++];

		if (c->state == CLIENT_OPEN) {
			client_ask(c);
			return;
		}
	}
}

static void hold_settled(struct client *c)
{
	(void)c;
	moved_ns = now_ns();
	if (pinging) {
		pinged++;
		awaited--;
		ping_next();
	} else {
		held++;
		open_next();
	}
	hold_answer();
}

static void hold_ended(struct client *c, const char *error)
{
	(void)c;
	lost++;
	note(error ? error : "ended");
	if (pinging)
		awaited--;
	else if (growing)
		open_next();
	hold_answer();
}

static void hold_start(const struct load_opts *o)
{
	make_clients(o, hold_settled, hold_ended);
}

static void hold_command(const char *line)
{
	int n;

	moved_ns = now_ns();
	if (strncmp(line, "grow ", 5) == 0) {
		n = atoi(line + 5);
		wanted = n < conns ? n : conns;
		growing = true;
		for (int i = 0; i < AT_ONCE; i++)
			open_next();
	} else if (strcmp(line, "ping") == 0) {
		pinging = true;
		pinged = next_ping = 0;
		awaited = held;
		for (int i = 0; i < AT_ONCE; i++)
			ping_next();
	} else if (strcmp(line, "mark") == 0) {
		printf("{\"seconds\":%.9f,\"held\":%d,\"lost\":%d,\"error\":\"%s\"}\n", interval_s(), held, lost, last_error);
	} else {
		die("unknown command \"%s\"", line);
	}
	hold_answer();
}

const struct load_role load_hold = {
	.name = "hold", .help = "connections that are opened and kept: `grow N`, `ping`",
	.start = hold_start, .command = hold_command, .tick = hold_answer,
};
