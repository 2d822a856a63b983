# SPDX-License-Identifier: GPL-3.0-or-later
"""`connect --check`: what else can vouch for a server, or speak against it: revocation
lists, pins, TLSA records."""

import pytest

import peers
from checkpki import tlsa
from connects import Check, Run
from pki import DAY, NOW, pem_cert

SITES = ("good", "deep", "revoked", "wronghost", "expired", "selfsigned", "three_faults", "withroot", "strange_root",
         "alone")


@pytest.fixture(scope="module")
def at(shared, world):
    """A function: the address of the server that shows this certificate."""
    half = len(SITES) // 2
    ports = {"rsa1024": shared.start(peers.OpensslSite(world.rsa1024)).port}
    for kind, names in ((peers.NginxSites, SITES[:half]), (peers.HaproxySites, SITES[half:])):
        ports.update(shared.start(kind({n: (getattr(world, n), "") for n in names})).ports)
    return lambda name: f"localhost:{ports[name]}"


def codes(check):
    return [e["code"] for e in check.doc["errors"]]


def faults(check):
    return {i: [f["name"] for f in c["faults"]] for i, c in enumerate(check.doc["chain_sent"]) if c["faults"]}


# --- revocation lists -----------------------------------------------------------------


def test_revoked_by_a_list(world, at):
    crl = world.crl("revoked.crl", world.middle, world.revoked.x509)
    args = ("--ca", world.ca, "--crl", crl, at("revoked"))
    c = Check(*args)
    assert (c.code, codes(c), faults(c)) == (23, [23], {0: ["revoked"]}), c
    assert c.doc["verify"]["status"] == ["revoked"] and c.doc["verify"]["ok"] is False
    text = Run("--check", *args)
    assert text.code == 23 and b"revoked" in text.out.splitlines()[0] and b"was revoked by its issuer" in \
        b" ".join(text.out.split()), text


def test_intermediate_revoked_by_a_list(world, at):
    crl = world.crl("upper.crl", world.root, world.upper.x509)
    c = Check("--ca", world.ca, "--crl", crl, at("deep"))
    assert (c.code, codes(c), faults(c)) == (23, [23], {2: ["revoked"]}), c
    assert "CN=upper" in c.text


def test_others_of_a_list_are_revoked(world, at):
    """The other certificates of that CA stand as before."""
    crl = world.crl("others.crl", world.middle, world.revoked.x509)
    Check("--ca", world.ca, "--crl", crl, at("good")).fine()


def test_two_lists_in_one_file(world, at):
    both = b"".join(open(world.crl(f"two-{ca.name}", ca, cert), "rb").read() for ca, cert in (
        (world.middle, world.revoked.x509), (world.root, world.upper.x509)))
    crl = world.file("two.crl", both)
    assert codes(Check("--ca", world.ca, "--crl", crl, at("revoked"))) == [23]
    assert codes(Check("--ca", world.ca, "--crl", crl, at("deep"))) == [23]


def test_revoked_and_more(world, at):
    """Revocation decides, the rest is listed: also the name."""
    crl = world.crl("more.crl", world.middle, world.wronghost.x509)
    c = Check("--ca", world.ca, "--crl", crl, at("wronghost"))
    assert (c.code, sorted(codes(c))) == (23, [21, 23]), c


def test_revoked_by_a_list_that_is_out_of_date(world, at):
    """What was revoked stays so."""
    crl = world.crl("old.crl", world.middle, world.revoked.x509, start=NOW - 9 * DAY, end=NOW - 2 * DAY)
    assert codes(Check("--ca", world.ca, "--crl", crl, at("revoked"))) == [23]


def test_a_list_that_is_out_of_date(world, at):
    """It proves nothing any more for those that are not on it, and somebody should
    hear of that."""
    crl = world.crl("older.crl", world.middle, world.revoked.x509, start=NOW - 9 * DAY, end=NOW - 2 * DAY)
    c = Check("--ca", world.ca, "--crl", crl, at("good"))
    said = c.text + " ".join(c.doc["warnings"])
    assert "CRL" in said or "revocation list" in said, c


