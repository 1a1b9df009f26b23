# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Explain errors to the operator: Kafka's error codes, and exceptions of kafka-python, sockets and TLS."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from enum import Enum
from typing import Any

from .._model.partition import Cause
from .errors import QUOTA_HINT, BrokerCallError, CredentialsError, RequestRefusedError
from .settings import ConnectionSettings

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import kafka.errors as kafka_errors

    _TIMEOUTS = (kafka_errors.KafkaTimeoutError, kafka_errors.RequestTimedOutError)

    _AUTHORIZATION_ERRORS = (
        kafka_errors.SaslAuthenticationFailedError,
        kafka_errors.UnsupportedSaslMechanismError,
        kafka_errors.IllegalSaslStateError,
        kafka_errors.AuthorizationError,
    )

    _PROTOCOL_ERRORS = (
        kafka_errors.KafkaProtocolError,
        kafka_errors.CorrelationIdError,
        kafka_errors.InvalidReceiveError,
        kafka_errors.UnknownError,
    )

    _ERRORS_OF_CONNECTIONS = (kafka_errors.KafkaError, OSError, RuntimeError)


UNKNOWN_SERVER_ERROR = -1
NONE = 0
OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
NOT_LEADER_OR_FOLLOWER = 6
REQUEST_TIMED_OUT = 7
MESSAGE_TOO_LARGE = 10
COORDINATOR_LOAD_IN_PROGRESS = 14
NOT_COORDINATOR = 16
INVALID_TOPIC = 17
RECORD_LIST_TOO_LARGE = 18
TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
CLUSTER_AUTHORIZATION_FAILED = 31
INVALID_TIMESTAMP = 32
TOPIC_ALREADY_EXISTS = 36
INVALID_REPLICATION_FACTOR = 38
INVALID_REPLICA_ASSIGNMENT = 39
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
SECURITY_DISABLED = 54
KAFKA_STORAGE_ERROR = 56
ELECTION_NOT_NEEDED = 84
NO_REASSIGNMENT_IN_PROGRESS = 85
THROTTLING_QUOTA_EXCEEDED = 89
UNKNOWN_TOPIC_ID = 100
INCONSISTENT_CLUSTER_ID = 104
TRANSACTIONAL_ID_NOT_FOUND = 105
MISMATCHED_ENDPOINT_TYPE = 114

