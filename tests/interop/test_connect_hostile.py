# SPDX-License-Identifier: GPL-3.0-or-later
"""`tlskit connect` and servers that do not mean well, or are broken: each run ends by
its deadline, with a code that says where, one valid JSON object, and no CPU used."""

import random
import ssl

import pytest

import ends
import hostiles
import servers
import tlsend
from connects import MARGIN, Check, Run, document, together
from hostiles import Act, Middle, TlsAct, after_hello, hold, message, record, resets, says

TIMEOUT = ("--timeout", "500ms")
RANDOM = random.Random(3)
HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
MANY = 10 << 20
RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")  # RFC 8446, 4.1.3

# what the server does, and the code: all of it before TLS is agreed on
NOT_TLS = {
    "closes on accept": lambda conn: None,
    "closes after the hello": after_hello(),
    "resets after the hello": after_hello(then=resets),
    "http": says(HTTP),
    "http after the hello": after_hello(HTTP),
    "a page": says(b"<html><body>hello</body></html>\n"),
    "ssh": says(b"SSH-2.0-OpenSSH_9.2p1\r\n"),
    "smtp": says(b"220 mail.test ESMTP\r\n", hold),
    "escape sequences": says(b"\x1b[31m\x1b]0;title\x07\x9b31m\r\n"),
    "ten megabytes": says(b"220-" + b"x" * MANY),
    "zeros": says(bytes(4096)),
    "random": says(bytes([0]) + RANDOM.randbytes(4096)),
    "random behind a record's type": says(b"\x16\x03\x03\x02\x00" + RANDOM.randbytes(4096)),
    "random behind a hello's type": after_hello(record(22, b"\x02\x00\x01\xfa" + RANDOM.randbytes(506))),
    "sslv2": says(bytes.fromhex("802e0100020015000000100100800200800300800400800500800600400700c0") + bytes(16)),
    "dtls": says(bytes.fromhex("16fefd0000000000000000") + b"\x00\x50" + bytes(80)),
    "half a record header": after_hello(b"\x16\x03"),
    "half a record": after_hello(record(22, b"\x02\x00\x00\x50", length=84)),
    "a record over the limit": after_hello(record(22, bytes(20000))),
    "a record of 65535": after_hello(record(22, b"\x02" + bytes(65534))),
    "empty records": after_hello(record(22, b"") * 5000),
    "empty data records": after_hello(record(23, b"") * 5000),
    "a message of 2^24": after_hello(record(22, b"\x02\xff\xff\xff" + bytes(16000)), record(22, bytes(16000)) * 1050),
    "a certificate of 2^24": after_hello(hostiles.server_hello, record(22, b"\x0b\xff\xff\xff" + bytes(16000)) * 100),
    "data": after_hello(record(23, b"hello")),
    "ccs": after_hello(record(20, b"\x01") * 5000),
    "an odd ccs": after_hello(record(20, b"\x02\x02")),
    "heartbeat": after_hello(record(24, b"\x01\x40\x00")),
    "its own hello back": after_hello(lambda hello: hello),
    "a request to renegotiate": after_hello(record(22, message(0, b""))),
    "an empty hello": after_hello(record(22, message(2, b""))),
    "a finished": after_hello(record(22, message(20, bytes(32)))),
    "unknown version": after_hello(lambda h: hostiles.server_hello(h, version=0x0505, extensions=b"")),
    "ssl 3": after_hello(lambda h: hostiles.server_hello(h, version=0x0300, extensions=b"", suite=0x000a)),
    "tls 1.1": after_hello(lambda h: hostiles.server_hello(h, version=0x0302, extensions=b"", suite=0xc013)),
    "unknown version, new way": after_hello(
        lambda h: hostiles.server_hello(h, extensions=bytes.fromhex("002b00020399") + hostiles.KEY_SHARE)),
    "suite not offered": after_hello(lambda h: hostiles.server_hello(h, suite=0x1399)),
    "null suite": after_hello(lambda h: hostiles.server_hello(h, suite=0x0000, extensions=b"")),
    "export suite": after_hello(lambda h: hostiles.server_hello(h, suite=0x0003, extensions=b"")),
    "session that is not ours": after_hello(
        lambda h: hostiles.server_hello(h[:44] + bytes(32) + h[76:] if h[43] == 32 else h[:43] + b"\x20" + bytes(32))),
    "no key share": after_hello(lambda h: hostiles.server_hello(h, extensions=hostiles.SUPPORTED_VERSIONS_13)),
    "extension not offered": after_hello(
        lambda h: hostiles.server_hello(h, extensions=b"\xfa\xfa\x00\x00" + hostiles.SUPPORTED_VERSIONS_13)),
    "extensions with a bad length": after_hello(
        lambda h: hostiles.server_hello(h, extensions=bytes.fromhex("002bffff0304"))),
    "retry for nothing": after_hello(lambda h: hostiles.server_hello(h, random=RETRY)),
    "a hello twice": after_hello(hostiles.server_hello, hostiles.server_hello),
    "a hello, then in the clear": after_hello(hostiles.server_hello, record(22, message(8, b"\x00\x00"))),
    "a hello, then junk": after_hello(hostiles.server_hello, record(23, bytes(100))),
    "a hello, then nothing": after_hello(hostiles.server_hello),
    "a hello, then a reset": after_hello(hostiles.server_hello, then=resets),
}

