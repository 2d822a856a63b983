# SPDX-License-Identifier: GPL-3.0-or-later
"""`connect --check` and OCSP: answers that servers staple, and those of a responder that
the certificate names."""

import http.server
import threading
import time

import pytest

import peers
import servers
import tlskit
from checkpki import MUST_STAPLE, access, ocsp
from connects import Check, Run
from pki import DAY, NOW

GARBAGE = b"HTTP/1.0 404 Not Found\r\n\r\nnot an OCSP answer\n"

# --- staples --------------------------------------------------------------------------

# certificate, what is stapled to it (None: nothing), who staples, the codes, the status
STAPLES = {
    "good": ("good", lambda w: w.answer(w.good), "openssl", [], "good"),
    "good, nginx": ("good", lambda w: w.answer(w.good), "nginx", [], "good"),
    "good, gnutls": ("good", lambda w: w.answer(w.good), "gnutls", [], "good"),
    "good, haproxy": ("good", lambda w: w.answer(w.good), "haproxy", [], "good"),
    "by the root": ("by_root", lambda w: w.answer(w.by_root), "nginx", [], "good"),
    "expired": ("good", lambda w: w.answer(w.good, start=NOW - 9 * DAY, end=NOW - 2 * DAY), "openssl", [24], "expired"),
    "expired, nginx": ("good", lambda w: w.answer(w.good, start=NOW - 9 * DAY, end=NOW - 2 * DAY), "nginx", [24],
                       "expired"),
    "ahead": ("good", lambda w: w.answer(w.good, start=NOW + DAY, end=NOW + 2 * DAY), "openssl", [24], "expired"),
    "another": ("good", lambda w: w.answer(w.rsa), "openssl", [24], "other-certificate"),
    "another, nginx": ("good", lambda w: w.answer(w.by_root), "nginx", [24], "other-certificate"),
    "revoked": ("good", lambda w: w.answer(w.good, "revoked"), "openssl", [23], "revoked"),
    "revoked, gnutls": ("good", lambda w: w.answer(w.good, "revoked"), "gnutls", [23], "revoked"),
    "revoked long ago": ("good", lambda w: w.answer(w.good, "revoked", start=NOW - 9 * DAY, end=NOW - 2 * DAY),
                         "nginx", [23], "revoked"),
    "unknown": ("good", lambda w: w.answer(w.good, "unknown"), "nginx", [24], "unknown"),
    "signed by another": ("good", lambda w: w.answer(w.good, by=w.other), "nginx", [24], "bad-signature"),
    "try later": ("good", lambda w: w.refusal(), "nginx", [24], "error"),
    "must-staple": ("muststaple", lambda w: w.answer(w.muststaple), "nginx", [], "good"),
    "must-staple, none": ("muststaple", lambda w: None, "nginx", [24], "none"),
    "must-staple, expired": ("muststaple", lambda w: w.answer(w.muststaple, start=NOW - 9 * DAY, end=NOW - 2 * DAY),
                             "openssl", [24], "expired"),
    "must-staple and more": ("muststaple_and_more", lambda w: None, "nginx", [21, 22, 24], "none"),
    "none": ("good", lambda w: None, "nginx", [], "none"),
}


@pytest.fixture(scope="module")
def world(world):
    world.server("muststaple_and_more", san=("other.test",), start=NOW - 9 * DAY, end=NOW - DAY,
                 extra=[MUST_STAPLE])
    return world


@pytest.fixture(scope="module")
def stapler(shared, world):
    """A function: the port of the server of a row of STAPLES."""
    files, ports = {}, {}
    for n, (row, (_, make, _, _, _)) in enumerate(STAPLES.items()):
        data = make(world)
        files[row] = data and world.file(f"staple-{n}.ocsp", data)

    def nginx(row):
        lines = f"ssl_stapling on; ssl_stapling_file {files[row]};" if files[row] else ""
        return getattr(world, STAPLES[row][0]), lines

    def haproxy(row):
        cred = getattr(world, STAPLES[row][0])
        world.file(cred.name + "-both.pem.ocsp", open(files[row], "rb").read())
        return cred, ""

    def start(row):
        cred, kind = getattr(world, STAPLES[row][0]), STAPLES[row][2]
        if kind == "openssl":
            ports[row] = shared.start(peers.OpensslSite(cred, None, "-status_file", files[row])).port
        elif kind == "gnutls":
            ports[row] = shared.start(peers.GnutlsServ(
                cred, None, "--ignore-ocsp-response-errors", "--ocsp-response", files[row])).port
        else:
            site, sites = (nginx, peers.NginxSites) if kind == "nginx" else (haproxy, peers.HaproxySites)
            ports.update(shared.start(sites({r: site(r) for r in STAPLES if STAPLES[r][2] == kind})).ports)

    def look(row):
        if row not in ports:
            start(row)
        return ports[row]
    return look


