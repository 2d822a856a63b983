/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/net/proxy_int.h"

/* SOCKS5: which way to log in (RFC 1928, 3), the login (RFC 1929), the request (4)
 * and its reply (6), whose length hangs on what stands in it. Never more is taken
 * than belongs to it: what follows is the target's. */

#define METHOD_NONE     0
#define METHOD_PASSWORD 2
#define METHOD_REFUSED  0xff

#define ATYP_V4   1
#define ATYP_NAME 3
#define ATYP_V6   4

#define REPLY_MAX (4 + 1 + 255 + 2)

enum state { GREETING, LOGIN, CONNECT };

struct socks {
	struct parley p;
	enum state state;
	struct addr target;
	char user[256], password[256];
	bool login;
	uint8_t reply[REPLY_MAX];
	size_t have, need;
	char at[ADDR_TEXT_SIZE], step[2 * ADDR_TEXT_SIZE];
};

static struct socks *socks_of(struct parley *p)
{
	return (struct socks *)(void *)p;
}

static enum parley_status fail(struct err *e, const char *text)
{
	err_set(e, ERR_CONNECT, "%s", text);
	return PARLEY_FAILED;
}

/* --- what is sent ------------------------------------------------------------- */

static void enter(struct socks *s, enum state state, size_t need)
{
	static const char *const names[] = { "greeting", "login", "connect to " };
	char where[ADDR_TEXT_SIZE] = "";

	s->state = state;
	s->have = 0;
	s->need = need;
	if (state == CONNECT)
		addr_format(&s->target, where);
	snprintf(s->step, sizeof(s->step), "SOCKS5 %s%.280s at the proxy %.280s", names[state], where, s->at);
}

static int send_greeting(struct socks *s)
{
	static const uint8_t plain[] = { 5, 1, METHOD_NONE }, both[] = { 5, 2, METHOD_NONE, METHOD_PASSWORD };

	enter(s, GREETING, 2);
	return s->login ? parley_put(&s->p, both, sizeof(both)) : parley_put(&s->p, plain, sizeof(plain));
}

static int send_login(struct socks *s)
{
	uint8_t message[3 + 255 + 255] = { 1 };
	size_t u = strlen(s->user), n = 2 + u, w = strlen(s->password);
	int r;

	enter(s, LOGIN, 2);
	message[1] = (uint8_t)u;
	memcpy(message + 2, s->user, u);
	message[n++] = (uint8_t)w;
	memcpy(message + n, s->password, w);
	r = parley_put(&s->p, message, n + w);
	explicit_bzero(message, sizeof(message));
	explicit_bzero(s->password, sizeof(s->password));
	return r;
}

static int send_request(struct socks *s)
{
	uint8_t message[REPLY_MAX] = { 5, 1, 0 };
	size_t len = strlen(s->target.host), n;

	enter(s, CONNECT, 5); /* as many bytes as tell how many there are */
	if (inet_pton(AF_INET, s->target.host, message + 4) == 1) {
		message[3] = ATYP_V4;
		n = 4 + 4;
	} else if (inet_pton(AF_INET6, s->target.host, message + 4) == 1) {
		message[3] = ATYP_V6;
		n = 4 + 16;
	} else {
		message[3] = ATYP_NAME;
		message[4] = (uint8_t)len;
		memcpy(message + 5, s->target.host, len);
		n = 5 + len;
	}
	message[n++] = (uint8_t)(s->target.port >> 8);
	message[n++] = (uint8_t)s->target.port;
	return parley_put(&s->p, message, n);
}

/* --- what comes ----------------------------------------------------------------- */

static enum parley_status not_socks(const struct socks *s, struct err *e)
{
	return fail(e, s->state == GREETING && s->reply[0] == 'H' ?
			"the proxy does not speak SOCKS5; it looks like an HTTP proxy: http://" :
			"the proxy does not speak SOCKS5");
}

static enum parley_status queued(int r, struct err *e)
{
	return r == 0 ? PARLEY_MORE : fail(e, "the message is too long");
}