# the same, where only the deadline can end it
SILENT = {
    "nothing": hold,
    "a byte at a time": hostiles.drips(b"\x16\x03\x03\x00\x7a" + bytes(200), 0.1),
    "half a header": after_hello(b"\x16\x03", then=hold),
    "half a record": after_hello(record(22, b"\x02\x00\x00\x50", length=84), then=hold),
    "a hello, no more": after_hello(hostiles.server_hello, then=hold),
}

NAMES = {
    0: "close_notify", 10: "unexpected_message", 20: "bad_record_mac", 21: "decryption_failed", 22: "record_overflow",
    30: "decompression_failure", 40: "handshake_failure", 42: "bad_certificate", 43: "unsupported_certificate",
    44: "certificate_revoked", 45: "certificate_expired", 46: "certificate_unknown", 47: "illegal_parameter",
    48: "unknown_ca", 49: "access_denied", 50: "decode_error", 51: "decrypt_error", 60: "export_restriction",
    70: "protocol_version", 71: "insufficient_security", 80: "internal_error", 86: "inappropriate_fallback",
    90: "user_canceled", 100: "no_renegotiation", 109: "missing_extension", 110: "unsupported_extension",
    111: "certificate_unobtainable", 112: "unrecognized_name", 115: "unknown_psk_identity",
    116: "certificate_required", 120: "no_application_protocol",
}


@pytest.fixture
def check(rig, pki):
    """A function: check(act, ARG…) is a Check of a server that does so."""
    def run(act, *args, run=lambda *a: Check("--ca", pki.ca, *a)):
        return run(*(args or TIMEOUT), rig.add(Act(act)).target)
    return run


@pytest.fixture
def talk(check, pki):
    def run(act, *args):
        return check(act, *args, run=lambda *a: Run("--ca", pki.ca, *a, stdin=b"secret"))
    return run


def test_what_is_not_tls(check):
    def one(act):
        c = check(act, "--timeout", "5s").is_fault(15, "handshake").no_tls()
        assert c.doc["starttls"] == {"protocol": None, "done": None} and c.doc["address"]["family"] == 4, c
        assert c.doc["timing_ms"]["connect"] is not None and c.doc["timing_ms"]["total"] > 0, c
        return c.idle()
    got = together({name: lambda act=act: one(act) for name, act in NOT_TLS.items()})
    for name in "http", "http after the hello":
        assert "this looks like HTTP" in got[name].text, got[name]


def test_what_is_not_tls_in_talk_mode(talk):
    names = [n for i, n in enumerate(NOT_TLS) if i % 3 == 0 or "http" in n or "close" in n]
    got = together({n: lambda n=n: talk(NOT_TLS[n], "--timeout", "5s").failed(15).idle() for n in names})
    got["http"].said("this looks like HTTP")


