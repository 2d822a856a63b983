/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/net/addr.h"
#include "lib/tls/cert_pair.h"
#include "lib/tls/crl.h"
#include "lib/tls/keylog.h"
#include "lib/tls/sni.h"
#include "lib/tls/tls_int.h"
#include "lib/tls/tlserr.h"

#define TICKET_KEY_SIZE 64

/* --- credentials --------------------------------------------------------------------- */

static int put_certs(struct tls_config *c, const struct tls_options *o, struct cert_pair *pairs, struct err *e)
{
	size_t i;

	for (i = 0; i < o->certs.n; i++) {
		if (cert_pair_load(&pairs[i], o->certs.v[i], i < o->keys.n ? o->keys.v[i] : NULL, c->role == TLS_SERVER, e) < 0)
			return -1;
		if (cert_pair_put(&pairs[i], c->cert, e) < 0)
			return -1;
		c->has_token |= cert_pair_in_token(&pairs[i]);
	}
	return c->role == TLS_SERVER ? sni_new(&c->sni, c->cert, pairs, (unsigned)o->certs.n, e) : 0;
}

static int load_certs(struct tls_config *c, const struct tls_options *o, struct err *e)
{
	struct cert_pair *pairs;
	size_t i;
	int r;

	if (o->keys.n > o->certs.n)
		return err_set(e, ERR_CONFIG, "--key %s: there is no --cert for it", o->keys.v[o->certs.n]);
	c->has_cert = o->certs.n > 0;
	if (c->role == TLS_SERVER && !o->certs.n && !o->psk_file) {
		c->has_ephemeral = true;
		return cert_ephemeral(c->cert, o->cert_dir, c->ephemeral_pin, e);
	}
	if (!o->certs.n)
		return 0;
	pairs = calloc(o->certs.n, sizeof(*pairs));
	if (!pairs)
		return err_set(e, ERR_RUNTIME, "no memory");
	r = put_certs(c, o, pairs, e);
	for (i = 0; i < o->certs.n; i++)
		cert_pair_free(&pairs[i]);
	free(pairs);
	return r;
}

static int load_ca(struct tls_config *c, const char *option, const char *path, struct err *e)
{
	gnutls_datum_t d;
	int r;

	if (cert_read_file(option, path, &d, e) < 0)
		return -1;
	r = gnutls_certificate_set_x509_trust_mem(c->cert, &d,
		memmem(d.data, d.size, "-----BEGIN", 10) ? GNUTLS_X509_FMT_PEM : GNUTLS_X509_FMT_DER);
	gnutls_free(d.data);
	if (r < 0 && r != GNUTLS_E_NO_CERTIFICATE_FOUND)
		return tlserr_set(e, ERR_CONFIG, r, "%s %s", option, path);
	if (r <= 0)
		return err_set(e, ERR_CONFIG, "%s %s: no certificate in this file", option, path);
	return 0;
}

static int load_crl(struct tls_config *c, const char *path, struct err *e)
{
	gnutls_datum_t d;
	int r;

	if (cert_read_file("--crl", path, &d, e) < 0)
		return -1;
	r = gnutls_certificate_set_x509_crl_mem(c->cert, &d,
		memmem(d.data, d.size, "-----BEGIN", 10) ? GNUTLS_X509_FMT_PEM : GNUTLS_X509_FMT_DER);
	c->has_crl = r > 0;
	c->crl_until = crl_until(&d);
	gnutls_free(d.data);
	if (r < 0)
		return tlserr_set(e, ERR_CONFIG, r, "--crl %s", path);
	return r ? 0 : err_set(e, ERR_CONFIG, "--crl %s: no revocation list of a trusted CA in this file", path);
}

static int load_pins(struct tls_config *c, const struct names_list *pins, struct err *e)
{
	size_t i;

	if (!pins->n)
		return 0;
	c->pins = calloc(pins->n, sizeof(*c->pins));
	if (!c->pins)
		return err_set(e, ERR_RUNTIME, "no memory");
	for (i = 0; i < pins->n; i++)
		if (cert_pin_parse("--pin", pins->v[i], c->pins[i], e) < 0)
			return -1;
	c->n_pins = pins->n;
	return 0;
}

/* --- pre-shared keys ------------------------------------------------------------------ */

static int find_psk(gnutls_session_t gs, const gnutls_datum_t *identity, gnutls_datum_t *key)
{
	struct session *s = gnutls_session_get_ptr(gs);
	const gnutls_datum_t *found = psk_find(s->config->psk, identity->data, identity->size);

	if (!found)
		return -1;
	key->data = gnutls_malloc(found->size);
	if (!key->data)
		return -1;
	memcpy(key->data, found->data, found->size);
	key->size = found->size;
	return 0;
}

