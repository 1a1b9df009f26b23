# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read as much of the metadata log as a question needs. Reads only.

With a snapshot, it and everything after it are read first. Then the log before it is read backwards, in windows that
grow, until the question is answered, the log begins, or a limit of bytes or seconds is reached.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from .._kafka.controllers import ControllerSide
from .._kafka.errors import BrokerCallError
from .._kafka.metadata_log import (
    FIRST_RECORD,
    MetadataBatch,
    MetadataLog,
    MetadataLogError,
    decode_snapshot,
    open_metadata_log,
)
from .._kafka.metadata_records import MetadataRecordError
from .._kafka.port import Kafka
from .._model.metadata_history import MetadataHistory, PartitionHistory
from .._model.partition import TopicPartition
from .._model.reasons import plural
from .directory import MetadataDirectory
from .earlier_losses import counted_restarts, knows_earlier_losses
from .events import Event, EventReader, make_history
from .min_isr import knows_older_topic
from .proof import CONFIG_LAG_MS, judge_promise
from .restarts import knows_earlier_starts

_GAP_MS = 2_000
"""An active controller writes every metadata.max.idle.interval.ms, which are 500 ms."""
FIRST_WINDOW = 20_000
"""Offsets of the first window before a snapshot. Each further window has twice as many."""


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """How much may be read."""

    max_bytes: int = 256 * 1024 * 1024
    max_seconds: float = 10.0


class LogQuestion(Protocol):
    """What the log is read for, and so how far back."""

    def reader(self) -> EventReader:
        """Return what picks the events that matter."""

    def is_answered(self, history: MetadataHistory) -> bool:
        """Return whether nothing earlier matters."""

    def explain_unanswered(self, history: MetadataHistory, start: int) -> str:
        """Say why a log that was read back to its first offset does not answer it. Empty if nothing is to be said."""


@dataclass(frozen=True, slots=True)
class HistoryQuestion:
    """The partitions whose history is wanted, and the brokers whose time in the ISR matters."""

    topic_ids: Mapping[TopicPartition, str]
    """The id of each partition's topic, in Kafka's text form."""
    survivors: Mapping[TopicPartition, Collection[int]]
    config_names: Sequence[str]

    def reader(self) -> EventReader:
        return EventReader(self.topic_ids, self.config_names)

    def is_answered(self, history: MetadataHistory) -> bool:
        """Return whether the history says all that matters, and nothing earlier can change a promise."""
        return all(
            self._is_known(history, partition) and not self._may_change(history, partition)
            for partition in self.survivors
        )

    def explain_unanswered(self, history: MetadataHistory, start: int) -> str:
        # What only an earlier part of the log could change is an assumption of the proof, which names it.
        if start > FIRST_RECORD and not all(self._is_known(history, each) for each in self.survivors):
            return f"the metadata log begins at offset {start}: earlier records were removed by its retention"
        unknown = [
            each
            for each in self.topic_ids
            if each not in history.partitions or history.partitions[each].leader_lost_at_ms is None
        ]
        if not unknown:
            return ""
        return (
            f"the metadata log does not say when {plural(len(unknown), 'partition')}, such as {unknown[0]}, lost "
            "their leader"
        )

    def _is_known(self, history: MetadataHistory, partition: TopicPartition) -> bool:
        """Return whether the history says when each survivor left the ISR, and of its restarts since.

        A restart says nothing of the disk without the start before it.
        """
        found = history.partitions.get(partition)
        left = self._left_at_ms(found, partition)
        if found is None or left is None:
            return False
        # The last leader may have used an older value of a config for a while.
        is_old_enough = all(history.begins_at_ms <= each - CONFIG_LAG_MS for each in left.values())
        return (is_old_enough or found.begins_with_creation) and all(
            knows_earlier_starts(history, *each) for each in left.items()
        )

    def _may_change(self, history: MetadataHistory, partition: TopicPartition) -> bool:
        """Return whether an earlier part of the log may change the promise of a survivor."""
        found = history.partitions[partition]
        left = self._left_at_ms(found, partition) or {}
        if not left or (
            knows_earlier_losses(history, found)
            and knows_older_topic(history, partition.topic, found, min(left.values()) - CONFIG_LAG_MS)
            and all(_knows_disks(history, found, *each) for each in left.items())
        ):
            return False
        return any(judge_promise(history, partition, each, is_empty=False).is_unread for each in left)

    def _left_at_ms(self, found: PartitionHistory | None, partition: TopicPartition) -> dict[int, int] | None:
        """Return when each survivor left the ISR, or when its leader was lost. None if one of them is not known."""
        if found is None or found.leader_lost_at_ms is None:
            return None
        isr = found.moments[-1].isr or ()
        left = {
            each: found.leader_lost_at_ms if each in isr else found.left_isr_at_ms(each)
            for each in self.survivors[partition]
        }
        known = {broker_id: at for broker_id, at in left.items() if at is not None}
        return known if len(known) == len(left) else None


