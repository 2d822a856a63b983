# SPDX-License-Identifier: GPL-3.0-or-later
"""The conversations with proxies (lib/net/proxy.h), held against real ones by
proxy_drive, which asks one for a target and then copies its stdin and stdout."""

import os

import pytest

import ends
import servers
import tlskit
from peers import Client, Peer, program
from test_programs import OnFreePort

USER, PASSWORD = "user", "pa-ss.w_rd"  # tinyproxy knows no other characters
LOGIN = "user:pa%2Dss%2ew_rd@"


class Drive(Client, Peer):
    """`proxy_drive URL TARGET`; bytewise: it reads the proxy's answer so."""

    name = "proxy_drive"

    def __init__(self, url, target, bytewise=False):
        super().__init__(url, target, *(["bytewise"] if bytewise else []))

    def argv(self):
        return self.args

    def locate(self):
        path = os.path.join(os.path.dirname(tlskit.TLSKIT), "tests/interop/proxy_drive")
        if not os.path.exists(path):
            pytest.skip("tests/interop/proxy_drive is not built: make check builds it")
        return path

    def refused(self):
        """What it said, once the proxy did not do as it was asked."""
        assert self.wait() == 13, self.stderr()
        assert not tlskit.SANITIZER.search(self.read("stderr"))
        assert "w_rd" not in self.stderr()
        return self.stderr()


class Proxy(OnFreePort):
    """login: USER and PASSWORD are wanted. only: the one port that may be connected to."""

    schemes = ()

    def __init__(self, login=False, only=None):
        super().__init__()
        self.login, self.only = login, only

    def url(self, scheme, login=""):
        return f"{scheme}://{login}127.0.0.1:{self.port}"


class Tinyproxy(Proxy):
    name, schemes = "tinyproxy", ("http",)

    def argv(self):
        text = f"Port {self.number}\nListen 127.0.0.1\nTimeout 60\nLogLevel Info\nMaxClients 20\nAllow 127.0.0.1\n"
        if self.login:
            text += f"BasicAuth {USER} {PASSWORD}\n"
        if self.only:
            text += f"ConnectPort {self.only}\n"
        return ["-d", "-c", self.file("conf", text)]


class Squid(Proxy):
    """Started by root it becomes somebody else, who has to be able to read."""

    name, schemes = "squid", ("http",)

    def argv(self):
        os.chmod(self.dir, 0o755)
        check = self.file("check", f"while read -r login; do case $login in "
                          f"'{USER} {PASSWORD}') echo OK ;; *) echo ERR ;; esac; done\n")
        rules = [f"auth_param basic program /bin/sh {check}", "auth_param basic realm test",
                 "acl in proxy_auth REQUIRED"] if self.login else []
        if self.only:
            rules += [f"acl port port {self.only}", "http_access deny !port"]
        rules += ["http_access allow in" if self.login else "http_access allow all"]
        return ["-N", "-d", "1", "-f", self.file("conf", "\n".join([
            f"http_port 127.0.0.1:{self.number}", "pid_filename none", "cache_log /dev/null", "access_log none",
            "netdb_filename none", "pinger_enable off", "cache deny all", "cache_mem 1 MB", "cache_store_log none",
            "visible_hostname test", "shutdown_lifetime 0 seconds", "dns_nameservers 127.0.0.1",
            f"coredump_dir {self.dir}", *rules, ""]))]

    def end(self):
        """At SIGTERM it thinks for two seconds about who might still come."""
        if self.proc and self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait(5)


class Microsocks(Proxy):
    name, schemes = "microsocks", ("socks5", "socks5h")

    def argv(self):
        return ["-i", "127.0.0.1", "-p", str(self.number), *(["-u", USER, "-P", PASSWORD] if self.login else [])]


class Dante(Proxy):
    """Its logins are those of the system, so with one it lets nobody in here."""

    schemes = ("socks5", "socks5h")
    name = "danted"

    def locate(self):
        try:
            return program("sockd", self.package)
        except pytest.skip.Exception:
            return program(self.name, self.package)

    def argv(self):
        port = f" port = {self.only}" if self.only else ""
        return ["-f", self.file("conf", f"""
logoutput: stderr
internal: 127.0.0.1 port = {self.number}
external: 127.0.0.1
external: ::1
external.rotation: route
clientmethod: none
socksmethod: {"username" if self.login else "none"}
user.unprivileged: nobody
client pass {{ from: 127.0.0.1/32 to: 0.0.0.0/0 }}
socks pass {{ from: 127.0.0.1/32 to: 0.0.0.0/0{port} command: connect }}
socks pass {{ from: 127.0.0.1/32 to: ::/0{port} command: connect }}
socks pass {{ from: 0.0.0.0/0 to: 0.0.0.0/0 command: bindreply udpreply }}
""")]


