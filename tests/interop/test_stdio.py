# SPDX-License-Identifier: GPL-3.0-or-later
"""stdin and stdout as one end of a tunnel, and unix sockets as either."""

import os
import ssl
import subprocess

import pytest

import ends
import servers
import tlsend
import tlskit
from tlskit import Once, TlskitPipe

HEX = "00112233445566778899aabbccddeeff"


@pytest.fixture
def echo(rig, pki):
    """The TLS port of one tunnel in front of an echo, and the other's options."""
    t = rig.server(pki.ecdsa, rig.add(servers.Echo()).target)
    return f"tls:localhost:{t.port}", ["--ca", pki.ca]


def test_pipes(rig, blob, echo):
    p = rig.start(TlskitPipe("-", echo[0], *echo[1]))
    task = ends.Task(lambda: (p.stream.send(blob), p.stream.shut()))
    ends.same(ends.recv_all(p.stream), blob)
    task.done()
    assert p.finish() == 0


def test_files(rig, pki, blob, echo, tmp_path):
    """epoll takes no regular files; they work all the same."""
    source, sink = tmp_path / "in", tmp_path / "out"
    source.write_bytes(blob)
    with open(source, "rb") as i, open(sink, "wb") as o:
        r = subprocess.run([tlskit.TLSKIT, "tunnel", "-", echo[0], *echo[1]], stdin=i, stdout=o, timeout=50,
                           stderr=subprocess.PIPE)
    assert r.returncode == 0, r.stderr
    ends.same(sink.read_bytes(), blob)


@pytest.mark.parametrize("size", [0, 1, 100000])
def test_null_and_short_input(echo, size):
    data = bytes(size)
    r = Once("tunnel", "-", echo[0], *echo[1], stdin=data)
    assert r.code == 0 and r.out == data, r


def test_reply_after_the_end_of_stdin(rig, pki):
    back = rig.add(servers.Trickle([b"late "] * 3, 0.3))
    t = rig.server(pki.ecdsa, back.target)
    r = Once("tunnel", "-", f"tls:localhost:{t.port}", "--ca", pki.ca, stdin=b"question")
    assert r.code == 0 and r.out == b"late " * 3, r
    assert back.results() == [b"question"]


def test_peer_ends_while_stdin_stays_open(rig, pki):
    """ssh's ProxyCommand: the end of the other side ends the program."""
    t = rig.server(pki.ecdsa, rig.add(servers.Source(b"bye")).target)
    p = rig.start(TlskitPipe("-", f"tls:localhost:{t.port}", "--ca", pki.ca))
    assert ends.recv_all(p.stream) == b"bye"
    p.stream.shut()
    assert p.finish() == 0


def test_stdout_closed_early(rig, pki, blob):
    """Like `| head`: ends, and not by hanging."""
    t = rig.server(pki.ecdsa, rig.add(servers.Source(blob)).target)
    p = rig.start(TlskitPipe("-", f"tls:localhost:{t.port}", "--ca", pki.ca))
    p.expect = (1, -13)
    assert p.stream.recv(10)
    p.proc.stdout.close()
    p.finish()


@pytest.mark.parametrize("args,code", [(["--insecure-no-verify"], 0), ([], 3), (["--pin", "rsa"], 3)])
def test_peer_not_authenticated(pki, echo, args, code):
    args = [pki.rsa.pin if a == "rsa" else a for a in args]
    r = Once("tunnel", "-", echo[0], *args, stdin=b"secret")
    assert r.code == code and r.out == (b"" if code else b"secret"), r
    assert not code or r.err, r


def test_wrong_psk(rig, tmp_path):
    (tmp_path / "good").write_text(f"ann:{HEX}\n")
    (tmp_path / "bad").write_text(f"ann:{HEX[::-1]}\n")
    t = rig.tlskit("tls:127.0.0.1:0", rig.add(servers.Echo()).target, "--psk-file", tmp_path / "good")
    for name, code in ("good", 0), ("bad", 3):
        r = Once("tunnel", "-", f"tls:127.0.0.1:{t.port}", "--psk-file", tmp_path / name, stdin=b"secret")
        assert r.code == code, r


def test_connect_fails(rig):
    r = Once("tunnel", "-", "tls:" + rig.add(servers.Refuser()).target, "--insecure-no-verify", stdin=b"x")
    assert r.code == 1 and "refused" in r.err.lower(), r


def test_truncated(rig, pki):
    """Without close_notify the exit code says so, and the data is there."""
    back = rig.listener()
    p = rig.start(TlskitPipe("-", f"tls:localhost:{back.addr[1]}", "--ca", pki.ca))
    p.expect = (1,)
    c = back.accept_tls(tlsend.context(server=True, cred=pki.ecdsa))
    c.send(b"part of it")
    c.fin()
    assert ends.recv_all(p.stream) == b"part of it"
    p.stream.shut()
    assert p.finish() == 1
    assert "truncated" in p.stderr()


def test_stdio_behind_a_tls_listener(rig, pki):
    """`tlskit tunnel tls:… -`: one connection, its data on stdout."""
    p = rig.start(TlskitPipe("tls:unix:@tlskit-test-%d" % os.getpid(), "-", "--cert", pki.ecdsa.cert,
                             "--key", pki.ecdsa.key))
    name = "@tlskit-test-%d" % os.getpid()
    a = ends.wait_until(lambda: dialled(rig, name), "it to listen")
    a.send(b"to stdout")
    got = b""
    while b"to stdout" not in got:
        got += p.stream.recv()
    assert got.endswith(b"to stdout")
    p.stream.send(b"from stdin")
    assert a.recv() == b"from stdin"
    p.stream.shut()
    assert a.recv() == b""
    a.shut()
    a.close()
    assert p.finish() == 0


def dialled(rig, name):
    try:
        return rig.dial_tls(name)
    except ConnectionRefusedError:
        return None


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_unix_sockets(rig, pki, blob, tmp_path, kind):
    """plain unix → TLS unix → plain unix, 64 MiB each way."""
    names = [str(tmp_path / n) if kind == "path" else f"@{tmp_path}/{n}" for n in ("back", "middle", "front")]
    back = rig.listener(unix=names[0])
    rig.server_on = rig.tlskit("tls:unix:" + names[1], "unix:" + names[0], "--cert", pki.ecdsa.cert,
                               "--key", pki.ecdsa.key)
    t = rig.tlskit("unix:" + names[2], "tls:unix:" + names[1], "--ca", pki.ca, "--verify-name", "localhost")
    assert t.where[0] == "unix:" + names[2]
    a = rig.dial(names[2])
    b = back.accept()
    ends.exchange(a, b, blob, blob)
    a.shut()
    assert b.recv() == b""
    b.shut()
    assert a.recv() == b""
    a.close()
    assert t.close_line()["target"] == "unix:" + names[1]


def test_unix_backend_missing(rig, pki, tmp_path):
    t = rig.server(pki.ecdsa, f"unix:{tmp_path}/nobody")
    a = rig.dial_tls(t)
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        assert a.recv() != b""
    a.close()
    assert t.close_line()["stage"] == "connect"


def test_stdin_is_not_made_non_blocking(rig, echo):
    """O_NONBLOCK would spread to every process that shares the pipe."""
    r, w = os.pipe()
    p = subprocess.Popen([tlskit.TLSKIT, "tunnel", "-", echo[0], *echo[1]], stdin=r, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    try:
        os.write(w, b"hello")
        assert p.stdout.read(5) == b"hello"
        assert os.get_blocking(r)
        os.close(w)
        assert p.wait(ends.WAIT) == 0
    finally:
        p.kill()
        p.communicate()
        os.close(r)