def _knows_disks(history: MetadataHistory, found: PartitionHistory, broker_id: int, left_ms: int) -> bool:
    return all(each.restart.before is not None for each in counted_restarts(history, found, broker_id, left_ms))


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """A history, or why there is none."""

    history: MetadataHistory | None
    source: str
    """The log that was read. Empty if there is none."""
    missing: str = ""
    """Why the history is missing or not complete. Empty if it is complete."""
    read_bytes: int = 0
    is_copy: bool = False
    """It comes from a log directory, which does not say what is committed."""


def side_to_read(kafka: Kafka, log_dir: str | None) -> ControllerSide:
    """Return the controllers to read the metadata log from, before its copy in ``log_dir``.

    Whoever names a copy, and no controller, wants that copy: the controllers that brokers name are not asked.
    """
    only_copy = log_dir is not None and not kafka.wire.controllers.addresses
    return ControllerSide(kafka.wire, ()) if only_copy else kafka.controller_side()


def read_history(
    side: ControllerSide,
    cluster_id: str,
    question: LogQuestion,
    *,
    limits: HistoryLimits = HistoryLimits(),
    log_dir: str | None = None,
) -> ReadHistory:
    """Read the history from the active controller of this cluster.

    If none answers, it is read from ``log_dir``, a log directory of a controller or broker on this host. It never
    raises: without a history, ``missing`` says why, and everything else goes on.
    """
    failures: list[str] = []
    if side.addresses:
        try:
            return read_log(open_metadata_log(side.wire, side.addresses, cluster_id), question, limits)
        except (BrokerCallError, MetadataLogError, MetadataRecordError) as error:
            failures.append(str(error))
    if log_dir is not None:
        try:
            read = read_log(MetadataDirectory(log_dir, cluster_id), question, limits)
        except (MetadataLogError, MetadataRecordError) as error:
            failures.append(str(error))
        else:
            return replace(read, missing="; ".join(filter(None, [*failures, read.missing])), is_copy=True)
    if side.missing:
        failures.append(side.missing)
    return ReadHistory(None, "", "; ".join(failures))


def read_log(log: MetadataLog | MetadataDirectory, question: LogQuestion, limits: HistoryLimits) -> ReadHistory:
    """Read the history from an open log. Raises BrokerCallError, MetadataLogError and MetadataRecordError."""
    return _Reading(log, question, limits).read()