@pytest.mark.parametrize("data", [None, b"", b"-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n"])
def test_no_list(world, at, data):
    crl = world.path + "/there-is-none.crl" if data is None else world.file("broken.crl", data)
    r = Run("--json", "--ca", world.ca, "--crl", crl, at("good"))
    assert r.code == 2 and crl in r.err and r.out.count(b"\n") == 1, r


# --- pins -----------------------------------------------------------------------------


def test_pin_alone_is_enough(world, at):
    """Chain, name and dates do not count then; what is wrong with them is told."""
    c = Check("--pin", world.three_faults.pin, at("three_faults"))
    assert (c.code, codes(c)) == (0, []), c
    verify = c.doc["verify"]
    assert (verify["performed"], verify["ok"], verify["by"]) == (True, True, "pin")
    assert set(verify["status"]) == {"untrusted", "name", "time"}
    assert len(c.doc["warnings"]) >= 2, c


def test_one_of_several_pins(world, at):
    Check("--pin", world.rsa1024.pin, "--pin", world.good.pin, at("good")).fine()


def test_wrong_pin(world, at):
    args = ("--pin", world.rsa1024.pin, at("good"))
    c = Check(*args)
    assert (c.code, codes(c)) == (26, [26]), c
    assert world.good.pin in c.text
    assert b"not the key that was pinned" in Run("--check", *args).out


def test_pin_of_an_issuer_is_none_of_the_server(world, at):
    assert codes(Check("--pin", world.middle.pin, at("good"))) == [26]


@pytest.mark.parametrize("server,pinned,want", [
    ("good", "good", []), ("good", "rsa1024", [26]), ("wronghost", "wronghost", [21]), ("wronghost", "good", [21, 26]),
    ("selfsigned", "selfsigned", [20]), ("expired", "good", [22, 26]),
])
def test_pin_and_ca(world, at, server, pinned, want):
    """Both must hold."""
    c = Check("--ca", world.ca, "--pin", getattr(world, pinned).pin, at(server))
    assert sorted(codes(c)) == want and c.code == (want[0] if want else 0), c


def test_the_pin_that_is_printed(world, at):
    """--print-pin writes what --pin takes and nothing else, whoever the server is."""
    r = Run("--print-pin", "--ca", world.ca, at("good"))
    assert (r.code, r.out.decode(), r.err) == (0, world.good.pin + "\n", ""), r
    r = Run("--print-pin", at("selfsigned"))
    assert (r.code, r.out.decode()) == (20, world.selfsigned.pin + "\n") and "self-signed" in r.err, r
    Check("--pin", r.out.decode().strip(), at("selfsigned")).fine()


# --- TLSA records ---------------------------------------------------------------------


@pytest.mark.parametrize("usage,selector,matching", [
    (3, 1, 1), (3, 0, 1), (3, 1, 2), (3, 0, 0), (3, 1, 0), (1, 1, 1), (1, 0, 2)])
def test_tlsa_of_the_server(world, at, usage, selector, matching):
    record = tlsa(usage, selector, matching, world.good.x509)
    c = Check("--ca", world.ca, "--tlsa", record, at("good")).fine()
    assert c.doc["dane"] == {"result": "matched", "record": record} and c.doc["verify"]["by"] == "dane"


@pytest.mark.parametrize("usage,ca,server", [
    (2, "root", "withroot"), (2, "middle", "good"), (0, "middle", "good"), (0, "root", "good"), (2, "upper", "deep")])
def test_tlsa_of_an_issuer(world, at, usage, ca, server):
    record = tlsa(usage, 1, 1, getattr(world, ca).x509)
    assert Check("--ca", world.ca, "--tlsa", record, at(server)).fine().doc["dane"]["record"] == record


@pytest.mark.parametrize("usage,of", [(3, "rsa1024"), (3, "middle"), (1, "middle"), (2, "good"), (2, "upper"),
                                      (0, "upper"), (0, "good")])
