/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/help.h"
#include "cli/tlsopt.h"
#include "cli/tunnel_modes.h"
#include "lib/base/log.h"
#include "lib/net/limit.h"
#include "lib/net/route.h"
#include "lib/relay/tunnel.h"

/* --- options ------------------------------------------------------------------ */

struct options {
	struct tlsopt tls;
	const char *client_cert, *client_key;
	uint64_t threads, max_conns;
	uint64_t connect_ms, handshake_ms, idle_ms, drain_ms;
	int balance, dataplane, log_format, log_level;
	bool allow_truncation, check, demo;
};

#define AT(field) .offset = offsetof(struct options, field)

static const struct opt both_sides[] = {
	{ .name = "client-cert", .type = OPT_STRING, .arg = "FILE", AT(client_cert), .complete = OPT_COMPLETE_FILE,
		.help = "Certificate to show to the target where both sides are TLS; --cert is the listener's then." },
	{ .name = "client-key", .type = OPT_STRING, .arg = "FILE", AT(client_key), .complete = OPT_COMPLETE_FILE,
		.help = "Its private key." },
	{ .name = NULL },
};

static const struct opt connections[] = {
	{ .name = "balance", .type = OPT_ENUM, .arg = "HOW", AT(balance), .choices = "first|roundrobin", .def = "first",
		.help = "Which of several targets a connection tries first. One that failed within 5 s comes last." },
	{ .name = "connect-timeout", .type = OPT_DURATION, .arg = "TIME", AT(connect_ms), .def = "10s",
		.help = "For name look-up and connect to a target; 0: none." },
	{ .name = "handshake-timeout", .type = OPT_DURATION, .arg = "TIME", AT(handshake_ms), .def = "10s",
		.help = "For each TLS handshake; 0: none." },
	{ .name = "idle-timeout", .type = OPT_DURATION, .arg = "TIME", AT(idle_ms), .def = "0", .def_text = "0, none",
		.help = "End a connection on which nothing moved for so long." },
	{ .name = "drain", .type = OPT_DURATION, .arg = "TIME", AT(drain_ms), .def = "30s",
		.help = "How long open connections may go on after SIGTERM or SIGINT. A second signal ends them at once." },
	{ .name = "max-conns", .type = OPT_UINT, .arg = "N", AT(max_conns), .def_text = "what the descriptor limit allows",
		.min = 1, .max = 10000000, .help = "Connections at a time; further ones wait to be accepted." },
	{ .name = "allow-truncation", .type = OPT_FLAG, AT(allow_truncation),
		.help = "Take a TLS peer that ends without close_notify for a clean end. Without this the other side gets a reset." },
	{ .name = NULL },
};

static const struct opt process[] = {
	{ .name = "threads", .letter = 't', .type = OPT_UINT, .arg = "N", AT(threads), .def_text = "one a CPU", .min = 1, .max = 1024,
		.help = "Worker threads. With an RSA certificate as many again do handshakes alone, so that these stall no stream." },
	{ .name = "dataplane", .type = OPT_ENUM, .arg = "PLANE", AT(dataplane), .choices = "auto|gnutls|direct|ktls", .def = "auto",
		.help = "What seals and opens records: GnuTLS, tlskit itself (direct), or the kernel (ktls). auto is direct where a session can use it, else gnutls; so is ktls where there is no kernel for it." },
	{ .name = "log", .type = OPT_ENUM, .arg = "FORMAT", AT(log_format), .choices = "text|json", .def = "text",
		.help = "Format of the log on standard error: a line when a connection ends." },
	{ .name = "log-level", .type = OPT_ENUM, .arg = "LEVEL", AT(log_level), .choices = "error|warn|info|debug", .def = "info",
		.help = "The least important lines to write." },
	{ .name = "check", .type = OPT_FLAG, AT(check),
		.help = "Connect to the target once, with TLS do a handshake, report and exit." },
	{ .name = "demo", .type = OPT_FLAG, AT(demo),
		.help = "Run a server and a client tunnel on loopback, carry data through them, and say what they did. Takes no operands." },
	{ .name = NULL },
};

static const struct opt_group groups[] = {
	{ "Certificates and keys of this side", tlsopt_identity, offsetof(struct options, tls) },
	{ "A certificate of its own (tls: listener)", tlsopt_ephemeral, offsetof(struct options, tls) },
	{ "Verifying the server (tls: target)", tlsopt_server, offsetof(struct options, tls) },
	{ "Letting clients in (tls: listener)", tlsopt_client, offsetof(struct options, tls) },
	{ "TLS", tlsopt_protocol, offsetof(struct options, tls) },
	{ "TLS on both sides", both_sides, 0 },
	{ "Connections", connections, 0 },
	{ "The process", process, 0 },
	{ NULL, NULL, 0 },
};

