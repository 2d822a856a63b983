# SPDX-License-Identifier: GPL-3.0-or-later
"""`tlskit connect --starttls` against servers by a script, which do as they should or,
at any one step, as they should not. test_starttls_peers.py has those that people run."""

import time

import pytest

import ends
import hostiles
import starttls_scripts
import tlsend
from connects import Check, Run, together
from hostiles import Act, says
from starttls_scripts import SCRIPTS, Scripted, steps

MAIN = ["smtp", "imap", "ldap", "xmpp", "postgres", "mysql"]
EACH_STEP = [(p, i) for p in SCRIPTS for i in steps(p)]


@pytest.fixture(scope="module")
def ctx(pki):
    return tlsend.context(server=True, cred=pki.ecdsa)


@pytest.fixture
def asks(rig, pki, ctx):
    """asks(proto, at, do): a Check of a server that does so at that step."""
    def run(proto, at=None, do=None, *args, run=Check, timeout="5s"):
        server = rig.add(Scripted(proto, ctx, at, do))
        r = run("--ca", pki.ca, "--timeout", timeout, "--starttls", proto, "--starttls-name", "localhost", *args,
                server.target)
        r.server = server
        return r
    return run


def talk(*args):
    return Run(*args, stdin=b"secret")


def silent(conn, answer):
    hostiles.hold(conn)


def closes(conn, answer):
    pass


def resets(conn, answer):
    conn.reset()


def named(proto, i):
    return f"{proto}: {SCRIPTS[proto][i][1]}"


def test_each_protocol(asks):
    """To the end, and in talk mode, where what is said then goes over TLS."""
    def one(proto):
        c = asks(proto).fine()
        assert c.doc["starttls"] == {"protocol": proto, "done": True}, c
        t = c.doc["timing_ms"]
        assert t["starttls"] is not None and t["connect"] + t["starttls"] + t["handshake"] <= t["total"] + 1, c
        r = asks(proto, run=talk)
        assert (r.code, r.out, r.err) == (0, b"secret", ""), r
        assert r.server.results() == [b"secret"]
    together({p: lambda p=p: one(p) for p in SCRIPTS})


def test_names(asks):
    """--starttls-name is the host that xmpp asks for, and who smtp says we are."""
    for proto, before in ("xmpp", b"to='other.test'"), ("smtp", b"EHLO other.test\r\n"):
        r = asks(proto, None, None, "--starttls-name", "other.test").fine()
        assert before in b"".join(r.server.heard), r.server.heard


def test_silence_at_each_step(asks):
    """The step is named."""
    def one(proto, i):
        c = asks(proto, i, silent, timeout="500ms").within(0.5).is_fault(12, "starttls", named(proto, i)).no_tls()
        assert c.doc["starttls"] == {"protocol": proto, "done": False} and c.doc["tls"] is None, c
    jobs = {f"{p} {i}": lambda p=p, i=i: one(p, i) for p, i in EACH_STEP}
    jobs["talk"] = lambda: asks("smtp", 1, silent, run=talk, timeout="500ms").within(0.5).failed(12).said("smtp: EHLO")
    together(jobs)


def test_silence_behind_the_go_ahead(asks):
    """Which is the handshake's."""
    def one(proto):
        def last(conn, answer):
            conn.send(answer)
            hostiles.hold(conn)
        c = asks(proto, len(SCRIPTS[proto]) - 1, last, timeout="500ms").within(0.5).is_fault(12, "handshake").no_tls()
        assert c.doc["starttls"]["done"] is True and c.doc["timing_ms"]["starttls"] is not None, c
    together({p: lambda p=p: one(p) for p in MAIN})