def test_tlsa_of_another(world, at, usage, of):
    args = ("--ca", world.ca, "--tlsa", tlsa(usage, 1, 1, getattr(world, of).x509), at("good"))
    c = Check(*args)
    assert (c.code, codes(c)) == (26, [26]) and c.doc["dane"] == {"result": "no-match", "record": None}, c
    text = Run("--check", *args)
    assert text.code == 26 and b"not what DANE says" in text.out, text


def test_one_of_several_records(world, at):
    records = [tlsa(3, 1, 1, world.rsa1024.x509), tlsa(2, 1, 1, world.other.x509), tlsa(3, 1, 1, world.good.x509)]
    args = [x for r in records for x in ("--tlsa", r)]
    assert Check("--ca", world.ca, *args, at("good")).fine().doc["dane"]["record"] == records[2]
    c = Check("--ca", world.ca, *args[:4], at("good"))
    assert codes(c) == [26] and c.doc["dane"]["result"] == "no-match", c


@pytest.mark.parametrize("server", ["three_faults", "wronghost", "expired", "selfsigned", "alone"])
def test_dane_ee_needs_nothing_else(world, at, server):
    """Neither name nor dates nor a CA (RFC 7671, 5.1), and no --ca either."""
    record = tlsa(3, 1, 1, getattr(world, server).x509)
    for ca in (), ("--ca", world.ca):
        c = Check(*ca, "--tlsa", record, at(server)).fine()
        assert c.doc["errors"] == [] and c.doc["verify"]["by"] == "dane", c


def test_dane_ee_excuses_no_weak_key(world, at):
    assert codes(Check("--tlsa", tlsa(3, 1, 1, world.rsa1024.x509), at("rsa1024"))) == [25]


def test_dane_ta_needs_name_and_dates(world, at):
    """With usage 2 the issuer is trusted for that alone; the name counts (RFC 7671,
    5.2), and so do the dates."""
    record = tlsa(2, 1, 1, world.middle.x509)
    Check("--tlsa", record, at("good")).fine()
    Check("--tlsa", tlsa(2, 0, 1, world.other.x509), at("strange_root")).fine()
    assert 21 in codes(Check("--tlsa", record, at("wronghost")))
    assert {22, 26} <= set(codes(Check("--tlsa", record, at("expired"))))


def test_dane_ta_that_was_not_sent(world, at):
    """A root can be held against the record only where it is: in --ca."""
    record = tlsa(2, 1, 1, world.root.x509)
    Check("--tlsa", record, "--ca", world.ca, at("good")).fine()
    assert 26 in codes(Check("--tlsa", record, at("good")))


def test_usage_1_needs_the_path_too(world, at):
    c = Check("--tlsa", tlsa(1, 1, 1, world.selfsigned.x509), "--ca", world.ca, at("selfsigned"))
    assert (c.code, sorted(codes(c))) == (20, [20, 26]), c


def test_record_with_blanks(world, at):
    """As dig prints it, in capitals."""
    head, digits = tlsa(3, 1, 1, world.good.x509).rsplit(" ", 1)
    Check("--tlsa", f"{head} {digits[:20].upper()} {digits[20:].upper()}", at("good")).fine()


@pytest.mark.parametrize("record", ["", "3 1 1", "3 1 1 xyz", "3 1 1 ab", "4 1 1 " + 64 * "a",
                                    "3 1 1 " + 63 * "a", "ab"])
def test_bad_record(at, record):
    r = Run("--json", "--tlsa", record, at("good"))
    assert r.code == 2 and "--tlsa" in r.err and r.out.count(b"\n") == 1, r


def test_saved_ca_file_may_hold_more(world, at):
    """--ca takes several roots and what else stands in the file."""
    ca = world.file("several.pem", b"# ours\n" + pem_cert(world.other.x509) + b"\ntext\n" + pem_cert(world.root.x509))
    Check("--ca", ca, at("good")).fine()
