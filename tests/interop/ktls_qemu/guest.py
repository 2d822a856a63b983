# SPDX-License-Identifier: GPL-3.0-or-later
"""In the machine that `run` starts: tunnels whose records are the kernel's."""

import fcntl
import json
import os
import re
import ssl
import subprocess
import termios
import time

import pytest

import ends
import servers
import tlsend
import tlskit
from peers import OpensslClient, OpensslServer

KTLS = ("--dataplane", "ktls")
V13 = tlsend.VERSIONS["1.3"]
SUITES = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256"]
LOAD = os.environ.get("LOAD")
MIB = 1 << 20


def stat():
    with open("/proc/net/tls_stat") as f:
        return {name: int(value) for name, value in (line.split() for line in f)}


def kernel_release():
    return tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", os.uname().release).groups())


REKEYS = kernel_release() >= (6, 14)


@pytest.fixture(autouse=True)
def by_the_kernel(request):
    """Each test opens connections whose records the kernel has, and no record of
    theirs failed unless the test is about that."""
    before = stat()
    yield
    after = stat()
    if "ten_thousand" in request.node.name:
        return
    assert after["TlsTxSw"] > before["TlsTxSw"] and after["TlsRxSw"] > before["TlsRxSw"], (before, after)
    if "broken_record" not in request.node.name:
        assert after["TlsDecryptError"] == before["TlsDecryptError"], (before, after)


class Two:
    """A tunnel in each role with the kernel's records between them: `near` and `far`
    are the plain ends."""

    def __init__(self, rig, pki, *args):
        self.rig = rig
        self.back = rig.listener()
        self.server = rig.server(pki.ecdsa, self.back.target, *KTLS, *args)
        self.client = rig.client(self.server.port, "--ca", pki.ca, *KTLS, *args)

    def open(self):
        self.near = self.rig.dial(self.client)
        self.near.send(b"!")
        self.far = self.back.accept()
        assert self.far.recv(1) == b"!"
        return self

    def lines(self, n=1):
        got = [t.closes(n)[n - 1] for t in (self.client, self.server)]
        for line in got:
            assert line["dataplane"] == "ktls", line
        return got


def finish(a, b):
    a.shut()
    assert b.recv() == b""
    b.shut()
    assert a.recv() == b""


def well(lines, up, down):
    for line in lines:
        assert line["result"] == "ok" and (line["to_target_bytes"], line["to_peer_bytes"]) == (up, down), line


def failed(line, word):
    assert line["result"] == "error" and re.search(word, line["reason"]), line


def in_pipes(process):
    """Bytes that wait in a process's pipes."""
    total, seen = 0, set()
    for fd in os.listdir(f"/proc/{process.proc.pid}/fd"):
        path = f"/proc/{process.proc.pid}/fd/{fd}"
        try:
            name = os.readlink(path)
            if not name.startswith("pipe:") or name in seen:
                continue
            seen.add(name)
            own = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        total += int.from_bytes(fcntl.ioctl(own, termios.FIONREAD, bytes(4)), "little")
        os.close(own)
    return total


@pytest.mark.parametrize("suite", SUITES)
def test_suite(rig, pki, suite):
    two = Two(rig, pki, "--ciphersuite", suite).open()
    up, down = os.urandom(16 * MIB), os.urandom(16 * MIB)
    start = time.monotonic()
    ends.exchange(two.near, two.far, up, down)
    finish(two.near, two.far)
    lines = two.lines()
    well(lines, len(up) + 1, len(down))
    assert lines[0]["ciphersuite"] == suite
    print(f"16 MiB each way in {time.monotonic() - start:.1f} s")


def test_200_mb_each_way(rig, pki):
    """Sent twice over: SHA-256 at both ends."""
    two = Two(rig, pki).open()
    part = os.urandom(50 * 1000 * 1000)
    for _ in range(4):
        ends.exchange(two.near, two.far, part, part[::-1])
    finish(two.near, two.far)
    well(two.lines(), 4 * len(part) + 1, 4 * len(part))
    print(f"{stat()}")