# kafka-python has other names for these errors. Kafka's logs and tools use these names.
_RENAMED = {
    UNKNOWN_SERVER_ERROR: "UNKNOWN_SERVER_ERROR",
    NOT_LEADER_OR_FOLLOWER: "NOT_LEADER_OR_FOLLOWER",
    INVALID_TOPIC: "INVALID_TOPIC_EXCEPTION",
    INVALID_REPLICA_ASSIGNMENT: "INVALID_REPLICA_ASSIGNMENT",
}
_ALTER_CLUSTER = "our principal needs ALTER on the cluster"
_DESCRIBE_CLUSTER = "our principal needs DESCRIBE on the cluster"
_HINTS = {
    ("AlterPartitionReassignments", CLUSTER_AUTHORIZATION_FAILED): _ALTER_CLUSTER,
    ("ElectLeaders", CLUSTER_AUTHORIZATION_FAILED): _ALTER_CLUSTER,
    ("AddRaftVoter", CLUSTER_AUTHORIZATION_FAILED): _ALTER_CLUSTER,
    ("RemoveRaftVoter", CLUSTER_AUTHORIZATION_FAILED): _ALTER_CLUSTER,
    ("ListPartitionReassignments", CLUSTER_AUTHORIZATION_FAILED): _DESCRIBE_CLUSTER,
    ("DescribeQuorum", CLUSTER_AUTHORIZATION_FAILED): _DESCRIBE_CLUSTER,
    # Only a controller requires this.
    ("DescribeCluster", CLUSTER_AUTHORIZATION_FAILED): _ALTER_CLUSTER,
    ("IncrementalAlterConfigs", CLUSTER_AUTHORIZATION_FAILED): "our principal needs ALTER_CONFIGS on the cluster",
    ("DescribeConfigs", CLUSTER_AUTHORIZATION_FAILED): "our principal needs DESCRIBE_CONFIGS on the cluster",
    ("IncrementalAlterConfigs", TOPIC_AUTHORIZATION_FAILED): "our principal needs ALTER_CONFIGS on the topic",
    ("DescribeConfigs", TOPIC_AUTHORIZATION_FAILED): "our principal needs DESCRIBE_CONFIGS on the topic",
    ("DescribeLogDirs", CLUSTER_AUTHORIZATION_FAILED): _DESCRIBE_CLUSTER,
    ("ListOffsets", TOPIC_AUTHORIZATION_FAILED): "our principal needs DESCRIBE on the topic",
    ("DescribeTopicPartitions", TOPIC_AUTHORIZATION_FAILED): "our principal needs DESCRIBE on the topic",
    ("CreateTopics", TOPIC_AUTHORIZATION_FAILED): "our principal needs CREATE on the topic, or on the cluster",
    ("DeleteTopics", TOPIC_AUTHORIZATION_FAILED): "our principal needs DELETE on the topic",
    ("Produce", TOPIC_AUTHORIZATION_FAILED): "our principal needs WRITE on the topic",
    ("Fetch", TOPIC_AUTHORIZATION_FAILED): "our principal needs READ on the topic",
    ("OffsetFetch", GROUP_AUTHORIZATION_FAILED): "our principal needs DESCRIBE on the group",
    ("DescribeTransactions", TRANSACTIONAL_ID_AUTHORIZATION_FAILED): (
        "our principal needs DESCRIBE on every transactional id"
    ),
    ("DescribeAcls", CLUSTER_AUTHORIZATION_FAILED): _DESCRIBE_CLUSTER,
}
_PRINTED_REQUEST = "Request Request("
"""A controller that refuses a principal prints its request object as the message: 700 characters without a cause."""
_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SYSTEM_ERROR = re.compile(r"\[Errno (\d+)\]|\b(E[A-Z]+)\b")
"""How Python and kafka-python write a system error in their messages."""
_FRAME_LENGTH = re.compile(r"Invalid frame length: (-?\d+)")
_TLS_ALERT = 0x15
# Text of OpenSSL or of the socket layer -> its meaning. OpenSSL distinguishes these errors only by text.
_REFUSED_BY_US = (
    (
        "Hostname mismatch",
        "its certificate is for another host: check the name in bootstrap_servers and in advertised.listeners",
    ),
    (
        "IP address mismatch",
        "its certificate is for another host: check the address in bootstrap_servers and in advertised.listeners",
    ),
    ("certificate has expired", "the broker's certificate has expired: renew it"),
    ("certificate is not yet valid", "the broker's certificate is not valid yet: check the clocks"),
    ("CERTIFICATE_VERIFY_FAILED", "the broker's certificate is not signed by {trusted}"),
    ("WRONG_VERSION_NUMBER", "this port seems to speak no TLS: check security_protocol and the port"),
)
"""What OpenSSL reports, and what it means. Each time, something listens at the address: it is not to be started."""
_ALERTS = ("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "UNKNOWN_CA", "CERTIFICATE_UNKNOWN", "CERTIFICATE_EXPIRED")
"""The alerts by which a broker refuses our certificate. Java sends CERTIFICATE_UNKNOWN for nearly every cause."""
_TLS_NOISE = re.compile(r"^\w+Error: (?=.*SSL)|^Handshake failed: |\[SSL: \w+\] | \(_ssl\.c:\d+\)")
"""What says nothing to a person: names of classes, and lines of Python's source."""


class Stage(Enum):
    """The state of a connection when it failed."""

    CONNECTING = "connecting"
    GREETING = "greeting"
    """Connected, but ApiVersions is not answered yet."""
    AUTHENTICATING = "authenticating"
    READY = "ready"


def error_name(code: int) -> str:
    """Return the name of an error code: NOT_LEADER_OR_FOLLOWER for 6, UNKNOWN_ERROR_CODE_999 for an unknown code."""
    known = kafka_errors.kafka_errors.get(code)
    if known is None:
        return f"UNKNOWN_ERROR_CODE_{code}"
    name = getattr(known, "message", None) or _BOUNDARY.sub("_", known.__name__.removesuffix("Error")).upper()
    return _RENAMED.get(code, str(name))


def describe_error(code: int, message: str | None = None) -> str:
    """Return the name and the number of an error, and the broker's message."""
    cause = f": {_one_line(message)}" if message and not message.startswith(_PRINTED_REQUEST) else ""
    return f"{error_name(code)} (error {code}){cause}"


def _one_line(text: str) -> str:
    """Return a text of a broker without control characters: Ansible prints warnings as they are, to a terminal."""
    return "".join(each if each.isprintable() else " " for each in text)


def explain_error(request: str, code: int) -> str:
    """Return the name and the number of an error, and, for an authorization error, the ACL that is missing."""
    hint = _HINTS.get((request, code))
    return describe_error(code) + (f" ({hint})" if hint else "")


def request_refused_error(request: str, code: int, message: str | None = None) -> RequestRefusedError:
    """Return the exception for a request that was refused as a whole. Kafka's own clients retry transient ones."""
    return RequestRefusedError(
        request,
        code,
        describe_error(code, message),
        is_transient=bool(getattr(kafka_errors.for_code(code), "retriable", False)),
        may_be_executed=code == REQUEST_TIMED_OUT,
        hint=_HINTS.get((request, code), QUOTA_HINT if code == THROTTLING_QUOTA_EXCEEDED else ""),
    )


def raise_if_refused(request: str, answer: Any) -> None:
    """Raise RequestRefusedError if the answer, or the part of one, has an error code."""
    if answer.error_code:
        raise request_refused_error(request, answer.error_code, getattr(answer, "error_message", None))


def broker_call_error(
    error: BaseException,
    settings: ConnectionSettings,
    address: str,
    request: str,
    stage: Stage,
    *,
    limit_ms: int | None = None,
) -> BrokerCallError:
    """Return the BrokerCallError for an exception of kafka-python, of a socket or of TLS, with its Cause and a hint.

    ``limit_ms`` is how long the call could take; None for request_timeout_ms.
    """
    text = _one_line(str(error)) or type(error).__name__
    cause, detail, hint = _classify(error, text, settings, stage, limit_ms or settings.request_timeout_ms)
    is_other = isinstance(error, kafka_errors.IncompatibleBrokerVersion)
    failed = BrokerCallError(address, cause, detail, request=request, hint=hint, is_other_kafka=is_other)
    if is_other or stage is not Stage.READY:
        failed.was_sent = failed.may_be_executed = False
    return failed


def _classify(
    error: BaseException, text: str, settings: ConnectionSettings, stage: Stage, limit_ms: int
) -> tuple[Cause, str, str]:
    if isinstance(error, kafka_errors.IllegalSaslStateError) and settings.uses_sasl:
        plain = "SSL" if settings.uses_tls else "PLAINTEXT"
        hint = f"set security_protocol to {plain}, or use the port of a listener with SASL"
        return Cause.NOT_AUTHORIZED, "this listener does not use SASL", hint
    if isinstance(error, CredentialsError):
        return Cause.NOT_AUTHORIZED, text, ""
    if isinstance(error, _AUTHORIZATION_ERRORS):
        return Cause.NOT_AUTHORIZED, text, _authorization_hint(settings)
    if isinstance(error, _TIMEOUTS) or "timed out" in text:
        limit = f"no answer within {limit_ms} ms"
        if stage is Stage.CONNECTING and "Connection timed out" in text:
            return Cause.UNREACHABLE, f"no connection: {limit}", ""
        return Cause.HUNG, f"{limit}, though it accepted the connection", ""
    if isinstance(error, kafka_errors.IncompatibleBrokerVersion):
        return (
            Cause.ERROR,
            "it does not know this request",
            "this collection needs Kafka 3.9 or later with KRaft, without ZooKeeper",
        )
    tls_hint = _find_tls_hint(text, settings)
    if tls_hint:
        return Cause.NOT_AUTHORIZED, _without_tls_noise(text), tls_hint
    if settings.uses_tls and "Handshake failed" in text:
        hint = "the TLS handshake failed: the port may speak no TLS, or the broker requires a client certificate"
        return Cause.UNREACHABLE, _without_tls_noise(text), hint
    if isinstance(error, _PROTOCOL_ERRORS):
        return Cause.BAD_ANSWER, text, ""
    if stage is not Stage.CONNECTING and not isinstance(error, _ERRORS_OF_CONNECTIONS):
        # kafka-python could not read what the broker sent, for example its part of SCRAM.
        hint = _authorization_hint(settings) if stage is Stage.AUTHENTICATING else ""
        return Cause.BAD_ANSWER, f"its answer cannot be read ({type(error).__name__}: {text})", hint
    return _classify_disconnection(text, settings, stage)


def _classify_disconnection(text: str, settings: ConnectionSettings, stage: Stage) -> tuple[Cause, str, str]:
    if stage is Stage.CONNECTING:
        return Cause.UNREACHABLE, _system_error_text(text), ""
    if stage is Stage.AUTHENTICATING and settings.uses_sasl:
        # A broker that refuses credentials answers and closes the connection. kafka-python may lose that answer.
        return Cause.NOT_AUTHORIZED, f"{text} while we authenticated", _authorization_hint(settings)
    if stage is Stage.GREETING and not settings.uses_tls:
        return Cause.DISCONNECTED, text, "a port that speaks TLS closes like this: check security_protocol"
    if stage is Stage.READY and not settings.uses_sasl:
        hint = "a broker that crashes closes like this, and so does a port that requires SASL: check security_protocol"
        return Cause.DISCONNECTED, text, hint
    return Cause.DISCONNECTED, text, ""


def _system_error_text(text: str) -> str:
    found = _SYSTEM_ERROR.search(text)
    number = found and (int(found[1]) if found[1] else getattr(errno, found[2], None))
    return os.strerror(number).lower() if number else text


def _authorization_hint(settings: ConnectionSettings) -> str:
    if not settings.uses_sasl:
        return "the broker requires authentication: check security_protocol"
    if settings.sasl_mechanism == "GSSAPI":
        # We got a ticket, and the broker does not return why it refuses it.
        return (
            "check the clocks of this host, of the KDC and of the broker, which may differ by 5 minutes at most, and "
            "that the broker's keytab has the same key as the KDC"
        )
    return f"check the credentials for {settings.sasl_mechanism}"


def _find_tls_hint(text: str, settings: ConnectionSettings) -> str:
    if settings.uses_tls:
        found = next((hint for said, hint in _REFUSED_BY_US if said in text), "")
        is_ours = not found and any(each in text.upper().replace(" ", "_") for each in _ALERTS)
        return _own_certificate_hint(settings) if is_ours else found.format(trusted=_trusted(settings))
    length = _FRAME_LENGTH.search(text)
    if length and int(length[1]) >> 24 == _TLS_ALERT:
        return "this port speaks TLS: set security_protocol to SSL or SASL_SSL"
    return ""


def _trusted(settings: ConnectionSettings) -> str:
    """Name the CAs that we trust by what the user gave."""
    if settings.ssl_ca_pem:
        return "a CA in the trust store of command_config"
    return f"a CA in {settings.ssl_cafile}" if settings.ssl_cafile else "a CA that this host trusts: set ssl_cafile"


def _own_certificate_hint(settings: ConnectionSettings) -> str:
    if not (settings.ssl_certfile or settings.ssl_certificate_pem):
        return (
            "the broker requires a client certificate: set ssl_certfile and ssl_keyfile, or ssl.keystore.location in "
            "command_config"
        )
    where = settings.ssl_certfile or "the key store of command_config"
    return (
        f"the broker refuses our client certificate, from {where}: check that it has not expired, and that the broker "
        "trusts its CA"
    )


def _without_tls_noise(text: str) -> str:
    while (less := _TLS_NOISE.sub("", text)) != text:
        text = less
    return text
