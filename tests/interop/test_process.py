# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals, draining, exit codes, and the log."""

import re
import signal
import time

import pytest

import ends
import peers
from tlskit import took


# --- the end ----------------------------------------------------------------------


@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGINT])
def test_drain(rig, pki, small, signo):
    """No new connections; the old ones go on to their end; exit 0."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target)
    a = rig.dial_tls(t)
    b = back.accept()
    t.signal(signo)
    ends.wait_until(lambda: t.port not in peers.listening(t.proc.pid), "it to stop listening")
    with pytest.raises(ConnectionRefusedError):
        rig.dial(t)
    ends.exchange(a, b, small, small)
    assert t.proc.poll() is None
    a.shut()
    b.shut()
    assert a.recv() == b""
    a.close()
    assert t.finish() == 0
    assert t.close_line()["result"] == "ok"


def test_exit_without_connections_is_prompt(rig, pki):
    t = rig.server(pki.ecdsa, rig.listener().target)
    start = time.monotonic()
    t.signal()
    assert t.finish() == 0
    took(start, 0, 1)


def test_drain_runs_out(rig, pki):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--drain", "600ms")
    a = rig.dial_tls(t)
    b = back.accept()
    t.expect = (4,)
    start = time.monotonic()
    t.signal()
    assert t.finish() == 4
    took(start, 0.5, 2)
    assert ends.recv_to_end(a)[1] in ("reset", "alert", "cut"), "an end by force must not look clean"
    assert ends.recv_to_end(b)[1] == "reset"
    line = t.close_line()
    assert (line["result"], line["stage"]) == ("error", "drain"), line


def test_second_signal_ends_at_once(rig, pki):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target)
    rig.dial_tls(t)
    back.accept()
    t.expect = (1, 4, -signal.SIGTERM, 128 + signal.SIGTERM)
    t.signal()
    ends.wait_until(lambda: t.port not in peers.listening(t.proc.pid), "it to stop listening")
    start = time.monotonic()
    t.signal()
    t.finish()
    took(start, 0, 1)


def test_half_open_handshakes_do_not_hold_up_the_end(rig, pki):
    """They carry no data: the handshake's own limit ends them during a drain."""
    t = rig.server(pki.ecdsa, rig.listener().target, "--handshake-timeout", "1s")
    rig.dial(t)
    time.sleep(0.1)
    start = time.monotonic()
    t.signal()
    assert t.finish() == 0
    took(start, 0, 5)


# --- the log ------------------------------------------------------------------------


def test_text_log(rig, pki):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, log="text")
    a = rig.dial_tls(t)
    b = back.accept()
    a.send(b"12345")
    assert b.recv() == b"12345"
    b.shut()
    a.shut()
    a.close()
    line = ends.wait_until(lambda: [l for l in t.stderr().splitlines() if " close " in l], "a close line")[0]
    assert re.search(r"to_target_bytes=5\b", line) and f"target={back.target}" in line, line


def test_json_log(rig, pki):
    """Every field of a close line, with its type."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target)
    a = rig.dial_tls(t)
    b = back.accept()
    peer = "%s:%d" % a.sock.getsockname()
    a.send(b"12345")
    assert b.recv() == b"12345"
    b.send(b"123")
    assert a.recv() == b"123"
    time.sleep(0.05)
    b.shut()
    a.shut()
    a.close()
    line = t.close_line()
    want = {"schema": "tlskit/log/1", "level": "info", "event": "close", "peer": peer, "target": back.target,
            "to_target_bytes": 5, "to_peer_bytes": 3, "tls_version": "TLS1.3", "resumed": False, "result": "ok",
            "stage": None}
    assert {k: line.get(k, "absent") for k in want} == want
    assert 50 <= line["duration_ms"] < 5000 and line["dataplane"] in ("gnutls", "direct", "ktls")
    assert abs(line["time_epoch_ms"] / 1000 - time.time()) < 60
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", line["time"])


@pytest.mark.parametrize("level,lines", [("error", 0), ("warn", 1), ("info", 2)])
def test_log_level(rig, pki, level, lines):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--log-level", level)
    rig.dial(t).send(b"GET / HTTP/1.0\r\n\r\n")
    rig.streams[-1].recv()
    rig.streams[-1].close()
    a = rig.dial_tls(t)
    b = back.accept()
    b.shut()
    a.shut()
    assert b.recv() == b"" == a.recv()
    a.close()
    t.signal()
    t.finish()
    assert len(t.events("close")) == lines, t.stderr()