def test_ends_at_each_step(asks):
    def one(proto, i, do):
        asks(proto, i, do).idle().is_fault(14, "starttls", named(proto, i)).no_tls()
    jobs = {f"close, {p} {i}": lambda p=p, i=i: one(p, i, closes) for p, i in EACH_STEP}
    jobs.update({f"reset, {p} {i}": lambda p=p, i=i: one(p, i, resets) for p, i in EACH_STEP if SCRIPTS[p][i][0]})
    jobs["talk"] = lambda: asks("imap", 2, closes, run=talk).failed(14).said("imap: STARTTLS")
    together(jobs)


def test_half_an_answer(asks):
    """A piece of it, then the end."""
    def half(conn, answer):
        conn.send(answer[:-1])
    together({f"{p} {i}": lambda p=p, i=i: asks(p, i, half).idle().is_fault(14, "starttls", named(p, i)).no_tls()
              for p, i in EACH_STEP if len(SCRIPTS[p][i][2]) > 1})


NOT_IT = {
    "http": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "ssh": b"SSH-2.0-OpenSSH_9.2p1\r\n",
    "zeros": bytes(200),
    "junk": bytes(range(255, 0, -1)) + b"\r\n",
    "escapes": b"\x1b]0;title\x07\x1b[31m\x9b31m\r\n",
}


def test_other_things_said(asks):
    """In place of the first answer. What fits none of it is 14; a part of a message
    that might still come is 12."""
    def one(proto, data):
        def do(conn, answer):
            conn.send(data)
            hostiles.hold(conn)
        c = asks(proto, steps(proto)[0], do, timeout="700ms").idle().no_tls()
        assert [(e["code"], e["stage"]) for e in c.doc["errors"]] in ([(14, "starttls")], [(12, "starttls")]), c
        return c
    got = together({(p, n): lambda p=p, d=d: one(p, d) for p in SCRIPTS for n, d in NOT_IT.items()}, width=12)
    for p in "smtp", "imap", "pop3", "ftp", "nntp", "sieve", "irc":
        assert got[p, "http"].code == 14 and "HTTP" in got[p, "http"].text, got[p, "http"]


def test_tls_at_once(rig, pki, ctx):
    """The port for TLS from the start: an alert comes, or nothing."""
    def one(proto):
        server = rig.add(Act(says(hostiles.alert(2, 10))))
        c = Check("--ca", pki.ca, "--timeout", "2s", "--starttls", proto, "--starttls-name", "x.test", server.target)
        c.is_fault(14, "starttls", "TLS at once").no_tls()
    together({p: lambda p=p: one(p) for p in SCRIPTS})


REFUSALS = [
    ("smtp", 0, b"554 go away\r\n", "554 go away"),
    ("smtp", 1, b"250-mail.test\r\n250 SIZE 1000\r\n", "not offered"),
    ("smtp", 2, b"454 4.7.0 not now\r\n", "454 4.7.0 not now"),
    ("imap", 0, b"* BYE go away\r\n", "BYE go away"),
    ("imap", 0, b"* PREAUTH welcome\r\n", "PREAUTH"),
    ("imap", 1, b"* CAPABILITY IMAP4rev1\r\na1 OK\r\n", "not offered"),
    ("imap", 2, b"a2 BAD what\r\n", "BAD what"),
    ("pop3", 2, b"-ERR not now\r\n", "-ERR not now"),
    ("ftp", 1, b"530 please log in\r\n", "530 please log in"),
    ("nntp", 2, b"580 not now\r\n", "580 not now"),
    ("sieve", 1, b'NO "not now"\r\n', "not now"),
    ("xmpp", 0, starttls_scripts.XMPP_STREAM.replace(starttls_scripts.XMPP_TLS, b""), "not offered"),
    ("xmpp", 1, b"<failure xmlns='urn:ietf:params:xml:ns:xmpp-tls'/></stream:stream>", "failure"),
    ("ldap", 0, bytes.fromhex("300c02010178070a013504000400"), "unwillingToPerform (53)"),
    ("postgres", 0, b"N", "does not do TLS"),
    ("mysql", 0, starttls_scripts.mysql_greeting(0x820f), "not offered"),
    ("mysql", 0, starttls_scripts.mysql_packet(b"\xff\x10\x04too many connections"), "too many connections"),
    ("irc", 0, b":irc.test 691 * :STARTTLS failed\r\n", "691"),
]


