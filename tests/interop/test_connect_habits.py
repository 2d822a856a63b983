# SPDX-License-Identifier: GPL-3.0-or-later
"""What users of `openssl s_client` and `gnutls-cli` type out of habit: the answer names
what it is called here, and that exists."""

import re

import pytest

from connects import Run

# of each the words behind it, without the server
S_CLIENT = {
    "-connect": ["localhost:1"], "-servername": ["x.test"], "-CAfile": ["ca.pem"], "-showcerts": [], "-starttls": ["smtp"],
    "-tls1_2": [], "-tls1_3": [], "-alpn": ["h2"], "-cert": ["c.pem"], "-key": ["k.pem"], "-proxy": ["localhost:2"],
    "-status": [], "-verify_hostname": ["x.test"], "-verify_return_error": [], "-brief": [], "-quiet": [], "-ign_eof": [],
    "-crlf": [], "-groups": ["X25519"], "-curves": ["X25519"], "-sigalgs": ["x"], "-cipher": ["x"], "-ciphersuites": ["x"],
    "-CRL": ["crl.pem"], "-sess_in": ["f"], "-sess_out": ["f"], "-reconnect": [], "-early_data": ["f"], "-keylogfile": ["f"],
    "-xmpphost": ["x.test"], "-dane_tlsa_rrdata": ["3 1 1 00"],
}
GNUTLS_CLI = {
    "--x509cafile": ["ca.pem"], "--x509crlfile": ["f"], "--x509certfile": ["f"], "--x509keyfile": ["f"],
    "--starttls-proto": ["smtp"], "--earlydata": ["f"], "--print-cert": [], "--save-cert": ["f"], "--sni-hostname": ["x"],
    "--verify-hostname": ["x"], "--insecure": [], "--port": ["443"],
}


@pytest.fixture(scope="module")
def options():
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", Run("--help").out.decode()))


@pytest.mark.parametrize("word,rest", [*S_CLIENT.items(), *GNUTLS_CLI.items()])
def test_the_answer_is_what_it_is_called_here(options, word, rest):
    run = Run(word, *rest, "localhost:1")
    assert run.code == 2 and run.out == b"" and run.err.count("\n") == 1, run
    m = re.fullmatch(rf"tlskit connect: unknown option {re.escape(word)}; (did you mean|here that is) (.*)\n", run.err)
    assert m, run
    named = re.findall(r"--[a-z][a-z0-9-]*", m.group(2))
    assert named or "HOST:PORT" in m.group(2) or m.group(2) == "what it does anyhow", run
    assert set(named) <= options, run
