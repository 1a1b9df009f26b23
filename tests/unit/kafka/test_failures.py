# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Failures: each exception of kafka-python, of a socket or of TLS gets a cause, and a hint if there is one."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import kafka.errors as kafka_errors
import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.error_codes import (
    Stage,
    broker_call_error,
    describe_error,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import (
    BrokerCallError,
    CredentialsError,
    NoBrokerAnswersError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause

SECRET = "t0p-s3cret"
SCRAM: dict[str, Any] = {"sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "alice", "sasl_password": SECRET}
SETTINGS = {
    name: ConnectionSettings(bootstrap_servers=(Address("one", 1),), security_protocol=name, **options)
    for name, options in {"PLAINTEXT": {}, "SSL": {}, "SASL_PLAINTEXT": SCRAM, "SASL_SSL": SCRAM}.items()
}
ALERT_AS_LENGTH = int.from_bytes(bytes.fromhex("15030300"), "big")
DISCONNECTED = kafka_errors.KafkaConnectionError("socket disconnected")


def verification(text: str) -> ssl.SSLCertVerificationError:
    return ssl.SSLCertVerificationError(1, f"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {text}")


@pytest.mark.parametrize(
    ("fault", "protocol", "stage", "cause", "hint"),
    [
        (kafka_errors.KafkaTimeoutError(), "PLAINTEXT", Stage.CONNECTING, Cause.HUNG, ""),
        (kafka_errors.RequestTimedOutError("after 5 ms"), "PLAINTEXT", Stage.READY, Cause.HUNG, ""),
        (OSError("Connection timed out"), "PLAINTEXT", Stage.CONNECTING, Cause.UNREACHABLE, ""),
        (OSError("Connection timed out"), "PLAINTEXT", Stage.GREETING, Cause.HUNG, ""),
        (ConnectionRefusedError(111, "Connection refused"), "PLAINTEXT", Stage.CONNECTING, Cause.UNREACHABLE, ""),
        (OSError("Name or service not known"), "PLAINTEXT", Stage.CONNECTING, Cause.UNREACHABLE, ""),
        (DISCONNECTED, "PLAINTEXT", Stage.GREETING, Cause.DISCONNECTED, "check security_protocol"),
        (DISCONNECTED, "PLAINTEXT", Stage.READY, Cause.DISCONNECTED, "check security_protocol"),
        (DISCONNECTED, "SASL_SSL", Stage.READY, Cause.DISCONNECTED, ""),
        (DISCONNECTED, "SASL_SSL", Stage.AUTHENTICATING, Cause.NOT_AUTHORIZED, "credentials for SCRAM-SHA-512"),
        (
            kafka_errors.SaslAuthenticationFailedError("invalid credentials"),
            "SASL_PLAINTEXT",
            Stage.AUTHENTICATING,
            Cause.NOT_AUTHORIZED,
            "check the credentials for SCRAM-SHA-512",
        ),
        (CredentialsError("no ticket (run kinit)"), "SASL_SSL", Stage.AUTHENTICATING, Cause.NOT_AUTHORIZED, ""),
        (CredentialsError("no ticket (run kinit)"), "SASL_SSL", Stage.READY, Cause.NOT_AUTHORIZED, ""),
        (KeyError("r"), "SASL_SSL", Stage.AUTHENTICATING, Cause.BAD_ANSWER, "credentials for SCRAM-SHA-512"),
        (TypeError("None"), "SASL_SSL", Stage.READY, Cause.BAD_ANSWER, ""),
        (
            kafka_errors.UnsupportedSaslMechanismError("only GSSAPI"),
            "SASL_PLAINTEXT",
            Stage.AUTHENTICATING,
            Cause.NOT_AUTHORIZED,
            "check the credentials for SCRAM-SHA-512",
        ),
        (
            kafka_errors.IllegalSaslStateError("Metadata before authentication"),
            "PLAINTEXT",
            Stage.READY,
            Cause.NOT_AUTHORIZED,
            "the broker requires authentication: check security_protocol",
        ),
        (
            kafka_errors.IncompatibleBrokerVersion("no DescribeTopicPartitions"),
            "PLAINTEXT",
            Stage.READY,
            Cause.ERROR,
            "this collection needs Kafka 3.9 or later with KRaft, without ZooKeeper",
        ),
        (kafka_errors.CorrelationIdError("sent 1, recv 2"), "PLAINTEXT", Stage.READY, Cause.BAD_ANSWER, ""),
        (kafka_errors.InvalidReceiveError("Invalid frame length: -5"), "SSL", Stage.READY, Cause.BAD_ANSWER, ""),
        (kafka_errors.KafkaProtocolError("Unable to decode"), "PLAINTEXT", Stage.READY, Cause.BAD_ANSWER, ""),
        (
            kafka_errors.InvalidReceiveError(f"Invalid frame length: {ALERT_AS_LENGTH}"),
            "PLAINTEXT",
            Stage.GREETING,
            Cause.NOT_AUTHORIZED,
            "this port speaks TLS: set security_protocol to SSL or SASL_SSL",
        ),
        (
            verification("Hostname mismatch, certificate is not valid for 'one'."),
            "SSL",
            Stage.CONNECTING,
            Cause.NOT_AUTHORIZED,
            "its certificate is for another host: check the name in bootstrap_servers and in advertised.listeners",
        ),
        (
            verification("IP address mismatch, certificate is not valid for '::1'."),
            "SSL",
            Stage.CONNECTING,
            Cause.NOT_AUTHORIZED,
            "its certificate is for another host: check the address in bootstrap_servers and in advertised.listeners",
        ),
        (
            verification("certificate has expired"),
            "SASL_SSL",
            Stage.CONNECTING,
            Cause.NOT_AUTHORIZED,
            "the broker's certificate has expired: renew it",
        ),
        (
            verification("certificate is not yet valid"),
            "SSL",
            Stage.CONNECTING,
            Cause.NOT_AUTHORIZED,
            "the broker's certificate is not valid yet: check the clocks",
        ),
        (
            verification("self-signed certificate in certificate chain"),
            "SSL",
            Stage.CONNECTING,
            Cause.NOT_AUTHORIZED,
            "the broker's certificate is not signed by a CA that this host trusts: set ssl_cafile",
        ),
        (
            ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"),
            "SSL",
            Stage.CONNECTING,
            Cause.NOT_AUTHORIZED,
            "this port seems to speak no TLS: check security_protocol and the port",
        ),
        (
            ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required"),
            "SSL",
            Stage.GREETING,
            Cause.NOT_AUTHORIZED,
            "the broker requires a client certificate: set ssl_certfile and ssl_keyfile",
        ),
        (
            ssl.SSLError(1, "[SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca"),
            "SSL",
            Stage.GREETING,
            Cause.NOT_AUTHORIZED,
            "the broker requires a client certificate: set ssl_certfile and ssl_keyfile",
        ),
    ],
)
def test_exceptions_get_a_cause_and_a_hint(
    fault: Exception, protocol: str, stage: Stage, cause: Cause, hint: str
) -> None:
    found = broker_call_error(fault, SETTINGS[protocol], "one:1", "Metadata", stage)
    assert found.cause is cause
    assert hint in found.hint
    assert bool(hint) == bool(found.hint)
    assert str(found).startswith(f"Metadata at one:1: {cause}: {found.detail}")
    assert not any(each in str(found) for each in ("SSL: ", "_ssl.c", "Handshake failed: "))
    assert str(found).endswith(f" ({found.hint})" if hint else found.detail)
    assert SECRET not in str(found)


@pytest.mark.parametrize(("has_own", "named"), [(False, "requires a client certificate"), (True, "own.pem: check")])
def test_a_refused_certificate_is_named(tmp_path: Path, *, has_own: bool, named: str) -> None:
    """Java's brokers send this alert to a certificate that has expired, and to one of an unknown CA."""
    (own := tmp_path / "own.pem").touch()
    settings = ConnectionSettings(
        bootstrap_servers=(Address("one", 1),), security_protocol="SSL", ssl_certfile=str(own) if has_own else None
    )
    alert = "[SSL: SSLV3_ALERT_CERTIFICATE_UNKNOWN] sslv3 alert certificate unknown (_ssl.c:2580)"
    found = broker_call_error(ssl.SSLError(1, alert), settings, "one:1", "Metadata", Stage.GREETING)
    assert found.cause is Cause.NOT_AUTHORIZED, "the broker runs: it is not to be started"
    assert named in found.hint
    assert str(found).startswith("Metadata at one:1: not_authorized: sslv3 alert certificate unknown (the broker re")


def test_exception_without_text_is_reported_by_its_class_name() -> None:
    found = broker_call_error(ConnectionResetError(), SETTINGS["SSL"], "one:1", "Metadata", Stage.CONNECTING)
    assert found.detail == "ConnectionResetError"


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("KafkaConnectionError: 111 ECONNREFUSED", "connection refused"),
        ("[Errno 113] No route to host", "no route to host"),
        ("[Errno -2] Name or service not known", "[Errno -2] Name or service not known"),
        ("8 EOF occurred", "8 EOF occurred"),
    ],
)
def test_system_error_is_reported_by_its_text(text: str, detail: str) -> None:
    found = broker_call_error(OSError(text), SETTINGS["PLAINTEXT"], "one:1", "Metadata", Stage.CONNECTING)
    assert found.detail == detail


def test_a_text_of_a_broker_controls_no_terminal() -> None:
    evil = "no\x1b]0;title\x07 user\n\u202eok"
    refused = kafka_errors.SaslAuthenticationFailedError(evil)
    found = broker_call_error(refused, SETTINGS["SASL_SSL"], "one:1", "Metadata", Stage.AUTHENTICATING)
    assert str(found).isprintable()
    assert describe_error(42, evil) == "INVALID_REQUEST (error 42): no ]0;title  user  ok"


def test_no_answer_is_reported_with_every_failure() -> None:
    failures = [
        broker_call_error(ConnectionRefusedError(111, "Connection refused"), SETTINGS["SSL"], address, "", stage)
        for address, stage in (("one:1", Stage.CONNECTING), ("two:2", Stage.GREETING))
    ]
    assert str(NoBrokerAnswersError("Metadata", failures)) == (
        "no broker answered Metadata: one:1: unreachable: connection refused; "
        "two:2: disconnected: [Errno 111] Connection refused"
    )
    assert str(NoBrokerAnswersError("Metadata", [])) == "no broker could be asked for Metadata: none is known"


def test_a_listener_without_sasl_is_named_as_one() -> None:
    refused = kafka_errors.IllegalSaslStateError("Request is not valid given the current SASL state.")
    found = broker_call_error(refused, SETTINGS["SASL_SSL"], "one:1", "Metadata", Stage.AUTHENTICATING)
    assert (found.cause, found.detail) == (Cause.NOT_AUTHORIZED, "this listener does not use SASL")
    assert found.hint == "set security_protocol to SSL, or use the port of a listener with SASL"


def test_brokers_that_fail_alike_are_one_text() -> None:
    failures = [BrokerCallError(f"{each}:1", Cause.HUNG, "no answer", request="Metadata") for each in "abc"]
    failures.append(BrokerCallError("d:1", Cause.ERROR, "other", request="Metadata"))
    assert str(NoBrokerAnswersError("Metadata", failures)) == (
        "no broker answered Metadata: a:1, b:1, c:1: hung: no answer; d:1: error: other"
    )
