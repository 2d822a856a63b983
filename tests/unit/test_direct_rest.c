/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Sessions whose ciphers rest go on as if nothing had been: more of them than a
 * thread keeps ready, used in turns, and one that goes to another thread. */

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/tls/direct.h"
#include "tests/unit/pair.h"

#define PAIRS   300 /* of two sessions with two ciphers each */
#define READY   1024 /* READY_MAX of direct_keys.c */
#define CARRIED 3000

TestSuite(direct_rest);

static struct tls_config *config[2];

static void make_configs(void)
{
	struct tls_options o[2] = { pair_options(TLS_CLIENT), pair_options(TLS_SERVER) };
	struct err e;
	int i;

	o[0].insecure_no_verify = true;
	for (i = 0; i < 2; i++) {
		o[i].dataplane = TLS_DATAPLANE_DIRECT;
		config[i] = config_new(&o[i], &e);
		cr_assert(config[i], "%s", e.msg);
	}
}

static void open_pair(struct pair *p)
{
	pair_open(p, config[0], config[1]);
	cr_assert(pair_shake(p));
	cr_assert(p->s[0]->direct && p->s[1]->direct);
}

static int ready_of(const struct session *s)
{
	return (s->direct->rx.aead != NULL) + (s->direct->tx.aead != NULL);
}

static int count_ready(const struct pair *pairs)
{
	int n = 0, i;

	for (i = 0; i < PAIRS; i++)
		n += ready_of(pairs[i].s[0]) + ready_of(pairs[i].s[1]);
	return n;
}

Test(direct_rest, more_sessions_than_ciphers_kept_ready)
{
	struct pair *pairs = calloc(PAIRS, sizeof(*pairs));
	int i, round;

	make_configs();
	for (i = 0; i < PAIRS; i++)
		open_pair(&pairs[i]);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < PAIRS; i++) {
			pair_carry(&pairs[i], 0, CARRIED, CARRIED, CARRIED);
			pair_carry(&pairs[i], 1, CARRIED, CARRIED, CARRIED);
			cr_assert_eq(ready_of(pairs[i].s[0]) + ready_of(pairs[i].s[1]), 4, "what was used last is ready");
		}
		cr_assert_eq(count_ready(pairs), READY);
		cr_assert_eq(ready_of(pairs[0].s[0]) + ready_of(pairs[0].s[1]), 0, "what was used first rests");
	}
	/* whichever go first, the others stay whole */
	for (i = 0; i < PAIRS; i += 2)
		pair_close(&pairs[i]);
	for (i = 1; i < PAIRS; i += 2) {
		pair_carry(&pairs[i], 0, CARRIED, CARRIED, CARRIED);
		pair_close(&pairs[i]);
	}
	free(pairs);
	config_unref(config[0]);
	config_unref(config[1]);
}

static void *use_elsewhere(void *arg)
{
	struct pair *p = arg;

	pair_carry(p, 0, CARRIED, CARRIED, CARRIED);
	pair_carry(p, 1, CARRIED, CARRIED, CARRIED);
	session_move(p->s[0], p->pool);
	session_move(p->s[1], p->pool);
	return NULL;
}

Test(direct_rest, moves_between_threads)
{
	struct pair pairs[2] = { 0 };
	pthread_t other;
	int i;

	make_configs();
	for (i = 0; i < 2; i++) {
		open_pair(&pairs[i]);
		pair_carry(&pairs[i], 0, CARRIED, CARRIED, CARRIED);
	}
	for (i = 0; i < 2; i++) {
		session_move(pairs[0].s[i], pairs[0].pool);
		cr_assert_eq(ready_of(pairs[0].s[i]), 0);
	}
	cr_assert(pthread_create(&other, NULL, use_elsewhere, &pairs[0]) == 0);
	pair_carry(&pairs[1], 1, CARRIED, CARRIED, CARRIED);
	pthread_join(other, NULL);
	pair_carry(&pairs[0], 1, CARRIED, CARRIED, CARRIED);
	for (i = 0; i < 2; i++)
		pair_close(&pairs[i]);
	config_unref(config[0]);
	config_unref(config[1]);
}