class _Reading:
    """One reading of the log, within its limits."""

    def __init__(self, log: MetadataLog | MetadataDirectory, question: LogQuestion, limits: HistoryLimits) -> None:
        self._log = log
        self._question = question
        self._limits = limits
        self._deadline = time.monotonic() + limits.max_seconds
        self._reader = question.reader()
        self._begins_at_ms = self._ends_at_ms = 0
        self._reached = 0
        self._gaps: list[tuple[int, int]] = []
        self._disordered_until_ms = 0

    def read(self) -> ReadHistory:
        found = self._log.range()
        base: list[Event] = []
        first, has_base, missing = found.start, found.start <= FIRST_RECORD, ""
        if found.snapshot is not None:
            content = self._log.snapshot(found.snapshot, self._limits.max_bytes, self._is_over)
            if content is None:
                missing = "the newest snapshot of the metadata log is larger than the limit of bytes or seconds allows"
            else:
                base = self._reader.events(self._timed(decode_snapshot(content)), of_snapshot=True)
                first, has_base = found.snapshot.end_offset, True
        after = self._window(first, found.high_watermark, begins_at_ms=self._ends_at_ms)
        if after is None:
            return ReadHistory(
                None, self._log.source, "the limit of bytes or seconds does not suffice for the metadata log"
            )
        events = [*base, *after]
        history = self._history(events, has_base=has_base, begins_at=first, starts_at=found.start)
        width = FIRST_WINDOW
        while not self._question.is_answered(history) and first > found.start:
            start = max(found.start, first - width)
            try:
                window = self._window(start, first, ends_at_ms=self._begins_at_ms)
            except (BrokerCallError, MetadataLogError, MetadataRecordError) as error:
                missing = f"the metadata log was read back to offset {first} only: {error}"
                break
            if window is None:
                missing = (
                    f"the metadata log was read back to offset {first} only: the limit of bytes or seconds is reached"
                )
                break
            events = [*window, *events]
            first, width = start, width * 2
            history = self._history(events, has_base=has_base, begins_at=first, starts_at=found.start)
        if not missing and not self._question.is_answered(history):
            missing = self._question.explain_unanswered(history, found.start)
        return ReadHistory(history, self._log.source, missing, self._log.read_bytes)

    def _window(self, start: int, end: int, *, begins_at_ms: int = 0, ends_at_ms: int = 0) -> list[Event] | None:
        """Return the events between two offsets. None if a limit was reached before the end.

        The times are those of what was read before: the end of what precedes, or the begin of what follows.
        """
        self._reached = start
        events = self._reader.events(
            self._timed(self._log.batches(start, end, self._is_over), begins_at_ms, ends_at_ms)
        )
        return events if self._reached >= end else None

    def _timed(
        self, batches: Iterable[MetadataBatch], begins_at_ms: int = 0, ends_at_ms: int = 0
    ) -> Iterator[MetadataBatch]:
        """Note how far the batches reach, their times, and the gaps in between. There may be a million of them.

        All batches count, also those without an event: an active controller writes twice a second. So one whose clock
        is behind that of the controller before it is noticed, also if the next event comes after its clock caught up.
        """
        begins, ends, before, reached = self._begins_at_ms, self._ends_at_ms, begins_at_ms, self._reached
        for batch in batches:
            _base, reached, at, _values = batch
            if at - before > _GAP_MS and before:
                self._gaps.append((before, at))
            elif at < before:
                self._disordered_until_ms = max(self._disordered_until_ms, ends)
            if at < begins or not begins:
                begins = at
            ends = max(ends, at)
            before = at
            yield batch
        if before and ends_at_ms - before > _GAP_MS:
            self._gaps.append((before, ends_at_ms))
        elif 0 < ends_at_ms < before:
            self._disordered_until_ms = max(self._disordered_until_ms, before)
        self._begins_at_ms, self._ends_at_ms, self._reached = begins, ends, reached

    def _is_over(self) -> bool:
        return time.monotonic() > self._deadline or self._log.read_bytes > self._limits.max_bytes

    def _history(self, events: Sequence[Event], *, has_base: bool, begins_at: int, starts_at: int) -> MetadataHistory:
        return make_history(
            events,
            self._begins_at_ms,
            self._ends_at_ms,
            has_base=has_base,
            begins_at_start=begins_at <= FIRST_RECORD,
            reads_all=begins_at <= starts_at,
            not_decoded=self._reader.not_decoded,
            disordered_until_ms=self._disordered_until_ms,
            gaps=tuple(sorted(self._gaps)),
        )
