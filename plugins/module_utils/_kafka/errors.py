# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors of settings, credentials and calls to brokers."""

from __future__ import annotations

from collections.abc import Sequence

from .._model.partition import Cause
from .._model.run import KafkaOpsError


class SettingsError(KafkaOpsError):
    """The connection settings cannot be used. Lists every error, not only the first."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("the connection settings cannot be used: " + "; ".join(self.problems))


class CredentialsError(KafkaOpsError):
    """Credentials could not be fetched. The message has the source, the cause and the remedy, and no secret."""


class BrokerCallError(KafkaOpsError):
    """One call to one broker failed, or its answer is unusable."""

    def __init__(self, address: str, cause: Cause, detail: str, *, request: str = "", hint: str = "") -> None:
        self.address = address
        self.cause = cause
        self.detail = detail
        self.hint = hint
        what = f"{request} at {address}" if request else address
        super().__init__(f"{what}: {cause.value}: {detail}" + (f" ({hint})" if hint else ""))


class NoBrokerAnswersError(KafkaOpsError):
    """No broker answered. Never treat this as an empty answer, such as "no partitions"."""

    def __init__(self, request: str, failures: Sequence[BrokerCallError]) -> None:
        self.failures = tuple(failures)
        super().__init__(
            f"no broker answered {request}: " + "; ".join(str(failure) for failure in self.failures)
            if self.failures
            else f"no broker could be asked for {request}: none is known"
        )


class RequestRefusedError(KafkaOpsError):
    """A broker or the controller refused a complete request with a Kafka error code."""

    def __init__(
        self,
        request: str,
        code: int,
        described: str,
        *,
        is_transient: bool,
        is_outcome_unknown: bool = False,
        hint: str = "",
    ) -> None:
        self.code = code
        self.is_transient = is_transient
        """True if the same request may succeed a moment later."""
        self.is_outcome_unknown = is_outcome_unknown
        """True if the request may have been executed: the broker stopped waiting for the controller."""
        super().__init__(f"{request} was refused: {described}" + (f" ({hint})" if hint else ""))