def codes(check):
    return sorted(e["code"] for e in check.doc["errors"])


@pytest.mark.parametrize("row", STAPLES)
def test_staple(stapler, world, row):
    _, _, _, want, status = STAPLES[row]
    args = ("--ca", world.ca, f"localhost:{stapler(row)}")
    c = Check(*args)
    stapled = c.doc["ocsp"]["stapled"]
    assert (c.code, codes(c), stapled["status"]) == (want[0] if want else 0, want, status), c
    assert c.doc["ocsp"]["asked"] is None and c.err == ""
    assert c.doc["verify"]["ok"] is not bool(want), c
    if status in ("good", "revoked", "expired"):
        times = [stapled[k + "_epoch_s"] for k in ("this_update", "produced", "next_update")]
        assert None not in times and (times[0] > c.doc["started_epoch_s"] or times[0] <= times[1]), stapled
    if status == "revoked":
        assert stapled["revoked_at"] and stapled["reason"] == "key compromise", stapled
    text = Run("--check", *args)
    assert text.code == c.code and ("no staple came" in text.out.decode()) == (status == "none"), text
    for e in c.doc["errors"]:
        assert e["message"] in " ".join(text.out.decode().split()), text


def test_spoilt_staples(shared, world):
    """Servers read an answer before they staple it, but not closely."""
    good = world.answer(world.good)
    whole = bytearray(good)
    whole[-1] ^= 1  # the signature
    at = good.index(b"\x30", 20)
    spoilt = good[:at] + b"\x31" + good[at + 1:]
    rows = {}
    for name, data in ("signature", bytes(whole)), ("shape", spoilt):
        site = shared.start(peers.GnutlsServ(world.good, None, "--ignore-ocsp-response-errors", "--ocsp-response",
                                             world.file(name + ".ocsp", data)))
        c = Check("--ca", world.ca, f"localhost:{site.port}")
        rows[name] = codes(c), c.doc["ocsp"]["stapled"]["status"]
    assert rows == {"signature": ([24], "bad-signature"), "shape": ([24], "malformed")}


def test_must_staple_is_asked_for(stapler, world):
    """--must-staple, whatever the certificate says."""
    c = Check("--must-staple", "--ca", world.ca, f"localhost:{stapler('none')}")
    assert (c.code, codes(c)) == (24, [24]) and "--must-staple" in c.text, c
    Check("--must-staple", "--ca", world.ca, f"localhost:{stapler('good')}").fine()


def test_staple_of_an_unknown_issuer(shared, world):
    """Without the issuer nobody can tell whether it is genuine: that is no fault of the
    staple, and the missing issuer is one."""
    file = world.file("alone.ocsp", world.answer(world.alone))
    site = shared.start(peers.OpensslSite(world.alone, None, "-status_file", file))
    c = Check("--ca", world.ca, f"localhost:{site.port}")
    assert codes(c) == [20] and any("OCSP" in w for w in c.doc["warnings"]), c


def test_staple_in_tls_1_2(shared, world):
    file = world.file("twelve.ocsp", world.answer(world.good, "revoked"))
    site = shared.start(peers.OpensslSite(world.good, "1.2", "-status_file", file))
    c = Check("--ca", world.ca, f"localhost:{site.port}")
    assert codes(c) == [23] and c.doc["chain_sent"], c


# --- the responder --------------------------------------------------------------------


