/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_SERVICE_H
#define TLSKIT_NET_SERVICE_H

#include "lib/base/err.h"

/* What a service manager passes in and wants to hear: the protocols of
 * sd_listen_fds(3) and sd_notify(3), without libsystemd. */

/* Writes up to max inherited descriptors whose name is `name` and returns their
 * number; 0 when LISTEN_PID is not this process or there are none. With "" all
 * of them. They become close-on-exec. */
int service_listen_fds(const char *name, int *fds, int max);

/* "READY=1", "STOPPING=1", … to $NOTIFY_SOCKET; nothing when it is not set. */
void service_notify(const char *state);

#endif
