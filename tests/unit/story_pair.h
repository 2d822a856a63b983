/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_STORY_PAIR_H
#define TLSKIT_TESTS_STORY_PAIR_H

#include "lib/tls/tls_int.h"
#include "tests/unit/pair.h"
#include "tests/unit/pki.h"

/* A pair of sessions with certificates: the server's is for srv.example, which the
 * client verifies; and one that the client may be given. */

extern struct pki story_pki;
extern struct pair story_pair;
extern struct tls_options story_co, story_so; /* client, server; for story_configure */
extern struct tls_config *story_client, *story_server;
extern const char *story_srv[2], *story_app[2]; /* paths of certificate and key */

void story_make(void);
void story_drop(void);

const char *story_path(size_t i, const char *file); /* into one of six places; 5 is free */

void story_configure(int version); /* 12, 13; 0: both */
void story_open(int version); /* configures too */
void story_shake(void);
void story_shut(void); /* for another one in the same test */

struct session_story story_of(int side);

/* A connection that was shaken and has carried data, so that tickets came. */
void story_connect_for_tickets(struct tickets *t);

#endif