class Responder(http.server.ThreadingHTTPServer):
    """Answers what is asked with `reply`, the whole HTTP answer's body, or (code, body);
    requests are kept."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answering)
        self.reply, self.requests = None, []
        self.url = f"http://127.0.0.1:{self.server_port}/ocsp"
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def stop(self):
        self.shutdown()
        self.thread.join()
        self.server_close()


class Answering(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, self.headers["Content-Type"], body))
        code, data = self.server.reply if isinstance(self.server.reply, tuple) else (200, self.server.reply)
        self.send_response(code)
        self.send_header("Content-Type", "application/ocsp-response")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def responder(world):
    r = Responder()
    yield r
    r.stop()


@pytest.fixture(scope="module")
def asked(shared, world, responder):
    """Ports of servers whose certificates name responders."""
    silent, closed = shared.listener(), shared.add(servers.Refuser())
    urls = {"asks": responder.url, "asks_silent": f"http://{silent.target}/", "asks_closed": f"http://{closed.target}/",
            "asks_https": "https://127.0.0.1:1/", "asks_nobody": "http://ocsp.invalid/"}
    creds = [world.server(name, extra=[access(ocsp_url=url)]) for name, url in urls.items()]
    sites = {c.name: (c, "") for c in [*creds, world.good]}
    return shared.start(peers.NginxSites(sites)).ports


def ask(world, port, *args):
    return Check("--ocsp", "--ca", world.ca, *args, f"localhost:{port}")


# what the responder says, the codes, the status
ANSWERS = {
    "good": (lambda w: w.answer(w.asks), [], "good"),
    "revoked": (lambda w: w.answer(w.asks, "revoked"), [23], "revoked"),
    "unknown": (lambda w: w.answer(w.asks, "unknown"), [24], "unknown"),
    "expired": (lambda w: w.answer(w.asks, start=NOW - 9 * DAY, end=NOW - 2 * DAY), [24], "expired"),
    "another": (lambda w: w.answer(w.good), [24], "other-certificate"),
    "signed by another": (lambda w: w.answer(w.asks, by=w.other), [24], "bad-signature"),
    "try later": (lambda w: w.refusal(), [24], "error"),
    "garbage": (lambda w: GARBAGE, [24], "malformed"),
    "nothing": (lambda w: b"", [24], None),
    "error 500": (lambda w: (500, b"oops"), [24], "error"),
    "error 404 with a good one": (lambda w: (404, w.answer(w.asks)), [24], "error"),
}


@pytest.mark.parametrize("row", ANSWERS)
def test_responder(world, asked, responder, row):
    make, want, status = ANSWERS[row]
    responder.reply, before = make(world), len(responder.requests)
    c = ask(world, asked["asks"])
    got = c.doc["ocsp"]["asked"]
    assert (c.code, codes(c)) == (want[0] if want else 0, want) and c.err == "", c
    assert (got["status"] == status if status else got["status"] in ("error", "malformed")), c
    assert got["url"] == responder.url and c.doc["ocsp"]["stapled"]["status"] == "none"
    assert c.doc["verify"]["ok"] is not bool(want), c
    assert len(responder.requests) == before + 1


def test_the_request(world, asked, responder):
    """A POST about this very certificate (RFC 6960, A.1)."""
    responder.reply = world.answer(world.asks)
    ask(world, asked["asks"]).fine()
    path, kind, body = responder.requests[-1]
    request = ocsp.load_der_ocsp_request(body)
    assert (path, kind) == ("/ocsp", "application/ocsp-request")
    assert request.serial_number == world.asks.x509.serial_number


def test_the_responder_in_the_text(world, asked, responder):
    responder.reply = world.answer(world.asks, "revoked")
    r = Run("--check", "--ocsp", "--ca", world.ca, f"localhost:{asked['asks']}")
    text = " ".join(r.out.decode().split())
    assert r.code == 23 and responder.url in text and "revoked" in r.out.decode().splitlines()[0], r


def test_nobody_is_asked_without_the_option(world, asked, responder):
    before = len(responder.requests)
    c = Check("--ca", world.ca, f"localhost:{asked['asks']}").fine()
    assert c.doc["ocsp"]["asked"] is None and c.doc["chain_sent"][0]["ocsp_url"] == responder.url
    assert len(responder.requests) == before


def test_no_responder_is_no_error(world, asked):
    c = ask(world, asked["good"]).fine()
    assert c.doc["ocsp"]["asked"] is None and c.doc["warnings"], c


@pytest.mark.parametrize("name", ["asks_silent", "asks_closed", "asks_https", "asks_nobody"])
def test_no_answer(world, asked, name):
    """Silence ends by its own limit, not by that of all."""
    start = time.monotonic()
    c = ask(world, asked[name], "--ocsp-timeout", "300ms", "--timeout", "20s")
    tlskit.took(start, 0.3 if name == "asks_silent" else 0, 2)
    assert (c.code, codes(c), c.doc["ocsp"]["asked"]["status"]) == (24, [24], "error"), c


def test_the_deadline_ends_the_asking(world, asked):
    start = time.monotonic()
    c = ask(world, asked["asks_silent"], "--timeout", "500ms")
    tlskit.took(start, 0.45, 2)
    assert c.code == 12 and "OCSP" in c.text, c
    assert c.doc["tls"]["version"] == "TLS1.3" and c.doc["chain_sent"], c


def test_a_slow_answer_is_waited_for(rig, world, shared):
    """In pieces, without a length, and the connection closed behind it."""
    box = {}

    class Slow(servers.Server):
        def serve(self, conn):
            got = b""
            while b"\r\n\r\n" not in got:
                got += conn.recv()
            whole = b"HTTP/1.0 200 OK\r\nContent-Type: application/ocsp-response\r\n\r\n" + box["answer"]
            for i in range(0, len(whole), 100):
                conn.send(whole[i:i + 100])
                time.sleep(0.01)
    slow = rig.add(Slow())
    cred = world.server("asks_slow", extra=[access(ocsp_url=f"http://{slow.target}/a/b?c")])
    box["answer"] = world.answer(cred)
    site = rig.start(peers.OpensslSite(cred))
    c = ask(world, site.port).fine()
    assert c.doc["ocsp"]["asked"]["status"] == "good", c
