# SPDX-License-Identifier: GPL-3.0-or-later
"""`tlskit connect` as something to talk through: standard input to the peer, the peer to
standard output, byte for byte, and the end of either."""

import re
import signal
import ssl
import subprocess
import time

import pytest

import ends
import hostiles
import tlsend
import tlskit
from connects import Run, Talker, together
from hostiles import TlsAct, all_of
from peers import GnutlsServ, OpensslServer

MANY = 10 << 20


@pytest.fixture(params=["1.2", "1.3"])
def version(request):
    return request.param


@pytest.fixture
def server(rig, pki):
    """A function: server(act, version) is one whose act gets the TLS end; and what
    connect needs to talk to it."""
    def make(act=all_of, version=None, **kw):
        ctx = tlsend.context(server=True, cred=pki.ecdsa, versions=version and tlsend.VERSIONS[version], **kw)
        s = rig.add(TlsAct(ctx, act))
        s.args = ("--ca", pki.ca, s.target)
        return s
    return make


def echo(t):
    while data := t.recv():
        t.send(data)
    t.shut()


def good(r, out):
    """Ended well, said this and nothing on stderr."""
    assert (r.code, r.err) == (0, ""), r
    ends.same(r.out, out)


# --- what goes in and comes out ----------------------------------------------------


def test_reply_long_after_the_end_of_input(server, version):
    """openssl 25311; the peer is told of the end, and its answer is waited for."""
    def act(t):
        got = ends.recv_all(t)
        for piece in b"late ", b"but ", b"whole":
            time.sleep(0.4)
            t.send(piece)
        t.shut()
        return got
    s = server(act, version)
    r = Run(*s.args, stdin=b"question\n")
    good(r, b"late but whole")
    assert s.results() == [b"question\n"] and r.spent_s > 1.1
    r.idle()


@pytest.mark.parametrize("data", [b"", b"\0", b"\n", b"no newline", bytes(range(256)) * 300], ids=len)
def test_binary(server, version, data):
    s = server(echo, version)
    good(Run(*s.args, stdin=data), data)


CRLF = [
    (b"a\nb\n", b"a\r\nb\r\n"),
    (b"a\r\nb\n", b"a\r\nb\r\n"),
    (b"\n\n\r\n", b"\r\n\r\n\r\n"),
    (b"\0\n\0\xff\r\0\n", b"\0\r\n\0\xff\r\0\r\n"),
    (b"a\rb\r\r\nc", b"a\rb\r\r\nc"),
    (b"x" * 16383 + b"\n" + b"y" * 65535 + b"\n", b"x" * 16383 + b"\r\n" + b"y" * 65535 + b"\r\n"),
    (b"\n" * 100000, b"\r\n" * 100000),
]


def test_crlf(server):
    """Each line ends in exactly CR LF, and nothing else changes."""
    def one(given, sent):
        s = server()
        good(Run("--crlf", *s.args, stdin=given), b"")
        ends.same(s.results()[0], sent)
    together({f"{i}": lambda c=c: one(*c) for i, c in enumerate(CRLF)})


def test_crlf_in_pieces(rig, server):
    """CR and LF in two writes are one line's end; and what comes back is as it was sent."""
    s = server(lambda t: (t.recv(), t.send(b"as\nit\nis\n"), all_of(t)))
    t = rig.start(Talker("--crlf", *s.args))
    t.stream.send(b"a\n")
    t.until(b"is\n")
    for piece in b"b\r", b"\nc\r", b"\r", b"\n", b"\n":
        t.stream.send(piece)
        time.sleep(0.05)
    t.over()
    assert s.results()[0][2] == b"b\r\nc\r\r\n\r\n"


