/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/story_pair.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct pki story_pki;
struct pair story_pair;
struct tls_options story_co, story_so;
struct tls_config *story_client, *story_server;
const char *story_srv[2], *story_app[2];
static char paths[6][100];

const char *story_path(size_t i, const char *file)
{
	snprintf(paths[i], sizeof(paths[i]), "%s", pki_path(&story_pki, file));
	return paths[i];
}

void story_make(void)
{
	pki_make(&story_pki);
	pki_leaf(&story_pki, "srv", &(struct pki_leaf){ .dn = "CN=srv", .dns = "srv.example" });
	pki_leaf(&story_pki, "app", &(struct pki_leaf){ .dn = "CN=app", .client = true });
	story_srv[0] = story_path(0, "srv.pem");
	story_srv[1] = story_path(1, "srv.key");
	story_app[0] = story_path(2, "app.pem");
	story_app[1] = story_path(3, "app.key");
	story_co = pair_options(TLS_CLIENT);
	story_co.ca = story_path(4, "ca.pem");
	story_so = pair_options(TLS_SERVER);
	story_so.certs = (struct names_list){ &story_srv[0], 1 };
	story_so.keys = (struct names_list){ &story_srv[1], 1 };
	story_pair.peer.name = "srv.example";
}

void story_shut(void)
{
	if (!story_client)
		return;
	pair_close(&story_pair);
	config_unref(story_client);
	config_unref(story_server);
	story_client = story_server = NULL;
}

void story_drop(void)
{
	story_shut();
	pki_free(&story_pki);
}

void story_configure(int version)
{
	struct err e = { 0 };

	if (version)
		story_co.min_version = story_co.max_version = version;
	story_client = config_new(&story_co, &e);
	cr_assert(story_client, "%s", e.msg);
	story_server = config_new(&story_so, &e);
	cr_assert(story_server, "%s", e.msg);
}

void story_open(int version)
{
	story_configure(version);
	pair_open(&story_pair, story_client, story_server);
}

void story_shake(void)
{
	cr_assert(pair_shake(&story_pair), "%s / %s", story_pair.err[0].msg, story_pair.err[1].msg);
}

struct session_story story_of(int side)
{
	struct session_story s;

	session_story(story_pair.s[side], &s);
	return s;
}

void story_connect_for_tickets(struct tickets *t)
{
	story_pair.peer.tickets = t;
	pair_open(&story_pair, story_client, story_server);
	story_shake();
	pair_carry(&story_pair, 0, 100, 100, 100);
	pair_carry(&story_pair, 1, 100, 100, 100); /* tickets ride here */
}