def test_small_pieces(rig, pki):
    two = Two(rig, pki).open()
    for n in [*range(1, 60), 1400, 16383, 16384, 16385, 70000]:
        data = os.urandom(n)
        for a, b in ((two.near, two.far), (two.far, two.near)):
            a.send(data)
            assert ends.recv_exactly(b, n) == ends.digest(data)
    finish(two.near, two.far)
    two.lines()


@pytest.mark.parametrize("first", ["near", "far"])
def test_half_close(rig, pki, first):
    """One side ends, the other goes on for long."""
    two = Two(rig, pki).open()
    a, b = (two.near, two.far) if first == "near" else (two.far, two.near)
    a.send(b"last words")
    a.shut()
    assert ends.recv_all(b) == b"last words"
    data = os.urandom(8 * MIB)
    t = ends.Task(lambda: (b.send(data), b.shut()))
    ends.same(ends.recv_all(a), data)
    t.done()
    two.lines()


def test_a_sink_that_waits(rig, pki):
    """Back-pressure: what waits in the kernel's pipes is not lost."""
    two = Two(rig, pki).open()
    data = os.urandom(24 * MIB)
    t = ends.Task(lambda: (two.near.send(data), two.near.shut()))
    # and it does wait there: splice(2) moves the bytes
    ends.wait_until(lambda: in_pipes(two.client) > 0 and in_pipes(two.server) > 0, "bytes in both tunnels' pipes")
    print(f"in kernel pipes: {in_pipes(two.client)} and {in_pipes(two.server)} bytes")
    ends.same(ends.recv_all(two.far), data)
    t.done()
    assert in_pipes(two.client) == in_pipes(two.server) == 0
    two.far.shut()
    assert two.near.recv() == b""
    well(two.lines(), len(data) + 1, 0)


def test_tls_on_both_sides(rig, pki):
    """From kernel to kernel: one tunnel has TLS to the left and to the right."""
    back = rig.listener()
    last = rig.server(pki.ecdsa, back.target, *KTLS)
    middle = rig.server(pki.ecdsa, f"tls:localhost:{last.port}", "--ca", pki.ca, *KTLS)
    first = rig.client(middle.port, "--ca", pki.ca, *KTLS)
    a, b = rig.dial(first), back.accept()
    data = os.urandom(8 * MIB)
    ends.exchange(a, b, data, data[::-1])
    finish(a, b)
    for t in (first, middle, last):
        assert t.close_line()["dataplane"] == "ktls", t.close_line()
        well([t.close_line()], len(data), len(data))


def test_stdio(rig, pki):
    """A pair of Unix sockets is the plain side."""
    port = rig.add(servers.TlsEcho(tlsend.context(server=True, cred=pki.ecdsa, versions=V13))).addr[1]
    data = os.urandom(4 * MIB)
    r = tlskit.Once("tunnel", "-", f"tls:localhost:{port}", "--ca", pki.ca, *KTLS, "--log", "json", stdin=data)
    assert r.code == 0, r.err
    ends.same(r.out, data)
    assert json.loads(r.err.splitlines()[-1])["dataplane"] == "ktls", r.err


def test_idle_connections_hold_no_pipe(rig, pki):
    two = Two(rig, pki)
    before = two.server.fds()
    pairs = []
    for _ in range(20):
        two.open()
        pairs.append((two.near, two.far))
    for a, b in pairs:
        a.send(b"x" * 100000)
        assert ends.recv_exactly(b, 100000) == ends.digest(b"x" * 100000)
    ends.wait_until(lambda: two.server.fds() <= before + 40 + 8, f"{two.server.fds()} descriptors for 20 connections")
    for a, b in pairs:
        finish(a, b)
    assert len(two.server.closes(20)) == 20


def test_resumption(rig, pki):
    two = Two(rig, pki)
    for i in range(3):
        two.open()
        two.far.send(b"an answer")
        assert two.near.recv() == b"an answer"
        finish(two.near, two.far)
        two.lines(i + 1)
    for t in (two.client, two.server):
        assert [l["resumed"] for l in t.events("close")] == [False, True, True]