@pytest.mark.parametrize("more", [(), ("--crlf",)], ids=["as it is", "crlf"])
def test_no_command_letters(server, more):
    """Lines that openssl s_client would act on (PHPMailer 845)."""
    lines = [l + "\n" for c in "RKQkBPDSr" for l in (c, c + "CPT TO:<a@b.test>", c + " ")]
    lines += ["~.\n", "^renegotiate^\n", "\x03\x04\x1b\n", "\\\n"]
    data = "".join(lines).encode()
    s = server()
    good(Run(*more, *s.args, stdin=data), b"")
    assert s.results() == [data.replace(b"\n", b"\r\n") if more else data]


def test_dialogue(rig, server, version):
    """Each line is there at once, whatever waits."""
    s = server(echo, version)
    t = rig.start(Talker(*s.args))
    for i in range(20):
        assert t.ask(b"line %d\n" % i, b"\n") == b"line %d\n" % i
    assert t.over() == b""


def test_much_from_the_server(server, version, blob):
    s = server(lambda t: (t.send(blob[:MANY]), all_of(t)), version)
    good(Run(*s.args), blob[:MANY])


def test_much_there_and_back(server, version, blob):
    """An echo that stops reading while nobody reads it must not stop it all."""
    s = server(echo, version)
    good(Run(*s.args, stdin=blob[:MANY]), blob[:MANY])


def test_files(server, blob, tmp_path):
    source, sink = tmp_path / "in", tmp_path / "out"
    source.write_bytes(blob[:MANY])
    with open(source, "rb") as i, open(sink, "wb") as o:
        r = subprocess.run([tlskit.TLSKIT, "connect", *server(echo).args], stdin=i, stdout=o, stderr=subprocess.PIPE,
                           timeout=50)
    assert (r.returncode, r.stderr) == (0, b"")
    ends.same(sink.read_bytes(), blob[:MANY])


def test_a_slow_reader(rig, server, blob):
    """Back-pressure reaches the server, and all of it arrives in the end."""
    s = server(lambda t: (t.send(blob[:MANY]), t.shut(), t.recv()))
    t = rig.start(Talker(*s.args))
    got = t.stream.recv(10)
    time.sleep(0.3)
    ends.same(got + ends.recv_all(t.stream), blob[:MANY])
    t.over()


# --- how it ends ---------------------------------------------------------------------


def test_the_server_hears_the_end_of_input(rig, server, version):
    """As close_notify, and can go on for as long as it likes."""
    def act(t):
        got = ends.recv_all(t)
        t.send(b"x" * 100000)
        time.sleep(0.2)
        t.send(b"y")
        t.shut()
        return got
    s = server(act, version)
    good(Run(*s.args, stdin=b"all"), b"x" * 100000 + b"y")
    assert s.results() == [b"all"]


def test_the_server_ends_first(rig, server, version):
    """Nobody would read what is still typed, so that is the end."""
    s = server(lambda t: (t.send(b"bye"), t.shut(), t.recv()), version)
    t = rig.start(Talker(*s.args))
    assert ends.recv_all(t.stream) == b"bye"
    assert t.finish(2 * tlskit.SLOW) == 0
    assert t.stderr() == ""


def test_truncation(server, version):
    """32, and what came is printed; 0 where that is allowed."""
    def one(data, *args):
        s = server(lambda t: (t.send(data), t.fin(), hostiles.hold(ends.Sock(t.sock))), version)
        r = Run(*args, *s.args)
        assert r.out == data, r
        if args:
            assert (r.code, r.err) == (0, ""), r
        else:
            assert r.code == 32 and "truncated" in r.err, r
    together({f"{args} {len(d)}": lambda d=d, args=args: one(d, *args)
              for d in (b"", b"part of it", bytes(100000)) for args in ((), ("--allow-truncation",))})


def test_cut_within_a_record(server):
    """Which --allow-truncation does not cover: half a record is no end of anything."""
    def act(t):
        t.send(b"whole")
        t.write(bytes(10000))
        t.sock.sendall(t.take()[:5000])
        t.fin()
        hostiles.hold(ends.Sock(t.sock))
    r = Run(*server(act).args)
    assert (r.code, r.out) == (32, b"whole"), r


