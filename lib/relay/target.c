/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/relay/target.h"

#include "lib/base/clock.h"
#include "lib/tls/tickets.h"

#define DOWN_FOR_NS  (5 * NS_PER_S) /* a target that failed comes last for so long */
#define TICKETS_KEPT 32

int target_init(struct target *t, const struct addr *a, const struct tls_config *tls, struct err *e)
{
	const char *name;

	*t = (struct target){ .addr = *a };
	addr_format(a, t->name);
	if (!tls)
		return 0;
	name = config_servername(tls);
	t->peer.sni = name ? name : addr_sni(&t->addr);
	if (config_verify_name(tls))
		name = config_verify_name(tls);
	if (!name && a->kind == ADDR_TCP)
		name = a->loopback ? "localhost" : t->addr.host;
	t->peer.name = name;
	if (!name && (config_trust(tls) == CONFIG_TRUST_CHAIN || config_trust(tls) == CONFIG_TRUST_CHAIN_AND_PIN))
		return err_set(e, ERR_CONFIG, "target tls:%s has no name to verify: give --verify-name, or --pin alone", t->name);
	t->peer.tickets = tickets_new(TICKETS_KEPT);
	return t->peer.tickets ? 0 : err_set(e, ERR_RUNTIME, "no memory");
}

void target_free(struct target *t)
{
	tickets_free(t->peer.tickets);
	t->peer.tickets = NULL;
}

unsigned target_choose(struct target *targets, unsigned n, unsigned start, uint64_t tried, uint64_t now_ns)
{
	unsigned pass, i, k;

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < n; i++) {
			k = (start + i) % n;
			if (tried & (1ULL << k))
				continue;
			if (pass || atomic_load_explicit(&targets[k].down_until_ns, memory_order_relaxed) <= now_ns)
				return k;
		}
	return start;
}

void target_mark_down(struct target *t, uint64_t now_ns)
{
	atomic_store_explicit(&t->down_until_ns, now_ns + DOWN_FOR_NS, memory_order_relaxed);
}

void target_mark_up(struct target *t)
{
	/* read first: the line is shared by all threads, and mostly 0 */
	if (atomic_load_explicit(&t->down_until_ns, memory_order_relaxed))
		atomic_store_explicit(&t->down_until_ns, 0, memory_order_relaxed);
}