@pytest.mark.parametrize("suite", SUITES[:3])
def test_openssl_client(rig, pki, suite):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, *KTLS)
    c = rig.start(OpensslClient(t.target, pki.ca, "1.3", "-ciphersuites", suite))
    b = back.accept()
    data = os.urandom(4 * MIB)
    ends.exchange(c.stream, b, data, data)
    b.shut()
    assert c.stream.recv() == b""
    c.stream.close()
    line = t.close_line()
    assert line["dataplane"] == "ktls" and line["ciphersuite"] == suite, line


def test_openssl_server(rig, pki):
    s = rig.start(OpensslServer(pki.ecdsa, "1.3"))
    t = rig.client(s.port, "--ca", pki.ca, *KTLS)
    a = rig.dial(t)
    data = os.urandom(4 * MIB)
    ends.exchange(a, s.stream, data, data)
    a.shut()
    s.stream.shut()
    assert a.recv() == b""
    assert t.close_line()["dataplane"] == "ktls", t.close_line()


@pytest.mark.parametrize("command", ["k", "K"])
def test_key_update_of_openssl(rig, pki, command):
    """K asks for ours, too. Where the kernel takes another key everything goes on;
    where it does not the connection ends, with the reason in the line."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, *KTLS)
    c = rig.start(OpensslClient(t.target, pki.ca, "1.3", quiet=False))
    b = back.accept()
    c.stream.send(b"before\n")
    assert b.recv() == b"before\n"
    c.stream.send(command.encode() + b"\n")
    if REKEYS:
        c.stream.send(b"after\n")
        assert b.recv() == b"after\n"
        b.send(b"and back\n")
        ends.wait_until(lambda: b"and back\n" in c.stream.recv(), "the answer")
        finish(c.stream, b)
        assert t.close_line()["result"] == "ok"
    else:
        assert ends.recv_to_end(b)[1] == "reset"
        failed(t.close_line(), "KeyUpdate.*kernel")
    print(t.close_line()["reason"])
    assert t.close_line()["dataplane"] == "ktls"


def opened(rig, pki, *args):
    """A tunnel in the server's role with data behind it: (tunnel, TLS end, plain end)."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, *KTLS, *args)
    a = rig.dial_tls(t, tlsend.context(ca=pki.ca, versions=V13))
    b = back.accept()
    ends.exchange(a, b, b"ping", b"pong")
    return t, a, b


def test_truncation_by_a_killed_peer(rig, pki):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, *KTLS)
    c = rig.start(OpensslClient(t.target, pki.ca, "1.3"))
    b = back.accept()
    c.stream.send(b"half of it\n")
    assert b.recv() == b"half of it\n"
    c.proc.kill()
    assert ends.recv_to_end(b) == (b"", "reset")
    failed(t.close_line(), "truncated|broke")
    print(t.close_line()["reason"])


def test_truncation_between_records(rig, pki):
    t, a, b = opened(rig, pki)
    a.sock.shutdown(1)
    assert ends.recv_to_end(b) == (b"", "reset")
    failed(t.close_line(), "truncated: the peer closed without close_notify")


def test_truncation_inside_a_record(rig, pki):
    t, a, b = opened(rig, pki)
    a.write(b"x" * 5000)
    a.sock.sendall(a.take()[:-1])
    a.sock.shutdown(1)
    assert ends.recv_to_end(b) == (b"", "reset")
    failed(t.close_line(), "inside a record")


def test_broken_record(rig, pki):
    """It is answered with bad_record_mac, and what came before it arrives."""
    t, a, b = opened(rig, pki)
    a.write(b"good")
    good = a.take()
    a.write(b"bad!")
    bad = bytearray(a.take())
    bad[-1] ^= 1
    a.sock.sendall(good + bad)
    data, how = ends.recv_to_end(b)
    assert (data, how) == (b"good", "reset")
    with pytest.raises(ssl.SSLError, match="(?i)bad.record.mac"):
        a.recv()
    failed(t.close_line(), "bad_record_mac")


