# SPDX-License-Identifier: GPL-3.0-or-later
"""A TLS end inside the test's own process, over OpenSSL's memory buffers."""

import contextlib
import socket
import ssl
import threading

import ends


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
        data = self.sock.recv(ends.CHUNK)
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
        """From one thread at a time."""
        view, self.sending = memoryview(data), True
        try:
            for i in range(0, len(view), ends.CHUNK):
                self.write(view[i:i + ends.CHUNK])
                self.flush()
        finally:
            self.sending = False

    def recv(self, n=ends.CHUNK):
        """b"" after close_notify; Truncated when the transport just ends."""
        try:
            data = self.step(self.obj.read, n)
            self.answer()
            return data
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLError as e:
            if "EOF" in (e.reason or "EOF"):
                raise ends.Truncated from None
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
        ends.reset(self.sock)

    def close(self):
        self.sock.close()
