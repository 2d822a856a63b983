/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "tests/unit/log_lines.h"

static int allowed(const char *class_name, int calls, uint64_t now)
{
	int n = 0;

	for (int i = 0; i < calls; i++)
		n += log_limit_at(class_name, now);
	return n;
}

Test(log_limit, ten_in_a_window_then_a_count)
{
	uint64_t t = 100 * NS_PER_S;

	start(LOG_TEXT, LOG_INFO);
	cr_assert_eq(allowed("scan", 10, t), 10);
	cr_assert_eq(allowed("scan", 5, t + 1), 0);
	cr_assert_eq(allowed("scan", 2, t + 10 * NS_PER_S - 1), 0);
	cr_assert_eq(allowed("scan", 2, t - 5 * NS_PER_S), 0, "an earlier time opens no window");
	cr_assert_null(line());
	cr_assert_eq(allowed("scan", 1, t + 10 * NS_PER_S), 1);
	cr_assert_str_eq(event_line(), "warn  repeated class=scan count=9");
	cr_assert_eq(allowed("scan", 20, t + 11 * NS_PER_S), 9);
	cr_assert_null(line());
	cr_assert_eq(allowed("scan", 1, t + 100 * NS_PER_S), 1);
	cr_assert_str_eq(event_line(), "warn  repeated class=scan count=11");
}

Test(log_limit, a_window_without_loss_is_silent)
{
	start(LOG_TEXT, LOG_INFO);
	cr_assert_eq(allowed("x", 10, 0), 10);
	cr_assert_eq(allowed("x", 10, 10 * NS_PER_S), 10);
	log_limit_flush(true);
	cr_assert_null(line());
}

Test(log_limit, classes_are_apart_and_go_by_text)
{
	char same[] = "reset";

	start(LOG_TEXT, LOG_INFO);
	cr_assert_eq(allowed("reset", 6, 1), 6);
	cr_assert_eq(allowed(same, 6, 1), 4);
	cr_assert_eq(allowed("timeout", 12, 1), 10);
}

Test(log_limit, flush)
{
	uint64_t now = clock_mono_ns();

	start(LOG_TEXT, LOG_INFO);
	cr_assert_eq(allowed("old", 13, now > 20 * NS_PER_S ? now - 20 * NS_PER_S : 0), 10);
	cr_assert_eq(allowed("new", 14, now), 10);
	log_limit_flush(false);
	if (now > 20 * NS_PER_S)
		cr_assert_str_eq(event_line(), "warn  repeated class=old count=3");
	cr_assert_null(line());
	log_limit_flush(true);
	cr_assert_str_eq(event_line(), "warn  repeated class=new count=4");
	cr_assert_null(line());
	log_limit_flush(true);
	cr_assert_null(line());
	cr_assert_eq(allowed("new", 1, now), 0, "a flush opens no window");
}

Test(log_limit, no_class_goes_without_a_limit)
{
	static char names[200][16];
	int n = 0;

	start(LOG_TEXT, LOG_INFO);
	for (int i = 0; i < 200; i++) {
		snprintf(names[i], sizeof(names[i]), "c%d", i);
		n += allowed(names[i], 20, 1);
	}
	cr_assert_geq(n, 10);
	cr_assert_leq(n, 320);
	log_limit_flush(true);
	for (const char *text = line(); text != NULL; text = line())
		cr_assert_not_null(strstr(text, "repeated class="));
}

#define CALLS 100000

static pthread_barrier_t together;

static void *limited(void *arg)
{
	int *n = arg;

	pthread_barrier_wait(&together);
	for (int i = 0; i < CALLS; i++)
		*n += log_limit_at("shared", 1);
	return NULL;
}

Test(log_limit, threads_share_it)
{
	pthread_t threads[4];
	int n[4] = { 0 };

	start(LOG_TEXT, LOG_INFO);
	cr_assert_eq(pthread_barrier_init(&together, NULL, 4), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, limited, &n[i]), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	cr_assert_eq(n[0] + n[1] + n[2] + n[3], 10);
	log_limit_flush(true);
	cr_assert_str_eq(event_line(), "warn  repeated class=shared count=399990");
}