static int setup_psk_server(struct tls_config *c, struct err *e)
{
	if (gnutls_psk_allocate_server_credentials(&c->psk_server) < 0)
		return err_set(e, ERR_RUNTIME, "no memory");
	gnutls_psk_set_server_credentials_function2(c->psk_server, find_psk);
	/* for TLS 1.2 clients without RFC 7919 */
	gnutls_psk_set_server_known_dh_params(c->psk_server, GNUTLS_SEC_PARAM_HIGH);
	return 0;
}

static int setup_psk_client(struct tls_config *c, const char *wanted, struct err *e)
{
	const char *identity = wanted;
	const gnutls_datum_t *key;
	int r;

	key = wanted ? psk_find(c->psk, wanted, strlen(wanted)) : psk_first(c->psk, &identity);
	if (!key)
		return err_set(e, ERR_CONFIG, "--psk-identity \"%.80s\": not in the --psk-file", wanted);
	if (gnutls_psk_allocate_client_credentials(&c->psk_client) < 0)
		return err_set(e, ERR_RUNTIME, "no memory");
	r = gnutls_psk_set_client_credentials(c->psk_client, identity, key, GNUTLS_PSK_KEY_RAW);
	return r < 0 ? tlserr_set(e, ERR_RUNTIME, r, "--psk-file") : 0;
}

static int setup_psk(struct tls_config *c, const struct tls_options *o, struct err *e)
{
	if (!o->psk_file)
		return o->psk_identity ? err_set(e, ERR_CONFIG, "--psk-identity needs --psk-file") : 0;
	c->psk = psk_load(o->psk_file, e);
	if (!c->psk)
		return -1;
	return c->role == TLS_SERVER ? setup_psk_server(c, e) : setup_psk_client(c, o->psk_identity, e);
}

/* --- the two roles ---------------------------------------------------------------------- */

static enum config_trust choose_trust(const struct tls_options *o)
{
	if (o->insecure_no_verify)
		return CONFIG_TRUST_NONE;
	if (o->psk_file)
		return CONFIG_TRUST_PSK;
	if (o->ca && o->pins.n)
		return CONFIG_TRUST_CHAIN_AND_PIN;
	return o->pins.n ? CONFIG_TRUST_PIN : CONFIG_TRUST_CHAIN;
}

/* Who has a pre-shared key is trusted, and nobody else: with a second way in, each
 * of the two would promise what the other one does not keep. */
static int check_psk_alone(const struct tls_options *o, struct err *e)
{
	const struct {
		bool given;
		const char *name;
	} others[] = { { o->certs.n, "--cert" }, { o->ca, "--ca" }, { o->pins.n, "--pin" }, { o->client_ca, "--client-ca" },
		{ o->allow.n, "--allow" }, { o->insecure_no_verify, "--insecure-no-verify" }, { o->cert_dir, "--cert-dir" },
		{ o->verify_name, "--verify-name" }, { o->crl, "--crl" } };
	size_t i;

	for (i = 0; o->psk_file && i < sizeof(others) / sizeof(*others); i++)
		if (others[i].given)
			return err_set(e, ERR_CONFIG, "%s cannot go with --psk-file, which takes the place of certificates",
				others[i].name);
	return 0;
}

/* What would have no effect, although somebody counts on it. */
static int check_effect(const struct tls_options *o, struct err *e)
{
	bool named = o->min_version != 12 || o->max_version != 13 || o->suites.n || o->groups.n || o->signatures.n;

	if (o->priority && named)
		return err_set(e, ERR_CONFIG,
			"--priority takes the place of --min-tls, --max-tls, --ciphersuite, --group and --signature: give the one or the others");
	if (o->verify_name && (o->insecure_no_verify || (o->pins.n && !o->ca)))
		return err_set(e, ERR_CONFIG, "--verify-name has no effect with %s: names are not looked at",
			o->insecure_no_verify ? "--insecure-no-verify" : "--pin alone");
	if (o->crl && o->role == TLS_SERVER && !o->client_ca)
		return err_set(e, ERR_CONFIG, "--crl needs --client-ca here: the lists are those of its CAs");
	if (o->crl && o->role == TLS_CLIENT && o->pins.n && !o->ca)
		return err_set(e, ERR_CONFIG, "--crl has no effect with --pin alone");
	if (o->cert_dir && o->certs.n)
		return err_set(e, ERR_CONFIG, "--cert-dir is for a certificate of tlskit's own, and --cert is given");
	if (o->ticket_key_file && !o->tickets)
		return err_set(e, ERR_CONFIG, "--ticket-key-file has no effect with --tickets 0");
	return check_psk_alone(o, e);
}

