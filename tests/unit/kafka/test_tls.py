# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""TLS contexts: each setting is followed, or refused by name."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.client_configs import tls_context
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import SettingsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.tls_properties import openssl_ciphers
from lab.tls import Certificates


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls") / "files")


def settings(**options: Any) -> ConnectionSettings:
    return settings_from({"bootstrap_servers": "one:1", "security_protocol": "SSL", **options})


def test_pem_text_and_files_are_equivalent(certificates: Certificates) -> None:
    inline = settings(
        ssl_ca_pem=certificates.ca.read_text(),
        ssl_certificate_pem=certificates.client_certificate.read_text(),
        ssl_key_pem=certificates.client_key.read_text(),
        ssl_key_password=certificates.client_key_password,
    )
    files = settings(
        ssl_cafile=str(certificates.ca),
        ssl_certfile=str(certificates.client_certificate),
        ssl_keyfile=str(certificates.client_key),
        ssl_key_password=certificates.client_key_password,
    )
    for each in (inline, files):
        assert len(tls_context(each).get_ca_certs()) == 1
    assert tls_context(inline) is tls_context(inline)


def test_versions_ciphers_and_names_are_obeyed() -> None:
    wanted = settings(
        ssl_min_version="TLSv1.2",
        ssl_max_version="TLSv1.2",
        ssl_ciphers="ECDHE-RSA-AES256-GCM-SHA384",
        ssl_check_hostname=False,
    )
    context = tls_context(wanted)
    assert context.maximum_version == ssl.TLSVersion.TLSv1_2
    assert not context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED
    older = [each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]
    assert older == ["ECDHE-RSA-AES256-GCM-SHA384"]


@pytest.mark.parametrize("password", [None, "wrong"])
def test_a_key_that_cannot_be_opened_does_not_ask_the_terminal(
    certificates: Certificates, password: str | None
) -> None:
    pem = {"ssl_certificate_pem": certificates.client_certificate.read_text()}
    pem |= {"ssl_key_pem": certificates.client_key.read_text()}
    with pytest.raises(
        SettingsError, match="the key store cannot be used: the password of the key is wrong or missing"
    ):
        tls_context(settings(**pem, ssl_key_password=password))


def test_a_key_of_another_certificate_is_reported(certificates: Certificates) -> None:
    pem = {"ssl_certificate_pem": certificates.ca.read_text(), "ssl_key_pem": certificates.client_key.read_text()}
    with pytest.raises(SettingsError, match="the key does not belong to the certificate"):
        tls_context(settings(**pem, ssl_key_password=certificates.client_key_password))


def test_a_file_without_certificates_is_reported() -> None:
    with pytest.raises(SettingsError, match="/dev/null cannot be used: OpenSSL cannot read it"):
        tls_context(settings(ssl_cafile="/dev/null"))


ALL_1_3 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]


@pytest.mark.parametrize(
    ("suites", "options"),
    [
        (ALL_1_3, {"ssl_min_version": "TLSv1.3"}),
        (
            [*ALL_1_3, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_256_CBC_SHA"],
            {"ssl_ciphers": "ECDHE-RSA-AES128-GCM-SHA256:AES256-SHA"},
        ),
        (
            ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384"],
            {
                "ssl_ciphers": "ECDHE-ECDSA-CHACHA20-POLY1305:DHE-RSA-AES256-GCM-SHA384",
                "ssl_max_version": "TLSv1.2",
            },
        ),
    ],
)
def test_cipher_suites_get_openssls_names(suites: list[str], options: dict[str, str]) -> None:
    assert openssl_ciphers(suites, {}) == options


@pytest.mark.parametrize(
    ("suites", "versions", "message"),
    [
        (
            ["TLS_NULL_WITH_NULL_NULL", "SSL_RSA_WITH_RC4_128_MD5"],
            {},
            "TLS_NULL_WITH_NULL_NULL, SSL_RSA_WITH_RC4_128_MD5",
        ),
        (ALL_1_3[:1], {}, "add TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256"),
        (ALL_1_3, {"ssl_max_version": "TLSv1.2"}, "only suites of TLS 1.3"),
        (["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"], {"ssl_min_version": "TLSv1.3"}, "no suite of TLS 1.3"),
    ],
)
def test_cipher_suites_that_cannot_be_obeyed_are_named(
    suites: list[str], versions: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        openssl_ciphers(suites, versions)
