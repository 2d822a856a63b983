/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The faults in words: what is wrong, why it matters, what to do. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/utf8.h"
#include "lib/tls/chain_int.h"

#define TEXT_DAY   (24 * 3600)
#define SHOW_NAMES 5
#define SHOW_WIDTH 64 /* columns of a name that a peer chose */

struct text {
	const struct chain *c;
	const struct chain_cert *cc;
	size_t i;
	const struct chain_request *r;
	char *out;
	size_t size;
};

static void say(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct text *t, const char *fmt, ...)
{
	size_t used = strlen(t->out);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->out + used, t->size - used, fmt, ap);
	va_end(ap);
}

/* --- parts ------------------------------------------------------------------------------------- */

static void say_day(struct text *t, int64_t at)
{
	char day[CLOCK_RFC3339_SIZE];
	int64_t most = INT64_MAX / 1000;

	clock_rfc3339((at > most ? most : at < -most ? -most : at) * 1000, day);
	say(t, "%.10s", day);
}

static void say_days(struct text *t, int64_t seconds)
{
	int64_t n = seconds / TEXT_DAY;

	if (n == 0)
		say(t, "less than a day");
	else
		say(t, "%lld day%s", (long long)n, n == 1 ? "" : "s");
}

/* As much of a peer's text as a sentence bears. */
static void say_name(struct text *t, const char *name)
{
	size_t n = strlen(name), fit = utf8_fit(name, n, SHOW_WIDTH);

	if (n == 0)
		say(t, "one without a name");
	else
		say(t, "%.*s%s", (int)fit, name, fit < n ? "\xe2\x80\xa6" : "");
}

/* What the certificate is for, with its kind where it is no host. */
static void say_names(struct text *t)
{
	const char *name;
	size_t i, n;

	for (n = 0; t->cc->names && t->cc->names[n]; n++)
		;
	for (i = 0; i < n && i < SHOW_NAMES; i++) {
		name = t->cc->names[i];
		if (strncmp(name, "dns:", 4) == 0)
			name += 4;
		else if (strncmp(name, "ip:", 3) == 0)
			name += 3;
		say(t, "%s", i == 0 ? "" : i + 1 == n ? " and " : ", ");
		say_name(t, name);
	}
	if (n > SHOW_NAMES)
		say(t, " and %zu more", n - SHOW_NAMES);
	if (n == 0)
		say(t, "no name at all");
}

/* What to do depends on whose the certificate is. */
static void say_renewal(struct text *t)
{
	if (!t->cc->sent)
		say(t, "; it is one of those trusted here: update them");
	else if (!t->cc->on_path)
		say(t, "; clients do not need it, since another path is valid: the server should leave it out");
	else if (t->i == 0)
		say(t, ": renew it");
	else
		say(t, ": the server should send the present one of that CA (certification authority)");
}

/* --- a fault each --------------------------------------------------------------------------------- */

static void expired(struct text *t)
{
	say(t, "expired on ");
	say_day(t, t->cc->not_after);
	say(t, ", ");
	say_days(t, t->r->now - t->cc->not_after);
	say(t, " ago");
	say_renewal(t);
}

static void not_yet(struct text *t)
{
	say(t, "is not valid before ");
	say_day(t, t->cc->not_before);
	say(t, ", which is ");
	say_days(t, t->cc->not_before - t->r->now);
	say(t, " from now: use the one from before until then, unless the clock of this machine is wrong");
}

static void wrong_name(struct text *t)
{
	say(t, "is not for ");
	say_name(t, t->r->name ? t->r->name : "");
	say(t, ", but for ");
	say_names(t);
	say(t, ": connect by a name that it has, or get a certificate that has this one too");
}

static void weak_key(struct text *t)
{
	if (chain_facts_weak_key(t->cc))
		say(t, "has a key (%s) that is too short: who computes long enough can pretend to be its owner",
			t->cc->key);
	else
		say(t, "has a key (%s) or a signature (%s) below what this system's policy asks for", t->cc->key,
			t->cc->signature);
	say(t, t->i == 0 ? "; make a new key, ECDSA P-256 or RSA of 2048 bits or more, and a new certificate for it"
			 : "; get a certificate from a CA (certification authority) with a longer key");
}