static enum parley_status greeted(struct socks *s, struct err *e)
{
	if (s->reply[0] != 5)
		return not_socks(s, e);
	if (s->have < 2)
		return PARLEY_MORE;
	if (s->reply[1] == METHOD_NONE)
		return queued(send_request(s), e);
	if (s->reply[1] == METHOD_PASSWORD && s->login)
		return queued(send_login(s), e);
	if (s->reply[1] != METHOD_REFUSED)
		return fail(e, "the proxy chose a way to log in that was not offered");
	return fail(e, s->login ? "the proxy takes neither user and password nor nobody" :
				  "the proxy lets nobody in without a login: give user:password@ in --proxy");
}

/* Some say 5 in place of the login's version. */
static enum parley_status logged_in(struct socks *s, struct err *e)
{
	if (s->reply[0] != 1 && s->reply[0] != 5)
		return not_socks(s, e);
	if (s->have < 2)
		return PARLEY_MORE;
	if (s->reply[1] != 0)
		return fail(e, "the proxy does not accept the user and password in --proxy");
	return queued(send_request(s), e);
}

static enum parley_status refused(unsigned code, struct err *e)
{
	static const char *const texts[] = {
		[1] = "general failure",
		[2] = "connection not allowed by its rules",
		[3] = "network unreachable",
		[4] = "host unreachable",
		[5] = "connection refused by the target",
		[6] = "TTL expired",
		[7] = "it does not know this command",
		[8] = "it does not know this kind of address",
	};
	const char *text = code < sizeof(texts) / sizeof(texts[0]) ? texts[code] : "a code that RFC 1928 does not know";

	err_set(e, ERR_CONNECT, "the proxy says %u, %s", code, text);
	return PARLEY_FAILED;
}

/* The address behind the reply is the proxy's business. A refusal is one with its
 * second byte: what should follow it is left out by some. */
static enum parley_status replied(struct socks *s, struct err *e)
{
	if (s->reply[0] != 5)
		return not_socks(s, e);
	if (s->have >= 2 && s->reply[1] != 0)
		return refused(s->reply[1], e);
	if (s->have < 4)
		return PARLEY_MORE;
	if (s->reply[3] == ATYP_V4)
		s->need = 4 + 4 + 2;
	else if (s->reply[3] == ATYP_V6)
		s->need = 4 + 16 + 2;
	else if (s->reply[3] != ATYP_NAME)
		return fail(e, "the proxy answers with an unknown kind of address");
	else if (s->have >= 5)
		s->need = 5 + (size_t)s->reply[4] + 2;
	else
		return PARLEY_MORE;
	return s->have < s->need ? PARLEY_MORE : PARLEY_DONE;
}

static enum parley_status feed(struct parley *p, const uint8_t *data, size_t n, size_t *used, struct err *e)
{
	static enum parley_status (*const heard[])(struct socks *, struct err *) = {
		[GREETING] = greeted, [LOGIN] = logged_in, [CONNECT] = replied,
	};
	struct socks *s = socks_of(p);

	*used = n < s->need - s->have ? n : s->need - s->have;
	if (*used == 0)
		return PARLEY_MORE;
	memcpy(s->reply + s->have, data, *used);
	s->have += *used;
	return heard[s->state](s, e);
}

static const char *step(const struct parley *p)
{
	return ((const struct socks *)(const void *)p)->step;
}

static void free_socks(struct parley *p)
{
	struct socks *s = socks_of(p);

	explicit_bzero(s->password, sizeof(s->password));
	free(s);
}

struct parley *proxy_socks_new(const struct proxy *p, const struct addr *target, struct err *e)
{
	static const struct parley_ops ops = { .feed = feed, .free = free_socks, .step = step };
	struct socks *s;

	if (!target->numeric && !proxy_resolves(p)) {
		err_set(e, ERR_CONFIG, "socks5:// takes addresses alone; socks5h:// has the proxy look up %s",
			target->host);
		return NULL;
	}
	if (proxy_has_login(p) && p->user[0] == '\0') {
		err_set(e, ERR_CONFIG, "a password for the proxy without a user");
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (s == NULL) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	s->p.ops = &ops;
	s->target = *target;
	s->login = proxy_has_login(p);
	memcpy(s->user, p->user, sizeof(s->user));
	memcpy(s->password, p->password, sizeof(s->password));
	addr_format(&p->addr, s->at);
	send_greeting(s); /* fits */
	return &s->p;
}
