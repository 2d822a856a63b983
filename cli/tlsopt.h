/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_CLI_TLSOPT_H
#define TLSKIT_CLI_TLSOPT_H

#include "cli/opt.h"
#include "lib/tls/config.h"

/* The TLS options that commands share: one struct, five tables to list as groups
 * with `base` at the struct's place in the command's own. */
struct tlsopt {
	/* our own proof */
	struct opt_list cert, key;
	const char *cert_dir, *psk_file, *psk_identity;
	/* what is asked of a server */
	const char *ca, *crl, *servername, *verify_name;
	struct opt_list pin;
	bool insecure_no_verify;
	/* what is asked of a client */
	const char *client_ca;
	struct opt_list allow;
	uint64_t tickets;
	const char *ticket_key_file;
	/* the protocol */
	int min_tls, max_tls; /* index: 0 is 1.2, 1 is 1.3 */
	struct opt_list alpn, ciphersuite, group, signature;
	const char *priority, *keylog;
};

extern const struct opt tlsopt_identity[]; /* --cert … --psk-identity */
extern const struct opt tlsopt_ephemeral[]; /* --cert-dir, of a listener */
extern const struct opt tlsopt_server[]; /* how a server is verified */
extern const struct opt tlsopt_client[]; /* how clients are let in */
extern const struct opt tlsopt_protocol[];

/* The part of v that concerns one role; strings are borrowed from v. */
void tlsopt_fill(const struct tlsopt *v, enum tls_role role, struct tls_options *out);

#endif
