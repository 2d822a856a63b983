# SPDX-License-Identifier: GPL-3.0-or-later
"""`tlskit connect` through proxies that people run."""

import pytest

import ends
import servers
import tlsend
from connects import Check, Run
from proxies import LOGIN, PROXIES, Dante, Microsocks
from starttls_scripts import Scripted

EACH = [pytest.param(p, s, id=f"{p.name}-{s}") for p in PROXIES for s in p.schemes]


@pytest.fixture
def ctx(pki):
    return tlsend.context(server=True, cred=pki.ecdsa)


@pytest.fixture
def refused(pki):
    """A Check that the proxy refuses: what it says."""
    def run(proxy, scheme, target, login=""):
        c = Check("--ca", pki.ca, "--proxy", proxy.url(scheme, login), target).is_fault(13, "proxy").no_tls()
        assert "w_rd" not in c.err + c.out.decode() and "w%5frd" not in c.out.decode().lower()
        return c.text
    return run


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
@pytest.mark.parametrize("proxy, scheme", EACH)
def test_both_directions(rig, pki, small, ctx, proxy, scheme, host):
    p = rig.start(proxy())
    echo = rig.add(servers.TlsEcho(ctx, host="127.0.0.1" if host == "localhost" else host))
    target = f"localhost:{echo.addr[1]}" if host == "localhost" else echo.target
    args = ("--ca", pki.ca, "--proxy", p.url(scheme), target)
    c = Check(*args).fine()
    assert c.doc["via"] == p.url(scheme) and c.doc["timing_ms"]["proxy"] is not None, c
    r = Run(*args, stdin=small)
    assert r.code == 0 and r.err == "", r
    ends.same(r.out, small)


@pytest.mark.parametrize("proxy, scheme", EACH)
def test_target_speaks_first(rig, pki, ctx, proxy, scheme):
    """A greeting on the proxy's heels."""
    p = rig.start(proxy())
    smtp = rig.add(Scripted("smtp", ctx))
    args = ("--ca", pki.ca, "--starttls", "smtp", "--proxy", p.url(scheme), smtp.target)
    assert Check(*args).fine().doc["starttls"]["done"] is True
    r = Run(*args, stdin=b"hello")
    assert (r.code, r.out, r.err) == (0, b"hello", ""), r


@pytest.mark.parametrize("proxy, scheme", EACH)
def test_login(rig, pki, ctx, refused, proxy, scheme):
    if proxy is Dante:
        pytest.skip("danted knows the system's users alone")
    p = rig.start(proxy(login=True))
    echo = rig.add(servers.TlsEcho(ctx))
    Check("--ca", pki.ca, "--proxy", p.url(scheme, LOGIN), echo.target).fine()
    assert "does not accept the user and password" in refused(p, scheme, echo.target, "user:pa-ss.w_rdx@")
    assert "give user:password@ in --proxy" in refused(p, scheme, echo.target)


@pytest.mark.parametrize("scheme", Dante.schemes)
def test_dante_wants_a_login(rig, refused, scheme):
    p = rig.start(Dante(login=True))
    assert "give user:password@ in --proxy" in refused(p, scheme, "127.0.0.1:1")
    login = "nobody-of-that-name:" + LOGIN.split(":")[1]
    assert "does not accept the user and password" in refused(p, scheme, "127.0.0.1:1", login)


@pytest.mark.parametrize("proxy, scheme", EACH)
def test_nobody_listens_at_the_target(rig, refused, proxy, scheme):
    p = rig.start(proxy())
    refuser = rig.add(servers.Refuser())
    text = refused(p, scheme, refuser.target)
    if scheme == "http":  # tinyproxy: 500, squid: 503
        assert "the proxy says 50" in text and "reach the target" in text
    else:
        assert "connection refused by the target" in text
    assert refuser.target in text and p.target in text


@pytest.mark.parametrize("proxy, scheme", EACH)
def test_not_allowed(rig, refused, proxy, scheme):
    if proxy is Microsocks:
        pytest.skip("microsocks has no rules")
    p = rig.start(proxy(only=1))
    listener = rig.listener()
    text = refused(p, scheme, listener.target)
    assert ("the proxy says 403" if scheme == "http" else "not allowed by its rules") in text
    assert not listener.was_called()


@pytest.mark.parametrize("proxy", [pytest.param(p, id=p.name) for p in (Microsocks, Dante)])
def test_http_to_a_socks_proxy(rig, refused, proxy):
    p = rig.start(proxy())
    text = refused(p, "http", "127.0.0.1:1")
    assert "does not speak HTTP" in text or "ended the connection" in text
