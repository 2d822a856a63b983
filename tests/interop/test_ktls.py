# SPDX-License-Identifier: GPL-3.0-or-later
"""--dataplane ktls: on a kernel without TLS it is said once and another plane does
the work; with TLS the end line says so. What the kernel does then is shown by
tests/interop/ktls_qemu/run."""

import pytest

import ends
import ktls
import tlsend

WARNING = "this kernel offers no TLS"


def warnings(tunnel):
    return [e for e in tunnel.events() if WARNING in str(e)]


def carry(rig, pki, blob, role, version, *args):
    """Data both ways and a clean end through a tunnel; its end line."""
    versions = tlsend.VERSIONS[version]
    back = rig.listener()
    if role == "server":
        t = rig.server(pki.ecdsa, back.target, *args)
        a, b = rig.dial_tls(t, tlsend.context(ca=pki.ca, versions=versions)), back.accept()
    else:
        t = rig.client(back.addr[1], "--ca", pki.ca, *args)
        a, b = rig.dial(t), back.accept_tls(tlsend.context(server=True, cred=pki.ecdsa, versions=versions))
    ends.exchange(a, b, blob, blob)
    a.shut()
    assert b.recv() == b""
    b.shut()
    assert a.recv() == b""
    line = t.close_line()
    assert line["result"] == "ok", line
    assert (line["to_target_bytes"], line["to_peer_bytes"]) == (len(blob), len(blob))
    return t, line


@pytest.mark.parametrize("role", ["server", "client"])
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_plane_in_the_line(rig, pki, blob, role, version):
    t, line = carry(rig, pki, blob, role, version, "--dataplane", "ktls")
    expected = "ktls" if version == "1.3" and ktls.OFFERED else "direct"
    assert line["dataplane"] == expected, line
    assert len(warnings(t)) == (0 if ktls.OFFERED else 1), t.stderr()


@pytest.mark.parametrize("plane", ["auto", "gnutls", "direct"])
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_others_do_not_take_it(rig, pki, blob, version, plane):
    t, line = carry(rig, pki, blob, "server", version, "--dataplane", plane)
    assert line["dataplane"] == ("gnutls" if plane == "gnutls" else "direct"), line
    assert warnings(t) == []