def test_reset_on_accept(check):
    """The reset may come before the connect is noticed."""
    c = check(resets)
    assert c.code in (11, 15), c
    c.no_tls()


def test_silence(check, talk):
    jobs = {name: lambda a=act: check(a).within(0.5).is_fault(12, "handshake").no_tls() for name, act in SILENT.items()}
    jobs["talk"] = lambda: talk(hold).within(0.5).failed(12)
    got = together(jobs)
    for name in "nothing", "talk":
        text = got[name].err if name == "talk" else got[name].text
        assert "handshake" in text or "TLS" in text, got[name]


def test_reaching_nobody(rig, pki):
    """DNS, refusal, and a connect that hangs: each its own code."""
    hole = rig.add(servers.BlackHole())
    refuser = rig.add(servers.Refuser())

    def both(code, stage, target, *words):
        args = ("--ca", pki.ca, *TIMEOUT, "--verify-name", "localhost", target)
        c = Check(*args).is_fault(code, stage, *words).no_tls().idle()
        Run(*args, stdin=b"secret").failed(code).said(*words)
        assert c.doc["tls"] is None and c.doc["timing_ms"]["handshake"] is None, c
        return c
    together({
        "dns": lambda: both(10, "dns", "no-such-host.invalid", "no-such-host.invalid"),
        "refused": lambda: both(11, "connect", refuser.target, refuser.target, "refused"),
        "no unix socket": lambda: both(11, "connect", f"unix:{rig.tmp}/nobody", "nobody"),
        "hangs": lambda: both(12, "connect", hole.target, hole.target).within(0.5),
    })


@pytest.mark.parametrize("level", [2, 1], ids=["fatal", "warning"])
def test_every_alert(check, level):
    """As the answer to the hello. A warning may be passed over, and the end then tells."""
    def one(description):
        c = check(after_hello(hostiles.alert(level, description)), "--timeout", "5s")
        c.is_fault(15, "handshake").no_tls()
        a = c.doc["alert"]
        if level == 1 or description == 0:
            assert a is None or a["description"] == description, c
            return
        assert a and (a["description"], a["received"]) == (description, True), c
        if description in NAMES:
            assert a["name"] == NAMES[description] and a["name"] in c.text, c
    together({f"alert {d}": lambda d=d: one(d) for d in range(121)})


def test_alerts_before_the_hello(check, talk):
    check(says(hostiles.alert(2, 40)), "--timeout", "5s").is_fault(15, "handshake").no_tls()
    check(says(hostiles.alert(2, 40) + b"junk" * 1000), "--timeout", "5s").is_fault(15, "handshake").no_tls()
    together({"flood": lambda: check(after_hello(hostiles.alert(1, 100) * 5000)).idle().no_tls(),
              "talk": lambda: talk(after_hello(hostiles.alert(2, 40))).failed(15).said("handshake_failure")})


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_client_certificate_rejected(rig, pki, version):
    """None given, another CA's, an expired one: 16, and the server got no data."""
    ctx = tlsend.context(server=True, cred=pki.rsa, verify_client=pki.client_ca, versions=tlsend.VERSIONS[version])
    server = rig.add(TlsAct(ctx, hostiles.all_of))
    ways = {"none": (), "foreign": flags(pki.foreign), "expired": flags(pki.expired_client)}

    def one(args):
        c = Check("--ca", pki.ca, *args, server.target)
        assert c.code == 16 and [e["code"] for e in c.doc["errors"]] == [16], c
        auth = c.doc["client_auth"]
        assert (auth["requested"], auth["sent"], auth["accepted"]) == (True, bool(args), False), c
        assert c.doc["alert"]["received"], c
        Run("--ca", pki.ca, *args, server.target, stdin=b"").failed(16)
    together({name: lambda a=args: one(a) for name, args in ways.items()})
    assert all(isinstance(r, ssl.SSLError) for r in server.results(6))
    good = Check("--ca", pki.ca, *flags(pki.alice), server.target).fine()
    assert good.doc["client_auth"] == {"requested": True, "sent": True, "accepted": True}, good


