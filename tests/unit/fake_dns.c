/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/fake_dns.h"

struct fake_dns fake_dns;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t let_go = PTHREAD_COND_INITIALIZER;
static bool holding = true;
static int held;

/* What freeaddrinfo knows ours by. */
static char canonical[] = "fake.test";

struct answer {
	struct addrinfo ai;
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} u;
};

static struct addrinfo *answer(char family, char which, const char *port)
{
	struct answer *a = calloc(1, sizeof(*a));
	in_port_t n = htons((uint16_t)atoi(port));

	a->ai = (struct addrinfo){ .ai_socktype = SOCK_STREAM, .ai_addr = &a->u.sa, .ai_canonname = canonical };
	if (family == '4') {
		a->ai.ai_family = AF_INET;
		a->ai.ai_addrlen = sizeof(a->u.in);
		a->u.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = n };
		a->u.in.sin_addr.s_addr = htonl(which == 'a' ? INADDR_LOOPBACK : 0xc0000200u + (unsigned)which);
	} else {
		a->ai.ai_family = AF_INET6;
		a->ai.ai_addrlen = sizeof(a->u.in6);
		a->u.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = n };
		if (which == 'a')
			a->u.in6.sin6_addr = in6addr_loopback;
		else
			memcpy(&a->u.in6.sin6_addr, (uint8_t[16]){ 0x20, 0x01, 0x0d, 0xb8, [15] = (uint8_t)which }, 16);
	}
	return &a->ai;
}

static int answers(const char *label, int family, const char *port, struct addrinfo **out)
{
	*out = NULL;
	for (; (label[0] == '4' || label[0] == '6') && label[1] != '.'; label += 2) {
		if (family != AF_UNSPEC && (family == AF_INET) != (label[0] == '4'))
			continue;
		*out = answer(label[0], label[1], port);
		out = &(*out)->ai_next;
	}
	return 0;
}

static void hold(void)
{
	pthread_mutex_lock(&lock);
	held++;
	while (holding)
		pthread_cond_wait(&let_go, &lock);
	held--;
	pthread_mutex_unlock(&lock);
}

int fake_dns_held(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = held;
	pthread_mutex_unlock(&lock);
	return n;
}

void fake_dns_let_go(void)
{
	pthread_mutex_lock(&lock);
	holding = false;
	pthread_cond_broadcast(&let_go);
	pthread_mutex_unlock(&lock);
}

static int fake(const char *name, const char *port, const struct addrinfo *hints, struct addrinfo **out)
{
	pthread_mutex_lock(&lock);
	snprintf(fake_dns.name, sizeof(fake_dns.name), "%s", name);
	fake_dns.family = hints->ai_family;
	fake_dns.flags = hints->ai_flags;
	fake_dns.asked++;
	pthread_mutex_unlock(&lock);
	if (strncmp(name, "again.", 6) == 0)
		return EAI_AGAIN;
	if (strncmp(name, "system.", 7) == 0) {
		errno = ENFILE;
		return EAI_SYSTEM;
	}
	if (strncmp(name, "slow.", 5) == 0) {
		usleep(60000);
		name = "4a.";
	}
	if (strncmp(name, "held.", 5) == 0) {
		hold();
		name = "4a.";
	}
	return answers(name, hints->ai_family, port, out);
}

int getaddrinfo(const char *name, const char *port, const struct addrinfo *hints, struct addrinfo **out)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	if (name != NULL && strstr(name, ".fake.test") != NULL)
		return fake(name, port, hints, out);
	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	return real(name, port, hints, out);
}

void freeaddrinfo(struct addrinfo *ai)
{
	void (*real)(struct addrinfo *);
	struct addrinfo *next;

	if (ai == NULL)
		return;
	if (ai->ai_canonname != canonical) {
		*(void **)&real = dlsym(RTLD_NEXT, "freeaddrinfo");
		real(ai);
		return;
	}
	for (; ai != NULL; ai = next) {
		next = ai->ai_next;
		free(ai);
	}
}