def test_refused(asks):
    """14, with what the server said."""
    def one(proto, at, answer, text):
        def do(conn, _):
            conn.send(answer)
            hostiles.hold(conn)
        asks(proto, at, do).idle().is_fault(14, "starttls", text).no_tls()
    together({f"{r[0]} {r[1]} {r[3]}": lambda r=r: one(*r) for r in REFUSALS})


def test_injected_data(asks):
    """Bytes in the clear behind the go-ahead (CVE-2011-0411): by hand, as TLS's own, and
    a single one."""
    def one(proto, more, run=Check):
        def do(conn, answer):
            conn.send(answer + more)
            return True
        last = [i for i in steps(proto)][-1]
        r = asks(proto, last, do, run=run).idle()
        if run is Check:
            r.is_fault(14, "starttls", "injected data").no_tls()
        else:
            r.failed(14).said("injected data")
        assert r.server.results() == [None]
    pieces = {"a line": b"250 injected\r\n", "tls": hostiles.alert(1, 0), "a byte": b"\n"}
    jobs = {f"{n}, {p}": lambda p=p, d=d: one(p, d) for p in SCRIPTS for n, d in pieces.items()}
    jobs["talk"] = lambda: one("smtp", b"250 injected\r\n", talk)
    together(jobs)


def long_greeting(code, n):
    return b"".join(code + b"-" + b"x" * 70 + b"\r\n" for _ in range(n)) + code + b" that was it\r\n"


LONG = {
    "smtp greeting": ("smtp", 0, long_greeting(b"220", 30)),
    "smtp greeting in one line": ("smtp", 0, b"220 " + b"x" * 3000 + b"\r\n"),
    "smtp EHLO": ("smtp", 1, b"250-mail.test\r\n" + b"".join(b"250-X%d\r\n" % i for i in range(200))
                  + b"250-STARTTLS\r\n250 HELP\r\n"),
    "smtp STARTTLS": ("smtp", 2, b"220-go\r\n220-on\r\n220 ahead\r\n"),
    "ftp greeting": ("ftp", 0, long_greeting(b"220", 30)),
    "ftp greeting with text inside": ("ftp", 0, b"220-hello\r\n 150 inside\r\n530 not yet\r\n220 ready\r\n"),
    "imap greeting": ("imap", 0, b"* OK " + b"x" * 3000 + b"\r\n"),
    "imap data": ("imap", 1, b"* 3 EXISTS\r\n" * 100 + b"* CAPABILITY STARTTLS\r\na1 OK\r\n"),
    "no codes' texts": ("smtp", 2, b"220\r\n"),
}


def test_long_and_many_lines(asks):
    """Only the code counts."""
    def one(proto, at, text):
        def do(conn, answer):
            conn.send(text)
            return True
        asks(proto, at, do).fine()
    together({n: lambda a=a: one(*a) for n, a in LONG.items()})