static int setup_client(struct tls_config *c, const struct tls_options *o, struct err *e)
{
	int r;

	c->trust = choose_trust(o);
	if (o->insecure_no_verify && (o->ca || o->pins.n))
		return err_set(e, ERR_CONFIG, "--insecure-no-verify cannot go with --ca or --pin");
	if (o->insecure_anon && gnutls_anon_allocate_client_credentials(&c->anon_client) < 0)
		return err_set(e, ERR_RUNTIME, "no memory");
	if (load_pins(c, &o->pins, e) < 0)
		return -1;
	if (o->ca && load_ca(c, "--ca", o->ca, e) < 0)
		return -1;
	if (!o->ca && c->trust == CONFIG_TRUST_CHAIN) {
		r = gnutls_certificate_set_x509_system_trust(c->cert);
		if (r <= 0 && !o->trust_optional)
			return err_set(e, ERR_CONFIG,
				"the system's certificate store is empty (install ca-certificates), and neither --ca nor --pin is given");
	}
	return 0;
}

static int parse_rules(struct tls_config *c, const struct names_list *allow, bool *only_pins, struct err *e)
{
	*only_pins = allow->n > 0;
	if (!allow->n)
		return 0;
	c->rules = calloc(allow->n, sizeof(*c->rules));
	if (!c->rules)
		return err_set(e, ERR_RUNTIME, "no memory");
	for (; c->n_rules < allow->n; c->n_rules++) {
		if (verify_rule_parse(allow->v[c->n_rules], &c->rules[c->n_rules], e) < 0)
			return -1;
		*only_pins &= c->rules[c->n_rules].kind == VERIFY_PIN;
	}
	return 0;
}

static int setup_server(struct tls_config *c, const struct tls_options *o, struct err *e)
{
	bool only_pins;

	if (parse_rules(c, &o->allow, &only_pins, e) < 0)
		return -1;
	if (o->client_ca && load_ca(c, "--client-ca", o->client_ca, e) < 0)
		return -1;
	if (o->allow.n && !o->client_ca && !only_pins)
		return err_set(e, ERR_CONFIG, "--allow %s needs --client-ca: a name is worth what its issuer is worth",
			o->allow.v[0]);
	c->client_chain = o->client_ca != NULL;
	c->client_certs = o->client_ca || o->allow.n;
	c->tickets = o->tickets;
	return 0;
}

static int load_ticket_key(struct tls_config *c, const char *path, struct err *e)
{
	if (!path)
		return gnutls_session_ticket_key_generate(&c->ticket_key) < 0
			? err_set(e, ERR_RUNTIME, "cannot make a ticket key")
			: 0;
	if (cert_read_file("--ticket-key-file", path, &c->ticket_key, e) < 0)
		return -1;
	if (c->ticket_key.size != TICKET_KEY_SIZE)
		return err_set(e, ERR_CONFIG, "--ticket-key-file %s: expected %d random bytes, found %u", path,
			TICKET_KEY_SIZE, c->ticket_key.size);
	return 0;
}

/* --- priorities, names ---------------------------------------------------------------------- */

static int setup_priority(struct tls_config *c, const struct tls_options *o, struct err *e)
{
	struct names_wanted w = {
		.suites = o->suites,
		.groups = o->groups,
		.signatures = o->signatures,
		.min_version = o->min_version,
		.max_version = o->max_version,
		.certificates = c->role == TLS_SERVER ? o->certs.n || c->has_ephemeral : c->trust != CONFIG_TRUST_PSK,
		.psk = o->psk_file != NULL,
		.priority = o->priority,
	};
	char *text = names_priority(&w, e);
	const char *at = NULL;
	int r;

	if (!text)
		return -1;
	r = gnutls_priority_init(&c->priority, text, &at);
	if (r < 0 && o->priority)
		err_set(e, ERR_CONFIG, "--priority \"%.120s\": GnuTLS does not take it from \"%.60s\" on", text,
			at ? at : "");
	else if (r < 0)
		err_set(e, ERR_CONFIG, "no usable set of versions, suites and groups is left (%.300s)", text);
	free(text);
	return r < 0 ? -1 : 0;
}

static int copy_alpn(struct tls_config *c, const struct names_list *alpn, struct err *e)
{
	size_t i, n;

	if (!alpn->n)
		return 0;
	c->alpn = calloc(alpn->n, sizeof(*c->alpn));
	if (!c->alpn)
		return err_set(e, ERR_RUNTIME, "no memory");
	for (i = 0; i < alpn->n; i++) {
		n = strlen(alpn->v[i]);
		if (n < 1 || n > 255) /* RFC 7301, 3.1 */
			return err_set(e, ERR_CONFIG, "--alpn \"%.60s\": a protocol name has 1 to 255 bytes", alpn->v[i]);
		c->alpn[i].data = (unsigned char *)strdup(alpn->v[i]);
		if (!c->alpn[i].data)
			return err_set(e, ERR_RUNTIME, "no memory");
		c->alpn[i].size = (unsigned)n;
		c->n_alpn++;
	}
	return 0;
}

