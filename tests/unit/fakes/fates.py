# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What befalls the write requests of a test, and how the fake controller got them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    NOT_CONTROLLER,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition


def nothing() -> None:
    """Return the default events around a request."""


@dataclass(frozen=True)
class Fate:
    """What befalls one write request."""

    lost_request: bool = False
    """It never reaches the controller, and the caller learns nothing."""
    executed_after_s: float | None = None
    """A lost request reaches the controller so many seconds later all the same, by the fake clock."""
    lost_answer: bool = False
    """It is carried out, and the caller learns nothing."""
    refused_with: int = 0
    """The whole request is refused with this code."""
    timed_out: bool = False
    """It is carried out, and the broker between answers REQUEST_TIMED_OUT."""
    errors: Mapping[TopicPartition, int] = field(default_factory=dict)
    """These partitions are answered with a code, and nothing is done to them."""
    left_out: frozenset[TopicPartition] = frozenset()
    """These are carried out, and missing from the answer."""
    before: Callable[[], None] = nothing
    after: Callable[[], None] = nothing


WELL = Fate()


@dataclass(frozen=True)
class Write:
    """A write request as the controller got it."""

    kind: str
    partitions: tuple[TopicPartition, ...]
    address: Address
    what: tuple[str, ...] = ()
    """What is asked for each partition: an order, or an election's type."""

    def __str__(self) -> str:
        asked = ", ".join(f"{partition} {what}" for partition, what in zip(self.partitions, self.what, strict=True))
        return f"{self.kind} {asked} at {self.address.host.removesuffix('.invalid')}"


LOST_REQUEST, LOST_ANSWER = Fate(lost_request=True), Fate(lost_answer=True)
FAILED_OVER, FORBIDDEN = Fate(refused_with=NOT_CONTROLLER), Fate(refused_with=CLUSTER_AUTHORIZATION_FAILED)
TIMED_OUT = Fate(timed_out=True)
