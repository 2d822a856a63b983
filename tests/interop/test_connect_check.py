# SPDX-License-Identifier: GPL-3.0-or-later
"""`connect --check`: a server's certificates, good ones and one for each thing that can
be wrong with them, shown by OpenSSL, GnuTLS, nginx and haproxy."""

import base64
import calendar
import time

import pytest

import checkpki
import peers
from connects import Check, Run

# What is sent (checkpki), the server, the codes of all errors (the first decides), the
# faults of each certificate as sent, the path (indexes of what was sent; None: from the
# trust store), chain's (ordered, complete, has_root), and what the text report says.
FINE, GAP, ROOT, MIXED = (True, True, False), (True, False, False), (True, True, True), (False, True, False)
CASES = [
    ("good", "nginx", [], {}, [0, 1, None], FINE, ["is fine", "by certificate for localhost"]),
    ("ed25519", "nginx", [], {}, [0, 1, None], FINE, ["Ed25519"]),
    ("expired", "nginx", [22], {0: ["expired"]}, [0, 1, None], FINE, ["expired", "1 day ago: renew it"]),
    ("selfsigned", "nginx", [20], {0: ["self-signed"]}, [0], FINE,
     ["not trusted", "vouches for itself (self-signed)", "accept it with --ca or --pin"]),
    ("three_faults", "nginx", [20, 21, 22], {0: ["self-signed", "wrong-name", "expired"]}, [0], FINE,
     ["not trusted, wrong name, expired", "is not for localhost, but for other.test"]),
    ("backwards", "nginx", [], {1: ["out-of-order"], 2: ["out-of-order"]}, [0, 2, 1, None], MIXED,
     ["out of order", "stands in the wrong place"]),
    ("withroot", "nginx", [], {2: ["extra-root"]}, [0, 1, 2], ROOT, ["with the root", "the server may leave it out"]),
    ("many", "nginx", [], {}, [0, 1, None], FINE, ["is fine", "by certificate for localhost"]),
    ("below_for_clients", "nginx", [20], {1: ["wrong-purpose"]}, [0, 1, None], FINE,
     ["for clients may not issue certificates for TLS servers"]),

    ("by_root", "openssl", [], {}, [0, None], FINE, ["is fine"]),
    ("notyet", "openssl", [22], {0: ["not-yet-valid"]}, [0, 1, None], FINE, ["not yet valid", "clock of this machine"]),
    ("wronghost", "openssl", [21], {0: ["wrong-name"]}, [0, 1, None], FINE,
     ["wrong name", "is not for localhost, but for other.test and www.other.test"]),
    ("alone", "openssl", [20], {0: ["issuer-missing"]}, [0], GAP,
     ["was issued by CN=middle, whose certificate was not sent", "the server should send that intermediate certificate",
      "http://ca.test/middle.der"]),
    ("rsa1024", "openssl", [25], {0: ["weak-key"]}, [0, 1, None], FINE, ["RSA 1024", "too short", "make a new key"]),
    ("sha1", "openssl", [25], {0: ["weak-signature"]}, [0, 1, None], FINE,
     ["RSA-SHA1", "have it issued again with SHA-256"]),
    ("below_sha1", "openssl", [25], {1: ["weak-signature"]}, [0, 1, 2, None], FINE, ["CN=sha1 middle is signed with"]),
    ("below_small", "openssl", [25], {1: ["weak-key"]}, [0, 1, None], FINE, ["CN=small has a key (RSA 1024)"]),
    ("twice", "openssl", [], {2: ["duplicate"]}, [0, 1, None], FINE, ["was sent before: once is enough"]),
    ("altered", "openssl", [20], {0: ["bad-signature"]}, [0, 1, None], FINE, ["altered or forged"]),
    ("critical", "openssl", [20], {0: ["critical-extension"]}, [0, 1, None], FINE, ["an extension marked critical"]),
    ("below_good", "openssl", [20], {1: ["not-ca"]}, [0, 1, 2, None], FINE, ["is not the certificate of a CA"]),
    ("longlife", "openssl", [], {0: ["long-life"]}, [0, 1, None], FINE, ["days that browsers accept from a public CA"]),

    ("rsa", "gnutls", [], {}, [0, 1, None], FINE, ["RSA 3072"]),
    ("deep", "gnutls", [], {}, [0, 1, 2, None], FINE, ["3 certificates, in order, complete"]),
    ("clientonly", "gnutls", [20], {0: ["wrong-purpose"]}, [0, 1, None], FINE, ["is not for TLS servers"]),
    ("nosan", "gnutls", [21], {0: ["no-san"]}, [0, 1, None], FINE, ["lacks the list of names"]),
    ("strange_root", "gnutls", [20], {1: ["untrusted-root", "extra-root"]}, [0, 1], ROOT,
     ["not among those trusted here", "name its certificate with --ca"]),
    ("gap", "gnutls", [20], {1: ["issuer-missing"]}, [0, 1], GAP, ["CN=lower was issued by CN=upper"]),
    ("below_over", "gnutls", [22], {1: ["expired"]}, [0, 1, None], FINE,
     ["CN=over expired on", "2 days ago", "the server should send the present one"]),
    ("below_elsewhere", "gnutls", [20], {0: ["constrained"]}, [0, 1, None], FINE,
     ["a name for which CN=elsewhere may not certify anybody (name constraints)"]),
    ("muststaple", "gnutls", [24], {}, [0, 1, None], FINE,
     ["no valid OCSP staple", "switch stapling on", "must-staple"]),
    ("sixday", "gnutls", [], {}, [0, 1, None], FINE, ["4 days left", "valid for 4 days (83 % left)"]),

    ("only_v4", "haproxy", [21], {0: ["wrong-name"]}, [0, 1, None], FINE, ["is not for localhost, but for 127.0.0.1"]),
    ("below_here", "haproxy", [], {}, [0, 1, None], FINE, ["is fine"]),
    ("below_beneath", "haproxy", [20], {1: ["constrained"]}, [0, 1, 2, None], FINE,
     ["CN=short may not certify that many CAs below itself"]),
    ("crossed_over", "haproxy", [], {2: ["expired"]}, [0, 1, None], FINE,
     ["is fine", "clients do not need it, since another path is valid"]),
    ("crossed", "haproxy", [], {}, [0, 1, None], FINE, ["is fine"]),
    ("withuseless", "haproxy", [], {2: ["useless"]}, [0, 1, None], FINE, ["the server should leave it out"]),
    ("scts", "haproxy", [], {}, [0, 1, None], FINE, ["3: 3 in the certificate"]),
    ("badscts", "haproxy", [], {}, [0, 1, None], FINE, ["the certificate's list of SCTs"]),
]
STATUS = {20: "untrusted", 21: "name", 22: "time", 25: "weak"}  # verify.status
KINDS = {name: kind for name, kind, *_ in CASES}


