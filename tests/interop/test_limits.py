# SPDX-License-Identifier: GPL-3.0-or-later
"""Time, descriptors and connections run out."""

import re
import resource
import ssl
import time

import pytest

import ends
import servers
import tlsend
from tlskit import SLOW, took

HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def many_files(n):
    return pytest.mark.skipif(HARD < n, reason=f"the hard limit of descriptors is {HARD}, {n} are needed")


def talk(a, b):
    ends.exchange(a, b, b"ping", b"pong")


# --- time -----------------------------------------------------------------------


@pytest.mark.parametrize("role", ["server", "client"])
def test_idle_timeout(rig, pki, role):
    back = rig.listener()
    if role == "server":
        t = rig.server(pki.ecdsa, back.target, "--idle-timeout", "700ms")
        fds = t.fds()
        a = rig.dial_tls(t)
        b = back.accept()
    else:
        t = rig.client(back.addr[1], "--ca", pki.ca, "--idle-timeout", "700ms")
        fds = t.fds()
        a = rig.dial(t)
        b = back.accept_tls(tlsend.context(server=True, cred=pki.ecdsa))
    for _ in range(4):  # data in either direction starts it again
        time.sleep(0.3)
        b.send(b"x")
        assert a.recv() == b"x"
    start = time.monotonic()
    assert ends.recv_to_end(a)[1] in ("reset", "alert")
    took(start, 0.3, 2)
    a.close()
    b.close()
    line = t.close_line()
    assert (line["result"], line["stage"]) == ("error", "flow") and "idle" in line["reason"], line
    t.settled(fds)


def test_trickle_is_not_idle(rig, pki):
    """Each piece of a slow reply starts the idle timer again."""
    back = rig.add(servers.Trickle([b"piece"] * 8, 0.25))
    a = rig.dial_tls(rig.server(pki.ecdsa, back.target, "--idle-timeout", "1s"))
    a.send(b"go")
    a.shut()
    assert ends.recv_all(a) == b"piece" * 8


@pytest.mark.parametrize("what", ["silent", "dripping"])
def test_handshake_timeout(rig, pki, what):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--handshake-timeout", "800ms")
    fds = t.fds()
    c = rig.dial_tls(t, handshake=False)
    with pytest.raises(ssl.SSLWantReadError):
        c.obj.do_handshake()
    hello = c.take()
    start = time.monotonic()
    task = ends.Task(drip, c.sock, hello) if what == "dripping" else None
    ends.recv_to_end(ends.Sock(c.sock))
    took(start, 0.5, 2)
    line = t.close_line()
    assert (line["stage"], line["result"]) == ("handshake", "error") and "timed out" in line["reason"], line
    assert not back.was_called()
    if task:
        task.done()
    c.close()
    t.settled(fds)


def drip(sock, data):
    """A byte every 50 ms, until the other end has had enough."""
    try:
        for byte in data[:60]:
            sock.sendall(bytes([byte]))
            time.sleep(0.05)
    except OSError:
        pass


def test_target_handshake_timeout(rig):
    back = rig.listener()
    t = rig.client(back.addr[1], "--insecure-no-verify", "--handshake-timeout", "500ms")
    start = time.monotonic()
    assert ends.recv_to_end(rig.dial(t)) == (b"", "reset")
    took(start, 0.4, 2)
    line = t.close_line()
    assert line["stage"] == "target-handshake" and "timed out" in line["reason"], line


@pytest.mark.parametrize("role", ["server", "client"])
def test_connect_timeout(rig, pki, role):
    """The backend drops packets: closed at the limit, descriptors freed."""
    hole = rig.add(servers.BlackHole())
    options = ["--connect-timeout", "700ms"]
    t = rig.server(pki.ecdsa, hole.target, *options) if role == "server" else \
        rig.tlskit("127.0.0.1:0", "tls:" + hole.target, "--insecure-no-verify", *options)
    fds = t.fds()
    start = time.monotonic()
    conns = [rig.dial_tls(t) if role == "server" else rig.dial(t) for _ in range(5)]
    for c in conns:
        assert fatal(c)
    took(start, 0.6, 3)
    for c in conns:
        c.close()
    for line in t.closes(5):
        assert line["stage"] == "connect" and re.search("timed out|no answer", line["reason"]), line
    t.settled(fds)


def fatal(stream):
    """The stream ends by an alert or a reset, not cleanly."""
    return ends.recv_to_end(stream) in ((b"", "reset"), (b"", "alert"))


@pytest.mark.parametrize("role", ["server", "client"])
def test_refused(rig, pki, role):
    gone = rig.add(servers.Refuser())
    if role == "server":
        t = rig.server(pki.ecdsa, gone.target)
        assert fatal(rig.dial_tls(t))
    else:
        t = rig.tlskit("127.0.0.1:0", "tls:" + gone.target, "--insecure-no-verify")
        assert fatal(rig.dial(t))
    rig.streams[-1].close()
    line = t.close_line()
    assert line["stage"] == "connect" and "refused" in line["reason"].lower(), line
    assert line["target"] == gone.target, line


