# SPDX-License-Identifier: GPL-3.0-or-later
"""Peers that do not mean well. None of them reaches the backend, costs CPU, or
disturbs the others."""

import random
import ssl
import struct
import time

import pytest

import ends
import servers
import tlsend
from peers import OpensslClient
from tlskit import SLOW


@pytest.fixture
def back(rig):
    return rig.listener()


@pytest.fixture
def tunnel(rig, pki, back):
    t = rig.server(pki.ecdsa, back.target)
    t.idle_fds = t.fds()
    return t


def record(kind, body, version=0x0303, length=None):
    return struct.pack("!BHH", kind, version, len(body) if length is None else length) + body


def client_hello():
    c = tlsend.Tls(None, tlsend.context())
    with pytest.raises(ssl.SSLWantReadError):
        c.obj.do_handshake()
    return c.take()


HELLO = client_hello()
RANDOM = random.Random(1)
JUNK = {
    "nothing": b"",
    "one byte": b"\x16",
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "ssh": b"SSH-2.0-OpenSSH_9.2\r\n",
    "random": RANDOM.randbytes(4096),
    "zeros": bytes(4096),
    "sslv2": bytes.fromhex("802e0100020015000000100100800200800300800400800500800600400700c0") + bytes(16),
    "huge record": record(22, b"\x01" * 100, length=0xffff),
    "empty records": record(22, b"") * 1000,
    "alert": record(21, b"\x02\x28"),
    "warning alerts": record(21, b"\x01\x00") * 100,
    "data first": record(23, b"hello backend"),
    "ccs first": record(20, b"\x01") * 100,
    "huge hello": record(22, b"\x01\xff\xff\xff" + bytes(16000)) * 20,
    "server hello": record(22, b"\x02" + HELLO[6:]),
    "hello with a bad length": HELLO[:6] + b"\x00\x00\x10" + HELLO[9:],
    "hello with junk extensions": HELLO[:-40] + RANDOM.randbytes(40),
    "hello then junk": HELLO + RANDOM.randbytes(2000),
    "hello twice": HELLO * 2,
    "hello, then data": HELLO + record(23, bytes(500)),
    "half a hello": HELLO[:100],
    "dtls": bytes.fromhex("16fefd0000000000000000") + b"\x00\x50" + bytes(80),
}


def poke(rig, tunnel, data):
    """Sends junk and FIN, and waits for the tunnel's end of it, which comes at once."""
    s = rig.dial(tunnel)
    start = time.monotonic()
    try:
        s.send(data)
        s.shut()
        ends.recv_to_end(s)
    except ConnectionError:
        pass
    s.close()
    assert time.monotonic() - start < 1 * SLOW, "the end of the peer was not noticed"


@pytest.mark.parametrize("what", JUNK)
def test_junk(rig, tunnel, back, what):
    poke(rig, tunnel, JUNK[what])
    line = tunnel.close_line()
    assert (line["result"], line["stage"], line["level"]) == ("error", "handshake", "warn"), line
    assert line["peer"].startswith("127.0.0.1:") and line["reason"], line
    assert not back.was_called()
    tunnel.settled(tunnel.idle_fds)
    a = rig.dial_tls(tunnel)
    ends.exchange(a, back.accept(), b"ping", b"pong")


def test_http_is_named(rig, tunnel):
    poke(rig, tunnel, JUNK["http"])
    assert "HTTP" in tunnel.close_line()["reason"].upper()


def test_plain_text_from_the_target(rig):
    """A client-role tunnel in front of a server that speaks no TLS."""
    for text in b"HTTP/1.0 400 Bad Request\r\n\r\n", b"220 mail ESMTP\r\n", bytes(2000), b"":
        back = rig.add(servers.Source(text))
        t = rig.tlskit("127.0.0.1:0", "tls:" + back.target, "--insecure-no-verify")
        assert ends.recv_to_end(rig.dial(t)) == (b"", "reset")
        assert t.close_line()["stage"] == "target-handshake"


def test_mutated_hellos(rig, tunnel, back):
    """500 hellos with a few bytes changed each."""
    rnd = random.Random(2)
    for _ in range(500):
        data = bytearray(HELLO)
        for _ in range(rnd.randint(1, 8)):
            data[rnd.randrange(len(data))] = rnd.randrange(256)
        s = rig.dial(tunnel)
        s.send(data)
        s.shut()
        s.close()
    a = rig.dial_tls(tunnel)
    ends.exchange(a, back.accept(), b"ping", b"pong")
    assert not back.was_called()