static void weak_signature(struct text *t)
{
	say(t, "is signed with %s, which can be forged, so clients refuse it: have it issued again with SHA-256",
		t->cc->signature);
}

static void not_ca(struct text *t)
{
	say(t, "signed the certificate below it, but %s: whoever got a certificate for their own server could sign "
	       "others so; the certificate below must come from a CA",
		t->cc->is_ca ? "signing certificates is not among the uses its key has"
			     : "is not the certificate of a CA (certification authority)");
}

static void wrong_purpose(struct text *t)
{
	say(t, t->i == 0 ? "is not for TLS servers, going by its list of purposes (extended key usage): "
			   "get one that lists \"TLS server\""
			 : "may not issue certificates for TLS servers, going by its list of purposes (extended key "
			   "usage): get a certificate from another CA (certification authority)");
}

static void out_of_order(struct text *t)
{
	if (t->c->certs[0].is_ca && !t->cc->is_ca && t->i > 0)
		say(t, "is the server's own and must come first: turn the order of the server's file round");
	else
		say(t, "stands in the wrong place, since it does not certify the one before it; some older clients fail "
		       "on that: in the server's file let each certificate be followed by its issuer's");
}

static void issuer_missing(struct text *t)
{
	say(t, "was issued by ");
	say_name(t, t->cc->issuer);
	say(t, ", whose certificate was not sent and is not among those trusted here; ");
	if (t->i == 0)
		say(t, "most likely the server should send that intermediate certificate with its own");
	else
		say(t, "if that is a CA (certification authority) of your own, name its certificate with --ca, "
		       "otherwise the server should send it");
	if (t->cc->issuer_url) {
		say(t, "; it is at ");
		say_name(t, t->cc->issuer_url);
	}
}

static void constrained(struct text *t)
{
	size_t ca = 0;
	enum chain_limit limit = chain_faults_limit(t->c, t->i, &ca);

	if (limit == CHAIN_LIMIT_NONE) {
		say(t, "breaks a rule that a CA (certification authority) above it has set: get a certificate from "
		       "another");
		return;
	}
	say(t, limit == CHAIN_LIMIT_NAMES ? "has a name for which " : "is a CA (certification authority), and ");
	say_name(t, t->c->certs[ca].subject);
	say(t, limit == CHAIN_LIMIT_NAMES
			? " may not certify anybody (name constraints): get a certificate from another CA "
			  "(certification authority)"
			: " may not certify that many CAs below itself (path length): get a certificate from another");
}

static void long_life(struct text *t)
{
	say(t, "is valid for longer than the %d days that browsers accept from a public CA (certification authority): "
	       "have a shorter one issued", chain_facts_longest_days(t->cc->not_before));
}

#define SAY(name, ...) \
	static void name(struct text *t) \
	{ \
		say(t, __VA_ARGS__); \
	}

SAY(no_san, "lacks the list of names that it is for (subject alternative names); clients no longer look for a name in "
	    "its subject: have it issued again with the name in that list")
SAY(self_signed, "vouches for itself (self-signed), which anybody can do, so it proves nothing; get one from a CA "
		 "(certification authority), or if you know that it is the right one, accept it with --ca or --pin")
SAY(useless, "certifies nothing in this chain and costs every client time: the server should leave it out")
SAY(extra_root, "is a root, which clients either have or do not trust, so sending it helps nobody: "
		"the server may leave it out")
SAY(untrusted_root, "is the root of this chain and not among those trusted here; if it is one of your own, name its "
		    "certificate with --ca, otherwise get a certificate from a CA that clients trust")
SAY(bad_signature, "has a signature that its issuer's key did not make: it was altered or forged, or its issuer has a "
		   "new key and the server sends the issuer's old certificate")
