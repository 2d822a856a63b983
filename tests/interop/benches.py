# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of the benchmarks: to the end, in the background, on a terminal."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import ends
import schema
from tlskit import SANITIZER, SLOW, TLSKIT, Once

CIPHERS = "bench-ciphers"
ONE = ("CHACHA20-POLY1305", "--engine", "gnutls", "--kind", "aead", "--op", "encrypt")
SHORT = ("--time", "2ms", "--samples", "2")


def run(*args, code=0, **kw):
    r = Once(CIPHERS, *args, timeout=60 * SLOW, **kw)
    assert code is None or r.code == code, r
    return r


def parse(text):
    """The document; whatever prints one prints one of the schema."""
    d = json.loads(text)
    schema.check(d, "bench")
    return d


def document(*args, code=0, **kw):
    return parse(run(*args, "--json", code=code, **kw).out)


def listed(*args):
    return run(*args, "--list").out.decode().split()


def ids(d):
    return [r["id"] for r in d["rows"]]


def refused(*args, says=(), **kw):
    """The command line or a file is wrong: exit 2, one line, nothing was measured."""
    r = run(*args, code=2, **kw)
    assert r.out == b"" and len(r.err.splitlines()) == 1, r
    assert r.err.startswith("tlskit: ") and not re.search(r"\d rows?, ", r.err), r
    for text in [says] if isinstance(says, str) else says:
        assert text in r.err, (text, r)
    return r.err


# --- terminals ------------------------------------------------------------------------


class Screen:
    """A terminal; what was written to it."""

    def __init__(self, columns=80):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        mode = termios.tcgetattr(self.slave)
        mode[1] &= ~termios.OPOST  # lines as they were written
        termios.tcsetattr(self.slave, termios.TCSANOW, mode)
        self.text = b""

    def shut(self):
        """This side of it, when the program has it."""
        os.close(self.slave)

    def read(self, timeout):
        """False at the end."""
        if not select.select([self.master], [], [], timeout)[0]:
            return True
        try:
            more = os.read(self.master, 65536)
        except OSError:  # EIO: nobody has it any more
            return False
        self.text += more
        return bool(more)

    def read_all(self):
        end = time.monotonic() + 30 * SLOW
        while self.read(1):
            assert time.monotonic() < end, self.text
        os.close(self.master)
        return self.text.decode()


def on_screen(*args, columns=80):
    s = Screen(columns)
    p = subprocess.Popen([TLSKIT, CIPHERS, *args], stdout=s.slave, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    s.shut()
    text = s.read_all()
    err = p.communicate(timeout=30)[1]
    assert p.returncode == 0 and not SANITIZER.search(err), (p.returncode, err)
    return text


# --- in the background ------------------------------------------------------------------


class Running:
    """A run whose progress goes to a terminal, for what happens in the middle of it;
    a group of processes of its own."""

    def __init__(self, *args):
        self.screen = Screen()
        self.proc = subprocess.Popen([TLSKIT, CIPHERS, *args], stdout=subprocess.PIPE, stderr=self.screen.slave,
                                     stdin=subprocess.DEVNULL, start_new_session=True)
        self.screen.shut()
        self.pid = self.proc.pid

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.proc.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
            self.proc.wait()
        self.proc.stdout.close()

    def at(self, text):
        """Waits until the progress names a row that is like `text`."""
        end = time.monotonic() + ends.WAIT * SLOW
        while not re.search(text, self.screen.text.decode()):
            assert self.screen.read(1), f"ended: {self.screen.text}"
            assert time.monotonic() < end, f"{text} did not come: {self.screen.text}"

    def cpu(self, pid=None):
        with open(f"/proc/{pid or self.pid}/stat") as f:
            col = f.read().rsplit(")", 1)[1].split()
        return (int(col[11]) + int(col[12])) / os.sysconf("SC_CLK_TCK")

    def children(self):
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as f:
            return [int(p) for p in f.read().split()]

    def arrived(self, signo):
        """Whether nothing of this signal is pending any more, or it was the end."""
        with open(f"/proc/{self.pid}/status") as f:
            text = f.read()
        masks = re.findall(r"^(?:Sig|Shd)Pnd:\s*(\w+)", text, re.M)
        return "State:\tZ" in text or not any(int(m, 16) & 1 << (signo - 1) for m in masks)

    def signal(self, signo=signal.SIGINT, group=False):
        (os.killpg if group else os.kill)(self.pid, signo)
        ends.wait_until(lambda: self.arrived(signo), "the signal to arrive")

    def finish(self):
        """Exit code, stdout, stderr."""
        out = self.proc.communicate(timeout=30 * SLOW)[0]
        err = self.screen.read_all()
        assert not SANITIZER.search(err.encode()), err
        return self.proc.returncode, out, err


class Background:
    """A run beside the tests, and the most memory that it had."""

    def __init__(self, *args, program=TLSKIT):
        self.proc = subprocess.Popen([program, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     stdin=subprocess.DEVNULL)
        self.start, self.peak_kb, self.took_s = time.monotonic(), 0, None
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()

    def watch(self):
        # not ru_maxrss: that is at least what this process had when it forked
        while self.proc.returncode is None:
            try:
                with open(f"/proc/{self.proc.pid}/status") as f:
                    peak = re.search(r"VmHWM:\s*(\d+) kB", f.read())
            except OSError:
                break
            if not peak:  # it has ended
                break
            self.peak_kb = max(self.peak_kb, int(peak.group(1)))
            self.took_s = time.monotonic() - self.start
            time.sleep(0.02)

    def result(self):
        """Exit code, stdout, stderr."""
        out, err = self.proc.communicate(timeout=55)
        self.watcher.join()
        assert not SANITIZER.search(err), err
        return self.proc.returncode, out, err.decode()

    def end(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.communicate()
