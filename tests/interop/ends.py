# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends of a connection inside the test's own process: streams over sockets and
pipes, and the exchange of data between two of them."""

import contextlib
import hashlib
import os
import select
import socket
import ssl
import struct
import threading
import time

PATIENCE = int(os.environ.get("TLSKIT_PATIENCE", "1"))  # how much slower this machine is
WAIT = 15 * PATIENCE  # seconds, for whatever ought to happen at once
CHUNK = 256 * 1024
SMALL_BUFFER = 32 * 1024  # a smaller one meets the kernel's own timers for tiny windows


def wait_until(check, what, timeout=WAIT):
    """Polls check() until it gives something true, and returns that."""
    end = time.monotonic() + timeout
    while True:
        got = check()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} s: {what}")
        time.sleep(0.005)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def same(got, want):
    """Equal bytes; a long difference is not printed."""
    assert (len(got), digest(got)) == (len(want), digest(want)), (got[:100], want[:100])


def dial(addr, timeout=WAIT, rcvbuf=None):
    """A connected socket. addr: (host, port), or a path ('@' first: abstract)."""
    family = socket.AF_UNIX if isinstance(addr, str) else socket.AF_INET6 if ":" in addr[0] else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM)
    if rcvbuf:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    s.settimeout(timeout)
    try:
        s.connect("\0" + addr[1:] if isinstance(addr, str) and addr[0] == "@" else addr)
    except BaseException:
        s.close()
        raise
    return s


def reset(sock):
    """Closes with RST."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class Sock:
    """A stream over a plain socket."""

    def __init__(self, sock):
        self.sock = sock

    def send(self, data):
        self.sock.sendall(data)

    def recv(self, n=CHUNK):
        return self.sock.recv(n)

    def shut(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        reset(self.sock)

    def close(self):
        self.sock.close()


class Pipe:
    """A stream over a process's stdin and stdout."""

    def __init__(self, proc):
        self.proc = proc

    def send(self, data):
        self.proc.stdin.write(data)
        self.proc.stdin.flush()

    def recv(self, n=CHUNK):
        fd = self.proc.stdout.fileno()
        if not select.select([fd], [], [], WAIT)[0]:
            raise TimeoutError(f"nothing on stdout for {WAIT} s")
        return os.read(fd, n)

    def shut(self):
        self.proc.stdin.close()

    def close(self):
        for f in (self.proc.stdin, self.proc.stdout):
            with contextlib.suppress(OSError):
                f.close()


class Truncated(Exception):
    """The transport ended without close_notify."""


def recv_exactly(stream, n):
    """SHA-256 of the next n bytes."""
    h, left = hashlib.sha256(), n
    while left:
        data = stream.recv(min(left, CHUNK))
        if not data:
            raise AssertionError(f"the stream ended {left} bytes of {n} early")
        h.update(data)
        left -= len(data)
    return h.hexdigest()


def recv_all(stream):
    """Every byte until the end of the stream; raises what a reset raises."""
    parts = []
    while True:
        data = stream.recv()
        if not data:
            return b"".join(parts)
        parts.append(data)


def recv_to_end(stream):
    """The bytes and how the stream ended: "eof", "reset", and for TLS "alert" (a
    fatal one) or "cut" (FIN without close_notify)."""
    parts = []
    try:
        while data := stream.recv():
            parts.append(data)
        return b"".join(parts), "eof"
    except (ConnectionResetError, BrokenPipeError):
        return b"".join(parts), "reset"
    except Truncated:
        return b"".join(parts), "cut"
    except ssl.SSLError as e:
        if "ALERT" not in (e.reason or ""):
            raise
        return b"".join(parts), "alert"


class Task(threading.Thread):
    """A thread whose exception comes out at done()."""

    def __init__(self, fn, *args):
        super().__init__(daemon=True)
        self.fn, self.args, self.error, self.result = fn, args, None, None
        self.start()

    def run(self):
        try:
            self.result = self.fn(*self.args)
        except BaseException as e:  # handed to the test
            self.error = e

    def done(self, timeout=50):
        self.join(timeout)
        if self.error:
            raise self.error
        assert not self.is_alive(), f"{self.fn} still runs after {timeout} s"
        return self.result


def exchange(a, b, up, down):
    """up from a to b and down from b to a, both at once; equal digests."""
    tasks = [Task(a.send, up), Task(b.send, down)]
    got_up = Task(recv_exactly, b, len(up))
    got_down = recv_exactly(a, len(down))
    assert got_up.done() == digest(up)
    assert got_down == digest(down)
    for t in tasks:
        t.done()
