# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends of a connection inside the test's own process: raw servers, streams over
sockets, pipes and TLS, and the exchange of data between two of them."""

import contextlib
import hashlib
import os
import select
import socket
import ssl
import struct
import threading
import time

WAIT = 15  # seconds, for whatever ought to happen at once
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


def context(server=False, cred=None, ca=None, versions=None, alpn=None, verify_client=None):
    """An ssl context; the client verifies "localhost" against ca, or nothing."""
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    c.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)  # Python's default hides truncation
    if not server and not ca:
        c.check_hostname, c.verify_mode = False, ssl.CERT_NONE
    if ca:
        c.load_verify_locations(ca)
    if verify_client:
        c.load_verify_locations(verify_client)
        c.verify_mode = ssl.CERT_REQUIRED
    if cred:
        c.load_cert_chain(cred.cert, cred.key)
    if alpn:
        c.set_alpn_protocols(alpn)
    if versions:
        c.minimum_version, c.maximum_version = versions
    return c


V12 = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)
V13 = (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3)
VERSIONS = {"1.2": V12, "1.3": V13}


class Truncated(Exception):
    """The transport ended without close_notify."""


class Tls:
    """A TLS end whose records are in the test's hands: what is written to the
    session stays in `out` until flush(), so flights can be merged, cut, held
    back or spoilt."""

    def __init__(self, sock, ctx, server=False, name="localhost", session=None):
        self.sock = sock
        self.inc, self.out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.obj = ctx.wrap_bio(self.inc, self.out, server_side=server,
                                server_hostname=None if server else name, session=session)
        self.lock, self.send_lock = threading.Lock(), threading.Lock()
        self.raw, self.eof, self.sending = bytearray(), False, False

    def take(self):
        """The bytes on their way out; they are not sent."""
        with self.lock:
            return self.out.read()

    def flush(self):
        with self.send_lock:
            data = self.take()
            if data:
                self.sock.sendall(data)

    def more(self):
        """Reads from the socket, once, when no whole record waits."""
        if self.eof or self.record():
            return
        data = self.sock.recv(CHUNK)
        self.raw += data
        self.eof = not data

    def record(self):
        """How long the next record is, 0 when it is not all there. What is no
        record, and what is left at the end, goes as it is."""
        if self.eof or self.raw and not 20 <= self.raw[0] <= 24:
            return len(self.raw)
        length = 5 + int.from_bytes(self.raw[3:5], "big") if len(self.raw) >= 5 else 5
        return length if len(self.raw) >= length else 0

    def give(self):
        """One record at a time for the session: its shutdown would throw away
        what it can read ahead."""
        if self.inc.pending:
            return
        n = self.record()
        self.inc.write(self.raw[:n])
        del self.raw[:n]
        if self.eof and not self.raw:
            self.inc.write_eof()

    def answer(self):
        """Sends what reading had to say. While another thread sends it leaves with
        that one's data: a reader never waits for a writer."""
        if not self.sending:
            self.flush()

    def step(self, call, *args):
        """Runs one reading operation to its end."""
        while True:
            try:
                with self.lock:
                    self.give()
                    return call(*args)
            except ssl.SSLWantReadError:
                self.answer()
                self.more()
            except ssl.SSLError:
                self.answer()
                raise

    def handshake(self, flush=True):
        """flush=False keeps the last flight in `out`."""
        self.step(self.obj.do_handshake)
        if flush:
            self.flush()
        return self

    def write(self, data):
        """Makes records and leaves them in `out`."""
        with self.lock:
            for i in range(0, len(data), 16384):
                self.obj.write(data[i:i + 16384])

    def send(self, data):
        view, self.sending = memoryview(data), True
        try:
            for i in range(0, len(view), CHUNK):
                self.write(view[i:i + CHUNK])
                self.flush()
        finally:
            self.sending = False

    def recv(self, n=CHUNK):
        """b"" after close_notify; Truncated when the transport just ends."""
        try:
            data = self.step(self.obj.read, n)
            self.answer()
            return data
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLError as e:
            if "EOF" in (e.reason or "EOF"):
                raise Truncated from None
            raise

    def shut(self):
        """Sends close_notify; reading goes on."""
        with contextlib.suppress(ssl.SSLWantReadError), self.lock:
            self.obj.unwrap()
        self.flush()

    def fin(self):
        """FIN without close_notify."""
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        reset(self.sock)

    def close(self):
        self.sock.close()


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


