# SPDX-License-Identifier: GPL-3.0-or-later
"""`connect --dane` with a DNS that is signed, and one that lies, fails or is silent: the
program looks up what a name server of the test's own says of a zone (dnszone.py), whose
key it takes for the root's."""

import os

import pytest

import dnssec
import peers
import tlsend
from checkpki import tlsa
from connects import Check, Run, document
from dnszone import CNAME, SERVFAIL, TLSA, NameServer, Zone
from servers import Refuser
from starttls_scripts import Scripted

HOST, NONE, FORGED, PLAIN = "mail.example", "none.example", "forged.example", "mail.plain"  # the last is not signed
REFUSED = 5


@pytest.fixture(scope="module", autouse=True)
def possible():
    if not dnssec.may_mount():
        pytest.skip("it takes a mount namespace to have /etc/resolv.conf and the root's key replaced (unshare -m)")
    if not any(map(os.path.exists, dnssec.ROOT_KEYS)):
        pytest.skip("no root key that libgnutls-dane reads (dns-root-data)")
    r = Run("--dane", "unix:/there-is-none")  # which has no records to be looked up
    if "no libgnutls-dane" in r.err:
        pytest.skip(r.err.strip())


@pytest.fixture(scope="module")
def cred(world):
    return world.server("dane", san=(HOST, "www.example", NONE, FORGED, PLAIN))


@pytest.fixture(scope="module")
def site(shared, cred):
    return shared.start(peers.OpensslSite(cred))


class Dns:
    """A zone with our hosts, to be served and looked at."""

    def __init__(self, rig, port):
        self.rig, self.port, self.zone, self.server, self.address = rig, port, Zone(), None, None
        self.anchor = self.zone.anchor
        self.zone.host(HOST)
        self.zone.hand_on("plain")
        self.zone.host(PLAIN)

    def publish(self, *records, host=HOST, port=None):
        """TLSA records of the server; their name."""
        name = f"_{port or self.port}._tcp.{host}"
        self.zone.tlsa(name, *records)
        return name

    def serve(self, **kw):
        try:
            self.server = self.rig.add(NameServer(self.zone, **kw))
        except PermissionError:
            pytest.skip("port 53 of loopback is not for us: it takes root")
        self.address = self.server.address
        return self

    def file(self, name, text):
        path = self.rig.tmp / name
        path.write_text(text)
        return str(path)

    def sees(self):
        """The files that the program sees, and in place of which: of the system's."""
        yield self.file("resolv.conf", f"nameserver {self.address}\n"), dnssec.RESOLV_CONF
        yield self.file("nsswitch.conf", "hosts: dns\n"), "/etc/nsswitch.conf"
        for path in dnssec.ROOT_KEYS:
            yield self.file("root.key", self.anchor), path

    def run(self, *args, kind=Run, host=HOST, port=None, timeout="10s", **kw):
        if not self.server:
            self.serve()
        view = dnssec.mounted([pair for pair in self.sees() if os.path.exists(pair[1])])
        return kind("--dane", "--timeout", timeout, *args, f"{host}:{port or self.port}", prefix=view, **kw)

    def check(self, *args, **kw):
        return self.run(*args, kind=Check, **kw)


@pytest.fixture
def dns(rig, site):
    return Dns(rig, site.port)


def dane(check):
    return check.doc["dane"]["result"]


def codes(check):
    return sorted(e["code"] for e in check.doc["errors"])


def distrusted(check, code, result, *words):
    """DANE is what speaks against the server, before there is a handshake, and alone."""
    assert check.code == code and dane(check) == result and check.doc["dane"]["record"] is None, check
    assert check.doc["verify"]["by"] != "dane" and check.doc["verify"]["ok"] is False, check
    return check.is_fault(code, "dns", *words)


# --- records that DNSSEC vouches for --------------------------------------------------


@pytest.mark.parametrize("record", [(3, 1, 1), (3, 0, 2), (3, 0, 0), (2, 0, 1), (2, 1, 1)])
def test_matched(world, dns, cred, record):
    """They take the place of the system's trust store."""
    record = tlsa(*record, world.middle.x509 if record[0] == 2 else cred.x509)
    name = dns.publish(record)
    c = dns.check().fine()
    assert c.doc["dane"] == {"result": "matched", "record": record} and c.doc["verify"]["by"] == "dane", c
    assert (name, TLSA, "udp") in dns.server.asked, dns.server.asked


def test_a_long_answer_comes_by_tcp(dns, cred, world):
    whole = [tlsa(3, 0, 0, getattr(world, n).x509) for n in ("rsa", "good", "ed25519", "many")]
    record = tlsa(3, 1, 1, cred.x509)
    name = dns.publish(*whole, record)
    assert dns.check().fine().doc["dane"]["record"] == record
    assert (name, TLSA, "tcp") in dns.server.asked, dns.server.asked


