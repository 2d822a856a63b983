/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/base/lazy.h"
#include "lib/tls/tlsa.h"

/* Records from the DNS, by libgnutls-dane, whose libunbound validates. It has one
 * answer for "there are none" and for a resolver that failed; the latter is asked about
 * again without it. */

#ifdef HAVE_DANE

#include <arpa/nameser.h>
#include <errno.h>
#include <gnutls/dane.h>
#include <netdb.h>
#include <pthread.h>
#include <resolv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Loaded when it is asked for (lazy.h). */
#define DANE_SONAME "libgnutls-dane.so.0"

#define NO_KEY " (DNSSEC takes the root's key, which some systems have in a package of its own: dns-root-data)"
#define DNS_TLSA 52 /* the type, RFC 6698, 7.1 */

static struct {
	typeof(dane_query_status) *query_status;
	typeof(dane_query_entries) *query_entries;
	typeof(dane_query_data) *query_data;
	typeof(dane_query_tlsa) *query_tlsa;
	typeof(dane_query_deinit) *query_free;
	typeof(dane_state_init) *state_new;
	typeof(dane_state_deinit) *state_free;
	typeof(dane_strerror) *error_text;
} dane;

static bool loaded;

static void load(void)
{
	static const struct lazy_symbol symbols[] = {
		LAZY_SYMBOL(dane, query_status, dane_query_status),
		LAZY_SYMBOL(dane, query_entries, dane_query_entries),
		LAZY_SYMBOL(dane, query_data, dane_query_data),
		LAZY_SYMBOL(dane, query_tlsa, dane_query_tlsa),
		LAZY_SYMBOL(dane, query_free, dane_query_deinit),
		LAZY_SYMBOL(dane, state_new, dane_state_init),
		LAZY_SYMBOL(dane, state_free, dane_state_deinit),
		LAZY_SYMBOL(dane, error_text, dane_strerror),
		{ NULL, NULL },
	};

	loaded = lazy_load(DANE_SONAME, symbols);
}

bool tlsa_can_lookup(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return loaded;
}

/* The query blocks for as long as libunbound likes, so it has a thread, which is
 * left to itself when the time is over. Whoever lets go last frees. */
struct lookup {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done, abandoned;
	char host[256], proto[16];
	unsigned port;
	struct tlsa_answer answer;
	struct err e;
	int r;
};

