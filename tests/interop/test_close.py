# SPDX-License-Identifier: GPL-3.0-or-later
"""How streams flow and how they end: nothing that was read is lost, a clean end
is carried on as one, and an unclean one never looks clean."""

import os
import re
import signal
import ssl
import time

import pytest

import ends
import ktls
import servers
import tlsend
from peers import GnutlsCli, OpensslClient


class Pair:
    """Both ends of a tunnel in one role: `tls` is the TLS end, `plain` the other.
    version: as the fixture `flavour`."""

    def __init__(self, rig, pki, role, *args, version="1.3", rcvbuf=None):
        version, _, plane = version.partition("-")
        args += ("--dataplane", plane) if plane else ()
        self.back = rig.listener(rcvbuf=rcvbuf if role == "server" else None)
        versions = tlsend.VERSIONS[version]
        if role == "server":
            self.tunnel = rig.server(pki.ecdsa, self.back.target, *args)
            self.idle_fds = self.tunnel.fds()
            self.tls = rig.dial_tls(self.tunnel, tlsend.context(ca=pki.ca, versions=versions))
            self.plain = self.back.accept()
        else:
            self.tunnel = rig.client(self.back.addr[1], "--ca", pki.ca, *args)
            self.idle_fds = self.tunnel.fds()
            self.plain = rig.dial(self.tunnel, rcvbuf=rcvbuf)
            self.tls = self.back.accept_tls(tlsend.context(server=True, cred=pki.ecdsa, versions=versions))
        if plane == "ktls":  # each worker keeps up to four of the kernel's pipes
            self.idle_fds += 2 * 4 * os.cpu_count()

    def line(self):
        return self.tunnel.close_line()


@pytest.fixture(params=["server", "client"])
def role(request):
    return request.param


@pytest.fixture(params=["1.2", "1.3"])
def version(request):
    return request.param


def failed(line, word, stage="flow"):
    assert line["result"] == "error" and line["stage"] == stage, line
    assert re.search(word, line["reason"], re.I), line


@pytest.fixture(params=["1.2", "1.3", "1.3-gnutls", *(["1.3-ktls"] if ktls.OFFERED else [])])
def flavour(request):
    """A version, and a data plane where it is not the fastest."""
    return request.param


# --- clean ends ---------------------------------------------------------------


def test_no_data_at_all(rig, pki, role, flavour):
    p = Pair(rig, pki, role, version=flavour)
    p.tls.shut()
    assert p.plain.recv() == b""
    p.plain.shut()
    assert p.tls.recv() == b""
    p.tls.close()
    line = p.line()
    assert line["result"] == "ok" and line["to_target_bytes"] == line["to_peer_bytes"] == 0, line
    p.plain.close()
    p.tunnel.settled(p.idle_fds)


def test_gnutls_client_sees_a_clean_end(rig, pki, version):
    back = rig.add(servers.Source(b"good bye\n"))
    t = rig.server(pki.ecdsa, back.target)
    c = rig.start(GnutlsCli(t.port, pki.ca, version))
    assert ends.recv_all(c.stream) == b"good bye\n"
    assert c.wait() == 0
    assert not re.search("not properly terminated|error", c.messages(), re.I), c.messages()


def test_server_speaks_first(rig, pki, role):
    p = Pair(rig, pki, role)
    first, second = (p.plain, p.tls) if role == "server" else (p.tls, p.plain)
    first.send(b"220 hello\r\n")
    assert second.recv() == b"220 hello\r\n"


def test_stays_open_when_idle(rig, pki, role):
    p = Pair(rig, pki, role)
    before = p.tunnel.cpu()
    time.sleep(2)
    assert p.tunnel.cpu() - before < 0.1
    ends.exchange(p.tls, p.plain, b"still", b"here")


