/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/relay/report.h"

#include <string.h>

#include "lib/base/log.h"

bool report_log(const struct relay_report *r)
{
	static const struct session_info none;
	const struct session_info *i = r->info ? r->info : &none;
	bool ok = r->stage == NULL;
	enum log_level level = ok ? LOG_INFO : LOG_WARN;
	const struct log_field fields[] = {
		{ LOG_STR, "peer", r->peer, 0 },
		{ LOG_STR, "target", r->target, 0 },
		{ LOG_UINT, "to_target_bytes", NULL, r->to_target_bytes },
		{ LOG_UINT, "to_peer_bytes", NULL, r->to_peer_bytes },
		{ LOG_MS, "duration_ms", NULL, r->duration_ns },
		{ LOG_STR, "tls_version", i->version, 0 },
		{ LOG_STR, "ciphersuite", i->ciphersuite, 0 },
		{ LOG_STR, "group", i->group, 0 },
		r->info ? (struct log_field){ LOG_BOOL, "resumed", NULL, i->resumed }
			: (struct log_field){ LOG_STR, "resumed", NULL, 0 },
		{ LOG_STR, "dataplane", i->plane, 0 },
		{ LOG_STR, "result", ok ? "ok" : "error", 0 },
		{ LOG_STR, "stage", r->stage, 0 },
		{ LOG_STR, "reason", r->why->msg, 0 },
		{ LOG_END, NULL, NULL, 0 },
	};

	if (!log_on(level))
		return true;
	if (!ok && !log_limit(r->stage))
		return false;
	log_event(level, "close", fields);
	return true;
}