@pytest.fixture(scope="module")
def port(shared, world):
    """A function: the port of the server that shows this certificate."""
    ports = {}

    def alone(name, make):
        if name not in ports:
            ports[name] = shared.start(make(getattr(world, name))).port
        return ports[name]

    def look(name):
        if KINDS[name] == "openssl":
            return alone(name, peers.OpensslSite)
        if KINDS[name] == "gnutls":
            return alone(name, peers.GnutlsServ)
        if name not in ports:
            sites = {n: (getattr(world, n), "") for n, kind in KINDS.items() if kind == KINDS[name]}
            kind = peers.NginxSites if KINDS[name] == "nginx" else peers.HaproxySites
            ports.update(shared.start(kind(sites)).ports)
        return ports[name]
    return look


# --- one case each --------------------------------------------------------------------


def epoch(cert, which):
    at = getattr(cert, which + "_utc", None)
    return int(at.timestamp() if at else (getattr(cert, which) - checkpki.EPOCH).total_seconds())


def same_certificate(said, cert):
    """What is said of a certificate, against another reader's view of it."""
    assert said["fingerprint_sha256"] == checkpki.fingerprint(cert)
    assert said["serial"].lstrip("0") == f"{cert.serial_number:x}"
    assert (said["not_before_epoch_s"], said["not_after_epoch_s"]) == \
        (epoch(cert, "not_valid_before"), epoch(cert, "not_valid_after"))
    for end in "not_before", "not_after":
        assert said[end + "_epoch_s"] == calendar.timegm(time.strptime(said[end], "%Y-%m-%dT%H:%M:%SZ"))
    assert said["subject"] == "CN=" + checkpki.common_name(cert)


