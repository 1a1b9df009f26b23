# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Collect and check a broker's answers about one of its replicas, and make the replica's row. No I/O.

The error of an answer is a cause, and a text for the operator.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._model.partition import Cause, EpochEnd, ReplicaLog, TopicPartition
from . import error_codes
from .batch_headers import BatchEpoch
from .epochs import EpochAnswer, NoEpochEnd
from .header_search import HeaderSearch
from .held_replicas import OffsetAnswer, only_offset
from .lineage_search import LineageSearch
from .log_dirs import LogDirs

_CAUSES = {
    error_codes.UNKNOWN_TOPIC_OR_PARTITION: Cause.MISSING,
    error_codes.UNKNOWN_TOPIC_ID: Cause.MISSING,
    error_codes.NOT_LEADER_OR_FOLLOWER: Cause.MISSING,
    error_codes.TOPIC_AUTHORIZATION_FAILED: Cause.NOT_AUTHORIZED,
    error_codes.CLUSTER_AUTHORIZATION_FAILED: Cause.NOT_AUTHORIZED,
    error_codes.KAFKA_STORAGE_ERROR: Cause.LOG_DIR_OFFLINE,
}
_EPOCH_PROBE = "Fetch (epoch probe)"
_MOST_CHECKED = 16
"""Epochs of a long lineage, the newest ones, that are compared with the headers of batches."""


class ReplicaAnswers:
    """The answers about one replica so far. Mutable and without a dataclass, because a gather has a million of them."""

    __slots__ = (
        "end",
        "epoch",
        "error",
        "last_batch",
        "last_tiered",
        "lineage",
        "local_start",
        "note",
        "search",
        "start",
    )

    def __init__(self) -> None:
        self.end: int | None = None
        self.epoch: int | None = None
        self.start: int | None = None
        self.local_start: int | None = None
        self.last_tiered: int | None = None
        self.search: LineageSearch | None = None
        self.lineage: tuple[EpochEnd, ...] = ()
        """The newest epoch, if it was confirmed without a search, or the epochs that headers of batches have shown."""
        self.last_batch: BatchEpoch | None = None
        """The batch at the log end, if headers of batches were read."""
        self.note = ""
        """Why the epochs of a log with records are unknown."""
        self.error: tuple[Cause, str] | None = None

    def take_end(self, answers: Sequence[OffsetAnswer], request: str) -> None:
        """Take the log end offset and the partition's current leader epoch."""
        self.error = _offset_error(answers, request)
        if self.error is None:
            self.end, self.epoch = answers[0].offset, answers[0].current_leader_epoch

    def take_start(self, answers: Sequence[OffsetAnswer]) -> None:
        """Take the log start offset."""
        self.error = _offset_error(answers, "ListOffsets (log start)")
        if self.error is not None:
            return
        start, end = answers[0].offset, self.end or 0
        if start > end:
            self.error = (Cause.BAD_ANSWER, f"log start offset {start} lies beyond log end offset {end}")
        else:
            self.start = start

    def take_tiered(self, local_starts: Sequence[OffsetAnswer], last_tiered: Sequence[OffsetAnswer]) -> None:
        """Take the offsets that only tiered topics have. They stay None if the broker does not return them."""
        self.local_start, self.last_tiered = _known_offset(local_starts), _known_offset(last_tiered)

    def begin_search(self, *, only_newest: bool) -> None:
        """Begin the search for the lineage, which needs the log's start and end."""
        self.search = LineageSearch(
            self.start or 0, self.end or 0, self.epoch or 0, is_leaderless=True, only_newest=only_newest
        )

    def take_epoch(self, question: int, answer: EpochAnswer | None) -> None:
        """Pass the answer about one epoch to the search. An error ends the search without a lineage."""
        search = self.search
        if search is None:
            return
        if error := _epoch_error(answer, question):
            self.error, self.search = error, None
        else:
            search.take_answer(question, None if isinstance(answer, NoEpochEnd) else answer)

    def known_lineage(self) -> tuple[EpochEnd, ...]:
        """Return the epochs that are known now."""
        return self.search.lineage if self.search else self.lineage

    def begin_reading(self, *, is_checked: bool, only_newest: bool) -> HeaderSearch | None:
        """Begin to read headers of batches; None if that is not needed.

        It is needed if the log holds records, and the epochs do not reach its end. Otherwise only if ``is_checked``:
        the epochs are compared with the headers of the batches at which they should begin and end.
        """
        start, end, known = self.start or 0, self.end or 0, self.known_lineage()
        if self.error or end <= start:
            return None
        if not known or known[-1].end_offset < end:
            if self.local_start is not None and self.local_start > start:
                self.forget_lineage(f"the records before offset {self.local_start} are only in the tier")
                return None
            return HeaderSearch(start, end)
        if not is_checked:
            return None
        if only_newest:
            return HeaderSearch(end - 1, end)
        ends = [each.end_offset for each in known[-_MOST_CHECKED:]]
        return HeaderSearch(max(start, self.local_start or 0), end, [*ends, *(each - 1 for each in ends)])

    def take_headers(self, read: HeaderSearch) -> None:
        """Take what the headers have shown. What was known stays if the headers agree, or cannot be read."""
        self.last_batch = read.last_batch
        known = self.known_lineage()
        is_known = bool(known) and known[-1].end_offset >= (self.end or 0)
        if is_known and (read.error or read.agrees_with(known)):
            return
        self.forget_lineage(read.error)
        self.lineage = read.lineage

    def forget_lineage(self, why: str) -> None:
        """Forget the epochs of a log with records. ``why`` they are unknown is empty if they are found otherwise."""
        self.search, self.lineage = None, ()
        self.note = f"the leader epochs of its records are unknown: {why}" if why else ""

    def to_row(self, partition: TopicPartition, broker_id: int, disk: LogDirs, *, is_tiered: bool | None) -> ReplicaLog:
        """Return the replica's row. ``disk`` has the log directories of its broker."""
        replicas = disk.replicas.get(partition, ())
        current = disk.current_replica(partition)
        error = self.error
        if error is None and current is not None and current.log_dir in disk.offline:
            error = (Cause.LOG_DIR_OFFLINE, f"{current.log_dir}: {disk.offline[current.log_dir]}")
        lineage = self.known_lineage()
        return ReplicaLog(
            partition.topic,
            partition.partition,
            broker_id,
            self.start,
            self.search.log_end_offset if self.search else self.end,
            self.epoch,
            lineage[-1].epoch if lineage else None,
            lineage,
            current.size_bytes if current else None,
            current.log_dir if current else None,
            any(each.is_future for each in replicas) if len(replicas) > 1 or current is None else False,
            error[0] if error else None,
            error[1] if error else self.note,
            is_tiered,
            self.local_start,
            self.last_tiered,
            bool(self.lineage),
            self.last_batch.base_offset if self.last_batch else None,
            self.last_batch.checksum if self.last_batch else None,
        )


