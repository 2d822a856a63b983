# SPDX-License-Identifier: GPL-3.0-or-later
"""A SoftHSM token in a folder."""

import os
import subprocess

import pytest

import peers

MODULES = [f"/usr/{lib}/libsofthsm2.so" for lib in (
    "lib/softhsm", "lib/x86_64-linux-gnu/softhsm", "lib/aarch64-linux-gnu/softhsm", "lib64/pkcs11",
    "lib/pkcs11", "lib64")]


def make(tmp_path, cert, key):
    """(environment, URL) of this certificate and its key in a token."""
    module = os.environ.get("SOFTHSM2_MODULE") or next((m for m in MODULES if os.path.exists(m)), None)
    if not module:
        pytest.skip("SoftHSM is not installed: there is no token to try a pkcs11: URL with")
    tools = [peers.program(name, "the package softhsm2 or gnutls-bin") for name in ("softhsm2-util", "p11tool")]
    (tmp_path / "tokens").mkdir()
    (tmp_path / "softhsm.conf").write_text(f"directories.tokendir = {tmp_path}/tokens\nobjectstore.backend = file\n")
    env = {"SOFTHSM2_CONF": str(tmp_path / "softhsm.conf")}

    def do(*command):
        pins = {"GNUTLS_PIN": "1234", "GNUTLS_SO_PIN": "1234"}
        return subprocess.run(list(map(str, command)), env={**os.environ, **env, **pins}, check=True,
                              capture_output=True, timeout=20).stdout
    do(tools[0], "--module", module, "--init-token", "--free", "--label", "ours", "--pin", "1234", "--so-pin", "1234")
    if b"token=ours" not in do(tools[1], "--list-token-urls"):
        pytest.skip("p11-kit does not know SoftHSM's module: the package softhsm2 tells it")
    url = "pkcs11:token=ours"
    for kind, file in ("--load-privkey", key), ("--load-certificate", cert):
        do(tools[1], "--provider", module, "--login", "--batch", "--write", kind, file, "--label", "me", "--id", "01",
           url)
    return env, url + ";object=me?pin-value=1234"
