# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Key and trust stores: recognized by their first bytes, and keys are never in plain text on disk."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificates

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.stores import (
    StoreError,
    normalized_pem,
    read_key_store,
    read_trust_store,
)
from lab.tls import Certificates

PASSWORD = Certificates.store_password


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls") / "files")


def names(pem: str) -> list[str]:
    return [each.subject.rfc4514_string() for each in load_pem_x509_certificates(pem.encode())]


def test_trust_stores_of_both_kinds(certificates: Certificates) -> None:
    for store in (certificates.truststore_p12, certificates.truststore_jks):
        assert names(read_trust_store(str(store), PASSWORD)) == ["CN=kafkaops lab CA"]
    assert certificates.truststore_jks.read_bytes().startswith(bytes.fromhex("feedfeed"))
    # Java also reads this one without its password, and then does not check its integrity.
    assert names(read_trust_store(str(certificates.truststore_jks), None)) == ["CN=kafkaops lab CA"]


def test_a_key_store_gives_an_encrypted_key_and_an_ordered_chain(certificates: Certificates) -> None:
    material = read_key_store(str(certificates.client_keystore_p12), PASSWORD, None)
    assert names(material.chain_pem) == ["CN=lab-client", "CN=kafkaops lab CA"]
    assert "BEGIN ENCRYPTED PRIVATE KEY" in material.key_pem
    load_pem_private_key(material.key_pem.encode(), material.password.encode())
    assert material.password not in repr(material)
    assert read_key_store(str(certificates.client_keystore_p12), PASSWORD, None).password != material.password


def test_pkcs12_as_openssl_1_wrote_it(certificates: Certificates, tmp_path: Path) -> None:
    """Test RC2-40 and 3DES, the default until OpenSSL 3 and Java 16."""
    store = tmp_path / "old.p12"
    command = ["openssl", "pkcs12", "-export", "-legacy", "-out", str(store), "-passout", f"pass:{PASSWORD}"]
    command += ["-in", str(certificates.client_certificate), "-inkey", str(certificates.client_key)]
    command += ["-passin", f"pass:{certificates.client_key_password}"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert names(read_key_store(str(store), PASSWORD, None).chain_pem) == ["CN=lab-client"]


@pytest.mark.parametrize("password", ["wrong", None])
def test_a_store_that_cannot_be_opened_is_named_without_its_password(
    certificates: Certificates, password: str | None
) -> None:
    with pytest.raises(StoreError, match="password") as caught:
        read_trust_store(str(certificates.truststore_p12), password)
    assert str(certificates.truststore_p12) in str(caught.value)
    assert "wrong;" not in str(caught.value)


def test_file_that_is_not_a_store_is_refused_with_a_remedy(certificates: Certificates, tmp_path: Path) -> None:
    other = tmp_path / "store.bcfks"
    other.write_bytes(b"\x00\x01")
    for path, message in [
        (other, "neither a PKCS12 nor a JKS store: convert it"),
        (tmp_path / "absent", "cannot be read: No such file"),
    ]:
        with pytest.raises(StoreError, match=message):
            read_trust_store(str(path), PASSWORD)
    with pytest.raises(StoreError, match="has no private key"):
        read_key_store(str(certificates.truststore_p12), PASSWORD, None)


def test_without_java_a_true_jks_says_what_to_do(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    store = certificates.truststore_jks
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(StoreError, match="is a JKS store, and keytool, which comes with Java, is not on the PATH"):
        read_trust_store(str(store), PASSWORD)


@pytest.mark.parametrize("separator", ["\n", " ", "\r\n"])
def test_inline_pem_may_be_on_one_line(certificates: Certificates, separator: str) -> None:
    key = certificates.client_key.read_text()
    text = separator.join([*key.split("\n"), *certificates.ca.read_text().split("\n")])
    assert normalized_pem(text, "PRIVATE KEY") == key
    assert names(normalized_pem(text, "CERTIFICATE")) == ["CN=kafkaops lab CA"]


def test_text_without_pem_is_refused_and_not_repeated() -> None:
    with pytest.raises(StoreError, match="has no PEM block of the kind CERTIFICATE") as caught:
        normalized_pem("t0p-s3cret", "CERTIFICATE")
    assert "t0p-s3cret" not in str(caught.value)
