/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_TIMEOUT_H
#define TLSKIT_TESTS_TIMEOUT_H

/* Seconds after which Criterion gives a test up: the same for every suite. When
 * a test with an earlier end is started beside one with a later end, BoxFort
 * (bxfi_push_timeout) loses the later one: that test is then never given up,
 * and the lost record is a leak that fails a run under AddressSanitizer. */
#define TEST_TIMEOUT 60

#endif
