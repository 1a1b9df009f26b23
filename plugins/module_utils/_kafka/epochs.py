# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask which leader epochs a replica's log holds (Fetch, API key 1, version 12, KIP-320; diverging epoch, KIP-595).

The request is a consumer's Fetch (replica id -1, so the broker never takes it for a follower's). Its offset is beyond
the end of any log, and its last_fetched_epoch is E. The broker answers where its log diverges from a log that ends in
E:

- error 1 (OFFSET_OUT_OF_RANGE): E is larger than every epoch of the log;
- no error, diverging_epoch (e, end): e is the largest epoch <= E of the log, and end is the offset where e ends. If no
  epoch is <= E, e is E itself and end is the offset where the log's first epoch starts.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from .._model.partition import EpochEnd, TopicPartition, tuple_maker
from .bulk import BulkAnswer, BulkRequest, UnusualAnswerError
from .bulk_fetch import QUESTION, fetch_request, read_fetch
from .messages import CONSUMER

_BEYOND_ANY_LOG = 2**62
_ANSWER = struct.Struct(">ih24xB4xBB")
"""Partition, error code, aborted transactions, records, number of tags. The high watermark, last stable offset,
log start offset and preferred read replica are skipped."""
_ANSWER_WITH_EPOCH = struct.Struct(">ih24xB4xIiqB")
"""The same with one tag. Records, number of tags, the tag's number and its size are one integer, to compare them at
once. After them: epoch, end offset, and the number of the tag's own tags."""
_ONE_TAG_OF_DIVERGING_EPOCH = frozenset({0x00_01_00_0D, 0x01_01_00_0D})
"""No records or an empty list, and one tag with the number 0 and 13 bytes."""
_TAGS_AT = _ANSWER.size - 1
_epoch_end = tuple_maker(EpochEnd)


class NoEpochEnd(NamedTuple):
    """One partition's answer that has no end of an epoch: an error, no diverging epoch, or several answers."""

    error_code: int
    times: int = 1
    """How often the partition is in the answer. More than 1 is an error of the broker."""


_no_epoch_end = cache(NoEpochEnd)
"""One object for each error code: a gather has a million answers that an epoch is too new."""

Questions: TypeAlias = "dict[str, dict[int, int]]"
"""Epochs (>= 0) by topic and partition number."""
EpochAnswer: TypeAlias = "EpochEnd | NoEpochEnd"
Answers: TypeAlias = "dict[str, dict[int, EpochAnswer]]"
"""By topic and partition number. A gather has millions of these answers, so most are a plain EpochEnd."""


def questions_about(epochs: Mapping[TopicPartition, int]) -> Questions:
    """Return the question about one epoch of each of these partitions."""
    questions: Questions = {}
    for (topic, number), epoch in epochs.items():
        questions.setdefault(topic, {})[number] = epoch
    return questions


def epochs_request(questions: Questions) -> BulkRequest[Answers]:
    """Ask about one epoch of each partition. A broker answers a partition once for each request."""
    packed = {
        topic: [QUESTION.pack(number, -1, _BEYOND_ANY_LOG, epoch, -1, 1, 0) for number, epoch in epochs.items()]
        for topic, epochs in questions.items()
    }
    return fetch_request(CONSUMER, 1, packed, _read_answer, _convert_answer)


def _read_answer(view: memoryview) -> BulkAnswer[Answers]:
    answers: Answers = {}

    def read_partitions(view: memoryview, position: int, count: int, topic: str) -> int:
        """Read answers without records and aborted transactions, and with no tag besides the diverging epoch."""
        by_number = answers.setdefault(topic, {})
        answer: EpochAnswer
        for _partition in range(count):
            if view[position + _TAGS_AT]:
                number, code, aborted, tag, epoch, end_offset, more = _ANSWER_WITH_EPOCH.unpack_from(view, position)
                if aborted > 1 or more or tag not in _ONE_TAG_OF_DIVERGING_EPOCH:
                    raise UnusualAnswerError
                position += _ANSWER_WITH_EPOCH.size
                answer = _epoch_end((epoch, end_offset)) if code == 0 <= epoch else _no_epoch_end(code)
            else:
                number, code, aborted, records, more = _ANSWER.unpack_from(view, position)
                if aborted > 1 or more or records > 1:
                    raise UnusualAnswerError
                position += _ANSWER.size
                answer = _no_epoch_end(code)
            by_number[number] = answer if number not in by_number else _merge_repeated_answer(by_number[number], code)
        return position

    return BulkAnswer(read_fetch(view, read_partitions), answers)


def _convert_answer(response: Any) -> Answers:
    answers: Answers = {}
    for topic in response.responses:
        by_number = answers.setdefault(topic.topic, {})
        for partition in topic.partitions:
            diverging = partition.diverging_epoch
            code, number = partition.error_code, partition.partition_index
            known = code == 0 and diverging is not None and diverging.epoch >= 0
            answer = EpochEnd(diverging.epoch, diverging.end_offset) if known else NoEpochEnd(code)
            by_number[number] = answer if number not in by_number else _merge_repeated_answer(by_number[number], code)
    return answers


def _merge_repeated_answer(earlier: EpochAnswer, code: int) -> NoEpochEnd:
    return NoEpochEnd(code, 2 if isinstance(earlier, EpochEnd) else earlier.times + 1)