@pytest.mark.parametrize("record", [(1, 1, 1), (0, 0, 1)])
def test_matched_and_trusted_besides(world, dns, cred, record):
    """These need the chain as well."""
    record = tlsa(*record, cred.x509 if record[0] == 1 else world.middle.x509)
    dns.publish(record)
    assert dns.check("--ca", world.ca).fine().doc["dane"] == {"result": "matched", "record": record}
    c = dns.check()
    assert (c.code, codes(c)) == (20, [20, 26]) and c.doc["verify"]["by"] != "dane", c


def test_no_match(world, dns, cred):
    """Also where the certificate is trusted."""
    dns.publish(tlsa(3, 1, 1, world.good.x509), tlsa(2, 0, 1, world.other.x509))
    for args, found in (("--ca", world.ca), [26]), ((), [20, 26]):
        c = dns.check(*args)
        assert codes(c) == found and c.doc["dane"] == {"result": "no-match", "record": None}, c
    assert dns.run("--ca", world.ca, stdin=b"secret").failed(26)


def test_one_of_several(world, dns, cred):
    record = tlsa(3, 1, 2, cred.x509)
    dns.publish("7 1 1 " + "00" * 32, tlsa(3, 1, 1, world.good.x509), record)
    assert dns.check().fine().doc["dane"]["record"] == record


def test_many_at_once(world, dns, cred):
    """Each with a look-up of its own."""
    results = {HOST: "matched", "www.example": "matched", PLAIN: "insecure", NONE: "no-records", FORGED: "bogus"}
    for host in ("www.example", NONE, FORGED):
        dns.zone.host(host)
    for host in (HOST, "www.example", PLAIN, FORGED):
        name = dns.publish(tlsa(3, 1, 1, cred.x509), host=host)
    dns.zone.forged.add((name, TLSA))
    targets = [f"{host}:{dns.port}" for host in results] * 3
    r = dns.run("--check", "--json", "--ca", world.ca, *targets)
    docs = [document(line) for line in r.out.splitlines()]
    assert len(docs) == len(targets) + 1 and r.code == 26, r
    for d in docs:
        result = results[d["target"]["host"]]
        assert (d["dane"]["result"], d["exit_code"]) == (result, 0 if result == "matched" else 26), d


def test_starttls(rig, pki, dns):
    """A host without an MX record, by its own name; in talk mode, input goes to it."""
    server = rig.add(Scripted("smtp", tlsend.context(server=True, cred=pki.ecdsa)))
    port = server.addr[1]
    record = tlsa(3, 1, 1, pki.ecdsa.x509)
    dns.publish(record, port=port)
    smtp = ("--starttls", "smtp")
    r = dns.run(*smtp, port=port, stdin=b"hello")
    assert (r.code, r.out, r.err) == (0, b"hello", ""), r
    assert server.results() == [b"hello"]
    c = dns.check(*smtp, port=port).fine()
    assert c.doc["dane"] == {"result": "matched", "record": record}, c
    assert c.doc["starttls"] == {"protocol": "smtp", "done": True}, c


# --- aliases --------------------------------------------------------------------------


def test_record_is_an_alias(world, dns, cred):
    """As where many ports share one record."""
    dns.zone.tlsa("_all.example", tlsa(3, 1, 1, cred.x509))
    name = f"_{dns.port}._tcp.{HOST}"
    dns.zone.alias(name, "_all.example")
    assert dane(dns.check().fine()) == "matched"
    dns.zone.forged.add((name, CNAME))
    distrusted(dns.check("--ca", world.ca), 26, "bogus")


def test_host_is_an_alias(world, dns, cred):
    """The records are those of the name that was given."""
    dns.zone.alias("www.example", HOST)
    dns.publish(tlsa(3, 1, 1, cred.x509), host="www.example")
    assert dane(dns.check(host="www.example").fine()) == "matched"
    distrusted(dns.check("--ca", world.ca), 26, "no-records")


# --- none, or none to be believed -----------------------------------------------------


def test_none(world, dns):
    """The zone says so, and signs it: no such name, and a name without such records."""
    distrusted(dns.check("--ca", world.ca), 26, "no-records", "no TLSA records for " + HOST)
    dns.publish("3 1 1 " + "00" * 32, host="below." + f"_{dns.port}._tcp." + HOST)
    distrusted(dns.check("--ca", world.ca), 26, "no-records")
    r = dns.run("--ca", world.ca, stdin=b"secret")
    assert r.failed(26).said("no TLSA records for " + HOST), r


def test_none_that_can_be_used(world, dns):
    dns.publish("7 1 1 " + "00" * 32, "3 1 1 0000")
    distrusted(dns.check("--ca", world.ca), 26, "no-records", "could be used")


