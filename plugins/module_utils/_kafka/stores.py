# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read key and trust stores as Kafka's Java client does: PKCS12, JKS, or PEM text.

The first bytes of a file determine its type. The type in a properties file is ignored: files named ``.jks`` are usually
PKCS12 since Java 9, and Java reads both types under both names (``keystore.type.compat``). ``cryptography`` reads
PKCS12. Java's own keytool converts a true JKS. It gets passwords in its environment, so no process list shows them.

A private key is returned encrypted with a new random password, so that it is never on a disk unencrypted.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import tempfile
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .._model.run import KafkaOpsError
from .errors import describe_unreadable

with suppress(ImportError):  # named by require_cryptography
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.serialization import pkcs12

if TYPE_CHECKING:
    from cryptography import x509

_JKS_MAGIC = bytes.fromhex("feedfeed")
_DER_SEQUENCE = b"\x30"
_PEM_BEGINS = b"-----BEGIN"
_KEYTOOL_TIMEOUT_S = 60
_KEY_ENTRY = re.compile(r"^(.+), \w+ \d+, \d+, PrivateKeyEntry,", re.MULTILINE)
# As Kafka's PemParser: the text may be on one line, and there may be header lines before the base64 text.
_PEM = re.compile(
    r"-+BEGIN\s+([^-\n]*(?:CERTIFICATE|PRIVATE KEY)[^-\n]*?)\s*-+\s+"
    r"(?:[^\n:]*:[^\n]*\n)*([A-Za-z0-9+/=\s]+?)-+END\s[^-]*-+"
)


class StoreError(KafkaOpsError):
    """A store cannot be used. The message has its path, the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class KeyMaterial:
    """A client's certificate and key."""

    chain_pem: str
    """The certificate, followed by the intermediate ones up to its CA."""
    key_pem: str = field(repr=False)
    """PKCS#8, encrypted with ``password``."""
    password: str = field(repr=False)


def is_pem(path: str, kind: str | None) -> bool:
    """Return whether a file has a PEM block near its beginning, or PEM is the ``kind`` of store. Raises StoreError."""
    try:
        with Path(path).open("rb") as file:
            return _PEM_BEGINS in file.read(65536) or (kind or "").upper() == "PEM"
    except OSError as error:
        raise StoreError(f"{path} {describe_unreadable(error)}") from None


def read_trust_store(path: str, password: str | None) -> str:
    """Return the certificates in a PKCS12 or JKS store as PEM text. Raises StoreError."""
    store = _open(path, password, key_password=None, wants_key=False)
    found = [each.certificate for each in (store.cert, *store.additional_certs) if each is not None]
    if not found:
        raise StoreError(f"{path} has no certificate that is marked as trusted")
    return _encode_pem(found)


def read_key_store(path: str, password: str | None, key_password: str | None) -> KeyMaterial:
    """Return the first private key of a PKCS12 or JKS store, with its certificates.

    ``key_password`` is the password of the key if it differs from the store's. Only a JKS can have both.

    Raises StoreError.
    """
    store = _open(path, password, key_password=key_password, wants_key=True)
    if store.key is None or store.cert is None:
        raise StoreError(f"{path} has no private key")
    own_password = secrets.token_urlsafe()
    key = store.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(own_password.encode()),
    )
    others = [each.certificate for each in store.additional_certs]
    return KeyMaterial(_encode_pem(_order_chain(store.cert.certificate, others)), key.decode(), own_password)


def normalized_pem(text: str, kind: str) -> str:
    """Return inline PEM text (KIP-651) in lines of 64 characters, which OpenSSL requires.

    ``kind`` is CERTIFICATE or PRIVATE KEY. Raises StoreError if the text has no such block.
    """
    blocks = [
        f"-----BEGIN {label}-----\n"
        + "\n".join(textwrap.wrap("".join(body.split()), 64))
        + f"\n-----END {label}-----\n"
        for label, body in _PEM.findall(text)
        if kind in label
    ]
    if not blocks:
        raise StoreError(f"it has no PEM block of the kind {kind}")
    return "".join(blocks)


def _open(
    path: str, password: str | None, *, key_password: str | None, wants_key: bool
) -> pkcs12.PKCS12KeyAndCertificates:
    _require_cryptography(path)
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise StoreError(f"{path} {describe_unreadable(error)}") from None
    if content.startswith(_JKS_MAGIC):
        content, password = _convert_to_pkcs12(path, password, key_password if wants_key else None, wants_key=wants_key)
    elif not content.startswith(_DER_SEQUENCE):
        raise StoreError(
            f"{path} is neither a PKCS12 nor a JKS store: convert it with keytool -importkeystore -deststoretype PKCS12"
        )
    return _read_pkcs12(path, content, password)