@pytest.mark.parametrize("how", ["python", "openssl"])
def test_writes_and_never_reads(rig, pki, small, how):
    """No ticket may reset a TLS 1.3 client that only writes and closes."""
    back = rig.add(servers.Sink())
    t = rig.server(pki.ecdsa, back.target)
    for i in range(10):
        if how == "python":
            c = rig.dial_tls(t)
            c.send(small)
            c.shut()
            c.close()
        else:
            c = rig.start(OpensslClient(t.target, None, "1.3", "-no_ign_eof", "-nocommands"))
            c.stream.send(small)
            c.stream.shut()
        got, end = back.results(i + 1)[i]
        ends.same(got, small)
        assert end == "eof"


# --- flow ---------------------------------------------------------------------


def test_slow_reader(rig, pki, small, role, flavour):
    """The writer is done and gone long before the reader has all of it."""
    p = Pair(rig, pki, role, version=flavour, rcvbuf=ends.SMALL_BUFFER)
    writer, reader = (p.tls, p.plain)
    task = ends.Task(lambda: (writer.send(small), writer.shut()))
    got = b""
    while data := reader.recv(40000):
        got += data
        time.sleep(0.01)
    ends.same(got, small)
    task.done()


def test_slow_tls_reader(rig, pki, small, version):
    back = rig.add(servers.Source(small))
    t = rig.server(pki.ecdsa, back.target)
    c = rig.dial_tls(t, tlsend.context(versions=tlsend.VERSIONS[version]), rcvbuf=ends.SMALL_BUFFER)
    got = b""
    while data := c.recv(16384):
        got += data
        time.sleep(0.01)
    ends.same(got, small)


def test_slow_backend(rig, pki, small, version):
    back = rig.add(servers.SlowReader(1500, pause=0.002, every=5))
    c = rig.dial_tls(rig.server(pki.ecdsa, back.target), tlsend.context(versions=tlsend.VERSIONS[version]))
    c.send(small)
    c.shut()
    ends.same(back.results()[0], small)


def test_full_records_read_in_pieces(rig, pki, small, role, flavour):
    """Nothing may wait inside the library for bytes that never come."""
    p = Pair(rig, pki, role, version=flavour, rcvbuf=ends.SMALL_BUFFER)
    p.tls.send(small[:65 * 16384])
    got = b""
    while len(got) < len(small):
        got += p.plain.recv(1500)
    ends.same(got, small)


def test_many_small_writes(rig, pki, small, role):
    p = Pair(rig, pki, role)

    def dribble(end):
        at = 0
        for i in range(4000):
            end.send(small[at:at + i % 50 + 1])
            at += i % 50 + 1
        return at

    tasks = [ends.Task(dribble, e) for e in (p.tls, p.plain)]
    size = sum(i % 50 + 1 for i in range(4000))
    up = ends.Task(ends.recv_exactly, p.plain, size)
    assert ends.recv_exactly(p.tls, size) == up.done() == ends.digest(small[:size])
    assert [t.done() for t in tasks] == [size] * 2


