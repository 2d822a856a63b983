/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_PROBE_SCAN_INT_H
#define TLSKIT_PROBE_SCAN_INT_H

#include "lib/base/buf.h"
#include "lib/probe/scan.h"
#include "lib/tls/offer.h"
#include "lib/tls/session.h"

/* What the files of a scan share: scan.c has its beginning and end, scan_plan.c says what
 * is looked at when, scan_strike.c finds out one list, scan_ask.c does one handshake. */

struct scan_job;

/* --- scan_ask.c: one handshake ----------------------------------------------------------- */

/* What came of it. Strings are static, or live as long as the answer. */
struct scan_answer {
	bool reached; /* TLS began: the rest is about the server's TLS */
	bool silent; /* time ran out */
	bool hello; /* it chose something, and it was not the server that ended it then */
	bool alert; /* it answered with one */
	unsigned suite;
	const char *group, *signature;
	unsigned dh_bits;
	char key[40]; /* the certificate's: "ECDSA P-256"; "" none */
	bool small_key;
	char why[256]; /* what went wrong; "": nothing */
	enum check_code code; /* !reached: what that is as a fault */
	enum check_stage stage;
	struct line_story story;
};

typedef void scan_ask_fn(void *arg, const struct scan_answer *a);

struct scan_ask { /* the owner's; zeroed before its first use */
	struct scan_job *job;
	const struct offer *offer; /* borrowed until the answer */
	bool exact; /* just its suites, in its order, before TLS 1.3 too */
	scan_ask_fn *fn; /* once, from the loop; may ask again */
	void *arg;
	struct scan_ask *next; /* the rest is scan_ask.c's */
	bool queued, started, again;
	struct line *line;
	struct tls_config *config;
	uint16_t suites[OFFER_SUITES_MAX];
	struct session_peer peer;
	struct session *session;
	struct sock sock;
	struct loop_watch *watch;
	struct loop_timer *timer;
	uint64_t began, limit_ms;
	struct err err;
	struct loop_task task;
};

void scan_ask(struct scan_ask *a); /* as soon as there is room for it */
void scan_ask_cancel(struct scan_ask *a); /* fn is not called */

/* --- scan_strike.c: one list --------------------------------------------------------------- */

enum scan_kind { SCAN_SUITES, SCAN_GROUPS, SCAN_SIGNATURES };

union scan_piece {
	const struct offer_suite *suite;
	const struct offer_group *group;
	const struct offer_signature *signature;
};

struct scan_strike;
typedef void scan_strike_fn(struct scan_strike *s, const struct scan_answer *a);

#define SCAN_PIECES_MAX OFFER_SUITES_MAX

struct scan_strike {
	struct scan_job *job;
	enum scan_kind kind;
	enum offer_version version;
	struct scan_rows *rows; /* those from first on are this one's, a row a piece */
	size_t first, n;
	bool no_order; /* the places are not noted */
	union scan_piece pieces[SCAN_PIECES_MAX];
	const struct offer_suite *suites[SCAN_PIECES_MAX]; /* what is offered; fixed unless it is struck off */
	const struct offer_group *groups[SCAN_PIECES_MAX];
	const struct offer_signature *signatures[SCAN_PIECES_MAX];
	struct offer offer;
	scan_strike_fn *heard; /* the first answer is here, not judged yet; NULL: nobody asks */
	scan_strike_fn *done; /* it is over; the answer is NULL */
	bool begun, over;
	/* scan_strike.c's */
	struct scan_ask ask;
	enum { SCAN_STRIKING, SCAN_TURNING, SCAN_AIDING } phase;
	size_t left[SCAN_PIECES_MAX], n_left; /* rows, relative to first, in the order in which they are offered */
	size_t picks[SCAN_PIECES_MAX], n_picks;
	size_t aided; /* the row that is looked at again */
	size_t curve; /* the certificate's, a row; SIZE_MAX: none of them */
};

/* Begins with job, kind, version, rows and pieces set, and what is offered beside them. */
void scan_strike_start(struct scan_strike *s);
void scan_strike_stop(struct scan_strike *s); /* what is not known stays so: out of time */

/* --- scan_plan.c: what is looked at when ------------------------------------------------------ */

#define SCAN_STRIKES (OFFER_VERSIONS + 5) /* suites each; groups, DHE groups, signatures */

struct scan_job {
	const struct scan_goal *goal;
	const struct addr *target;
	const char *sni;
	struct loop *loop;
	struct loop_timer *deadline;
	struct buf_pool *pool;
	struct offer_list *list;
	struct scan *scan;
	unsigned working; /* handshakes */
	struct scan_ask *queue, **queue_end;
	bool reached; /* the way to the server was open once */
	double quickest_ms; /* that a handshake took; NAN: there was none */
	bool over;
	bool failed; /* no memory */
	unsigned alerts; /* that came as answers */
	bool silent; /* time ran out at least once */
	struct scan_strike strikes[SCAN_STRIKES];
	size_t n_strikes;
	bool groups_begun; /* of the versions before TLS 1.3 */
};

void scan_plan_begin(struct scan_job *j);
void scan_plan_reached(const struct scan_ask *a); /* the way to the server is open, for the first time */
int scan_plan_untested(struct scan_job *j); /* -1: no memory */

/* --- scan.c -------------------------------------------------------------------------------------- */

void scan_end(struct scan_job *j); /* from the loop, or before it runs */
void scan_fail(struct scan_job *j); /* no memory */

#endif