SAY(revoked, "was revoked by its issuer, perhaps since its key was stolen: do not trust this server until it has a new "
	     "one")
SAY(unreadable, "cannot be read as a certificate: the server's file is damaged")
SAY(duplicate, "was sent before: once is enough, the server should leave it out")
SAY(critical, "has an extension marked critical that is not known here, so what it allows is not known either: "
	      "it must be refused; get one without")

static const struct {
	unsigned fault;
	const char *name;
	void (*say)(struct text *);
} faults[] = {
	{ CHAIN_UNREADABLE, "unreadable", unreadable },
	{ CHAIN_IS_REVOKED, "revoked", revoked },
	{ CHAIN_SELF_SIGNED, "self-signed", self_signed },
	{ CHAIN_ISSUER_MISSING, "issuer-missing", issuer_missing },
	{ CHAIN_UNTRUSTED_ROOT, "untrusted-root", untrusted_root },
	{ CHAIN_BAD_SIGNATURE, "bad-signature", bad_signature },
	{ CHAIN_NOT_CA, "not-ca", not_ca },
	{ CHAIN_CONSTRAINED, "constrained", constrained },
	{ CHAIN_CRITICAL, "critical-extension", critical },
	{ CHAIN_WRONG_PURPOSE, "wrong-purpose", wrong_purpose },
	{ CHAIN_WRONG_NAME, "wrong-name", wrong_name },
	{ CHAIN_NO_SAN, "no-san", no_san },
	{ CHAIN_EXPIRED, "expired", expired },
	{ CHAIN_NOT_YET, "not-yet-valid", not_yet },
	{ CHAIN_WEAK_KEY, "weak-key", weak_key },
	{ CHAIN_WEAK_SIGNATURE, "weak-signature", weak_signature },
	{ CHAIN_OUT_OF_ORDER, "out-of-order", out_of_order },
	{ CHAIN_DUPLICATE, "duplicate", duplicate },
	{ CHAIN_USELESS, "useless", useless },
	{ CHAIN_EXTRA_ROOT, "extra-root", extra_root },
	{ CHAIN_LONG_LIFE, "long-life", long_life },
};

#define N_FAULTS (sizeof(faults) / sizeof(*faults))

static const struct {
	unsigned cause;
	const char *name;
} causes[] = {
	{ CHAIN_REVOKED, "revoked" }, { CHAIN_UNTRUSTED, "untrusted" }, { CHAIN_NAME, "name" }, { CHAIN_TIME, "time" },
	{ CHAIN_WEAK, "weak" },
};

const char *chain_fault_name(unsigned fault)
{
	size_t i;

	for (i = 0; i < N_FAULTS; i++)
		if (faults[i].fault == fault)
			return faults[i].name;
	return NULL;
}

const char *chain_cause_name(unsigned cause)
{
	size_t i;

	for (i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (causes[i].cause == cause)
			return causes[i].name;
	return NULL;
}

unsigned chain_fault_next(unsigned set, unsigned last)
{
	size_t i = 0;

	while (last && i < N_FAULTS && faults[i++].fault != last)
		;
	for (; i < N_FAULTS; i++)
		if (set & faults[i].fault)
			return faults[i].fault;
	return 0;
}

/* A buffer that is too small ends before the character that does not fit. */
static void trim(char *out)
{
	size_t n = strlen(out), at = 0, len;
	uint32_t cp;

	while (at < n && (len = utf8_decode(out + at, n - at, &cp)) > 0)
		at += len;
	out[at] = '\0';
}

char *chain_fault_text(const struct chain *c, size_t i, unsigned fault, const struct chain_request *r, char *out,
	size_t size)
{
	struct text t = { .c = c, .cc = &c->certs[i], .i = i, .r = r, .out = out, .size = size };
	size_t k;

	out[0] = '\0';
	for (k = 0; k < N_FAULTS; k++)
		if (faults[k].fault == fault)
			faults[k].say(&t);
	trim(out);
	return out;
}