def test_a_megabyte(asks):
    """There is a limit, and what is beyond it is not waited for."""
    def one(proto, at, piece, tail=b""):
        def do(conn, answer):
            conn.send(piece * (1_000_000 // len(piece)) + tail)
            hostiles.hold(conn)
        asks(proto, at, do).idle().is_fault(14, "starttls").no_tls()
    together({
        "smtp lines": lambda: one("smtp", 0, b"220-" + b"x" * 70 + b"\r\n"),
        "smtp line": lambda: one("smtp", 1, b"250 x" + b"x" * 1000),
        "imap": lambda: one("imap", 1, b"* 3 EXISTS\r\n"),
        "xmpp": lambda: one("xmpp", 0, b"<a>" + b"x" * 100),
        "xmpp depth": lambda: one("xmpp", 0, b"<a>"),
        "ldap": lambda: one("ldap", 0, b"\x30\x84\x00\x0f\x42\x40" + bytes(1000)),
        "postgres": lambda: one("postgres", 0, b"E" + b"x" * 1000),
        "mysql": lambda: one("mysql", 0, b"\xff\xff\xff\x00\x0a" + b"8" * 1000),
        "irc": lambda: one("irc", 0, b":irc.test NOTICE * :" + b"x" * 400 + b"\r\n"),
    })


def test_byte_by_byte(asks):
    def drip(conn, answer):
        for b in answer:
            conn.send(bytes([b]))
            time.sleep(0.001)
        return True
    together({f"{p} {i}": lambda p=p, i=i: asks(p, i, drip).fine() for p, i in EACH_STEP})


def test_dripping_past_the_deadline(asks):
    """Progress does not move it: a byte each 100 ms."""
    def drip(conn, answer):
        for b in answer * 100:
            conn.send(bytes([b]))
            time.sleep(0.1)
    together({p: lambda p=p: asks(p, steps(p)[0], drip, timeout="500ms").within(0.5).is_fault(12, "starttls")
              for p in ("smtp", "imap", "xmpp", "mysql", "ldap")})


XMPP_ENDS = {
    "the end": starttls_scripts.XMPP_STREAM + b"</stream:stream>",
    "the end at once": starttls_scripts.XMPP_STREAM.split(b"<stream:features>")[0] + b"</stream:stream>",
    "an error": starttls_scripts.XMPP_STREAM.split(b"<stream:features>")[0]
    + b"<stream:error><host-unknown xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error></stream:stream>",
    "no stream": b"</stream:stream>",
}


def test_xmpp_stream_ends(asks):
    """14 and no spinning, whether or not the connection ends too (openssl 3980)."""
    def one(text, after):
        def do(conn, answer):
            conn.send(text)
            if after == "shut":
                conn.shut()
            if after != "close":
                hostiles.hold(conn)
        asks("xmpp", 0, do).idle().is_fault(14, "starttls").no_tls()
    together({f"{n}, {a}": lambda t=t, a=a: one(t, a)
              for n, t in XMPP_ENDS.items() for a in ("close", "shut", "hold")})


def test_hostile_behind_starttls(asks):
    """What stands for the handshake then: its own stage, and done is true."""
    def one(proto, data, *words):
        def do(conn, answer):
            conn.send(answer)
            hostiles.read_record(conn)
            conn.send(data)
        c = asks(proto, len(SCRIPTS[proto]) - 1, do).is_fault(15, "handshake", *words).no_tls().idle()
        assert c.doc["starttls"]["done"] is True, c
    what = {"alert": (hostiles.alert(2, 40), "handshake_failure"), "closes": (b"",), "junk": (bytes(500),),
            "in the clear": (b"454 TLS not available\r\n",)}
    together({f"{n}, {p}": lambda p=p, w=w: one(p, *w) for p in MAIN for n, w in what.items()})


def test_verification_behind_starttls(rig, pki):
    """Its codes are the same, and not a byte of the data was sent."""
    creds = {20: pki.selfsigned, 21: pki.wronghost, 22: pki.expired}

    def one(proto, code):
        s = rig.add(Scripted(proto, tlsend.context(server=True, cred=creds[code])))
        args = ("--ca", pki.ca, "--starttls", proto, "--starttls-name", "localhost", s.target)
        c = Check(*args)
        assert c.code == code and c.doc["starttls"]["done"] is True, c
        Run(*args, stdin=b"secret").failed(code)
        ends.wait_until(lambda: len(s.tasks) == 2, "both connections")
        assert s.tasks[1].done() in (None, b"")
    together({f"{p} {code}": lambda p=p, code=code: one(p, code) for p in ("smtp", "ldap") for code in creds})