def all_sent(doc, cred):
    sent = doc["chain_sent"]
    assert len(sent) == len(cred.sent)
    for said, cert in zip(sent, cred.sent, strict=True):
        same_certificate(said, cert)
    assert [c["is_ca"] for c in sent] == [i > 0 and c["subject"] != "CN=localhost" for i, c in enumerate(sent)]
    assert "sha256:" + sent[0]["pin_sha256"] == cred.pin
    assert [n.split(":", 1)[1] for n in sent[0]["names"]] == cred.names
    assert all(c["names"] is None for c in sent[1:])


def path_is(doc, want):
    path, sent = doc["verify"]["path"], doc["chain_sent"]
    assert [p["sent_index"] for p in path] == want
    assert [i for i, c in enumerate(sent) if c["on_path"]] == sorted(i for i in want if i is not None)
    for p in path:
        if p["sent_index"] is not None:
            same = sent[p["sent_index"]]
            assert all(p[k] == same[k] for k in p if k != "sent_index"), (p, same)


def days_are(doc):
    """Until the first of the path expires, and its part of the lifetime."""
    now = doc["started_epoch_s"]
    sent = doc["chain_sent"]
    first = min(doc["verify"]["path"], key=lambda p: p["not_after_epoch_s"])
    left = first["not_after_epoch_s"] - now
    assert abs(doc["chain"]["days_left"] - left / 86400) < 0.01, doc["chain"]
    if first["sent_index"] is not None:
        start = sent[first["sent_index"]]["not_before_epoch_s"]
        assert abs(doc["chain"]["percent_left"] - 100 * left / (first["not_after_epoch_s"] - start)) < 0.1, doc["chain"]


def plain(text):
    """Without line breaks."""
    return " ".join(text.split())


@pytest.mark.parametrize("name,kind,codes,faults,path,chain,words", CASES, ids=[c[0] for c in CASES])
def test_chain(port, world, name, kind, codes, faults, path, chain, words):
    args = ("--ca", world.ca, f"localhost:{port(name)}")
    c = Check(*args)
    doc, verify = c.doc, c.doc["verify"]
    assert (c.code, c.err) == (codes[0] if codes else 0, ""), c
    assert [e["code"] for e in doc["errors"]] == codes and {e["stage"] for e in doc["errors"]} <= {"verify"}, c
    all_sent(doc, getattr(world, name))
    got = {i: {f["name"] for f in cert["faults"]} for i, cert in enumerate(doc["chain_sent"]) if cert["faults"]}
    assert got == {i: set(names) for i, names in faults.items()}, c
    path_is(doc, path)
    days_are(doc)
    assert tuple(doc["chain"][k] for k in ("ordered", "complete", "has_root")) == chain
    assert (verify["performed"], verify["ok"], verify["by"]) == (True, not codes, "certificate")
    assert verify["status"] == [STATUS[k] for k in codes if k in STATUS]
    assert verify["matched_name"] == (None if 21 in codes else "dns:localhost")
    named_in_text(Run("--check", *args), doc, words)


def named_in_text(r, doc, words):
    """The report for people has the same code, each error, and these words."""
    said = plain(r.out.decode())
    assert (r.code, r.err) == (doc["exit_code"], ""), r
    for text in [e["message"] for e in doc["errors"]] + doc["warnings"]:
        assert plain(text) in said, (text, r)
    for w in words:
        assert w in said, (w, r)


def test_the_report_of_a_good_server_is_short(port, world):
    """Verdict first, all on one screen; what is fine needs no colours in a pipe."""
    r = Run("--check", "--ca", world.ca, f"localhost:{port('good')}", env={"TERM": "xterm-256color"})
    lines = r.out.decode().splitlines()
    assert lines[0].endswith(f"localhost:{port('good')} is fine") and len(lines) <= 24, r
    assert "\x1b" not in r.out.decode()


# --- trust decides which path there is ------------------------------------------------


def test_cross_signed_by_an_older_root(port, world):
    """Who trusts the elder CA alone gets there over the cross-signed certificate."""
    c = Check("--ca", world.elder.cert, f"localhost:{port('crossed')}").fine()
    path_is(c.doc, [0, 1, 2, None])


def test_expired_cross_signed_certificate_on_the_only_path(port, world):
    c = Check("--ca", world.old.cert, f"localhost:{port('crossed_over')}")
    assert c.code == 22 and {e["code"] for e in c.doc["errors"]} == {22}, c
    path_is(c.doc, [0, 1, 2, None])
    assert c.doc["chain"]["days_left"] < 0