static void lookup_free(struct lookup *l)
{
	tlsa_list_free(&l->answer.list);
	pthread_cond_destroy(&l->cond);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static enum tlsa_dnssec status_of(dane_query_t q)
{
	switch (dane.query_status(q)) {
	case DANE_QUERY_DNSSEC_VERIFIED:
		return TLSA_SECURE;
	case DANE_QUERY_BOGUS:
		return TLSA_BOGUS;
	case DANE_QUERY_NO_DNSSEC:
		return TLSA_INSECURE;
	case DANE_QUERY_UNKNOWN:
		break;
	}
	return TLSA_UNKNOWN;
}

static int take_records(dane_query_t q, struct tlsa_answer *a, struct err *e)
{
	unsigned usage, selector, matching;
	gnutls_datum_t data;

	a->dnssec = status_of(q);
	a->n_found = dane.query_entries(q);
	for (unsigned i = 0; i < a->n_found && a->dnssec == TLSA_SECURE; i++) {
		int r = 0;

		if (dane.query_data(q, i, &usage, &selector, &matching, &data) == 0)
			r = tlsa_add(&a->list, usage, selector, matching, data.data, data.size);
		if (r < 0)
			return err_set(e, ERR_RUNTIME, "no memory");
		if (r == 0)
			a->n_unusable++;
	}
	return 0;
}

/* Some systems hand out what a server said of its failure. */
static bool is_answer(const unsigned char *reply, int n)
{
	int rcode = n >= NS_HFIXEDSZ ? reply[3] & 15 : -1; /* RFC 1035, 4.1.1 */

	return rcode == ns_r_noerror || rcode == ns_r_nxdomain;
}

/* libunbound found no records. Whether that is what the DNS says: a system's resolver
 * tells when it got no answer, or that of a server which failed. */
static int none_there(struct lookup *l)
{
	unsigned char answer[1024]; /* its head is enough */
	char name[sizeof(l->host) + sizeof(l->proto) + 16];
	int n;

	snprintf(name, sizeof(name), "_%u._%s.%s", l->port, l->proto, l->host);
	n = res_query(name, ns_c_in, DNS_TLSA, answer, sizeof(answer));
	if (n < 0 ? h_errno == HOST_NOT_FOUND || h_errno == NO_DATA : is_answer(answer, n))
		return 0;
	return err_set(&l->e, ERR_RESOLVE, "TLSA records of %s: the DNS does not answer, or says that it failed", l->host);
}

static int query(struct lookup *l, dane_state_t state)
{
	dane_query_t q = NULL;
	int r = dane.query_tlsa(state, &q, l->host, l->proto, l->port);

	if (r == DANE_E_NO_DANE_DATA) {
		r = none_there(l);
	} else if (r == DANE_E_INVALID_DNSSEC_SIG || r == DANE_E_NO_DNSSEC_SIG) {
		l->answer.dnssec = r == DANE_E_NO_DNSSEC_SIG ? TLSA_INSECURE : TLSA_BOGUS;
		r = 0;
	} else if (r == 0) {
		r = take_records(q, &l->answer, &l->e);
	} else {
		/* libunbound reads the key with the first question */
		r = err_set(&l->e, ERR_RESOLVE, "TLSA records of %s: %s%s", l->host, dane.error_text(r),
			r == DANE_E_RESOLVING_ERROR ? NO_KEY : "");
	}
	if (q != NULL)
		dane.query_free(q);
	return r;
}

/* DANE_F_INSECURE: what is not secure is to be told apart, and is left out here. */
static int run(struct lookup *l)
{
	dane_state_t state;
	int r = dane.state_new(&state, DANE_F_INSECURE);

	if (r < 0)
		return err_set(&l->e, ERR_RESOLVE, "TLSA records of %s: %s", l->host, dane.error_text(r));
	r = query(l, state);
	dane.state_free(state);
	return r;
}

static void *thread(void *arg)
{
	struct lookup *l = arg;
	int r = run(l);
	bool abandoned;

	pthread_mutex_lock(&l->lock);
	l->r = r;
	l->done = true;
	abandoned = l->abandoned;
	pthread_cond_signal(&l->cond);
	pthread_mutex_unlock(&l->lock);
	if (abandoned)
		lookup_free(l);
	return NULL;
}

static struct lookup *lookup_new(const char *host, unsigned port, const char *proto, struct err *e)
{
	struct lookup *l;
	pthread_condattr_t attr;

	if (strlen(host) >= sizeof(l->host) || strlen(proto) >= sizeof(l->proto)) {
		err_set(e, ERR_RESOLVE, "TLSA records of %.80s: the name is too long", host);
		return NULL;
	}
	l = calloc(1, sizeof(*l));
	if (l == NULL) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	strcpy(l->host, host);
	strcpy(l->proto, proto);
	l->port = port;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->cond, &attr);
	pthread_condattr_destroy(&attr);
	return l;
}

/* Signals go to the threads that expect them. */
static int start(struct lookup *l)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t id;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&id, &attr, thread, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return r;
}

/* False: the time is over, and the thread frees it. */
static bool wait_for(struct lookup *l, uint64_t timeout_ms)
{
	struct timespec end;
	bool done;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)(timeout_ms / 1000);
	end.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&l->lock);
	while (!l->done && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&l->cond, &l->lock, &end);
	done = l->done;
	l->abandoned = !done;
	pthread_mutex_unlock(&l->lock);
	return done;
}

int tlsa_lookup(const char *host, unsigned port, const char *proto, uint64_t timeout_ms, struct tlsa_answer *out,
	struct err *e)
{
	struct lookup *l;
	int r;

	*out = (struct tlsa_answer){ .dnssec = TLSA_UNKNOWN };
	if (!tlsa_can_lookup())
		return err_set(e, ERR_CONFIG, "TLSA records of %s: %s cannot be loaded", host, DANE_SONAME);
	l = lookup_new(host, port, proto, e);
	if (l == NULL)
		return -1;
	r = start(l);
	if (r != 0) {
		lookup_free(l);
		return err_sys(e, ERR_RUNTIME, r, "cannot start a thread for TLSA records");
	}
	if (!wait_for(l, timeout_ms))
		return err_set(e, ERR_TIMEOUT, "TLSA records of %s: no answer within %llu ms", host,
			(unsigned long long)timeout_ms);
	r = l->r;
	if (r == 0) {
		*out = l->answer;
		l->answer = (struct tlsa_answer){ .dnssec = TLSA_UNKNOWN };
	} else {
		*e = l->e;
	}
	lookup_free(l);
	return r;
}

#else

bool tlsa_can_lookup(void)
{
	return false;
}

int tlsa_lookup(const char *host, unsigned port, const char *proto, uint64_t timeout_ms, struct tlsa_answer *out,
	struct err *e)
{
	(void)port, (void)proto, (void)timeout_ms;
	*out = (struct tlsa_answer){ .dnssec = TLSA_UNKNOWN };
	return err_set(e, ERR_CONFIG,
		"TLSA records of %.80s cannot be looked up: libgnutls-dane is not built in; --tlsa takes them by hand", host);
}

#endif