def test_data_with_finished(rig, pki):
    """TLS 1.3: Finished and 20 records in one segment, then silence."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target)
    c = rig.dial_tls(t, handshake=False).handshake(flush=False)
    for i in range(20):
        c.write(b"record %02d" % i)
    c.flush()
    b = back.accept()
    assert ends.recv_exactly(b, 180) == ends.digest(b"".join(b"record %02d" % i for i in range(20)))


def test_records_in_one_segment(rig, pki, role, flavour):
    p = Pair(rig, pki, role, version=flavour)
    want = b""
    for i in range(200):
        p.tls.write(bytes([i]) * i or b"x")
        want += bytes([i]) * i or b"x"
    p.tls.flush()
    assert ends.recv_exactly(p.plain, len(want)) == ends.digest(want)


def test_records_and_close_notify_in_one_segment(rig, pki, role, flavour):
    p = Pair(rig, pki, role, version=flavour)
    for i in range(50):
        p.tls.write(b"%03d" % i)
    p.tls.shut()
    assert ends.recv_all(p.plain) == b"".join(b"%03d" % i for i in range(50))


def test_record_byte_by_byte(rig, pki, role, flavour):
    p = Pair(rig, pki, role, version=flavour)
    p.tls.write(b"slowly")
    for byte in p.tls.take():
        p.tls.sock.sendall(bytes([byte]))
    assert ends.recv_exactly(p.plain, 6) == ends.digest(b"slowly")


def test_handshake_byte_by_byte(rig, pki, version):
    back = rig.add(servers.Echo())
    c = rig.dial_tls(rig.server(pki.ecdsa, back.target),
                     tlsend.context(versions=tlsend.VERSIONS[version]), handshake=False)
    flush = c.flush
    c.flush = lambda: [c.sock.sendall(bytes([b])) for b in c.take()]
    c.handshake()
    c.flush = flush
    c.send(b"hello")
    assert c.recv() == b"hello"


@pytest.mark.parametrize("size", [1, 7, 100])
def test_handshake_in_small_records(rig, pki, version, size):
    """A ClientHello in many records, all in one segment."""
    back = rig.add(servers.Echo())
    c = rig.dial_tls(rig.server(pki.ecdsa, back.target),
                     tlsend.context(versions=tlsend.VERSIONS[version]), handshake=False)
    with pytest.raises(ssl.SSLWantReadError):
        c.obj.do_handshake()
    hello = c.take()
    parts = [hello[i:i + size] for i in range(5, len(hello), size)]
    c.sock.sendall(b"".join(hello[:3] + len(p).to_bytes(2, "big") + p for p in parts))
    c.handshake()
    c.send(b"hello")
    assert c.recv() == b"hello"


def test_one_direction_does_not_stop_the_other(rig, pki, blob, role):
    """A reader that reads nothing stalls its own direction alone."""
    p = Pair(rig, pki, role, rcvbuf=ends.SMALL_BUFFER)
    stuck = ends.Task(p.tls.send, blob[:8 << 20])
    other = ends.Task(p.plain.send, blob[:4 << 20])
    assert ends.recv_exactly(p.tls, 4 << 20) == ends.digest(blob[:4 << 20])
    other.done()
    assert ends.recv_exactly(p.plain, 8 << 20) == ends.digest(blob[:8 << 20])
    stuck.done()


def test_key_update(rig, pki):
    """K asks for an answer, k does not; data flows both ways around them. GnuTLS
    takes eight in a second at the most."""
    back = rig.listener()
    c = rig.start(OpensslClient(rig.server(pki.ecdsa, back.target).target, pki.ca, "1.3", quiet=False))
    b, a = back.accept(), c.stream
    seen = b""
    for i in range(12):
        time.sleep(0.15)
        line = b"line %02d\n" % i
        a.send(b"Kk"[i % 2:i % 2 + 1] + b"\n")
        ends.wait_until(lambda: c.stderr().count("KEYUPDATE") == i + 1, "openssl to send KeyUpdate")
        a.send(line)
        assert ends.recv_exactly(b, len(line)) == ends.digest(line)
        b.send(b"answer %02d\n" % i)
        while b"answer %02d\n" % i not in seen:
            seen += a.recv()


# --- unclean ends ---------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 100, 1 << 16])
def test_truncation(rig, pki, small, role, flavour, size):
    """FIN without close_notify: all data, then a reset."""
    p = Pair(rig, pki, role, version=flavour)
    p.tls.send(small[:size])
    p.tls.fin()
    got, end = ends.recv_to_end(p.plain)
    ends.same(got, small[:size])
    assert end == "reset"
    p.tls.close()
    failed(p.line(), "truncated")
    p.tunnel.settled(p.idle_fds)


def test_truncation_within_a_record(rig, pki, role, flavour):
    p = Pair(rig, pki, role, version=flavour)
    p.tls.send(b"whole")
    p.tls.write(b"half of this one")
    p.tls.sock.sendall(p.tls.take()[:-5])
    p.tls.fin()
    assert ends.recv_to_end(p.plain) == (b"whole", "reset")
    failed(p.line(), "truncated")


def test_truncation_allowed(rig, pki, small, role, flavour):
    p = Pair(rig, pki, role, "--allow-truncation", version=flavour)
    p.tls.send(small[:1 << 16])
    p.tls.fin()
    got, end = ends.recv_to_end(p.plain)
    ends.same(got, small[:1 << 16])
    assert end == "eof"
    p.plain.send(b"reply")
    p.plain.shut()
    assert p.tls.recv() == b"reply"


def test_tls_peer_resets(rig, pki, role):
    p = Pair(rig, pki, role)
    p.tls.reset()
    assert ends.recv_to_end(p.plain)[1] == "reset"
    failed(p.line(), "reset")


def test_plain_peer_resets(rig, pki, role, flavour):
    """The TLS peer must not take what it has for all there was."""
    p = Pair(rig, pki, role, version=flavour)
    p.plain.send(b"some")
    assert p.tls.recv() == b"some"
    p.plain.reset()
    assert ends.recv_to_end(p.tls) in ((b"", "reset"), (b"", "alert"))
    p.tls.close()
    failed(p.line(), "reset")


@pytest.mark.parametrize("gone", ["plain", "tls"])
def test_reset_that_comes_with_data(rig, pki, role, flavour, gone):
    """Both are there when the tunnel looks: what there was arrives, and the end is not
    waited for."""
    p = Pair(rig, pki, role, version=flavour)
    mine, other = (p.plain, p.tls) if gone == "plain" else (p.tls, p.plain)
    mine.send(b"first")
    assert other.recv() == b"first"
    p.tunnel.signal(signal.SIGSTOP)
    mine.send(b"last")
    mine.reset()
    p.tunnel.signal(signal.SIGCONT)
    got, end = ends.recv_to_end(other)
    assert end in ("reset", "alert") and got in (b"last", b""), (got, end)
    failed(p.line(), "reset")


def fill(sock, data):
    """Sends until the other end takes no more."""
    sock.settimeout(0.3)
    with pytest.raises(TimeoutError):
        sock.sendall(data)
    sock.settimeout(ends.WAIT)


def test_reset_while_both_directions_are_full(rig, pki, blob, version):
    """Nobody reads, both directions stand still, one side goes: so does the tunnel,
    some seconds later. All cases at once, since each has to wait."""
    cases = [(Pair(rig, pki, role, version=version), gone)
             for role in ("server", "client") for gone in ("plain", "tls")]
    for p, _ in cases:
        p.tls.write(blob[:32 << 20])
        fill(p.tls.sock, p.tls.take())
        fill(p.plain.sock, blob[:32 << 20])
    for p, gone in cases:
        getattr(p, gone).reset()
    for p, _ in cases:
        assert p.line()["result"] == "error"
        p.tunnel.settled(p.idle_fds)


def test_spoilt_record(rig, pki, role, flavour):
    p = Pair(rig, pki, role, version=flavour)
    p.tls.send(b"good")
    p.tls.write(b"spoilt")
    data = bytearray(p.tls.take())
    data[-3] ^= 1
    p.tls.sock.sendall(data)
    assert ends.recv_to_end(p.plain) == (b"good", "reset")
    with pytest.raises(ssl.SSLError, match="(?i)bad.record.mac"):
        p.tls.recv()
    p.tls.close()
    assert p.line()["result"] == "error"


def test_backend_gone_while_client_sends(rig, pki, blob):
    p = Pair(rig, pki, "server")
    p.plain.close()
    start = time.monotonic()
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        while time.monotonic() < start + ends.WAIT:
            p.tls.send(blob[:1 << 16])
    assert p.line()["result"] == "error"
    p.tunnel.settled(p.idle_fds)


@pytest.mark.parametrize("args,reply", [((), "reset"), (("--allow-truncation",), "eof")])
def test_client_that_only_says_fin(rig, pki, args, reply):
    """A TLS client that ends its half by FIN still gets the answer that is
    already on its way, when truncation is allowed."""
    p = Pair(rig, pki, "server", *args)
    p.tls.send(b"question")
    assert p.plain.recv() == b"question"
    p.tls.fin()
    assert ends.recv_to_end(p.plain) == (b"", reply)