def test_broken_record(world, dns, cred):
    """Three bytes and nothing behind them. Who asks for us takes none of them then."""
    name = dns.publish(tlsa(3, 1, 1, cred.x509))
    dns.zone.add(name, TLSA, bytes([3, 1, 1]))
    c = distrusted(dns.check("--ca", world.ca), 10, "error", "TLSA records of " + HOST)
    assert "dns-root-data" not in c.text, c


def test_not_signed(world, dns, cred):
    dns.publish(tlsa(3, 1, 1, cred.x509), host=PLAIN)
    distrusted(dns.check("--ca", world.ca, host=PLAIN), 26, "insecure", "DNSSEC vouches for")
    assert dns.run("--ca", world.ca, host=PLAIN, stdin=b"secret").failed(26)
    c = dns.check(host=PLAIN)
    assert codes(c) == [20, 26] and dane(c) == "insecure", c


def test_forged(world, dns, cred):
    dns.zone.forged.add((dns.publish(tlsa(3, 1, 1, cred.x509)), TLSA))
    distrusted(dns.check("--ca", world.ca), 26, "bogus")
    assert dns.run("--ca", world.ca, stdin=b"secret").failed(26)


def test_signed_by_another(world, dns, cred):
    """The root's key is not that of the zone."""
    dns.publish(tlsa(3, 1, 1, cred.x509))
    dns.anchor = Zone().anchor
    distrusted(dns.check("--ca", world.ca), 26, "bogus")


def test_resolver_without_dnssec(world, dns, cred):
    dns.publish(tlsa(3, 1, 1, cred.x509))
    dns.serve(dnssec=False)
    distrusted(dns.check("--ca", world.ca), 26, "bogus", "resolver")


def test_taken_away(world, dns, cred):
    """Somebody on the way took the records out: nothing proves that there are none."""
    dns.zone.hidden.add((dns.publish(tlsa(3, 1, 1, cred.x509)), TLSA))
    distrusted(dns.check("--ca", world.ca), 26, "no-records")


# --- no answer ------------------------------------------------------------------------


def test_silent(world, dns, cred):
    name = dns.publish(tlsa(3, 1, 1, cred.x509))
    dns.serve(moods={TLSA: "silent"})
    c = dns.check("--ca", world.ca, timeout="700ms").within(0.7)
    assert c.is_fault(12, "dns", "TLSA").no_tls() and c.doc["dane"]["record"] is None, c
    assert dns.run("--ca", world.ca, timeout="700ms", stdin=b"secret").within(0.7).failed(12).said("TLSA")
    assert (name, TLSA, "udp") in dns.server.asked


@pytest.mark.parametrize("rcode", [SERVFAIL, REFUSED])
def test_server_fails(world, dns, cred, rcode):
    """Which is no answer, and says nothing of what there is."""
    dns.publish(tlsa(3, 1, 1, cred.x509))
    dns.serve(moods={TLSA: rcode})
    distrusted(dns.check("--ca", world.ca), 10, "error", "TLSA records of " + HOST)
    assert dns.run("--ca", world.ca, stdin=b"secret").failed(10)


def test_no_way_to_the_server(world, dns):
    """Nothing can be sent to a broadcast address. What we connect to, we know otherwise."""
    dns.serve().address = "255.255.255.255"
    distrusted(dns.check("--ca", world.ca, "--resolve", "127.0.0.1"), 10, "error", "TLSA records of " + HOST)


def test_nobody_there(world, dns):
    """An address where nobody listens. The look-up of the host fails at once, and that
    is what is wrong; libunbound hopes on."""
    dns.serve().server.stop()
    c = dns.check("--ca", world.ca).is_fault(10, "dns", "cannot resolve " + HOST).no_tls()
    assert dane(c) is None and c.spent_s < 5, c
    c = dns.check("--ca", world.ca, "--resolve", "127.0.0.1", timeout="700ms").within(0.7)
    assert c.is_fault(12, "dns", "TLSA").no_tls() and dane(c) is None, c


def test_no_such_host(world, dns):
    """That it has no records either is not what is wrong."""
    c = dns.check("--ca", world.ca, host="nobody.example").is_fault(10, "dns", "cannot resolve").no_tls()
    assert dane(c) is None, c


def test_no_server(rig, world, dns):
    c = dns.check("--ca", world.ca, port=rig.add(Refuser()).addr[1]).is_fault(11, "connect", "refused").no_tls()
    assert dane(c) is None, c


@pytest.mark.parametrize("text,code,result,says", [
    ("no key\n", 10, "error", "dns-root-data"), ("", 26, "insecure", "DNSSEC vouches for")])
def test_no_key_of_the_root(world, dns, cred, text, code, result, says):
    """As on a system without the package that has it."""
    dns.publish(tlsa(3, 1, 1, cred.x509))
    dns.anchor = text
    distrusted(dns.check("--ca", world.ca), code, result, says)