def flags(cred):
    return ("--cert", cred.cert, "--key", cred.key)


# --- a real server's flight, cut or spoilt -----------------------------------------


class Flight:
    """A server whose flights are as long each time (its key is RSA), and how they look:
    `first` is how many bytes it says in answer to the hello, `records` what is in them,
    `all` those up to the end of the handshake, tickets aside."""

    def __init__(self, rig, pki, version):
        self.rig, self.ca = rig, pki.ca
        ctx = tlsend.context(server=True, cred=pki.rsa, versions=tlsend.VERSIONS[version])
        self.server = rig.add(TlsAct(ctx, hostiles.all_of))
        middle = rig.add(Middle(self.server.addr))
        Check("--ca", pki.ca, middle.target).fine()
        middle.results()
        said = [bytes(d) for is_server, d in middle.turns if is_server]
        self.first = len(said[0])
        self.bytes = said[0] + (said[1] if version == "1.2" else b"")
        self.records = hostiles.records(self.bytes)
        last = next(r for r in reversed(self.records) if r[1] == (22 if version == "1.2" else 23))
        if version == "1.2":  # behind its Finished comes application data's end
            last = [r for r in self.records if r[1] in (20, 22)][-1]
        self.all = last[0] + len(last[2])

    def through(self, timeout="3s", run=Check, **kw):
        middle = self.rig.add(Middle(self.server.addr, **kw))
        return run("--ca", self.ca, "--timeout", timeout, middle.target)

    def authenticated(self):
        """Places within what the peers' Finished, or a record's tag, covers: not the
        records' headers, nor change_cipher_spec."""
        return [at + i for at, kind, body in self.records if kind in (22, 23)
                for i in range(len(body)) if at + i < self.all]


@pytest.fixture(params=["1.2", "1.3"])
def flight(rig, pki, request):
    return Flight(rig, pki, request.param)


def test_cut_flights(flight):
    """At 25 places and where records begin and end: a close, a reset at some of them."""
    edges = {b + d for at, _, body in flight.records for b in (at, at + len(body)) for d in (-1, 0)}
    places = sorted({p for p in edges | set(hostiles.spread(0, flight.all - 1, 25)) if p < flight.all})

    def one(cut, how):
        c = flight.through(cut=cut, how=how).idle()
        assert c.code == 15 and c.doc["errors"][-1]["stage"] == "handshake", c
    jobs = {f"close at {p}": lambda p=p: one(p, lambda conn: None) for p in places}
    jobs.update({f"reset at {p}": lambda p=p: one(p, resets) for p in places[::4]})
    together(jobs)


def test_stalled_flights(flight):
    def one(cut):
        c = flight.through("600ms", cut=cut, how=hold).within(0.6)
        assert c.doc["errors"][-1]["stage"] == "handshake", c
    together({f"stops at {p}": lambda p=p: one(p) for p in hostiles.spread(1, flight.all - 1, 5)})


def test_cut_flights_in_talk_mode(flight):
    """The server was not told a thing."""
    def run(*args):
        return Run(*args, stdin=b"secret")
    before = len(flight.server.tasks)
    places = hostiles.spread(0, flight.all - 1, 5)
    together({f"at {p}": lambda p=p: flight.through(run=run, cut=p).failed(15) for p in places})
    assert b"secret" not in flight.server.results(before + len(places))


def test_spoilt_flights(flight):
    """One bit of what the handshake protects: never 0, nor anything but a clean end."""
    def one(at, mask):
        c = flight.through("1s", flip=at, mask=mask).idle()
        assert c.code in (12, 15, 16, 20, 21, 22, 23, 24, 25), c
        if c.code == 12:
            assert c.spent_s > 0.9, c
    places = flight.authenticated()
    chosen = [places[i] for i in hostiles.spread(0, len(places) - 1, 30)]
    together({f"byte {p}": lambda p=p, i=i: one(p, 1 << i % 8) for i, p in enumerate(chosen)})