def test_mutated_flow(rig, pki, small, tunnel, back):
    """After the handshake: junk instead of records, of every kind."""
    for kind in [20, 21, 22, 23, 24, 0, 255]:
        c = rig.dial_tls(tunnel)
        b = back.accept()
        c.sock.sendall(record(kind, small[:300]))
        assert ends.recv_to_end(b) == (b"", "reset"), kind
        c.close()
    tunnel.settled(tunnel.idle_fds)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_stops_within_a_record(rig, pki, back, version):
    """No CPU is used while the rest is missing; the idle timeout ends it."""
    t = rig.server(pki.ecdsa, back.target, "--idle-timeout", "2s")
    c = rig.dial_tls(t, tlsend.context(versions=tlsend.VERSIONS[version]))
    c.write(bytes(10000))
    c.sock.sendall(c.take()[:7000])
    b = back.accept()
    time.sleep(0.2)
    before = t.cpu()
    time.sleep(1)
    assert t.cpu() - before < 0.03 * SLOW
    assert ends.recv_to_end(b)[1] == "reset"
    c.close()
    assert "idle" in t.close_line()["reason"]


def test_renegotiation_is_refused(rig, pki, tunnel, back):
    c = rig.start(OpensslClient(tunnel.target, pki.ca, "1.2", quiet=False))
    a, b = c.stream, back.accept()
    a.send(b"before\n")
    assert b.recv() == b"before\n"
    a.send(b"R\n")
    ends.wait_until(lambda: "RENEGOTIATING" in c.stderr(), "openssl to renegotiate")
    ends.wait_until(lambda: c.proc.poll() is not None or "no renegotiation" in c.stderr().lower(),
                    "the refusal")
    c.end()
    got, _ = ends.recv_to_end(b)
    assert got in (b"", b"R\n")[:1], "handshake bytes reached the backend"
    d = rig.dial_tls(tunnel)
    ends.exchange(d, back.accept(), b"ping", b"pong")


def test_flood_of_key_updates(rig, tunnel, back):
    """An answer wanted for each: it may be cut off, and the others do not notice."""
    c = rig.start(OpensslClient(tunnel.target, None, "1.3", quiet=False))
    b = back.accept()
    try:
        for i in range(100):
            c.stream.send(b"K\n")
            ends.wait_until(lambda: c.proc.poll() is not None or c.stderr().count("KEYUPDATE") > i, "KeyUpdate")
    except BrokenPipeError:
        assert ends.recv_to_end(b)[1] == "reset"
        assert tunnel.close_line()["result"] == "error"
    d = rig.dial_tls(tunnel)
    ends.exchange(d, back.accept(), b"ping", b"pong")


def test_ten_thousand_scanner_hits(rig, pki, back):
    """Rate-limited lines with peer and reason, and a count of the others."""
    t = rig.server(pki.ecdsa, back.target)
    fds = t.fds()
    for _ in range(50):
        batch = [ends.dial(t.addr) for _ in range(200)]
        for i, s in enumerate(batch):
            if i % 4:
                s.sendall((b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01", bytes(50))[i % 3])
        for s in batch:
            ends.reset(s)
    a = rig.dial_tls(t)
    ends.exchange(a, back.accept(), b"ping", b"pong")
    assert not back.was_called()
    lines = t.closes(1)
    assert len(t.stderr().splitlines()) < 500, "not rate-limited"
    assert all(l["peer"] and l["reason"] for l in lines)
    a.close()
    back.conns[0].close()
    t.settled(fds)
    t.signal()
    t.finish()
    counted = sum(e["count"] for e in t.events("repeated"))
    shown = len([e for e in t.events("close") if e["stage"] == "handshake"])
    assert counted + shown == 10000, (counted, shown)


def test_odd_bytes_in_the_log(rig, tunnel):
    """Whatever a peer sends, each line of the log is one JSON object."""
    for junk in b'GET /"\n{} HTTP/1.0\r\n\r\n', b"\x1b[31m\xff\xfe", b"\n\n\n\n\n\n":
        poke(rig, tunnel, junk)
    assert len(tunnel.closes(3)) == 3
