# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that misbehave: raw records by hand, a real server's flight cut or spoilt
on its way, TLS that stops where it likes."""

import contextlib
import select
import ssl
import struct
import time

import ends
import servers
import tlsend

HANDSHAKE, ALERT, CCS, DATA = 22, 21, 20, 23


def record(kind, body, version=0x0303, length=None):
    return struct.pack("!BHH", kind, version, len(body) if length is None else length) + body


def message(kind, body, length=None):
    """A handshake message."""
    return bytes([kind]) + (len(body) if length is None else length).to_bytes(3, "big") + body


def alert(level, description):
    return record(ALERT, bytes([level, description]))


def read_exactly(conn, n):
    data = b""
    while len(data) < n:
        more = conn.recv(n - len(data))
        if not more:
            raise ConnectionError(f"ended after {len(data)} bytes of {n}")
        data += more
    return data


def read_record(conn):
    head = read_exactly(conn, 5)
    return head + read_exactly(conn, int.from_bytes(head[3:], "big"))


def session_id(hello):
    """The one in a ClientHello's record, with its length before it."""
    at = 5 + 4 + 2 + 32
    return hello[at:at + 1 + hello[at]]


SUPPORTED_VERSIONS_13 = bytes.fromhex("002b00020304")
KEY_SHARE = bytes.fromhex("00330024001d0020") + bytes(range(32))


def server_hello(hello, suite=0x1301, version=0x0303, extensions=SUPPORTED_VERSIONS_13 + KEY_SHARE, random=bytes(32)):
    body = struct.pack("!H", version) + random + session_id(hello) + struct.pack("!HB", suite, 0)
    return record(HANDSHAKE, message(2, body + struct.pack("!H", len(extensions)) + extensions))


class Act(servers.Server):
    """Does act(conn) with each connection, whose peer may go when it likes."""

    def __init__(self, act, **kw):
        self.act = act
        super().__init__(**kw)

    def serve(self, conn):
        with contextlib.suppress(ConnectionError):
            return self.act(conn)


def hold(conn):
    """Says nothing more, until the peer goes."""
    while conn.recv():
        pass


def after_hello(*parts, then=None):
    """Reads the ClientHello, sends the parts (functions get the hello), then ends."""
    def act(conn):
        hello = read_record(conn)
        for p in parts:
            conn.send(p(hello) if callable(p) else p)
        if then:
            then(conn)
    return act


def says(data, then=None):
    def act(conn):
        conn.send(data)
        if then:
            then(conn)
    return act


def drips(data, pause):
    def act(conn):
        for b in data:
            conn.send(bytes([b]))
            time.sleep(pause)
        hold(conn)
    return act


def resets(conn):
    conn.reset()


class TlsAct(servers.Server):
    """The same behind TLS: act(tls). A connection's result is what act gives, or the
    error that ended it."""

    def __init__(self, ctx, act, **kw):
        self.ctx, self.act = ctx, act
        super().__init__(**kw)

    def serve(self, conn):
        t = tlsend.Tls(conn.sock, self.ctx, server=True)
        try:
            return self.act(t.handshake())
        except (ssl.SSLError, ends.Truncated, ConnectionError) as e:
            return e


def all_of(t):
    """Reads to the end and says so: what the peer sent."""
    got = ends.recv_all(t)
    t.shut()
    return got


class Middle(servers.Server):
    """Passes bytes on between its peer and the server behind it. The server's are cut
    off after `cut` bytes, and then `how` is done with the connection; or the byte at
    `flip` is spoilt. `turns` has who said how much, of the last connection."""

    def __init__(self, addr, cut=None, how=lambda conn: None, flip=None, mask=0x01):
        self.behind, self.cut, self.how, self.flip, self.mask = addr, cut, how, flip, mask
        self.turns = []
        super().__init__()

    def serve(self, conn):
        self.turns, passed = [], 0
        with contextlib.suppress(ConnectionError), ends.dial(self.behind) as back:
            while True:
                ready = select.select([conn.sock, back], [], [])[0][0]
                data = ready.recv(ends.CHUNK)
                if ready is back:
                    data = self.spoil(data, passed)
                    passed += len(data)
                self.note(ready is back, data)
                (conn.sock if ready is back else back).sendall(data)
                if self.cut is not None and passed >= self.cut:
                    return self.how(conn)
                if not data:
                    return None

    def spoil(self, data, passed):
        data = bytearray(data)
        if self.flip is not None and passed <= self.flip < passed + len(data):
            data[self.flip - passed] ^= self.mask
        return bytes(data if self.cut is None else data[:self.cut - passed])

    def note(self, is_server, data):
        if not self.turns or self.turns[-1][0] != is_server:
            self.turns.append((is_server, bytearray()))
        self.turns[-1][1].extend(data)


def records(data):
    """[(where its body begins, its type, its body)]"""
    found, at = [], 0
    while at + 5 <= len(data):
        n = int.from_bytes(data[at + 3:at + 5], "big")
        found.append((at + 5, data[at], bytes(data[at + 5:at + 5 + n])))
        at += 5 + n
    return found


def spread(first, last, n):
    """n numbers from first to last, both with them."""
    return sorted({first + round(i * (last - first) / (n - 1)) for i in range(n)})