def test_reset(server, version):
    def act(t):
        assert t.recv() == b"hello"
        t.send(b"part")
        time.sleep(0.1)
        t.reset()
    r = Run(*server(act, version).args, stdin=b"hello")
    assert (r.code, r.out) == (32, b"part") and r.err.startswith("tlskit connect: "), r


FOREIGN = {"data": hostiles.record(23, bytes(50)), "an alert": hostiles.alert(2, 40),
           "text": b"500 OOPS\r\n", "nothing": hostiles.record(22, b"") * 1000}


def test_what_no_key_has_made(server, version):
    """In the middle of a talk: 15, and what came before it is printed."""
    def one(data):
        def act(t):
            t.send(b"hello")
            t.sock.sendall(data)
            hostiles.hold(ends.Sock(t.sock))
        r = Run(*server(act, version).args, stdin=b"").idle()
        assert (r.code, r.out) == (15, b"hello") and r.err.startswith("tlskit connect: "), r
    together({name: lambda data=data: one(data) for name, data in FOREIGN.items()})


def test_ignore_eof(server):
    """The peer is not told: the connection goes on until it ends."""
    def act(t):
        assert t.recv() == b"hello"
        t.sock.settimeout(0.5)
        with pytest.raises(TimeoutError):
            t.recv()
        t.send(b"still here")
        t.shut()
        return True
    s = server(act)
    good(Run("--ignore-eof", *s.args, stdin=b"hello"), b"still here")
    assert s.results() == [True]


def test_stdout_closed_early(rig, server, blob):
    """As with `| head`: an end, soon."""
    s = server(lambda t: t.send(blob))
    t = rig.start(Talker(*s.args, expect=1))
    assert t.stream.recv(10)
    t.proc.stdout.close()
    t.finish(3 * tlskit.SLOW)
    t.check()
    assert "standard output" in t.stderr()


@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1 2"])
def test_closed_descriptors(server, closed):
    """Started without some of them: the connection must not take their place."""
    s = server(lambda t: (t.send(b"from the server"), t.shut(), t.recv()))
    redirect = " ".join(f"{fd}{'<' if fd == '0' else '>'}&-" for fd in closed.split())
    r = subprocess.run(["sh", "-c", f'exec "$0" "$@" {redirect}', tlskit.TLSKIT, "connect", *s.args],
                       input=b"to the server" if closed == "2" else None, capture_output=True, timeout=ends.WAIT)
    assert r.returncode == (1 if "1" in closed else 0), r
    assert r.stdout == (b"" if "1" in closed else b"from the server"), r
    assert b"from the server" not in r.stderr
    assert s.results()[0][2] in (b"", b"to the server")[:1 + (closed == "2")]


@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
def test_signals(rig, server, signo):
    """End it, while it talks and while it still connects."""
    talking = rig.start(Talker(*server(echo).args, expect=-signo))
    talking.ask(b"hello\n", b"hello\n")
    stuck = rig.add(hostiles.Act(hostiles.hold))
    waiting = rig.start(Talker("--insecure-no-verify", stuck.target, expect=-signo))
    ends.wait_until(lambda: stuck.accepts, "it to connect")
    for t in talking, waiting:
        start = time.monotonic()
        t.proc.send_signal(signo)
        t.finish(5)
        tlskit.took(start, 0, 1)
        t.check()


# --- nobody hears what is meant for another ------------------------------------------


def test_not_a_byte_to_the_wrong_server(rig, pki, version):
    """In talk mode a fault ends the handshake before there is anything to send with."""
    creds = {20: pki.selfsigned, 21: pki.wronghost, 22: pki.expired, 26: pki.ecdsa}
    heard = {}

    def one(code):
        ctx = tlsend.context(server=True, cred=creds[code], versions=tlsend.VERSIONS[version])
        s = rig.add(TlsAct(ctx, lambda t: t.recv()))
        args = ("--pin", pki.rsa.pin) if code == 26 else ("--ca", pki.ca)
        r = Run(*args, f"localhost:{s.addr[1]}", stdin=b"secret").failed(code)
        heard[code] = s.results()[0]
        assert isinstance(heard[code], (ssl.SSLError, ends.Truncated, ConnectionError)) or heard[code] == b"", heard
        return r
    got = together({code: lambda code=code: one(code) for code in creds})
    assert "--pin" in got[20].err or "--insecure" in got[20].err or "--ca" in got[20].err, got[20]
    assert "localhost" in got[21].err, got[21]