def test_broken_record_header(rig, pki):
    t, a, b = opened(rig, pki)
    a.sock.sendall(b"\x17\x03\x03\xff\xff" + b"x" * 1000)
    assert ends.recv_to_end(b)[1] == "reset"
    with pytest.raises(ssl.SSLError, match="(?i)record.overflow"):
        a.recv()
    failed(t.close_line(), "size limit")


def test_reset_of_the_peer(rig, pki):
    t, a, b = opened(rig, pki)
    ends.reset(a.sock)
    assert ends.recv_to_end(b) == (b"", "reset")
    failed(t.close_line(), "reset|broke")


def test_reset_of_the_target(rig, pki):
    """The peer gets a fatal alert."""
    t, a, b = opened(rig, pki)
    b.reset()
    with pytest.raises(ssl.SSLError, match="(?i)internal.error"):
        a.recv()
    failed(t.close_line(), "broke|reset")


def test_many_connections(rig, pki):
    """200 at a time, with data both ways, through 2 threads."""
    two = Two(rig, pki, "--threads", "2")
    pairs = []
    for _ in range(200):
        two.open()
        pairs.append((two.near, two.far))
    data = os.urandom(100000)
    for a, b in pairs:
        a.send(data)
        b.send(data)
    for a, b in pairs:
        assert ends.recv_exactly(b, len(data)) == ends.digest(data)
        assert ends.recv_exactly(a, len(data)) == ends.digest(data)
    for a, b in pairs:
        finish(a, b)
    for line in two.client.closes(200):
        assert line["dataplane"] == "ktls" and line["result"] == "ok", line


# --- 10,000 at a time ------------------------------------------------------------------


class Load:
    """The load program of tests/perf in one role; commands and answers are lines."""

    def __init__(self, *args):
        self.p = subprocess.Popen([LOAD, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, command):
        self.p.stdin.write(command + "\n")
        self.p.stdin.flush()
        return self.answer()

    def answer(self):
        return json.loads(self.p.stdout.readline())

    def end(self):
        self.p.stdin.close()
        self.p.wait()


def status(pid, name):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(name + ":"))


@pytest.mark.parametrize("plane", ["direct", "ktls"])
def test_ten_thousand_idle_connections(rig, pki, plane, capsys):
    """Held by one process that is a TLS server, each with a connection to an echo
    behind it: 20,000 descriptors. Then a byte there and back on every one."""
    conns = 10000
    echo = Load("echo-server", "--listen", 0)
    port = echo.answer()["listening"]
    t = rig.server(pki.ecdsa, f"127.0.0.1:{port}", "--dataplane", plane, "--handshake-timeout", "10m", "--connect-timeout", "10m",
                   "--threads", "1", "--tickets", "0")
    hold = Load("hold", "--connect", t.port, "--conns", conns, "--tls", "--ca", pki.ca)
    idle = status(t.proc.pid, "VmRSS")
    for n in range(1000, conns + 1, 1000):
        got = {"held": 0, "lost": 0}
        for _ in range(60):  # it answers, too, when nothing went forward for 10 s
            if got["held"] < n and not got["lost"]:
                got = hold.ask(f"grow {n}")
        with capsys.disabled():
            print(f"\n{got} VmRSS {status(t.proc.pid, 'VmRSS')} KiB, {t.fds()} descriptors", end="", flush=True)
        assert got["held"] == n and got["lost"] == 0, got
    rss = status(t.proc.pid, "VmRSS")
    assert t.fds() >= 2 * conns
    got = hold.ask("ping")
    assert got["alive"] == conns and got["lost"] == 0, got
    print(f"{plane}: {conns} held, VmRSS {idle} -> {rss} KiB: {(rss - idle) * 1024 // conns} bytes a connection; "
          f"all {got['alive']} alive", flush=True)
    hold.end()
    echo.end()