PROXIES = [Tinyproxy, Squid, Microsocks, Dante]
EACH = [pytest.param(p, s, id=f"{p.name}-{s}") for p in PROXIES for s in p.schemes]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
@pytest.mark.parametrize("proxy, scheme", EACH)
def test_both_directions(rig, small, proxy, scheme, host):
    p = rig.start(proxy())
    echo = rig.add(servers.Echo(host="127.0.0.1" if host == "localhost" else host))
    target = f"localhost:{echo.addr[1]}" if host == "localhost" else echo.target
    d = rig.start(Drive(p.url(scheme), target))
    sent = ends.Task(d.stream.send, small)
    assert ends.recv_exactly(d.stream, len(small)) == ends.digest(small)
    sent.done()
    d.stream.shut()
    assert d.wait() == 0, d.stderr()


@pytest.mark.parametrize("bytewise", [False, True], ids=["whole", "bytewise"])
@pytest.mark.parametrize("proxy, scheme", EACH)
def test_target_speaks_first(rig, proxy, scheme, bytewise):
    p = rig.start(proxy())
    source = rig.add(servers.Source(b"220 ready\r\n\r\n" * 100))
    d = rig.start(Drive(p.url(scheme), source.target, bytewise))
    ends.same(ends.recv_all(d.stream), source.data)


@pytest.mark.parametrize("proxy, scheme", EACH)
def test_login(rig, proxy, scheme):
    if proxy is Dante:
        pytest.skip("danted knows the system's users alone")
    p = rig.start(proxy(login=True))
    source = rig.add(servers.Source(b"hello"))
    d = rig.start(Drive(p.url(scheme, LOGIN), source.target))
    assert ends.recv_all(d.stream) == b"hello", d.stderr()
    d = rig.start(Drive(p.url(scheme, "user:pa-ss.w_rdx@"), source.target))
    assert "does not accept the user and password" in d.refused()
    d = rig.start(Drive(p.url(scheme), source.target))
    assert "give user:password@ in --proxy" in d.refused()


@pytest.mark.parametrize("scheme", Dante.schemes)
def test_dante_wants_a_login(rig, scheme):
    p = rig.start(Dante(login=True))
    d = rig.start(Drive(p.url(scheme), "127.0.0.1:1"))
    assert "give user:password@ in --proxy" in d.refused()
    d = rig.start(Drive(p.url(scheme, "nobody-of-that-name:" + LOGIN.split(":")[1]), "127.0.0.1:1"))
    assert "does not accept the user and password" in d.refused()


@pytest.mark.parametrize("proxy, scheme", EACH)
def test_nobody_listens_at_the_target(rig, proxy, scheme):
    p = rig.start(proxy())
    refuser = rig.add(servers.Refuser())
    text = rig.start(Drive(p.url(scheme), refuser.target)).refused()
    if scheme == "http":  # tinyproxy: 500, squid: 503
        assert "the proxy says 50" in text and "reach the target" in text
    else:
        assert "connection refused by the target" in text
    assert refuser.target in text and p.target in text


@pytest.mark.parametrize("proxy, scheme", EACH)
def test_not_allowed(rig, proxy, scheme):
    if proxy is Microsocks:
        pytest.skip("microsocks has no rules")
    p = rig.start(proxy(only=1))
    listener = rig.listener()
    text = rig.start(Drive(p.url(scheme), listener.target)).refused()
    assert ("the proxy says 403" if scheme == "http" else "not allowed by its rules") in text
    assert not listener.was_called()


@pytest.mark.parametrize("proxy", [pytest.param(p, id=p.name) for p in (Microsocks, Dante)])
def test_http_to_a_socks_proxy(rig, proxy):
    p = rig.start(proxy())
    text = rig.start(Drive(p.url("http"), "127.0.0.1:1")).refused()
    assert "does not speak HTTP" in text or "ended the connection" in text
