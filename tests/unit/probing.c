/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/probing.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

struct probing probing;
struct pki probing_dir;
struct pki_node probing_root, probing_leaf, probing_node[4];

static struct tls_config *config;
static bool started;

static void write_pem(const char *file, const struct pki_node *node)
{
	gnutls_datum_t pem;

	cr_assert(gnutls_x509_crt_export2(node->crt, GNUTLS_X509_FMT_PEM, &pem) == 0);
	pki_write(&probing_dir, file, pem.data, pem.size);
	gnutls_free(pem.data);
}

void probing_make(void)
{
	static char ca[100];

	pki_make(&probing_dir);
	pki_leaf(&probing_dir, "client", &(struct pki_leaf){ .dn = "CN=client", .client = true });
	pki_node(&probing_root, &(struct pki_spec){ .dn = "CN=root", .ca = true, PROBING_VALID });
	write_pem("root.pem", &probing_root);
	snprintf(ca, sizeof(ca), "%s", pki_path(&probing_dir, "root.pem"));
	probing.tls = (struct tls_options){ .role = TLS_CLIENT, .min_version = 12, .max_version = 13,
		.ca = ca };
	probing.goal.warn.value = probing.goal.crit.value = NAN;
	probing.goal.timeout_ms = 5000;
	probing_use_leaf((struct pki_spec){ .dn = NULL });
}

void probing_drop(void)
{
	if (started) {
		probe_conn_free(probing.conn);
		check_free(probing.check);
		run_for(probing.loop, 1); /* nothing of it is left there */
		cr_assert_eq(probing.called, probing.check != NULL);
		loop_free(probing.loop);
		buf_pool_free(probing.pool);
		config_unref(config);
		probing_end_server();
	}
	for (size_t i = 0; i < 4; i++)
		pki_node_free(&probing_node[i]);
	pki_node_free(&probing_leaf);
	pki_node_free(&probing_root);
	pki_free(&probing_dir);
}

void probing_use_leaf(struct pki_spec spec)
{
	if (!spec.dn)
		spec.dn = "CN=leaf";
	if (!spec.names[0])
		spec.names[0] = "dns:localhost";
	if (!spec.issuer)
		spec.issuer = &probing_root;
	if (!spec.from_days && !spec.to_days) {
		spec.from_days = -1000;
		spec.to_days = 20000;
	}
	pki_node_free(&probing_leaf);
	pki_node(&probing_leaf, &spec);
	probing.server.chain[0] = &probing_leaf;
}

void probing_use_client_cert(void)
{
	static char paths[2][100];
	static const char *const cert = paths[0], *const key = paths[1];

	snprintf(paths[0], sizeof(paths[0]), "%s", pki_path(&probing_dir, "client.pem"));
	snprintf(paths[1], sizeof(paths[1]), "%s", pki_path(&probing_dir, "client.key"));
	probing.tls.certs = (struct names_list){ &cert, 1 };
	probing.tls.keys = (struct names_list){ &key, 1 };
}

gnutls_datum_t probing_ocsp(struct ocsp_make_single single)
{
	struct ocsp_make make = { .singles = &single, .n = 1, .produced = time(NULL) - 3600, .signer = probing_root.crt,
		.key = probing_root.key };
	gnutls_datum_t der;

	if (!single.issuer)
		single.issuer = probing_root.crt;
	if (!single.crt)
		single.crt = probing_leaf.crt;
	if (!single.this_update)
		single.this_update = time(NULL) - 3600;
	if (!single.next_update)
		single.next_update = time(NULL) + 3600;
	der = ocsp_make(&make);
	cr_assert_not_null(der.data);
	return der;
}

static struct probe_limit limit(const char *text)
{
	return (struct probe_limit){ text ? atof(text) : NAN, text && strchr(text, '%') };
}

void probing_limits(const char *warn, const char *crit)
{
	probing.goal.warn = limit(warn);
	probing.goal.crit = limit(crit);
}

static void note(void *arg, struct probe *p, struct check *c)
{
	(void)arg;
	probing.called++;
	probing.check = c;
	probing.probe = NULL;
	if (probing.takes)
		probing.conn = probe_take(p);
	loop_stop(probing.loop);
}

void probing_again(const char *target)
{
	struct addr a;
	struct err e;

	if (!target)
		target = peer_target(&probing.server.peer, probing.host ? probing.host : "localhost");
	cr_assert_eq(addr_parse(&a, target, ADDR_CONNECT, &e), 0, "%s", e.msg);
	probing.probe = probe_start(probing.loop, probing.pool, &probing.goal, target, &a, NULL, 0, note, NULL, &e);
	cr_assert(probing.probe, "%s", e.msg);
	cr_assert_eq(probing.called, 0, "not from inside");
}

void probing_open(void)
{
	struct err e;

	started = true;
	tls_server_start(&probing.server);
	config = config_new(&probing.tls, &e);
	cr_assert(config, "%s", e.msg);
	probing.goal.tls = config;
	probing.loop = must_loop();
	probing.pool = buf_pool_new(1 << 20);
}

void probing_start(const char *target)
{
	probing_open();
	probing_again(target);
}

void probing_wait(void)
{
	uint64_t begin = clock_mono_ns();

	must_run(probing.loop);
	cr_assert_eq(probing.called, 1);
	probing.took_ms = (clock_mono_ns() - begin) / NS_PER_MS;
}

void probing_run(void)
{
	probing_start(NULL);
	probing_wait();
}

void probing_end_server(void)
{
	if (probing.server.cred)
		tls_server_end(&probing.server);
	probing.server.cred = NULL;
}

/* --- what came of it ------------------------------------------------------------------------- */

static const char *faults(void)
{
	static char text[4096];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < probing.check->n_faults && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "[%d %s: %s] ", (int)probing.check->faults[i].code,
			check_stage_name(probing.check->faults[i].stage), probing.check->faults[i].message);
	for (size_t i = 0; i < probing.check->n_warnings && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "[warning: %s] ", probing.check->warnings[i]);
	return text;
}

void probing_must_end(int code)
{
	cr_assert_eq(check_exit_code(probing.check), code, "%d: %s", check_exit_code(probing.check), faults());
}

void probing_must_say(int code, enum check_stage stage, const char *part)
{
	const struct check_fault *f;

	for (size_t i = 0; i < probing.check->n_faults; i++) {
		f = &probing.check->faults[i];
		if ((int)f->code == code && f->stage == stage && strstr(f->message, part))
			return;
	}
	cr_assert(false, "no fault %d at %s with \"%s\": %s", code, check_stage_name(stage), part, faults());
}

void probing_must_warn(const char *part)
{
	for (size_t i = 0; i < probing.check->n_warnings; i++)
		if (strstr(probing.check->warnings[i], part))
			return;
	cr_assert(false, "no warning with \"%s\": %s", part, faults());
}

void probing_must_be_fine(void)
{
	cr_assert(probing.check->n_faults == 0 && probing.check->n_warnings == 0, "%s", faults());
	cr_assert(probing.check->verified && probing.check->verify_ok == CHECK_YES);
}