static const struct opt_operand operand_rows[] = {
	{ "LISTEN", "PORT (loopback), :PORT (every interface), HOST:PORT, unix:PATH, unix:@NAME, systemd:NAME, or - for standard input and output. Port 0 takes a free one." },
	{ "TARGET", "PORT (loopback), HOST:PORT, unix:PATH, unix:@NAME or -. Several targets are tried in turn." },
	{ NULL, NULL },
};

static const struct opt_example examples[] = {
	{ "tlskit tunnel tls::8443 127.0.0.1:8080", "Offer a local service over TLS; prints the line for the client." },
	{ "tlskit tunnel 5432 tls:db.example:5433 --pin sha256:…", "Reach it from another machine." },
	{ "tlskit tunnel tls::5433 unix:/run/pg/.s.PGSQL.5432 -c srv.pem -k srv.key --client-ca ca.pem --allow cn:app",
		"Let in one application by its certificate." },
	{ "tlskit tunnel - tls:imap.example:993", "A TLS client on standard input and output." },
	{ NULL, NULL },
};

static const struct opt_spec spec = {
	.synopsis = "[OPTION…] LISTEN TARGET [TARGET…]",
	.description = "Forwards connections from LISTEN to TARGET. The side with \"tls:\" in front speaks TLS; both may.\n\n"
		       "A tls: target is verified by its certificate chain and name unless --ca, --pin or --psk-file says how else. "
		       "A tls: listener without --cert and --psk-file makes a certificate of its own and prints the command "
		       "for the client, with its pin.",
	.groups = groups,
	.operands = operand_rows,
	.examples = examples,
	.size = sizeof(struct options),
	.operands_min = 0,
	.operands_max = 1 + TUNNEL_TARGETS_MAX,
};

/* --- from options to a tunnel ------------------------------------------------------ */

struct plan {
	struct addr listen;
	struct addr targets[TUNNEL_TARGETS_MAX];
	unsigned n_targets;
	struct tls_config *front_tls, *back_tls;
};

static int plan_addresses(struct plan *p, const struct opt_list *operands, bool check, struct err *e)
{
	size_t i, first = 1;

	if (check && operands->n == 1)
		first = 0; /* `tunnel --check TARGET` needs no listener */
	else if (operands->n < 2)
		return err_set(e, ERR_CONFIG, operands->n ? "TARGET is missing: where should %s lead?" : "LISTEN and TARGET are missing%s",
			operands->n ? operands->v[0] : "");
	if (first && addr_parse(&p->listen, operands->v[0], ADDR_LISTEN, e) < 0)
		return err_prefix(e, "LISTEN");
	for (i = first; i < operands->n; i++, p->n_targets++)
		if (addr_parse(&p->targets[p->n_targets], operands->v[i], ADDR_TARGET, e) < 0)
			return err_prefix(e, "TARGET");
	return 0;
}

static int check_addresses(const struct plan *p, bool check, struct err *e)
{
	unsigned i;

	for (i = 0; i < p->n_targets; i++) {
		if (p->targets[i].tls != p->targets[0].tls)
			return err_set(e, ERR_CONFIG, "either all targets are tls: or none");
		if (p->targets[i].kind == ADDR_STDIO && (p->n_targets > 1 || p->listen.kind == ADDR_STDIO))
			return err_set(e, ERR_CONFIG, "standard input and output (-) can be one side only, as the one target");
		if (p->targets[i].kind == ADDR_STDIO && p->targets[i].tls)
			return err_set(e, ERR_CONFIG, "tls:- is not possible: - is standard input and output, in the clear");
	}
	if (p->listen.kind == ADDR_STDIO && p->listen.tls)
		return err_set(e, ERR_CONFIG, "tls:- is not possible: - is standard input and output, in the clear");
	if (!check && !p->listen.tls && !p->targets[0].tls)
		return err_set(e, ERR_CONFIG, "neither side is TLS: put tls: in front of LISTEN (to accept TLS) or TARGET (to speak it)");
	return 0;
}

