# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors of settings, credentials and calls to brokers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeAlias

from .._model.partition import Cause, TopicPartition, grouped
from .._model.run import KafkaOpsError

ErrorTexts: TypeAlias = "dict[TopicPartition, str | None]"
"""What became of a request in each partition: the error text, or None. A partition without an answer is missing."""


class SettingsError(KafkaOpsError):
    """The connection settings cannot be used. Lists every error, not only the first."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("the connection settings cannot be used: " + "; ".join(self.problems))


def describe_unreadable(error: OSError) -> str:
    """Return why a file of the settings cannot be read, to follow its path."""
    who = f" for uid {os.geteuid()}" if isinstance(error, PermissionError) else ""
    return f"cannot be read: {error.strerror or 'unreadable'}{who}"


class CredentialsError(KafkaOpsError):
    """Credentials could not be fetched. The message has the source, the cause and the remedy, and no secret."""


_NOT_SENT = frozenset({Cause.UNREACHABLE, Cause.NOT_AUTHORIZED, Cause.WRONG_BROKER})


class CallError(KafkaOpsError):
    """A call to Kafka failed. What follows for a write is in two fields, whatever the kind of failure."""

    is_transient = True
    """The same request may succeed a moment later."""
    was_sent = False
    """The request may have reached a broker."""
    may_be_executed = False
    """The request was sent, and its outcome is unknown. A broker keeps a request that it forwards for 60 s."""
    code = 0
    """Kafka's error code; 0 if there was no complete answer."""

    @property
    def is_final(self) -> bool:
        """Whether the request was refused, and no further attempt changes that."""
        return not self.is_transient and not self.may_be_executed


class BrokerCallError(CallError):
    """One call to one broker failed, or its answer is unusable."""

    def __init__(
        self,
        address: str,
        cause: Cause,
        detail: str,
        *,
        request: str = "",
        hint: str = "",
        is_other_kafka: bool = False,
    ) -> None:
        self.address = address
        self.cause = cause
        self.detail = detail
        self.hint = hint
        self.was_sent = self.may_be_executed = cause not in _NOT_SENT
        self.request = request
        self.is_other_kafka = is_other_kafka
        """The broker is too old, or runs with ZooKeeper: it does not know the request."""
        super().__init__(self._describe([address]))

    @property
    def without_cause(self) -> str:
        """Return the message without its cause, for a reader who has that already, as the state of a broker."""
        return self._describe([self.address], with_cause=False)

    def _describe(self, addresses: Sequence[str], *, with_cause: bool = True, asked: str = "") -> str:
        what = ", ".join(addresses)
        if self.request not in ("", asked):
            what = f"{self.request} at {what}"
        cause = [self.cause.value] if with_cause else []
        return ": ".join([what, *cause, self.detail]) + (f" ({self.hint})" if self.hint else "")

    @staticmethod
    def describe_all(failures: Sequence[BrokerCallError], asked: str) -> list[str]:
        """Return a text for all failures with the same request and cause, with all their addresses.

        The text does not name the request if that is ``asked``, which the reader knows.
        """
        alike = grouped(((each.request, each.cause, each.detail, each.hint), each) for each in failures)
        return [
            members[0]._describe([*dict.fromkeys(each.address for each in members)], asked=asked)
            for members in alike.values()
        ]


QUOTA_HINT = (
    "raise or remove the quota of this user or client id for the time of the run: kafka-configs.sh --describe "
    "--entity-type users, and clients"
)


class ThrottledError(BrokerCallError):
    """A quota throttles this client for longer than a request may take, so the request was not sent."""

    def __init__(self, address: str, limit_ms: int, request: str) -> None:
        detail = f"a quota throttles this client for more than {limit_ms} ms, and the request was not sent"
        super().__init__(address, Cause.HUNG, detail, request=request, hint=QUOTA_HINT)
        self.was_sent = self.may_be_executed = False


class NoBrokerAnswersError(CallError):
    """No broker answered a request that reads. Never treat this as an empty answer, such as "no partitions"."""

    def __init__(self, request: str, failures: Sequence[BrokerCallError]) -> None:
        self.failures = tuple(failures)
        super().__init__(
            f"no broker answered {request}: " + "; ".join(BrokerCallError.describe_all(self.failures, request))
            if self.failures
            else f"no broker could be asked for {request}: none is known"
        )

    @property
    def is_other_kafka(self) -> bool:
        """Whether a broker is too old, or runs with ZooKeeper: it does not know the request."""
        return any(each.is_other_kafka for each in self.failures)

    @property
    def remedy(self) -> str:
        """What to do."""
        if self.is_other_kafka:
            return "Migrate the cluster to KRaft, or upgrade it: until then, no playbook of this collection works there"
        return "Check bootstrap_servers, the credentials and the network, or start one of these brokers"


class RequestRefusedError(CallError):
    """A broker or the controller refused a complete request with a Kafka error code."""

    def __init__(
        self,
        request: str,
        code: int,
        described: str,
        *,
        is_transient: bool,
        may_be_executed: bool = False,
        hint: str = "",
    ) -> None:
        self.code = code
        self.was_sent = True
        self.is_transient = is_transient
        self.may_be_executed = may_be_executed
        """True if the broker stopped waiting for the controller."""
        super().__init__(f"{request} was refused: {described}" + (f" ({hint})" if hint else ""))
