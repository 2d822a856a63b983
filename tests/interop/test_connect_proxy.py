# SPDX-License-Identifier: GPL-3.0-or-later
"""`tlskit connect --proxy` and proxies by a script: good ones, broken ones, and what
hostile servers do behind a good one. test_proxy_peers.py has those that people run."""

import contextlib
import re
import select
import socket

import pytest

import ends
import hostiles
import servers
import tlsend
from connects import Check, Run, together
from hostiles import Act, hold, says
from starttls_scripts import SCRIPTS, Scripted

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
SOCKS_YES = bytes.fromhex("05000001000000000000")
SCHEMES = ["http", "socks5", "socks5h"]


def relay(conn, addr):
    """Until both have ended."""
    with ends.dial(addr) as back:
        other = {conn.sock: back, back: conn.sock}
        while other:
            for s in select.select(list(other), [], [])[0]:
                data = s.recv(ends.CHUNK)
                if data:
                    other[s].sendall(data)
                    continue
                with contextlib.suppress(OSError):
                    other[s].shutdown(socket.SHUT_WR)
                del other[s]


class HttpProxy(servers.Server):
    """CONNECT for everybody. asked: the requests as they came. answer: what it says when
    it is connected; glue: the target's first bytes, which it says along with that."""

    scheme = "http"

    def __init__(self, answer=ESTABLISHED, glue=b"", **kw):
        self.answer, self.glue, self.asked = answer, glue, []
        super().__init__(**kw)

    def serve(self, conn):
        with contextlib.suppress(ConnectionError):
            where = self.request(conn)
            conn.send(self.answer + self.glue)
            relay(conn, where)

    def request(self, conn):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += hostiles.read_exactly(conn, 1)
        self.asked.append(head.decode())
        host, port = re.match(r"CONNECT (\S+):(\d+) HTTP/1\.1\r\n", self.asked[-1]).groups()
        return host.strip("[]"), int(port)


class SocksProxy(HttpProxy):
    """The same with SOCKS5. asked: (kind of address, host, port)."""

    scheme = "socks5h"

    def __init__(self, answer=SOCKS_YES, **kw):
        super().__init__(answer, **kw)

    def request(self, conn):
        methods = hostiles.read_exactly(conn, hostiles.read_exactly(conn, 2)[1])
        assert 0 in methods
        conn.send(b"\x05\x00")
        kind = hostiles.read_exactly(conn, 4)[3]
        size = {1: 4, 4: 16}.get(kind) or hostiles.read_exactly(conn, 1)[0]
        host = hostiles.read_exactly(conn, size)
        port = int.from_bytes(hostiles.read_exactly(conn, 2), "big")
        text = host.decode() if kind == 3 else socket.inet_ntop(socket.AF_INET6 if kind == 4 else socket.AF_INET, host)
        self.asked.append((kind, text, port))
        return text, port


def url(proxy, scheme="http", login=""):
    return f"{scheme}://{login}{proxy.target}"


@pytest.fixture
def echo(rig, pki):
    return rig.add(servers.TlsEcho(tlsend.context(server=True, cred=pki.ecdsa)))


@pytest.fixture
def through(rig, pki):
    """through(scheme, act, target): a Check by way of a proxy that does so."""
    def run(scheme, act, *args, target="127.0.0.1:9", run=Check, timeout="5s"):
        proxy = rig.add(Act(act))
        r = run("--ca", pki.ca, "--timeout", timeout, "--proxy", url(proxy, scheme), *args, target)
        r.proxy = proxy
        return r
    return run


def talk(*args):
    return Run(*args, stdin=b"secret")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_reached(rig, pki, echo, scheme):
    """Checked and talked to; who looks the name up is as the scheme says."""
    proxy = rig.add(HttpProxy() if scheme == "http" else SocksProxy())
    args = ("--ca", pki.ca, "--proxy", url(proxy, scheme), f"localhost:{echo.addr[1]}")
    c = Check(*args).fine()
    assert c.doc["via"] == url(proxy, scheme) and c.doc["timing_ms"]["proxy"] is not None, c
    assert c.doc["target"]["host"] == "localhost", c
    r = Run(*args, stdin=b"hello")
    assert (r.code, r.out, r.err) == (0, b"hello", ""), r
    for asked in proxy.asked:
        if scheme == "http":
            assert asked.startswith(f"CONNECT localhost:{echo.addr[1]} HTTP/1.1\r\nHost: localhost:"), asked
        else:
            assert asked[0] == 3 and asked[1] == "localhost" if scheme == "socks5h" else asked[0] in (1, 4), asked


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ipv6_target(rig, pki, scheme):
    """In brackets for CONNECT, bare bytes for SOCKS."""
    try:
        echo = rig.add(servers.TlsEcho(tlsend.context(server=True, cred=pki.ecdsa), host="::1"))
    except OSError as e:
        pytest.skip(f"no IPv6 on loopback: {e}")
    proxy = rig.add(HttpProxy() if scheme == "http" else SocksProxy())
    c = Check("--ca", pki.ca, "--proxy", url(proxy, scheme), echo.target).fine()
    assert (c.doc["target"]["host"], c.doc["target"]["port"]) == ("::1", echo.addr[1]), c
    port = echo.addr[1]
    if scheme == "http":
        assert proxy.asked[0].startswith(f"CONNECT [::1]:{port} HTTP/1.1\r\nHost: [::1]:{port}\r\n"), proxy.asked
    else:
        assert proxy.asked == [(4, "::1", port)]


