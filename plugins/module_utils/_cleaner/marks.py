# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the replicas that are marked as uncleanable. Metrics show only the number of marks in a log directory."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._kafka.cluster import Cluster
from .._kafka.errors import BrokerCallError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import OFFSETS_TOPIC, OfPartition
from .._model.reasons import plural
from .._model.run import Progress
from .inspection import Cleaner, CopySize, look_at_copies

_FAILURES_IN_A_ROW = 3
"""After this number of failures, no more copies of a directory are read: each may take the whole request timeout."""


@dataclass(frozen=True, slots=True, order=True)
class MarkedReplica(OfPartition):
    """A replica that is marked, or that the operator has named."""

    topic: str
    partition: int
    broker_id: int


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The bytes of copies to read in search of marks."""

    copy_bytes: int
    total_bytes: int


def describe_unread_marks(cleaners: Sequence[Cleaner]) -> tuple[str, ...]:
    """Return a text for each directory with marks, if no copies are read to find the marked replicas."""
    return tuple(
        f"broker {cleaner.broker_id} marks {plural(marks, 'partition')} in {log_dir}; check mode does not read "
        "copies to find them: set search_in_check_mode, or name them in partitions"
        for cleaner in cleaners
        for log_dir, marks in cleaner.facts.marks.items()
    )


def find_marked_replicas(  # noqa: PLR0917
    kafka: Kafka,
    cluster: Cluster,
    cleaners: Sequence[Cleaner],
    limits: ReadLimits,
    progress: Progress,
    stop: threading.Event,
) -> tuple[tuple[MarkedReplica, ...], tuple[str, ...]]:
    """Return the marked replicas, and a text for each directory in which not all of them were found.

    The copies in a directory are read until as many are damaged as there are marks, or until the total limit is
    reached: first ``__consumer_offsets``, then those that exceed their smallest copy most. A copy that cannot be read
    is skipped, and after several failures in a row the rest of the directory. Setting ``stop`` ends the search.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError if the sizes cannot be read.
    """
    copies = _most_suspicious_first(look_at_copies(kafka, cluster).copies)
    search = _Search(kafka, cluster.addresses, limits, progress, stop)
    targets: list[MarkedReplica] = []
    unidentified_marks = []
    for cleaner in cleaners:
        for log_dir, marks in cleaner.facts.marks.items():
            here = [each for each in copies if each.broker_id == cleaner.broker_id and each.log_dir == log_dir]
            found, unread = search.find_damaged(here, marks)
            targets += found
            if len(found) < marks:
                text = (
                    f"broker {cleaner.broker_id} marks {plural(marks, 'partition')} in {log_dir}, and "
                    f"{len(found)} of its copies are damaged as far as they were read. The broker's log names the "
                    "others ('Marking its partition'): name them in partitions"
                )
                unidentified_marks.append("; ".join([text, *unread, *search.why_over()]))
    return tuple(targets), tuple(unidentified_marks)


@dataclass(slots=True)
class _Search:
    """Reads copies one after another, until the limit of bytes for all of them is reached."""

    kafka: Kafka
    addresses: Mapping[int, Address]
    limits: ReadLimits
    progress: Progress
    stop: threading.Event
    read_bytes: int = 0

    def why_over(self) -> list[str]:
        """Return why no more copies are read; empty if the search may go on."""
        reasons = ["the run was asked to stop before it had read all"] if self.stop.is_set() else []
        if self.read_bytes >= self.limits.total_bytes:
            reasons.append(
                f"the limit of {self.limits.total_bytes} bytes for all copies (max_total_read_bytes) was reached"
            )
        return reasons

    def find_damaged(self, copies: Sequence[CopySize], marks: int) -> tuple[list[MarkedReplica], list[str]]:
        """Return at most ``marks`` damaged copies, and a text for each copy that could not be read."""
        found: list[MarkedReplica] = []
        unread: list[str] = []
        failures = 0
        for copy in copies:
            if self.why_over() or len(found) == marks or failures == _FAILURES_IN_A_ROW:
                break
            target = MarkedReplica(copy.topic, copy.partition, copy.broker_id)
            try:
                is_damaged = self._is_damaged(target)
            except BrokerCallError as error:
                failures += 1
                unread.append(f"{target.topic_partition} could not be read: {error}")
                continue
            failures = 0
            if is_damaged:
                found.append(target)
        return found, unread

    def _is_damaged(self, target: MarkedReplica) -> bool:
        self.progress.step(f"reading the copy of {target.topic_partition} on broker {target.broker_id}")
        at_most = min(self.limits.copy_bytes, self.limits.total_bytes - self.read_bytes)
        check = self.kafka.check_copy(self.addresses[target.broker_id], target.topic_partition, at_most, self.stop)
        self.read_bytes += check.read_bytes
        return bool(check.damage)


def _most_suspicious_first(copies: Sequence[CopySize]) -> list[CopySize]:
    """Sort copies: first ``__consumer_offsets``, then by the bytes by which they exceed their smallest copy."""
    smallest: dict[tuple[str, int], int] = {}
    for each in copies:
        key = (each.topic, each.partition)
        smallest[key] = min(each.size_bytes, smallest.get(key, each.size_bytes))
    return sorted(
        copies,
        key=lambda each: (
            each.topic != OFFSETS_TOPIC,
            smallest[each.topic, each.partition] - each.size_bytes,
            each.topic,
        ),
    )
