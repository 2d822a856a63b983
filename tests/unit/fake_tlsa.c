/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/fake_tlsa.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/tls/tlsa.h"

struct fake_tlsa fake_tlsa = {
#ifdef TK_LD_WRAP
	.wrapped = true,
#endif
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t let_go = PTHREAD_COND_INITIALIZER;
static bool gone;
static int held;

int fake_tlsa_held(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = held;
	pthread_mutex_unlock(&lock);
	return n;
}

void fake_tlsa_let_go(void)
{
	pthread_mutex_lock(&lock);
	gone = true;
	pthread_cond_broadcast(&let_go);
	pthread_mutex_unlock(&lock);
}

#ifdef TK_LD_WRAP
bool __real_tlsa_can_lookup(void);
bool __wrap_tlsa_can_lookup(void);
int __real_tlsa_lookup(const char *host, unsigned port, const char *proto, uint64_t timeout_ms,
	struct tlsa_answer *out, struct err *e);
int __wrap_tlsa_lookup(const char *host, unsigned port, const char *proto, uint64_t timeout_ms,
	struct tlsa_answer *out, struct err *e);

static void hold(void)
{
	pthread_mutex_lock(&lock);
	held++;
	while (!gone)
		pthread_cond_wait(&let_go, &lock);
	held--;
	pthread_mutex_unlock(&lock);
}

static void note(const char *host, unsigned port, const char *proto, uint64_t timeout_ms)
{
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	pthread_mutex_lock(&lock);
	snprintf(fake_tlsa.host, sizeof(fake_tlsa.host), "%s", host);
	snprintf(fake_tlsa.proto, sizeof(fake_tlsa.proto), "%s", proto);
	fake_tlsa.port = port;
	fake_tlsa.timeout_ms = timeout_ms;
	fake_tlsa.thread = pthread_self();
	fake_tlsa.takes_signals = !sigismember(&blocked, SIGUSR1) || !sigismember(&blocked, SIGTERM);
	fake_tlsa.asked++;
	pthread_mutex_unlock(&lock);
}

bool __wrap_tlsa_can_lookup(void)
{
	return !fake_tlsa.missing && (fake_tlsa.on || __real_tlsa_can_lookup());
}

int __wrap_tlsa_lookup(const char *host, unsigned port, const char *proto, uint64_t timeout_ms,
	struct tlsa_answer *out, struct err *e)
{
	uint8_t data[32];

	if (strstr(host, ".fake.test") == NULL)
		return __real_tlsa_lookup(host, port, proto, timeout_ms, out, e);
	*out = (struct tlsa_answer){ .dnssec = TLSA_UNKNOWN };
	if (fake_tlsa.missing)
		return err_set(e, ERR_CONFIG, "TLSA records of %s: not built in", host);
	note(host, port, proto, timeout_ms);
	if (strncmp(host, "fails.", 6) == 0)
		return err_set(e, ERR_RESOLVE, "TLSA records of %s: no luck", host);
	if (strncmp(host, "none.", 5) == 0)
		return 0;
	if (strncmp(host, "held.", 5) == 0)
		hold();
	if (strncmp(host, "slow.", 5) == 0)
		usleep(2000);
	memset(data, 0xab, sizeof(data));
	out->dnssec = TLSA_SECURE;
	out->n_found = 1;
	return tlsa_add(&out->list, 3, 1, 1, data, sizeof(data)) == 1 ? 0 : err_set(e, ERR_RUNTIME, "no memory");
}
#endif