def test_password_is_not_shown(rig, pki, echo):
    proxy = rig.add(HttpProxy())
    args = ("--ca", pki.ca, "--proxy", url(proxy, login="user:pa%2Dss@"), echo.target)
    c = Check(*args).fine()
    assert "Proxy-Authorization: Basic dXNlcjpwYS1zcw==\r\n" in proxy.asked[0]
    for r in c, Run("--check", *args), Run("-v", *args), through_refused(rig, pki):
        assert b"pa-ss" not in r.out and b"pa%2Dss" not in r.out and "pa-ss" not in r.err and "pa%2D" not in r.err, r


def through_refused(rig, pki):
    proxy = rig.add(Act(says(b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\n\r\n")))
    return Run("--check", "--json", "--proxy", url(proxy, login="user:pa%2Dss@"), "127.0.0.1:9")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_hangs(through, scheme):
    """The stage and both addresses are named (openssl 15975)."""
    first = b"\x05\x00" if scheme != "http" else b"HTTP/1.1 200 OK\r\nA: "
    acts = {"silent": hold, "half an answer": says(first, hold), "drips": hostiles.drips(b"HTTP/1.1 100 ", 0.1)}
    if scheme != "http":
        del acts["drips"]

    def one(act, run):
        r = through(scheme, act, run=run, timeout="500ms").within(0.5)
        if run is Check:
            r.is_fault(12, "proxy", r.proxy.target).no_tls()
            assert r.doc["tls"] is None and r.doc["timing_ms"]["handshake"] is None, r
        else:
            r.failed(12).said(r.proxy.target)
        return r
    together({(n, run.__name__): lambda a=a, run=run: one(a, run) for n, a in acts.items() for run in (Check, talk)})


HTTP_ANSWERS = {
    "407": (b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x\r\n\r\n", "407",
            "give user:password@"),
    "407, unknown kind": (b"HTTP/1.1 407 No\r\nProxy-Authenticate: NTLM\r\n\r\n", "407", "Basic"),
    "403": (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno\n", "403 Forbidden"),
    "502": (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "502 Bad Gateway", "cannot reach the target"),
    "302": (b"HTTP/1.1 302 Found\r\nLocation: http://login.test/\r\n\r\n", "302"),
    "garbage": (bytes(range(255, 0, -1)) * 10, "does not speak HTTP"),
    "escapes": (b"HTTP/1.1 500 \x1b[31m\x07\r\n\r\n", "500"),
    "tls": (hostiles.alert(2, 10), "TLS"),
    "socks": (b"\x05\xff", "SOCKS"),
    "ssh": (b"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP"),
    "nothing": (b"", "CONNECT"),
    "half a line": (b"HTTP/1.1 20", "CONNECT"),
    "half a head": (b"HTTP/1.1 200 OK\r\nVia: x\r\n", "CONNECT"),
    "endless head": (b"HTTP/1.1 200 OK\r\n" + b"X-Y: " + b"z" * (1 << 20), "bytes"),
    "endless answers": (b"HTTP/1.1 100 Continue\r\n\r\n" * 10000, "bytes"),
}


def test_http_answers(through):
    """13, with what the proxy said and where it is."""
    def one(answer, *words, run=Check):
        def act(conn):
            conn.send(answer)
            if words != ("CONNECT",):
                hold(conn)
        r = through("http", act, run=run).idle()
        return r.is_fault(13, "proxy", *words, r.proxy.target).no_tls() if run is Check else r.failed(13).said(*words)
    jobs = {n: lambda a=a: one(*a) for n, a in HTTP_ANSWERS.items()}
    jobs["talk"] = lambda: one(*HTTP_ANSWERS["502"], run=talk)
    together(jobs)


SOCKS_CODES = ["1, general failure", "2, connection not allowed", "3, network unreachable", "4, host unreachable",
               "5, connection refused by the target", "6, TTL expired", "7, ", "8, ", "9, ", "255, "]


def test_socks_answers(through):
    def replies(*parts):
        def act(conn):
            for p in parts:
                conn.recv()
                conn.send(p)
            hold(conn)
        return act

    def one(scheme, act, *words):
        r = through(scheme, act).idle()
        r.is_fault(13, "proxy", *words, r.proxy.target).no_tls()
    codes = {t: bytes([5, int(t.split(",")[0]), 0, 1]) + bytes(6) for t in SOCKS_CODES}
    jobs = {t: lambda t=t, c=c: one("socks5", replies(b"\x05\x00", c), t) for t, c in codes.items()}
    jobs.update({
        "a login is wanted": lambda: one("socks5h", replies(b"\x05\xff"), "user:password@"),
        "a way not offered": lambda: one("socks5h", replies(b"\x05\x01"), "not offered"),
        "another version": lambda: one("socks5h", replies(b"\x04\x5a"), "SOCKS5"),
        "http": lambda: one("socks5", replies(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "HTTP proxy"),
        "odd address": lambda: one("socks5", replies(b"\x05\x00", b"\x05\x00\x00\x09"), "kind of address"),
        "ends": lambda: one("socks5", lambda conn: None, "SOCKS5"),
        "ends later": lambda: one("socks5", lambda conn: (conn.recv(), conn.send(b"\x05\x00")), "SOCKS5"),
        "resets": lambda: one("socks5", lambda conn: (conn.recv(), conn.reset())),
    })
    together(jobs)


def test_proxy_cannot_be_reached(rig, pki):
    """Which is the proxy's fault, and its address is named."""
    refuser, hole = rig.add(servers.Refuser()), rig.add(servers.BlackHole())

    def one(at, code, *words):
        args = ("--ca", pki.ca, "--timeout", "600ms", "--proxy", f"http://{at}", "127.0.0.1:9")
        Check(*args).is_fault(code, "proxy", at, *words).no_tls().idle()
        Run(*args, stdin=b"secret").failed(code).said(at, *words)
    together({
        "refused": lambda: one(refuser.target, 13, "refused"),
        "hangs": lambda: one(hole.target, 12, "600ms"),
        "no such name": lambda: one("no-such-proxy.invalid", 13),
    })


def test_what_comes_with_the_answer(rig, pki, echo):
    """The target's first bytes in the proxy's own segment are the target's."""
    ctx = tlsend.context(server=True, cred=pki.ecdsa)

    def smtp(proxy_class):
        server = rig.add(Scripted("smtp", ctx, 0, lambda conn, answer: True))  # the greeting is the proxy's to say
        proxy = rig.add(proxy_class(glue=SCRIPTS["smtp"][0][2]))
        Check("--ca", pki.ca, "--starttls", "smtp", "--proxy", url(proxy, proxy.scheme), server.target).fine()
        r = Run("--ca", pki.ca, "--starttls", "smtp", "--proxy", url(proxy, proxy.scheme), server.target, stdin=b"hi")
        assert (r.code, r.out) == (0, b"hi"), r

    def alert(proxy_class):
        proxy = rig.add(proxy_class(glue=hostiles.alert(2, 40)))
        c = Check("--ca", pki.ca, "--proxy", url(proxy, proxy.scheme), echo.target)
        c.is_fault(15, "handshake", "handshake_failure").no_tls()
    together({f"{job.__name__} {p.scheme}": lambda job=job, p=p: job(p)
              for job in (smtp, alert) for p in (HttpProxy, SocksProxy)})


def test_hostile_targets_behind_a_proxy(rig, pki):
    """The stages are the target's own."""
    def one(proxy_class, act, code, *words):
        proxy, target = rig.add(proxy_class()), rig.add(Act(act))
        c = Check("--ca", pki.ca, "--timeout", "700ms", "--proxy", url(proxy, proxy.scheme), target.target)
        c.is_fault(code, "handshake", *words).no_tls().idle()
        assert c.doc["timing_ms"]["proxy"] is not None and c.doc["via"] == url(proxy, proxy.scheme), c
    acts = {
        "silent": (hold, 12),
        "closes": (hostiles.after_hello(), 15),
        "http": (says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), 15, "this looks like HTTP"),
        "alert": (hostiles.after_hello(hostiles.alert(2, 70)), 15, "protocol_version"),
        "half a hello": (hostiles.after_hello(hostiles.server_hello), 15),
    }
    together({f"{n}, {p.scheme}": lambda p=p, a=a: one(p, *a)
              for n, a in acts.items() for p in (HttpProxy, SocksProxy)})


def test_starttls_behind_a_proxy(rig, pki):
    """Each conversation after the other, and the silent one is named."""
    def one(proto):
        proxy = rig.add(HttpProxy())
        args = ("--ca", pki.ca, "--starttls", proto, "--starttls-name", "localhost", "--proxy", url(proxy))
        server = rig.add(Scripted(proto, tlsend.context(server=True, cred=pki.ecdsa)))
        c = Check(*args, server.target).fine()
        assert c.doc["starttls"]["done"] is True and c.doc["timing_ms"]["proxy"] is not None, c
        silent = rig.add(Act(hold))
        c = Check(*args, "--timeout", "500ms", silent.target).within(0.5).is_fault(12, "starttls", f"{proto}: ")
        assert c.doc["timing_ms"]["proxy"] is not None, c
    together({p: lambda p=p: one(p) for p in ("smtp", "imap", "ldap", "xmpp", "postgres", "mysql")})