static int copy_name(char **out, const char *option, const char *text, bool ip, struct err *e)
{
	char name[ADDR_HOST_MAX + 1];

	if (addr_parse_name(name, option, text, ip, e) < 0)
		return -1;
	*out = strdup(name);
	return *out ? 0 : err_set(e, ERR_RUNTIME, "no memory");
}

static int copy_names(struct tls_config *c, const struct tls_options *o, struct err *e)
{
	const char **v;
	size_t i;

	if (o->servername && copy_name(&c->servername, "--servername", o->servername, false, e) < 0)
		return -1;
	if (o->verify_name && copy_name(&c->verify_name, "--verify-name", o->verify_name, true, e) < 0)
		return -1;
	if (!o->suites.n)
		return 0;
	v = calloc(o->suites.n, sizeof(*v));
	if (!v)
		return err_set(e, ERR_RUNTIME, "no memory");
	c->suites.v = v;
	for (i = 0; i < o->suites.n; i++) {
		v[i] = strdup(o->suites.v[i]);
		if (!v[i])
			return err_set(e, ERR_RUNTIME, "no memory");
		c->suites.n++;
	}
	return 0;
}

/* GNUTLS_KEY_SHARE_TOP: one key share, of the first group; a second one would be
 * made for nothing. Behind a hybrid with ML-KEM, which few servers have yet,
 * the second share saves them a HelloRetryRequest. */
static unsigned init_flags(const struct tls_config *c, const struct tls_options *o)
{
	unsigned flags = GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL;

	if (c->role == TLS_SERVER)
		return flags | GNUTLS_SERVER | GNUTLS_NO_AUTO_SEND_TICKET | (c->tickets ? 0 : GNUTLS_NO_TICKETS);
	flags |= GNUTLS_CLIENT;
	if (!names_has_mlkem() || o->groups.n == 1)
		flags |= GNUTLS_KEY_SHARE_TOP;
	return flags;
}

static int fill(struct tls_config *c, const struct tls_options *o, struct err *e)
{
	if (check_effect(o, e) < 0)
		return -1;
	if (gnutls_certificate_allocate_credentials(&c->cert) < 0)
		return err_set(e, ERR_RUNTIME, "no memory");
	gnutls_certificate_set_verify_function(c->cert, verify_callback);
	if ((c->role == TLS_SERVER ? setup_server(c, o, e) : setup_client(c, o, e)) < 0)
		return -1;
	if (load_certs(c, o, e) < 0 || setup_psk(c, o, e) < 0)
		return -1;
	if (o->crl && load_crl(c, o->crl, e) < 0)
		return -1;
	if (setup_priority(c, o, e) < 0 || copy_alpn(c, &o->alpn, e) < 0 || copy_names(c, o, e) < 0)
		return -1;
	if (c->role == TLS_SERVER && c->tickets && load_ticket_key(c, o->ticket_key_file, e) < 0)
		return -1;
	if (keylog_open(o->keylog, &c->keylog_fd, e) < 0)
		return -1;
	c->init_flags = init_flags(c, o);
	return 0;
}

struct tls_config *config_new(const struct tls_options *o, struct err *e)
{
	struct tls_config *c = calloc(1, sizeof(*c));

	if (!c) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	atomic_init(&c->refs, 1);
	c->role = o->role;
	c->dataplane = o->dataplane;
	c->keylog_fd = -1;
	if (fill(c, o, e) < 0) {
		config_unref(c);
		return NULL;
	}
	return c;
}

struct tls_config *config_ref(struct tls_config *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

void config_unref(struct tls_config *c)
{
	size_t i;

	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
		return;
	sni_free(c->sni);
	if (c->cert)
		gnutls_certificate_free_credentials(c->cert);
	if (c->psk_server)
		gnutls_psk_free_server_credentials(c->psk_server);
	if (c->psk_client)
		gnutls_psk_free_client_credentials(c->psk_client);
	if (c->anon_client)
		gnutls_anon_free_client_credentials(c->anon_client);
	if (c->priority)
		gnutls_priority_deinit(c->priority);
	psk_free(c->psk);
	cert_wipe_datum(&c->ticket_key);
	free(c->pins);
	verify_rules_free(c->rules, c->n_rules);
	for (i = 0; i < c->n_alpn; i++)
		free(c->alpn[i].data);
	free(c->alpn);
	for (i = 0; i < c->suites.n; i++)
		free((char *)c->suites.v[i]);
	free((void *)c->suites.v);
	free(c->servername);
	free(c->verify_name);
	if (c->keylog_fd >= 0)
		close(c->keylog_fd);
	free(c);
}
