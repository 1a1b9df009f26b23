# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fates of a test's write requests, and the requests that the fake controller got."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.error_codes import CLUSTER_AUTHORIZATION_FAILED
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition

NOT_CONTROLLER = 41


def nothing() -> None:
    """Return the default events around a request."""


@dataclass(frozen=True)
class Fate:
    """The fate of one write request."""

    unsent: bool = False
    """No connection: the caller knows that nothing was sent."""
    lost_request: bool = False
    """The request never reaches the controller, and the caller gets no answer."""
    executed_after_s: float | None = None
    """A lost request reaches the controller after this number of seconds, by the fake clock."""
    lost_answer: bool = False
    """The request is executed, and the caller gets no answer."""
    refused_with: int = 0
    """The whole request is refused with this code."""
    timed_out: bool = False
    """The request is executed, and the broker answers REQUEST_TIMED_OUT."""
    errors: Mapping[TopicPartition, int] = field(default_factory=dict)
    """These partitions are refused with a code."""
    left_out: frozenset[TopicPartition] = frozenset()
    """These partitions are executed, and missing in the answer."""
    before: Callable[[], None] = nothing
    after: Callable[[], None] = nothing


WELL = Fate()


@dataclass(frozen=True)
class Write:
    """A write request that the controller got."""

    kind: str
    partitions: tuple[TopicPartition, ...]
    address: Address
    what: tuple[str, ...] = ()
    """The request for each partition: an order, or an election's type."""

    def __str__(self) -> str:
        asked = ", ".join(f"{partition} {what}" for partition, what in zip(self.partitions, self.what, strict=True))
        return f"{self.kind} {asked} at {self.address.host.removesuffix('.invalid')}"


LOST_REQUEST, LOST_ANSWER = Fate(lost_request=True), Fate(lost_answer=True)
FAILED_OVER, FORBIDDEN = Fate(refused_with=NOT_CONTROLLER), Fate(refused_with=CLUSTER_AUTHORIZATION_FAILED)
TIMED_OUT = Fate(timed_out=True)