def test_intermediate_that_is_trusted_ends_the_path(port, world):
    """As with --ca of an intermediate: the root need not be known."""
    c = Check("--ca", world.middle.cert, f"localhost:{port('good')}").fine()
    path_is(c.doc, [0, 1])


def test_certificate_that_is_trusted_itself(port, world):
    c = Check("--ca", world.selfsigned.cert, f"localhost:{port('selfsigned')}").fine()
    path_is(c.doc, [0])
    assert c.doc["chain_sent"][0]["faults"] == []


def test_nothing_is_trusted_by_the_system(port):
    """Without --ca the system's store counts, which does not know these CAs."""
    c = Check(f"localhost:{port('good')}")
    assert [e["code"] for e in c.doc["errors"]] == [20] and c.doc["chain"]["complete"] is False, c


# --- names ----------------------------------------------------------------------------


@pytest.mark.parametrize("cred,name,matched", [
    ("good", "127.0.0.1", "ip:127.0.0.1"), ("good", "::1", "ip:::1"), ("good", "127.0.0.2", None),
    ("good", "LocalHost", "dns:localhost"),
    ("only_v4", "127.0.0.1", "ip:127.0.0.1"), ("only_v4", "::1", None),
    ("only_v6", "::1", "ip:::1"), ("only_v6", "0:0:0:0:0:0:0:1", "ip:::1"), ("only_v6", "127.0.0.1", None),
    ("wildcard", "a.wild.test", "dns:*.wild.test"), ("wildcard", "A.WILD.test", "dns:*.wild.test"),
    ("wildcard", "wild.test", None), ("wildcard", "a.b.wild.test", None), ("wildcard", "awild.test", None),
    ("idn", checkpki.IDN_ASCII, "dns:" + checkpki.IDN_ASCII), ("idn", checkpki.IDN, "dns:" + checkpki.IDN_ASCII),
    ("many", "host-1999.example.test", "dns:host-1999.example.test"), ("many", "host-2000.example.test", None),
    ("nosan", "other.test", None),
])
def test_name(names, world, cred, name, matched):
    c = Check("--ca", world.ca, "--verify-name", name, f"localhost:{names[cred]}")
    assert {e["code"] for e in c.doc["errors"]} == (set() if matched else {21}), c
    assert c.doc["verify"]["matched_name"] == matched, c


@pytest.fixture(scope="module")
def names(shared, world):
    """Ports of an nginx."""
    sites = ("good", "only_v4", "only_v6", "wildcard", "idn", "many", "nosan")
    return shared.start(peers.NginxSites({n: (getattr(world, n), "") for n in sites})).ports


# --- SCTs -----------------------------------------------------------------------------


def test_scts(port, world):
    sct = Check("--ca", world.ca, f"localhost:{port('scts')}").fine().doc["sct"]
    assert sct["count"] == 3
    assert [(base64.b64decode(s["log_id"]), s["timestamp_epoch_s"], s["origin"]) for s in sct["list"]] == \
        [(log, at // 1000, "certificate") for log, at in world.LOGS]
    assert sct["list"][0]["timestamp"] == "2023-11-14T22:13:20.001Z"


def test_no_scts(port, world):
    assert Check("--ca", world.ca, f"localhost:{port('good')}").fine().doc["sct"] == {"count": 0, "list": []}


def test_malformed_scts_are_a_warning(port, world):
    c = Check("--ca", world.ca, f"localhost:{port('badscts')}").fine()
    assert c.doc["sct"]["count"] == 0 and any("SCT" in w for w in c.doc["warnings"]), c


# --- without verification -------------------------------------------------------------


@pytest.mark.parametrize("name", ["three_faults", "alone", "rsa1024"])
def test_without_verification_faults_are_warnings(port, world, name):
    c = Check("--insecure-no-verify", f"localhost:{port(name)}")
    assert (c.code, c.doc["errors"]) == (0, []), c
    assert (c.doc["verify"]["performed"], c.doc["verify"]["ok"]) == (False, None)
    assert len(c.doc["warnings"]) >= {"three_faults": 3}.get(name, 1), c
    text = Run("--check", "--insecure-no-verify", f"localhost:{port(name)}")
    assert text.code == 0 and b"not verified" in text.out, text
