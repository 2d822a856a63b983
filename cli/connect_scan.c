/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* `tlskit connect --scan`: what the server takes. */

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/connect.h"
#include "cli/help.h"
#include "lib/probe/scan.h"

static int write_scan(const struct connect_plan *p, const struct scan *s)
{
	struct check_style style = { .width = (int)help_width(STDOUT_FILENO), .colour = connect_colour(STDOUT_FILENO) };

	return p->o->json ? scan_write_json(stdout, s) : scan_write_text(stdout, s, &style);
}

int connect_scan(const struct connect_plan *p)
{
	const struct connect_options *o = p->o;
	struct scan_goal g = { .line = p->goal.line, .handshake_ms = o->timeout_ms, .jobs = (unsigned)o->jobs,
		.servername = o->tls.servername, .cert = o->tls.cert.n ? o->tls.cert.v[0] : NULL,
		.key = o->tls.key.n ? o->tls.key.v[0] : NULL };
	struct err e = { 0 };
	struct scan *s = scan_run(&g, p->texts[0], &p->addrs[0], &e);
	int code;

	if (!s)
		return connect_refuse((struct connect_forms){ .json = o->json, .scan = true }, &e);
	code = scan_exit_code(s);
	errno = 0;
	if (write_scan(p, s) < 0) {
		connect_cannot_write();
		code = CHECK_FAILED;
	}
	scan_free(s);
	return code;
}