/* Options that would be without effect are errors: somebody counts on them. */
static int check_roles(const struct plan *p, const struct options *o, struct err *e)
{
	const struct tlsopt *t = &o->tls;
	bool front = p->listen.tls, back = p->targets[0].tls;
	const struct {
		bool given;
		const char *name;
	} for_back[] = { { t->ca, "--ca" }, { t->pin.n, "--pin" }, { t->servername, "--servername" }, { t->verify_name, "--verify-name" },
		{ t->insecure_no_verify, "--insecure-no-verify" }, { t->psk_identity, "--psk-identity" } },
	  for_front[] = { { t->client_ca, "--client-ca" }, { t->allow.n, "--allow" }, { t->cert_dir, "--cert-dir" },
		  { t->ticket_key_file, "--ticket-key-file" } };
	size_t i;

	for (i = 0; !back && i < sizeof(for_back) / sizeof(*for_back); i++)
		if (for_back[i].given)
			return err_set(e, ERR_CONFIG, "%s is about a tls: target, and TARGET is plain%s", for_back[i].name,
				strcmp(for_back[i].name, "--ca") == 0 ? "; to verify clients use --client-ca" : "");
	for (i = 0; !front && i < sizeof(for_front) / sizeof(*for_front); i++)
		if (for_front[i].given)
			return err_set(e, ERR_CONFIG, "%s is about a tls: listener, and LISTEN is plain%s", for_front[i].name,
				strcmp(for_front[i].name, "--client-ca") == 0 ? "; to verify the server use --ca" : "");
	if (!(front && back) && (o->client_cert || o->client_key))
		return err_set(e, ERR_CONFIG, "--client-cert and --client-key are for TLS on both sides; use --cert and --key here");
	if (o->client_key && !o->client_cert)
		return err_set(e, ERR_CONFIG, "--client-key %s: there is no --client-cert for it", o->client_key);
	if (front && back && t->psk_identity)
		return err_set(e, ERR_CONFIG, "--psk-identity is a client's, and with TLS on both sides --psk-file is the listener's");
	if (!front && t->tickets == 0)
		return err_set(e, ERR_CONFIG, "--tickets is about a tls: listener, and LISTEN is plain");
	if (o->check && p->n_targets > 1)
		return err_set(e, ERR_CONFIG, "--check takes one target");
	if (t->psk_file && strcmp(t->psk_file, "-") == 0 &&
		(p->listen.kind == ADDR_STDIO || p->targets[0].kind == ADDR_STDIO))
		return err_set(e, ERR_CONFIG, "--psk-file -: standard input is the data's here");
	return 0;
}

static int plan_tls(struct plan *p, const struct options *o, struct err *e)
{
	const char *cert[] = { o->client_cert }, *key[] = { o->client_key };
	struct tls_options t;

	if (p->listen.tls) {
		tlsopt_fill(&o->tls, TLS_SERVER, &t);
		if (p->targets[0].tls && !o->tls.client_ca)
			t.crl = NULL; /* the target's */
		t.dataplane = (enum tls_dataplane)o->dataplane;
		p->front_tls = config_new(&t, e);
		if (!p->front_tls)
			return -1;
	}
	if (p->targets[0].tls) {
		tlsopt_fill(&o->tls, TLS_CLIENT, &t);
		t.dataplane = (enum tls_dataplane)o->dataplane;
		if (p->listen.tls) { /* its own proof is the listener's */
			t.certs = (struct names_list){ cert, o->client_cert != NULL };
			t.keys = (struct names_list){ key, o->client_key != NULL };
			t.psk_file = t.psk_identity = NULL;
			t.crl = o->tls.client_ca ? NULL : t.crl;
		}
		p->back_tls = config_new(&t, e);
		if (!p->back_tls)
			return p->listen.tls ? err_prefix(e, "for the target") : -1;
	}
	return 0;
}

static void plan_free(struct plan *p)
{
	config_unref(p->front_tls);
	config_unref(p->back_tls);
}

/* --- running ---------------------------------------------------------------------------- */