def test_spoilt_headers(flight):
    """Records' headers and change_cipher_spec: some of it nobody looks at."""
    def one(at, mask):
        c = flight.through("600ms", flip=at, mask=mask).idle()
        assert c.code in (0, 12, 15), c
    protected = set(flight.authenticated())
    places = [i for i in range(flight.all) if i not in protected]
    together({f"byte {p}": lambda p=p, i=i: one(p, 0x80 >> i % 8) for i, p in enumerate(places)})


# --- after the handshake -------------------------------------------------------------


def test_closes_right_after_the_handshake(rig, pki):
    """With and without a word of it, where nothing more is waited for."""
    def one(versions, act):
        ctx = tlsend.context(server=True, cred=pki.rsa, versions=versions)
        Check("--ca", pki.ca, rig.add(TlsAct(ctx, act)).target).fine()
    together({f"{v}, {act.__name__}": lambda versions=versions, act=act: one(versions, act)
              for v, versions in tlsend.VERSIONS.items() for act in (polite, rude)})


def polite(t):
    t.shut()


def rude(t):
    t.fin()


def flood(t):
    """Ends when the client does, by an error."""
    while True:
        t.send(bytes(16384))


def hushed(t):
    hold(ends.Sock(t.sock))


def junk(t):
    t.sock.sendall(record(23, bytes(100)))
    hushed(t)


def resetting(t):
    t.reset()


def test_while_it_is_waited_for(rig, pki):
    """A server that wants a certificate, if there is one, says only later whether it does
    without: until then it may do what it likes, within a second of its own. What it does
    is told and no fault, but for a refusal."""
    ctx = tlsend.context(server=True, cred=pki.rsa, verify_client=pki.client_ca, versions=tlsend.V13)
    ctx.verify_mode, ctx.num_tickets = ssl.CERT_OPTIONAL, 0

    def one(act, said, *warnings):
        c = Check("--ca", pki.ca, rig.add(TlsAct(ctx, act)).target).fine().idle()
        assert c.doc["client_auth"]["requested"] is True and c.spent_s < 1 + MARGIN, c
        assert c.doc["close_notify"] is said, c
        assert len(c.doc["warnings"]) == len(warnings) and all(map(str.__contains__, c.doc["warnings"], warnings)), c
        return c
    got = together({
        "polite": lambda: one(polite, True),
        "rude": lambda: one(rude, False),
        "resets": lambda: one(resetting, None, "after the handshake: "),
        "junk": lambda: one(junk, None, "after the handshake: "),
        "flood": lambda: one(flood, None),
        "silent": lambda: one(hushed, None),
    })
    assert got["silent"].spent_s > 0.9 and got["flood"].spent_s < 0.9, got


def test_nothing_to_resume_with(rig, pki):
    """No ticket: not before the server had its second, and data is none."""
    ctx = tlsend.context(server=True, cred=pki.rsa, versions=tlsend.V13)
    ctx.num_tickets = 0

    def one(act):
        c = Check("--ca", pki.ca, "--resume", rig.add(TlsAct(ctx, act)).target).idle()
        assert c.code == 31 and c.doc["verify"]["ok"] is True and c.spent_s < 2 + MARGIN, c
    together({act.__name__: lambda act=act: one(act) for act in (polite, rude, flood, hushed)})


def test_json_of_several_targets(rig, pki):
    """A line each, in which each says which it is; the worst one's code."""
    good = rig.add(servers.TlsEcho(tlsend.context(server=True, cred=pki.ecdsa))).target
    acts = {"http": says(HTTP), "silent": hold, "closes": lambda conn: None}
    targets = {name: rig.add(Act(act)).target for name, act in acts.items()}
    r = Run("--check", "--json", "--ca", pki.ca, *TIMEOUT, good, *targets.values())
    docs = {d["target"]["text"]: d for d in map(document, r.out.splitlines())}
    assert {t: d["exit_code"] for t, d in docs.items()} == {
        good: 0, targets["http"]: 15, targets["silent"]: 12, targets["closes"]: 15}, r
    assert r.code == 12, r
