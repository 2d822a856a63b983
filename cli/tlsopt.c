/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "cli/tlsopt.h"

#include <stddef.h>

#define AT(field) .offset = offsetof(struct tlsopt, field)

const struct opt tlsopt_identity[] = {
	{ .name = "cert", .letter = 'c', .type = OPT_LIST, .arg = "FILE", AT(cert), .complete = OPT_COMPLETE_FILE,
		.help = "Certificate chain, PEM or DER, or a pkcs11: URL. Repeatable: a listener shows the one with the name asked for, else with a *. wildcard for it, else the first; of several such, RSA or ECDSA, one that the client can verify." },
	{ .name = "key", .letter = 'k', .type = OPT_LIST, .arg = "FILE", AT(key), .complete = OPT_COMPLETE_FILE,
		.help = "Private key of the --cert at the same place. Without it the key is looked for in the --cert file." },
	{ .name = "psk-file", .type = OPT_STRING, .arg = "FILE", AT(psk_file), .complete = OPT_COMPLETE_FILE,
		.help = "Pre-shared keys, a line IDENTITY:HEXKEY each; - is standard input. A peer with one of them is trusted, nobody else." },
	{ .name = "psk-identity", .type = OPT_STRING, .arg = "NAME", AT(psk_identity), .def_text = "the first of the file",
		.help = "Which of the pre-shared keys to use as a client." },
	{ .name = NULL },
};

const struct opt tlsopt_ephemeral[] = {
	{ .name = "cert-dir", .type = OPT_STRING, .arg = "DIR", AT(cert_dir), .complete = OPT_COMPLETE_DIR,
		.help = "Keep the ephemeral certificate of a listener without --cert here, so that its pin stays the same." },
	{ .name = NULL },
};

const struct opt tlsopt_server[] = {
	{ .name = "ca", .type = OPT_STRING, .arg = "FILE", AT(ca), .def_text = "the system's store",
		.complete = OPT_COMPLETE_FILE, .help = "Trust the certificates of this file and no others." },
	{ .name = "crl", .type = OPT_STRING, .arg = "FILE", AT(crl), .complete = OPT_COMPLETE_FILE,
		.help = "Revocation list to hold the peer's chain against." },
	{ .name = "pin", .letter = 'p', .type = OPT_LIST, .arg = "sha256:BASE64", AT(pin),
		.help = "Trust the server that has this public key. Alone it takes the place of chain and name; with --ca both must hold. Repeatable." },
	{ .name = "servername", .type = OPT_STRING, .arg = "NAME", AT(servername), .def_text = "the target's name",
		.help = "Server name (SNI) to send." },
	{ .name = "verify-name", .type = OPT_STRING, .arg = "NAME", AT(verify_name), .def_text = "--servername, else the target",
		.help = "Name or IP address that the certificate must be for." },
	{ .name = "insecure-no-verify", .type = OPT_FLAG, AT(insecure_no_verify),
		.help = "Accept any server. Anybody on the way can read and change the traffic." },
	{ .name = NULL },
};

const struct opt tlsopt_client[] = {
	{ .name = "client-ca", .type = OPT_STRING, .arg = "FILE", AT(client_ca), .complete = OPT_COMPLETE_FILE,
		.help = "Let in only clients with a certificate that one of these issued." },
	{ .name = "allow", .type = OPT_LIST, .arg = "RULE", AT(allow),
		.help = "Of those, let in only cn:NAME, ou:NAME, dns:NAME, uri:URI, email:ADDRESS or pin:sha256:BASE64. Repeatable, any may match. Pins work without --client-ca." },
	{ .name = "tickets", .type = OPT_UINT, .arg = "N", AT(tickets), .def = "2", .max = 16,
		.help = "Session tickets a full TLS 1.3 handshake gives the client; they ride with the first response. 0: no resumption." },
	{ .name = "ticket-key-file", .type = OPT_STRING, .arg = "FILE", AT(ticket_key_file), .complete = OPT_COMPLETE_FILE,
		.def_text = "a key of this process",
		.help = "64 random bytes that several servers share, so that each resumes the others' sessions." },
	{ .name = NULL },
};

const struct opt tlsopt_protocol[] = {
	{ .name = "min-tls", .type = OPT_ENUM, .arg = "VERSION", AT(min_tls), .choices = "1.2|1.3", .def = "1.2",
		.help = "Oldest version to accept." },
	{ .name = "max-tls", .type = OPT_ENUM, .arg = "VERSION", AT(max_tls), .choices = "1.2|1.3", .def = "1.3",
		.help = "Newest version to use." },
	{ .name = "alpn", .type = OPT_COMMA, .arg = "LIST", AT(alpn),
		.help = "Application protocols, the best first; a listener refuses clients that offer others only." },
	{ .name = "ciphersuite", .type = OPT_COMMA, .arg = "LIST", AT(ciphersuite), .complete = OPT_COMPLETE_SUITES,
		.def_text = "AES-GCM, ChaCha20-Poly1305",
		.help = "Suites to use, the best first, in the registry's or GnuTLS's spelling; AES-128-GCM stands for each suite with it." },
	{ .name = "group", .type = OPT_COMMA, .arg = "LIST", AT(group), .complete = OPT_COMPLETE_GROUPS,
		.def_text = "X25519MLKEM768 where there is one, X25519, P-256 and up", .help = "Groups for the key exchange, the best first." },
	{ .name = "signature", .type = OPT_COMMA, .arg = "LIST", AT(signature), .def_text = "GnuTLS's own",
		.help = "Signature schemes to accept, the best first." },
	{ .name = "priority", .type = OPT_STRING, .arg = "STRING", AT(priority),
		.help = "A GnuTLS priority string in place of all the above but --alpn. It can also switch weak things on." },
	{ .name = "keylog", .type = OPT_STRING, .arg = "FILE", AT(keylog), .def_text = "$SSLKEYLOGFILE",
		.complete = OPT_COMPLETE_FILE,
		.help = "Append the secrets of each session here, for Wireshark (mode 0600). Whoever has them reads the traffic." },
	{ .name = NULL },
};

static struct names_list list(const struct opt_list *l)
{
	return (struct names_list){ .v = (const char *const *)l->v, .n = l->n };
}

static void fill_server(const struct tlsopt *v, struct tls_options *o)
{
	o->cert_dir = v->cert_dir;
	o->client_ca = v->client_ca;
	o->allow = list(&v->allow);
	o->tickets = (unsigned)v->tickets;
	o->ticket_key_file = v->ticket_key_file;
	o->crl = v->crl;
}

static void fill_client(const struct tlsopt *v, struct tls_options *o)
{
	o->ca = v->ca;
	o->crl = v->crl;
	o->pins = list(&v->pin);
	o->insecure_no_verify = v->insecure_no_verify;
	o->servername = v->servername;
	o->verify_name = v->verify_name;
	o->psk_identity = v->psk_identity;
}

void tlsopt_fill(const struct tlsopt *v, enum tls_role role, struct tls_options *o)
{
	*o = (struct tls_options){
		.role = role,
		.certs = list(&v->cert),
		.keys = list(&v->key),
		.psk_file = v->psk_file,
		.alpn = list(&v->alpn),
		.min_version = v->min_tls ? 13 : 12,
		.max_version = v->max_tls ? 13 : 12,
		.suites = list(&v->ciphersuite),
		.groups = list(&v->group),
		.signatures = list(&v->signature),
		.priority = v->priority,
		.keylog = v->keylog,
	};
	if (role == TLS_SERVER)
		fill_server(v, o);
	else
		fill_client(v, o);
}
