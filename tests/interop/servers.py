# SPDX-License-Identifier: GPL-3.0-or-later
"""Raw servers inside the test's own process."""

import contextlib
import os
import select
import socket
import ssl
import time

import ends
import tlsend


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
        self.sock.settimeout(ends.WAIT)
        self.conns = []
        self.addr = unix or self.sock.getsockname()[:2]
        self.target = "unix:" + unix if unix else \
            f"[{host}]:{self.addr[1]}" if ":" in host else f"{host}:{self.addr[1]}"

    def accept(self, timeout=ends.WAIT):
        self.sock.settimeout(timeout)
        s = self.sock.accept()[0]
        s.settimeout(ends.WAIT)
        self.conns.append(s)
        return ends.Sock(s)

    def accept_tls(self, ctx, handshake=True):
        t = tlsend.Tls(self.accept().sock, ctx, server=True)
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
        self.loop = ends.Task(self.run)

    def run(self):
        while not self.stopping:
            ready = select.select([self.sock, self.wake[0]], [], [])[0]
            if self.sock in ready:
                conn = ends.Sock(self.sock.accept()[0])
                conn.sock.settimeout(ends.WAIT)
                self.conns.append(conn.sock)
                self.accepts += 1
                self.tasks.append(ends.Task(self.handle, conn))

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
        ends.wait_until(lambda: len(self.tasks) >= n, f"{n} connections at the backend, {self.accepts} came")
        return [t.done() for t in self.tasks[:n]]

    def stop(self):
        self.stopping = True
        os.write(self.wake[1], b".")
        self.loop.join(ends.WAIT)
        for s in self.conns:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
        super().stop()
        for fd in self.wake:
            os.close(fd)


class Sink(Server):
    """Reads to the end: (bytes, "eof" | "reset")."""

    def serve(self, conn):
        return ends.recv_to_end(conn)


class Source(Server):
    """Writes `data` and closes."""

    def __init__(self, data, **kw):
        self.data = data
        super().__init__(**kw)

    def serve(self, conn):
        conn.send(self.data)
        conn.shut()
        ends.recv_all(conn)


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
        got = ends.recv_all(conn)
        for p in self.pieces:
            time.sleep(self.pause)
            conn.send(p)
        return got


class SlowReader(Server):
    """Reads `size` bytes at a time with a pause every `every` reads."""

    def __init__(self, size, pause=0.0, every=1, **kw):
        self.size, self.pause, self.every = size, pause, every
        super().__init__(rcvbuf=ends.SMALL_BUFFER, **kw)

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
        ends.wait_until(self.full, "the accept queue to fill")

    def full(self):
        """Some of our connects are done and the others are not."""
        return not select.select([], [self.fill[-1]], [], 0.05)[1]

    def stop(self):
        for s in self.fill:
            s.close()
        super().stop()


class TlsEcho(Server):
    """An echo behind TLS. A connection's result is the client's certificate (DER,
    or None), or the error that ended it. ctx may be changed."""

    def __init__(self, ctx, **kw):
        self.ctx = ctx
        super().__init__(**kw)

    def serve(self, conn):
        t = tlsend.Tls(conn.sock, self.ctx, server=True)
        try:
            t.handshake()
            while data := t.recv():
                t.send(data)
            t.shut()
        except (ssl.SSLError, ends.Truncated, ConnectionError) as e:
            return e
        return t.obj.getpeercert(True)
