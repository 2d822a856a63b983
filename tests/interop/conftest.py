# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures: pki, world (a larger one), blob (64 MiB), small (1 MiB), rig (starts
things and ends them), shared (the same for the tests of a file); a limit of time for
each test; what the processes said when one fails."""

import contextlib
import faulthandler
import os
import resource
import signal
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import checkpki  # noqa: E402
import ends  # noqa: E402
import pki as pki_module  # noqa: E402
import servers  # noqa: E402
import tlsend  # noqa: E402
import tlskit  # noqa: E402

LIMIT = 60 * ends.PATIENCE  # seconds a test

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@pytest.fixture(scope="session")
def pki(tmp_path_factory):
    return pki_module.Pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    return checkpki.CheckPki(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def blob():
    return os.urandom(64 << 20)


@pytest.fixture(scope="session")
def small(blob):
    return blob[:1 << 20]


class Rig:
    """What a test started. Ends clients first, then the program under test, then
    the servers behind it."""

    def __init__(self, tmp_path):
        self.tmp, self.things, self.streams = tmp_path, [], []

    def start(self, peer):
        self.things.append(peer)
        return peer.start()

    def add(self, server):
        """An in-process server, which is listening already."""
        self.things.append(server)
        return server

    def listener(self, **kw):
        return self.add(servers.Listener(**kw))

    def tlskit(self, listen, target, *args, **kw):
        return self.start(tlskit.Tlskit(listen, target, *args, **kw))

    def server(self, cred, target, *args, **kw):
        """tlskit terminates TLS with cred in front of target."""
        return self.tlskit("tls:127.0.0.1:0", target, "--cert", cred.cert, "--key", cred.key, *args, **kw)

    def client(self, port, *args, **kw):
        """tlskit connects to TLS at localhost:port."""
        return self.tlskit("127.0.0.1:0", f"tls:localhost:{port}", *args, **kw)

    def dial(self, peer, **kw):
        s = ends.Sock(ends.dial(getattr(peer, "addr", peer), **kw))
        self.streams.append(s)
        return s

    def dial_tls(self, peer, ctx=None, handshake=True, rcvbuf=None, **kw):
        s = tlsend.Tls(self.dial(peer, rcvbuf=rcvbuf).sock, ctx or tlsend.context(), **kw)
        return s.handshake() if handshake else s

    def end(self):
        errors = []
        order = [t for t in self.things if not isinstance(t, tlskit.Tlskit) and hasattr(t, "proc")]
        order += [t for t in self.things if isinstance(t, tlskit.Tlskit)]
        order += [t for t in self.things if not hasattr(t, "proc")]
        for s in self.streams:
            with contextlib.suppress(OSError):
                s.close()
        for t in order:
            if not hasattr(t, "proc"):
                for s in getattr(t, "conns", []):
                    with contextlib.suppress(OSError):
                        s.shutdown(2)
        for t in order:
            try:
                t.end() if hasattr(t, "end") else t.stop()
            except Exception as e:
                errors.append(e)
        return errors

    def reports(self, ended=False):
        return [(t.name, t.report()) for t in self.things
                if hasattr(t, "report") and not (ended and t.proc.poll() is None)]

    def clean(self):
        for t in self.things:
            if hasattr(t, "proc"):
                with contextlib.suppress(Exception):
                    t.stop()


@pytest.fixture
def rig(tmp_path, request):
    r = Rig(tmp_path)
    request.node.rig = r
    yield r
    errors = r.end()
    request.node.rig_reports = r.reports()
    r.clean()
    if errors:
        raise errors[0]


@pytest.fixture(scope="module")
def shared():
    """Servers that the tests of a file share; those that have ended are told of with each failure."""
    r = Rig(None)
    yield r
    errors = r.end()
    r.clean()
    if errors:
        raise errors[0]


@contextlib.contextmanager
def time_limit(seconds):
    def expired(signo, frame):
        faulthandler.dump_traceback(all_threads=True)
        raise TimeoutError(f"the test ran longer than {seconds} s")
    old = signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    with time_limit(LIMIT):
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item):
    with time_limit(LIMIT):
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if not report.failed:
        return
    found = getattr(item, "rig_reports", None)
    if found is None and hasattr(item, "rig"):
        found = item.rig.reports()
    shared = getattr(item, "funcargs", {}).get("shared")
    for name, text in (found or []) + (shared.reports(ended=True) if shared else []):
        report.sections.append((name, text))
