/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_CONFIG_H
#define TLSKIT_TLS_CONFIG_H

#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/tls/cert.h"
#include "lib/tls/names.h"

/* A TLS configuration: credentials, trust, priorities. Made once, immutable,
 * shared by all threads and swapped whole; it lives until its last reference
 * is given back. */

enum tls_role { TLS_SERVER, TLS_CLIENT };

/* How records are sealed and opened (plane.h). AUTO is the fastest that a session
 * can use; KTLS is never chosen by itself. */
enum tls_dataplane { TLS_DATAPLANE_AUTO, TLS_DATAPLANE_GNUTLS, TLS_DATAPLANE_DIRECT, TLS_DATAPLANE_KTLS };

/* What a user asked for; every string is borrowed for the call. Error messages
 * name the options by the names in design section 3. */
struct tls_options {
	enum tls_role role;
	struct names_list certs; /* --cert */
	struct names_list keys; /* --key, the nth belongs to the nth --cert */
	const char *cert_dir; /* --cert-dir: where the ephemeral certificate is kept */
	const char *ca; /* --ca; NULL: the system's store (client) */
	const char *crl; /* --crl */
	const char *client_ca; /* --client-ca: clients must show a certificate of it */
	struct names_list allow; /* --allow */
	struct names_list pins; /* --pin */
	bool insecure_no_verify;
	bool insecure_anon; /* client: also suites in which nobody says who he is, where priority has them */
	bool trust_optional; /* client: an empty system store is no error: then nothing is trusted */
	const char *psk_file, *psk_identity;
	const char *servername; /* --servername; NULL: the target's name */
	const char *verify_name; /* --verify-name; NULL: servername, then the target's */
	struct names_list alpn;
	int min_version, max_version; /* 12 or 13 */
	struct names_list suites, groups, signatures;
	const char *priority;
	enum tls_dataplane dataplane;
	const char *keylog; /* NSS key log, mode 0600, appended */
	unsigned tickets; /* server: TLS 1.3 tickets a full handshake; 0: none in any version */
	const char *ticket_key_file; /* 64 bytes, raw; NULL: one of this process's own */
};

struct tls_config;

/* NULL with ERR_CONFIG. A server without certificate and PSK gets an ephemeral
 * certificate. */
struct tls_config *config_new(const struct tls_options *o, struct err *e);
struct tls_config *config_ref(struct tls_config *c);
void config_unref(struct tls_config *c); /* NULL is fine; the last one wipes */

/* The pin of the ephemeral certificate, or NULL when the user gave one. */
const uint8_t *config_ephemeral_pin(const struct tls_config *c);

/* How a client with this configuration authenticates the server. */
enum config_trust {
	CONFIG_TRUST_NONE, /* --insecure-no-verify */
	CONFIG_TRUST_CHAIN, /* chain and name */
	CONFIG_TRUST_PIN, /* the pinned key alone */
	CONFIG_TRUST_CHAIN_AND_PIN, /* --ca and --pin: both must hold */
	CONFIG_TRUST_PSK, /* whoever has the key */
};
enum config_trust config_trust(const struct tls_config *c);

/* Whether a server's handshakes may keep a thread for milliseconds: an RSA key
 * (2 to 4 ms a signature of RSA-3072, where ECDSA P-256 takes 0.05), or one in a
 * token. */
bool config_signs_slowly(const struct tls_config *c);

/* Whether records are to be the kernel's (TLS_DATAPLANE_KTLS). */
bool config_wants_kernel(const struct tls_config *c);

/* What chains are held against: --ca or the system's store, with the lists of --crl.
 * Borrowed; other threads may use it too. */
gnutls_x509_trust_list_t config_trust_list(const struct tls_config *c);
bool config_has_crl(const struct tls_config *c);
int64_t config_crl_until(const struct tls_config *c); /* crl.h; with one */

bool config_has_cert(const struct tls_config *c); /* of our own */

/* --pin: whether any was given, and whether this key is one of them. */
bool config_has_pins(const struct tls_config *c);
bool config_is_pinned(const struct tls_config *c, const uint8_t pin[CERT_PIN_SIZE]);

/* --servername and --verify-name, or NULL. Borrowed from c. */
const char *config_servername(const struct tls_config *c);
const char *config_verify_name(const struct tls_config *c);

#endif
