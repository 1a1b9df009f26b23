# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which leader epochs a replica's log holds (Fetch, API key 1, version 12, KIP-320 and KIP-595's diverging epoch).

An ordinary consumer's Fetch (replica id -1, so that it never poses as a follower) at an offset beyond any log, with
last_fetched_epoch E, makes a broker answer where its log diverges from a log that ends in E:

- error 1 (OFFSET_OUT_OF_RANGE): E is larger than every epoch of the log;
- no error, diverging_epoch (e, end): e is the largest epoch <= E of the log, and end is where e ends. Where no epoch
  is <= E, e is E itself and end is where the log's first epoch starts.

Finds the epoch lineage of one log by asking about one epoch at a time. No I/O: the caller carries the questions.

What an answer means is in epoch_probe. Epochs that hold no records are left out of the lineage: a leader that was
elected and died before it wrote anything has an epoch in its log and nothing that another log could lose to it. Only a
log without any record keeps its newest epoch: it shows that retention, and not lack of data, emptied the log.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from .._model.partition import TopicPartition
from .._model.replica_log import EpochEnd
from .bulk import BulkAnswer, BulkRequest, UnusualAnswerError, packed_topics, read_topics
from .messages import by_topic
from .wire import Connection

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from kafka.protocol.consumer import FetchRequest, FetchResponse


_VERSION = 12
"""The last version that names topics, and the first that has diverging epochs."""
_CONSUMER = -1
_BEYOND_ANY_LOG = 2**62
_NO_SESSION_EPOCH = -1
_HEAD = struct.Struct(">iiiibii")
"""Replica id, most ms to wait, fewest bytes, most bytes, isolation level, session id, session epoch."""
_ASKED = struct.Struct(">iiqiqiB")
"""Partition, current leader epoch (-1: not checked), offset, last fetched epoch, log start, most bytes, no tags."""
_NOTHING_FORGOTTEN_NO_RACK_NO_TAGS = b"\1\1\0"
_TOLD_OF_ALL = struct.Struct(">ihi")
"""Throttle time in ms, error code, session id."""
_TOLD = struct.Struct(">ihqqqBiBB")
"""Partition, error code, high watermark, last stable offset, log start offset, aborted transactions, preferred read
replica, records, number of tags."""
_DIVERGING = struct.Struct(">BBiqB")
"""Tag, its size, epoch, end offset, number of tags."""
_DIVERGING_AS_EXPECTED = (0, 13, 0)


class EpochAnswer(NamedTuple):
    """One partition's answer. ``epoch_end`` is None when the broker gave an error or no diverging epoch."""

    error_code: int
    epoch_end: EpochEnd | None
    high_watermark: int


Answers: TypeAlias = "dict[TopicPartition, list[EpochAnswer]]"


def epoch_ends(
    connection: Connection, epochs: Mapping[TopicPartition, int], *, timeout_ms: int | None = None
) -> dict[TopicPartition, list[EpochAnswer]]:
    """Ask about one epoch (>= 0) of each partition, all in one request.

    Raises BrokerCallError.
    """
    head = _HEAD.pack(_CONSUMER, 0, 0, 1, 0, 0, _NO_SESSION_EPOCH)

    def pack(topic: str, number: int) -> bytes:
        epoch = epochs[TopicPartition(topic, number)]
        return _ASKED.pack(number, -1, _BEYOND_ANY_LOG, epoch, -1, 1, 0)

    request: BulkRequest[Answers] = BulkRequest(
        FetchRequest,
        FetchResponse,
        _VERSION,
        b"".join([head, packed_topics(by_topic(epochs), pack), _NOTHING_FORGOTTEN_NO_RACK_NO_TAGS]),
        _read,
        _answers,
    )
    answers: Answers = connection.call(request, timeout_ms=timeout_ms).value
    return answers


def _read(view: memoryview) -> BulkAnswer[Answers]:
    answers: Answers = {}

    def read_partitions(view: memoryview, place: int, count: int, topic: str) -> int:
        for _partition in range(count):
            number, code, watermark, _stable, _start, aborted, _replica, records, tags = _TOLD.unpack_from(view, place)
            place += _TOLD.size
            found = None
            # Lists and records are absent or empty; the one tag that may come is the diverging epoch.
            if aborted > 1 or records > 1 or tags > 1:
                raise UnusualAnswerError
            if tags:
                tag, size, epoch, end_offset, more = _DIVERGING.unpack_from(view, place)
                if (tag, size, more) != _DIVERGING_AS_EXPECTED:
                    raise UnusualAnswerError
                place += _DIVERGING.size
                found = EpochEnd(epoch, end_offset) if code == 0 and epoch >= 0 else None
            answers.setdefault(TopicPartition(topic, number), []).append(EpochAnswer(code, found, watermark))
        return place

    (throttle_time_ms, code, _session) = _TOLD_OF_ALL.unpack_from(view)
    if code:
        raise UnusualAnswerError
    read_topics(view, _TOLD_OF_ALL.size, read_partitions)
    return BulkAnswer(throttle_time_ms, answers)


