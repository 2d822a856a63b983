/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_RELAY_REPORT_H
#define TLSKIT_RELAY_REPORT_H

#include <stdbool.h>

#include "lib/relay/relay.h"

/* The log line of a connection that ended: the event "close" (schema
 * docs/schema/log.json). Level info when all went well, else warn; failures
 * that a stranger can cause are limited. False when the line was left out and
 * counted. */
bool report_log(const struct relay_report *r);

#endif
