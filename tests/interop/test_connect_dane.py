# SPDX-License-Identifier: GPL-3.0-or-later
"""`connect --dane` against zones that are really signed, or not, or wrongly."""

import os
import socket

import pytest

import dnssec
import peers
from checkpki import tlsa
from connects import Check, Run

SITES = ("good", "selfsigned")


@pytest.fixture(scope="module")
def sites(shared, world):
    return shared.start(peers.NginxSites({n: (getattr(world, n), "") for n in SITES})).ports


def owner(host, port):
    return f"_{port}._tcp.{host}."


@pytest.fixture(scope="module")
def dns(shared, world, sites):
    if os.geteuid() != 0 or not dnssec.may_mount():
        pytest.skip("only root may have /etc/resolv.conf and the root's key replaced (unshare -m)")
    port, own = sites["good"], sites["selfsigned"]
    ee, spoilt = tlsa(3, 1, 1, world.good.x509), "3 1 1 " + "ab" * 32
    records = [(owner("home", port), ee), (owner("home", own), tlsa(3, 1, 1, world.selfsigned.x509)),
               (owner("ta", port), tlsa(2, 0, 1, world.middle.x509)), (owner("wrong", port), tlsa(3, 1, 1, world.rsa.x509)),
               (owner("several", port), tlsa(3, 1, 1, world.rsa.x509)), (owner("several", port), ee),
               (owner("unusable", port), "9 9 9 abcd"), (owner("spoilt", port), spoilt), (owner("nowhere", port), ee)]
    hosts = ["home", "ta", "wrong", "several", "unusable", "spoilt", "none"]
    zone = [f"{h}. IN A 127.0.0.1" for h in hosts] + [f"{name} IN TLSA {r}" for name, r in records]
    zone += ["alias. IN CNAME home.", f"{owner('alias', port)} IN CNAME {owner('home', port)}"]
    return shared.start(dnssec.Nsd(
        zone, spoil=[("ab" * 32, ee.split()[3])],
        insecure=["host IN A 127.0.0.1", f"{owner('host.insecure', port)} IN TLSA {ee}"]))


@pytest.fixture
def ask(world, sites, dns):
    """A function: the check of a name whose server is the site `good`, or `site`."""
    def check(host, *args, site="good", prefix=None, run=Check):
        return run("--dane", "--ca", world.ca, "--verify-name", "localhost", *args, f"{host}:{sites[site]}",
                   prefix=prefix or dns.view())
    return check


def said(c, result, record=None):
    assert c.doc["dane"] == {"result": result, "record": record}, c
    return c


@pytest.mark.parametrize("host", ["home", "several", "alias"])
def test_matches(ask, world, host):
    c = said(ask(host).fine(), "matched", tlsa(3, 1, 1, world.good.x509))
    assert c.doc["verify"]["by"] == "dane", c


def test_no_authority_is_needed(ask, world):
    """DANE-EE is all that a server of one's own takes (RFC 7671, 5.1)."""
    said(ask("home", site="selfsigned").fine(), "matched", tlsa(3, 1, 1, world.selfsigned.x509))


def test_trust_anchor(ask, world):
    said(ask("ta").fine(), "matched", tlsa(2, 0, 1, world.middle.x509))


@pytest.mark.parametrize("host,result,words", [
    ("wrong", "no-match", "record 1 (3 1 1)"),
    ("none", "no-records", "could be used"),
    ("unusable", "no-records", "could be used"),
    ("host.insecure", "insecure", "DNSSEC vouches for"),
    ("spoilt", "bogus", "the signature is wrong"),
])
def test_no_match(ask, host, result, words):
    """26, although the certificate is fine otherwise; and in a talk nothing is sent."""
    c = said(ask(host), result)
    assert [e["code"] for e in c.doc["errors"]] == [26] and words in c.text, c
    ask(host, run=Run).failed(26)


@pytest.mark.parametrize("host", ["nowhere", "unknown"])
def test_no_address(ask, host):
    """Records or none, without a server there is nothing to hold them against."""
    assert said(ask(host), None).is_fault(10, "dns")


@pytest.mark.parametrize("silent", [True, False])
def test_without_a_name_server(ask, dns, tmp_path, silent):
    """No answer, or nobody there: an end within the deadline, never a yes."""
    conf = tmp_path / "resolv.conf"
    host = dns.host.replace("127.53", "127.54")
    conf.write_text(f"nameserver {host}\noptions attempts:1 timeout:1\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        if silent:
            s.bind((host, 53))
        c = ask("home", "--timeout", "1s", prefix=dns.view(conf))
    assert c.code in (10, 12, 26) and c.doc["dane"]["result"] != "matched" and c.spent_s < 2.5, c
