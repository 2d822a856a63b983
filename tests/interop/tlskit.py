# SPDX-License-Identifier: GPL-3.0-or-later
"""The program under test."""

import json
import os
import re
import resource
import signal
import subprocess
import time

import ends
import peers

TLSKIT = os.path.abspath(os.environ.get("TLSKIT", "./tlskit"))
TICK = os.sysconf("SC_CLK_TCK")
SANITIZER = re.compile(rb"ERROR: (Address|Leak)Sanitizer|runtime error:|WARNING: ThreadSanitizer")


def sanitized():
    """Whether the program under test carries a sanitizer, which makes it slow."""
    try:
        with open(TLSKIT, "rb") as f:
            return b"__asan_init" in f.read()
    except FileNotFoundError:
        return False


SLOW = (4 if sanitized() else 1) * ends.PATIENCE  # how much longer things may take


def took(start, least, most):
    spent = time.monotonic() - start
    assert least <= spent < most * SLOW, f"{spent:.2f} s"


class Tlskit(peers.Peer):
    """The program under test: `tlskit tunnel` with a JSON log. stop() ends it
    with SIGTERM and checks the exit code and that no sanitizer spoke."""

    name = "tlskit"

    def __init__(self, *args, log="json", files=None, env=None):
        super().__init__(*args)
        self.log, self.extra_env = log, env or {}
        self.expect, self.code = (0,), None
        if files:  # (soft, hard) limits of descriptors
            self.limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, files)

    def argv(self):
        return ["tunnel", *(["--log", self.log] if self.log else []), *self.args]

    def locate(self):
        assert os.access(TLSKIT, os.X_OK), f"no program at TLSKIT={TLSKIT}"
        return TLSKIT

    def env(self):
        return {**super().env(), **self.extra_env}

    def ready(self, lines=1):
        def look():
            got = self.lines("listening")
            if len(got) < lines:
                self.check_alive()
            return got if len(got) >= lines else None
        self.where = ends.wait_until(look, "the line `listening ADDR`")
        tail = self.where[0].rsplit(":", 1)[-1]
        self.port = int(tail) if tail.isdigit() else None
        return self

    def lines(self, word):
        """What stands behind `word` in the complete lines of stdout."""
        text = self.stdout()
        done = text[:text.rfind("\n") + 1].splitlines()
        return [l[len(word) + 1:].strip() for l in done if re.match(word + r":? ", l)]

    def events(self, kind=None):
        """The log's lines; each has to be a JSON object."""
        text = self.stderr()
        out = [json.loads(l) for l in text[:text.rfind("\n") + 1].splitlines()]
        return [e for e in out if kind in (None, e["event"])]

    def closes(self, n=1, timeout=ends.WAIT):
        """The first n lines about ended connections."""
        ends.wait_until(lambda: len(self.events("close")) >= n, f"{n} close lines in the log", timeout)
        return self.events("close")

    def close_line(self):
        return self.closes()[0]

    def cpu(self):
        """User and system seconds used so far."""
        with open(f"/proc/{self.proc.pid}/stat") as f:
            col = f.read().rsplit(")", 1)[1].split()
        return (int(col[11]) + int(col[12])) / TICK

    def fds(self):
        return len(os.listdir(f"/proc/{self.proc.pid}/fd"))

    def settled(self, fds):
        """Waits until no more descriptors than `fds` are open."""
        ends.wait_until(lambda: self.fds() <= fds, f"back to {fds} descriptors, {self.fds()} are open")

    def signal(self, signo=signal.SIGTERM):
        self.proc.send_signal(signo)

    def check(self):
        """After the end: exit code and sanitizer reports."""
        err = self.read("stderr")
        assert not SANITIZER.search(err), f"sanitizer report:\n{err.decode(errors='replace')[-4000:]}"
        assert self.code in self.expect, f"exit code {self.code}, expected {self.expect}: {self.stderr()[-2000:]}"

    def finish(self, timeout=ends.WAIT):
        """Waits for the end by itself; the exit code."""
        try:
            self.code = self.proc.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout} s") from None
        return self.code

    def end(self):
        if not self.proc:
            return
        try:
            if self.proc.poll() is None:
                self.signal()
                try:
                    self.finish(10)
                except AssertionError:
                    raise AssertionError("did not end within 10 s of SIGTERM with no connection left") from None
            self.code = self.proc.poll()
            self.check()
            if self.log == "json":
                self.events()
        finally:
            super().end()


class TlskitPipe(peers.Client, Tlskit):
    """The same with `-` as one of its addresses: its stdin and stdout are pipes."""


class Once:
    """`tlskit ARG…` run to its end: code, out, err."""

    def __init__(self, *args, stdin=b"", timeout=ends.WAIT, env=None, cwd=None):
        self.command = [TLSKIT, *map(str, args)]
        r = subprocess.run(self.command, input=stdin, capture_output=True, timeout=timeout, cwd=cwd,
                           env=dict(os.environ, LC_ALL="C", **(env or {})))
        self.code, self.out, self.raw_err = r.returncode, r.stdout, r.stderr
        self.err = r.stderr.decode(errors="replace")
        assert not SANITIZER.search(r.stderr), f"sanitizer report:\n{self.err[-4000:]}"
        assert self.code >= 0, f"ended by signal {-self.code}: {self.err}"

    def __repr__(self):
        return f"$ {' '.join(self.command)}\nexit {self.code}\n{self.out.decode(errors='replace')}{self.err}"
