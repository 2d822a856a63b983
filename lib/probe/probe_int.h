/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_PROBE_PROBE_INT_H
#define TLSKIT_PROBE_PROBE_INT_H

#include "lib/probe/dane_ask.h"
#include "lib/probe/ocsp_ask.h"
#include "lib/probe/probe.h"

/* What the files of a probe share: probe.c has its course, probe_judge.c says who the
 * server is, probe_verdict.c what else is asked of it. */

struct probe {
	struct loop *loop;
	struct buf_pool *pool;
	const struct probe_goal *goal;
	struct addr target;
	struct sockaddr_storage at;
	struct line_options line_options;
	struct check *check;
	struct line *line;
	struct probe_conn *conn;
	struct tickets *tickets; /* of the first connection; NULL: not asked for */
	struct loop_watch *watch;
	struct loop_timer *deadline, *linger;
	struct loop_task task; /* ends it from the loop: what must not be said at once */
	bool second; /* the connection that resumes */
	bool lingering; /* after the handshake: for what still comes */
	bool judged; /* the server's certificates were looked at */
	bool judging; /* the judge waits for the OCSP responder, and the handshake for the judge */
	bool refused; /* they were why the handshake was given up */
	bool over; /* nothing more is to be done but what was asked elsewhere */
	size_t heard; /* bytes after the handshake */
	unsigned seen; /* tickets when the last reading ended */
	uint64_t started, connected, paused; /* paused: when the judge began to wait */
	struct ocsp_ask *ocsp;
	struct dane_ask *dane;
	struct tlsa_list records; /* looked up */
	const char *dane_result; /* for the check; NULL: there are records, or nothing was said yet */
	enum check_code dane_code; /* and what is wrong then */
	struct err dane_err;
	bool line_up; /* the line is there, and waits for what the DNS says */
	int fd; /* meanwhile */
	probe_fn *fn;
	void *arg;
};

/* --- probe_judge.c -------------------------------------------------------------------- */

/* The session's judge. */
int probe_judge(void *arg, struct session *s, struct err *e);

/* Looks the TLSA records up. Answers by probe_go_on. */
void probe_ask_dane(struct probe *p);
void probe_note_dane(struct probe *p); /* what came of it, when there is a connection */

/* --- probe_verdict.c -------------------------------------------------------------------- */

/* What was agreed on, in a handshake that is over. */
void probe_note_session(struct probe *p);
/* And in one that failed, as far as it went: alert and refusals. */
void probe_note_failure(struct probe *p, const struct err *e);
void probe_note_resumption(struct probe *p);
/* Held against what was expected; last. */
void probe_judge_rest(struct probe *p);

/* --- probe_after.c ------------------------------------------------------------------------ */

void probe_shaken(struct probe *p); /* the handshake is over */
void probe_linger(struct probe *p); /* something may have come */
void probe_on_linger(void *arg); /* nothing did */

/* --- probe.c -------------------------------------------------------------------------------- */

void probe_set(struct probe *p, char **place, const char *text);
void probe_begin_second(struct probe *p);
void probe_conclude(struct probe *p); /* the connections are done with; p may be gone afterwards */
void probe_hang_up(struct probe *p);
void probe_go_on(struct probe *p); /* an answer from elsewhere is there */

#endif