def _answers(response: Any) -> Answers:
    answers: Answers = {}
    for topic in response.responses:
        for partition in topic.partitions:
            diverging = partition.diverging_epoch
            known = partition.error_code == 0 and diverging is not None and diverging.epoch >= 0
            answers.setdefault(TopicPartition(topic.topic, partition.partition_index), []).append(
                EpochAnswer(
                    partition.error_code,
                    EpochEnd(diverging.epoch, diverging.end_offset) if known else None,
                    partition.high_watermark,
                )
            )
    return answers


class LineageSearch:
    """The search over one log. Ask ``question``, give ``answer``, until the question is None.

    First the newest epoch, by steps down from the partition's current epoch that double, then by halving; then from
    epoch to older epoch down to the log start offset. Most logs take two questions and one for each older epoch, or one
    less where the partition is known to be leaderless: in its current epoch nobody could write. Where
    the oldest epoch starts above the log start offset (retention has moved that meanwhile, or the first records are of
    a format without epochs), what lies between is returned as one older epoch.
    """

    def __init__(
        self,
        log_start_offset: int,
        log_end_offset: int,
        current_leader_epoch: int,
        *,
        is_leaderless: bool = False,
        only_newest: bool = False,
    ) -> None:
        """``only_newest`` ends the search once the newest epoch with records is known.

        That takes the answer for the next older one: a broker that was elected and wrote nothing has an epoch without
        records at its log's end.
        """
        self._only_newest = only_newest
        self._start = log_start_offset
        self._end = log_end_offset
        self._newest_first: list[EpochEnd] = []
        self._above = current_leader_epoch + 1
        """The lowest epoch known, or taken, to be newer than all of the log's."""
        self._floor: EpochEnd | None = None
        """The best answer of the search for the newest epoch, and the epoch that was asked for it."""
        self._asked_floor = -1
        self._step = 1
        self._leapt_from: int | None = None
        first = max(0, current_leader_epoch - 1) if is_leaderless else current_leader_epoch
        self.question: int | None = first if log_end_offset > 0 and current_leader_epoch >= 0 else None

    @property
    def log_end_offset(self) -> int:
        """Return the listed log end offset, or the newest epoch's end where the log has grown since then."""
        return max([self._end, *(each.end_offset for each in self._newest_first[:1])])

    @property
    def lineage(self) -> tuple[EpochEnd, ...]:
        """Return the epochs with records, oldest first. Complete when the question is None."""
        return tuple(reversed(self._newest_first))

    def answer(self, epoch_end: EpochEnd | None) -> None:
        """Take the answer to ``question``; None for "newer than every epoch of this log"."""
        if self._newest_first:
            self._take_older(epoch_end)
        elif epoch_end is None:
            self._above = int(self.question or 0)
            self._ask_for_newest()
        else:
            self._floor, self._asked_floor = epoch_end, int(self.question or 0)
            # Below the oldest epoch a broker echoes the question: in a log without records every echo ends at its end.
            is_settled = self._start < self._end or epoch_end.epoch < self._asked_floor
            if epoch_end.end_offset >= self._end and is_settled:
                self._take_newest(epoch_end)
            else:
                self._ask_for_newest()

    def _ask_for_newest(self) -> None:
        if self._above - 1 <= self._asked_floor:
            self._take_newest(self._floor)
        elif self._floor is not None:
            self.question = (self._asked_floor + self._above) // 2
        else:
            self.question = max(0, self._above - self._step)
            self._step *= 2

    def _take_newest(self, epoch_end: EpochEnd | None) -> None:
        self.question = None
        if epoch_end is not None:
            self._newest_first.append(epoch_end)
            self._ask_for_older(epoch_end.epoch)

    def _take_older(self, epoch_end: EpochEnd | None) -> None:
        asked = int(self.question or 0)
        self.question = None
        if epoch_end is not None and epoch_end.epoch > asked:
            epoch_end = None
        is_same_place = epoch_end is not None and epoch_end.end_offset == self._newest_first[-1].end_offset
        if self._leapt_from is not None and not is_same_place:
            leapt_from, self._leapt_from = self._leapt_from, None
            self._ask_for_older(leapt_from)
        elif epoch_end is None or epoch_end.end_offset <= self._start:
            return
        elif not is_same_place:
            if not self._only_newest:
                self._newest_first.append(epoch_end)
                self._ask_for_older(epoch_end.epoch)
        else:
            self._newest_first[-1] = epoch_end
            if epoch_end.epoch == asked > 0:
                # An empty epoch, or only an echo: then the answer for 0 is the same, and nothing between need be asked.
                self._leapt_from, self.question = asked, 0
            else:
                self._ask_for_older(epoch_end.epoch)

    def _ask_for_older(self, epoch: int) -> None:
        self.question = epoch - 1 if epoch > 0 and self._start < self._end else None