def test_names_that_do_not_resolve(rig, pki):
    """The tunnel listens all the same and says why a connection failed."""
    t = rig.server(pki.ecdsa, "backend.invalid:80")
    assert fatal(rig.dial_tls(t))
    rig.streams[-1].close()
    line = t.close_line()
    assert line["stage"] == "connect" and "backend.invalid" in line["target"] + line["reason"], line


# --- descriptors and connections ----------------------------------------------


def test_max_conns(rig, pki):
    """Connections above the limit wait, and get their turn."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--max-conns", "4")
    first = [(rig.dial_tls(t), back.accept()) for _ in range(4)]
    waiting = [ends.Task(rig.dial_tls, t) for _ in range(3)]
    before = t.cpu()
    time.sleep(0.5)
    assert t.cpu() - before < 0.05 * SLOW
    assert all(w.is_alive() for w in waiting) and not back.was_called()
    for a, b in first:
        talk(a, b)
    for a, b in first[:3]:
        a.shut()
        b.close()
        a.close()
    for w in waiting:
        w.done().send(b"x")
    for _ in waiting:
        assert back.accept().recv() == b"x"
    assert len([e for e in t.events() if e["level"] == "warn" and e["event"] != "close"]) <= 1


def test_small_descriptor_limit(rig, pki):
    """The number of connections follows from the limit; the rest waits."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--threads", "1", files=(40, 40))
    socks = [rig.dial(t) for _ in range(60)]
    before = t.cpu()
    time.sleep(1)
    assert t.cpu() - before < 0.05 * SLOW
    assert t.fds() <= 40
    for s in socks:
        s.close()
    works_again(rig, t, back)


def works_again(rig, t, back):
    a = rig.dial_tls(t)
    a.send(b"once more")
    while back.accept().recv() != b"once more":
        pass


def test_descriptors_run_out(rig, pki):
    """EMFILE at accept: no busy loop, and recovery by itself."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target)
    a = rig.dial_tls(t)
    b = back.accept()
    soft, hard = resource.prlimit(t.proc.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(t.proc.pid, resource.RLIMIT_NOFILE, (t.fds(), hard))
    waiting = ends.Task(rig.dial_tls, t)
    for _ in range(5):
        rig.dial(t)
    time.sleep(0.2)
    before = t.cpu()
    time.sleep(2)
    assert t.cpu() - before < 0.1 * SLOW, "more than 5 % CPU"
    talk(a, b)
    resource.prlimit(t.proc.pid, resource.RLIMIT_NOFILE, (soft, hard))
    talk(waiting.done(), back.accept())
    assert len(t.stderr().splitlines()) < 40, "a line for each failed accept"


def test_descriptors_run_out_at_the_backend(rig, pki):
    """One descriptor is left: the accept works, the connect has none."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--threads", "1", "--handshake-timeout", "2s", "--connect-timeout", "2s")
    fds = t.fds()
    soft, hard = resource.prlimit(t.proc.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(t.proc.pid, resource.RLIMIT_NOFILE, (fds + 1, hard))
    before = t.cpu()
    c = rig.dial(t)
    time.sleep(0.5)
    assert t.cpu() - before < 0.05 * SLOW
    c.close()
    resource.prlimit(t.proc.pid, resource.RLIMIT_NOFILE, (soft, hard))
    works_again(rig, t, back)
    for s in rig.streams:
        s.close()
    for s in back.conns:
        s.close()
    t.settled(fds)


@many_files(4096)
def test_600_connections_with_a_soft_limit_of_1024(rig, pki):
    back = rig.listener(backlog=1024)
    t = rig.server(pki.ecdsa, back.target, files=(1024, HARD))
    fds = t.fds()
    ctx = tlsend.context()
    pairs = []
    for _ in range(600):
        a = rig.dial_tls(t, ctx)
        pairs.append((a, back.accept()))
    for a, b in pairs:
        a.send(b"x")
        assert b.recv() == b"x"
    for a, b in pairs:
        a.close()
        b.close()
    t.settled(fds)


@many_files(4096)
def test_thousand_half_open_handshakes(rig, pki):
    """They and their junk do not delay a good client."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--handshake-timeout", "3s")
    fds = t.fds()
    idle = [rig.dial(t) for _ in range(1000)]
    for i, s in enumerate(idle):
        if i % 2:
            s.send(b"\x16\x03\x01\x02\x00\x01")
    start = time.monotonic()
    a = rig.dial_tls(t)
    talk(a, back.accept())
    took(start, 0, 2)
    for s in idle:
        s.close()
    a.close()
    back.conns[0].close()
    t.settled(fds)
    assert not back.was_called()


@pytest.mark.parametrize("threads", [1, 8])
def test_threads(rig, pki, small, threads):
    back = rig.add(servers.Echo())
    t = rig.server(pki.ecdsa, back.target, "--threads", threads)
    fds = t.fds()

    def one():
        a = rig.dial_tls(t)
        task = ends.Task(lambda: (a.send(small[:1 << 18]), a.shut()))
        ends.same(ends.recv_all(a), small[:1 << 18])
        task.done()
        a.close()

    for task in [ends.Task(one) for _ in range(24)]:
        task.done()
    assert all(line["result"] == "ok" for line in t.closes(24))
    t.settled(fds)