class Listener:
    """A listening socket; the test accepts by hand, so that what was never
    accepted can be counted. Its address is `target` as one would type it."""

    def __init__(self, unix=None, host="127.0.0.1", backlog=1024, rcvbuf=None):
        family = socket.AF_UNIX if unix else socket.AF_INET6 if ":" in host else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.bind(("\0" + unix[1:] if unix[0] == "@" else unix) if unix else (host, 0))
        if backlog is not None:
            self.sock.listen(backlog)
        self.sock.settimeout(WAIT)
        self.conns = []
        self.addr = unix or self.sock.getsockname()[:2]
        self.target = "unix:" + unix if unix else \
            f"[{host}]:{self.addr[1]}" if ":" in host else f"{host}:{self.addr[1]}"

    def accept(self, timeout=WAIT):
        self.sock.settimeout(timeout)
        s = self.sock.accept()[0]
        s.settimeout(WAIT)
        self.conns.append(s)
        return Sock(s)

    def accept_tls(self, ctx, handshake=True):
        t = Tls(self.accept().sock, ctx, server=True)
        return t.handshake() if handshake else t

    def was_called(self, wait=0.0):
        """Whether a connection is waiting to be accepted."""
        return bool(select.select([self.sock], [], [], wait)[0])

    def stop(self):
        for s in self.conns:
            s.close()
        self.sock.close()


class Server(Listener):
    """A listener with a thread for each connection; a subclass says in
    serve(sock) what happens there."""

    def __init__(self, **kw):
        super().__init__(**kw)
        self.accepts, self.stopping = 0, False
        self.tasks = []
        self.wake = os.pipe()
        self.loop = Task(self.run)

    def run(self):
        while not self.stopping:
            ready = select.select([self.sock, self.wake[0]], [], [])[0]
            if self.sock in ready:
                conn = Sock(self.sock.accept()[0])
                conn.sock.settimeout(WAIT)
                self.conns.append(conn.sock)
                self.accepts += 1
                self.tasks.append(Task(self.handle, conn))

    def handle(self, conn):
        try:
            return self.serve(conn)
        except OSError:
            if not self.stopping:
                raise
        finally:
            conn.close()

    def results(self, n=1):
        """What serve() gave for the first n connections."""
        wait_until(lambda: len(self.tasks) >= n, f"{n} connections at the backend, {self.accepts} came")
        return [t.done() for t in self.tasks[:n]]

    def stop(self):
        self.stopping = True
        os.write(self.wake[1], b".")
        self.loop.join(WAIT)
        for s in self.conns:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
        super().stop()
        for fd in self.wake:
            os.close(fd)


class Sink(Server):
    """Reads to the end: (bytes, "eof" | "reset")."""

    def serve(self, conn):
        return recv_to_end(conn)


class Source(Server):
    """Writes `data` and closes."""

    def __init__(self, data, **kw):
        self.data = data
        super().__init__(**kw)

    def serve(self, conn):
        conn.send(self.data)
        conn.shut()
        recv_all(conn)


class Echo(Server):
    """Sends everything back, and its end after the peer's."""

    def serve(self, conn):
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while data := conn.recv():
                conn.send(data)
            conn.shut()


class Trickle(Server):
    """Reads to the end, then writes the pieces with a pause before each."""

    def __init__(self, pieces, pause, **kw):
        self.pieces, self.pause = pieces, pause
        super().__init__(**kw)

    def serve(self, conn):
        got = recv_all(conn)
        for p in self.pieces:
            time.sleep(self.pause)
            conn.send(p)
        return got


class SlowReader(Server):
    """Reads `size` bytes at a time with a pause every `every` reads."""

    def __init__(self, size, pause=0.0, every=1, **kw):
        self.size, self.pause, self.every = size, pause, every
        super().__init__(rcvbuf=SMALL_BUFFER, **kw)

    def serve(self, conn):
        parts = []
        while data := conn.recv(self.size):
            parts.append(data)
            if len(parts) % self.every == 0:
                time.sleep(self.pause)
        return b"".join(parts)


class Refuser(Listener):
    """A port of ours on which nobody listens."""

    def __init__(self, **kw):
        super().__init__(backlog=None, **kw)


class BlackHole(Listener):
    """A port whose accept queue is full: the kernel drops every SYN."""

    def __init__(self, **kw):
        super().__init__(backlog=0, **kw)
        self.fill = []
        for _ in range(4):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(self.addr)
            self.fill.append(s)
        wait_until(self.full, "the accept queue to fill")

    def full(self):
        """Some of our connects are done and the others are not."""
        return not select.select([], [self.fill[-1]], [], 0.05)[1]

    def stop(self):
        for s in self.fill:
            s.close()
        super().stop()
