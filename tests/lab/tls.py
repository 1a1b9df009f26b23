# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates of a cluster: of an authority, of brokers, and of a client."""

from __future__ import annotations

import ipaddress
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SERVER_NAMES = {"valid": _LOOPBACK, "wrong_host": ("elsewhere.example",), "expired": _LOOPBACK}
_DAY = timedelta(days=1)


class Certificates:
    """Files in one directory, created once. The passwords are only for tests."""

    client_key_password = "client-key-secret"
    store_password = "store-secret"

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        self._directory = directory
        self._ca_key = ec.generate_private_key(ec.SECP256R1())
        self._ca = self._certificate("kafkaops lab CA", self._ca_key, names=(), is_ca=True)
        self._client_key = ec.generate_private_key(ec.SECP256R1())
        self._client = self._certificate("lab-client", self._client_key, names=("lab-client",))

    @cached_property
    def ca(self) -> Path:
        """PEM: the authority that signed every certificate here."""
        return self._write("ca.pem", self._ca.public_bytes(Encoding.PEM))

    @cached_property
    def other_ca(self) -> Path:
        """PEM: an authority that signed nothing here."""
        key = ec.generate_private_key(ec.SECP256R1())
        stranger = self._certificate("another CA", key, names=(), is_ca=True, issuer_key=key)
        return self._write("other-ca.pem", stranger.public_bytes(Encoding.PEM))

    @cached_property
    def client_certificate(self) -> Path:
        """PEM: the client's certificate, principal ``User:CN=lab-client``."""
        return self._write("client.pem", self._client.public_bytes(Encoding.PEM))

    @cached_property
    def client_key(self) -> Path:
        """PEM: the client's key, PKCS#8 encrypted with ``client_key_password``."""
        password = BestAvailableEncryption(self.client_key_password.encode())
        return self._write("client.key", _private_pem(self._client_key, password))

    @cached_property
    def client_keystore_p12(self) -> Path:
        """PKCS#12: the client's key and certificate, with ``store_password``."""
        password = BestAvailableEncryption(self.store_password.encode())
        store = pkcs12.serialize_key_and_certificates(b"client", self._client_key, self._client, [self._ca], password)
        return self._write("client.p12", store)

    @cached_property
    def truststore_p12(self) -> Path:
        """PKCS#12: the authority as a Java trust store, with ``store_password``."""
        password = BestAvailableEncryption(self.store_password.encode())
        trusted = pkcs12.PKCS12Certificate(self._ca, b"ca")
        return self._write("truststore.p12", pkcs12.serialize_java_truststore([trusted], password))

    @cached_property
    def truststore_jks(self) -> Path:
        """JKS: the authority, with ``store_password``; made by keytool."""
        path = self._directory / "truststore.jks"
        command = ["keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", str(self.ca), "-keystore", str(path)]
        command += ["-storetype", "JKS", "-storepass", self.store_password]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        return path

    def server(self, kind: str) -> Path:
        """PEM: key and chain of a broker; ``kind`` is a key of _SERVER_NAMES."""
        key = ec.generate_private_key(ec.SECP256R1())
        days = -1 if kind == "expired" else 30
        certificate = self._certificate("broker", key, names=_SERVER_NAMES[kind], valid_days=days)
        chain = certificate.public_bytes(Encoding.PEM) + self._ca.public_bytes(Encoding.PEM)
        return self._write(f"server-{kind}.pem", _private_pem(key, NoEncryption()) + chain)

    def _certificate(
        self,
        common_name: str,
        key: ec.EllipticCurvePrivateKey,
        *,
        names: Sequence[str],
        valid_days: int = 30,
        is_ca: bool = False,
        issuer_key: ec.EllipticCurvePrivateKey | None = None,
    ) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if is_ca else self._ca.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 2 * _DAY)
            .not_valid_after(now + valid_days * _DAY)
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        )
        if names:
            builder = builder.add_extension(
                x509.SubjectAlternativeName(list(map(_general_name, names))), critical=False
            )
        return builder.sign(issuer_key or self._ca_key, hashes.SHA256())

    def _write(self, name: str, content: bytes) -> Path:
        path = self._directory / name
        path.write_bytes(content)
        return path


def _private_pem(key: ec.EllipticCurvePrivateKey, encryption: KeySerializationEncryption) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