def test_verification_that_is_left_out(rig, pki):
    """Only where it is called insecure."""
    s = rig.add(TlsAct(tlsend.context(server=True, cred=pki.selfsigned), echo))
    good(Run("--insecure-no-verify", s.target, stdin=b"hello"), b"hello")
    good(Run("--pin", pki.selfsigned.pin, s.target, stdin=b"hello"), b"hello")
    Run(s.target, stdin=b"hello").failed(20)


# --- addresses and peers ---------------------------------------------------------------


def test_addresses(rig, pki, server, tmp_path):
    s = server(echo)
    port = s.addr[1]
    for address in f"https://localhost:{port}/some/path?query", f"https://127.0.0.1:{port}", f"localhost:{port}":
        good(Run("--ca", pki.ca, address, stdin=b"hello"), b"hello")
    good(Run("--ca", pki.ca, "--resolve", "127.0.0.1", f"no-such.invalid:{port}", "--verify-name", "localhost",
             stdin=b"hello"), b"hello")
    ctx = tlsend.context(server=True, cred=pki.ecdsa)
    for path in str(tmp_path / "socket"), f"@{tmp_path}/abstract":
        rig.add(TlsAct(ctx, echo, unix=path))
        good(Run("--ca", pki.ca, "--verify-name", "localhost", f"unix:{path}", stdin=b"hello"), b"hello")


def test_verbose(server):
    """The report goes to stderr, what is said to stdout."""
    r = Run("-v", *server(echo).args, stdin=b"hello")
    assert (r.code, r.out) == (0, b"hello"), r
    r.said("TLS1.3", "127.0.0.1")


GET = b"GET / HTTP/1.0\r\n\r\n"


def test_openssl_www(rig, pki, version):
    s = rig.start(OpensslServer(pki.ecdsa, version, "-www"))
    r = Run("--ca", pki.ca, s.target, stdin=GET)
    assert r.code == 0 and r.out.startswith(b"HTTP/1.0 200 ok\r\n") and b"</html>" in r.out.lower(), r
    r = Run("--ca", pki.ca, "--crlf", s.target, stdin=b"GET / HTTP/1.0\n\n")
    assert r.code == 0 and r.out.startswith(b"HTTP/1.0 200 ok\r\n"), r


def test_openssl_server(rig, pki, version):
    """What each types arrives at the other. That it reads letters as commands is its own
    affair."""
    s = rig.start(OpensslServer(pki.ecdsa, version))
    t = rig.start(Talker("--ca", pki.ca, s.target))
    t.stream.send(b"R to the server\n")
    assert s.stream.recv() == b"R to the server\n"
    s.stream.send(b"to the client\n")
    assert t.until(b"\n") == b"to the client\n"
    s.stream.shut()  # it leaves
    assert t.over() == b""


def test_gnutls_serv(rig, pki, version):
    s = rig.start(GnutlsServ(pki.ecdsa, version, "--echo"))
    t = rig.start(Talker("--ca", pki.ca, s.target))
    for i in range(5):
        assert t.ask(b"line %d\n" % i, b"\n") == b"line %d\n" % i
    t.over()
    s = rig.start(GnutlsServ(pki.ecdsa, version, "--http"))
    r = Run("--ca", pki.ca, s.target, stdin=GET)
    assert r.code == 0 and r.out.startswith(b"HTTP/1.0 200 OK\r\n") and re.search(rb"</html>\s*\Z", r.out.lower()), r
