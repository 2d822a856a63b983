# SPDX-License-Identifier: GPL-3.0-or-later
"""`tlskit connect` under test: Run to its end, Check with its JSON, Talker for a
conversation. What holds for every run is asserted here."""

import concurrent.futures
import contextlib
import json
import os
import re
import select
import subprocess
import tempfile
import time

import ends
import peers
import schema
import tlskit

MARGIN = 1 * tlskit.SLOW  # seconds beyond the deadline
PLAIN = re.compile(r"[^\n\x00-\x1f\x7f-\x9f]*")

_codes = schema.load("connect")["properties"]
RESULTS = dict(zip(_codes["exit_code"]["enum"], _codes["result"]["enum"], strict=True))


def sent_in(proc, data):
    """Into its stdin, which is closed then; it may stop to read when it likes."""
    with contextlib.suppress(BrokenPipeError), proc.stdin as pipe:
        pipe.write(data)


def wait4(proc, limit):
    """Its resource usage; returncode is set. Ends it when it is over the limit."""
    poll, fd = select.poll(), os.pidfd_open(proc.pid)
    try:
        poll.register(fd, select.POLLIN)
        late = not poll.poll(limit * 1000)
        if late:
            proc.kill()
        _, status, usage = os.wait4(proc.pid, 0)
        proc.returncode = os.waitstatus_to_exitcode(status)
    finally:
        os.close(fd)
    assert not late, f"still running after {limit} s: {' '.join(proc.args)}"
    return usage


def group_is_left(pid):
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Run:
    """`tlskit connect ARG…`, run to its end: code, out, err, and the seconds that it
    took (spent_s) and computed (cpu_s). stdin: bytes through a pipe, which ends; prefix: a
    command that executes it."""

    def __init__(self, *args, stdin=b"", limit=ends.WAIT, env=None, prefix=(), **popen):
        self.command = [*prefix, tlskit.TLSKIT, "connect", *map(str, args)]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            start = time.monotonic()
            proc = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=out, stderr=err, bufsize=0, start_new_session=True,
                env={**os.environ, "LC_ALL": "C", **(env or {})}, **popen)
            writer = ends.Task(sent_in, proc, stdin)
            usage = wait4(proc, limit)
            self.spent_s, self.cpu_s = time.monotonic() - start, usage.ru_utime + usage.ru_stime
            writer.done()
            self.code, self.out, raw_err = proc.returncode, whole(out), whole(err)
        self.err = raw_err.decode(errors="replace")
        self.check(raw_err, proc.pid)

    def check(self, raw_err, pid):
        assert not tlskit.SANITIZER.search(raw_err), f"sanitizer report:\n{self.err[-4000:]}"
        assert self.code in RESULTS, f"no exit code of connect's: {self}"
        assert not group_is_left(pid), f"something of it still runs: {self}"
        raw_err.decode()
        for line in self.err.splitlines():
            assert PLAIN.fullmatch(line), f"control characters on stderr: {line!r}"

    def within(self, timeout_s, code=12):
        """Ended by the deadline, neither before nor long after, and without spinning."""
        assert self.code == code, self
        assert timeout_s - 0.02 < self.spent_s < timeout_s + MARGIN, (self.spent_s, self)
        return self.idle()

    def idle(self):
        assert self.cpu_s < 0.25 * tlskit.SLOW, (self.cpu_s, self)
        return self

    def said(self, *words):
        """Each of them on stderr."""
        assert all(w in self.err for w in words), (words, self)
        return self

    def failed(self, code):
        """As in talk mode: nothing on stdout, one line and perhaps a hint on stderr, beside a
        warning about our own certificate."""
        assert (self.code, self.out) == (code, b""), self
        lines = [line for line in self.err.splitlines() if "will be refused" not in line]
        assert lines and lines[0].startswith("tlskit connect: ") and len(lines) <= 2, self
        return self

    def __repr__(self):
        out = self.out[:3000].decode(errors="replace")
        return f"\n$ {' '.join(self.command)}\nexit {self.code}\n{out}\n{self.err[:3000]}"


def whole(file):
    file.seek(0)
    return file.read()


def document(line):
    """The JSON of one check, held against the schema."""
    doc = json.loads(line)
    schema.check(doc, "connect")
    code, errors = doc["exit_code"], doc["errors"]
    assert doc["result"] == RESULTS[code], doc
    assert code in [e["code"] for e in errors] if errors else code == 0, doc
    for e in errors:
        assert PLAIN.fullmatch(e["message"]), e
    assert doc["verify"]["performed"] or doc["verify"]["ok"] is None, doc["verify"]
    return doc


class Check(Run):
    """`connect --check --json`: doc is what came on stdout."""

    def __init__(self, *args, **kw):
        super().__init__("--check", "--json", *args, **kw)
        assert self.out.count(b"\n") == 1 and self.out.endswith(b"\n"), self
        self.doc = document(self.out)
        assert self.doc["exit_code"] == self.code, self
        assert (self.doc["timing_ms"]["total"] or 0) <= self.spent_s * 1000 + 1, self

    @property
    def text(self):
        """All that it says about what is wrong."""
        return "\n".join(f"{e['message']} {e['detail'] or ''} {e['hint'] or ''}" for e in self.doc["errors"])

    def is_fault(self, code, stage, *words):
        """One fault: this one, which says these words."""
        found = [(e["code"], e["stage"]) for e in self.doc["errors"]]
        assert found == [(code, stage)], (found, self)
        assert all(w in self.text for w in words), (words, self)
        return self

    def no_tls(self):
        """It never came to a certificate."""
        d = self.doc
        assert (d["verify"]["performed"], d["verify"]["ok"], d["chain_sent"]) == (False, None, None), self
        return self

    def fine(self):
        assert self.code == 0 and self.err == "", self
        assert self.doc["verify"]["ok"] is True and self.doc["tls"]["version"], self
        assert self.doc["timing_ms"]["handshake"] > 0, self
        return self


class Talker(peers.Client, tlskit.Tlskit):
    """`connect`, to be talked to through `stream`."""

    def __init__(self, *args, expect=0, env=None):
        super().__init__(*args, log=None, env=env)
        self.expect = expect if isinstance(expect, tuple) else (expect,)

    def argv(self):
        return ["connect", *self.args]

    def until(self, text):
        """What comes up to and with `text`."""
        got = b""
        while text not in got:
            data = self.stream.recv()
            assert data, f"ended before {text!r}: {got!r}; {self.stderr()}"
            got += data
        return got

    def ask(self, data, answer):
        self.stream.send(data)
        return self.until(answer)

    def over(self):
        """The rest of what comes, and its end."""
        self.stream.shut()
        rest = ends.recv_all(self.stream)
        self.finish()
        self.check()
        return rest


def together(jobs, width=8):
    """Calls the functions of a dict side by side; their results under the same names.
    What failed is told of all of them."""
    with concurrent.futures.ThreadPoolExecutor(width) as pool:
        futures = {name: pool.submit(job) for name, job in jobs.items()}
    wrong = {name: f.exception() for name, f in futures.items() if f.exception()}
    assert not wrong, f"{len(wrong)} of {len(jobs)}: " + "\n".join(f"{n}: {type(e).__name__} {e}"[:4000] for n, e in wrong.items())
    return {name: f.result() for name, f in futures.items()}