def _read_pkcs12(path: str, content: bytes, password: str | None) -> pkcs12.PKCS12KeyAndCertificates:
    try:
        return pkcs12.load_pkcs12(content, password.encode() if password else None)
    except UnsupportedAlgorithm as error:
        raise StoreError(f"{path} is encrypted in a way that cannot be read here: {error}") from None
    except ValueError:
        # OpenSSL does not distinguish a wrong password from a damaged file.
        raise StoreError(
            f"{path} cannot be opened: its password is wrong, or the file is damaged"
            if password
            else f"{path} cannot be opened without a password"
        ) from None


def _convert_to_pkcs12(
    path: str, password: str | None, key_password: str | None, *, wants_key: bool
) -> tuple[bytes, str]:
    """Convert a JKS store to PKCS12. Return it and its new random password."""
    own_password = secrets.token_urlsafe()
    environment = {"KAFKAOPS_STORE": password or "", "KAFKAOPS_OWN": own_password}
    key_options: list[str] = []
    if wants_key:
        listed = _run_keytool(path, "-list", *_jks_options(path, password, prefix=""), environment=environment)
        alias = _KEY_ENTRY.search(listed)
        if alias is None:
            raise StoreError(f"{path} has no private key")
        # As Kafka: a key without its own password has the store's.
        environment["KAFKAOPS_KEY"] = key_password or password or ""
        key_options = ["-srcalias", alias[1], "-srckeypass:env", "KAFKAOPS_KEY", "-destkeypass:env", "KAFKAOPS_OWN"]
    options = [*_jks_options(path, password, prefix="src"), *key_options]
    with tempfile.TemporaryDirectory(prefix="kafkaops-store-") as directory:
        target = Path(directory) / "store.p12"
        made = ["-destkeystore", str(target), "-deststoretype", "PKCS12", "-deststorepass:env", "KAFKAOPS_OWN"]
        _run_keytool(path, "-importkeystore", "-noprompt", *options, *made, environment=environment)
        return target.read_bytes(), own_password


def _jks_options(path: str, password: str | None, *, prefix: str) -> list[str]:
    opened = [f"-{prefix}storepass:env", "KAFKAOPS_STORE"] if password else []
    return [f"-{prefix}keystore", path, f"-{prefix}storetype", "JKS", *opened]


def _run_keytool(path: str, *arguments: str, environment: Mapping[str, str]) -> str:
    keytool = shutil.which("keytool")
    if keytool is None:
        raise StoreError(
            f"{path} is a JKS store, and keytool, which comes with Java, is not on the PATH: install Java, or convert "
            "the store with keytool -importkeystore -deststoretype PKCS12"
        )
    # Force English, because the output is parsed.
    command = [keytool, "-J-Duser.language=en", "-J-Duser.country=US", *arguments]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            input="\n",  # an empty password, if none is given: then keytool reads the JKS unchecked, as Java does
            capture_output=True,
            text=True,
            timeout=_KEYTOOL_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StoreError(f"{path} cannot be converted by keytool: {type(error).__name__}") from None
    if done.returncode != 0:
        raise StoreError(f"{path} cannot be opened: {_describe_keytool_error(done.stdout)}")
    return done.stdout


def _describe_keytool_error(output: str) -> str:
    if "password was incorrect" in output:
        return "its password is wrong, or the file is damaged"
    if "Cannot recover key" in output:
        return "the password of its key is wrong (ssl.key.password, or the store's own where that is not set)"
    line = next(
        (line for line in output.splitlines() if line.startswith("keytool error:")), "keytool could not read it"
    )
    return line.removeprefix("keytool error: ")


def _order_chain(leaf: x509.Certificate, others: list[x509.Certificate]) -> list[x509.Certificate]:
    """Return the certificate and its issuers, in the order that TLS wants."""
    chain = [leaf]
    while issuer := next((each for each in others if each.subject == chain[-1].issuer and each not in chain), None):
        chain.append(issuer)
    return chain


def _encode_pem(certificates: list[x509.Certificate]) -> str:
    return "".join(each.public_bytes(serialization.Encoding.PEM).decode() for each in certificates)


def _require_cryptography(path: str) -> None:
    if "pkcs12" not in globals():
        raise StoreError(f"{path} is a Java key or trust store: install the Python library cryptography to read it")
