# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the replicas that are marked as uncleanable. Metrics show only the number of marks in a log directory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from .._kafka.cluster import Cluster
from .._kafka.copy_reading import CopyCheck
from .._kafka.errors import BrokerCallError
from .._kafka.port import Kafka
from .._model.partition import TopicPartition
from .._model.run import Progress
from .facts import LogDirMetrics
from .inspection import Cleaner, CopySize, read_copy_sizes, select_copies

_OFFSETS = "__consumer_offsets"
_FAILURES_IN_A_ROW = 3
"""After this number of failures, no more copies of a directory are read: each may take the whole request timeout."""


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """A replica that is marked, or that the operator has named."""

    topic: str
    partition: int
    broker_id: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The bytes of copies to read in search of marks."""

    copy_bytes: int
    total_bytes: int


@dataclass(slots=True)
class _Budget:
    left: int


def describe_unread_marks(cleaners: Sequence[Cleaner]) -> tuple[str, ...]:
    """Return a text for each directory with marks, if no copies are read to find the marked replicas."""
    return tuple(
        f"broker {cleaner.broker_id} marks {log_dir.uncleanable_partitions} partitions in {log_dir.log_dir}; check "
        "mode does not read copies to find them: set search_in_check_mode, or name them in partitions"
        for cleaner in cleaners
        for log_dir in (cleaner.facts.metrics.log_dirs if cleaner.facts.metrics is not None else ())
        if log_dir.uncleanable_partitions
    )


def find_marked_replicas(  # noqa: PLR0917
    kafka: Kafka,
    cluster: Cluster,
    cleaners: Sequence[Cleaner],
    limits: ReadLimits,
    progress: Progress,
    stop: threading.Event,
) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """Return the marked replicas, and a text for each directory in which not all of them were found.

    The copies in a directory are read until as many are damaged as there are marks, or until the total limit is
    reached: first ``__consumer_offsets``, then those that exceed their smallest copy most. A copy that cannot be read
    is skipped, and after several failures in a row the rest of the directory. Setting ``stop`` ends the search.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError if the sizes cannot be read.
    """
    copies = read_copy_sizes(kafka, cluster)
    addresses = cluster.addresses
    targets: list[Target] = []
    unidentified_marks = []
    budget = _Budget(limits.total_bytes)
    for cleaner in cleaners:
        for log_dir in cleaner.facts.metrics.log_dirs if cleaner.facts.metrics is not None else ():
            if not log_dir.uncleanable_partitions:
                continue
            here = _most_suspicious_first(select_copies(copies, cleaner.broker_id, {log_dir.log_dir}), copies)

            def check(partition: TopicPartition, broker_id: int = cleaner.broker_id) -> CopyCheck:
                progress.step(f"reading the copy of {partition} on broker {broker_id}")
                at_most = min(limits.copy_bytes, budget.left)
                read = kafka.check_copy(addresses[broker_id], partition, at_most, stop)
                budget.left -= read.read_bytes
                return read

            found, unread = _find_damaged(
                here, log_dir.uncleanable_partitions, check, lambda: stop.is_set() or budget.left <= 0
            )
            targets += [Target(each.topic, each.partition, cleaner.broker_id) for each in found]
            if len(found) < log_dir.uncleanable_partitions:
                stopped = ["the run was asked to stop before it had read all"] if stop.is_set() else []
                if budget.left <= 0:
                    stopped.append(
                        f"the limit of {limits.total_bytes} bytes for all copies (max_total_read_bytes) was reached"
                    )
                unidentified_marks.append(
                    "; ".join([_unidentified_text(cleaner.broker_id, log_dir, len(found)), *unread, *stopped])
                )
    return tuple(targets), tuple(unidentified_marks)


def _find_damaged(
    here: Sequence[CopySize],
    marks: int,
    check: Callable[[TopicPartition], CopyCheck],
    is_over: Callable[[], bool],
) -> tuple[list[TopicPartition], list[str]]:
    """Return at most ``marks`` damaged copies, and a text for each copy that could not be read."""
    found: list[TopicPartition] = []
    unread: list[str] = []
    failures = 0
    for copy in here:
        if is_over() or len(found) == marks or failures == _FAILURES_IN_A_ROW:
            break
        partition = TopicPartition(copy.topic, copy.partition)
        try:
            is_damaged = bool(check(partition).damage)
        except BrokerCallError as error:
            failures += 1
            unread.append(f"{partition} could not be read: {error}")
            continue
        failures = 0
        if is_damaged:
            found.append(partition)
    return found, unread


def _unidentified_text(broker_id: int, log_dir: LogDirMetrics, found: int) -> str:
    return (
        f"broker {broker_id} marks {log_dir.uncleanable_partitions} partitions in {log_dir.log_dir}, and {found} of "
        "its copies are damaged as far as they were read. The broker's log names the others ('Marking its partition'): "
        "name them in partitions"
    )


def _most_suspicious_first(here: Sequence[CopySize], copies: Collection[CopySize]) -> list[CopySize]:
    """Sort copies: first ``__consumer_offsets``, then by the bytes by which they exceed their smallest copy."""
    smallest: dict[tuple[str, int], int] = {}
    for each in copies:
        key = (each.topic, each.partition)
        smallest[key] = min(each.size_bytes, smallest.get(key, each.size_bytes))
    return sorted(
        here,
        key=lambda each: (each.topic != _OFFSETS, smallest[each.topic, each.partition] - each.size_bytes, each.topic),
    )
