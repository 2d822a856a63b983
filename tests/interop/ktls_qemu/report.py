# SPDX-License-Identifier: GPL-3.0-or-later
"""A line for each test on the console as it ends: PASS or FAIL, and how long it took."""


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        word = {"passed": "PASS", "failed": "FAIL", "skipped": "SKIP"}[report.outcome]
        said = "".join(f"\n    {line}" for line in report.capstdout.splitlines())
        print(f"\nKTLS-QEMU: {word} {report.nodeid.split('::', 1)[-1]} ({report.duration:.1f} s){said}", flush=True)
