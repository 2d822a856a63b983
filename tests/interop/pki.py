# SPDX-License-Identifier: GPL-3.0-or-later
"""A small world of certificates, good and bad, made once a session."""

import base64
import datetime
import hashlib
import ipaddress
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)
NOW = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None, microsecond=0)
LOCAL = ["localhost", "127.0.0.1", "::1"]


class Cred:
    """A certificate with its key: objects, and the PEM files `cert` (with what
    else is sent), `key`, and `both` (key and certificates in one file)."""

    def __init__(self, path, name, cert, key, chain=()):
        self.name, self.x509, self.priv = name, cert, key
        pem = b"".join(pem_cert(c) for c in (cert, *chain))
        self.cert = write(path, name + ".pem", pem)
        self.key = write(path, name + ".key", pem_key(key))
        self.both = write(path, name + "-both.pem", pem_key(key) + pem)

    @property
    def pin(self):
        spki = self.x509.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return "sha256:" + base64.b64encode(hashlib.sha256(spki).digest()).decode()


def write(path, name, data):
    full = os.path.join(path, name)
    with open(full, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    os.chmod(full, 0o600)
    return full


def pem_cert(cert):
    return cert.public_bytes(serialization.Encoding.PEM)


def pem_key(key, password=None):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption())


def ec_key():
    return ec.generate_private_key(ec.SECP256R1())


# files of RSA keys made beforehand, for a machine that is slow
MADE = iter(os.environ.get("TLSKIT_RSA_KEYS", "").split())


def rsa_key():
    path = next(MADE, None)
    if not path:
        return rsa.generate_private_key(65537, 3072)
    with open(path, "rb") as f:
        return serialization.load_pem_private_key(f.read(), None)


def subject(cn, ou=None):
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, cn)]
    if ou:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, ou))
    return x509.Name(parts)


def general_name(text):
    if text.startswith("uri:"):
        return x509.UniformResourceIdentifier(text[4:])
    if text.startswith("email:"):
        return x509.RFC822Name(text[6:])
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def issue(name, key, issuer, san=(), ca=False, usage=None, start=NOW - DAY, end=NOW + 30 * DAY, length=None, extra=()):
    """issuer: (name, key) of who signs; None signs itself. extra: further
    extensions, (extension, critical) each."""
    issuer_name, issuer_key = issuer or (name, key)
    b = (x509.CertificateBuilder()
         .subject_name(name).issuer_name(issuer_name).public_key(key.public_key())
         .serial_number(x509.random_serial_number())
         .not_valid_before(start).not_valid_after(end)
         .add_extension(x509.BasicConstraints(ca=ca, path_length=length), critical=True)
         .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
         .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
         .add_extension(key_usage(ca), critical=True))
    if san:
        b = b.add_extension(x509.SubjectAlternativeName([general_name(s) for s in san]), critical=False)
    if usage:
        b = b.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    for extension, critical in extra:
        b = b.add_extension(extension, critical)
    return b.sign(issuer_key, hash_for(issuer_key))


def hash_for(key):
    """Of a signature; Ed25519 has its own."""
    return None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()


def key_usage(ca):
    return x509.KeyUsage(digital_signature=True, content_commitment=False, key_encipherment=False,
                         data_encipherment=False, key_agreement=False, key_cert_sign=ca, crl_sign=ca,
                         encipher_only=False, decipher_only=False)


class Pki:
    """Attributes are Creds: servers rsa, ecdsa, expired, notyet, wronghost,
    selfsigned, chained (leaf and intermediate), nointermediate; clients alice,
    mallory (the same CA, no name of alice's), foreign (alice's names from
    another CA). `ca` holds both roots, `client_ca` the clients' root,
    `other_ca` the foreign one."""

    def __init__(self, path):
        self.path = str(path)
        self.root_rsa, self.root_ec = self.root("root-rsa", rsa_key()), self.root("root-ec", ec_key())
        self.root_client, self.root_other = self.root("root-client", ec_key()), self.root("root-other", ec_key())
        self.ca = self.file("ca.pem", pem_cert(self.root_rsa.x509) + pem_cert(self.root_ec.x509))
        self.client_ca, self.other_ca = self.root_client.cert, self.root_other.cert
        self.servers()
        self.clients()

    def file(self, name, data):
        return write(self.path, name, data)

    def root(self, name, key):
        return Cred(self.path, name, issue(subject(name), key, None, ca=True, end=NOW + 365 * DAY), key)

    def leaf(self, name, issuer, key=None, cn=None, ou=None, san=tuple(LOCAL), chain=(),
             usage=ExtendedKeyUsageOID.SERVER_AUTH, **dates):
        key = key or ec_key()
        by = issuer and (issuer.x509.subject, issuer.priv)
        return Cred(self.path, name, issue(subject(cn or san[0], ou), key, by, san=san, usage=usage, **dates),
                    key, chain)

    def servers(self):
        self.rsa = self.leaf("rsa", self.root_rsa, key=rsa_key())
        self.ecdsa = self.leaf("ecdsa", self.root_ec)
        self.expired = self.leaf("expired", self.root_ec, start=NOW - 9 * DAY, end=NOW - DAY)
        self.notyet = self.leaf("notyet", self.root_ec, start=NOW + DAY, end=NOW + 9 * DAY)
        self.wronghost = self.leaf("wronghost", self.root_ec, san=("other.test",))
        self.selfsigned = self.leaf("selfsigned", None)
        key = ec_key()
        by = (self.root_ec.x509.subject, self.root_ec.priv)
        middle = Cred(self.path, "middle", issue(subject("middle"), key, by, ca=True), key)
        self.chained = self.leaf("chained", middle, chain=(middle.x509,))
        self.nointermediate = self.leaf("nointermediate", middle)

    def clients(self):
        names = ("alice.test", "uri:spiffe://test/alice", "email:alice@test")
        usage = ExtendedKeyUsageOID.CLIENT_AUTH
        self.alice = self.leaf("alice", self.root_client, cn="alice", ou="ops", san=names, usage=usage)
        self.foreign = self.leaf("foreign", self.root_other, cn="alice", ou="ops", san=names, usage=usage)
        self.mallory = self.leaf(
            "mallory", self.root_client, cn="alice.evil.test", ou="ops,CN=alice", usage=usage,
            san=("xalice.test", "uri:spiffe://test/alice/../mallory", "email:malice@test"))
        self.expired_client = self.leaf("expired-client", self.root_client, cn="alice", ou="ops", san=names,
                                        usage=usage, start=NOW - 9 * DAY, end=NOW - DAY)

    def named(self, words):
        """Words that name something of ours ("ca", "rsa.pin") become that."""
        def one(word):
            head, _, tail = word.partition(".")
            thing = getattr(self, head, None)
            return getattr(thing, tail, word) if tail else thing or word
        return [one(w) for w in words]

    def encrypted_key(self, cred):
        return self.file(cred.name + "-encrypted.key", pem_key(cred.priv, b"secret"))