def _offset_error(answers: Sequence[OffsetAnswer], request: str) -> tuple[Cause, str] | None:
    """Check the answers about one replica to a ListOffsets request. Return the error, or None."""
    if len(answers) != 1:
        return _count_error(len(answers), request)
    code, offset = answers[0].error_code, answers[0].offset
    if code:
        return _CAUSES.get(code, Cause.ERROR), f"{request}: {error_codes.explain_error('ListOffsets', code)}"
    return (Cause.BAD_ANSWER, f"{request}: offset {offset}") if offset < 0 else None


def _epoch_error(answer: EpochAnswer | None, question: int) -> tuple[Cause, str] | None:
    """Check the answer about one epoch of one replica. Return the error, or None."""
    if answer is None:
        return _count_error(0, _EPOCH_PROBE)
    if not isinstance(answer, NoEpochEnd):
        if answer.end_offset >= 0 and answer.epoch <= question:
            return None
        return Cause.BAD_ANSWER, (
            f"{_EPOCH_PROBE}: asked about epoch {question}, the broker returned {answer.end_offset} as the end of "
            f"epoch {answer.epoch}"
        )
    if answer.times > 1:
        return _count_error(answer.times, _EPOCH_PROBE)
    code = answer.error_code
    if code == error_codes.NONE:
        return Cause.BAD_ANSWER, f"{_EPOCH_PROBE}: no error and no diverging epoch"
    if code == error_codes.OFFSET_OUT_OF_RANGE:
        return None
    return _CAUSES.get(code, Cause.ERROR), f"{_EPOCH_PROBE}: {error_codes.explain_error('Fetch', code)}"


def _count_error(times: int, request: str) -> tuple[Cause, str]:
    found = f"answered it {times} times" if times else "left it out of its answer"
    return Cause.BAD_ANSWER, f"{request}: the broker {found}"


def _known_offset(answers: Sequence[OffsetAnswer]) -> int | None:
    found = only_offset(answers)
    return None if found is None else found.offset
