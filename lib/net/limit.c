/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "lib/net/limit.h"

/* Leaves such a thread 3 % of a processor that others keep busy. With 10, which
 * leaves 10 %, a stream's p99 beside a storm of RSA handshakes was 5 to 7 times the
 * quiet one, with 15 it is three times (tests/perf/peers --only storm). */
#define GIVE_WAY_NICE 15

uint64_t limit_raise_files(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) != 0)
		return 256;
	if (lim.rlim_cur < lim.rlim_max) {
		struct rlimit raised = { .rlim_cur = lim.rlim_max, .rlim_max = lim.rlim_max };

		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			lim = raised;
#ifdef OPEN_MAX
		/* macOS says "infinity" and takes no more than this. */
		raised.rlim_cur = OPEN_MAX;
		if (lim.rlim_cur < OPEN_MAX && setrlimit(RLIMIT_NOFILE, &raised) == 0)
			lim = raised;
#endif
	}
	return lim.rlim_cur;
}

#ifdef __linux__
/* Asks with ever larger sets: the kernel refuses one that is smaller than its
 * own, and machines with more than 1024 CPUs exist. */
static unsigned affinity(void)
{
	for (unsigned cpus = CPU_SETSIZE; cpus <= 1024 * 1024; cpus *= 2) {
		size_t size = CPU_ALLOC_SIZE(cpus);
		cpu_set_t *set = CPU_ALLOC(cpus);
		unsigned n = 0;

		if (set == NULL)
			return 0;
		if (sched_getaffinity(0, size, set) == 0)
			n = (unsigned)CPU_COUNT_S(size, set);
		CPU_FREE(set);
		if (n > 0)
			return n;
		if (errno != EINVAL)
			return 0;
	}
	return 0;
}
#else
static unsigned affinity(void)
{
	return 0;
}
#endif

unsigned limit_cpus(void)
{
	unsigned n = affinity();
	long online;

	if (n > 0)
		return n;
	online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (unsigned)online : 1;
}

void limit_keep_heap(size_t bytes)
{
#ifdef __GLIBC__
	mallopt(M_TRIM_THRESHOLD, bytes > INT_MAX ? INT_MAX : (int)bytes);
#else
	(void)bytes;
#endif
}

void limit_give_way(void)
{
#ifdef __linux__
	/* on Linux a nice value is a thread's, and 0 is the calling one */
	setpriority(PRIO_PROCESS, 0, GIVE_WAY_NICE);
#endif
}