/* Lines for people and scripts: on stdout, unless that is the data's way out. */
static void say(bool stdout_taken, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(bool stdout_taken, const char *fmt, ...)
{
	char line[ADDR_TEXT_SIZE + 200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (stdout_taken && log_is_json())
		log_msg(LOG_INFO, "%s", line);
	else
		fprintf(stdout_taken ? stderr : stdout, "%s\n", line);
}

/* The line to paste. A socket on every interface has no address to connect to;
 * the machine's own then stands in. */
static void say_client_line(bool stdout_taken, const struct addr *listen, const char *name, const uint8_t *pin)
{
	char text[CERT_PIN_TEXT], host[ROUTE_TEXT_SIZE];
	const char *port = strrchr(name, ':');

	cert_pin_format(pin, text);
	if (listen->kind == ADDR_TCP && (strncmp(name, "[::]:", 5) == 0 || strncmp(name, "0.0.0.0:", 8) == 0))
		say(stdout_taken, "client: tlskit tunnel 0 tls:%s%s --pin %s", route_own_address(host), port, text);
	else
		say(stdout_taken, "client: tlskit tunnel 0 tls:%s --pin %s", name, text);
}

static int announce(const struct tunnel *t, const struct plan *p, struct err *e)
{
	const struct listener *l = tunnel_listener(t);
	bool taken = p->targets[0].kind == ADDR_STDIO;
	char name[ADDR_TEXT_SIZE];
	int i;

	for (i = 0; i < l->n; i++)
		say(taken, "listening %s", listen_name(l, i, name));
	if (l->n && p->front_tls && config_ephemeral_pin(p->front_tls))
		say_client_line(taken, &p->listen, listen_name(l, 0, name), config_ephemeral_pin(p->front_tls));
	return fflush(stdout) == 0 ? 0 : err_set(e, ERR_RUNTIME, "cannot write to standard output");
}

static int end_code(enum tunnel_end end, const struct err *e)
{
	switch (end) {
	case TUNNEL_ENDED:
		return 0;
	case TUNNEL_DRAIN_OUT:
		return 4;
	case TUNNEL_FAILED:
		break;
	}
	if (log_is_json())
		log_msg(LOG_ERROR, "%s", e->msg);
	else
		fprintf(stderr, "tlskit tunnel: %s\n", e->msg);
	return err_exit_code(e);
}

static int run_tunnel(const struct plan *p, const struct options *o)
{
	struct tunnel_options to = {
		.listen = &p->listen,
		.targets = p->targets,
		.n_targets = p->n_targets,
		.front_tls = p->front_tls,
		.back_tls = p->back_tls,
		.balance = o->balance ? RELAY_ROUNDROBIN : RELAY_FIRST,
		.handshake_timeout_ms = o->handshake_ms,
		.connect_timeout_ms = o->connect_ms,
		.idle_timeout_ms = o->idle_ms,
		.drain_ms = o->drain_ms,
		.allow_truncation = o->allow_truncation,
		.threads = o->threads ? (unsigned)o->threads : limit_cpus(),
		.max_conns = o->max_conns,
		.signals = true,
	};
	struct err e = { 0 };
	struct tunnel *t = tunnel_open(&to, &e);
	int code;

	if (!t)
		return end_code(TUNNEL_FAILED, &e);
	if (announce(t, p, &e) < 0)
		code = end_code(TUNNEL_FAILED, &e);
	else
		code = end_code(tunnel_run(t, &e), &e);
	tunnel_free(t);
	return code;
}

static int run_plan(const struct options *o, const struct opt_list *operands)
{
	static struct plan p; /* 64 addresses: too much for a stack */
	struct err e = { 0 };
	int code;

	if (plan_addresses(&p, operands, o->check, &e) < 0 || check_addresses(&p, o->check, &e) < 0 ||
		check_roles(&p, o, &e) < 0 || plan_tls(&p, o, &e) < 0) {
		code = end_code(TUNNEL_FAILED, &e);
		if (!operands->n)
			fprintf(stderr, "Try: tlskit tunnel --demo, or tlskit tunnel --help\n");
	} else if (o->check) {
		code = tunnel_modes_check(&p.targets[0], p.back_tls, o->connect_ms, o->handshake_ms);
	} else {
		code = run_tunnel(&p, o);
	}
	plan_free(&p);
	return code;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
	struct options o;
	struct opt_list operands = { NULL, 0 };
	struct err e = { 0 };
	int code;

	if (opt_parse(cmd->spec, argc, argv, &o, &operands, &e) < 0)
		return end_code(TUNNEL_FAILED, &e);
	log_setup(o.log_format ? LOG_JSON : LOG_TEXT, (enum log_level)o.log_level, STDERR_FILENO);
	if (o.demo && operands.n) {
		err_set(&e, ERR_CONFIG, "--demo takes no operands");
		code = end_code(TUNNEL_FAILED, &e);
	} else if (o.demo) {
		code = tunnel_modes_demo(o.threads ? (unsigned)o.threads : 1);
	} else {
		code = run_plan(&o, &operands);
	}
	opt_free(cmd->spec, &o, &operands);
	return code;
}

const struct cmd cmd_tunnel = {
	.name = "tunnel",
	.summary = "encrypt connections: forward between plain and TLS sockets",
	.spec = &spec,
	.run = run,
};
